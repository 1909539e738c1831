/*
 * A login: our client made known to the authorization server, the page that a person opens, the
 * code turned into tokens, tokens renewed. PKCE always; the server's address goes along as the
 * resource (RFC 8707). Called by discover.c and oauth.c.
 */
#include "oauth.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "support/base64.h"

static const char form_type[] = "application/x-www-form-urlencoded";

char *login_base64url(const void *data, size_t n)
{
    char *text = need(malloc(CHELA_BASE64_TEXT(n)));
    size_t length = chela_base64_encode(data, n, text);
    while (length > 0 && text[length - 1] == '=')
        length--;
    text[length] = '\0';
    for (char *p = text; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    return text;
}

static char *random_text(void)
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort();
    return login_base64url(bytes, sizeof bytes);
}

static char *challenge_of(const char *verifier)
{
    unsigned char sum[32];
    unsigned n = 0;
    if (EVP_Digest(verifier, strlen(verifier), sum, &n, EVP_sha256(), NULL) != 1)
        abort();
    return login_base64url(sum, n);
}

static char *callback_of(const struct oauth *o)
{
    return format("%s/mcp/callback", o->server->mcp->base ? o->server->mcp->base : "");
}

static const char *resource_of(const struct oauth *o)
{
    const char *named = chela_json_string(o->resource, "resource", NULL);
    return named ? named : o->server->url;
}

static const char *endpoint(const struct oauth *o, const char *name)
{
    const char *url = chela_json_string(o->metadata, name, NULL);
    return oauth_url_ok(url) ? url : NULL;
}

static bool lists(json_object *object, const char *member, const char *word)
{
    json_object *list = chela_json_array(object, member);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *w = chela_json_as_string(chela_json_at(list, i), NULL);
        if (w && strcmp(w, word) == 0)
            return true;
    }
    return false;
}

/* What is asked for: configured, else named by the refusal, else all that the resource lists. */
static char *scope_of(const struct oauth *o)
{
    struct chela_str set = server_option(o->server, "scope");
    json_object *list = chela_json_array(o->resource, "scopes_supported");
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    if (set.n)
        fprintf(out, "%.*s", (int)set.n, set.s);
    else if (o->wanted_scope)
        fputs(o->wanted_scope, out);
    for (size_t i = 0; !set.n && !o->wanted_scope && i < chela_json_length(list); i++) {
        const char *word = chela_json_as_string(chela_json_at(list, i), NULL);
        fprintf(out, "%s%s", i ? " " : "", word ? word : "");
    }
    fflush(out);
    if (!set.n && lists(o->metadata, "scopes_supported", "offline_access") &&
        !strstr(text, "offline_access"))
        fprintf(out, "%soffline_access", n ? " " : "");
    fclose(out);
    if (*text)
        return text;
    free(text);
    return NULL;
}

/* ---- tokens ---- */

/* How the client proves itself at the token endpoint: by header or in the body. */
static char *authenticate(const struct oauth *o, struct form *f)
{
    const char *method = o->client_method;
    json_object *known = chela_json_array(o->metadata, "token_endpoint_auth_methods_supported");
    static const char member[] = "token_endpoint_auth_methods_supported";
    bool secret = o->client_secret && *o->client_secret;
    if (!method || (known && !lists(o->metadata, member, method)))
        method = !secret                                             ? "none"
                 : !known                                            ? "client_secret_basic"
                 : lists(o->metadata, member, "client_secret_basic") ? "client_secret_basic"
                 : lists(o->metadata, member, "client_secret_post")  ? "client_secret_post"
                                                                     : "none";
    if (secret && strcmp(method, "client_secret_basic") == 0) {
        struct form pair;
        form_open(&pair);
        form_add(&pair, "i", o->client_id);
        form_add(&pair, "s", o->client_secret);
        char *encoded = form_close(&pair), *second = strstr(encoded, "&s=");
        *second = '\0';
        char *both = format("%s:%s", encoded + 2, second + 3),
             *base = need(malloc(CHELA_BASE64_TEXT(strlen(both))));
        chela_base64_encode(both, strlen(both), base);
        char *header = format("Basic %s", base);
        free(encoded);
        free(both);
        free(base);
        return header;
    }
    form_add(f, "client_id", o->client_id);
    if (secret && strcmp(method, "none") != 0)
        form_add(f, "client_secret", o->client_secret);
    return NULL;
}

static void token_came(struct io *io, const struct chela_done *d)
{
    struct oauth *o = io->owner;
    json_object *v = NULL;
    if (!io->server)
        return;
    chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &v, NULL);
    if (d->error == CHELA_OK && chela_json_string(v, "access_token", NULL)) {
        oauth_got_token(o, v);
    } else if (o->refreshed && o->refresh) { /* the refresh token is no longer taken: log in */
        free(o->refresh);
        o->refresh = NULL;
        discover_begin(o);
    } else {
        const char *error = chela_json_string(v, "error", NULL),
                   *about = chela_json_string(v, "error_description", NULL);
        oauth_fail(o, "no token was given (HTTP %u %s %.300s)", d->http_status, error ? error : "",
                   about ? about : "");
    }
    json_object_put(v);
}

static void ask_token(struct oauth *o, struct form *f)
{
    const char *url = endpoint(o, "token_endpoint");
    form_add(f, "resource", resource_of(o));
    char *header = authenticate(o, f), *body = form_close(f);
    if (url)
        oauth_request(o, url, form_type, body, header, token_came);
    else
        oauth_fail(o, "its token endpoint is not at an https address");
    free(header);
    free(body);
}

void login_code(struct oauth *o, const char *code)
{
    struct form f;
    char *callback = callback_of(o);
    form_open(&f);
    form_add(&f, "grant_type", "authorization_code");
    form_add(&f, "code", code);
    form_add(&f, "redirect_uri", callback);
    form_add(&f, "code_verifier", o->verifier);
    ask_token(o, &f);
    free(callback);
}

void login_refresh(struct oauth *o)
{
    struct form f;
    form_open(&f);
    form_add(&f, "grant_type", "refresh_token");
    form_add(&f, "refresh_token", o->refresh);
    ask_token(o, &f);
}

static void login_credentials(struct oauth *o)
{
    struct form f;
    char *scope = scope_of(o);
    form_open(&f);
    form_add(&f, "grant_type", "client_credentials");
    form_add(&f, "scope", scope);
    ask_token(o, &f);
    free(scope);
}

/* ---- the login page ---- */

static void browsed(struct io *io, const struct chela_done *d)
{
    if (d->error != CHELA_OK)
        mcp_log(io->mcp, CHELA_WARN, "the browser could not be started: %.*s", (int)d->text.n,
                d->text.n ? d->text.s : "");
}

static void open_browser(struct mcp *m, const char *url)
{
    struct chela_str program = chela_option_text(m->in, "browser");
    if (!program.n)
        return;
    struct chela_pair arguments[2] = {{{"", 0}, program}, {{"", 0}, chela_s(url)}};
    struct io *io = io_new(m, NULL, NULL);
    io->done = browsed;
    CHELA_ARGS(chela_spawn, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.timeout_ms = 60000;
    a.arguments.v = arguments;
    a.arguments.n = 2;
    m->in->host->process->spawn(m->in, &a);
}

static void show_page(struct oauth *o)
{
    const char *page = endpoint(o, "authorization_endpoint");
    char *scope = scope_of(o), *callback = callback_of(o);
    struct form f;
    if (!page) {
        oauth_fail(o, "its login page is not at an https address");
        free(scope);
        free(callback);
        return;
    }
    free(o->verifier);
    free(o->state);
    free(o->url);
    o->verifier = random_text();
    o->state = random_text();
    char *challenge = challenge_of(o->verifier);
    form_open(&f);
    form_add(&f, "response_type", "code");
    form_add(&f, "client_id", o->client_id);
    form_add(&f, "redirect_uri", callback);
    form_add(&f, "code_challenge", challenge);
    form_add(&f, "code_challenge_method", "S256");
    form_add(&f, "state", o->state);
    form_add(&f, "scope", scope);
    form_add(&f, "resource", resource_of(o));
    if (scope && strstr(scope, "offline_access"))
        form_add(&f, "prompt", "consent");
    char *query = form_close(&f);
    o->url = format("%s%c%s", page, strchr(page, '?') ? '&' : '?', query);
    free(o->wanted_scope);
    o->wanted_scope = scope;
    char *why = format("log in at %s", o->url);
    server_needs_login(o->server, why);
    open_browser(o->server->mcp, o->url);
    free(why);
    free(query);
    free(challenge);
    free(callback);
}

static void go_on(struct oauth *o)
{
    if (chela_str_is(server_option(o->server, "grant"), "client_credentials"))
        login_credentials(o);
    else
        show_page(o);
}

/* ---- our client ---- */

static void registered(struct io *io, const struct chela_done *d)
{
    struct oauth *o = io->owner;
    json_object *v = NULL;
    if (!io->server)
        return;
    chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &v, NULL);
    const char *id = chela_json_string(v, "client_id", NULL),
               *secret = chela_json_string(v, "client_secret", NULL),
               *method = chela_json_string(v, "token_endpoint_auth_method", NULL);
    if (d->error != CHELA_OK || !id) {
        oauth_fail(o, "it does not register us (HTTP %u %.200s)", d->http_status,
                   d->text.n ? d->text.s : "");
    } else {
        free(o->client_id);
        free(o->client_secret);
        free(o->client_method);
        free(o->client_issuer);
        o->client_id = need(strdup(id));
        o->client_secret = secret ? need(strdup(secret)) : NULL;
        o->client_method = method ? need(strdup(method)) : NULL;
        o->client_issuer = need(strdup(o->issuer));
        go_on(o);
    }
    json_object_put(v);
}

static void register_client(struct oauth *o, const char *url)
{
    json_object *v = chela_json_new_object();
    char *callback = callback_of(o), *scope = scope_of(o);
    static const char *const methods[] = {"none", "client_secret_basic", "client_secret_post"};
    static const char member[] = "token_endpoint_auth_methods_supported";
    const char *method = "none";
    for (size_t i = 3; i-- > 0;)
        if (lists(o->metadata, member, methods[i]))
            method = methods[i];
    chela_json_put_text(v, "client_name", "Chela");
    chela_json_push(chela_json_put_array(v, "redirect_uris"),
                    chela_json_new_string(callback, strlen(callback)));
    json_object *grant = chela_json_put_array(v, "grant_types");
    chela_json_push(grant, chela_json_new_string("authorization_code", 18));
    chela_json_push(grant, chela_json_new_string("refresh_token", 13));
    chela_json_push(chela_json_put_array(v, "response_types"), chela_json_new_string("code", 4));
    chela_json_put_text(v, "token_endpoint_auth_method", method);
    chela_json_put_text(v, "application_type", "native");
    if (scope)
        chela_json_put_text(v, "scope", scope);
    oauth_request(o, url, "application/json", chela_json_text(v, NULL), NULL, registered);
    json_object_put(v);
    free(callback);
    free(scope);
}

static void use_client(struct oauth *o, struct chela_str id, struct chela_str secret)
{
    free(o->client_id);
    free(o->client_secret);
    free(o->client_method);
    o->client_id = text_of(id);
    o->client_secret = secret.n ? text_of(secret) : NULL;
    o->client_method = NULL;
    go_on(o);
}

void login_begin(struct oauth *o)
{
    struct server *s = o->server;
    struct chela_str id = server_option(s, "client_id"), none = {"", 0},
                     document = server_option(s, "client_metadata");
    const char *url = endpoint(o, "registration_endpoint");
    if (id.n)
        use_client(o, id, server_option(s, "client_secret"));
    else if (document.n &&
             chela_json_bool(o->metadata, "client_id_metadata_document_supported", false))
        use_client(o, document, none);
    else if (o->client_id && o->client_issuer && strcmp(o->client_issuer, o->issuer) == 0)
        go_on(o);
    else if (url)
        register_client(o, url);
    else
        oauth_fail(o, "it registers no clients: set client_id of the server");
}
