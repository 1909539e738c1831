/*
 * What the files of the HTTP server share: server.c (daemon, connections, deadlines, end),
 * server_request.c (from the head to the whole answer), server_stream.c (streamed answers),
 * server_upgrade.c and server_socket.c (WebSockets). Included by nobody else.
 *
 * The one rule that all of them keep: libmicrohttpd runs only in server_before_poll(); its
 * callbacks, and every server_* function that handlers call, only fill structs and lists.
 */
#ifndef NET_SERVER_INTERNAL_H
#define NET_SERVER_INTERNAL_H

#include "net/server.h"

#include <chela/local.h>
#include <microhttpd.h>
#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/list.h"
#include "host/loop.h"

/* What a connection is waiting for; each phase but NONE has a deadline. */
enum server_phase {
    SERVER_HEAD,   /* header_ms */
    SERVER_BODY,   /* body_ms */
    SERVER_IDLE,   /* idle_ms, between two requests */
    SERVER_ANSWER, /* SERVER_ANSWER_MS: a whole answer is on its way to the client */
    SERVER_NONE,   /* our turn, a stream, or a WebSocket */
    SERVER_PHASES = SERVER_NONE
};

enum {
    SERVER_ANSWER_MS = 120 * 1000,
    SERVER_COMMENT_MS = 15 * 1000,
    SERVER_STALL_MS = 60 * 1000,   /* a stream whose client takes nothing for so long is cut */
    SERVER_STREAM_LIMIT = 8 << 20, /* most bytes that wait for the client of a stream */
    SERVER_SWALLOW = 64 << 10,     /* a refused body up to this is read, so that the client
                                      sees the answer and not a reset */
    SERVER_HEADERS_MAX = 64,
    SERVER_CLOSE_MS = 5 * 1000, /* for the peer's half of a WebSocket's end */
    SERVER_PONG_MS = 25 * 1000
};

struct server {
    struct MHD_Daemon *daemon;
    struct loop_watch *watch; /* libmicrohttpd's epoll descriptor */
    int gone_fd;              /* our own epoll set: clients that hang up while we think */
    struct loop_watch *gone_watch;
    struct server_handlers handlers;
    void *arg;
    struct server_limits limits;
    uint16_t port;
    bool run_needed, deferred, closing, finish;
    uint64_t daemon_timer; /* libmicrohttpd's own idea of when to run again */
    struct link connections;
    unsigned connection_count;
    struct link phases[SERVER_PHASES]; /* connections in the order of their deadlines */
    uint64_t phase_timer, phase_timer_at;
    struct link wake;  /* requests to be resumed before the next poll */
    struct link ready; /* requests with something to tell the handler */
    struct link sockets;
    struct link flush; /* sockets with output of this pass */
    struct link todo;  /* sockets whose handlers are to be told something */
    uint64_t grace_timer;
    void (*drained)(void *arg);
    void *drained_arg;
    struct link link; /* in the list of all servers */
};

struct server_connection {
    struct server *server;
    struct MHD_Connection *mhd;
    struct server_request *request; /* the one that is being read or answered */
    int fd;
    enum server_phase phase;
    uint64_t deadline;
    struct link link, phase_link;
};

enum request_stage {
    REQUEST_LINE,    /* only the request line has come */
    REQUEST_BODY,    /* the head was accepted */
    REQUEST_REFUSED, /* the head was refused; what is left of the body is swallowed */
    REQUEST_WAITING, /* whole, and suspended until the handler answers */
    REQUEST_ANSWERED /* libmicrohttpd has the answer */
};

struct server_stream; /* server_stream.c */

struct server_request {
    struct server *server;
    struct server_connection *connection; /* NULL once the client is gone or the answer is out */
    enum request_stage stage;
    bool held;      /* the handler knows it and has neither answered nor been told that it's gone */
    bool suspended; /* in libmicrohttpd */
    bool watched;   /* in gone_fd */
    bool lost;      /* the client hung up, or we cut it off */
    bool delivered; /* handlers.request was called */
    bool upgrade;   /* to a WebSocket, accepted by the handler */
    char *uri;      /* as it came */
    char *block;    /* path, query, headers: one piece of memory */
    const char **header_names, **header_values;
    unsigned header_count;
    char remote[64];
    struct server_head head;
    void *data;
    void (*gone)(void *arg, struct server_request *r);
    void *gone_arg;
    struct buf body;
    uint64_t body_limit, swallowed;
    unsigned status;      /* of the refusal, or of the answer */
    unsigned retry_after; /* of the refusal, seconds */
    char *refusal;        /* its body, or NULL */
    struct MHD_Response *response;
    struct server_stream *stream;
    struct server_socket *socket;
    struct link wake, ready;
};

/* server.c */
void server_phase(struct server_connection *c, enum server_phase phase);
void server_cut(struct server_connection *c); /* the connection ends when libmicrohttpd runs */
void server_schedule(struct server *s);       /* call server_top() from the top of the loop */

/* server_request.c */
void *server_request_line(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result server_request_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **con_cls);
void server_request_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                              enum MHD_RequestTerminationCode why);
void server_request_end(struct server_request *r); /* libmicrohttpd forgets it */
void server_request_ready(struct server_request *r);
void server_request_deliver(struct server_request *r);
void server_request_wake(struct server_request *r);
void server_request_resume(struct server_request *r);
void server_request_watch(struct server_request *r); /* tell when the client hangs up */
void server_request_lose(struct server_request *r);
void server_request_free(struct server_request *r); /* if nobody needs it any more */
struct MHD_Response *server_response(struct MHD_Response *response, const char *content_type,
                                     struct chela_pairs headers);
int server_head_parse(struct server_request *r, struct MHD_Connection *mhd, const char *method);

/* server_stream.c */
void server_stream_tell(struct server_request *r);
void server_stream_free(struct server_stream *t);

/* server_upgrade.c: 1 = a WebSocket is wanted and all is well, 0 = not wanted, else an HTTP status
 */
int server_upgrade_wanted(struct server_request *r);
enum MHD_Result server_upgrade(struct server_request *r, struct MHD_Connection *mhd);

/* server_socket.c */
struct server_socket *server_socket_new(struct server *s, struct MHD_UpgradeResponseHandle *handle,
                                        int fd, const char *extra, size_t extra_size,
                                        struct server_request *r);
void server_sockets_flush(struct server *s);
void server_sockets_deliver(struct server *s);
void server_sockets_close(struct server *s); /* all with 1001 */
void server_sockets_cut(struct server *s);   /* all at once, without a word */

#endif
