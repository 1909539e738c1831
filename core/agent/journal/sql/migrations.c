/*
 * The schema, as migrations: each is applied once, in order, for ever; a change is a new one at the
 * end. The first column of every key is pk, the partition. Times are ms since 1970.
 */
#include "agent/journal/sql/statements.h"

const struct sql_migration sql_migrations[] = {
    /* fields: what a person or client has set (JSON object); find: folded key and title */
    {"session", "CREATE TABLE session(pk TEXT PRIMARY KEY, id TEXT NOT NULL, agent TEXT NOT NULL,"
                " find TEXT NOT NULL, fields TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 1,"
                " epoch_seq INTEGER NOT NULL DEFAULT 1, reset TEXT NOT NULL DEFAULT '',"
                " summary TEXT NOT NULL DEFAULT '', summary_seq INTEGER NOT NULL DEFAULT 0,"
                " created INTEGER NOT NULL, updated INTEGER NOT NULL);"
                "CREATE INDEX session_updated ON session(updated,pk)"},
    /* n: in the order of writing, for the index's cursor; never reused */
    {"message", "CREATE TABLE message(n INTEGER PRIMARY KEY AUTOINCREMENT, pk TEXT NOT NULL,"
                " seq INTEGER NOT NULL, run TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL,"
                " model TEXT, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,"
                " cost REAL NOT NULL, at INTEGER NOT NULL);"
                "CREATE UNIQUE INDEX message_seq ON message(pk,seq)"},
    /* states: "NAME@ms " each; consumed: JSON array of inbox ids; ended: 0 while it runs */
    {"run", "CREATE TABLE run(pk TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL,"
            " state TEXT NOT NULL, states TEXT NOT NULL, plan INTEGER NOT NULL,"
            " consumed TEXT NOT NULL, first_seq INTEGER NOT NULL, at INTEGER NOT NULL,"
            " ended INTEGER NOT NULL, PRIMARY KEY(pk,id)) WITHOUT ROWID;"
            "CREATE INDEX run_id ON run(id);"
            "CREATE INDEX run_open ON run(at) WHERE ended=0"},
    {"attempt", "CREATE TABLE attempt(pk TEXT NOT NULL, run TEXT NOT NULL, n INTEGER NOT NULL,"
                " model TEXT NOT NULL, reason TEXT NOT NULL, outcome TEXT NOT NULL DEFAULT '',"
                " effects INTEGER NOT NULL, ms INTEGER NOT NULL DEFAULT 0,"
                " tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,"
                " at INTEGER NOT NULL, PRIMARY KEY(pk,run,n)) WITHOUT ROWID"},
    {"toolcall", "CREATE TABLE toolcall(pk TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL,"
                 " n INTEGER NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL,"
                 " hash TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,"
                 " approval TEXT, result TEXT, ms INTEGER NOT NULL DEFAULT 0, at INTEGER NOT NULL,"
                 " started INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0,"
                 " PRIMARY KEY(pk,run,id))"},
    {"approval", "CREATE TABLE approval(pk TEXT NOT NULL, id TEXT NOT NULL, run TEXT NOT NULL,"
                 " call TEXT NOT NULL, record TEXT NOT NULL, hash TEXT NOT NULL,"
                 " state TEXT NOT NULL, expires INTEGER NOT NULL, decided_by TEXT,"
                 " decided INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0,"
                 " at INTEGER NOT NULL, PRIMARY KEY(pk,id));"
                 "CREATE INDEX approval_waiting ON approval(at) WHERE state='waiting'"},
    {"outbox", "CREATE TABLE outbox(pk TEXT NOT NULL, run TEXT NOT NULL, key TEXT NOT NULL,"
               " n INTEGER NOT NULL, body TEXT NOT NULL, class INTEGER NOT NULL,"
               " state TEXT NOT NULL, external TEXT, at INTEGER NOT NULL,"
               " PRIMARY KEY(pk,run,key));"
               "CREATE INDEX outbox_sending ON outbox(at) WHERE state='SENDING'"},
    /* pk: the conversation; id: of the inbox row that the event became */
    {"dedup", "CREATE TABLE dedup(pk TEXT NOT NULL, kind TEXT NOT NULL, event TEXT NOT NULL,"
              " version INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL,"
              " PRIMARY KEY(pk,kind,event,version)) WITHOUT ROWID"},
    /* run: who consumed it, '' nobody yet, '-' dropped */
    {"inbox", "CREATE TABLE inbox(pk TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL,"
              " conversation TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL,"
              " run TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(pk,id));"
              "CREATE INDEX inbox_open ON inbox(at) WHERE run=''"},
    {"allow", "CREATE TABLE allow(pk TEXT NOT NULL, kind TEXT NOT NULL, given_by TEXT NOT NULL,"
              " at INTEGER NOT NULL, PRIMARY KEY(pk,kind)) WITHOUT ROWID"},
    {"kv", "CREATE TABLE kv(pk TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
           " at INTEGER NOT NULL, PRIMARY KEY(pk,key))"},
    {"cursor", "CREATE TABLE cursor(pk TEXT NOT NULL, name TEXT NOT NULL,"
               " position INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(pk,name))"
               " WITHOUT ROWID"},
    {"cronslot", "CREATE TABLE cronslot(pk TEXT NOT NULL, slot INTEGER NOT NULL,"
                 " at INTEGER NOT NULL, PRIMARY KEY(pk,slot)) WITHOUT ROWID"},
    /* counters, so that no question about usage reads messages; day: since 1970, UTC */
    {"usage", "CREATE TABLE usage(pk TEXT NOT NULL, day INTEGER NOT NULL, channel TEXT NOT NULL,"
              " provider TEXT NOT NULL, model TEXT NOT NULL, messages INTEGER NOT NULL,"
              " tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cost REAL NOT NULL,"
              " PRIMARY KEY(pk,day,channel,provider,model)) WITHOUT ROWID;"
              "CREATE INDEX usage_day ON usage(day)"},
    /* Text of messages, for search; written behind; n is the message's. What is added is added to
     * both tables by the core: a trigger would make FTS5 write a segment for each row. */
    {"found", "CREATE TABLE found(n INTEGER PRIMARY KEY, pk TEXT NOT NULL, seq INTEGER NOT NULL,"
              " role TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);"
              "CREATE INDEX found_pk ON found(pk);"
              "CREATE VIRTUAL TABLE found_words USING fts5(text, content='found',"
              " content_rowid='n', tokenize='chela');"
              "CREATE TRIGGER found_gone AFTER DELETE ON found BEGIN"
              " INSERT INTO found_words(found_words,rowid,text) VALUES('delete',old.n,old.text);"
              " END"},
    /* documents that plugins have indexed: pk their space, part of doc; words as above */
    {"note", "CREATE TABLE note(n INTEGER PRIMARY KEY, pk TEXT NOT NULL, doc TEXT NOT NULL,"
             " part TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);"
             "CREATE UNIQUE INDEX note_part ON note(pk,doc,part);"
             "CREATE VIRTUAL TABLE note_words USING fts5(text, content='note',"
             " content_rowid='n', tokenize='chela');"
             "CREATE TRIGGER note_gone AFTER DELETE ON note BEGIN"
             " INSERT INTO note_words(note_words,rowid,text) VALUES('delete',old.n,old.text);"
             " END"},
    /* n rises; body: JSON of decisions.h */
    {"decision", "CREATE TABLE decision(pk TEXT NOT NULL, run TEXT NOT NULL, n INTEGER NOT NULL,"
                 " body TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(pk,run,n)) WITHOUT ROWID"},
    /* the counters by sender, too; local: 0 or 1; cached is part of in */
    {"spent", "CREATE TABLE spent(pk TEXT NOT NULL, day INTEGER NOT NULL, channel TEXT NOT NULL,"
              " sender TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,"
              " messages INTEGER NOT NULL, answers INTEGER NOT NULL, local INTEGER NOT NULL,"
              " unpriced INTEGER NOT NULL, tokens_in INTEGER NOT NULL,"
              " tokens_out INTEGER NOT NULL, tokens_cached INTEGER NOT NULL, cost REAL NOT NULL,"
              " PRIMARY KEY(pk,day,channel,sender,provider,model)) WITHOUT ROWID;"
              "CREATE INDEX spent_day ON spent(day);"
              "INSERT INTO spent SELECT pk,day,channel,'',provider,model,messages,messages,0,0,"
              "tokens_in,tokens_out,0,cost FROM usage;"
              "DROP TABLE usage"},
};
const size_t sql_migration_count = sizeof sql_migrations / sizeof sql_migrations[0];
