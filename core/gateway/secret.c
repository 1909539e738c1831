/*
 * The gateway's secret and the guesses at it (see secret.h). Called by the handshake and by
 * endpoints.c.
 */
#include "gateway/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/redact.h"
#include "gateway/audit.h"
#include "host/settings.h"
#include "support/json.h"

enum {
    TOKEN_BYTES = 32,
    TOKEN_LONGEST = 4096,
    GUESSES = 10,
    WINDOW_MS = 60000,
    LOCK_MS = 300000,
    REMEMBERED = 4096
};

struct guesses {
    unsigned count;
    uint64_t first_ms, locked_until_ms;
};

static struct {
    enum secret_mode mode;
    char *value;
    bool digested; /* at the first guess: OpenSSL's first digest would take a tenth of the start */
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct map guesses; /* by address */
} state;

static void forget(void)
{
    if (state.value)
        explicit_bzero(state.value, strlen(state.value));
    freep(&state.value);
    explicit_bzero(state.digest, sizeof state.digest);
    state.digested = false;
}

static void use(const char *value)
{
    redact_secret(value, strlen(value));
    forget();
    state.value = xstrdup(value);
}

/* Reads the token file into out; 0, or -1 with errno. */
static int read_token(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, out, size - 1);
    struct stat st;
    int bad = fstat(fd, &st);
    close(fd);
    if (n < 0 || bad)
        return -1;
    if (st.st_mode & 077) {
        errno = EPERM;
        return -1;
    }
    out[n] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return 0;
}

static int make_token(const char *path, char *out, struct error *e)
{
    id_hex(out, TOKEN_BYTES);
    CLEANUP(freep) char *line = xprintf("%s\n", out);
    if (file_replace(path, chela_s(line), NULL, e) < 0)
        return -1;
    log_info("gateway", "made a new token in %s", path);
    return 0;
}

static int open_token_file(struct error *e)
{
    char token[TOKEN_LONGEST];
    CLEANUP(freep) char *path = xprintf("%s/gateway.token", settings_state_dir());
    if (read_token(path, token, sizeof token) < 0) {
        if (errno == EPERM)
            return error_set(e, CHELA_E_ARGS,
                             "%s can be read by others: chmod 600 it, or remove it for a new one",
                             path);
        if (errno != ENOENT)
            return error_set(e, CHELA_E_OTHER, "%s: cannot be read: %s", path, strerror(errno));
        if (make_token(path, token, e) < 0)
            return -1;
    }
    if (strlen(token) < 16)
        return error_set(e, CHELA_E_ARGS, "%s: shorter than 16 characters; remove it for a new one",
                         path);
    use(token);
    explicit_bzero(token, sizeof token);
    return 0;
}

int secret_open(struct error *e)
{
    const struct settings *s = settings_now();
    const char *mode = settings_text(s, "gateway.auth.mode");
    if (strcmp(mode, "none") == 0) {
        state.mode = SECRET_NONE;
        return 0;
    }
    bool password = strcmp(mode, "password") == 0;
    const char *value = settings_text(s, password ? "gateway.auth.password" : "gateway.auth.token");
    state.mode = password                             ? SECRET_PASSWORD
                 : strcmp(mode, "trusted-proxy") == 0 ? SECRET_PROXY
                                                      : SECRET_TOKEN;
    if (*value)
        use(value);
    else if (password)
        return error_set(e, CHELA_E_ARGS,
                         "gateway.auth.mode is \"password\", but gateway.auth.password is not set");
    else
        return open_token_file(e);
    return 0;
}

void secret_close(void)
{
    map_free(&state.guesses, free);
    forget();
}

enum secret_mode secret_mode(void)
{
    return state.mode;
}

const char *secret_mode_name(void)
{
    static const char *const names[] = {"none", "token", "password", "trusted-proxy"};
    return names[state.mode];
}

bool secret_is_set(void)
{
    return state.mode != SECRET_NONE;
}

bool secret_matches(const char *given)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    if (!given || !state.value)
        return false;
    if (!state.digested)
        SHA256((const unsigned char *)state.value, strlen(state.value), state.digest);
    state.digested = true;
    SHA256((const unsigned char *)given, strlen(given), digest);
    return CRYPTO_memcmp(digest, state.digest, sizeof digest) == 0;
}

uint64_t secret_locked(const char *remote)
{
    struct guesses *g = map_get(&state.guesses, remote);
    uint64_t now = clock_ticks_ms();
    return g && g->locked_until_ms > now ? g->locked_until_ms - now : 0;
}

void secret_failed(const char *remote)
{
    uint64_t now = clock_ticks_ms();
    struct guesses *g = map_get(&state.guesses, remote);
    if (!g) {
        if (state.guesses.count >= REMEMBERED)
            map_free(&state.guesses, free);
        g = xcalloc(1, sizeof *g);
        map_set(&state.guesses, remote, g);
    }
    if (now - g->first_ms > WINDOW_MS) {
        g->count = 0;
        g->first_ms = now;
    }
    if (++g->count >= GUESSES) {
        g->locked_until_ms = now + LOCK_MS;
        log_warning("gateway", "%s gave a wrong secret %u times and is locked out for %d s", remote,
                    g->count, LOCK_MS / 1000);
        json_object *what = chela_json_new_object();
        chela_json_put_int(what, "tries", g->count);
        audit_note("auth.lockout", remote, what);
    }
}
