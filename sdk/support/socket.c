/*
 * A channel's WebSocket (see socket.h).
 */
#include "support/socket.h"

#include <stdlib.h>
#include <string.h>

#include "support/api.h"
#include "support/json.h"

enum { CODE_GOOD_BYE = 1000 };

void chela_socket_open(struct chela_socket *s, struct chela_peer *p,
                       const struct chela_socket_way *way)
{
    s->p = p;
    s->way = way;
}

bool chela_socket_idle(const struct chela_socket *s)
{
    return !s->call && !s->refused && !s->p->closing && !s->p->stopping;
}

void chela_socket_timer(struct chela_socket *s, uint64_t ms, chela_callback *fn)
{
    const struct chela_local *local = s->p->in->host->local;
    local->timer_stop(s->p->in, s->timer);
    s->timer = fn ? local->timer(s->p->in, ms, fn, s->p) : 0;
}

void chela_socket_send(struct chela_socket *s, json_object *o)
{
    size_t n;
    const char *text = chela_json_text(o, &n);
    CHELA_ARGS(chela_ws_send, a, s->call);
    a.kind = CHELA_WS_TEXT;
    a.data = chela_sn(text, n);
    s->p->in->host->net->ws_send(s->p->in, &a);
    json_object_put(o);
}

void chela_socket_drop(struct chela_socket *s, const char *why, uint64_t least)
{
    uint64_t call = s->call;
    s->call = 0;
    chela_socket_timer(s, 0, NULL);
    if (call)
        chela_cancel(s->p->in, call);
    if (s->p->stopping || s->p->closing)
        return;
    chela_peer_say(s->p, false, why);
    chela_peer_again(s->p, s->way->open, s->p, least);
}

/* Says it with the service's name in front. */
static void drop_for(struct chela_socket *s, const char *what)
{
    char *why = chela_format("%s %s", s->p->api->service, what);
    chela_socket_drop(s, why, 0);
    free(why);
}

/* ---- what comes ---- */

void chela_socket_event(struct chela_socket *s, const struct chela_ws_event *e)
{
    json_object *o = NULL;
    if (e->h.call != s->call)
        return; /* of one that was dropped */
    if (e->kind == CHELA_WS_CLOSE)
        s->code = e->code;
    if (e->kind != CHELA_WS_TEXT)
        return;
    if (chela_json_parse(e->data.s, (size_t)e->data.n, NULL, &o, NULL) == 0 &&
        json_object_is_type(o, json_type_object))
        s->way->received(s, o);
    else
        drop_for(s, "sent what is no JSON object");
    json_object_put(o);
}

/* ---- the connection ---- */

static void ended(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_socket *s = owner;
    if (p->closing || d->h.call != s->call)
        return;
    s->call = 0;
    chela_socket_timer(s, 0, NULL);
    if (p->stopping) {
        chela_end(p->in, s->stop_call, CHELA_OK, "");
        return;
    }
    const char *why = s->way->closed(s, s->code);
    if (why) {
        s->refused = true;
        chela_peer_say(p, false, why);
        return;
    }
    char *text = d->error == CHELA_OK
                     ? chela_format("%s closed the connection (%u)", p->api->service, s->code)
                     : chela_format("the connection to %s is lost: %s", p->api->service, d->text.s);
    chela_socket_drop(s, text, 0);
    free(text);
}

static void silent(struct chela_inst *in, void *arg)
{
    struct chela_socket *s = arg;
    (void)in;
    drop_for(s, "has not greeted us in time");
}

void chela_socket_connect(struct chela_socket *s, const char *url, uint64_t greeting_ms)
{
    struct chela_inst *in = s->p->in;
    CHELA_ARGS(chela_ws_connect, a, in->host->local->new_call(in));
    a.h.tag = chela_peer_tag(s->p, ended, s);
    a.url = chela_s(url);
    s->call = a.h.call;
    s->code = 0;
    chela_socket_timer(s, 0, NULL);
    s->timer = in->host->local->timer(in, greeting_ms, silent, s);
    in->host->net->ws_connect(in, &a);
}

void chela_socket_stop(struct chela_socket *s, uint64_t call)
{
    struct chela_inst *in = s->p->in;
    in->host->local->timer_stop(in, s->p->timer);
    chela_socket_timer(s, 0, NULL);
    s->stop_call = call;
    if (!s->call) {
        chela_end(in, call, CHELA_OK, "");
        return;
    }
    CHELA_ARGS(chela_ws_send, a, s->call);
    a.kind = CHELA_WS_CLOSE;
    a.code = CODE_GOOD_BYE;
    in->host->net->ws_send(in, &a);
}
