/*
 * store_sqlite: the default store, SQLite in one file. This file is the plugin as the host sees it:
 * options, start and stop, and the slots, each of which copies its arguments into a job for one of
 * the threads. It knows no SQL.
 */
#include <signal.h>
#include <stdlib.h>

#include "internal.h"

static const struct chela_option options[] = {
    {"path", CHELA_STRING, 0, "chela.db",
     "the database's file; a relative path is below the state folder", NULL},
    {"read_timeout", CHELA_DURATION, CHELA_RELOAD, "5s", "the longest that a query may take", NULL},
    {"network", CHELA_BOOL, 0, "false",
     "allow a file on a network file system; only safe if one machine uses it", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(thread, NULL, fn, arg) != 0)
        need(NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static char *path_of(struct chela_inst *in)
{
    const char *path = chela_option_text(in, "path").s;
    const char *folder = chela_option_text(in, "$state").s;
    if (path && *path == '/')
        return copy_text(path);
    if (!folder || *folder != '/' || !path || !*path)
        return NULL;
    char *begin = join_text(folder, "/"), *all = join_text(begin, path);
    free(begin);
    return all;
}

static int32_t open_instance(struct chela_inst *in)
{
    char *path = path_of(in);
    if (!path) {
        chela_log(in, CHELA_ERR,
                  "path: not absolute, and the host has no state folder that it could be below");
        return CHELA_E_ARGS;
    }
    struct store *st = need(calloc(1, sizeof *st));
    st->in = in;
    st->local = in->host->local;
    st->path = path;
    st->lock_fd = -1;
    st->any_file_system = chela_option_number(in, "network") != 0;
    st->read_timeout_ms = (uint64_t)chela_option_number(in, "read_timeout");
    pthread_mutex_init(&st->writer.lock, NULL);
    pthread_cond_init(&st->writer.wake, NULL);
    pthread_mutex_init(&st->readers.lock, NULL);
    pthread_cond_init(&st->readers.wake, NULL);
    pthread_mutex_init(&st->keeper.lock, NULL);
    pthread_cond_init(&st->keeper.wake, NULL);
    job_queue_open(&st->writer.queue);
    job_queue_open(&st->readers.queue);
    job_queue_open(&st->keeper.queue);
    in->self = st;
    return CHELA_OK;
}

/* Readers and keeper first, so that the writer's is the last connection: its close empties the log
 * into the database and removes it, the mark of a clean end. */
static void end_threads(struct store *st)
{
    reader_stop(st);
    keeper_stop(st);
    writer_stop(st);
    files_unlock(st->lock_fd);
    st->lock_fd = -1;
    st->opened = st->opening = false;
}

static void close_instance(struct chela_inst *in)
{
    struct store *st = in->self;
    end_threads(st);
    pthread_cond_destroy(&st->writer.wake);
    pthread_mutex_destroy(&st->writer.lock);
    pthread_cond_destroy(&st->readers.wake);
    pthread_mutex_destroy(&st->readers.lock);
    pthread_cond_destroy(&st->keeper.wake);
    pthread_mutex_destroy(&st->keeper.lock);
    catalog_free(&st->catalog);
    free(st->path);
    free(st);
    in->self = NULL;
}

/* Behind everything that the threads have posted. */
static void stopped(struct chela_inst *in, void *arg)
{
    (void)arg;
    struct store *st = in->self;
    chela_end(in, st->stop_call, CHELA_OK, "");
}

static void stop_instance(struct chela_inst *in, const struct chela_arg *a)
{
    struct store *st = in->self;
    st->stop_call = a->h.call;
    end_threads(st);
    in->host->local->post(in, stopped, NULL);
}

static void check_options(struct chela_inst *in, const struct chela_arg *a)
{
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void apply_options(struct chela_inst *in, const struct chela_arg *a)
{
    struct store *st = in->self;
    st->read_timeout_ms = (uint64_t)chela_option_number(in, "read_timeout");
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    reader_cancel(in->self, a->h.call);
}

static const struct chela_str none;

static void end_failed(struct chela_inst *in, uint64_t call, const struct failure *f)
{
    chela_end(in, call, f->class, f->text);
}

static bool ready(struct chela_inst *in, uint64_t call)
{
    struct store *st = in->self;
    if (!st->opened)
        chela_end(in, call, CHELA_E_ARGS, "the database has not been opened");
    return st->opened;
}

static void open_db(struct chela_inst *in, const struct chela_store_open *a)
{
    struct store *st = in->self;
    struct failure f = {0};
    if (st->opened || st->opening) {
        chela_end(in, a->h.call, CHELA_E_ARGS, "the database is open");
        return;
    }
    catalog_free(&st->catalog); /* of a try that failed */
    if (catalog_copy(&st->catalog, a, &f) < 0) {
        catalog_free(&st->catalog);
        end_failed(in, a->h.call, &f);
        return;
    }
    st->opening = true;
    struct chela_values no_values = {NULL, 0};
    writer_put(st, job_new(st, JOB_OPEN, a->h.call, none, none, none, no_values));
}

static void commit(struct chela_inst *in, const struct chela_batch *a)
{
    struct store *st = in->self;
    if (!ready(in, a->h.call))
        return;
    struct job *j = job_new(st, JOB_BATCH, a->h.call, a->partition, none, none, a->ops);
    j->id = a->id;
    j->after = a->after;
    j->fence = a->fence;
    j->durability = a->durability;
    j->flags = a->h.flags;
    writer_put(st, j);
}

static void query(struct chela_inst *in, const struct chela_query *a)
{
    struct store *st = in->self;
    if (!ready(in, a->h.call))
        return;
    struct job *j = job_new(st, JOB_QUERY, a->h.call, none, none, none, a->parameters);
    j->statement = a->statement;
    j->limit = a->limit;
    reader_put(st, j);
}

static void file_job(struct chela_inst *in, void *arg)
{
    struct job *j = arg;
    (void)in;
    blob_write_file(j, &j->failure);
}

static void file_done(struct chela_inst *in, void *arg)
{
    struct job *j = arg;
    (void)in;
    if (j->failure.class)
        job_finish(j->store, j);
    else
        writer_put(j->store, j);
}

static void blob(struct chela_inst *in, const struct chela_blob *a, enum job_kind kind)
{
    struct store *st = in->self;
    if (!ready(in, a->h.call))
        return;
    struct chela_values no_values = {NULL, 0};
    struct job *j = job_new(st, kind, a->h.call, none, a->hash, a->data, no_values);
    struct failure f = {0};
    if (blob_check(j, &f) < 0) {
        job_free(j);
        end_failed(in, a->h.call, &f);
    } else if (kind == JOB_BLOB_GET) {
        reader_put(st, j);
    } else if (j->data.n > BLOB_INLINE) {
        st->local->work(in, file_job, file_done, j);
    } else {
        writer_put(st, j);
    }
}

static void blob_put(struct chela_inst *in, const struct chela_blob *a)
{
    blob(in, a, JOB_BLOB_PUT);
}

static void blob_get(struct chela_inst *in, const struct chela_blob *a)
{
    blob(in, a, JOB_BLOB_GET);
}

static void lease(struct chela_inst *in, const struct chela_lease *a)
{
    struct store *st = in->self;
    if (!ready(in, a->h.call))
        return;
    if (!text_valid(a->partition) || !text_valid(a->owner) || a->token > INT64_MAX) {
        chela_end(in, a->h.call, CHELA_E_ARGS, "a lease needs a partition and an owner");
        return;
    }
    struct chela_values no_values = {NULL, 0};
    struct job *j = job_new(st, JOB_LEASE, a->h.call, a->partition, a->owner, none, no_values);
    j->token = a->token;
    j->ttl_ms = a->ttl_ms;
    writer_put(st, j);
}

static void backup(struct chela_inst *in, const struct chela_backup *a)
{
    struct store *st = in->self;
    if (!ready(in, a->h.call))
        return;
    struct chela_values no_values = {NULL, 0};
    keeper_put(st, job_new(st, JOB_BACKUP, a->h.call, none, a->target, none, no_values));
}

static const struct chela_store store_role = {
    .size = (uint32_t)sizeof(struct chela_store),
    .open_db = open_db,
    .commit = commit,
    .query = query,
    .blob_put = blob_put,
    .blob_get = blob_get,
    .lease = lease,
    .backup = backup,
};

static const struct chela_iface iface = {
    CHELA_IFACE("sqlite", "keeps everything in one SQLite file", CHELA_CAP_DEFAULT, options),
    .open = open_instance,
    .close = close_instance,
    .stop = stop_instance,
    .check = check_options,
    .apply = apply_options,
    .cancel = cancel,
    .store = &store_role,
};

CHELA_PLUGIN(store_sqlite, "0.9", "the default store: SQLite", "MIT", "", &iface);
