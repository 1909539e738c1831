/*
 * The secret of an HTTP request: as bearer token, as x-api-key (Anthropic's clients) or, for hooks,
 * the hooks' own token. Counts wrong ones (secret.h). Called by api.c and endpoints.c while a head
 * is read.
 */
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <strings.h>

#include "gateway/api.h"
#include "gateway/devices.h"
#include "gateway/proxy.h"
#include "gateway/secret.h"
#include "host/settings.h"

static const char *given_secret(struct server_request *r, bool hook)
{
    const char *bearer = server_header(r, "authorization");
    if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0)
        return bearer + 7 + strspn(bearer + 7, " ");
    return server_header(r, hook ? "x-openclaw-token" : "x-api-key");
}

static bool same(const char *a, const char *b)
{
    unsigned char x[SHA256_DIGEST_LENGTH], y[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)a, strlen(a), x);
    SHA256((const unsigned char *)b, strlen(b), y);
    return CRYPTO_memcmp(x, y, sizeof x) == 0;
}

static bool passes(const struct comer *comer, const char *given)
{
    if (!secret_is_set())
        return comer->local;
    if (secret_mode() == SECRET_PROXY && comer->proxied)
        return proxy_user_ok(comer->user);
    return given && (secret_matches(given) || device_by_token(NULL, given));
}

int auth_request(struct server_request *r, const struct server_head *head, bool hook,
                 unsigned *ret_wait)
{
    const char *given = given_secret(r, hook);
    const char *token = hook ? settings_text(settings_now(), "gateway.hooks.token") : NULL;
    struct comer comer;
    proxy_comer(head, &comer);
    bool limited = !comer.local || head->browser;
    uint64_t wait = limited ? secret_locked(comer.remote) : 0;
    if (wait) {
        *ret_wait = (unsigned)(wait / 1000) + 1;
        return 429;
    }
    if (hook ? *token && given && same(given, token) : passes(&comer, given))
        return 0;
    if (limited && given)
        secret_failed(comer.remote);
    return 401;
}
