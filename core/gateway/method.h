/*
 * Gateway methods: one table of names, rights and parameters, and requests on their way.
 */
#ifndef GATEWAY_METHOD_H
#define GATEWAY_METHOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/connection.h"

struct json_object;
struct method;

/* A request that waits for its answer; the client may be gone by then. Ended by rpc_answer or
 * rpc_fail. */
struct rpc {
    uint64_t connection;
    char *id;
    uint64_t plugin_call; /* not a client's, but a plugin's call: answered there */
    const struct method *method;
    struct json_object *data; /* of the method, while it waits for something; put by rpc_free */
};

/*
 * params: what the method takes, "name:type" separated by spaces, a "!" behind a required one.
 * Types: s string, i integer, n number, b boolean, o object, a array, * anything; s|null where null
 * clears. Others are refused by name, as the schema of the protocol is closed.
 */
struct method {
    const char *name;
    uint32_t scope; /* 0: any connected client */
    const char *params;
    void (*run)(struct rpc *rpc, struct json_object *params);
};

/* Tables, each in its methods_*.c; end with a NULL name. */
extern const struct method methods_chat[], methods_sessions[], methods_system[], methods_approval[],
    methods_chela[], methods_send[], methods_channels[], methods_config[], methods_route[],
    methods_devices[], methods_chat_read[], methods_session_work[], methods_decided[],
    methods_tools[], methods_cost[], methods_plugin_approval[], methods_files[];

/* Runs a request of a ready connection, or answers why not. Takes over rpc; params may be NULL. */
void method_dispatch(struct connection *c, struct rpc *rpc, const char *name,
                     struct json_object *params);
/* Methods for plugins: chat.invoke of the SDK. Once at start. */
void method_serve_plugins(void);
/* All names, plugins' included: array. */
struct json_object *method_names(void);

/* Answers; takes over payload and rpc. */
void rpc_answer(struct rpc *rpc, struct json_object *payload);
/* A first answer, another follows on the same id. */
void rpc_answer_first(struct rpc *rpc, struct json_object *payload);
/* Fails; takes over details (may be NULL) and rpc. */
void rpc_fail(struct rpc *rpc, const char *code, struct json_object *details, const char *format,
              ...) __attribute__((format(printf, 4, 5)));
/* Fails with the error's class turned into a code of the protocol. */
void rpc_fail_error(struct rpc *rpc, const struct error *e);
/* {"ok":true} or the error. */
void rpc_done(struct rpc *rpc, const struct error *e);
void rpc_free(struct rpc *rpc);

/* methods_config.c: puts a JSON merge patch on the gateway's own file and has it applied, then
 * calls answer, which answers rpc; a change that doesn't fit is taken back and rpc fails. */
typedef void config_changed_fn(struct rpc *rpc);
void config_change(struct rpc *rpc, struct json_object *patch, config_changed_fn *answer);
/* methods_chat.c: a message of the asker's into a session; what chat.send, sessions.send and
 * sessions.create begin. `done` is told the run, or the error. */
typedef void method_sent_fn(struct rpc *rpc, const char *run, const char *status,
                            const struct error *e);
void method_send(struct rpc *rpc, struct json_object *params, const char *session,
                 const char *message, const char *key, method_sent_fn *done);
/* The answer of chat.history goes to `done` (which takes it over) instead of the client. */
typedef void method_history_fn(struct rpc *rpc, struct json_object *history);
void method_history(struct rpc *rpc, struct json_object *params, method_history_fn *done);
/* methods_chat.c: stops a run, or all of a session, and answers {ok, aborted, runIds}. */
void method_abort(struct rpc *rpc, const char *session, const char *run);

/* params.c: checks against method.params; -1 with the message for "invalid X params: ...". */
int params_check(const char *spec, struct json_object *params, struct error *e);

#endif
