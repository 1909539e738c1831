/*
 * A connection to the database: how each kind of it is set up, its prepared statements, and what
 * SQLite's result codes mean for the host. A connection belongs to one thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

static const char *const own_sql[OWN_COUNT] = {
    [OWN_BEGIN] = "BEGIN IMMEDIATE",
    [OWN_COMMIT] = "COMMIT",
    [OWN_ROLLBACK] = "ROLLBACK",
    [OWN_SAVE] = "SAVEPOINT batch",
    [OWN_SAVE_BACK] = "ROLLBACK TO batch",
    [OWN_RELEASE] = "RELEASE batch",
    [OWN_FULL] = "PRAGMA synchronous=FULL",
    [OWN_NORMAL] = "PRAGMA synchronous=NORMAL",
    [OWN_BATCH_PUT] = "INSERT INTO chela_batch(id,pk,dead,at) VALUES(?1,?2,?3,?4)",
    [OWN_BATCH_SEEN] = "SELECT dead FROM chela_batch WHERE id=?1 AND pk=?2",
    [OWN_BATCH_TOUCH] = "UPDATE chela_batch SET at=at+1 WHERE id=?1 AND pk=?2",
    [OWN_BATCH_PURGE] = "DELETE FROM chela_batch WHERE id IN "
                        "(SELECT id FROM chela_batch ORDER BY id LIMIT 1000) AND at<?1",
    [OWN_LEASE_GET] = "SELECT owner,token,until FROM chela_lease WHERE pk=?1",
    [OWN_LEASE_PUT] = "INSERT INTO chela_lease(pk,owner,token,until) VALUES(?1,?2,?3,?4) "
                      "ON CONFLICT(pk) DO UPDATE SET owner=excluded.owner,token=excluded.token,"
                      "until=excluded.until",
    [OWN_BLOB_PUT] =
        "INSERT INTO chela_blob(hash,size,data) VALUES(?1,?2,?3) ON CONFLICT(hash) DO NOTHING",
    [OWN_BLOB_GET] = "SELECT size,data FROM chela_blob WHERE hash=?1",
};

int fail(struct failure *f, uint32_t class, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(f->text, sizeof f->text, format, ap);
    va_end(ap);
    f->class = class;
    f->retry = class == CHELA_E_BUSY || class == CHELA_E_FULL || class == CHELA_E_UNKNOWN;
    return -1;
}

static uint32_t class_of(int rc, int extended)
{
    switch (rc) {
    case SQLITE_CONSTRAINT:
        return extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_UNIQUE ||
                       extended == SQLITE_CONSTRAINT_ROWID ||
                       extended == SQLITE_CONSTRAINT_FOREIGNKEY
                   ? CHELA_E_CONFLICT
                   : CHELA_E_ARGS;
    case SQLITE_FULL: return CHELA_E_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return CHELA_E_BUSY;
    case SQLITE_INTERRUPT: return CHELA_E_TIMEOUT;
    case SQLITE_TOOBIG: return CHELA_E_TOO_LONG;
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: return CHELA_E_ARGS;
    default: return CHELA_E_OTHER;
    }
}

bool is_full(sqlite3 *db, int rc)
{
    if ((rc & 0xff) == SQLITE_FULL)
        return true;
    if (!db || (rc & 0xff) != SQLITE_IOERR)
        return false;
    /* a quota or a limit on files, which SQLite takes for an I/O error; of the log or the file */
    sqlite3_file *journal = NULL;
    int in_log = 0, in_file = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods)
        journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &in_log);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &in_file);
    return in_log == EFBIG || in_log == EDQUOT || in_file == EFBIG || in_file == EDQUOT;
}

int fail_sqlite(struct failure *f, sqlite3 *db, int rc, const char *what)
{
    int extended = db ? sqlite3_extended_errcode(db) : rc;
    if (is_full(db, rc))
        return fail(f, CHELA_E_FULL, "%s: no space is left for %s", what,
                    db ? sqlite3_db_filename(db, "main") : "the database");
    return fail(f, class_of(rc & 0xff, extended), "%s: %s", what,
                db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

int connection_script(struct connection *c, const char *sql, struct failure *f)
{
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fail_sqlite(f, c->db, rc, sql);
}

int64_t connection_number(struct connection *c, const char *sql, int64_t fallback)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(c->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        fallback = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return fallback;
}

/* Checkpoints are the keeper's and the writer's own business; a reader may not write at all.
 * trusted_schema stays on: this SQLite's FTS5 can't be used by a trigger without. */
static const char *set_up(enum connection_kind kind)
{
    switch (kind) {
    case CONNECTION_WRITER:
        return "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;"
               "PRAGMA journal_size_limit=16777216; PRAGMA cache_size=-1024;"
               "PRAGMA temp_store=MEMORY;"
               "PRAGMA secure_delete=FAST; PRAGMA foreign_keys=OFF; PRAGMA cell_size_check=ON";
    case CONNECTION_READER:
        return "PRAGMA query_only=ON; PRAGMA cache_size=-512; PRAGMA temp_store=MEMORY";
    default: return "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-64; PRAGMA synchronous=NORMAL";
    }
}

int connection_open(struct connection *c, enum connection_kind kind, const char *path,
                    const struct catalog *catalog, struct failure *f)
{
    memset(c, 0, sizeof *c);
    int rc = sqlite3_open_v2(
        path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK) {
        fail_sqlite(f, c->db, rc, path);
        connection_close(c);
        return -1;
    }
    sqlite3_busy_timeout(c->db, 1000);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    c->catalog = catalog;
    c->prepared = need(calloc(catalog->count + 1, sizeof *c->prepared));
    if (connection_script(c, set_up(kind), f) < 0 || search_register(c->db, f) < 0) {
        connection_close(c);
        return -1;
    }
    return 0;
}

void connection_close(struct connection *c)
{
    for (unsigned i = 0; c->prepared && i < c->catalog->count; i++)
        sqlite3_finalize(c->prepared[i].statement);
    for (unsigned i = 0; i < OWN_COUNT; i++)
        sqlite3_finalize(c->own[i]);
    free(c->prepared);
    sqlite3_close(c->db);
    memset(c, 0, sizeof *c);
}

struct prepared *connection_prepare(struct connection *c, uint32_t number, struct failure *f)
{
    if (number >= c->catalog->count) {
        fail(f, CHELA_E_ARGS, "there is no statement %u", number);
        return NULL;
    }
    struct prepared *p = &c->prepared[number];
    const struct statement *st = &c->catalog->statements[number];
    if (p->statement)
        return p;
    const char *rest = "";
    int rc =
        sqlite3_prepare_v3(c->db, st->sql, -1, SQLITE_PREPARE_PERSISTENT, &p->statement, &rest);
    if (rc != SQLITE_OK) {
        fail_sqlite(f, c->db, rc, st->name);
        return NULL;
    }
    for (unsigned i = 0; i < strlen(st->parameters); i++) {
        char name[8];
        snprintf(name, sizeof name, "$%u", i + 1);
        p->index[i] = (unsigned char)sqlite3_bind_parameter_index(p->statement, name);
    }
    return p;
}

sqlite3_stmt *connection_own(struct connection *c, enum own o, struct failure *f)
{
    if (c->own[o])
        return c->own[o];
    int rc = sqlite3_prepare_v3(c->db, own_sql[o], -1, SQLITE_PREPARE_PERSISTENT, &c->own[o], NULL);
    if (rc != SQLITE_OK)
        fail_sqlite(f, c->db, rc, own_sql[o]);
    return c->own[o];
}

int connection_run(struct connection *c, enum own o)
{
    struct failure f;
    sqlite3_stmt *s = connection_own(c, o, &f);
    if (!s)
        return sqlite3_errcode(c->db);
    sqlite3_step(s);
    return sqlite3_reset(s);
}
