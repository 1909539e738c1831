/*
 * Values on their way into SQLite and out of it. SQLite keeps whatever it is given, so what a
 * statement's types promise is enforced here: text is UTF-8 without NUL, and a column that comes
 * back has its type or is NULL. Called by the writer and the readers.
 */
#include <stdlib.h>

#include "internal.h"

static size_t sequence(const unsigned char *p, size_t n)
{
    unsigned char c = p[0];
    size_t length = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool text_valid(struct chela_str s)
{
    const unsigned char *p = (const unsigned char *)s.s;
    for (size_t i = 0; i < s.n;) {
        if (p[i] > 0 && p[i] < 0x80) {
            i++;
            continue;
        }
        size_t n = p[i] ? sequence(p + i, s.n - i) : 0;
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

static const char *bytes_of(struct chela_str s)
{
    return s.n ? s.s : "";
}

static int bind_one(sqlite3_stmt *s, int at, char type, const struct chela_value *v,
                    struct failure *f)
{
    if (v->type == CHELA_V_NULL)
        return sqlite3_bind_null(s, at);
    if (type == 'i' && v->type == CHELA_V_INT)
        return sqlite3_bind_int64(s, at, v->i);
    if (type == 'r' && v->type == CHELA_V_REAL)
        return sqlite3_bind_double(s, at, v->d);
    if (type == 'r' && v->type == CHELA_V_INT)
        return sqlite3_bind_double(s, at, (double)v->i);
    if (type == 'b' && v->type == CHELA_V_BYTES)
        return sqlite3_bind_blob64(s, at, bytes_of(v->s), v->s.n, SQLITE_STATIC);
    if (type == 't' && v->type == CHELA_V_TEXT) {
        if (!text_valid(v->s)) {
            fail(f, CHELA_E_ARGS, "text that is not UTF-8, or holds a NUL");
            return -1;
        }
        return sqlite3_bind_text64(s, at, bytes_of(v->s), v->s.n, SQLITE_STATIC, SQLITE_UTF8);
    }
    if ((type == 's' || type == 'a') && v->type == CHELA_V_TEXT) {
        char *query = search_query(v->s, type == 'a');
        return query ? sqlite3_bind_text(s, at, query, -1, free)
                     : sqlite3_bind_text(s, at, "\"\"", -1, SQLITE_STATIC); /* finds nothing */
    }
    fail(f, CHELA_E_ARGS, "a value of type %u where the statement has '%c'", v->type, type);
    return -1;
}

int bind_values(sqlite3_stmt *s, const unsigned char *index, const struct statement *st,
                const struct chela_value *values, size_t count, struct failure *f)
{
    if (count != strlen(st->parameters))
        return fail(f, CHELA_E_ARGS, "statement %s takes %zu parameters, not %zu", st->name,
                    strlen(st->parameters), count);
    for (size_t i = 0; i < count; i++) {
        if (index[i] == 0)
            continue; /* a parameter that this variant doesn't use */
        struct failure why = {0};
        int rc = bind_one(s, index[i], st->parameters[i], &values[i], &why);
        if (rc < 0)
            return fail(f, why.class, "statement %s, parameter %zu: %s", st->name, i + 1, why.text);
        if (rc != SQLITE_OK)
            return fail_sqlite(f, sqlite3_db_handle(s), rc, st->name);
    }
    return 0;
}

static size_t keep(struct rows *r, const void *p, size_t n)
{
    if (r->room - r->used < n + 1) {
        r->room = (r->used + n + 1) * 2;
        r->bytes = need(realloc(r->bytes, r->room));
    }
    size_t at = r->used;
    if (n)
        memcpy(r->bytes + at, p, n);
    r->bytes[at + n] = '\0';
    r->used += n + 1;
    return at;
}

static int column(struct rows *r, struct chela_value *v, sqlite3_stmt *s, int i, char type)
{
    int found = sqlite3_column_type(s, i);
    memset(v, 0, sizeof *v);
    if (found == SQLITE_NULL)
        return 0;
    if (type == 'i' && found == SQLITE_INTEGER) {
        v->type = CHELA_V_INT;
        v->i = sqlite3_column_int64(s, i);
    } else if (type == 'r' && (found == SQLITE_FLOAT || found == SQLITE_INTEGER)) {
        v->type = CHELA_V_REAL;
        v->d = sqlite3_column_double(s, i);
    } else if ((type == 't' && found == SQLITE_TEXT) || (type == 'b' && found == SQLITE_BLOB)) {
        v->type = type == 't' ? CHELA_V_TEXT : CHELA_V_BYTES;
        const void *p =
            type == 't' ? (const void *)sqlite3_column_text(s, i) : sqlite3_column_blob(s, i);
        v->s.n = (uint64_t)sqlite3_column_bytes(s, i);
        v->i = (int64_t)keep(r, p, v->s.n);
    } else {
        return -1;
    }
    return 0;
}

int rows_add(struct rows *r, sqlite3_stmt *s, const struct statement *st, struct failure *f)
{
    size_t columns = strlen(st->results);
    if ((size_t)sqlite3_column_count(s) != columns)
        return fail(f, CHELA_E_ARGS, "statement %s gives %d columns, its results are \"%s\"",
                    st->name, sqlite3_column_count(s), st->results);
    if (r->size - r->count < columns) {
        r->size = (r->count + columns) * 2;
        r->values = need(realloc(r->values, r->size * sizeof *r->values));
    }
    for (size_t i = 0; i < columns; i++)
        if (column(r, &r->values[r->count + i], s, (int)i, st->results[i]) < 0)
            return fail(f, CHELA_E_PROTOCOL, "statement %s: column %zu is not of type '%c'",
                        st->name, i + 1, st->results[i]);
    r->count += columns;
    r->columns = (uint32_t)columns;
    r->rows++;
    return 0;
}

void rows_seal(struct rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct chela_value *v = &r->values[i];
        if (v->type != CHELA_V_TEXT && v->type != CHELA_V_BYTES)
            continue;
        v->s.s = r->bytes + v->i;
        v->i = 0;
    }
}

void rows_free(struct rows *r)
{
    free(r->values);
    free(r->bytes);
    memset(r, 0, sizeof *r);
}
