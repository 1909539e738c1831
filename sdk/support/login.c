/*
 * The bearer token of a login (see login.h): kept in the instance's key-value space, since the
 * service gives a new refresh token each time and the old one is then worth nothing. Calls that
 * come while it is renewed wait; one that is refused with a token renews it once.
 *
 * Format: https://datatracker.ietf.org/doc/html/rfc6749#section-6
 */
#include "support/login.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/text.h"

enum { EARLY_MS = 60000, RENEW_MS = 30000 };

/* A model call that waits for a token, or is out with one: everything of its request but the token.
 */
struct login_wait {
    struct login_wait *next;
    struct chela_stream *stream;
    uint32_t decode;
    char *url, *body;
    size_t length;
    bool renewed;                 /* this call has had a new token once */
    struct chela_headers headers; /* its own copies */
};

struct chela_login {
    struct chela_inst *instance;
    struct chela_task read, renew, keep;
    char *access, *refresh;
    uint64_t expires; /* ms since 1970; 0: not known */
    bool read_done, renewing;
    struct login_wait *waiting; /* for a token */
    struct login_wait *sent;    /* out with one, in case it is refused */
};

static bool used(struct chela_inst *in)
{
    return chela_str_is(chela_option_text(in, "auth"), "oauth");
}

static void set(char **where, const char *text, size_t n)
{
    free(*where);
    *where = text && n ? strndup(text, n) : NULL;
}

struct chela_login *chela_login_open(struct chela_inst *in)
{
    if (!used(in))
        return NULL;
    struct chela_login *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    l->instance = in;
    l->read.kind = l->renew.kind = l->keep.kind = CHELA_TASK_LOGIN;
    struct chela_str access = chela_option_text(in, "access_token"),
                     refresh = chela_option_text(in, "refresh_token");
    set(&l->access, access.s, (size_t)access.n);
    set(&l->refresh, refresh.s, (size_t)refresh.n);
    return l;
}

static void wait_free(struct login_wait *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->headers.count; i++)
        free((void *)(uintptr_t)w->headers.v[i].value.s);
    free(w->url);
    free(w->body);
    free(w);
}

static struct login_wait *take_wait(struct login_wait **list, const struct chela_stream *s)
{
    for (struct login_wait **p = list; *p; p = &(*p)->next) {
        struct login_wait *w = *p;
        if (w->stream == s) {
            *p = w->next;
            w->next = NULL;
            return w;
        }
    }
    return NULL;
}

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void chela_login_close(struct chela_login *l)
{
    if (!l)
        return;
    while (l->sent)
        wait_free(take_wait(&l->sent, l->sent->stream));
    while (l->waiting)
        wait_free(take_wait(&l->waiting, l->waiting->stream));
    wipe(l->access);
    wipe(l->refresh);
    free(l);
}

/* ---- calls ---- */

static void post(struct chela_login *l, struct login_wait *w)
{
    struct chela_headers headers = w->headers;
    chela_headers_bearer(&headers, chela_s(l->access));
    w->next = l->sent;
    l->sent = w;
    chela_stream_post(w->stream, w->decode, w->url, w->body, w->length, &headers);
}

static void fail(struct login_wait *w, uint32_t error, const char *text)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = error;
    d.text = chela_s(text);
    chela_stream_end(w->stream, &d, error, text);
    wait_free(w);
}

static void let_go(struct chela_login *l, uint32_t error, const char *text)
{
    struct login_wait *list = l->waiting;
    l->waiting = NULL;
    while (list) {
        struct login_wait *w = list;
        list = w->next;
        w->next = NULL;
        if (error == CHELA_OK)
            post(l, w);
        else
            fail(w, error, text);
    }
}

static bool fresh(const struct chela_login *l)
{
    struct chela_inst *in = l->instance;
    return l->access && (l->expires == 0 || in->host->local->now_ms(in) + EARLY_MS < l->expires);
}

static void renew(struct chela_login *l)
{
    struct chela_inst *in = l->instance;
    if (l->renewing)
        return;
    if (!l->refresh) {
        let_go(l, CHELA_E_AUTH, "the login has run out and there is no refresh_token: log in anew");
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "grant_type", "refresh_token");
    chela_json_put_text(o, "refresh_token", l->refresh);
    if (chela_option_text(in, "client_id").n)
        chela_json_put_text(o, "client_id", chela_option_text(in, "client_id").s);
    static const struct chela_pair type = {CHELA_LIT("content-type"),
                                           CHELA_LIT("application/json")};
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    size_t n;
    a.h.tag = (uint64_t)(uintptr_t)&l->renew;
    a.h.flags = CHELA_NO_REDIRECT;
    a.method = chela_s("POST");
    a.url = chela_option_text(in, "token_url");
    a.body.s = chela_json_text(o, &n);
    a.body.n = n;
    a.headers.v = &type;
    a.headers.n = 1;
    a.timeout_ms = RENEW_MS;
    l->renewing = true;
    in->host->net->http(in, &a);
    json_object_put(o);
}

void chela_login_send(struct chela_login *l, struct chela_stream *s, uint32_t decode,
                      const char *url, const struct chela_headers *headers, const char *body,
                      size_t length)
{
    struct login_wait *w = chela_need(calloc(1, sizeof *w));
    w->stream = s;
    w->decode = decode;
    w->url = chela_copy(chela_s(url));
    w->body = chela_copy(chela_sn(body, length));
    w->length = length;
    w->headers.count = headers->count;
    for (size_t i = 0; i < headers->count; i++) {
        struct chela_str value = headers->v[i].value;
        w->headers.v[i].name = headers->v[i].name;
        w->headers.v[i].value = chela_sn(chela_copy(value), (size_t)value.n);
    }
    if (l->read_done && !l->renewing && fresh(l)) {
        post(l, w);
        return;
    }
    w->next = l->waiting;
    l->waiting = w;
    if (l->read_done)
        renew(l);
}

bool chela_login_again(struct chela_login *l, struct chela_stream *s)
{
    struct login_wait *w = take_wait(&l->sent, s);
    if (!w || !l->refresh || w->renewed) { /* it was renewed for this call before */
        wait_free(w);
        return false;
    }
    w->renewed = true;
    l->expires = 1;
    w->next = l->waiting;
    l->waiting = w;
    renew(l);
    return true;
}

void chela_login_cancel(struct chela_login *l, uint64_t call)
{
    for (struct login_wait *w = l ? l->waiting : NULL; w; w = w->next)
        if (w->stream->call == call) {
            fail(take_wait(&l->waiting, w->stream), CHELA_E_CANCELLED, "cancelled");
            return;
        }
}

void chela_login_forget(struct chela_login *l, struct chela_stream *s)
{
    if (l)
        wait_free(take_wait(&l->sent, s));
}

/* ---- what is kept ---- */

void chela_login_start(struct chela_login *l)
{
    struct chela_inst *in = l->instance;
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)&l->read;
    a.key = chela_s("login");
    in->host->kv->get(in, &a);
}

static void take_tokens(struct chela_login *l, json_object *o)
{
    size_t n;
    const char *text = chela_json_string(o, "access_token", &n);
    if (text)
        set(&l->access, text, n);
    text = chela_json_string(o, "refresh_token", &n);
    if (text)
        set(&l->refresh, text, n);
}

static void keep(struct chela_login *l)
{
    struct chela_inst *in = l->instance;
    json_object *o = chela_json_new_object();
    size_t n;
    chela_json_put_text(o, "access_token", l->access);
    chela_json_put_text(o, "refresh_token", l->refresh);
    chela_json_put_int(o, "expires", (int64_t)l->expires);
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)&l->keep;
    a.h.flags = CHELA_DURABLE;
    a.key = chela_s("login");
    a.value.s = chela_json_text(o, &n);
    a.value.n = n;
    in->host->kv->put(in, &a);
    json_object_put(o);
}

static void renewed(struct chela_login *l, const struct chela_done *d)
{
    struct chela_inst *in = l->instance;
    json_object *o = NULL;
    l->renewing = false;
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    if (chela_json_string(o, "access_token", NULL)) {
        int64_t seconds = chela_json_int(o, "expires_in", 0);
        take_tokens(l, o);
        l->expires = seconds > 0 && seconds < INT32_MAX
                         ? in->host->local->now_ms(in) + (uint64_t)seconds * 1000
                         : 0;
        keep(l);
        let_go(l, CHELA_OK, "");
    } else {
        bool refused = d->error == CHELA_OK || (d->http_status >= 400 && d->http_status < 500);
        let_go(l, refused ? CHELA_E_AUTH : d->error,
               refused ? "the login could not be renewed: log in anew"
                       : "the service that renews logins does not answer");
    }
    json_object_put(o);
}

bool chela_login_done(struct chela_login *l, struct chela_task *task, const struct chela_done *d)
{
    json_object *o = NULL;
    if (!l || !task)
        return false;
    if (task == &l->read) {
        if (d->error == CHELA_OK &&
            chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) == 0) {
            take_tokens(l, o);
            l->expires = (uint64_t)chela_json_int(o, "expires", 0);
        }
        json_object_put(o);
        l->read_done = true;
        if (l->waiting && fresh(l))
            let_go(l, CHELA_OK, "");
        else if (l->waiting)
            renew(l);
    } else if (task == &l->renew) {
        renewed(l, d);
    } else if (task == &l->keep) {
        if (d->error != CHELA_OK)
            chela_log(l->instance, CHELA_WARN, "the renewed login could not be kept");
    } else {
        return false;
    }
    return true;
}
