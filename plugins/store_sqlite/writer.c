/*
 * The writer: one thread with one connection, which takes what has come in since its last commit as
 * a group, and which opens the database first. Between two groups it makes room in the log, when
 * the keeper asks for that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

enum { PASSIVE_FRAMES = 1000, RESTART_WAIT_MAX = 5000, PATIENCE_MS = 20 };

static int after_commit(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct store *st = arg;
    (void)db;
    (void)name;
    if (frames < st->writer.frames)
        st->writer.frames = 0;
    if (frames / PASSIVE_FRAMES > st->writer.frames / PASSIVE_FRAMES)
        keeper_checkpoint(st);
    st->writer.frames = frames;
    return SQLITE_OK;
}

int writer_connect(struct store *st, struct failure *f)
{
    struct writer *w = &st->writer;
    connection_close(&w->connection);
    if (connection_open(&w->connection, CONNECTION_WRITER, st->path, &st->catalog, f) < 0)
        return -1;
    sqlite3_wal_hook(w->connection.db, after_commit, st);
    w->frames = 0;
    w->broken = false;
    return 0;
}

static int open_database(struct store *st, struct failure *f)
{
    char note[700] = "";
    if (files_prepare(st->path, st->any_file_system, note, sizeof note, f) < 0)
        return -1;
    if (*note)
        store_log(st, CHELA_WARN, "%s", note);
    if (st->lock_fd < 0 && files_lock(st->path, &st->lock_fd, f) < 0)
        return -1;
    bool unclean = files_unclean(st->path);
    *note = '\0';
    if (writer_connect(st, f) < 0)
        return -1;
    int r = migrate(&st->writer.connection, st->path, &st->catalog, note, sizeof note, f);
    if (*note)
        store_log(st, CHELA_INFO, "%s", note);
    if (r < 0) {
        connection_close(&st->writer.connection);
        return -1;
    }
    if (unclean)
        keeper_check(st);
    return 0;
}

static void run_open(struct store *st, struct job *j)
{
    if (open_database(st, &j->failure) < 0) {
        files_unlock(st->lock_fd);
        st->lock_fd = -1;
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "SQLite %s", sqlite3_libversion());
    job_result(j, text);
}

/* The log starts over only when nobody reads in it and nobody writes: here, or never under load. */
static void make_room(struct store *st)
{
    struct writer *w = &st->writer;
    uint64_t now = st->local->ticks_ms(st->in);
    if (!atomic_load(&st->keeper.want_restart) || now < w->restart_after || !w->connection.db)
        return;
    sqlite3_busy_timeout(w->connection.db, 0);
    int frames = 0, rc = sqlite3_wal_checkpoint_v2(w->connection.db, NULL,
                                                   SQLITE_CHECKPOINT_RESTART, &frames, NULL);
    sqlite3_busy_timeout(w->connection.db, 1000);
    if (rc == SQLITE_OK) {
        atomic_store(&st->keeper.want_restart, false);
        w->restart_wait = 0;
        w->frames = 0;
    } else { /* a reader holds an old snapshot */
        w->restart_wait = w->restart_wait ? w->restart_wait * 2 : 100;
        if (w->restart_wait > RESTART_WAIT_MAX)
            w->restart_wait = RESTART_WAIT_MAX;
        w->restart_after = now + w->restart_wait;
    }
}

static unsigned take_group(struct writer *w, struct job **jobs)
{
    unsigned count = 0;
    size_t bytes = 0;
    while (count < GROUP_JOBS && bytes < GROUP_BYTES && w->queue.first &&
           (count == 0 || w->queue.first->kind != JOB_OPEN)) {
        jobs[count] = job_queue_take(&w->queue);
        bytes += jobs[count]->bytes;
        if (jobs[count++]->kind == JOB_OPEN)
            break;
    }
    return count;
}

static void *run(void *arg)
{
    struct store *st = arg;
    struct writer *w = &st->writer;
    struct job *jobs[GROUP_JOBS];
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->due && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        unsigned count = take_group(w, jobs);
        w->due = w->queue.first != NULL;
        if (count == 0)
            break;
        pthread_mutex_unlock(&w->lock);
        if (jobs[0]->kind == JOB_OPEN)
            run_open(st, jobs[0]);
        else
            commit_group(st, jobs, count);
        for (unsigned i = 0; i < count; i++)
            jobs[i]->next = i + 1 < count ? jobs[i + 1] : NULL;
        job_finish(st, jobs[0]);
        make_room(st);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void patience_ends(struct chela_inst *in, void *arg)
{
    struct store *st = arg;
    struct writer *w = &st->writer;
    (void)in;
    w->timer = 0;
    pthread_mutex_lock(&w->lock);
    if (w->queue.first) {
        w->due = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
}

void writer_put(struct store *st, struct job *j)
{
    struct writer *w = &st->writer;
    bool patient =
        j->kind == JOB_BATCH && j->durability == CHELA_LAZY && (j->flags & CHELA_MAY_WAIT);
    pthread_mutex_lock(&w->lock);
    if (!w->started) {
        w->started = true;
        w->stop = false;
        start_thread(&w->thread, run, st);
    }
    job_queue_put(&w->queue, j);
    if (!patient) {
        w->due = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    if (patient && !w->timer)
        w->timer = st->local->timer(st->in, PATIENCE_MS, patience_ends, st);
}

void writer_stop(struct store *st)
{
    struct writer *w = &st->writer;
    if (!w->started)
        return;
    st->local->timer_stop(st->in, w->timer);
    w->timer = 0;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->started = false;
    connection_close(&w->connection);
}
