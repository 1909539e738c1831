/*
 * Calls of the Bot API: a URL with the token in it (which the host fills in), JSON or multipart
 * out, {"ok","result"} or an error in. Called by the other parts; tries nothing again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

void *tg_need(void *p)
{
    if (!p)
        abort();
    return p;
}

char *tg_format(const char *f, ...)
{
    char *text = NULL;
    va_list a;
    va_start(a, f);
    if (vasprintf(&text, f, a) < 0)
        abort();
    va_end(a);
    return text;
}

void tg_end(struct telegram *t, uint64_t call, const struct chela_done *d)
{
    if (t->closing || !call)
        return;
    struct chela_done copy = *d;
    copy.h.size = (uint32_t)sizeof copy;
    copy.h.call = call;
    copy.h.tag = 0;
    t->in->host->answer->done(t->in, &copy);
}

/* ---- requests that are under way ---- */

uint64_t tg_pending(struct telegram *t, ended_fn *fn, void *owner)
{
    struct pending *p = tg_need(calloc(1, sizeof *p));
    p->t = t;
    p->fn = fn;
    p->owner = owner;
    p->next = &t->pending;
    p->before = t->pending.before;
    p->before->next = p;
    t->pending.before = p;
    return (uint64_t)(uintptr_t)p;
}

static void finish(struct pending *p, const struct chela_done *d)
{
    p->before->next = p->next;
    p->next->before = p->before;
    struct pending copy = *p;
    free(p);
    if (copy.fn)
        copy.fn(copy.t, copy.owner, d);
}

void tg_ended(struct telegram *t, const struct chela_done *d)
{
    (void)t;
    if (d->h.tag)
        finish((struct pending *)(uintptr_t)d->h.tag, d);
}

void tg_pending_close(struct telegram *t)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = CHELA_E_CANCELLED;
    d.text = chela_s("the channel closes");
    t->closing = true;
    while (t->pending.next != &t->pending)
        finish(t->pending.next, &d);
}

/* ---- the Bot API ---- */

struct asked {
    reply_fn *fn;
    void *owner;
};

static void answered(struct telegram *t, void *owner, const struct chela_done *d)
{
    struct asked *q = owner;
    json_object *o = NULL;
    struct reply r = {.error = d->error,
                      .flags = d->h.flags & (CHELA_RETRY | CHELA_EFFECT),
                      .status = d->http_status,
                      .retry_after_ms = d->retry_after_ms,
                      .text = d->text.s ? d->text.s : ""};
    if (d->http_status && d->text.n)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    r.result = chela_json_get(o, "result");
    r.parameters = chela_json_object(o, "parameters");
    const char *description = chela_json_string(o, "description", NULL);
    int64_t wait = chela_json_int(r.parameters, "retry_after", 0);
    if (wait > 0 && wait < 86400)
        r.retry_after_ms = (uint64_t)wait * 1000;
    if (r.error != CHELA_OK && r.status)
        r.text = description ? description : "Telegram refused without saying why";
    if (r.error == CHELA_OK && !chela_json_bool(o, "ok", false)) {
        r.error = CHELA_E_PROTOCOL;
        r.flags |= CHELA_EFFECT;
        r.text = description ? description : "the answer is not of the Bot API's form";
    }
    q->fn(t, q->owner, &r);
    json_object_put(o);
    free(q);
}

static uint64_t request(struct telegram *t, struct chela_http *a, uint64_t parent, ended_fn *fn,
                        void *owner)
{
    if (t->closing) {
        CHELA_ARGS(chela_done, d, 0);
        d.error = CHELA_E_CANCELLED;
        fn(t, owner, &d);
        return 0;
    }
    a->h.call = t->in->host->local->new_call(t->in);
    a->h.tag = tg_pending(t, fn, owner);
    a->parent = parent;
    t->in->host->net->http(t->in, a);
    return a->h.call;
}

uint64_t api_post(struct telegram *t, uint64_t parent, const char *method, const char *type,
                  struct chela_str body, uint32_t timeout_ms, reply_fn *fn, void *owner)
{
    struct chela_pair header = {CHELA_LIT("Content-Type"), chela_s(type)};
    char *url = tg_format("%s/bot%s/%s", chela_option_text(t->in, "base_url").s,
                          chela_option_text(t->in, "token").s, method);
    struct asked *q = tg_need(malloc(sizeof *q));
    *q = (struct asked){fn, owner};
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.timeout_ms = timeout_ms;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = body;
    a.headers.v = &header;
    a.headers.n = 1;
    uint64_t call = request(t, &a, parent, answered, q);
    free(url);
    return call;
}

uint64_t api_call(struct telegram *t, uint64_t parent, const char *method, json_object *body,
                  uint32_t timeout_ms, reply_fn *fn, void *owner)
{
    size_t n = 2;
    const char *text = body ? chela_json_text(body, &n) : "{}";
    uint64_t call =
        api_post(t, parent, method, "application/json", chela_sn(text, n), timeout_ms, fn, owner);
    json_object_put(body);
    return call;
}

void api_file(struct telegram *t, uint64_t parent, const char *path, ended_fn *fn, void *owner)
{
    char *url = tg_format("%s/file/bot%s/%s", chela_option_text(t->in, "base_url").s,
                          chela_option_text(t->in, "token").s, path);
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.decode = CHELA_FILE;
    a.limit = (uint64_t)chela_option_number(t->in, "media_limit");
    a.method = chela_s("GET");
    a.url = chela_s(url);
    request(t, &a, parent, fn, owner);
    free(url);
}
