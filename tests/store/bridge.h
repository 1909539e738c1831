/*
 * The host's calls, as far as the journal uses them, without a host: call_begin() hands over to a
 * store plugin loaded by fake.h, or to a function of the test. For programs that link the journal,
 * but not the host.
 */
#ifndef TESTS_STORE_BRIDGE_H
#define TESTS_STORE_BRIDGE_H

#include <chela/chela.h>
#include <stdbool.h>

#include "base/error.h"
#include "host/instance.h"
#include "store/fake.h"

/* From now on calls go to this store. */
struct instance *bridge_store(struct fake *f);
/* From now on calls go to this function, which ends them (later) by bridge_done. */
typedef void bridge_fn(uint64_t call, uint32_t fn, const void *args);
struct instance *bridge_function(bridge_fn *fn);
void bridge_done(uint64_t call, uint32_t error, const char *text);
unsigned bridge_open_calls(void);

/* One answer that is waited for. */
struct answer {
    bool here;
    uint32_t class;
    char text[1024];
    unsigned rows;
    char row[8][2048]; /* the first rows, columns joined by '|' */
};
void answer_done(void *owner, const struct error *e); /* a journal_fn */
struct journal_row;
void answer_row(void *owner, const struct journal_row *row); /* a journal_row_fn */
/* Runs the loop until it is here. Returns its class and empties it for the next use, rows kept. */
uint32_t answer_wait(struct answer *a);

#endif
