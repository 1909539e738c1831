/*
 * Streamed answers: pieces go into a buffer, libmicrohttpd's reader takes them out and suspends the
 * connection when there is none (a reader that returns 0 without doing so spins). Comments keep an
 * event stream alive; a client that takes nothing, or too little, is cut.
 */
#include "net/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct server_stream {
    struct server_request *request;
    struct MHD_Connection *mhd;
    struct buf out;
    size_t taken; /* bytes at the front of `out` that have gone */
    bool sse, ended, was_full;
    uint64_t progress; /* when the client last took something */
    uint64_t timer;
    void (*drained)(void *arg, struct server_request *r);
    void *drained_arg;
};

static ssize_t read_stream(void *cls, uint64_t position, char *out, size_t size)
{
    struct server_request *r = cls;
    struct server_stream *t = r->stream;
    size_t n = t->out.n - t->taken;
    (void)position;
    if (r->lost)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n) {
        n = n < size ? n : size;
        memcpy(out, t->out.p + t->taken, n);
        t->taken += n;
        t->progress = clock_ticks_ms();
        if (t->taken == t->out.n) {
            t->taken = 0;
            if (t->out.size > 64u << 10)
                buf_free(&t->out);
            else
                buf_clear(&t->out);
            if (t->was_full && t->drained)
                server_request_ready(r);
        }
        return (ssize_t)n;
    }
    if (t->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    r->suspended = true;
    MHD_suspend_connection(t->mhd);
    return 0;
}

static void stream_timer(void *arg)
{
    struct server_stream *t = arg;
    struct server_request *r = t->request;
    size_t waiting = t->out.n - t->taken;
    t->timer = loop_timer(SERVER_COMMENT_MS, stream_timer, t);
    if (waiting && clock_ticks_ms() - t->progress >= SERVER_STALL_MS) {
        log_debug("server", "a stream's client takes nothing, closing");
        server_request_lose(r);
    } else if (!waiting && t->sse && !t->ended) {
        server_stream_write(r, (struct chela_str)CHELA_LIT(":\n\n"));
    }
}

void server_stream(struct server_request *r, unsigned status, const char *content_type,
                   struct chela_pairs headers, bool sse)
{
    if (!r->held || r->stream || r->response) {
        log_error("server", "a second answer to one request was dropped");
        return;
    }
    struct server_stream *t = xcalloc(1, sizeof *t);
    r->stream = t;
    t->request = r;
    t->sse = sse;
    t->progress = clock_ticks_ms();
    if (!r->connection)
        return; /* the pieces go nowhere, `gone` is on its way */
    t->mhd = r->connection->mhd;
    t->timer = loop_timer(SERVER_COMMENT_MS, stream_timer, t);
    r->response = server_response(
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, r, NULL),
        content_type, headers);
    if (sse) {
        MHD_add_response_header(r->response, "Cache-Control", "no-store");
        MHD_add_response_header(r->response, "X-Accel-Buffering", "no"); /* nginx would collect */
    }
    r->status = status;
    buf_free(&r->body);
    server_request_watch(r);
    server_request_wake(r);
}

void server_stream_write(struct server_request *r, struct chela_str piece)
{
    struct server_stream *t = r->stream;
    if (!t || t->ended || !r->connection || r->lost)
        return;
    if (t->taken && t->taken >= t->out.n / 2) {
        buf_consume(&t->out, t->taken);
        t->taken = 0;
    }
    if (t->out.n == t->taken)
        t->progress = clock_ticks_ms();
    buf_str(&t->out, piece);
    t->was_full = true;
    if (t->out.n - t->taken > SERVER_STREAM_LIMIT) {
        log_debug("server", "a stream's client is too slow, closing");
        server_request_lose(r);
    }
    server_request_wake(r);
}

size_t server_stream_waiting(const struct server_request *r)
{
    return r->stream ? r->stream->out.n - r->stream->taken : 0;
}

void server_stream_on_drained(struct server_request *r,
                              void (*drained)(void *arg, struct server_request *r), void *arg)
{
    if (!r->stream)
        return;
    r->stream->drained = drained;
    r->stream->drained_arg = arg;
}

void server_stream_tell(struct server_request *r)
{
    struct server_stream *t = r->stream;
    if (!t->was_full || t->out.n != t->taken)
        return;
    t->was_full = false;
    if (t->drained)
        t->drained(t->drained_arg, r);
}

void server_stream_end(struct server_request *r)
{
    if (!r->held || !r->stream) {
        log_error("server", "the end of a stream that isn't open was dropped");
        return;
    }
    r->held = false;
    r->stream->ended = true;
    loop_timer_stop(r->stream->timer);
    r->stream->timer = 0;
    if (r->connection) {
        server_phase(r->connection, SERVER_ANSWER);
        server_request_wake(r);
    } else {
        server_request_free(r);
    }
}

void server_stream_free(struct server_stream *t)
{
    if (!t)
        return;
    loop_timer_stop(t->timer);
    buf_free(&t->out);
    free(t);
}
