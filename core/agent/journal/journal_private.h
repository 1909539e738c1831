/*
 * What the files of the journal share: batches under construction and their way into the store,
 * queries, the store instance. Seen by journal*.c and their tests alone.
 */
#ifndef AGENT_JOURNAL_PRIVATE_H
#define AGENT_JOURNAL_PRIVATE_H

#include "agent/journal/journal.h"
#include "agent/journal/sql/statements.h"
#include "base/buf.h"
#include "base/list.h"

/* ---- statements with their parameters, as a batch or a query carries them ---- */
struct journal_ops {
    struct chela_value *values; /* text and bytes: offset in `i` until they are sealed */
    size_t count, size;
    struct buf bytes;
};

void ops_statement(struct journal_ops *o, enum sql s); /* in a batch, before its parameters */
void ops_text(struct journal_ops *o, const char *s);   /* NULL is a NULL */
void ops_bytes(struct journal_ops *o, struct chela_str s);
void ops_int(struct journal_ops *o, uint64_t i); /* above INT64_MAX: that */
void ops_real(struct journal_ops *o, double d);
void ops_append(struct journal_ops *o, struct journal_ops *more); /* and empties `more` */
void ops_seal(struct journal_ops *o);
void ops_free(struct journal_ops *o);

/* ---- a commit ---- */
struct journal_run {
    char *session, *run;
    unsigned holds;         /* its owner, and batches under way */
    uint64_t last;          /* id of the last batch of the chain */
    struct error failed;    /* why the chain has ended; class CHELA_OK: it goes on */
    struct journal_ops ops; /* joins the next commit */
    struct buf states;      /* "NAME@ms " each, likewise */
    char *state;            /* the newest */
    bool started;           /* in this process */
    bool calls, asked;      /* it has had tool calls, approvals */
};

struct journal_batch {
    struct link link; /* all that are under way, in order */
    uint64_t id, after;
    bool barrier;
    bool patient; /* nobody goes on with its end, so it may share the commit of what follows */
    bool waiting; /* skipped, since its predecessor is still being tried */
    char *partition;
    struct journal_run *run; /* NULL: no chain */
    struct journal_ops ops;
    journal_fn *fn;
    void *owner;
    uint64_t call, timer;
    unsigned tries;
};

struct journal_batch *batch_new(const char *partition, bool barrier);
/* The next of the run's chain. */
struct journal_batch *batch_of_run(struct journal_run *r, bool barrier);
void batch_send(struct journal_batch *b, journal_fn *fn, void *owner);
void batch_drop(struct journal_batch *b); /* one that wasn't sent */
/* A commit that nobody waits for: a failure goes to the log, with `what`. `what` must live on. */
void batch_send_alone(struct journal_batch *b, const char *what);
void run_release(struct journal_run *r);
/* Moves what waited to join the run's next commit into it. ended: ms, 0 while it runs. */
void run_join(struct journal_run *r, struct journal_ops *o, uint64_t ended);
/* Makes the session if it is new; it comes first in lists from now on. */
void session_touch(struct journal_ops *o, const char *session, const char *agent, uint64_t at);
/* journal_session_patch's; a new session is as old as `at`. */
void session_fields(struct journal_ops *o, const char *session, struct json_object *fields,
                    uint64_t at);

/* ---- a query ---- */
struct journal_query;
struct journal_query *query_new(enum sql s);
struct journal_ops *query_ops(struct journal_query *q); /* for its parameters */
void query_send(struct journal_query *q, journal_row_fn *row, journal_fn *fn, void *owner);

/* ---- the store ---- */
struct instance *journal_store(void); /* NULL: not open */
/* Calls fn from the top of the loop with an error. */
void journal_fail(journal_fn *fn, void *owner, uint32_t class, const char *text);
/* What is under way is forgotten. */
void batches_close(void);
void queries_close(void);
extern struct journal_counts journal_counted;
extern bool journal_power;
uint64_t journal_new_id(void);

/* ---- journal_upkeep.c: the index behind the messages, old rows ---- */
void upkeep_start(void);
void upkeep_messages(void); /* messages were committed */
void upkeep_stop(void);
/* Brings the index up to date now; fn when nothing is left to do. */
void upkeep_index(journal_fn *fn, void *owner);
/* Removes what is older than its retention, as of `now`. */
void upkeep_purge(uint64_t now, journal_fn *fn, void *owner);
/* The words of a message's content, for the index. */
void upkeep_text(const char *body, struct buf *out);

enum {
    DEDUP_KEEP_MS = 1209600000, /* 14 days: longer than any service delivers an event again */
    INBOX_KEEP_DAYS = 30
};

#endif
