/*
 * Brings the schema up to date: the driver's own tables, then the host's migrations, each once, all
 * in one transaction; user_version counts the host's. Before an existing database is changed, a
 * copy of it is kept. Called by the writer's first job.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static const char own_schema[] =
    "CREATE TABLE IF NOT EXISTS chela_batch(id INTEGER NOT NULL, pk TEXT NOT NULL,"
    " dead INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(id,pk)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS chela_lease(pk TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " token INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS chela_blob(n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE,"
    " size INTEGER NOT NULL, data BLOB);";

enum { APPLICATION_ID = 0x43484c41 }; /* "CHLA" */

int copy_database(sqlite3 *from, const char *target, const atomic_bool *stop, struct failure *f)
{
    sqlite3 *to = NULL;
    struct stat exists;
    if (lstat(target, &exists) == 0)
        return fail(f, CHELA_E_CONFLICT, "%s exists already", target);
    char *part = join_text(target, ".part");
    unlink(part);
    int rc = sqlite3_open_v2(part, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), r = 0;
    if (rc == SQLITE_OK)
        chmod(part, 0600);
    sqlite3_backup *b = rc == SQLITE_OK ? sqlite3_backup_init(to, "main", from, "main") : NULL;
    if (!b) {
        r = fail_sqlite(f, to, rc, "copy");
    } else {
        do
            rc = sqlite3_backup_step(b, 256);
        while ((rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED) &&
               !(stop && atomic_load(stop)));
        int end = sqlite3_backup_finish(b);
        if (rc != SQLITE_DONE)
            r = rc == SQLITE_OK ? fail(f, CHELA_E_CANCELLED, "the copy was stopped")
                                : fail_sqlite(f, to, end == SQLITE_OK ? rc : end, "copy");
    }
    /* a copy is one file: no log beside it */
    if (r == 0 && sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
        r = fail_sqlite(f, to, SQLITE_ERROR, "copy");
    sqlite3_close(to);
    if (r == 0 && link(part, target) < 0)
        r = fail(f, errno == EEXIST ? CHELA_E_CONFLICT : CHELA_E_OTHER, "can't make %s: %s", target,
                 strerror(errno));
    if (r == 0)
        r = files_sync_dir_of(target, f);
    unlink(part);
    free(part);
    return r;
}

static int keep_copy(struct connection *c, const char *path, int64_t version, char *note,
                     size_t size, struct failure *f)
{
    char suffix[40];
    snprintf(suffix, sizeof suffix, ".before-%lld", (long long)version);
    char *target = join_text(path, suffix);
    int r = copy_database(c->db, target, NULL, f);
    if (r < 0 && f->class == CHELA_E_CONFLICT) { /* an earlier try, rolled back, has made it */
        memset(f, 0, sizeof *f);
        r = 0;
    }
    if (r == 0)
        snprintf(note, size, "the database's schema changes; as it was before: %s", target);
    free(target);
    return r;
}

static int apply(struct connection *c, int64_t from, const struct catalog *catalog,
                 struct failure *f)
{
    if (connection_script(c, "BEGIN IMMEDIATE", f) < 0)
        return -1;
    int r = connection_script(c, own_schema, f);
    for (int64_t i = from; r == 0 && i < catalog->migration_count; i++) {
        r = connection_script(c, catalog->migrations[i], f);
        if (r < 0) {
            struct failure why = *f;
            fail(f, why.class, "migration %lld: %.400s", (long long)i + 1, why.text);
        }
    }
    char mark[120];
    snprintf(mark, sizeof mark, "PRAGMA user_version=%u; PRAGMA application_id=%d",
             catalog->migration_count, APPLICATION_ID);
    if (r == 0)
        r = connection_script(c, mark, f);
    fault_point("before a migration's commit");
    if (r == 0)
        r = connection_script(c, "COMMIT", f);
    fault_point("after a migration's commit");
    if (r < 0)
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

int migrate(struct connection *c, const char *path, const struct catalog *catalog, char *note,
            size_t size, struct failure *f)
{
    int64_t version = connection_number(c, "PRAGMA user_version", -1);
    int64_t id = connection_number(c, "PRAGMA application_id", -1);
    int64_t tables = connection_number(c, "SELECT count(*) FROM sqlite_schema", -1);
    if (version < 0 || id < 0 || tables < 0)
        return fail(f, CHELA_E_OTHER, "%s can't be read: %s", path, sqlite3_errmsg(c->db));
    if (id != APPLICATION_ID && tables > 0)
        return fail(f, CHELA_E_ARGS, "%s is a database of another program", path);
    if (version > catalog->migration_count)
        return fail(f, CHELA_E_UNSUPPORTED,
                    "%s was written by a newer version (schema %lld, this one knows %u)", path,
                    (long long)version, catalog->migration_count);
    if (id == APPLICATION_ID && version == catalog->migration_count)
        return 0;
    if (id == APPLICATION_ID && keep_copy(c, path, version, note, size, f) < 0)
        return -1;
    return apply(c, version, catalog, f);
}
