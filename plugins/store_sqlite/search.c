/*
 * Full text. Words are those of FTS5's own tokenizer unicode61; but Chinese, Japanese and Korean
 * are written without blanks, so there each character is a word by itself, and what a person types
 * without blanks becomes a phrase. That finds words of one and two characters too, which FTS5's
 * trigrams can't. Called by connection.c and values.c.
 */
#include <stdlib.h>

#include "internal.h"

struct tokenizer {
    fts5_tokenizer inner;
    Fts5Tokenizer *instance;
};

/* Reads a character of valid or invalid UTF-8; never reads beyond n. */
static size_t next_character(const char *p, size_t n, uint32_t *ret)
{
    unsigned char c = (unsigned char)p[0];
    size_t length = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
    *ret = c;
    if (length == 1 || length > n)
        return 1;
    uint32_t v = c & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 1;
        v = (v << 6) | ((unsigned char)p[i] & 0x3f);
    }
    *ret = v;
    return length;
}

/* Scripts that put no blanks between words: ideographs, kana, hangul, bopomofo, Thai to Khmer. */
static bool stands_alone(uint32_t c)
{
    return (c >= 0x0e00 && c <= 0x0eff) || (c >= 0x1780 && c <= 0x17ff) ||
           (c >= 0x3005 && c <= 0x3007) || (c >= 0x3041 && c <= 0x30ff) ||
           (c >= 0x3105 && c <= 0x318f) || (c >= 0x31a0 && c <= 0x31ff) ||
           (c >= 0x3400 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

static int create(void *context, const char **arguments, int count, Fts5Tokenizer **ret)
{
    fts5_api *api = context;
    void *inner_context;
    struct tokenizer *t = need(calloc(1, sizeof *t));
    int rc = api->xFindTokenizer(api, "unicode61", &inner_context, &t->inner);
    if (rc == SQLITE_OK)
        rc = t->inner.xCreate(inner_context, arguments, count, &t->instance);
    if (rc != SQLITE_OK) {
        free(t);
        return rc;
    }
    *ret = (Fts5Tokenizer *)t;
    return SQLITE_OK;
}

static void destroy(Fts5Tokenizer *tokenizer)
{
    struct tokenizer *t = (struct tokenizer *)tokenizer;
    t->inner.xDelete(t->instance);
    free(t);
}

struct shifted {
    void *context;
    int (*token)(void *, int, const char *, int, int, int);
    int offset;
};

static int pass_on(void *context, int flags, const char *p, int n, int start, int end)
{
    struct shifted *s = context;
    return s->token(s->context, flags, p, n, start + s->offset, end + s->offset);
}

static int tokenize(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int n,
                    int (*token)(void *, int, const char *, int, int, int))
{
    struct tokenizer *t = (struct tokenizer *)tokenizer;
    struct shifted s = {.context = context, .token = token};
    int begin = 0, at = 0, rc = SQLITE_OK;
    while (rc == SQLITE_OK && at < n) {
        uint32_t c;
        int length = (int)next_character(text + at, (size_t)(n - at), &c);
        if (stands_alone(c)) {
            s.offset = begin;
            if (at > begin)
                rc = t->inner.xTokenize(t->instance, &s, flags, text + begin, at - begin, pass_on);
            if (rc == SQLITE_OK)
                rc = token(context, 0, text + at, length, at, at + length);
            begin = at + length;
        }
        at += length;
    }
    s.offset = begin;
    if (rc == SQLITE_OK && n > begin)
        rc = t->inner.xTokenize(t->instance, &s, flags, text + begin, n - begin, pass_on);
    return rc;
}

int search_register(sqlite3 *db, struct failure *f)
{
    fts5_api *api = NULL;
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(s, 1, (void *)&api, "fts5_api_ptr", NULL);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    if (!api)
        return fail(f, CHELA_E_UNSUPPORTED, "this SQLite (%s) has no FTS5", sqlite3_libversion());
    fts5_tokenizer own = {.xCreate = create, .xDelete = destroy, .xTokenize = tokenize};
    int rc = api->xCreateTokenizer(api, "chela", api, &own, NULL);
    return rc == SQLITE_OK ? 0 : fail_sqlite(f, db, rc, "tokenizer");
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* True if a tokenizer finds something in it: a letter, a digit, or anything beyond ASCII. */
static bool has_word(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i], lower = c | 0x20;
        if (c >= 0x80 || (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z'))
            return true;
    }
    return false;
}

char *search_query(struct chela_str words, bool any)
{
    if (!text_valid(words))
        return NULL;
    char *query = need(malloc(words.n * 8 + 16));
    size_t n = 0;
    for (size_t at = 0; at < words.n;) {
        size_t end = at;
        while (end < words.n && !is_blank(words.s[end]))
            end++;
        if (has_word(words.s + at, end - at)) {
            if (any && n > 0) {
                memcpy(query + n, "OR ", 3);
                n += 3;
            }
            query[n++] = '"';
            for (; at < end; at++) {
                if (words.s[at] == '"')
                    query[n++] = '"';
                query[n++] = words.s[at];
            }
            query[n++] = '"';
            query[n++] = ' ';
        }
        at = end + 1;
    }
    query[n] = '\0';
    if (n > 0)
        return query;
    free(query);
    return NULL;
}
