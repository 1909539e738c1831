/*
 * What the files of the MCP client share: the instance with its servers, a server's connection, and
 * requests on their way. Each file's functions stand under its name. Everything on the loop thread.
 * The protocol is JSON-RPC 2.0 as modelcontextprotocol.io has it; what differs from version to
 * version stands in version.c alone.
 */
#ifndef TOOL_MCP_MCP_H
#define TOOL_MCP_MCP_H

#include <stdbool.h>
#include <stdio.h>

#define CHELA_MINOR_NEED 10u
#include <chela/chela.h>

#include <json-c/linkhash.h>

#include "support/json.h"

struct mcp;
struct server;
struct request;
struct question;
struct oauth;

/* A call of ours to the host, found again by its tag: who is told of its events and its end. Freed
 * after done. With `server` NULL nobody cares any more. */
struct io {
    void (*event)(struct io *io, const struct chela_http_event *e);
    void (*output)(struct io *io, const struct chela_output *o);
    void (*done)(struct io *io, const struct chela_done *d);
    struct mcp *mcp;
    struct server *server;
    void *owner;
    uint64_t call;
    bool beyond; /* outlives the connection to its server: a login */
    struct io *next;
};

enum server_state {
    SERVER_OFF,      /* not running; started by the next call */
    SERVER_STARTING, /* the initialize answer is awaited */
    SERVER_READY,
    SERVER_LOGIN,   /* a person must log in first */
    SERVER_BACKOFF, /* it ended; started anew at a time that grows */
    SERVER_STOPPED  /* no longer wanted: the instance stops */
};

enum transport { TRANSPORT_STDIO, TRANSPORT_HTTP, TRANSPORT_SSE };

enum { NAME_MAX_ = 64 };

/* What version.c knows of a protocol version. */
struct version {
    const char *name;
    bool header;      /* HTTP: MCP-Protocol-Version on each request */
    bool elicitation; /* the server may ask the person */
    bool elicit_url;  /* ... to open a page */
};

/* A tool of a server under the name that models see. */
struct mcp_tool {
    char *public_name, *name;
    char *manifest;
    bool structured; /* has an outputSchema: its result is the structured content */
};

struct server {
    struct mcp *mcp;
    unsigned index;
    char *name;
    enum transport transport;
    char *url;
    enum server_state state;
    char *why; /* of BACKOFF, LOGIN */
    unsigned failures;
    struct waiter *waiters;
    uint64_t state_timer, idle_timer, start_timer, ready_ms;

    /* stdio */
    struct io *process;
    char *line;
    size_t line_length, line_room;
    char *errors; /* the begin of a line of standard error */
    size_t errors_length;

    /* HTTP */
    char *session;
    char *endpoint; /* SSE: where to post */
    struct io *stream;
    char *stream_id; /* the last event's */
    uint64_t stream_timer, stream_retry_ms;
    unsigned stream_failures;
    bool tried_sse;
    struct oauth *oauth;

    /* protocol */
    const struct version *version;
    json_object *capabilities;
    char *instructions, *title;
    uint64_t last_id;
    struct request *requests;
    bool has_resources, refreshing, refresh_again;
    unsigned listing;
    json_object *tools, *prompts; /* arrays under construction */
    struct mcp_tool *table;       /* published */
    size_t table_count;
    json_object *prompt_table;
};

struct mcp {
    struct chela_inst *in;
    struct server *servers;
    size_t count;
    struct io *ios;
    uint64_t revision;
    struct question *questions;
    uint64_t last_question;
    json_object *subscriptions; /* session -> {"server uri": true} */
    json_object *updates;       /* session -> array of texts, told before the next turn */
    uint64_t stop_call, start_call;
    char *base; /* http://127.0.0.1:PORT, once asked for */
    bool closing;
};

static inline struct mcp *mcp_of(struct chela_inst *in)
{
    return (struct mcp *)in->self;
}

/* ---- tool_mcp.c ---- */
struct io *io_new(struct mcp *m, struct server *s, void *owner);
void io_forget(struct io *io); /* cancels; nobody is told */
void *need(void *pointer);
char *text_of(struct chela_str s);
__attribute__((format(printf, 1, 2))) char *format(const char *f, ...);
__attribute__((format(printf, 3, 4))) void mcp_log(struct mcp *m, uint32_t level, const char *f,
                                                   ...);
struct server *mcp_server(struct mcp *m, const char *name);
/* An option of a server: "timeout" -> servers.2.timeout */
struct chela_str server_option(const struct server *s, const char *name);
int64_t server_number(const struct server *s, const char *name);
/* The instance may have ended its stop. */
void mcp_check_stopped(struct mcp *m);

/* ---- version.c ---- */
extern const struct version *const version_newest;
/* NULL: a version that we don't speak. */
const struct version *version_find(const char *name);
/* The parameters of initialize. */
json_object *version_hello(const struct server *s);

/* ---- server.c ---- */
void server_open(struct mcp *m, struct server *s, unsigned index);
void server_close(struct server *s);
/* Makes sure that it runs or will; fn(owner, NULL) once it is ready, or, if so wished, once its
 * lists have come too; fn(owner, why) if it fails. call: the host's call that waits, 0: none. */
enum server_wish { SERVER_IS_READY, SERVER_IS_LISTED };
typedef void server_fn(void *owner, const char *error);
void server_want(struct server *s, enum server_wish wish, uint64_t call, server_fn *fn,
                 void *owner);
/* The call waits no longer: fn(owner, why). False: it doesn't wait for a server. */
bool server_cancel(struct server *s, uint64_t call, const char *why);
void server_listed(struct server *s); /* its lists have come */
void server_stop(struct server *s);
/* The connection is gone. */
void server_lost(struct server *s, const char *why);
/* It can't be had; the next call tries anew. */
void server_give_up(struct server *s, const char *why);
void server_needs_login(struct server *s, const char *why);
void server_retry_now(struct server *s); /* logged in */
void server_used(struct server *s);
void server_greet(struct server *s); /* SSE: the place to post is known */
const char *server_state_name(const struct server *s);

/* ---- rpc.c: result (borrowed) or an error's text ---- */
typedef void request_fn(void *owner, json_object *result, const char *error);
struct request {
    struct request *next;
    struct server *server;
    uint64_t id;
    char *method, *text; /* text: what goes over the wire */
    uint64_t timer, timeout_ms;
    request_fn *fn;
    void *owner;
    uint64_t call;       /* the tool call that it serves, for progress; 0 = none */
    json_object *source; /* of that call: whom to ask; owned */
    /* HTTP */
    struct io *io;
    char *event_id;
    uint64_t retry_ms, retry_timer;
    unsigned resumed, logins;
    bool again; /* waits for a login or a new session, then is sent anew */
};
struct request *rpc_request(struct server *s, const char *method, json_object *params,
                            uint64_t timeout_ms, request_fn *fn, void *owner);
/* Nobody waits for it any more; the server is told why. */
void rpc_cancel(struct request *r, const char *reason);
void rpc_end(struct request *r, json_object *result, const char *error);
void rpc_end_all(struct server *s, const char *error);
void rpc_notify(struct server *s, const char *method, json_object *params);
/* Answers a request of the server; id is its id. error NULL: result. Takes over result. */
void rpc_answer(struct server *s, json_object *id, json_object *result, int code,
                const char *error);
void rpc_incoming(struct server *s, const char *text, size_t length);
struct request *rpc_find(struct server *s, uint64_t id);

/* ---- incoming.c: what servers ask of us and tell us ---- */
void incoming_request(struct server *s, json_object *id, const char *method, json_object *params);
void incoming_notification(struct server *s, const char *method, json_object *params);
/* The newest tool call under way: its person is asked. NULL: none. */
struct request *incoming_cause(struct server *s);

/* ---- stdio.c ---- */
void stdio_start(struct server *s);
void stdio_send(struct server *s, const char *text, size_t n);
void stdio_stop(struct server *s);

/* ---- http.c ---- */
void http_start(struct server *s);
/* r: the request that it is, NULL: a notification or an answer */
void http_send(struct server *s, struct request *r, const char *text, size_t n);
void http_ready(struct server *s); /* initialized: opens the stream */
void http_stop(struct server *s);
void http_forget(struct request *r);
void http_resend(struct server *s); /* what waited for a login */
struct headers {
    struct chela_pair v[24];
    size_t n;
    char *bearer;
};
void http_headers(struct server *s, struct headers *h, const char *accept);
void http_headers_free(struct headers *h);

/* ---- http_stream.c: the stream of what a server sends by itself ---- */
void stream_open(struct server *s);
void stream_close(struct server *s);
/* An event of any stream. */
const char *header_of(const struct chela_pairs *headers, const char *name); /* NULL: absent */

/* ---- tools.c ---- */
void tools_refresh(struct server *s);
void tools_publish(struct mcp *m);
void tools_run(struct chela_inst *in, const struct chela_tool_run *r);
void tools_prepare(struct chela_inst *in, const struct chela_tool_run *r);
bool tools_cancel(struct mcp *m, uint64_t call);
void tools_clear(struct server *s);
/* Calls a tool for the command line. */
void tools_call_method(struct chela_inst *in, uint64_t call, json_object *params);

/* ---- result.c: the content of a result as text for the model; images become blobs ---- */
void result_end(struct mcp *m, uint64_t call, json_object *result, bool structured);

/* ---- resources.c ---- */
bool resources_run(struct chela_inst *in, const struct chela_tool_run *r);
void resources_updated(struct server *s, const char *uri);
void resources_renew(struct server *s);
extern const char *const resource_manifests[][2];
extern const size_t resource_manifest_count;

/* ---- prompts.c ---- */
void prompts_publish(struct mcp *m);
void prompts_command(struct chela_inst *in, const struct chela_command *c);
void prompts_section(struct chela_inst *in, const struct chela_prompt *p);

/* ---- question.c: what waits for a person's answer ---- */
typedef void question_fn(void *owner, const char *action, json_object *content);
/* source: of the tool call that caused it, or NULL. */
void question_ask(struct server *s, const char *kind, const char *text, json_object *details,
                  json_object *source, question_fn *fn, void *owner);
int question_answer(struct mcp *m, const char *id, const char *action, json_object *content,
                    const char **ret_error);
void question_list(struct mcp *m, json_object *list);
void question_drop(struct mcp *m, const struct server *s); /* s NULL: all */

/* ---- sampling.c, elicit.c ---- */
void sampling_create(struct server *s, json_object *id, json_object *params);
void elicit_create(struct server *s, json_object *id, json_object *params);

/* ---- methods.c ---- */
void methods_publish(struct mcp *m);
void methods_run(struct chela_inst *in, const struct chela_method *q);

/* ---- oauth.c ---- */
/* The token for the next request, NULL: none. */
const char *oauth_token(struct server *s);
/* An answer of 401 or 403. True: a login is under way, the request shall wait; *why else. */
bool oauth_refused(struct server *s, unsigned status, const struct chela_pairs *headers,
                   const char **why);
void oauth_load(struct server *s, server_fn *fn, void *owner);
void oauth_callback(struct chela_inst *in, const struct chela_request *r);
const char *oauth_login_url(struct server *s);
void oauth_logout(struct server *s);
void oauth_free(struct server *s);

#endif
