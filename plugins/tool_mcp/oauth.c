/*
 * OAuth 2.1 as MCP has it: tokens of each server, kept in the plugin's own space of the store;
 * what to do when one is missing, old, or not enough; the way back from the login page. Called by
 * http.c and the host.
 */
#include "oauth.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/urlencode.h"

enum { EARLY_MS = 30000 };

static struct oauth *oauth_of(struct server *s)
{
    if (!s->oauth) {
        s->oauth = need(calloc(1, sizeof *s->oauth));
        s->oauth->server = s;
    }
    return s->oauth;
}

void oauth_free(struct server *s)
{
    struct oauth *o = s->oauth;
    if (!o)
        return;
    char **texts[] = {&o->metadata_url,  &o->wanted_scope,  &o->issuer, &o->client_id,
                      &o->client_secret, &o->client_method, &o->access, &o->refresh,
                      &o->scope,         &o->client_issuer, &o->state,  &o->verifier,
                      &o->url,           &o->base,          &o->failure};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(*texts[i]);
    json_object_put(o->resource);
    json_object_put(o->metadata);
    free(o);
    s->oauth = NULL;
}

/* ---- helpers ---- */

bool oauth_url_ok(const char *url)
{
    static const char *const good[] = {"https://", "http://127.0.0.1", "http://localhost",
                                       "http://[::1]"};
    for (size_t i = 0; url && i < sizeof good / sizeof good[0]; i++) {
        size_t n = strlen(good[i]);
        if (strncmp(url, good[i], n) == 0 && (i == 0 || url[n] == ':' || url[n] == '/' || !url[n]))
            return true;
    }
    return false;
}

char *oauth_origin(const char *url)
{
    const char *host = strstr(url, "://");
    size_t n = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : strlen(url);
    return need(strndup(url, n));
}

void form_open(struct form *f)
{
    f->text = NULL;
    f->out = need(open_memstream(&f->text, &f->n));
}

void form_add(struct form *f, const char *name, const char *value)
{
    if (!value)
        return;
    fprintf(f->out, "%s%s=", ftell(f->out) ? "&" : "", name);
    chela_urlencode(f->out, value);
}

char *form_close(struct form *f)
{
    fflush(f->out);
    fclose(f->out);
    return f->text;
}

void oauth_request(struct oauth *o, const char *url, const char *type, const char *body,
                   const char *authorization,
                   void (*done)(struct io *io, const struct chela_done *d))
{
    struct server *s = o->server;
    struct chela_inst *in = s->mcp->in;
    struct io *io = io_new(s->mcp, s, o);
    struct chela_pair headers[3] = {{CHELA_LIT("Accept"), CHELA_LIT("application/json")}};
    size_t n = 1;
    io->done = done;
    io->beyond = true;
    if (type)
        headers[n++] = (struct chela_pair){chela_s("Content-Type"), chela_s(type)};
    if (authorization)
        headers[n++] = (struct chela_pair){chela_s("Authorization"), chela_s(authorization)};
    char *origin = oauth_origin(s->url);
    CHELA_ARGS(chela_http, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    /* an address of the public net must not lead us to one of this net */
    if (strncmp(s->url, "https://", 8) == 0 && strncmp(url, origin, strlen(origin)) != 0)
        a.h.flags = CHELA_PUBLIC;
    a.method = chela_s(body ? "POST" : "GET");
    a.url = chela_s(url);
    a.body = chela_s(body);
    a.limit = 1 << 20;
    a.timeout_ms = 30000;
    a.headers.v = headers;
    a.headers.n = n;
    in->host->net->http(in, &a);
    free(origin);
}

static void set(char **where, const char *text)
{
    char *copy = text ? need(strdup(text)) : NULL;
    free(*where);
    *where = copy;
}

/* ---- kept over a restart ---- */

static char *key_of(const struct server *s)
{
    return format("oauth/%s", s->name);
}

static void kept(struct io *io, const struct chela_done *d)
{
    if (d->error != CHELA_OK)
        mcp_log(io->mcp, CHELA_WARN, "a login could not be kept: %.*s", (int)d->text.n,
                d->text.n ? d->text.s : "");
}

static void keep(struct oauth *o)
{
    struct server *s = o->server;
    struct chela_inst *in = s->mcp->in;
    json_object *v = chela_json_new_object();
    const char *pairs[][2] = {{"url", s->url},
                              {"access", o->access},
                              {"refresh", o->refresh},
                              {"scope", o->scope},
                              {"client", o->client_id},
                              {"secret", o->client_secret},
                              {"method", o->client_method},
                              {"issuer", o->client_issuer}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][1])
            chela_json_put_text(v, pairs[i][0], pairs[i][1]);
    chela_json_put_int(v, "expires", (int64_t)o->expires_ms);
    if (o->metadata)
        chela_json_put(v, "metadata", json_object_get(o->metadata));
    char *key = key_of(s);
    struct io *io = io_new(s->mcp, NULL, NULL);
    io->done = kept;
    CHELA_ARGS(chela_key, k, io->call);
    k.h.tag = (uint64_t)(uintptr_t)io;
    k.key = chela_s(key);
    size_t n;
    const char *text = chela_json_text(v, &n);
    k.value = chela_sn(text, n);
    in->host->kv->put(in, &k);
    json_object_put(v);
    free(key);
}

struct loading {
    struct server *server;
    server_fn *fn;
    void *owner;
};

static void loaded(struct io *io, const struct chela_done *d)
{
    struct loading *l = io->owner;
    if (d->error != CHELA_OK && d->error != CHELA_E_NOT_FOUND)
        mcp_log(io->mcp, CHELA_WARN, "%s: the kept login cannot be read: %.*s", l->server->name,
                (int)d->text.n, d->text.s ? d->text.s : "");
    struct oauth *o = oauth_of(l->server);
    json_object *v = NULL;
    if (d->error == CHELA_OK &&
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &v, NULL) == 0) {
        const char *url = chela_json_string(v, "url", NULL);
        if (url && strcmp(url, l->server->url) == 0) { /* else it is another server by now */
            set(&o->access, chela_json_string(v, "access", NULL));
            set(&o->refresh, chela_json_string(v, "refresh", NULL));
            set(&o->scope, chela_json_string(v, "scope", NULL));
            set(&o->client_id, chela_json_string(v, "client", NULL));
            set(&o->client_secret, chela_json_string(v, "secret", NULL));
            set(&o->client_method, chela_json_string(v, "method", NULL));
            set(&o->client_issuer, chela_json_string(v, "issuer", NULL));
            o->expires_ms = (uint64_t)chela_json_int(v, "expires", 0);
            json_object_put(o->metadata);
            o->metadata = json_object_get(chela_json_object(v, "metadata"));
        }
        json_object_put(v);
    }
    l->fn(l->owner, NULL);
    free(l);
}

void oauth_load(struct server *s, server_fn *fn, void *owner)
{
    struct chela_inst *in = s->mcp->in;
    if (s->oauth) { /* what is in memory is the newest */
        fn(owner, NULL);
        return;
    }
    struct loading *l = need(calloc(1, sizeof *l));
    *l = (struct loading){s, fn, owner};
    char *key = key_of(s);
    struct io *io = io_new(s->mcp, s, l);
    io->done = loaded;
    io->beyond = true;
    CHELA_ARGS(chela_key, k, io->call);
    k.h.tag = (uint64_t)(uintptr_t)io;
    k.key = chela_s(key);
    in->host->kv->get(in, &k);
    free(key);
}

void oauth_logout(struct server *s)
{
    struct oauth *o = oauth_of(s);
    set(&o->access, NULL);
    set(&o->refresh, NULL);
    set(&o->scope, NULL);
    keep(o);
}

/* ---- tokens ---- */

const char *oauth_token(struct server *s)
{
    struct oauth *o = s->oauth;
    return o ? o->access : NULL;
}

const char *oauth_login_url(struct server *s)
{
    return s->oauth ? s->oauth->url : NULL;
}

void oauth_got_token(struct oauth *o, json_object *token)
{
    struct chela_inst *in = o->server->mcp->in;
    const char *refresh = chela_json_string(token, "refresh_token", NULL),
               *scope = chela_json_string(token, "scope", NULL);
    int64_t lives = chela_json_int(token, "expires_in", 0);
    set(&o->access, chela_json_string(token, "access_token", NULL));
    if (refresh)
        set(&o->refresh, refresh);
    set(&o->scope, scope ? scope : o->wanted_scope);
    o->expires_ms = lives > 0 ? in->host->local->now_ms(in) + (uint64_t)lives * 1000 - EARLY_MS : 0;
    set(&o->url, NULL);
    set(&o->state, NULL);
    set(&o->failure, NULL);
    o->busy = false;
    keep(o);
    server_retry_now(o->server);
}

void oauth_fail(struct oauth *o, const char *f, ...)
{
    struct server *s = o->server;
    char *text = NULL;
    va_list ap;
    va_start(ap, f);
    if (vasprintf(&text, f, ap) < 0)
        abort();
    va_end(ap);
    o->busy = false;
    set(&o->url, NULL);
    set(&o->state, NULL);
    free(o->failure);
    o->failure = text;
    char *why = format("the login failed: %s", text);
    server_give_up(s, why);
    free(why);
}

/* ---- refused ---- */

/* The value of name="..." or name=token in a WWW-Authenticate header. */
static char *parameter(const char *header, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = header; p && (p = strcasestr(p, name)); p += n) {
        if ((p != header && !strchr(" ,\t", p[-1])) || p[n] != '=')
            continue;
        const char *v = p + n + 1;
        if (*v == '"')
            return need(strndup(v + 1, strcspn(v + 1, "\"")));
        return need(strndup(v, strcspn(v, ", \t")));
    }
    return NULL;
}

static bool has_word(const char *words, const char *word, size_t n)
{
    for (const char *p = words; p && *p;) {
        size_t length = strcspn(p, " ");
        if (length == n && memcmp(p, word, n) == 0)
            return true;
        p += length + strspn(p + length, " ");
    }
    return false;
}

/* What we had and what is wanted now. */
static char *joined(const char *had, const char *more)
{
    char *text = need(strdup(had ? had : ""));
    for (const char *p = more; p && *p;) {
        size_t n = strcspn(p, " ");
        if (n && !has_word(text, p, n)) {
            char *longer = format("%s%s%.*s", text, *text ? " " : "", (int)n, p);
            free(text);
            text = longer;
        }
        p += n + strspn(p + n, " ");
    }
    return text;
}

bool oauth_refused(struct server *s, unsigned status, const struct chela_pairs *headers,
                   const char **why)
{
    struct oauth *o = oauth_of(s);
    const char *header = header_of(headers, "www-authenticate");
    char *error = parameter(header, "error"), *scope = parameter(header, "scope"),
         *metadata = parameter(header, "resource_metadata");
    bool enough = status == 401 || (error && strcmp(error, "insufficient_scope") == 0);
    if (enough && !o->busy) {
        bool refresh = status == 401 && o->refresh && !o->refreshed && o->metadata;
        char *wanted = scope ? joined(status == 403 ? o->scope : NULL, scope) : NULL;
        set(&o->wanted_scope, wanted);
        free(wanted);
        set(&o->metadata_url, metadata);
        o->busy = true;
        o->refreshed = refresh;
        if (status == 401)
            set(&o->access, NULL);
        server_needs_login(s, "it wants a login");
        if (refresh)
            login_refresh(o);
        else
            discover_begin(o);
    }
    if (!enough)
        *why = o->failure ? o->failure : "it is forbidden";
    free(error);
    free(scope);
    free(metadata);
    return enough;
}

/* ---- the way back ---- */

static char *query_value(struct chela_str query, const char *name)
{
    char *text = text_of(query), *value = NULL;
    size_t n = strlen(name);
    for (char *p = text; *p && !value;) {
        size_t length = strcspn(p, "&");
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            char *out = value = need(malloc(length + 1));
            for (size_t i = n + 1; i < length; i++) {
                unsigned byte;
                if (p[i] == '%' && i + 2 < length + 1 && sscanf(p + i + 1, "%2x", &byte) == 1) {
                    *out++ = (char)byte;
                    i += 2;
                } else {
                    *out++ = p[i] == '+' ? ' ' : p[i];
                }
            }
            *out = '\0';
        }
        p += length + (p[length] == '&');
    }
    free(text);
    return value;
}

static struct oauth *by_state(struct mcp *m, const char *state)
{
    for (size_t i = 0; state && *state && i < m->count; i++) {
        struct oauth *o = m->servers[i].oauth;
        if (o && o->state && strcmp(o->state, state) == 0)
            return o;
    }
    return NULL;
}

static void show(struct chela_inst *in, uint64_t call, uint32_t status, const char *text)
{
    CHELA_ARGS(chela_done, d, call);
    d.http_status = status;
    d.text = chela_s(text);
    in->host->answer->done(in, &d);
}

void oauth_callback(struct chela_inst *in, const struct chela_request *r)
{
    char *state = query_value(r->query, "state"), *code = query_value(r->query, "code"),
         *error = query_value(r->query, "error"), *iss = query_value(r->query, "iss");
    struct oauth *o = by_state(mcp_of(in), state);
    const char *issuer = o ? chela_json_string(o->metadata, "issuer", NULL) : NULL;
    if (!o) {
        show(in, r->h.call, 400, "No login is waited for here. Begin it anew.\n");
    } else if (iss && issuer && strcmp(iss, issuer) != 0) {
        show(in, r->h.call, 400, "This answer comes from another server than was asked.\n");
    } else if (error || !code) {
        show(in, r->h.call, 200, "The login was not granted. You may close this page.\n");
        oauth_fail(o, "%s", error ? error : "no code came back");
    } else {
        show(in, r->h.call, 200, "Logged in. You may close this page.\n");
        set(&o->state, NULL);
        login_code(o, code);
    }
    free(state);
    free(code);
    free(error);
    free(iss);
}
