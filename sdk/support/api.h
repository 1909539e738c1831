/*
 * Calls of a service's HTTP API: one request with its headers and its body (JSON or a form), the
 * answer as JSON, routes that are to be left alone for a while, the words for a login that is
 * refused. Called by channel plugins, which say in a table of theirs how their service tells what
 * is wrong. Tries nothing again by itself.
 */
#ifndef CHELA_SUPPORT_API_H
#define CHELA_SUPPORT_API_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/form.h"
#include "support/peer.h"

#pragma GCC visibility push(hidden)

/* How a call ended. body is borrowed, NULL if it is no JSON. The last five are the reader's, too.
 */
struct chela_reply {
    uint32_t error, flags, status;
    json_object *body;
    const struct chela_done *done;
    const char *text;    /* what the service said is wrong, or the host; "" if nothing is */
    json_object *result; /* what was asked for: the body, if the reader finds it in no member */
    uint64_t retry_after_ms;
    bool stranger;     /* the service does not take our login: a 401 */
    uint64_t pause_ms; /* it wants no request of this route for so long; pause_all: of none */
    bool pause_all;
};
typedef void chela_reply_fn(struct chela_peer *p, void *owner, const struct chela_reply *r);
/* Reads the service's own way to say what is wrong into r, whose text is "" then. */
typedef void chela_reply_reader(struct chela_reply *r);

struct chela_api {
    const char *service; /* as people call it */
    const char *login;   /* what to do where the login is refused: "get a new one from ..." */
    chela_reply_reader *read;
    unsigned pace; /* requests in a second that it takes at most; 0: not known */
};

/* url: behind the option base_url. route: whose limits count, "" or NULL: none is known. body and
 * form (the one or the other, or none) are taken over. timeout_ms 0: the host's. */
struct chela_api_call {
    uint64_t parent;
    const char *method, *path, *route;
    struct chela_pairs headers; /* at most 6, beside Content-Type */
    json_object *body;
    struct chela_form *form;
    uint32_t timeout_ms;
};

/* Returns the host's call; 0 where none began, since the instance closes or the service would
 * refuse it now (fn has been told then). */
uint64_t chela_api_call(struct chela_peer *p, const struct chela_api_call *c, chela_reply_fn *fn,
                        void *owner);

/* A reply_fn for what nothing depends on; owner: NULL, or what the service was to take ("the menu
 * of commands"), which a refusal is then logged with. */
void chela_api_unneeded(struct chela_peer *p, void *owner, const struct chela_reply *r);

/* Why the service can't be used, for people. Free it. */
char *chela_api_why(const struct chela_peer *p, const struct chela_reply *r);
/* Says so, and calls `again` later. */
void chela_api_failed(struct chela_peer *p, const struct chela_reply *r, chela_callback *again,
                      void *arg);

/* `chela channels status --probe`, as the plugin's `method` slot for services whose login is a
 * token: the call to end by chela_probe_end with the service's answer; NULL: it is another method,
 * and ended. */
uint64_t *chela_probe_open(struct chela_inst *in, const struct chela_method *m);
void chela_probe_end(struct chela_peer *p, void *owner, const struct chela_reply *r);

/* A header's value; no text where there is none. */
struct chela_str chela_header(struct chela_pairs headers, const char *name);

#pragma GCC visibility pop
#endif
