/*
 * Readers: threads that execute queries, each with a connection of its own, so that nothing is ever
 * read on the writer's thread. Started when they are needed. A query has a deadline, since a held
 * snapshot lets the log grow; rows go to the loop in portions, and no more of them are on their way
 * than it can take.
 */
#include <stdlib.h>

#include "internal.h"

enum { PORTION_ROWS = 256, PORTION_BYTES = 256 << 10, PORTIONS = 4, CHECK_STEPS = 2000 };

struct portion {
    struct store *store;
    uint64_t call;
    struct rows rows;
};

static void deliver(struct chela_inst *in, void *arg)
{
    struct portion *p = arg;
    struct readers *r = &p->store->readers;
    CHELA_ARGS(chela_rows, a, p->call);
    a.columns = p->rows.columns;
    a.values.v = p->rows.values;
    a.values.n = p->rows.count;
    in->host->answer->rows(in, &a);
    pthread_mutex_lock(&r->lock);
    r->portions--;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
    rows_free(&p->rows);
    free(p);
}

static bool ended(struct job *j)
{
    return atomic_load(&j->cancelled) || j->store->local->ticks_ms(j->store->in) >= j->deadline;
}

static int interrupted(void *arg)
{
    return ended(arg);
}

static int send_rows(struct store *st, struct job *j, struct rows *rows)
{
    struct readers *r = &st->readers;
    struct portion *p = need(calloc(1, sizeof *p));
    p->store = st;
    p->call = j->call;
    rows_seal(rows);
    p->rows = *rows;
    memset(rows, 0, sizeof *rows);
    pthread_mutex_lock(&r->lock);
    while (r->portions >= PORTIONS && !atomic_load(&j->cancelled))
        pthread_cond_wait(&r->wake, &r->lock);
    bool go = !atomic_load(&j->cancelled);
    r->portions += go;
    pthread_mutex_unlock(&r->lock);
    if (go) {
        st->local->post(st->in, deliver, p);
        return 0;
    }
    rows_free(&p->rows);
    free(p);
    return -1;
}

static int fail_ended(struct job *j, struct failure *f)
{
    if (atomic_load(&j->cancelled))
        return fail(f, CHELA_E_CANCELLED, "the query was cancelled");
    return fail(f, CHELA_E_TIMEOUT, "the query took longer than %llu ms",
                (unsigned long long)j->store->read_timeout_ms);
}

static int step_all(struct store *st, struct job *j, sqlite3_stmt *s, const struct statement *what,
                    struct failure *f)
{
    struct rows rows = {0};
    uint64_t total = 0;
    int rc, r = 0;
    while (r == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        r = rows_add(&rows, s, what, f);
        total++;
        if (r == 0 && (rows.rows >= PORTION_ROWS || rows.used >= PORTION_BYTES))
            if (send_rows(st, j, &rows) < 0 || ended(j))
                r = fail_ended(j, f);
        if (j->limit && total >= j->limit) {
            rc = SQLITE_DONE;
            break;
        }
    }
    if (r == 0 && rc == SQLITE_INTERRUPT)
        r = fail_ended(j, f);
    else if (r == 0 && rc != SQLITE_DONE)
        r = fail_sqlite(f, sqlite3_db_handle(s), rc, what->name);
    if (r == 0 && rows.rows > 0 && send_rows(st, j, &rows) < 0)
        r = fail_ended(j, f);
    rows_free(&rows);
    return r;
}

static int query(struct store *st, struct connection *c, struct job *j, struct failure *f)
{
    struct prepared *p = connection_prepare(c, j->statement, f);
    if (!p)
        return -1;
    const struct statement *what = &c->catalog->statements[j->statement];
    if (what->flags & STATEMENT_WRITES)
        return fail(f, CHELA_E_ARGS, "statement %s writes: it belongs into a batch", what->name);
    int r = bind_values(p->statement, p->index, what, j->values, j->count, f);
    if (r == 0)
        r = step_all(st, j, p->statement, what, f);
    j->columns = (uint32_t)strlen(what->results);
    sqlite3_reset(p->statement);
    sqlite3_clear_bindings(p->statement);
    return r;
}

static void execute(struct store *st, struct connection *c, struct job *j)
{
    struct failure *f = &j->failure;
    if (ended(j)) {
        fail_ended(j, f);
        return;
    }
    if (!c->db && connection_open(c, CONNECTION_READER, st->path, &st->catalog, f) < 0)
        return;
    sqlite3_progress_handler(c->db, CHECK_STEPS, interrupted, j);
    int r = j->kind == JOB_QUERY ? query(st, c, j, f) : blob_read(st, c, j, f);
    sqlite3_progress_handler(c->db, 0, NULL, NULL);
    if (r < 0 && f->class == CHELA_E_OTHER)
        connection_close(c); /* I/O error, damage: the next one begins afresh */
}

static void *run(void *arg)
{
    struct reader *me = arg;
    struct store *st = me->store;
    struct readers *r = &st->readers;
    struct connection c = {0};
    pthread_mutex_lock(&r->lock);
    for (;;) {
        r->idle++;
        while (!r->queue.first && !r->stop)
            pthread_cond_wait(&r->wake, &r->lock);
        r->idle--;
        struct job *j = job_queue_take(&r->queue);
        if (!j)
            break;
        me->job = j;
        pthread_mutex_unlock(&r->lock);
        execute(st, &c, j);
        pthread_mutex_lock(&r->lock);
        me->job = NULL;
        pthread_mutex_unlock(&r->lock);
        job_finish(st, j);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    connection_close(&c);
    return NULL;
}

void reader_put(struct store *st, struct job *j)
{
    struct readers *r = &st->readers;
    j->deadline = st->local->ticks_ms(st->in) + st->read_timeout_ms;
    pthread_mutex_lock(&r->lock);
    job_queue_put(&r->queue, j);
    for (unsigned i = 0; r->idle == 0 && i < READERS; i++) {
        if (r->reader[i].started)
            continue;
        r->reader[i].started = true;
        r->reader[i].store = st;
        start_thread(&r->reader[i].thread, run, &r->reader[i]);
        break;
    }
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

/* Waiting or under way: it ends soon, and says CANCELLED unless it came to its end. */
void reader_cancel(struct store *st, uint64_t call)
{
    struct readers *r = &st->readers;
    pthread_mutex_lock(&r->lock);
    for (struct job *j = r->queue.first; j; j = j->next)
        if (j->call == call)
            atomic_store(&j->cancelled, true);
    for (unsigned i = 0; i < READERS; i++)
        if (r->reader[i].job && r->reader[i].job->call == call)
            atomic_store(&r->reader[i].job->cancelled, true);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void reader_stop(struct store *st)
{
    struct readers *r = &st->readers;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    for (struct job *j = r->queue.first; j; j = j->next)
        atomic_store(&j->cancelled, true);
    for (unsigned i = 0; i < READERS; i++)
        if (r->reader[i].job)
            atomic_store(&r->reader[i].job->cancelled, true);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
    for (unsigned i = 0; i < READERS; i++)
        if (r->reader[i].started)
            pthread_join(r->reader[i].thread, NULL);
    memset(r->reader, 0, sizeof r->reader);
    r->stop = false;
}
