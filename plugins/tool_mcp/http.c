/*
 * A server by HTTP: each message of ours is a POST, answered as JSON or as a stream of events. A
 * stream that ends before the answer is taken up again behind the last event; a session that the
 * server has forgotten is begun anew; a login that is missing is waited for. Called by rpc.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { RESUME_MOST = 5, RETRY_MS = 1000, LOGINS_MOST = 3, DAY_MS = 24 * 3600 * 1000 };

/* One message of ours on its way. */
struct post {
    uint64_t request; /* its id; 0: none is awaited */
    char *text;
    uint64_t retry_ms;
    char *event_id;
    bool resumed, bearer;
};

const char *header_of(const struct chela_pairs *headers, const char *name)
{
    for (uint64_t i = 0; i < headers->n; i++)
        if (chela_str_is(headers->v[i].name, name))
            return headers->v[i].value.s;
    return NULL;
}

void http_headers(struct server *s, struct headers *h, const char *accept)
{
    int64_t count = server_number(s, "headers");
    const char *token = oauth_token(s);
    memset(h, 0, sizeof *h);
    h->v[h->n++] = (struct chela_pair){chela_s("Accept"), chela_s(accept)};
    h->v[h->n++] = (struct chela_pair){chela_s("Content-Type"), chela_s("application/json")};
    if (s->session)
        h->v[h->n++] = (struct chela_pair){chela_s("Mcp-Session-Id"), chela_s(s->session)};
    if (s->version && s->version->header)
        h->v[h->n++] =
            (struct chela_pair){chela_s("MCP-Protocol-Version"), chela_s(s->version->name)};
    if (token) {
        h->bearer = format("Bearer %s", token);
        h->v[h->n++] = (struct chela_pair){chela_s("Authorization"), chela_s(h->bearer)};
    }
    for (int64_t i = 0; i < count && h->n < sizeof h->v / sizeof h->v[0] - 1; i++) {
        char name[32], value[32];
        snprintf(name, sizeof name, "headers.%d.name", (int)i);
        snprintf(value, sizeof value, "headers.%d.value", (int)i);
        h->v[h->n++] = (struct chela_pair){server_option(s, name), server_option(s, value)};
    }
}

void http_headers_free(struct headers *h)
{
    free(h->bearer);
}

static void post_free(struct post *p)
{
    free(p->text);
    free(p->event_id);
    free(p);
}

static void event(struct io *io, const struct chela_http_event *e)
{
    struct server *s = io->server;
    struct post *p = io->owner;
    if (!s)
        return;
    if (e->headers.n) {
        const char *session = header_of(&e->headers, "mcp-session-id");
        if (session && !s->session)
            s->session = need(strdup(session));
        return;
    }
    if (e->retry_ms)
        p->retry_ms = e->retry_ms;
    if (e->id.n) {
        free(p->event_id);
        p->event_id = text_of(e->id);
    }
    if (e->data.n)
        rpc_incoming(s, e->data.s, (size_t)e->data.n);
}

static void done(struct io *io, const struct chela_done *d);

static void send(struct server *s, struct request *r, struct post *p, const char *url)
{
    struct chela_inst *in = s->mcp->in;
    struct io *io = io_new(s->mcp, s, p);
    struct headers h;
    io->event = event;
    io->done = done;
    p->bearer = oauth_token(s) != NULL;
    CHELA_ARGS(chela_http, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.h.flags = CHELA_HEAD;
    a.decode = CHELA_SSE;
    a.limit = UINT64_MAX / 2;
    a.idle_ms = DAY_MS;
    a.url = chela_s(url);
    if (p->resumed) {
        http_headers(s, &h, "text/event-stream");
        a.method = chela_s("GET");
        h.v[h.n++] = (struct chela_pair){chela_s("Last-Event-ID"), chela_s(p->event_id)};
    } else {
        http_headers(s, &h, "application/json, text/event-stream");
        a.method = chela_s("POST");
        a.body = chela_s(p->text);
    }
    a.headers.v = h.v;
    a.headers.n = h.n;
    if (r)
        r->io = io;
    in->host->net->http(in, &a);
    http_headers_free(&h);
}

void http_send(struct server *s, struct request *r, const char *text, size_t n)
{
    const char *url = s->transport == TRANSPORT_SSE ? s->endpoint : s->url;
    if (!url)
        return;
    struct post *p = need(calloc(1, sizeof *p));
    p->request = r ? r->id : 0;
    p->text = need(strndup(text, n));
    send(s, r, p, url);
}

/* ---- the end of a POST ---- */

static void resume_due(struct chela_inst *in, void *arg)
{
    struct request *r = arg;
    struct server *s = r->server;
    (void)in;
    r->retry_timer = 0;
    struct post *p = need(calloc(1, sizeof *p));
    p->request = r->id;
    p->resumed = true;
    p->event_id = r->event_id;
    p->retry_ms = r->retry_ms;
    r->event_id = NULL;
    send(s, r, p, s->url);
}

/* The stream has ended before the answer: it is taken up again, or the request has failed. */
static void stream_ended(struct server *s, struct request *r, struct post *p)
{
    struct chela_inst *in = s->mcp->in;
    if (!p->event_id || r->resumed >= RESUME_MOST) {
        rpc_end(r, NULL, "the connection ended before the answer came");
        return;
    }
    r->resumed++;
    free(r->event_id);
    r->event_id = p->event_id;
    p->event_id = NULL;
    r->retry_ms = p->retry_ms;
    r->retry_timer =
        in->host->local->timer(in, p->retry_ms ? p->retry_ms : RETRY_MS, resume_due, r);
}

/* A session that the server no longer knows: said with 404, by some with 400. */
static bool session_gone(const struct server *s, const struct chela_done *d)
{
    if (!s->session || s->state != SERVER_READY)
        return false;
    return d->http_status == 404 ||
           (d->http_status == 400 && d->text.n && strstr(d->text.s, "ession"));
}

static bool wants_sse(const struct server *s, const struct request *r, const struct chela_done *d)
{
    return !s->tried_sse && s->transport == TRANSPORT_HTTP && !s->version &&
           strcmp(r->method, "initialize") == 0 &&
           (d->http_status == 400 || d->http_status == 404 || d->http_status == 405);
}

/* Before 2025-03-26 a server was found by opening a stream. */
static void fall_back(struct server *s, struct request *r)
{
    s->tried_sse = true;
    s->transport = TRANSPORT_SSE;
    r->fn = NULL;
    rpc_end(r, NULL, "");
    http_start(s);
}

static void refused(struct server *s, struct request *r, const struct chela_done *d)
{
    const char *why = NULL;
    if (r->logins++ < LOGINS_MOST && oauth_refused(s, d->http_status, &d->headers, &why)) {
        r->again = true;
        return;
    }
    char *text = format("the server refuses it (HTTP %u)%s%s", d->http_status, why ? ": " : "",
                        why ? why : "");
    rpc_end(r, NULL, text);
    free(text);
}

static void failed(struct server *s, struct request *r, const struct chela_done *d)
{
    char *why = d->http_status
                    ? format("HTTP %u %.*s", d->http_status,
                             (int)(d->text.n > 300 ? 300 : d->text.n), d->text.n ? d->text.s : "")
                    : format("%.*s", (int)d->text.n, d->text.n ? d->text.s : "");
    if (s->state == SERVER_READY && d->http_status == 0 && d->error != CHELA_E_CANCELLED)
        server_lost(s, why); /* which ends all requests */
    else
        rpc_end(r, NULL, why);
    free(why);
}

static void done(struct io *io, const struct chela_done *d)
{
    struct post *p = io->owner;
    struct server *s = io->server;
    struct request *r = s && p->request ? rpc_find(s, p->request) : NULL;
    if (s && !s->session) {
        const char *session = header_of(&d->headers, "mcp-session-id");
        if (session && d->http_status < 300)
            s->session = need(strdup(session));
    }
    if (r)
        r->io = NULL;
    if (s && d->error == CHELA_OK && d->text.n) {
        rpc_incoming(s, d->text.s, (size_t)d->text.n);
        r = p->request ? rpc_find(s, p->request) : NULL;
    }
    if (!r || s->transport == TRANSPORT_SSE) {
        if (r && d->error != CHELA_OK)
            failed(s, r, d);
    } else if (d->http_status == 401 || d->http_status == 403) {
        refused(s, r, d);
    } else if (session_gone(s, d)) {
        free(s->session);
        s->session = NULL;
        server_lost(s, "it has forgotten the session");
    } else if (wants_sse(s, r, d)) {
        fall_back(s, r);
    } else if (d->error == CHELA_OK || (d->http_status < 300 && p->event_id)) {
        stream_ended(s, r, p);
    } else {
        failed(s, r, d);
    }
    post_free(p);
}

void http_forget(struct request *r)
{
    struct chela_inst *in = r->server->mcp->in;
    in->host->local->timer_stop(in, r->retry_timer);
    free(r->event_id);
    r->event_id = NULL;
    if (!r->io)
        return;
    struct io *io = r->io;
    struct post *p = io->owner;
    r->io = NULL;
    p->request = 0; /* its answer may be on the way: the stream ends by itself */
    (void)io;
}

void http_resend(struct server *s)
{
    for (struct request *r = s->requests; r; r = r->next) {
        if (!r->again)
            continue;
        r->again = false;
        http_send(s, r, r->text, strlen(r->text));
    }
}

void http_start(struct server *s)
{
    stream_open(s);
}

void http_ready(struct server *s)
{
    if (s->transport == TRANSPORT_HTTP)
        stream_open(s);
}

static void deleted(struct io *io, const struct chela_done *d)
{
    (void)io;
    (void)d;
}

void http_stop(struct server *s)
{
    struct chela_inst *in = s->mcp->in;
    stream_close(s);
    if (s->session && s->transport == TRANSPORT_HTTP) {
        struct io *io = io_new(s->mcp, NULL, NULL);
        struct headers h;
        io->done = deleted;
        http_headers(s, &h, "application/json, text/event-stream");
        CHELA_ARGS(chela_http, a, io->call);
        a.h.tag = (uint64_t)(uintptr_t)io;
        a.method = chela_s("DELETE");
        a.url = chela_s(s->url);
        a.timeout_ms = 2000;
        a.headers.v = h.v;
        a.headers.n = h.n;
        in->host->net->http(in, &a);
        http_headers_free(&h);
    }
    free(s->session);
    s->session = NULL;
    free(s->endpoint);
    s->endpoint = NULL;
}
