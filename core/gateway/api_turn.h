/*
 * A turn of the agent that an HTTP request asked for: sent like any client's message, its text and
 * end told to the dialect that asked. A client that hangs up aborts it.
 */
#ifndef GATEWAY_API_TURN_H
#define GATEWAY_API_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway/api.h"
#include "gateway/api_input.h"

struct api_turn;

struct api_turn_ops {
    /* Each piece of the answer as it comes; NULL: only the end is wanted. */
    void (*text)(struct api_turn *t, struct chela_str piece);
    void (*thinking)(struct api_turn *t, struct chela_str piece); /* may be NULL */
    /* Once, the last; t is freed afterwards. The request is to be answered or its stream ended,
     * unless it is gone (api_turn_request() is NULL then and this isn't called). */
    void (*done)(struct api_turn *t);
    void (*failed)(struct api_turn *t, unsigned status, const char *message);
    void (*freed)(void *data); /* what `data` holds, before it is freed itself; may be NULL */
};

/* Where the message goes. Made by api_target(). */
struct api_target {
    char *agent, *model; /* model: "" = the agent's own choice */
    char *session;       /* full key */
    bool kept;           /* the session was there before or shall stay */
};

/* `name`: what the client gave as model; `user`: whom it talks for, or NULL. Headers of the request
 * (x-openclaw-agent-id, -model, -session-key) come first. -1: no such model. */
int api_target(struct server_request *r, const char *name, const char *user, struct api_target *ret,
               struct error *e);
void api_target_free(struct api_target *t);

/* Takes over what `in` and `target` hold. False: the request was answered with an error. */
bool api_turn_begin(struct server_request *r, enum api_dialect dialect, struct api_input *in,
                    struct api_target *target, const struct api_turn_ops *ops, void *data);

struct server_request *api_turn_request(const struct api_turn *t);
void *api_turn_data(const struct api_turn *t); /* freed with the turn by free() */
const char *api_turn_run(const struct api_turn *t);
const char *api_turn_session(const struct api_turn *t);
/* ---- at the end ---- */
struct chela_str api_turn_text(const struct api_turn *t);
/* [{"id","name","arguments" as text}] for the client to run, or NULL. */
struct json_object *api_turn_calls(const struct api_turn *t);
bool api_turn_cut(const struct api_turn *t); /* the output limit was reached */
struct api_usage {
    int64_t in, out, cached, written;
} api_turn_usage(const struct api_turn *t);
const char *api_turn_model(const struct api_turn *t); /* the one that answered, "" if unknown */

unsigned api_turn_count(void);
void api_turn_open(void); /* listens to the agent's events, once */

/* What is sent along a stream: an event (name may be NULL) or a line, of o's text; takes over o. */
void api_send_event(struct server_request *r, const char *name, struct json_object *o);
void api_send_line(struct server_request *r, struct json_object *o);

#endif
