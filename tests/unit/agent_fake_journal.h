/* What the files of the agent's fakes need of the fake journal beside journal.h. */
#ifndef TESTS_AGENT_FAKE_JOURNAL_H
#define TESTS_AGENT_FAKE_JOURNAL_H

#include <stdbool.h>

#include "agent/journal/journal.h"
#include "base/list.h"

void fake_journal_open(void);
void fake_journal_close(void);
void fake_journal_freeze(bool on); /* commits say OK and store nothing */
bool fake_journal_deliver(void);   /* calls back once; false if nothing waits */

struct journal_run {
    char *session, *run;
    bool failed;
};
bool fake_frozen(void); /* commits say OK and store nothing */

/* An answer that waits to be given. */
struct fake_told {
    struct link link;
    journal_fn *fn;
    journal_blob_fn *blob_fn;
    void *owner;
    struct error error;
    char *data;
    size_t n;
    /* rows of a read */
    journal_row_fn *row;
    struct json_object *rows; /* array of arrays */
};

struct fake_told *fake_tell(journal_fn *fn, void *owner);
/* Notes a commit; true if it is to be applied. */
bool fake_commit(struct journal_run *r, const char *name, bool barrier, journal_fn *fn,
                 void *owner);

/* Rows are JSON objects in arrays; it is a test's journal. */
struct json_object *fake_table(const char *name);
struct json_object *fake_row(struct json_object *table, const char *key, const char *value);
const char *fake_field(struct json_object *o, const char *key); /* "" if absent */

#endif
