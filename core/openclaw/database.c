/*
 * The form of a state folder since the middle of 2026: openclaw-agent.sqlite for each agent and
 * openclaw.sqlite (see openclaw.h). Read beside a program that writes them, and never written to.
 */
#ifdef WITH_SQLITE
#include <sqlite3.h>
#endif
#ifdef WITH_ZSTD
#include <zstd.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "openclaw/openclaw.h"
#include "support/json.h"

#ifdef WITH_SQLITE

enum { LARGEST_EVENT = 64 << 20 };

static const char *column(sqlite3_stmt *s, int n)
{
    const unsigned char *text = sqlite3_column_text(s, n);
    return text ? (const char *)text : "";
}

/* NULL: no such file, or none that can be read. Beside a program that writes it, too. */
static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;
    if (access(path, F_OK) != 0)
        return NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, 5000);
        return db;
    }
    note(path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return NULL;
}

/* NULL: a version of the tables that this doesn't know. */
static sqlite3_stmt *ask(sqlite3 *db, const char *path, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        note(path, sqlite3_errmsg(db));
    return s;
}

/* What stands in a row of its own as text, and packed where that is shorter. */
static json_object *event_of(sqlite3_stmt *s)
{
    if (sqlite3_column_type(s, 0) != SQLITE_NULL || sqlite3_column_count(s) < 3)
        return parse(column(s, 0), (size_t)sqlite3_column_bytes(s, 0));
#ifdef WITH_ZSTD
    const void *packed = sqlite3_column_blob(s, 1);
    size_t n = (size_t)sqlite3_column_bytes(s, 1);
    sqlite3_int64 size = sqlite3_column_int64(s, 2); /* a frame needs not say it */
    if (!packed || size <= 0 || size > LARGEST_EVENT)
        return NULL;
    CLEANUP(freep) char *text = xmalloc((size_t)size);
    size_t got = ZSTD_decompress(text, (size_t)size, packed, n);
    return ZSTD_isError(got) ? NULL : parse(text, got);
#else
    return NULL;
#endif
}

static void read_events(sqlite3 *db, const char *path, const char *id, struct events *e)
{
    sqlite3_stmt *s = NULL;
    /* the tables of the first months knew no packing */
    if (sqlite3_prepare_v2(
            db,
            "SELECT event_json,event_zstd,event_utf8_bytes FROM transcript_events WHERE "
            "session_id=?1 ORDER BY seq",
            -1, &s, NULL) != SQLITE_OK)
        s = ask(db, path,
                "SELECT event_json FROM transcript_events WHERE session_id=?1 ORDER BY seq");
    if (s)
        sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
    while (s && sqlite3_step(s) == SQLITE_ROW)
        events_add(e, event_of(s));
    sqlite3_finalize(s);
}

void database_sessions(const char *state, const char *agent)
{
    CLEANUP(freep) char *path = xprintf("%s/agents/%s/agent/openclaw-agent.sqlite", state, agent);
    sqlite3 *db = open_database(path);
    sqlite3_stmt *s =
        db ? ask(db, path, "SELECT session_key,current_session_id,entry_json FROM session_nodes")
           : NULL;
    while (s && sqlite3_step(s) == SQLITE_ROW) {
        struct events e = {0};
        json_object *entry = parse(column(s, 2), strlen(column(s, 2)));
        read_events(db, path, column(s, 1), &e);
        say_session(column(s, 0), column(s, 1), entry, &e);
        json_object_put(entry);
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
}

void database_shared(const char *state)
{
    CLEANUP(freep) char *path = xprintf("%s/state/openclaw.sqlite", state);
    sqlite3 *db = open_database(path);
    if (!db)
        return;
    sqlite3_stmt *s = ask(db, path, "SELECT job_json,enabled FROM cron_jobs ORDER BY sort_order");
    while (s && sqlite3_step(s) == SQLITE_ROW) {
        json_object *job = parse(column(s, 0), strlen(column(s, 0)));
        chela_json_put_bool(job, "enabled", sqlite3_column_int(s, 1) != 0);
        say_job(job);
        json_object_put(job);
    }
    sqlite3_finalize(s);
    s = ask(db, path, "SELECT channel_key,account_id,entry FROM channel_pairing_allow_entries");
    while (s && sqlite3_step(s) == SQLITE_ROW)
        say_allow(column(s, 0), column(s, 1), column(s, 2));
    sqlite3_finalize(s);
    s = ask(db, path, "SELECT raw_json FROM exec_approvals_config");
    while (s && sqlite3_step(s) == SQLITE_ROW)
        say_approvals(parse(column(s, 0), strlen(column(s, 0))));
    sqlite3_finalize(s);
    sqlite3_close(db);
}

#else

void database_sessions(const char *state, const char *agent)
{
    CLEANUP(freep) char *path = xprintf("%s/agents/%s/agent/openclaw-agent.sqlite", state, agent);
    if (access(path, F_OK) == 0)
        note(path, "this build has no SQLite: its conversations can't be read");
}

void database_shared(const char *state)
{
    CLEANUP(freep) char *path = xprintf("%s/state/openclaw.sqlite", state);
    if (access(path, F_OK) == 0)
        note(path, "this build has no SQLite: its jobs and pairings can't be read");
}

#endif
