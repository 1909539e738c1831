/*
 * Codes for one use (see codes.h). In memory only; a restart ends them. Called from the loop only.
 */
#include "gateway/codes.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

enum { CODES = 8, CODE_BYTES = 32, CODE_MS = 5 * 60 * 1000 };

static struct code {
    char text[2 * CODE_BYTES + 1]; /* "": free */
    char *by;
    uint64_t until_ms;
} codes[CODES];

static void forget(struct code *c)
{
    free(c->by);
    explicit_bzero(c, sizeof *c);
}

void code_make(char out[CODE_SIZE], const char *by)
{
    struct code *oldest = &codes[0];
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].until_ms < oldest->until_ms)
            oldest = &codes[i];
    forget(oldest);
    id_hex(oldest->text, CODE_BYTES);
    oldest->by = xstrdup(by);
    oldest->until_ms = clock_ticks_ms() + CODE_MS;
    memcpy(out, oldest->text, sizeof oldest->text);
}

char *code_use(const char *given)
{
    char *by = NULL;
    if (!given || strlen(given) != 2 * (size_t)CODE_BYTES)
        return NULL;
    for (size_t i = 0; i < CODES; i++) {
        struct code *c = &codes[i];
        if (!*c->text || CRYPTO_memcmp(c->text, given, sizeof c->text - 1) != 0)
            continue;
        if (c->until_ms > clock_ticks_ms())
            by = xstrdup(c->by);
        forget(c);
    }
    return by;
}
