/*
 * The journal: everything that must survive a crash, as typed commits and reads on the store. The
 * write-ahead table of doc/architecture.md says which of them come before which effect; the names
 * here are its rows. Knows statements (sql/), no stage; called by any stage.
 *
 * Partition of a turn's rows = the session key. Deduplication is by conversation (channel instance,
 * account, chat), which follows from the message alone, and does not depend on the session it is
 * mapped to.
 *
 * All functions return at once; `fn` is called later, once, from the top of the loop, with NULL if
 * all went well. UNKNOWN is settled inside (the same batch again under the same id), so callers
 * never see it.
 */
#ifndef AGENT_JOURNAL_H
#define AGENT_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/models/usage.h"
#include "base/error.h"
#include "host/instance.h"

struct json_object;

typedef void journal_fn(void *owner, const struct error *e);

/* Opens the database of the store instance: statements, migrations. power: barriers are on disk
 * (durability = "power"); else every commit is sent as a lazy one, in the same order, which is safe
 * against a crash of the process, not of the machine. */
void journal_open(struct instance *store, bool power, journal_fn *fn, void *owner);
bool journal_ready(void);
/* Forgets what is under way (nobody is told) and the store. */
void journal_close(void);

/* ---- inbound ---- */
struct journal_message_in {
    const char *conversation, *kind, *event; /* with version the deduplication key */
    uint64_t version;
    const char *id;      /* of the inbox row; it is the run's id if a turn of its own comes of it */
    const char *session; /* key */
    const char *agent;
    const char *body; /* the message, JSON (flow.h: message_to_json) */
    uint64_t at;      /* ms */
};
/* Barrier. Error CHELA_E_CONFLICT: seen before; then ret id of the first one is in `error.text`. */
void journal_inbound(const struct journal_message_in *in, journal_fn *fn, void *owner);
/* A message that only joins the history (an unmentioned one in a group) or is dropped: consumed
 * without a run. */
void journal_inbox_drop(const char *session, const char *id, journal_fn *fn, void *owner);

/* ---- a run: a chain of batches, each after the one before; a failed one fails all that follow
 * ---- */
struct journal_run;
struct journal_run *journal_run_begin(const char *session, const char *run);
void journal_run_end(struct journal_run *r); /* frees; what is under way completes */

/* One row of the transcript. seq is given by the caller (session's last + 1, + 2 ...). */
struct journal_message {
    uint64_t seq;
    const char *role;               /* user, assistant, tool, summary */
    const char *body;               /* JSON content, SDK form */
    const char *inbox;              /* id of the inbox row that this message consumes, or NULL */
    const char *model;              /* assistant: "instance/model", or NULL */
    uint64_t tokens_in, tokens_out; /* assistant: usage, else 0 */
    double cost;                    /* in the currency of the prices, 0 = none or unknown */
    uint64_t at;                    /* ms */
    const struct spent *spent;      /* assistant: what it adds to the counters, or NULL */
};

/* Lazy. The run's row (agent, plan revision, message ids) and its first messages. */
void journal_run_start(struct journal_run *r, const char *agent, uint64_t plan_revision,
                       const struct journal_message *messages, unsigned count, journal_fn *fn,
                       void *owner);
/* Joins the next commit of the run; `state` is a name of the turn's table. */
void journal_run_state(struct journal_run *r, const char *state, uint64_t at);
/* Lazy; barrier if the provider's own tools have effects. */
void journal_attempt(struct journal_run *r, unsigned number, const char *model, const char *reason,
                     bool effects, journal_fn *fn, void *owner);
/* Joins the next commit: how the attempt ended (error class name or "ok", latency). */
void journal_attempt_end(struct journal_run *r, unsigned number, const char *outcome, uint64_t ms,
                         uint64_t tokens_in, uint64_t tokens_out);
/* Joins the next commit: a decision about the model (JSON, decisions.h). */
void journal_decision(struct journal_run *r, const char *json, uint64_t at);
/* Joins the next commit: spent without a message (a failed attempt, a classification). */
void journal_run_spent(struct journal_run *r, const struct spent *s);
/* Lazy. The same without a run. */
void journal_spent(const struct spent *s, journal_fn *fn, void *owner);

struct journal_call {
    const char *id, *name, *arguments,
        *hash; /* hash: hex SHA-256 of name, arguments and manifest */
};
/* Lazy. The assistant's message with its calls PENDING, and messages steered in behind their
 * results. */
void journal_reply(struct journal_run *r, const struct journal_message *assistant,
                   const struct journal_call *calls, unsigned count, journal_fn *fn, void *owner);

struct journal_approval {
    const char *id, *call; /* id begins with the partition's short hash, so that it can be found by
                              itself; call "": it asks about the turn as a whole */
    const char *record;    /* JSON as shown by exec.approval.list */
    const char *hash;
    uint64_t expires; /* ms */
};
/* Barrier, before anybody is asked: APPROVAL_REQUIRED. */
void journal_approval_ask(struct journal_run *r, const struct journal_approval *a, journal_fn *fn,
                          void *owner);
/* Barrier. decision: allow-once, allow-always, deny, expired, cancelled. CONFLICT: decided already.
 */
void journal_approval_decide(const char *session, const char *id, const char *decision,
                             const char *by, uint64_t at, journal_fn *fn, void *owner);
/* EXECUTING, from PENDING or APPROVAL_REQUIRED (after a restart also from EXECUTING, for a tool
 * that may be repeated). Barrier unless reads_only (lazy; of several that start together all but
 * the last are written lazily, too). approval: consumed with it, or NULL. */
void journal_call_start(struct journal_run *r, const char *call, const char *approval,
                        const char *hash, bool reads_only, journal_fn *fn, void *owner);
/* Lazy. state: COMPLETED or FAILED; FAILED also for a call that never was EXECUTING. result: its
 * toolResult part. */
void journal_call_end(struct journal_run *r, const char *call, const char *state,
                      const char *result, uint64_t ms, journal_fn *fn, void *owner);
/* Lazy. The tool message with all results of a batch (and messages steered in after it). */
void journal_results(struct journal_run *r, const struct journal_message *messages, unsigned count,
                     journal_fn *fn, void *owner);

struct journal_chunk {
    const char *key;     /* of the piece, stable over a restart */
    const char *body;    /* JSON of what is sent */
    uint32_t send_class; /* chela_channel.send_class */
};
/* Barrier before the first draft of an answer goes out. */
void journal_draft(struct journal_run *r, const struct journal_chunk *draft, journal_fn *fn,
                   void *owner);
/* Barrier: the final assistant message (NULL: there is none, after a failure or tools that ended
 * the turn) and its pieces SENDING; ends the run with `state` (DONE, FAILED). */
void journal_final(struct journal_run *r, const struct journal_message *message,
                   const struct journal_chunk *chunks, unsigned count, const char *state,
                   journal_fn *fn, void *owner);
/* Barrier: ABORTED; results "interrupted" for open calls are among `messages`. */
void journal_abort(struct journal_run *r, const struct journal_message *messages, unsigned count,
                   journal_fn *fn, void *owner);

/* ---- outbox, after the run ---- */
#define JOURNAL_POST "post" /* in place of a run's id: pieces that are no turn's reply */
/* Barrier. CONFLICT: pieces of this key are stored already. */
void journal_post(const char *session, const struct journal_chunk *chunks, unsigned count,
                  journal_fn *fn, void *owner);
/* state: SENT (external id), FAILED, UNKNOWN. Lazy; for class NEITHER at once a barrier. CONFLICT:
 * there is no such piece. */
void journal_chunk_state(const char *session, const char *run, const char *key, uint32_t send_class,
                         const char *state, const char *external, journal_fn *fn, void *owner);

/* ---- sessions ---- */
/* fields: JSON object with any of title, model, thinking, verbose, instructions, queue, archived,
 * pinned, agent, unread, usage ...; null removes one. Barrier. Makes the session if it is new. */
void journal_session_patch(const char *session, const char *fields, journal_fn *fn, void *owner);
/* Barrier. A conversation that was held elsewhere, in one commit: the session, a run that has
 * ended, its messages (seq from 1 on). fields as above; the session must have no messages. */
void journal_session_import(const char *session, const char *run, struct json_object *fields,
                            const struct journal_message *messages, unsigned count, journal_fn *fn,
                            void *owner);
/* A new epoch of the session: the history before it is no longer sent, but kept. */
void journal_session_reset(const char *session, const char *reason, uint64_t at, journal_fn *fn,
                           void *owner);
void journal_session_delete(const char *session, journal_fn *fn, void *owner);
/* A summary that stands for all messages of the epoch up to `seq`. CONFLICT: that epoch is over. */
void journal_compaction(const char *session, uint64_t seq, const char *summary, uint64_t at,
                        journal_fn *fn, void *owner);

/* ---- reads; `row` is called for each, then `fn` ---- */
struct journal_row {
    unsigned columns;
    const struct chela_value *values;
};
typedef void journal_row_fn(void *owner, const struct journal_row *row);
/* key, session id, agent, fields JSON, created, updated, epoch, first seq of the epoch, last seq,
 * summary, summary seq */
void journal_session_get(const char *session, journal_row_fn *row, journal_fn *fn, void *owner);
/* the same columns, newest first; before (updated, key) pages; search in title and key, or "" */
void journal_session_list(uint64_t before, const char *before_key, const char *search,
                          unsigned limit, journal_row_fn *row, journal_fn *fn, void *owner);
/* seq, role, body, run, model, tokens_in, tokens_out, cost, at; with seq > after, oldest first */
void journal_history(const char *session, uint64_t after, unsigned limit, journal_row_fn *row,
                     journal_fn *fn, void *owner);
/* the newest `limit` before seq (0: the end), newest first */
void journal_history_tail(const char *session, uint64_t before, unsigned limit, journal_row_fn *row,
                          journal_fn *fn, void *owner);
/* kind, JSON object: all that is known of a run, by time; NOT_FOUND. Kinds and members:
 *   run {"run","session","agent","state","at","ended"} · inbox {"id","body": the message,"at"} ·
 *   state {"state","at"} · attempt {"number","model","reason","outcome","ms","in","out","at"} ·
 *   call {"id","name","arguments","state","hash","ms","result": its toolResult part,"attempt",
 *   "started","ended","approval","at"} · approval {"id","call","record","state","by","decided",
 *   "expires","at"} · chunk {"key","body","sendClass","state","external","at"} ·
 *   message {"seq","role","body","model","in","out","cost","at"} ·
 *   decision {"decision": its JSON,"at"}
 * inbox: each message that the run consumed, as it came in. */
void journal_trace(const char *run, journal_row_fn *row, journal_fn *fn, void *owner);
/* approval id, session, run, call, record, hash, state, expires, decided by: the open ones, oldest
 * first; or those that were decided, the last one first, 1000 at most, with when (ms) */
void journal_approvals(bool open_only, journal_row_fn *row, journal_fn *fn, void *owner);
/* words: any text; session, seq, role, snippet, at */
void journal_search(const char *words, unsigned limit, journal_row_fn *row, journal_fn *fn,
                    void *owner);
/* day (since 1970, UTC), session, channel, sender, provider, model, messages, answers, local (0 or
 * 1), unpriced (messages), tokens_in, tokens_out, cached (part of tokens_in), cost; of the days
 * from `from` to `to` (ms) */
void journal_usage(uint64_t from, uint64_t to, journal_row_fn *row, journal_fn *fn, void *owner);

/* What a crash left, read once at start: */
struct journal_recovery {
    /* accepted but not consumed: id, session, agent, body */
    journal_row_fn *inbox;
    /* runs not ended: run, session, agent, state, plan revision, messages consumed when it started
     * (JSON array of inbox ids) */
    journal_row_fn *run;
    /* calls neither COMPLETED nor FAILED: run, session, call, name, arguments, state, attempt */
    journal_row_fn *call;
    /* pieces SENDING: run, session, key, body, send class, at */
    journal_row_fn *chunk;
};
void journal_recover(const struct journal_recovery *r, journal_fn *fn, void *owner);

/* ---- allow-list ---- */
/* source: "channel|account|peer|agent"; kind: "tool|binary|pattern" */
void journal_allow(const char *source, const char *kind, const char *by, uint64_t at,
                   journal_fn *fn, void *owner);
void journal_allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner);
void journal_allow_list(journal_row_fn *row, journal_fn *fn,
                        void *owner); /* source, kind, by, at */

/* ---- plugin key-value and blobs (the SDK's kv group calls these) ---- */
void journal_serve_plugins(void); /* kv_group.c: registers that group, once at start */
/* value (bytes); no row if there is none */
void journal_kv_get(const char *space, const char *key, journal_row_fn *row, journal_fn *fn,
                    void *owner);
void journal_kv_put(const char *space, const char *key, struct chela_str value, bool durable,
                    journal_fn *fn, void *owner);
void journal_kv_delete(const char *space, const char *key, journal_fn *fn, void *owner);
/* key, value; by key */
void journal_kv_list(const char *space, const char *prefix, journal_row_fn *row, journal_fn *fn,
                     void *owner);
/* Replaces a document of the space in the full-text index; no parts: it is gone. */
void journal_index(const char *space, const char *document, uint64_t at, struct chela_pairs parts,
                   journal_fn *fn, void *owner);
/* document, part, at, score, text; best first. any: one of the words is enough */
void journal_index_search(const char *space, const char *words, bool any, unsigned limit,
                          journal_row_fn *row, journal_fn *fn, void *owner);
/* hash: at least 65 bytes, filled in before it returns */
void journal_blob_put(struct chela_str data, char *hash, journal_fn *fn, void *owner);
typedef void journal_blob_fn(void *owner, struct chela_str data, const struct error *e);
void journal_blob_get(const char *hash, journal_blob_fn *fn, void *owner);

/* ---- counts for tests and metrics ---- */
struct journal_counts {
    uint64_t batches, barriers, statements;
};
struct journal_counts journal_counts(void);

#endif
