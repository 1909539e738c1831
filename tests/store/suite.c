/*
 * The conformance suite's schema and short forms (see suite.h).
 */
#include "store/suite.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

const char *suite_plugin, *suite_program;
char suite_dir[64];
static const char *const *given;
static char name[16] = "first";

#define PAIR(n, v)                                                                                 \
    {                                                                                              \
        CHELA_LIT(n), CHELA_LIT(v)                                                                 \
    }

static const struct chela_pair statements[SCHEMA_STATEMENTS] = {
    [ITEM_PUT] = PAIR("item_put", "HW|titbr||INSERT INTO item(pk,n,body,data,weight) "
                                  "VALUES($1,$2,$3,$4,$5)"),
    [ITEM_SET] = PAIR("item_set", "HW1|tit||UPDATE item SET body=$3 WHERE pk=$1 AND n=$2"),
    [ITEM_LIST] = PAIR("item_list", "H|ti|itbr|SELECT n,body,data,weight FROM item "
                                    "WHERE pk=$1 AND n>$2 ORDER BY n"),
    [ITEM_AFTER] = PAIR("item_after", "|tii|i|SELECT n FROM item WHERE n>$2 AND pk=$1 ORDER BY n "
                                      "LIMIT $3"),
    [ITEM_TYPES] =
        PAIR("item_types", "|ti|i|SELECT CAST(n AS TEXT) FROM item WHERE pk=$1 AND n=$2"),
    [NOTE_PUT] = PAIR("note_put", "W|tit||INSERT INTO note(pk,n,body) VALUES($1,$2,$3)"),
    [NOTE_FIND] =
        PAIR("note_find", "X|si|ti|SELECT pk,n FROM note WHERE id IN (SELECT rowid FROM note_words "
                          "WHERE note_words MATCH $1) ORDER BY n LIMIT $2"
                          "\n--postgres\n"
                          "SELECT pk,n FROM note WHERE words @@ websearch_to_tsquery('simple',$1) "
                          "ORDER BY n LIMIT $2"),
    [COUNT_TO] = PAIR("count_to", "X|i|i|WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
                                  "FROM c WHERE x<$1) SELECT count(*) FROM c"),
};

static const struct chela_pair migrations[] = {
    PAIR("item", "CREATE TABLE item(pk TEXT NOT NULL, n BIGINT NOT NULL, body TEXT, data BLOB,"
                 " weight DOUBLE PRECISION, PRIMARY KEY(pk,n)) WITHOUT ROWID"
                 "\n--postgres\n"
                 "CREATE TABLE item(pk TEXT COLLATE \"C\" NOT NULL, n BIGINT NOT NULL, body TEXT,"
                 " data BYTEA, weight DOUBLE PRECISION, PRIMARY KEY(pk,n))"),
    PAIR("note", "CREATE TABLE note(id INTEGER PRIMARY KEY, pk TEXT, n BIGINT, body TEXT);"
                 "CREATE VIRTUAL TABLE note_words USING fts5(body, content='note',"
                 " content_rowid='id', tokenize='chela');"
                 "CREATE TRIGGER note_new AFTER INSERT ON note BEGIN"
                 " INSERT INTO note_words(rowid,body) VALUES(new.id,new.body); END"
                 "\n--postgres\n"
                 "CREATE TABLE note(id BIGSERIAL PRIMARY KEY, pk TEXT, n BIGINT, body TEXT,"
                 " words tsvector GENERATED ALWAYS AS (to_tsvector('simple',left(body,100000)))"
                 " STORED); CREATE INDEX note_words ON note USING GIN(words)"),
};

void suite_schema(struct chela_store_open *a)
{
    a->statements.v = statements;
    a->statements.n = SCHEMA_STATEMENTS;
    a->migrations.v = migrations;
    a->migrations.n = ARRAY_LENGTH(migrations);
}

static char *substitute(const char *text, const char *what, const char *by)
{
    const char *at = strstr(text, what);
    return at ? xprintf("%.*s%s%s", (int)(at - text), text, by, at + strlen(what)) : xstrdup(text);
}

const char *const *suite_options(const char *extra)
{
    static char *sets[4][20];
    static unsigned turn; /* instances keep what they were given */
    char **filled = sets[turn++ % ARRAY_LENGTH(sets)];
    static const char *const usual[] = {"path={dir}/{name}.db", NULL};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(sets[0]); i++) {
        free(filled[i]);
        filled[i] = NULL;
    }
    if (extra)
        filled[n++] = xstrdup(extra);
    for (const char *const *o = given ? given : usual; *o && n + 1 < ARRAY_LENGTH(sets[0]); o++) {
        char *half = substitute(*o, "{dir}", suite_dir);
        filled[n++] = substitute(half, "{name}", name);
        free(half);
    }
    return (const char *const *)filled;
}

void suite_fresh(void)
{
    static unsigned count;
    snprintf(name, sizeof name, "d%u", ++count);
}

struct outcome *suite_begin_open(struct fake *f)
{
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_store_open, a, o->call);
    suite_schema(&a);
    fake_store(f)->open_db(fake_instance(f), &a);
    return o;
}

struct fake *suite_open(const char *extra)
{
    struct fake *f = fake_open(suite_plugin, suite_options(extra));
    if (!f)
        exit(1);
    struct outcome *o = suite_begin_open(f);
    if (fake_wait(f, o) != CHELA_OK) {
        fprintf(stderr, "open: %s\n", o->text);
        exit(1);
    }
    return f;
}

uint64_t suite_id(void)
{
    static uint64_t last;
    if (last == 0)
        last = clock_now_ms() << 20;
    return ++last;
}

struct chela_value value_int(int64_t i)
{
    return (struct chela_value){.type = CHELA_V_INT, .i = i};
}

struct chela_value value_text(const char *s)
{
    return (struct chela_value){.type = s ? CHELA_V_TEXT : CHELA_V_NULL, .s = chela_s(s)};
}

struct chela_value value_bytes(const void *p, size_t n)
{
    return (struct chela_value){.type = CHELA_V_BYTES, .s = chela_sn(p, n)};
}

void batch_begin(struct batch *b, const char *partition, uint32_t durability)
{
    memset(b, 0, sizeof *b);
    b->args.h.size = sizeof b->args;
    b->args.id = suite_id();
    b->args.durability = durability;
    b->args.partition = chela_s(partition);
    b->partition = partition;
    b->args.ops.v = b->values;
}

void batch_op(struct batch *b, enum statement s, const struct chela_value *v, size_t count)
{
    struct chela_value *at = b->values + b->args.ops.n;
    *at = (struct chela_value){.type = CHELA_V_OP, .i = s};
    memcpy(at + 1, v, count * sizeof *v);
    b->args.ops.n += count + 1;
}

void batch_item(struct batch *b, int64_t n, const char *body)
{
    struct chela_value v[] = {value_text(b->partition), value_int(n), value_text(body),
                              value_text(NULL), value_text(NULL)};
    batch_op(b, ITEM_PUT, v, ARRAY_LENGTH(v));
}

void batch_set(struct batch *b, int64_t n, const char *body)
{
    struct chela_value v[] = {value_text(b->partition), value_int(n), value_text(body)};
    batch_op(b, ITEM_SET, v, ARRAY_LENGTH(v));
}

struct outcome *batch_send(struct fake *f, struct batch *b)
{
    struct outcome *o = fake_call(f);
    b->args.h.call = o->call;
    fake_store(f)->commit(fake_instance(f), &b->args);
    return o;
}

uint32_t batch_commit(struct fake *f, struct batch *b)
{
    struct outcome *o = batch_send(f, b);
    uint32_t error = fake_wait(f, o);
    if (error && getenv("CHELA_TEST_VERBOSE"))
        print_message("# %u: %s\n", error, o->text);
    fake_forget(f, o);
    return error;
}

struct outcome *suite_query(struct fake *f, enum statement s, const struct chela_value *v,
                            size_t count, uint32_t limit)
{
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_query, a, o->call);
    a.statement = s;
    a.limit = limit;
    a.parameters.v = v;
    a.parameters.n = count;
    fake_store(f)->query(fake_instance(f), &a);
    return o;
}

size_t suite_numbers(struct fake *f, const char *partition, int64_t *numbers, size_t size)
{
    struct chela_value v[] = {value_text(partition), value_int(INT64_MIN)};
    struct outcome *o = suite_query(f, ITEM_LIST, v, 2, 0);
    if (fake_wait(f, o) != CHELA_OK) {
        print_message("# %s\n", o->text);
        fail();
    }
    size_t n = 0;
    for (; n * 4 < o->count && n < size; n++)
        numbers[n] = o->values[n * 4].i;
    fake_forget(f, o);
    return n;
}

/* ---- a program's begin and end ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void suite_use(const char *const *options)
{
    given = options;
}

void suite_begin(const char *plugin)
{
    static char built[512];
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    snprintf(built, sizeof built, "%s/plugins/.libs/store_sqlite.so", build ? build : ".");
    suite_plugin = plugin ? plugin : built;
    snprintf(suite_dir, sizeof suite_dir, "/tmp/chela-store.XXXXXX");
    if (!mkdtemp(suite_dir))
        exit(1);
}

void suite_end(bool clean)
{
    static const char *const nothing[] = {NULL};
    given = nothing;
    for (unsigned i = 0; i < 4; i++)
        suite_options(NULL); /* frees the older ones */
    if (clean)
        nftw(suite_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
