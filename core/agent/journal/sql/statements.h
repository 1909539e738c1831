/*
 * All SQL of the core, in one place: named statements by number, and the schema as migrations. Only
 * journal*.c uses it; a store gets the whole table when it opens its database.
 *
 * In every statement that isn't marked X, $1 is the partition and its column is `pk`; that of a
 * turn's rows is the session key. Flags, types and variants: chela/store.h. Text is in the dialect
 * that SQLite and PostgreSQL share, as far as they share one; migrations are SQLite's, and another
 * engine's variant stands behind them when there is a driver for it.
 */
#ifndef AGENT_SQL_STATEMENTS_H
#define AGENT_SQL_STATEMENTS_H

#include <stddef.h>

enum sql {
    SQL_SESSION_PUT,
    SQL_SESSION_PATCH,
    SQL_SESSION_RESET,
    SQL_SESSION_SUMMARY,
    SQL_SESSION_DROP,
    SQL_SESSION_GET,
    SQL_SESSION_LIST,
    SQL_MESSAGE_PUT,
    SQL_MESSAGE_DROP,
    SQL_HISTORY,
    SQL_HISTORY_TAIL,
    SQL_RUN_PUT,
    SQL_RUN_STATE,
    SQL_RUN_DROP,
    SQL_RUN_FIND,
    SQL_ATTEMPT_PUT,
    SQL_ATTEMPT_END,
    SQL_ATTEMPT_DROP,
    SQL_DECISION_PUT,
    SQL_DECISION_DROP,
    SQL_CALL_PUT,
    SQL_CALL_ASK,
    SQL_CALL_START,
    SQL_CALL_END,
    SQL_CALL_ABORT,
    SQL_CALL_DROP,
    SQL_APPROVAL_PUT,
    SQL_APPROVAL_DECIDE,
    SQL_APPROVAL_USE,
    SQL_APPROVAL_CANCEL,
    SQL_APPROVAL_DROP,
    SQL_APPROVAL_OPEN,
    SQL_APPROVAL_PAST,
    SQL_OUTBOX_PUT,
    SQL_OUTBOX_POST,
    SQL_OUTBOX_STATE,
    SQL_OUTBOX_DROP,
    SQL_DEDUP_PUT,
    SQL_DEDUP_GET,
    SQL_DEDUP_OLD,
    SQL_DEDUP_DROP,
    SQL_INBOX_PUT,
    SQL_INBOX_TAKE,
    SQL_INBOX_DROP,
    SQL_INBOX_OLD,
    SQL_INBOX_PURGE,
    SQL_ALLOW_PUT,
    SQL_ALLOW_DROP,
    SQL_ALLOW_LIST,
    SQL_KV_PUT,
    SQL_KV_DROP,
    SQL_KV_GET,
    SQL_KV_LIST,
    SQL_USAGE_ADD,
    SQL_USAGE,
    SQL_RECOVER_INBOX,
    SQL_RECOVER_RUN,
    SQL_RECOVER_CALL,
    SQL_RECOVER_CHUNK,
    SQL_TRACE_INBOX,
    SQL_TRACE_MESSAGE,
    SQL_TRACE_ATTEMPT,
    SQL_TRACE_CALL,
    SQL_TRACE_DECISION,
    SQL_TRACE_APPROVAL,
    SQL_TRACE_CHUNK,
    SQL_CURSOR_PUT,
    SQL_CURSOR_GET,
    SQL_INDEX_NEXT,
    SQL_FOUND_PUT,
    SQL_FOUND_WORDS,
    SQL_FOUND_DROP,
    SQL_SEARCH,
    SQL_CRON_PUT,
    SQL_NOTE_PUT,
    SQL_NOTE_WORDS,
    SQL_NOTE_DROP,
    SQL_NOTE_SEARCH,
    SQL_NOTE_SEARCH_ANY,
    SQL_COUNT
};

struct sql_statement {
    const char *name, *flags, *parameters, *results, *text;
};

struct sql_migration {
    const char *name, *text;
};

extern const struct sql_statement sql_statements[SQL_COUNT];
extern const struct sql_migration sql_migrations[];
extern const size_t sql_migration_count;

#endif
