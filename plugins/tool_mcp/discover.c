/*
 * Where a server's login is: the metadata of the protected resource (RFC 9728), then those of the
 * authorization server that it names (RFC 8414, OpenID Connect discovery); a server of 2025-03-26
 * is its own authorization server. Each address is tried after the other. Called by oauth.c.
 */
#include "oauth.h"

#include <stdlib.h>
#include <string.h>

static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? host + 3 + strcspn(host + 3, "/?#") : "";
    return *path == '/' && path[1] ? path : "";
}

static bool parse(const struct chela_done *d, json_object **ret)
{
    return d->error == CHELA_OK &&
           chela_json_parse(d->text.s, (size_t)d->text.n, NULL, ret, NULL) == 0 &&
           json_object_is_type(*ret, json_type_object);
}

/* ---- the authorization server ---- */

static void next_issuer(struct oauth *o);

static bool takes_s256(json_object *metadata)
{
    json_object *list = chela_json_array(metadata, "code_challenge_methods_supported");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *m = chela_json_as_string(chela_json_at(list, i), NULL);
        if (m && strcmp(m, "S256") == 0)
            return true;
    }
    return !list;
}

static void metadata_came(struct io *io, const struct chela_done *d)
{
    struct oauth *o = io->owner;
    json_object *v = NULL;
    if (!io->server)
        return;
    if (!parse(d, &v) || !chela_json_string(v, "token_endpoint", NULL)) {
        json_object_put(v);
        next_issuer(o);
        return;
    }
    const char *issuer = chela_json_string(v, "issuer", NULL);
    size_t n = strlen(o->issuer), known = issuer ? strlen(issuer) : 0;
    while (n && o->issuer[n - 1] == '/')
        n--;
    while (known && issuer[known - 1] == '/')
        known--;
    if (!o->legacy && issuer && (n != known || memcmp(issuer, o->issuer, n) != 0)) {
        oauth_fail(o, "the metadata of %s name another issuer, %.200s", o->issuer, issuer);
        json_object_put(v);
    } else if (!takes_s256(v)) {
        oauth_fail(o, "%s knows no PKCE with S256", o->issuer);
        json_object_put(v);
    } else {
        json_object_put(o->metadata);
        o->metadata = v;
        login_begin(o);
    }
}

/* The endpoints that a server of 2025-03-26 has when it has no metadata. */
static void assume(struct oauth *o)
{
    static const char *const names[][2] = {{"authorization_endpoint", "/authorize"},
                                           {"token_endpoint", "/token"},
                                           {"registration_endpoint", "/register"}};
    json_object_put(o->metadata);
    o->metadata = chela_json_new_object();
    for (size_t i = 0; i < 3; i++) {
        char *url = format("%s%s", o->issuer, names[i][1]);
        chela_json_put_text(o->metadata, names[i][0], url);
        free(url);
    }
    login_begin(o);
}

static void next_issuer(struct oauth *o)
{
    char *origin = oauth_origin(o->issuer), *url = NULL;
    const char *path = path_of(o->issuer);
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    static const char *const before[] = {"/.well-known/oauth-authorization-server",
                                         "/.well-known/openid-configuration"};
    unsigned attempt = o->attempt++;
    if (attempt < 2)
        url = format("%s%s%.*s", origin, before[attempt], (int)n, path);
    else if (attempt == 2 && n)
        url = format("%s%.*s%s", origin, (int)n, path, before[1]);
    free(origin);
    if (url)
        oauth_request(o, url, NULL, NULL, NULL, metadata_came);
    else if (o->legacy)
        assume(o);
    else
        oauth_fail(o, "%s has no metadata of its login", o->issuer);
    free(url);
}

static void find_issuer(struct oauth *o)
{
    const char *named = chela_json_as_string(
        chela_json_at(chela_json_array(o->resource, "authorization_servers"), 0), NULL);
    free(o->issuer);
    o->legacy = named == NULL;
    o->issuer = named ? need(strdup(named)) : oauth_origin(o->server->url);
    o->attempt = 0;
    if (!oauth_url_ok(o->issuer))
        oauth_fail(o, "its login %.200s is not at an https address", o->issuer);
    else
        next_issuer(o);
}

/* ---- the protected resource ---- */

static void next_resource(struct oauth *o);

/* The resource is the server, or what stands above it. */
static bool is_ours(const struct oauth *o, json_object *v)
{
    const char *resource = chela_json_string(v, "resource", NULL);
    size_t n = resource ? strlen(resource) : 0;
    while (n && resource[n - 1] == '/')
        n--;
    return n && strncmp(resource, o->server->url, n) == 0 && strchr("/?#", o->server->url[n]);
}

static void resource_came(struct io *io, const struct chela_done *d)
{
    struct oauth *o = io->owner;
    json_object *v = NULL;
    if (!io->server)
        return;
    if (!parse(d, &v)) {
        json_object_put(v);
        next_resource(o);
        return;
    }
    if (!is_ours(o, v)) {
        const char *resource = chela_json_string(v, "resource", NULL);
        oauth_fail(o, "its metadata are those of another resource, %.200s",
                   resource ? resource : "?");
        json_object_put(v);
        return;
    }
    json_object_put(o->resource);
    o->resource = v;
    find_issuer(o);
}

static void next_resource(struct oauth *o)
{
    static const char place[] = "/.well-known/oauth-protected-resource";
    char *origin = oauth_origin(o->server->url), *url = NULL;
    const char *path = path_of(o->server->url);
    unsigned attempt = o->attempt++;
    if (o->metadata_url && attempt == 0)
        url = need(strdup(o->metadata_url));
    else if (!o->metadata_url && attempt == 0)
        url = format("%s%s%s", origin, place, path);
    else if (!o->metadata_url && attempt == 1 && *path)
        url = format("%s%s", origin, place);
    free(origin);
    if (url && oauth_url_ok(url))
        oauth_request(o, url, NULL, NULL, NULL, resource_came);
    else
        find_issuer(o);
    free(url);
}

void discover_begin(struct oauth *o)
{
    json_object_put(o->resource);
    o->resource = NULL;
    o->attempt = 0;
    next_resource(o);
}
