/*
 * Calls of Discord's HTTP API, and its limits: a route that has nothing left, or all of them, are
 * not asked again before the time that Discord named; such a call ends at once and says how long to
 * wait. Called by the other parts; tries nothing again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discord.h"

enum { REQUESTS_A_SECOND = 45, SEGMENTS = 3, WAIT_MOST_MS = 3600000 };

void discord_read(struct chela_reply *r)
{
    const char *message = chela_json_string(r->body, "message", NULL);
    double wait = chela_json_double(r->body, "retry_after", 0) * 1000;
    if (r->status == 429 && wait > 0 && wait < WAIT_MOST_MS)
        r->retry_after_ms = (uint64_t)wait + 1;
    if (r->error != CHELA_OK)
        r->text = message ? message : "Discord refused without saying why";
}

/* A limit counts for a method and the first parts of a path, the ids in them included. */
static void route_of(const char *method, const char *path, char out[128])
{
    size_t n = 0, slashes = 0;
    while (path[n] && path[n] != '?' && slashes + (path[n] == '/') <= SEGMENTS)
        slashes += path[n++] == '/';
    snprintf(out, 128, "%s %.*s", method, (int)n, path);
}

struct asked {
    struct discord *d;
    char route[128];
    chela_reply_fn *fn;
    void *owner;
};

static uint64_t seconds(const struct chela_done *d, const char *name)
{
    for (uint64_t i = 0; i < d->headers.n; i++) {
        if (chela_str_is(d->headers.v[i].name, name)) {
            double s = strtod(d->headers.v[i].value.s, NULL);
            return s > 0 && s * 1000 < WAIT_MOST_MS ? (uint64_t)(s * 1000) + 1 : 0;
        }
    }
    return 0;
}

static bool used_up(const struct chela_done *d)
{
    for (uint64_t i = 0; i < d->headers.n; i++) {
        if (chela_str_is(d->headers.v[i].name, "x-ratelimit-remaining"))
            return chela_str_is(d->headers.v[i].value, "0");
    }
    return false;
}

static void answered(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct asked *q = owner;
    bool global = chela_json_bool(r->body, "global", false);
    if (r->status == 429)
        chela_peer_block(p, global ? "" : q->route, r->retry_after_ms ? r->retry_after_ms : 1000);
    else if (r->done && used_up(r->done))
        chela_peer_block(p, q->route, seconds(r->done, "x-ratelimit-reset-after"));
    q->fn(p, q->owner, r);
    free(q);
}

/* How long this call has to wait: by Discord's word, or since this second has seen enough. */
static uint64_t held(struct discord *d, const char *route)
{
    uint64_t wait = chela_peer_blocked(&d->peer, route),
             now = d->peer.in->host->local->ticks_ms(d->peer.in);
    if (wait)
        return wait;
    if (d->second != now / 1000) {
        d->second = now / 1000;
        d->requests = 0;
    }
    return d->requests++ < REQUESTS_A_SECOND ? 0 : 1000 - now % 1000;
}

static uint64_t request(struct discord *d, uint64_t parent, const char *method, const char *path,
                        const char *type, struct chela_str body, chela_reply_fn *fn, void *owner)
{
    struct asked *q = chela_need(malloc(sizeof *q));
    *q = (struct asked){.d = d, .fn = fn, .owner = owner};
    route_of(method, path, q->route);
    uint64_t wait = d->peer.closing ? 0 : held(d, q->route);
    if (wait) {
        struct chela_reply r = {.error = CHELA_E_RATE,
                                .flags = CHELA_RETRY,
                                .retry_after_ms = wait,
                                .text = "Discord takes no more of these at the moment"};
        free(q);
        fn(&d->peer, owner, &r);
        return 0;
    }
    char *url = chela_format("%s%s", chela_option_text(d->peer.in, "base_url").s, path),
         *key = chela_format("Bot %s", chela_option_text(d->peer.in, "token").s);
    struct chela_pair headers[] = {
        {CHELA_LIT("Authorization"), chela_s(key)},
        {CHELA_LIT("User-Agent"), CHELA_LIT("DiscordBot (chela, 0.9.0)")},
        {CHELA_LIT("Content-Type"), chela_s(type)},
    };
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = parent;
    a.method = chela_s(method);
    a.url = chela_s(url);
    a.body = body;
    a.headers = (struct chela_pairs){headers, body.n ? 3 : 2};
    uint64_t call = chela_peer_call(&d->peer, &a, answered, q);
    explicit_bzero(key, strlen(key));
    free(key);
    free(url);
    return call;
}

uint64_t rest_call(struct discord *d, uint64_t parent, const char *method, const char *path,
                   json_object *body, chela_reply_fn *fn, void *owner)
{
    size_t n = 0;
    const char *text = body ? chela_json_text(body, &n) : "";
    uint64_t call =
        request(d, parent, method, path, "application/json", chela_sn(text, n), fn, owner);
    json_object_put(body);
    return call;
}

uint64_t rest_post(struct discord *d, uint64_t parent, const char *path, const char *type,
                   struct chela_str body, chela_reply_fn *fn, void *owner)
{
    return request(d, parent, "POST", path, type, body, fn, owner);
}

bool rest_file(struct discord *d, uint64_t parent, const char *url, chela_ended_fn *fn, void *owner)
{
    struct chela_str base = chela_option_text(d->peer.in, "cdn_url");
    if (!url || strncmp(url, base.s, (size_t)base.n) != 0 || url[base.n] != '/')
        return false;
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = parent;
    a.decode = CHELA_FILE;
    a.limit = (uint64_t)chela_option_number(d->peer.in, "media_limit");
    a.method = chela_s("GET");
    a.url = chela_s(url);
    chela_peer_http(&d->peer, &a, fn, owner);
    return true;
}
