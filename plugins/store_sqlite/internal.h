/*
 * What the files of store_sqlite share.
 *
 * Threads: the loop (store_sqlite.c) copies each call into a job and queues it. One writer thread
 * executes batches, leases and blob rows in groups; reader threads execute queries; the keeper
 * thread does what takes long: checkpoints, backups, the check after an unclean end. Every thread
 * has a connection of its own. Finished jobs go back to the loop by local->post and end there as
 * dones. The plugin has no globals.
 */
#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#define FAULT_SCOPE "store"

#include <chela/chela.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "support/fault.h"

/* ---- errors inside the plugin: a class and a sentence ---- */
struct failure {
    uint32_t class;
    bool retry;
    char text[480];
};
/* Fills it, returns -1. */
int fail(struct failure *f, uint32_t class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool is_full(sqlite3 *db, int rc); /* disk, quota or limit */
/* From SQLite's result code and the connection's message; `what`: the statement or the step. */
int fail_sqlite(struct failure *f, sqlite3 *db, int rc, const char *what);

/* ---- catalog.c: the host's statements and migrations ---- */
enum { STATEMENT_WRITES = 1, STATEMENT_ONE = 2, STATEMENT_CROSS = 4 };
enum { MAX_PARAMETERS = 32 };

struct statement {
    unsigned flags;
    char *name, *parameters, *results, *sql;
};

struct catalog {
    struct statement *statements;
    unsigned count;
    char **migrations;
    unsigned migration_count;
};

int catalog_copy(struct catalog *c, const struct chela_store_open *args, struct failure *f);
void catalog_free(struct catalog *c);

/* ---- values.c: copies of values, parameters in, rows out ---- */
bool text_valid(struct chela_str s); /* UTF-8 without NUL */
int bind_values(sqlite3_stmt *s, const unsigned char *index, const struct statement *st,
                const struct chela_value *values, size_t count, struct failure *f);

/* A portion of rows on its way to the host. Offsets stand in the values until it is sealed. */
struct rows {
    struct chela_value *values;
    size_t count, size;
    char *bytes;
    size_t used, room;
    uint32_t columns;
    unsigned rows;
};
int rows_add(struct rows *r, sqlite3_stmt *s, const struct statement *st, struct failure *f);
void rows_seal(struct rows *r);
void rows_free(struct rows *r);

/* ---- connection.c ---- */
enum connection_kind { CONNECTION_WRITER, CONNECTION_READER, CONNECTION_KEEPER };

/* The driver's own statements, prepared at first use like the host's. */
enum own {
    OWN_BEGIN,
    OWN_COMMIT,
    OWN_ROLLBACK,
    OWN_SAVE,
    OWN_SAVE_BACK,
    OWN_RELEASE,
    OWN_FULL,
    OWN_NORMAL,
    OWN_BATCH_PUT,
    OWN_BATCH_SEEN,
    OWN_BATCH_TOUCH,
    OWN_BATCH_PURGE,
    OWN_LEASE_GET,
    OWN_LEASE_PUT,
    OWN_BLOB_PUT,
    OWN_BLOB_GET,
    OWN_COUNT
};

struct prepared {
    sqlite3_stmt *statement;
    unsigned char index[MAX_PARAMETERS]; /* of $1 ...; SQLite counts by first appearance */
};

struct connection {
    sqlite3 *db;
    const struct catalog *catalog;
    struct prepared *prepared; /* by statement number */
    sqlite3_stmt *own[OWN_COUNT];
    bool full; /* synchronous = FULL */
};

int connection_open(struct connection *c, enum connection_kind kind, const char *path,
                    const struct catalog *catalog, struct failure *f);
void connection_close(struct connection *c); /* an unopened one is fine */
struct prepared *connection_prepare(struct connection *c, uint32_t number, struct failure *f);
/* NULL with a failure only if the database is broken. */
sqlite3_stmt *connection_own(struct connection *c, enum own o, struct failure *f);
/* Runs one without parameters and rows; SQLite's result code. */
int connection_run(struct connection *c, enum own o);
int connection_script(struct connection *c, const char *sql, struct failure *f);
int64_t connection_number(struct connection *c, const char *sql, int64_t fallback);

/* ---- search.c: full text ---- */
/* The tokenizer "chela": words as FTS5's unicode61 has them, each CJK character by itself. */
int search_register(sqlite3 *db, struct failure *f);
/* Words as a person typed them as an FTS5 query, malloced; NULL: there is no word in it. */
char *search_query(struct chela_str words, bool any);

/* ---- files.c ---- */
int files_prepare(const char *path, bool any_file_system, char *warning, size_t size,
                  struct failure *f);
int files_lock(const char *path, int *ret_fd, struct failure *f);
void files_unlock(int fd);
int files_make_dir(const char *path, struct failure *f);
int files_sync_dir_of(const char *path, struct failure *f);
/* 1: the last user of the database didn't close it. */
bool files_unclean(const char *path);
void files_sha256(const void *p, size_t n, char hex[65]);

/* ---- migrate.c ---- */
int migrate(struct connection *c, const char *path, const struct catalog *catalog, char *note,
            size_t size, struct failure *f);
/* Copies the database as it is now into a new file. `stop` may be NULL. */
int copy_database(sqlite3 *from, const char *target, const atomic_bool *stop, struct failure *f);

/* ---- job.c: a call on its way through a thread and back ---- */
enum job_kind { JOB_OPEN, JOB_BATCH, JOB_LEASE, JOB_BLOB_PUT, JOB_QUERY, JOB_BLOB_GET, JOB_BACKUP };

struct job {
    struct job *next;
    struct store *store;
    enum job_kind kind;
    uint64_t call;
    /* arguments, copied; what they point to is behind the struct */
    uint64_t id, after, fence, token, ttl_ms;
    uint32_t durability, flags, statement, limit;
    struct chela_str key, text, data; /* partition; owner, hash or target; bytes */
    struct chela_value *values;
    size_t count, bytes; /* bytes: of the whole job */
    /* readers */
    uint64_t deadline; /* ticks */
    atomic_bool cancelled;
    /* result */
    struct failure failure; /* class CHELA_OK: it went well */
    char *result;
    size_t result_length;
    uint32_t columns;
};

struct job *job_new(struct store *st, enum job_kind kind, uint64_t call, struct chela_str key,
                    struct chela_str text, struct chela_str data, struct chela_values values);
void job_free(struct job *j);
void job_result(struct job *j, const char *text);
/* Ends a chain of jobs on the loop. [any thread] */
void job_finish(struct store *st, struct job *first);

struct job_queue {
    struct job *first, **last;
};
void job_queue_open(struct job_queue *q);
void job_queue_put(struct job_queue *q, struct job *j);
struct job *job_queue_take(struct job_queue *q); /* NULL if empty */

/* ---- writer.c ---- */
struct writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job_queue queue;
    bool started, stop;
    bool due;       /* the queue holds what must not wait any longer */
    uint64_t timer; /* of the loop: when what may wait has waited enough */
    /* of the thread alone */
    struct connection connection;
    bool broken; /* the connection has failed and must be opened anew */
    unsigned since_purge;
    int frames;                           /* in the log, after the last commit */
    uint64_t restart_after, restart_wait; /* ticks, ms */
};
void writer_put(struct store *st, struct job *j);
void writer_stop(struct store *st); /* what is queued is executed first */
/* Opens (or opens anew) the writer's connection. */
int writer_connect(struct store *st, struct failure *f);

/* ---- commit.c: what the writer does with a group of jobs ---- */
enum { GROUP_JOBS = 256, GROUP_BYTES = 4 << 20 };
void commit_group(struct store *st, struct job **jobs, unsigned count);
/* One job inside a transaction: 0, or -1 with a failure (what it did is to be rolled back). */
int commit_job(struct store *st, struct job *j, struct failure *f);

/* ---- blob.c ---- */
enum { BLOB_INLINE = 64 << 10, BLOB_MAX = 64 << 20 };
int blob_check(struct job *j, struct failure *f); /* the form of its hash, and its size */
int blob_write_file(struct job *j, struct failure *f);
int blob_put_row(struct store *st, struct job *j, struct failure *f);
int blob_read(struct store *st, struct connection *c, struct job *j, struct failure *f);
/* The files of all blobs that the copy at `target` names, beside it. */
int blob_copy_files(struct store *st, const char *target, struct failure *f);

/* ---- reader.c ---- */
enum { READERS = 2 };
struct reader {
    pthread_t thread;
    bool started;
    struct store *store;
    struct job *job; /* at work on; guarded by readers.lock */
};
struct readers {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a job, or room for rows */
    struct job_queue queue;
    struct reader reader[READERS];
    unsigned idle, portions; /* threads that wait; portions of rows on their way */
    bool stop;
};
void reader_put(struct store *st, struct job *j);
void reader_cancel(struct store *st, uint64_t call);
void reader_stop(struct store *st);

/* ---- keeper.c ---- */
struct keeper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job_queue queue; /* backups */
    bool started, checkpoint, check;
    atomic_bool stop;
    atomic_bool want_restart; /* set by the keeper, obeyed by the writer between two groups */
    struct connection connection;
};
void keeper_put(struct store *st, struct job *j);
void keeper_checkpoint(struct store *st); /* [any thread] */
void keeper_check(struct store *st);      /* quick_check, after an unclean end */
void keeper_stop(struct store *st);

/* Starts a thread that gets no signals. */
void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg);

/* ---- the instance ---- */
struct store {
    struct chela_inst *in;
    const struct chela_local *local;
    char *path;
    int lock_fd;
    bool any_file_system;
    bool opening, opened; /* of the loop alone */
    uint64_t read_timeout_ms;
    struct catalog catalog;
    struct writer writer;
    struct readers readers;
    struct keeper keeper;
    uint64_t stop_call;
};

void store_log(struct store *st, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory that is always there: without it the process ends. */
void *need(void *p);
char *copy_text(const char *s);
char *join_text(const char *a, const char *b);

#endif
