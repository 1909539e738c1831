/*
 * What must hold in the database after a crash and a recovery, whatever the crash hit: messages are
 * consumed once and answered once, calls and results are paired, nothing is left open. For
 * kill_oracle.sh: oracle DATABASE TEXT prints what is wrong, and how many user messages hold TEXT.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

static sqlite3 *db;
static int wrong;

static long long number(const char *sql, const char *text)
{
    sqlite3_stmt *s = NULL;
    long long n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) {
        printf("%s: %s\n", sql, sqlite3_errmsg(db));
        wrong++;
        return -1;
    }
    if (text)
        sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
    if (sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static void none(const char *what, const char *sql)
{
    long long n = number(sql, NULL);
    if (n == 0)
        return;
    printf("%s: %lld\n", what, n);
    wrong++;
}

/* Ids of the parts of a kind, as one string of "ID ID ". */
static void ids_of(const char *body, const char *type, const char *key, char *out, size_t size)
{
    json_object *o = NULL;
    out[0] = '\0';
    if (chela_json_parse(body, strlen(body), NULL, &o, NULL) < 0) {
        printf("a message is no JSON: %s\n", body);
        wrong++;
        return;
    }
    for (size_t i = 0; i < chela_json_length(o); i++) {
        json_object *part = chela_json_at(o, i);
        const char *kind = chela_json_string(part, "type", NULL);
        const char *id = chela_json_string(part, key, NULL);
        size_t n = strlen(out);
        if (kind && strcmp(kind, type) == 0)
            snprintf(out + n, size - n, "%s ", id ? id : "?");
    }
    json_object_put(o);
}

/* Each assistant message with calls is followed at once by their results, in their order. */
static void check_pairs(void)
{
    sqlite3_stmt *s = NULL;
    char calls[2000] = "", results[2000], session[500] = "";
    long long last = 0;
    sqlite3_prepare_v2(db, "SELECT pk,seq,role,body FROM message ORDER BY pk,seq", -1, &s, NULL);
    while (sqlite3_step(s) == SQLITE_ROW) {
        const char *pk = (const char *)sqlite3_column_text(s, 0);
        const char *role = (const char *)sqlite3_column_text(s, 2);
        const char *body = (const char *)sqlite3_column_text(s, 3);
        bool same = strcmp(pk, session) == 0;
        ids_of(body, "toolResult", "callId", results, sizeof results);
        if (strcmp(same ? calls : "", results) != 0) {
            printf("%s, message %lld: results of [%s], calls were [%s]\n", pk,
                   (long long)sqlite3_column_int64(s, 1), results, calls);
            wrong++;
        }
        if (same && sqlite3_column_int64(s, 1) != last + 1) {
            printf("%s: message %lld follows %lld\n", pk, (long long)sqlite3_column_int64(s, 1),
                   last);
            wrong++;
        }
        last = sqlite3_column_int64(s, 1);
        snprintf(session, sizeof session, "%s", pk);
        calls[0] = '\0';
        if (strcmp(role, "assistant") == 0)
            ids_of(body, "toolCall", "id", calls, sizeof calls);
    }
    sqlite3_finalize(s);
    if (calls[0]) {
        printf("calls without results at the end: %s\n", calls);
        wrong++;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        fprintf(stderr, "usage: oracle DATABASE TEXT\n");
        return 2;
    }
    none("damaged", "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'");
    none("messages that were accepted and not consumed", "SELECT count(*) FROM inbox WHERE run=''");
    none("runs that have not ended", "SELECT count(*) FROM run WHERE ended=0");
    none("tool calls that are open",
         "SELECT count(*) FROM toolcall WHERE state NOT IN ('COMPLETED','FAILED')");
    none("tool calls that started twice", "SELECT count(*) FROM toolcall WHERE attempt>1");
    none("pieces of answers whose end isn't known",
         "SELECT count(*) FROM outbox WHERE state='SENDING' OR (state='UNKNOWN' AND class<>3)");
    none("runs without exactly one answer",
         "SELECT count(*) FROM run WHERE state='DONE' AND 1<>(SELECT count(*) FROM message m WHERE "
         "m.pk=run.pk AND m.run=run.id AND m.role='assistant' AND m.body NOT LIKE "
         "'%\"toolCall\"%')");
    none("user messages that came twice",
         "SELECT count(*) FROM (SELECT 1 FROM message WHERE role='user' GROUP BY pk,body "
         "HAVING count(*)>1)");
    none("runs that failed", "SELECT count(*) FROM run WHERE state NOT IN ('DONE')");
    check_pairs();
    printf("accepted %lld\n",
           number("SELECT count(*) FROM message WHERE role='user' AND instr(body,?1)>0", argv[2]));
    sqlite3_close(db);
    return wrong ? 1 : 0;
}
