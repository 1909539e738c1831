/*
 * Calls of a service's HTTP API (see api.h).
 */
#include "support/api.h"

#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { ROUTES_MOST = 256, HEADERS_MOST = 6 };

/* ---- refusals for a while ---- */

static uint64_t ticks(const struct chela_peer *p)
{
    return p->in->host->local->ticks_ms(p->in);
}

/* route "": all of them. */
static void block(struct chela_peer *p, const char *route, uint64_t ms)
{
    uint64_t now = ticks(p);
    if (chela_json_length(p->until) >= ROUTES_MOST) { /* those that are over */
        json_object *left = chela_json_new_object();
        json_object_object_foreach(p->until, name, value)
        {
            if ((uint64_t)chela_json_int_or(value, 0) > now)
                chela_json_put(left, name, json_object_get(value));
        }
        json_object_put(p->until);
        p->until = left;
    }
    chela_json_put_int(p->until, route, (int64_t)(now + ms));
}

/* How long this route has to wait: by the service's word, or since this second has seen enough. */
static uint64_t held(struct chela_peer *p, const char *route)
{
    uint64_t now = ticks(p), own = (uint64_t)chela_json_int(p->until, route, 0),
             all = (uint64_t)chela_json_int(p->until, "", 0), until = own > all ? own : all;
    if (until > now)
        return until - now;
    if (p->second != now / 1000) {
        p->second = now / 1000;
        p->requests = 0;
    }
    return !p->api->pace || p->requests++ < p->api->pace ? 0 : 1000 - now % 1000;
}

/* ---- a call ---- */

struct asked {
    chela_reply_fn *fn;
    void *owner;
    char *route;
};

static void answered(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct asked *q = owner;
    struct chela_reply r = {.error = d->error,
                            .flags = d->h.flags & (CHELA_RETRY | CHELA_EFFECT),
                            .status = d->http_status,
                            .retry_after_ms = d->retry_after_ms,
                            .stranger = d->http_status == 401,
                            .text = "",
                            .done = d};
    if (d->http_status && d->text.n && !(d->h.flags & CHELA_BLOB))
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &r.body, NULL);
    r.result = r.body;
    if (d->http_status)
        p->api->read(&r);
    char *silent = chela_format("%s refused without saying why", p->api->service);
    if (r.error != CHELA_OK && !*r.text)
        r.text = d->http_status ? silent : d->text.s ? d->text.s : "";
    if (r.pause_ms && !p->closing)
        block(p, r.pause_all ? "" : q->route, r.pause_ms);
    q->fn(p, q->owner, &r);
    json_object_put(r.body);
    free(silent);
    free(q->route);
    free(q);
}

static uint64_t send_call(struct chela_peer *p, const struct chela_api_call *c, struct asked *q)
{
    struct chela_pair headers[HEADERS_MOST + 1];
    size_t n = 0, length = 0;
    const char *text = c->body ? chela_json_text(c->body, &length) : "";
    char *url = chela_format("%s%s", chela_option_text(p->in, "base_url").s, c->path);
    for (; n < c->headers.n && n < HEADERS_MOST; n++)
        headers[n] = c->headers.v[n];
    if (c->form || c->body)
        headers[n++] = (struct chela_pair){CHELA_LIT("Content-Type"),
                                           chela_s(c->form ? c->form->type : "application/json")};
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = c->parent;
    a.timeout_ms = c->timeout_ms;
    a.method = chela_s(c->method);
    a.url = chela_s(url);
    a.body = c->form ? chela_sn(c->form->bytes, c->form->n) : chela_sn(text, length);
    a.headers = (struct chela_pairs){headers, n};
    uint64_t call = chela_peer_http(p, &a, answered, q);
    free(url);
    return call;
}

uint64_t chela_api_call(struct chela_peer *p, const struct chela_api_call *c, chela_reply_fn *fn,
                        void *owner)
{
    struct chela_reply r = {.error = CHELA_E_CANCELLED, .text = "the channel closes"};
    const char *route = c->route ? c->route : "";
    uint64_t call = 0, wait = p->closing ? 0 : held(p, route);
    if (p->closing || wait) {
        char *text = chela_format("%s takes no more of these at the moment", p->api->service);
        if (wait)
            r = (struct chela_reply){
                .error = CHELA_E_RATE, .flags = CHELA_RETRY, .retry_after_ms = wait, .text = text};
        fn(p, owner, &r);
        free(text);
    } else {
        struct asked *q = chela_need(malloc(sizeof *q));
        *q = (struct asked){fn, owner, chela_need(strdup(route))};
        call = send_call(p, c, q);
    }
    json_object_put(c->body);
    if (c->form)
        free(c->form->bytes);
    return call;
}

/* ---- what is made of an answer ---- */

void chela_api_unneeded(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    if (r->error == CHELA_OK || p->closing)
        return;
    char *text = owner ? chela_format("%s did not take %s", p->api->service, (const char *)owner)
                       : chela_need(strdup(r->text));
    chela_log(p->in, owner ? CHELA_INFO : CHELA_DEBUG, text);
    free(text);
}

char *chela_api_why(const struct chela_peer *p, const struct chela_reply *r)
{
    if (r->stranger)
        return chela_format("%s does not take the token (%s): %s", p->api->service, r->text,
                            p->api->login);
    return chela_format("%s can't be reached: %s", p->api->service, r->text);
}

void chela_api_failed(struct chela_peer *p, const struct chela_reply *r, chela_callback *again,
                      void *arg)
{
    char *why = chela_api_why(p, r);
    chela_peer_say(p, false, why);
    chela_peer_again(p, again, arg, r->retry_after_ms);
    free(why);
}

uint64_t *chela_probe_open(struct chela_inst *in, const struct chela_method *m)
{
    if (!chela_str_is(m->name, "channel.probe")) {
        chela_end(in, m->h.call, CHELA_E_UNSUPPORTED, "a bot has its token: there is no login");
        return NULL;
    }
    uint64_t *call = chela_need(malloc(sizeof *call));
    *call = m->h.call;
    return call;
}

void chela_probe_end(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    uint64_t *call = owner;
    CHELA_ARGS(chela_done, d, 0);
    d.error = r->error;
    d.text = chela_s(r->error == CHELA_OK ? chela_json_text(r->result, NULL) : r->text);
    chela_peer_end(p, *call, &d);
    free(call);
}

struct chela_str chela_header(struct chela_pairs headers, const char *name)
{
    struct chela_str none = {NULL, 0};
    for (uint64_t i = 0; i < headers.n; i++) {
        if (chela_str_is(headers.v[i].name, name))
            return headers.v[i].value;
    }
    return none;
}
