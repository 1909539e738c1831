/*
 * What the writer does with a group of jobs: one transaction for all, a savepoint for each, one
 * commit, synced if one of them is a barrier. Decides what became of a group whose commit failed.
 * Runs on the writer's thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

enum outcome {
    GROUP_DONE,   /* each job has its result */
    GROUP_BROKEN, /* SQLite took the whole transaction back; nothing is stored */
    GROUP_LOST    /* the commit failed in the middle of writing: anything may be stored */
};

enum { KEEP_IDS_MS = 7 * 24 * 3600 * 1000, PURGE_EVERY = 256 };

/* The batch's own row, which makes it commit once. 0: go on; 1: it has committed before. */
static int claim(struct store *st, struct job *j, struct failure *f)
{
    struct connection *c = &st->writer.connection;
    sqlite3_stmt *s = connection_own(c, OWN_BATCH_PUT, f);
    if (!s)
        return -1;
    bool voids = j->flags & CHELA_VOID;
    sqlite3_bind_int64(s, 1, (int64_t)j->id);
    sqlite3_bind_text64(s, 2, j->key.s, j->key.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(s, 3, voids);
    sqlite3_bind_int64(s, 4, (int64_t)st->local->now_ms(st->in));
    sqlite3_step(s);
    int rc = sqlite3_reset(s);
    if (rc == SQLITE_OK)
        return 0;
    if (rc != SQLITE_CONSTRAINT_PRIMARYKEY)
        return fail_sqlite(f, c->db, rc, "batch");
    if (!(s = connection_own(c, OWN_BATCH_SEEN, f)))
        return -1;
    sqlite3_bind_int64(s, 1, (int64_t)j->id);
    sqlite3_bind_text64(s, 2, j->key.s, j->key.n, SQLITE_STATIC, SQLITE_UTF8);
    bool dead = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) != 0;
    sqlite3_reset(s);
    if (dead && !voids)
        return fail(f, CHELA_E_CANCELLED, "this batch was given up");
    if (!dead && voids)
        return fail(f, CHELA_E_CONFLICT, "this batch has committed");
    /* A barrier must be on disk when it says so, whoever wrote it: make this commit write, too. */
    if (j->durability == CHELA_BARRIER && (s = connection_own(c, OWN_BATCH_TOUCH, f))) {
        sqlite3_bind_int64(s, 1, (int64_t)j->id);
        sqlite3_bind_text64(s, 2, j->key.s, j->key.n, SQLITE_STATIC, SQLITE_UTF8);
        sqlite3_step(s);
        if ((rc = sqlite3_reset(s)) != SQLITE_OK)
            return fail_sqlite(f, c->db, rc, "batch");
    }
    return 1;
}

static int check_after(struct store *st, struct job *j, struct failure *f)
{
    sqlite3_stmt *s = connection_own(&st->writer.connection, OWN_BATCH_SEEN, f);
    if (!s)
        return -1;
    sqlite3_bind_int64(s, 1, (int64_t)j->after);
    sqlite3_bind_text64(s, 2, j->key.s, j->key.n, SQLITE_STATIC, SQLITE_UTF8);
    bool there = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) == 0;
    int rc = sqlite3_reset(s);
    if (rc != SQLITE_OK)
        return fail_sqlite(f, st->writer.connection.db, rc, "batch");
    return there ? 0 : fail(f, CHELA_E_SKIPPED, "the batch before this one has not committed");
}

struct lease {
    uint64_t token, until;
    bool mine;
};

static int read_lease(struct store *st, struct chela_str key, struct chela_str owner,
                      struct lease *ret, struct failure *f)
{
    memset(ret, 0, sizeof *ret);
    sqlite3_stmt *s = connection_own(&st->writer.connection, OWN_LEASE_GET, f);
    if (!s)
        return -1;
    sqlite3_bind_text64(s, 1, key.s, key.n, SQLITE_STATIC, SQLITE_UTF8);
    if (sqlite3_step(s) == SQLITE_ROW) {
        const void *p = sqlite3_column_text(s, 0);
        size_t n = (size_t)sqlite3_column_bytes(s, 0);
        ret->mine = n == owner.n && (n == 0 || memcmp(p, owner.s, n) == 0);
        ret->token = (uint64_t)sqlite3_column_int64(s, 1);
        ret->until = (uint64_t)sqlite3_column_int64(s, 2);
    }
    int rc = sqlite3_reset(s);
    return rc == SQLITE_OK ? 0 : fail_sqlite(f, st->writer.connection.db, rc, "lease");
}

static int lease(struct store *st, struct job *j, struct failure *f)
{
    struct lease l;
    uint64_t now = st->local->now_ms(st->in);
    if (read_lease(st, j->key, j->text, &l, f) < 0)
        return -1;
    if (j->token == 0 && l.until > now && !l.mine)
        return fail(f, CHELA_E_BUSY, "another owner's lease still runs");
    if (j->token != 0 && (j->token != l.token || !l.mine))
        return fail(f, CHELA_E_STALE, "this lease was taken over");
    uint64_t token = j->token ? j->token : l.token + 1;
    sqlite3_stmt *s = connection_own(&st->writer.connection, OWN_LEASE_PUT, f);
    if (!s)
        return -1;
    sqlite3_bind_text64(s, 1, j->key.s, j->key.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_text64(s, 2, j->text.s, j->text.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(s, 3, (int64_t)token);
    sqlite3_bind_int64(s, 4, j->ttl_ms ? (int64_t)(now + j->ttl_ms) : 0);
    sqlite3_step(s);
    int rc = sqlite3_reset(s);
    if (rc != SQLITE_OK)
        return fail_sqlite(f, st->writer.connection.db, rc, "lease");
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)token);
    free(j->result);
    job_result(j, text);
    return 0;
}

static int run_op(struct store *st, struct job *j, uint32_t number,
                  const struct chela_value *values, size_t count, struct failure *f)
{
    struct connection *c = &st->writer.connection;
    struct prepared *p = connection_prepare(c, number, f);
    if (!p)
        return -1;
    const struct statement *what = &c->catalog->statements[number];
    if (!(what->flags & STATEMENT_WRITES))
        return fail(f, CHELA_E_ARGS, "statement %s doesn't write", what->name);
    if (!(what->flags & STATEMENT_CROSS) &&
        (count == 0 || values[0].type != CHELA_V_TEXT || values[0].s.n != j->key.n ||
         memcmp(values[0].s.s, j->key.s, j->key.n) != 0))
        return fail(f, CHELA_E_ARGS, "statement %s: its first parameter is not the partition",
                    what->name);
    int r = bind_values(p->statement, p->index, what, values, count, f);
    if (r == 0) {
        int rc;
        while ((rc = sqlite3_step(p->statement)) == SQLITE_ROW)
            continue; /* RETURNING: nobody asked */
        int changes = sqlite3_changes(c->db);
        if (rc != SQLITE_DONE)
            r = fail_sqlite(f, c->db, rc, what->name);
        else if (what->flags & STATEMENT_ONE && changes != 1)
            r = fail(f, CHELA_E_CONFLICT, "%s: %d rows fit, not one", what->name, changes);
    }
    sqlite3_reset(p->statement);
    sqlite3_clear_bindings(p->statement);
    return r;
}

static int batch(struct store *st, struct job *j, struct failure *f)
{
    if (j->id == 0 || j->id > INT64_MAX || !text_valid(j->key))
        return fail(f, CHELA_E_ARGS, "a batch needs an id and a partition");
    int seen = claim(st, j, f);
    if (seen != 0 || j->flags & CHELA_VOID)
        return seen < 0 ? -1 : 0;
    if (j->after && check_after(st, j, f) < 0)
        return -1;
    if (j->fence) {
        struct lease l;
        if (read_lease(st, j->key, chela_s(""), &l, f) < 0)
            return -1;
        if (l.token != j->fence)
            return fail(f, CHELA_E_STALE, "the lease %llu was taken over",
                        (unsigned long long)j->fence);
    }
    for (size_t i = 0; i < j->count;) {
        size_t end = i + 1;
        while (end < j->count && j->values[end].type != CHELA_V_OP)
            end++;
        if (j->values[i].type != CHELA_V_OP || j->values[i].i < 0 || j->values[i].i > UINT32_MAX)
            return fail(f, CHELA_E_ARGS, "a batch begins with a statement's number");
        if (run_op(st, j, (uint32_t)j->values[i].i, j->values + i + 1, end - i - 1, f) < 0)
            return -1;
        i = end;
    }
    return 0;
}

int commit_job(struct store *st, struct job *j, struct failure *f)
{
    switch (j->kind) {
    case JOB_BATCH: return batch(st, j, f);
    case JOB_LEASE: return lease(st, j, f);
    default: return blob_put_row(st, j, f);
    }
}

static void fail_good(struct job **jobs, unsigned count, const struct failure *f)
{
    for (unsigned i = 0; i < count; i++)
        if (jobs[i]->failure.class == CHELA_OK)
            jobs[i]->failure = *f;
}

/* Leases and blobs need no sync of their own: a lease's holder proves himself by the fence. */
static int set_durability(struct store *st, struct job **jobs, unsigned count)
{
    struct connection *c = &st->writer.connection;
    bool full = false;
    for (unsigned i = 0; i < count; i++)
        full |= jobs[i]->kind == JOB_BATCH && jobs[i]->durability == CHELA_BARRIER;
    if (full == c->full)
        return SQLITE_OK;
    int rc = connection_run(c, full ? OWN_FULL : OWN_NORMAL);
    if (rc == SQLITE_OK)
        c->full = full;
    return rc;
}

static void purge(struct store *st, unsigned count)
{
    struct failure f;
    if ((st->writer.since_purge += count) < PURGE_EVERY)
        return;
    st->writer.since_purge = 0;
    sqlite3_stmt *s = connection_own(&st->writer.connection, OWN_BATCH_PURGE, &f);
    if (!s)
        return;
    sqlite3_bind_int64(s, 1, (int64_t)(st->local->now_ms(st->in) - KEEP_IDS_MS));
    sqlite3_step(s);
    sqlite3_reset(s);
}

/* The jobs one after the other, inside the transaction. -1: SQLite took all of it back. */
static int run_jobs(struct store *st, struct job **jobs, unsigned count, unsigned *good)
{
    struct connection *c = &st->writer.connection;
    for (unsigned i = 0; i < count; i++) {
        memset(&jobs[i]->failure, 0, sizeof jobs[i]->failure);
        if (count > 1 && connection_run(c, OWN_SAVE) != SQLITE_OK)
            return -1;
        if (commit_job(st, jobs[i], &jobs[i]->failure) == 0) {
            *good += 1;
        } else {
            if (sqlite3_get_autocommit(c->db))
                return -1;
            if (count > 1 && connection_run(c, OWN_SAVE_BACK) != SQLITE_OK)
                return -1;
        }
        if (count > 1 && connection_run(c, OWN_RELEASE) != SQLITE_OK)
            return -1;
    }
    return 0;
}

static void roll_back(struct connection *c)
{
    if (!sqlite3_get_autocommit(c->db))
        connection_run(c, OWN_ROLLBACK);
}

static enum outcome try_group(struct store *st, struct job **jobs, unsigned count)
{
    struct connection *c = &st->writer.connection;
    struct failure f = {0};
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++)
        memset(&jobs[i]->failure, 0, sizeof jobs[i]->failure);
    int rc = set_durability(st, jobs, count);
    if (rc == SQLITE_OK)
        rc = connection_run(c, OWN_BEGIN);
    if (rc != SQLITE_OK) {
        fail_sqlite(&f, c->db, rc, "begin");
        fail_good(jobs, count, &f);
        st->writer.broken = (rc & 0xff) != SQLITE_BUSY;
        return GROUP_DONE;
    }
    if (run_jobs(st, jobs, count, &good) < 0) {
        fail_sqlite(&f, c->db, sqlite3_errcode(c->db), "batch");
        fail_good(jobs, count, &f);
        roll_back(c);
        return GROUP_BROKEN;
    }
    if (good == 0) {
        roll_back(c);
        return GROUP_DONE;
    }
    purge(st, good);
    fault_point("before commit");
    rc = connection_run(c, OWN_COMMIT);
    fault_point("after commit");
    if (rc == SQLITE_OK)
        return GROUP_DONE;
    bool full = is_full(c->db, rc);
    fail_sqlite(&f, c->db, rc, "commit");
    fail_good(jobs, count, &f);
    roll_back(c);
    return (rc & 0xff) == SQLITE_BUSY ? GROUP_DONE : full ? GROUP_BROKEN : GROUP_LOST;
}

/* After a commit of unknown outcome: a new connection, and all that the log holds brought into the
 * database and synced, since a failed sync can't be repeated on the log itself. */
static int recover(struct store *st, struct failure *f)
{
    struct connection *c = &st->writer.connection;
    st->writer.broken = true;
    if (writer_connect(st, f) < 0)
        return -1;
    int rc = connection_run(c, OWN_FULL);
    if (rc == SQLITE_OK)
        c->full = true;
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc == SQLITE_OK)
        return 0;
    fail_sqlite(f, c->db, rc, "checkpoint after a failed commit");
    st->writer.broken = true;
    return -1;
}

static void one_by_one(struct store *st, struct job **jobs, unsigned count, bool lost)
{
    for (unsigned i = 0; i < count; i++) {
        if (lost && jobs[i]->failure.class != CHELA_E_UNKNOWN)
            continue;
        if (try_group(st, &jobs[i], 1) != GROUP_LOST)
            continue;
        struct failure f = {0};
        jobs[i]->failure.class = CHELA_E_UNKNOWN;
        jobs[i]->failure.retry = true;
        if (recover(st, &f) < 0) {
            for (i++; i < count; i++)
                if (!lost)
                    jobs[i]->failure = f;
            return;
        }
    }
}

void commit_group(struct store *st, struct job **jobs, unsigned count)
{
    struct failure f = {0};
    if (st->writer.broken && recover(st, &f) < 0) {
        if (f.class != CHELA_E_FULL)
            f.class = CHELA_E_BUSY;
        f.retry = true;
        for (unsigned i = 0; i < count; i++)
            jobs[i]->failure = f;
        return;
    }
    enum outcome o = try_group(st, jobs, count);
    if (o == GROUP_DONE || (o == GROUP_BROKEN && count == 1))
        return;
    if (o == GROUP_BROKEN) {
        one_by_one(st, jobs, count, false);
        return;
    }
    store_log(st, CHELA_ERR, "a commit failed while it was written: %s", jobs[0]->failure.text);
    for (unsigned i = 0; i < count; i++)
        if (jobs[i]->failure.class == CHELA_E_OTHER) {
            jobs[i]->failure.class = CHELA_E_UNKNOWN;
            jobs[i]->failure.retry = true;
        }
    if (recover(st, &f) == 0)
        one_by_one(st, jobs, count, true);
}
