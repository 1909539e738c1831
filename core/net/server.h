/*
 * The HTTP server on the gateway's port, and WebSockets that come by upgrade. Hides libmicrohttpd
 * and wslay. Everything on the loop thread; handlers are called from the top of the loop, never
 * from inside the library's callbacks.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/base.h>

#include "base/error.h"

/* The handler may use it, and all strings that came with it, until it calls server_answer() or
 * server_stream_end(), or until its `gone` is called. */
struct server_request;
struct server_socket; /* a WebSocket; lives until its `closed` was called */

struct server_head {
    const char *method, *path, *query; /* path is decoded once; query raw, "" if none */
    const char *remote;                /* address of the peer */
    bool loopback;
    bool browser;                   /* an Origin came with it: a page asks */
    struct server_request *request; /* whose headers can be read while a handler runs */
};

/* `head` and `upgrade` decide while the library reads: they look at the request and may call
 * server_header(), server_set_data() and server_on_gone(), nothing else. The other two come from
 * the top of the loop. */
struct server_handlers {
    /* The head has come: how many bytes of body are taken (0 = none), or an HTTP status to refuse
     * with at once (negative: -401, -403, -404, -405, -413, -429). */
    int64_t (*head)(void *arg, struct server_request *r, const struct server_head *head);
    /* The request is whole. Answer now or later: server_answer(), or server_stream() and pieces. */
    void (*request)(void *arg, struct server_request *r, const struct server_head *head,
                    struct chela_str body);
    /* A client wants a WebSocket: 0 accepts, else an HTTP status. NULL: there are none, `head` is
     * asked as for any request. */
    int (*upgrade)(void *arg, struct server_request *r, const struct server_head *head);
    void (*opened)(void *arg, struct server_socket *s, const struct server_head *head);
};

struct server_limits {
    unsigned connections; /* beyond it new ones are closed */
    unsigned connections_per_address;
    unsigned header_ms, body_ms; /* to send head and body */
    unsigned idle_ms;            /* keep-alive */
    size_t head_bytes;
};

struct server;
/* Listens on address (numeric) and port (0: the kernel chooses; ask server_port). */
struct server *server_open(const char *address, uint16_t port, const struct server_limits *limits,
                           const struct server_handlers *handlers, void *arg, struct error *e);
uint16_t server_port(const struct server *s);
/* Stops listening; `drained` is called when all connections have ended or `grace_ms` has passed. */
void server_close(struct server *s, uint64_t grace_ms, void (*drained)(void *arg), void *arg);

/* A header of the request by its lower-case name, NULL if absent. Valid as long as the request. */
const char *server_header(struct server_request *r, const char *name);
/* All headers, names in lower case. */
void server_each_header(struct server_request *r,
                        void (*each)(void *arg, const char *name, const char *value), void *arg);
/* For `head`, before it refuses: what the answer says beside its status. body: JSON text or NULL
 * (copied); retry_after: seconds, 0 = no such header. */
void server_refusal(struct server_request *r, unsigned retry_after, const char *body);
/* Free to use by the handler. */
void server_set_data(struct server_request *r, void *data);
void *server_data(struct server_request *r);
/* Called, once, when the client has gone before the handler finished its answer; also when only the
 * head was accepted and the rest never came. Without it such an answer goes nowhere. */
void server_on_gone(struct server_request *r, void (*gone)(void *arg, struct server_request *r),
                    void *arg);

/* The whole answer. headers: extra ones (name, value), may be empty. The body is copied. */
void server_answer(struct server_request *r, unsigned status, const char *content_type,
                   struct chela_pairs headers, struct chela_str body);
/* Begins a streamed answer (chunked); then pieces, then the end. With `sse` (pieces must be whole
 * events) a comment ":\n\n" goes out every 15 s of silence. server_stream_waiting(): bytes not yet
 * taken by the client, for flow control; above 8 MiB, or a minute without progress, the client
 * counts as gone. What is written in one pass of the loop goes out together. */
void server_stream(struct server_request *r, unsigned status, const char *content_type,
                   struct chela_pairs headers, bool sse);
void server_stream_write(struct server_request *r, struct chela_str piece);
size_t server_stream_waiting(const struct server_request *r);
/* `drained` is called when the client has taken all that was written, each time. */
void server_stream_on_drained(struct server_request *r,
                              void (*drained)(void *arg, struct server_request *r), void *arg);
void server_stream_end(struct server_request *r);

struct server_socket_handlers {
    void (*message)(void *arg, struct server_socket *s, struct chela_str text, bool binary);
    void (*closed)(void *arg, struct server_socket *s,
                   unsigned code); /* the last call for this socket */
    void (*drained)(
        void *arg, struct server_socket *s); /* the buffer fell below half its limit; may be NULL */
};
/* Sets who is told. receive_limit: longest message (beyond: close 1009); send_limit: most bytes
 * waiting (beyond: close 1008, slow consumer). Both can be changed later. Pings go out every
 * ping_ms, none back within 25 s closes. */
void server_socket_attach(struct server_socket *s, const struct server_socket_handlers *handlers,
                          void *arg);
void server_socket_limits(struct server_socket *s, size_t receive_limit, size_t send_limit,
                          uint64_t ping_ms);
/* Queues a text message (copied); what is queued in one pass of the loop goes out in one write. */
void server_socket_send(struct server_socket *s, struct chela_str text);
size_t server_socket_waiting(const struct server_socket *s);
void server_socket_close(struct server_socket *s, unsigned code,
                         const char *reason); /* `closed` comes later */

#endif
