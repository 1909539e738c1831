/*
 * The stream on which a server sends what it wants by itself: GET with streamable HTTP, which not
 * every server has, and the only way back with the older SSE, where its first event names the place
 * to post to. Called by http.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { GONE_AFTER = 3, RETRY_MS = 1000, RETRY_MOST_MS = 30000, DAY_MS = 24 * 3600 * 1000 };

/* The place to post: relative to the server's URL, and on the same host. */
static char *endpoint_of(const struct server *s, struct chela_str data)
{
    char *text = text_of(data);
    const char *host = strstr(s->url, "://");
    size_t origin = host ? (size_t)(host - s->url) + 3 + strcspn(host + 3, "/?#") : 0;
    char *whole;
    if (text[0] == '/' && text[1] != '/')
        whole = format("%.*s%s", (int)origin, s->url, text);
    else if (strncmp(text, s->url, origin) == 0 && strchr("/?#", text[origin]))
        whole = need(strdup(text));
    else
        whole = NULL;
    free(text);
    return whole;
}

static void event(struct io *io, const struct chela_http_event *e)
{
    struct server *s = io->server;
    if (!s || s->stream != io)
        return;
    if (e->headers.n) {
        s->stream_failures = 0;
        return;
    }
    if (e->retry_ms)
        s->stream_retry_ms = e->retry_ms;
    if (e->id.n) {
        free(s->stream_id);
        s->stream_id = text_of(e->id);
    }
    if (s->transport == TRANSPORT_SSE && chela_str_is(e->name, "endpoint")) {
        free(s->endpoint);
        s->endpoint = endpoint_of(s, e->data);
        if (s->endpoint)
            server_greet(s);
        else
            server_lost(s, "it names a place to post to that is not its own");
    } else if (e->data.n) {
        rpc_incoming(s, e->data.s, (size_t)e->data.n);
    }
}

static void again(struct chela_inst *in, void *arg)
{
    struct server *s = arg;
    (void)in;
    s->stream_timer = 0;
    if (s->state == SERVER_READY || s->state == SERVER_LOGIN)
        stream_open(s);
}

static void done(struct io *io, const struct chela_done *d)
{
    struct server *s = io->server;
    if (!s || s->stream != io)
        return;
    s->stream = NULL;
    if (s->transport == TRANSPORT_SSE) {
        char *why = format("its stream ended (HTTP %u %.*s)", d->http_status,
                           (int)(d->text.n > 200 ? 200 : d->text.n), d->text.n ? d->text.s : "");
        server_lost(s, why);
        free(why);
        return;
    }
    if (d->http_status >= 400) /* 405: it has none; the others show in the next POST */
        return;
    uint64_t wait = s->stream_retry_ms ? s->stream_retry_ms : RETRY_MS;
    for (unsigned i = 0; i < s->stream_failures && wait < RETRY_MOST_MS; i++)
        wait *= 2;
    s->stream_failures++;
    if (d->http_status == 0 && s->stream_failures > GONE_AFTER) {
        server_lost(s, "it can't be reached any more");
        return;
    }
    s->stream_timer = s->mcp->in->host->local->timer(s->mcp->in, wait, again, s);
}

void stream_open(struct server *s)
{
    struct chela_inst *in = s->mcp->in;
    struct headers h;
    stream_close(s);
    struct io *io = io_new(s->mcp, s, NULL);
    io->event = event;
    io->done = done;
    s->stream = io;
    http_headers(s, &h, "text/event-stream");
    if (s->stream_id)
        h.v[h.n++] = (struct chela_pair){chela_s("Last-Event-ID"), chela_s(s->stream_id)};
    CHELA_ARGS(chela_http, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.h.flags = CHELA_HEAD;
    a.method = chela_s("GET");
    a.url = chela_s(s->url);
    a.decode = CHELA_SSE;
    a.limit = UINT64_MAX / 2;
    a.idle_ms = DAY_MS;
    a.headers.v = h.v;
    a.headers.n = h.n;
    in->host->net->http(in, &a);
    http_headers_free(&h);
}

void stream_close(struct server *s)
{
    s->mcp->in->host->local->timer_stop(s->mcp->in, s->stream_timer);
    s->stream_timer = 0;
    if (s->stream)
        io_forget(s->stream);
    s->stream = NULL;
}
