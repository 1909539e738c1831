/*
 * What the OAuth files share: one server's login. discover.c finds out where and how, login.c makes
 * us known there and gets tokens, oauth.c keeps them and decides when.
 */
#ifndef TOOL_MCP_OAUTH_H
#define TOOL_MCP_OAUTH_H

#include "mcp.h"

struct oauth {
    struct server *server;
    bool busy;        /* a login is under way */
    bool legacy;      /* the server names no authorization server: it is its own */
    bool refreshed;   /* the refresh token was tried since the last success */
    unsigned attempt; /* which of the addresses is tried */

    char *metadata_url;               /* from the refusal */
    char *wanted_scope;               /* from the refusal, joined with what we had */
    json_object *resource, *metadata; /* of the protected resource, of the authorization server */
    char *issuer;

    char *client_id, *client_secret, *client_method;
    char *access, *refresh, *scope, *client_issuer;
    uint64_t expires_ms;

    char *state, *verifier, *url; /* of the login page that is open */
    char *base;                   /* our own address, as the login page was told */
    char *failure;
};

struct form {
    FILE *out;
    char *text;
    size_t n;
};

void form_open(struct form *f);
void form_add(struct form *f, const char *name, const char *value); /* NULL value: nothing */
char *form_close(struct form *f);
/* A request of a login; NULL body: GET. basic: "user:password" already encoded, or NULL. */
void oauth_request(struct oauth *o, const char *url, const char *type, const char *body,
                   const char *authorization,
                   void (*done)(struct io *io, const struct chela_done *d));
void oauth_fail(struct oauth *o, const char *f, ...) __attribute__((format(printf, 2, 3)));
void oauth_got_token(struct oauth *o, json_object *token);
/* https, or this machine */
bool oauth_url_ok(const char *url);
char *oauth_origin(const char *url);

/* discover.c: ends with login_begin */
void discover_begin(struct oauth *o);

/* login.c */
void login_begin(struct oauth *o);
void login_code(struct oauth *o, const char *code);
void login_refresh(struct oauth *o);
char *login_base64url(const void *data, size_t n);

#endif
