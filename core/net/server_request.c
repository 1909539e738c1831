/*
 * A request on its way from the first line to the whole answer: what libmicrohttpd calls
 * (server_request_line, _access, _completed), and what handlers call (server_answer ...). The
 * former only fill the struct and suspend; the latter only fill it and ask for a resume.
 *
 * A request is freed when libmicrohttpd has forgotten it, the handler holds it no longer, and it
 * waits in no list.
 */
#include "net/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/mem.h"

static struct server_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

void *server_request_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct server *s = cls;
    struct server_connection *c = connection_of(mhd);
    struct server_request *r = xcalloc(1, sizeof *r);
    if (c->request)
        server_request_end(c->request);
    r->server = s;
    r->connection = c;
    r->uri = xstrdup(uri);
    list_init(&r->wake);
    list_init(&r->ready);
    c->request = r;
    if (c->phase != SERVER_HEAD)
        server_phase(c, SERVER_HEAD);
    return r;
}

/* Answers that the server gives itself. */

void server_refusal(struct server_request *r, unsigned retry_after, const char *body)
{
    free(r->refusal);
    r->refusal = xstrdup(body);
    r->retry_after = retry_after;
}

static enum MHD_Result refuse_now(struct server_request *r, struct MHD_Connection *mhd)
{
    struct chela_pairs none = {0};
    size_t n = r->refusal ? strlen(r->refusal) : 0;
    struct MHD_Response *response =
        server_response(MHD_create_response_from_buffer(n, r->refusal, MHD_RESPMEM_MUST_COPY),
                        n ? "application/json; charset=utf-8" : NULL, none);
    MHD_add_response_header(response, "Connection", "close");
    if (r->status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (r->retry_after) {
        CLEANUP(freep) char *seconds = xprintf("%u", r->retry_after);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    if (r->status == 426)
        MHD_add_response_header(response, "Sec-WebSocket-Version", "13");
    server_phase(r->connection, SERVER_ANSWER);
    r->stage = REQUEST_ANSWERED;
    enum MHD_Result result = MHD_queue_response(mhd, r->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct server_request *r, struct MHD_Connection *mhd, unsigned status,
                              uint64_t length, bool chunked)
{
    r->status = status;
    if (length > SERVER_SWALLOW || chunked || server_header(r, "expect"))
        return refuse_now(r, mhd);
    r->stage = REQUEST_REFUSED;
    server_phase(r->connection, SERVER_BODY);
    return MHD_YES;
}

/* libmicrohttpd's calls. */

static enum MHD_Result head_came(struct server_request *r, struct MHD_Connection *mhd,
                                 const char *method)
{
    struct server *s = r->server;
    int status = server_head_parse(r, mhd, method);
    const char *text = server_header(r, "content-length");
    bool chunked = server_header(r, "transfer-encoding") != NULL;
    uint64_t length = text ? strtoull(text, NULL, 10) : 0;
    if (status)
        return status == 400 || status == 501 ? (r->status = (unsigned)status, refuse_now(r, mhd))
                                              : refuse(r, mhd, (unsigned)status, length, chunked);
    if (s->closing) {
        r->status = 503;
        return refuse_now(r, mhd);
    }
    status = server_upgrade_wanted(r);
    if (status == 1) {
        status = length || chunked ? 400 : s->handlers.upgrade(s->arg, r, &r->head);
        if (status)
            return refuse(r, mhd, (unsigned)status, length, chunked);
        r->upgrade = true;
    } else if (status) {
        return refuse(r, mhd, (unsigned)status, length, chunked);
    } else {
        int64_t take = s->handlers.head(s->arg, r, &r->head);
        if (take < 0 || length > (uint64_t)take)
            return refuse(r, mhd, take < 0 ? (unsigned)-take : 413, length, chunked);
        r->body_limit = (uint64_t)take;
    }
    r->held = true;
    r->stage = REQUEST_BODY;
    if (length || chunked)
        server_phase(r->connection, SERVER_BODY);
    return MHD_YES;
}

static enum MHD_Result body_came(struct server_request *r, const char *piece, size_t n)
{
    if (r->stage == REQUEST_BODY && n <= r->body_limit - r->body.n) {
        buf_add(&r->body, piece, n);
        return MHD_YES;
    }
    if (r->stage == REQUEST_BODY) { /* of an unknown length, and too long */
        r->stage = REQUEST_REFUSED;
        r->status = 413;
        buf_free(&r->body);
        server_request_ready(r);
    }
    r->swallowed += n;
    return r->swallowed > SERVER_SWALLOW ? MHD_NO : MHD_YES;
}

static enum MHD_Result queue_answer(struct server_request *r, struct MHD_Connection *mhd)
{
    struct MHD_Response *response = r->response;
    r->response = NULL;
    r->stage = REQUEST_ANSWERED;
    if (r->server->closing)
        MHD_add_response_header(response, "Connection", "close");
    server_phase(r->connection, r->stream ? SERVER_NONE : SERVER_ANSWER);
    enum MHD_Result result = MHD_queue_response(mhd, r->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result whole(struct server_request *r, struct MHD_Connection *mhd)
{
    if (r->stage == REQUEST_REFUSED)
        return refuse_now(r, mhd);
    if (r->lost)
        return MHD_NO;
    if (r->upgrade)
        return server_upgrade(r, mhd);
    if (r->response)
        return queue_answer(r, mhd);
    if (r->stage == REQUEST_BODY) {
        r->stage = REQUEST_WAITING;
        server_phase(r->connection, SERVER_NONE);
        server_request_ready(r);
    }
    r->suspended = true;
    MHD_suspend_connection(mhd);
    return MHD_YES;
}

enum MHD_Result server_request_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **con_cls)
{
    struct server_request *r = *con_cls;
    (void)cls;
    (void)url;
    (void)version;
    if (!r)
        return MHD_NO;
    if (r->stage == REQUEST_LINE)
        return head_came(r, mhd, method);
    if (*upload_size == 0)
        return whole(r, mhd);
    enum MHD_Result result = body_came(r, upload, *upload_size);
    *upload_size = 0; /* always taken: what is left makes libmicrohttpd spin */
    return result;
}

void server_request_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                              enum MHD_RequestTerminationCode why)
{
    struct server_request *r = *con_cls;
    (void)cls;
    (void)mhd;
    (void)why;
    *con_cls = NULL;
    if (r && r->connection)
        server_request_end(r);
}

void server_request_end(struct server_request *r)
{
    struct server_connection *c = r->connection;
    if (r->watched)
        epoll_ctl(r->server->gone_fd, EPOLL_CTL_DEL, c->fd, NULL);
    r->watched = false;
    r->connection = NULL;
    r->suspended = false;
    list_remove(&r->wake);
    c->request = NULL;
    if (r->server->closing)
        server_cut(c);
    else
        server_phase(c, SERVER_IDLE);
    if (r->held && r->gone)
        server_request_ready(r);
    else if (r->held && !r->delivered)
        r->held = false; /* no handler knows it but by its head */
    server_request_free(r);
}

void server_request_free(struct server_request *r)
{
    if (r->connection || r->held || !list_empty(&r->ready))
        return;
    if (r->response)
        MHD_destroy_response(r->response);
    server_stream_free(r->stream);
    buf_free(&r->body);
    free(r->block);
    free(r->uri);
    free(r->refusal);
    free(r);
}

/* Lists. */

void server_request_ready(struct server_request *r)
{
    if (list_empty(&r->ready))
        list_append(&r->server->ready, &r->ready);
    server_schedule(r->server);
}

void server_request_wake(struct server_request *r)
{
    if (!r->suspended || !list_empty(&r->wake))
        return;
    list_append(&r->server->wake, &r->wake);
    loop_again();
}

void server_request_resume(struct server_request *r)
{
    if (!r->suspended || !r->connection)
        return;
    r->suspended = false;
    MHD_resume_connection(r->connection->mhd);
    r->server->run_needed = true;
}

void server_request_watch(struct server_request *r)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = r};
    if (r->watched || !r->connection)
        return;
    r->watched = epoll_ctl(r->server->gone_fd, EPOLL_CTL_ADD, r->connection->fd, &event) == 0;
}

void server_request_lose(struct server_request *r)
{
    r->lost = true;
    if (r->suspended)
        server_request_wake(r);
    else if (r->connection)
        server_cut(r->connection);
}

/* From the top of the loop: what happened to it. */
void server_request_deliver(struct server_request *r)
{
    struct server *s = r->server;
    if (r->held && (!r->connection || r->stage == REQUEST_REFUSED)) {
        r->held = false;
        if (r->gone)
            r->gone(r->gone_arg, r);
    } else if (r->held && r->stage == REQUEST_WAITING && !r->delivered) {
        r->delivered = true;
        s->handlers.request(s->arg, r, &r->head, buf_view(&r->body));
        if (r->held)
            server_request_watch(r);
    } else if (r->stream && r->held) {
        server_stream_tell(r);
    }
    server_request_free(r);
}

/* What handlers call. */

void server_set_data(struct server_request *r, void *data)
{
    r->data = data;
}

void *server_data(struct server_request *r)
{
    return r->data;
}

void server_on_gone(struct server_request *r, void (*gone)(void *arg, struct server_request *r),
                    void *arg)
{
    r->gone = gone;
    r->gone_arg = arg;
}

static void add_header(struct MHD_Response *response, struct chela_str name, struct chela_str value)
{
    CLEANUP(freep) char *n = xmemdup(name.s, name.n);
    CLEANUP(freep) char *v = xmemdup(value.s, value.n);
    if (MHD_add_response_header(response, n, v) != MHD_YES)
        log_warning("server", "a header named \"%s\" can't be sent", n);
}

struct MHD_Response *server_response(struct MHD_Response *response, const char *content_type,
                                     struct chela_pairs headers)
{
    if (content_type && *content_type)
        MHD_add_response_header(response, "Content-Type", content_type);
    for (uint64_t i = 0; i < headers.n; i++)
        add_header(response, headers.v[i].name, headers.v[i].value);
    return response;
}

void server_answer(struct server_request *r, unsigned status, const char *content_type,
                   struct chela_pairs headers, struct chela_str body)
{
    if (!r->held || r->stream || r->response) {
        log_error("server", "a second answer to one request was dropped");
        return;
    }
    r->held = false;
    if (!r->connection) {
        server_request_free(r);
        return;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.s, MHD_RESPMEM_MUST_COPY);
    r->response = server_response(response, content_type, headers);
    r->status = status;
    buf_free(&r->body);
    server_request_wake(r);
}
