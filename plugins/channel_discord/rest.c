/*
 * Calls of Discord's HTTP API, and its limits: a route that has nothing left, or all of them, are
 * not asked again before the time that Discord named. Called by the other parts; tries nothing
 * again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discord.h"

enum { REQUESTS_A_SECOND = 45, SEGMENTS = 3, WAIT_MOST_MS = 3600000, WAIT_MS = 1000 };

/* Seconds in ms, rounded up; 0: none that we would wait for. */
static uint64_t wait_of(double seconds)
{
    return seconds > 0 && seconds * 1000 < WAIT_MOST_MS ? (uint64_t)(seconds * 1000) + 1 : 0;
}

static void read_answer(struct chela_reply *r)
{
    uint64_t wait = wait_of(chela_json_double(r->body, "retry_after", 0));
    if (r->status == 429 && wait)
        r->retry_after_ms = wait;
    if (r->error != CHELA_OK)
        r->text = chela_member(r->body, "message");
    if (r->status == 429) {
        r->pause_ms = r->retry_after_ms ? r->retry_after_ms : WAIT_MS;
        r->pause_all = chela_json_bool(r->body, "global", false);
    } else if (chela_str_is(chela_header(r->done->headers, "x-ratelimit-remaining"), "0")) {
        struct chela_str after = chela_header(r->done->headers, "x-ratelimit-reset-after");
        r->pause_ms = after.s ? wait_of(strtod(after.s, NULL)) : 0;
    }
}

const struct chela_api api = {.service = "Discord",
                              .login = "get a new one in the developer portal",
                              .read = read_answer,
                              .pace = REQUESTS_A_SECOND};

/* A limit counts for a method and the first parts of a path, the ids in them included. */
static void route_of(const char *method, const char *path, char out[128])
{
    size_t n = 0, slashes = 0;
    while (path[n] && path[n] != '?' && slashes + (path[n] == '/') <= SEGMENTS)
        slashes += path[n++] == '/';
    snprintf(out, 128, "%s %.*s", method, (int)n, path);
}

uint64_t rest_send(struct discord *d, struct chela_api_call c, chela_reply_fn *fn, void *owner)
{
    char route[128], *key = chela_format("Bot %s", chela_option_text(d->peer.in, "token").s);
    struct chela_pair headers[] = {
        {CHELA_LIT("Authorization"), chela_s(key)},
        {CHELA_LIT("User-Agent"), CHELA_LIT("DiscordBot (chela, 0.9.0)")},
    };
    route_of(c.method, c.path, route);
    c.route = route;
    c.headers = (struct chela_pairs){headers, 2};
    uint64_t call = chela_api_call(&d->peer, &c, fn, owner);
    explicit_bzero(key, strlen(key));
    free(key);
    return call;
}

uint64_t rest_call(struct discord *d, uint64_t parent, const char *method, const char *path,
                   json_object *body, chela_reply_fn *fn, void *owner)
{
    struct chela_api_call c = {.parent = parent, .method = method, .path = path, .body = body};
    return rest_send(d, c, fn, owner);
}

/* ---- attachments ---- */

static bool of_the_service(struct chela_peer *p, const char *url)
{
    struct chela_str base = chela_option_text(p->in, "cdn_url");
    return strncmp(url, base.s, (size_t)base.n) == 0 && url[base.n] == '/';
}

static void message_known(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct chela_wanted *w = owner;
    json_object *list = chela_json_array(r->body, "attachments");
    const char *wanted = strrchr(w->reference, '/') + 1, *url = "";
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        if (strcmp(chela_member(o, "id"), wanted) == 0)
            url = chela_member(o, "url");
    }
    if (r->error == CHELA_OK && of_the_service(p, url))
        chela_wanted_get(w, url);
    else
        chela_wanted_fail(w, r);
}

void rest_bring(struct chela_wanted *w)
{
    const char *message = strchr(w->reference, '/'),
               *end = message ? strchr(message + 1, '/') : NULL;
    if (w->url && of_the_service(w->p, w->url)) {
        chela_wanted_get(w, w->url);
    } else if (w->url) {
        chela_wanted_fail(w, NULL);
    } else if (!end || strspn(w->reference, "0123456789/") != strlen(w->reference)) {
        struct chela_reply r = {.error = CHELA_E_ARGS, .text = "this is no reference of Discord's"};
        chela_wanted_fail(w, &r);
    } else {
        char *path = chela_format("/channels/%.*s/messages%.*s", (int)(message - w->reference),
                                  w->reference, (int)(end - message), message);
        rest_call((struct discord *)w->p, w->parent, "GET", path, NULL, message_known, w);
        free(path);
    }
}
