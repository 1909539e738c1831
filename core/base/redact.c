/*
 * The one redactor (see redact.h). The table is small (the secrets of one configuration), so a scan
 * by first byte is enough. A lock guards it, since the log is used on any thread.
 */
#include "base/redact.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SHORTEST = 8 };

static struct {
    pthread_mutex_t lock;
    char **values;
    size_t *lengths;
    size_t n;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Beginnings of keys that services give out, and how many characters must follow. */
static const struct {
    const char *prefix;
    size_t least;
} shapes[] = {
    {"sk-", 20},   {"xai-", 20}, {"gsk_", 20},        {"AIza", 30},    {"xoxb-", 20},
    {"xapp-", 20}, {"ghp_", 30}, {"github_pat_", 30}, {"Bearer ", 16}, {"glpat-", 16},
};

void redact_secret(const char *value, size_t n)
{
    if (n < SHORTEST)
        return;
    pthread_mutex_lock(&table.lock);
    bool known = false;
    for (size_t i = 0; i < table.n && !known; i++)
        known = table.lengths[i] == n && memcmp(table.values[i], value, n) == 0;
    if (!known) {
        table.values = xrealloc(table.values, (table.n + 1) * sizeof *table.values);
        table.lengths = xrealloc(table.lengths, (table.n + 1) * sizeof *table.lengths);
        table.values[table.n] = xmemdup(value, n);
        table.lengths[table.n++] = n;
    }
    pthread_mutex_unlock(&table.lock);
}

void redact_forget_all(void)
{
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.n; i++) {
        explicit_bzero(table.values[i], table.lengths[i]);
        free(table.values[i]);
    }
    free(table.values);
    free(table.lengths);
    table.values = NULL;
    table.lengths = NULL;
    table.n = 0;
    pthread_mutex_unlock(&table.lock);
}

static size_t known_secret(const char *p, size_t n)
{
    size_t longest = 0;
    for (size_t i = 0; i < table.n; i++)
        if (table.lengths[i] <= n && table.lengths[i] > longest && table.values[i][0] == p[0] &&
            memcmp(p, table.values[i], table.lengths[i]) == 0)
            longest = table.lengths[i];
    return longest;
}

static bool key_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* Length of a prefix at p that must stay, and of what follows and must go (0 = no key here). */
static size_t known_shape(const char *p, size_t n, size_t *ret_keep)
{
    for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
        size_t keep = strlen(shapes[i].prefix), end = keep;
        if (keep > n || memcmp(p, shapes[i].prefix, keep) != 0)
            continue;
        while (end < n && key_char(p[end]))
            end++;
        if (end - keep >= shapes[i].least) {
            *ret_keep = keep;
            return end - keep;
        }
    }
    return 0;
}

void redact(struct buf *out, const char *p, size_t n)
{
    pthread_mutex_lock(&table.lock);
    size_t plain = 0, i = 0;
    while (i < n) {
        size_t keep = 0, gone = known_secret(p + i, n - i);
        if (!gone && (i == 0 || !key_char(p[i - 1])))
            gone = known_shape(p + i, n - i, &keep);
        if (!gone) {
            i++;
            continue;
        }
        buf_add(out, p + plain, i + keep - plain);
        buf_puts(out, "***");
        i += keep + gone;
        plain = i;
    }
    buf_add(out, p + plain, n - plain);
    pthread_mutex_unlock(&table.lock);
}
