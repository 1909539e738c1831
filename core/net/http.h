/*
 * Outgoing HTTP over libcurl's multi interface, on the loop. For the core; plugins come through
 * net_group.c. Everything on the loop thread; `event` and `done` are called from the top of the
 * loop, done exactly once and never before http_start() has returned.
 *
 * Deadlines follow base/clock.h (a fake clock works); certificates are always verified.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/net.h>

#include "base/buf.h"
#include "base/error.h"

/* For all requests; strings are copied, NULL = default. */
struct http_setup {
    const char *ca_file;  /* PEM, instead of the system's */
    const char *proxy;    /* instead of the environment's (http_proxy, https_proxy, no_proxy); "":
                             none */
    const char *no_proxy; /* hosts that are reached without it, "a.example, 10.0.0.0/8" */
    uint32_t connect_ms;  /* to connect, where the request doesn't say */
    bool proxy_is_public; /* the proxy itself refuses private addresses, so CHELA_PUBLIC requests
                             may go through it; else they go directly */
};
void http_open(const struct http_setup *setup); /* after loop_open */
void http_close(void); /* drops what is left, without done; before loop_close */

/* As struct chela_http, where 0 means the default too; CHELA_FILE is taken as CHELA_BODY. What is
 * pointed to is copied. */
struct http_request {
    const char *method, *url;
    struct chela_str body;
    struct chela_pairs headers;
    uint32_t decode, flags;
    uint64_t limit;
    uint32_t timeout_ms, idle_ms, connect_ms;
    /* Replaces ${secret:...} in the URL and header values, for a request to `url` (after a redirect
     * it is asked again, with the new one). NULL: texts are taken as they are. */
    int (*fill)(void *arg, const char *url, struct chela_str text, struct buf *out,
                struct error *e);
    void *fill_arg;
};

struct http_ops {
    /* An SSE event or a line; may be NULL where none is asked for. */
    void (*event)(void *owner, uint64_t id, const struct chela_http_event *e);
    /* done.text is the whole body, of any status, unless it was streamed. */
    void (*done)(void *owner, uint64_t id, const struct chela_done *d);
    /* May more events come? While false, nothing is read from the server. NULL: always. */
    bool (*room)(void *owner);
};

/* Mistakes in the request come through done as well. Returns the id, never 0. */
uint64_t http_start(const struct http_request *r, const struct http_ops *ops, void *owner);
/* Ends it soon: done says CHELA_E_CANCELLED, or how it had ended already. */
void http_cancel(uint64_t id);
/* The owner goes away: it is cancelled, and nothing is called any more. */
void http_forget(uint64_t id);
unsigned http_count(void);

/* The class of an HTTP status, CHELA_OK below 400; whether the same request may succeed later. */
uint32_t http_class(unsigned status, bool *ret_retry);

#endif
