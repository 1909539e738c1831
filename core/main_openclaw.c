/*
 * chela-openclaw STATE: what an OpenClaw state folder holds beside its configuration, a JSON object
 * a line: {"kind": "session" | "job" | "allow" | "approvals" | "note", ...}. Reads both of its
 * forms, SQLite (openclaw-agent.sqlite, openclaw.sqlite) and files (sessions.json with JSON lines,
 * credentials, cron/jobs.json), and writes to neither. Run by `chela import openclaw`, which parses
 * what it says as if a stranger said it.
 */
#include <dirent.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef WITH_SQLITE
#include <sqlite3.h>
#endif

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/json.h"

enum { LARGEST = 256 << 20 };

static void say(json_object *o)
{
    puts(chela_json_text(o, NULL));
    json_object_put(o);
}

static json_object *thing(const char *kind)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "kind", kind);
    return o;
}

static void note(const char *what, const char *text)
{
    json_object *o = thing("note");
    chela_json_put_text(o, "what", what);
    chela_json_put_text(o, "text", text);
    say(o);
}

static json_object *parse(const char *text, size_t n)
{
    json_object *o = NULL;
    return chela_json_parse(text, n, NULL, &o, NULL) == 0 ? o : NULL;
}

static json_object *parse_file(const char *path)
{
    struct buf text = {0};
    char piece[65536];
    FILE *f = fopen(path, "re");
    for (size_t n; f && text.n < LARGEST && (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_add(&text, piece, n);
    if (f)
        fclose(f);
    json_object *o = text.n ? parse(text.p, text.n) : NULL;
    buf_free(&text);
    return o;
}

/* ---- a conversation: its events form a tree, of which the last one's way to the root counts ----
 */

struct events {
    json_object **all;
    size_t count;
    unsigned unread;
};

static void add_event(struct events *e, json_object *o)
{
    if (!o) {
        e->unread++;
        return;
    }
    e->all = xrealloc(e->all, (e->count + 1) * sizeof *e->all);
    e->all[e->count++] = o;
}

static void text_of(json_object *content, struct buf *out)
{
    const char *whole = chela_json_as_string(content, NULL);
    if (whole)
        buf_puts(out, whole);
    for (size_t i = 0; !whole && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *type = chela_json_string(part, "type", NULL),
                   *text = chela_json_string(part, "text", NULL);
        if (type && text && strcmp(type, "text") == 0 && *text)
            buf_printf(out, "%s%s", out->n ? "\n" : "", text);
    }
}

/* Marks the way back from the last message; a file without ids has no branches. */
static void mark(const struct events *e, bool *on)
{
    const char *wanted = NULL;
    bool tree = false;
    for (size_t i = e->count; i-- > 0;) {
        const char *id = chela_json_string(e->all[i], "id", NULL),
                   *type = chela_json_string(e->all[i], "type", NULL);
        bool message = type && strcmp(type, "message") == 0;
        on[i] = !tree ? message : wanted && id && strcmp(id, wanted) == 0;
        if (on[i] && chela_json_has(e->all[i], "parentId")) {
            tree = true;
            wanted = chela_json_string(e->all[i], "parentId", NULL);
        }
    }
}

static unsigned put_messages(const struct events *e, json_object *messages)
{
    bool *on = xcalloc(e->count + 1, sizeof *on);
    unsigned tools = 0;
    mark(e, on);
    for (size_t i = 0; i < e->count; i++) {
        json_object *m = chela_json_object(e->all[i], "message");
        const char *role = chela_json_string(m, "role", NULL);
        struct buf text = {0};
        if (!on[i] || !role)
            continue;
        bool spoken = strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0;
        text_of(chela_json_get(m, "content"), &text);
        if (spoken && text.n) {
            json_object *o = chela_json_push_object(messages);
            chela_json_put_text(o, "role", role);
            chela_json_put_text(o, "text", text.p);
            chela_json_put_int(o, "at", chela_json_int(m, "timestamp", 0));
        }
        tools += !spoken;
        buf_free(&text);
    }
    free(on);
    return tools;
}

static void say_session(const char *key, const char *id, json_object *entry, struct events *e)
{
    json_object *o = thing("session"), *messages = chela_json_put_array(o, "messages");
    const char *title = chela_json_string(entry, "displayName", NULL);
    if (!title)
        title = chela_json_string(entry, "label", NULL);
    chela_json_put_text(o, "key", key);
    chela_json_put_text(o, "id", id);
    if (title)
        chela_json_put_text(o, "title", title);
    chela_json_put_int(o, "toolSteps", put_messages(e, messages));
    chela_json_put_int(o, "unread", e->unread);
    say(o);
    for (size_t i = 0; i < e->count; i++)
        json_object_put(e->all[i]);
    free(e->all);
}

/* ---- files, until the middle of 2026 ---- */

static void read_lines(const char *path, struct events *e)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    for (ssize_t n; f && (n = getline(&line, &size, f)) > 0;)
        if (line[strspn(line, " \t\r\n")])
            add_event(e, parse(line, (size_t)n));
    free(line);
    if (f)
        fclose(f);
}

static bool plain_name(const char *id)
{
    return *id && *id != '.' && !strchr(id, '/') && strlen(id) < 200;
}

static void file_sessions(const char *state, const char *agent)
{
    CLEANUP(freep) char *folder = xprintf("%s/agents/%s/sessions", state, agent);
    CLEANUP(freep) char *index = xprintf("%s/sessions.json", folder);
    json_object *sessions = parse_file(index);
    if (json_object_is_type(sessions, json_type_object)) {
        json_object_object_foreach(sessions, key, entry)
        {
            const char *id = chela_json_string(entry, "sessionId", NULL);
            struct events e = {0};
            if (!id || !plain_name(id))
                continue;
            CLEANUP(freep) char *path = xprintf("%s/%s.jsonl", folder, id);
            read_lines(path, &e);
            say_session(key, id, entry, &e);
        }
    }
    json_object_put(sessions);
}

static void say_allow(const char *channel, const char *account, const char *entry)
{
    json_object *o = thing("allow");
    chela_json_put_text(o, "channel", channel);
    chela_json_put_text(o, "account", account);
    chela_json_put_text(o, "entry", entry);
    say(o);
}

/* credentials/CHANNEL[-ACCOUNT]-allowFrom.json */
static void file_allow(const char *state)
{
    CLEANUP(freep) char *folder = xprintf("%s/credentials", state);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char *end = strstr(entry->d_name, "-allowFrom.json");
        if (!end)
            continue;
        CLEANUP(freep) char *path = xprintf("%s/%s", folder, entry->d_name);
        CLEANUP(freep) char *channel = xmemdup(entry->d_name, (size_t)(end - entry->d_name));
        char *account = strchr(channel, '-');
        json_object *o = parse_file(path), *list = chela_json_array(o, "allowFrom");
        if (account)
            *account++ = '\0';
        for (size_t i = 0; i < chela_json_length(list); i++)
            say_allow(channel, account ? account : "default",
                      json_object_get_string(chela_json_at(list, i)));
        json_object_put(o);
    }
    if (dir)
        closedir(dir);
}

static void say_job(json_object *job)
{
    json_object *o = thing("job");
    chela_json_put(o, "job", json_object_get(job));
    say(o);
}

static void file_jobs(const char *state)
{
    CLEANUP(freep) char *path = xprintf("%s/cron/jobs.json", state);
    json_object *o = parse_file(path), *jobs = chela_json_array(o, "jobs");
    for (size_t i = 0; i < chela_json_length(jobs); i++)
        say_job(chela_json_at(jobs, i));
    json_object_put(o);
}

static void say_approvals(json_object *document)
{
    json_object *o = thing("approvals");
    if (document) {
        chela_json_put(o, "document", document);
        say(o);
    } else {
        json_object_put(o);
    }
}

/* ---- SQLite, since then ---- */

#ifdef WITH_SQLITE

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

static void read_events(sqlite3 *db, const char *path, const char *id, struct events *e)
{
    sqlite3_stmt *s =
        ask(db, path, "SELECT event_json FROM transcript_events WHERE session_id=?1 ORDER BY seq");
    if (s)
        sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
    while (s && sqlite3_step(s) == SQLITE_ROW)
        add_event(e, parse(column(s, 0), (size_t)sqlite3_column_bytes(s, 0)));
    sqlite3_finalize(s);
}

static void database_sessions(const char *state, const char *agent)
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

static void database_shared(const char *state)
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

static void database_sessions(const char *state, const char *agent)
{
    CLEANUP(freep) char *path = xprintf("%s/agents/%s/agent/openclaw-agent.sqlite", state, agent);
    if (access(path, F_OK) == 0)
        note(path, "this build has no SQLite: its conversations can't be read");
}

static void database_shared(const char *state)
{
    CLEANUP(freep) char *path = xprintf("%s/state/openclaw.sqlite", state);
    if (access(path, F_OK) == 0)
        note(path, "this build has no SQLite: its jobs and pairings can't be read");
}

#endif

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: chela-openclaw STATE-FOLDER\n", stderr);
        return 2;
    }
    CLEANUP(freep) char *agents = xprintf("%s/agents", argv[1]);
    CLEANUP(freep) char *approvals = xprintf("%s/exec-approvals.json", argv[1]);
    DIR *dir = opendir(agents);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (plain_name(entry->d_name)) {
            file_sessions(argv[1], entry->d_name);
            database_sessions(argv[1], entry->d_name);
        }
    if (dir)
        closedir(dir);
    file_allow(argv[1]);
    file_jobs(argv[1]);
    say_approvals(parse_file(approvals));
    database_shared(argv[1]);
    return 0;
}
