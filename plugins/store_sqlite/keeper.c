/*
 * The keeper: a thread with a connection of its own for what takes long beside the writer:
 * checkpoints, backups, the check of a database that was not closed. Started when there is
 * something to do for the first time.
 */
#include <stdlib.h>

#include "internal.h"

enum { RESTART_FRAMES = 2000 };

static void checkpoint(struct store *st)
{
    struct keeper *k = &st->keeper;
    int frames = 0, done = 0;
    int rc = sqlite3_wal_checkpoint_v2(k->connection.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames,
                                       &done);
    if (rc == SQLITE_OK && frames > RESTART_FRAMES)
        atomic_store(&k->want_restart, true);
    if (rc != SQLITE_OK && rc != SQLITE_BUSY) {
        struct failure f;
        fail_sqlite(&f, k->connection.db, rc, "checkpoint");
        store_log(st, CHELA_ERR, "%s", f.text);
    }
    st->local->metric(st->in, CHELA_GAUGE, "store_log_frames", "", (double)frames);
}

static void check(struct store *st)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(st->keeper.connection.db, "PRAGMA quick_check(1)", -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0)
                                        : sqlite3_errmsg(st->keeper.connection.db);
    bool sound = rc == SQLITE_ROW && text && strcmp(text, "ok") == 0;
    bool stopped = rc == SQLITE_INTERRUPT;
    if (sound)
        store_log(st, CHELA_INFO, "the database was not closed the last time; it is sound");
    else if (!stopped)
        store_log(st, CHELA_ERR,
                  "the database %s is damaged: %s. Stop the gateway, keep a copy of the files, and "
                  "restore a backup, or try `sqlite3 %s .recover`.",
                  st->path, text ? text : "", st->path);
    st->local->metric(st->in, CHELA_GAUGE, "store_damaged", "", sound || stopped ? 0 : 1);
    sqlite3_finalize(s);
}

static void backup(struct store *st, struct job *j)
{
    struct keeper *k = &st->keeper;
    const char *target = j->text.s;
    if (*target != '/') {
        fail(&j->failure, CHELA_E_ARGS, "a backup needs an absolute path");
        return;
    }
    /* one snapshot, or each of the writer's commits would make the copy begin anew */
    if (connection_script(&k->connection, "BEGIN; SELECT count(*) FROM sqlite_schema",
                          &j->failure) < 0)
        return;
    int r = copy_database(k->connection.db, target, &k->stop, &j->failure);
    sqlite3_exec(k->connection.db, "ROLLBACK", NULL, NULL, NULL);
    if (r == 0)
        r = blob_copy_files(st, target, &j->failure);
    if (r == 0)
        job_result(j, target);
}

static int stop_asked(void *arg)
{
    struct keeper *k = arg;
    return atomic_load(&k->stop);
}

static bool connect(struct store *st, struct failure *f)
{
    struct keeper *k = &st->keeper;
    if (k->connection.db)
        return true;
    if (connection_open(&k->connection, CONNECTION_KEEPER, st->path, &st->catalog, f) < 0)
        return false;
    sqlite3_progress_handler(k->connection.db, 10000, stop_asked, k);
    return true;
}

static void work(struct store *st, bool want_check, bool want_checkpoint, struct job *j)
{
    struct failure f = {0};
    if (!connect(st, &f)) {
        store_log(st, CHELA_ERR, "%s", f.text);
        if (j)
            j->failure = f;
    } else {
        if (want_check)
            check(st);
        if (want_checkpoint)
            checkpoint(st);
        if (j)
            backup(st, j);
    }
    job_finish(st, j);
}

static void *run(void *arg)
{
    struct store *st = arg;
    struct keeper *k = &st->keeper;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        while (!k->queue.first && !k->checkpoint && !k->check && !atomic_load(&k->stop))
            pthread_cond_wait(&k->wake, &k->lock);
        struct job *j = job_queue_take(&k->queue);
        if (atomic_load(&k->stop) && !j)
            break;
        bool want_check = k->check, want_checkpoint = k->checkpoint;
        k->check = k->checkpoint = false;
        pthread_mutex_unlock(&k->lock);
        work(st, want_check, want_checkpoint, j);
        pthread_mutex_lock(&k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    connection_close(&k->connection);
    return NULL;
}

/* With the lock held. */
static void wake(struct store *st)
{
    struct keeper *k = &st->keeper;
    if (!k->started) {
        k->started = true;
        start_thread(&k->thread, run, st);
    }
    pthread_cond_signal(&k->wake);
}

void keeper_put(struct store *st, struct job *j)
{
    pthread_mutex_lock(&st->keeper.lock);
    job_queue_put(&st->keeper.queue, j);
    wake(st);
    pthread_mutex_unlock(&st->keeper.lock);
}

void keeper_checkpoint(struct store *st)
{
    pthread_mutex_lock(&st->keeper.lock);
    st->keeper.checkpoint = true;
    wake(st);
    pthread_mutex_unlock(&st->keeper.lock);
}

void keeper_check(struct store *st)
{
    pthread_mutex_lock(&st->keeper.lock);
    st->keeper.check = true;
    wake(st);
    pthread_mutex_unlock(&st->keeper.lock);
}

void keeper_stop(struct store *st)
{
    struct keeper *k = &st->keeper;
    pthread_mutex_lock(&k->lock);
    bool started = k->started;
    atomic_store(&k->stop, true);
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    if (started)
        pthread_join(k->thread, NULL);
    k->started = false;
    atomic_store(&k->stop, false);
}
