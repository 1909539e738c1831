/*
 * What the parts of the conformance suite share: the program's arguments, its own small schema, and
 * short forms for commits and queries.
 */
#ifndef TESTS_STORE_SUITE_H
#define TESTS_STORE_SUITE_H

/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/fake.h"

/* The schema: what the suite does with an engine, as the core does with its own statements. */
enum statement {
    ITEM_PUT,   /* pk, n, body, data, weight */
    ITEM_SET,   /* pk, n, body; must touch one */
    ITEM_LIST,  /* pk, n: after n, by n -> n, body, data, weight */
    ITEM_AFTER, /* pk, n, limit, written in another order -> n */
    ITEM_TYPES, /* pk, n -> n as text: a result that isn't what it promises */
    NOTE_PUT,   /* pk, n, body */
    NOTE_FIND,  /* words, limit -> pk, n */
    COUNT_TO,   /* counts to n by itself: a query that takes long */
    SCHEMA_STATEMENTS
};
void suite_schema(struct chela_store_open *a);

/* The plugin under test; `{dir}` in its options is the scratch folder. */
extern const char *suite_plugin;
extern const char *suite_program;
extern char suite_dir[64];
/* plugin: NULL for the built store_sqlite. Makes the scratch folder; suite_end removes it. */
void suite_begin(const char *plugin);
void suite_use(const char *const *options); /* NULL: path={dir}/{name}.db */
void suite_end(bool clean);
const char *const *suite_options(const char *extra); /* extra: NULL or one more option, first */

/* A store that is open, and one whose opening isn't waited for. */
struct fake *suite_open(const char *extra);
struct outcome *suite_begin_open(struct fake *f);
/* A database of its own: the options' {name} is another one from now on. */
void suite_fresh(void);

/* A batch under construction. */
struct batch {
    struct chela_batch args;
    struct chela_value values[64];
    const char *partition;
};
uint64_t suite_id(void); /* rising */
void batch_begin(struct batch *b, const char *partition, uint32_t durability);
void batch_item(struct batch *b, int64_t n, const char *body);
void batch_set(struct batch *b, int64_t n, const char *body);
void batch_op(struct batch *b, enum statement s, const struct chela_value *v, size_t count);
struct outcome *batch_send(struct fake *f, struct batch *b);
uint32_t batch_commit(struct fake *f, struct batch *b); /* sends and waits */

struct chela_value value_int(int64_t i);
struct chela_value value_text(const char *s);
struct chela_value value_bytes(const void *p, size_t n);

struct outcome *suite_query(struct fake *f, enum statement s, const struct chela_value *v,
                            size_t count, uint32_t limit);
/* All n of a partition, in order; returns how many. */
size_t suite_numbers(struct fake *f, const char *partition, int64_t *numbers, size_t size);

/* The parts. */
int crash_child(const char *partition_count);
void crash_test(void **state);
extern unsigned crash_rounds;
extern const struct CMUnitTest value_tests[], blob_tests[];
extern const size_t value_test_count, blob_test_count;

#endif
