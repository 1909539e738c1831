/*
 * The agent as the gateway and main see it: start and stop, messages from clients, running turns,
 * sessions, approvals. Reads of stored things go straight to journal.h.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct json_object;

typedef void agent_fn(void *owner, const struct error *e);

/* Before plugins start: what they submit waits for agent_start(). */
void agent_prepare(void);
/* Registers what plugins may ask for (ask, markup ...), reads what a crash left, resumes it. */
void agent_start(agent_fn *ready, void *owner);
/* No new turns; running ones get `grace_ms`, then stop where they are and go on at the next start;
 * fn (may be NULL) when all is on disk. A second call shortens the time of the first. */
void agent_stop(uint64_t grace_ms, agent_fn *fn, void *owner);

/* ---- messages from clients of the gateway ---- */
struct agent_client_message {
    const char *channel;        /* instance that owns it: "cli", "webchat" */
    struct json_object *client; /* {"id","mode","platform","connection"} */
    const char *session;        /* key */
    const char *agent;          /* "" = the session's or the default one */
    const char *key;            /* idempotency key; becomes the run's id */
    const char *text;
    struct json_object *media;   /* [{"name","mime","content" base64}] or NULL */
    struct json_object *request; /* wishes: flow.h message.extra.request; or NULL */
};
/* status: "started" or "queued", or "in_flight" / "ok" if the key was seen before. A slash command
 * is answered at once (state final on EVENT_CHAT) without a model. */
typedef void agent_sent_fn(void *owner, const char *run, const char *status, const struct error *e);
void agent_client_send(const struct agent_client_message *m, agent_sent_fn *fn, void *owner);

/* ---- running turns ---- */
struct agent_run {
    const char *run, *session, *agent, *state, *model;
    uint64_t started_ms; /* wall clock */
    const char *text;    /* the answer so far */
};
void agent_runs(const char *session /* or NULL */,
                void (*each)(void *arg, const struct agent_run *r), void *arg);
/* Aborts the run, or all of the session (queued ones too); returns how many. fn when "stopped" may
 * be shown; it isn't called if there were none. */
unsigned agent_abort(const char *session, const char *run, const char *by, agent_fn *fn,
                     void *owner);
/* Called once when the run has ended (at once if it has), or after timeout_ms with status
 * "timeout":
 * {"runId","status":"ok"|"error"|"aborted"|"timeout","summary","startedAt","endedAt","error",
 *  "result":{"payloads":[{"text"}],"meta":{"durationMs","agentMeta":{"sessionId","provider","model","usage"}}}}
 */
typedef void agent_wait_fn(void *owner, struct json_object *result);
void agent_wait(const char *run, uint64_t timeout_ms, agent_wait_fn *fn, void *owner);
void agent_wait_forget(void *owner);

/* ---- agents and sessions ---- */
const char *agent_default(void); /* id */
/* Configured agents in order: {"id","name","workspace","model":{"primary","fallbacks"}}; free with
 * json_object_put */
struct json_object *agent_list(void);
/* Full key for what a client wrote ("main", "", "agent:main:main"): free it. */
char *agent_session_key(const char *agent, const char *wanted);
/* fields as in journal_session_patch, checked; */
void agent_session_patch(const char *session, struct json_object *fields, agent_fn *fn,
                         void *owner);
void agent_session_reset(const char *session, const char *reason, agent_fn *fn, void *owner);
void agent_session_delete(const char *session, agent_fn *fn, void *owner);
void agent_session_compact(const char *session, const char *instructions, agent_fn *fn,
                           void *owner);
/* An entry that only goes into the history (chat.inject). */
void agent_inject(const char *session, const char *text, const char *label, agent_fn *fn,
                  void *owner);
/* A conversation that was held elsewhere, see session.h: session_import. */
int agent_session_import(const char *session, const char *source, const char *title,
                         struct json_object *messages, agent_fn *fn, void *owner, struct error *e);

/* ---- models, tools, commands ---- */
/* [{"id","name","provider","contextWindow","available","input":[...],"reasoning"}] */
struct json_object *agent_models(void);
/* "instance/model" for a name or an alias; NULL: no provider has it. Free it. */
char *agent_model_name(const char *wanted);
/* Asks the model for one word, past all routers and circuits: {"model","ok","ms","text" or "error",
 * "class","cost"}. */
typedef void agent_json_fn(void *owner, struct json_object *o, const struct error *e);
void agent_model_probe(const char *model, agent_json_fn *fn, void *owner);
/* What the routers see and say for a text: facts, each router's reasons, candidates, what each
 * would cost. Nobody is asked but the classifier, by a router that asks it. */
struct agent_question {
    const char *session, *text;
    const char *channel, *sender, *attachments; /* NULL: as said in a terminal, without any */
};
void agent_route_explain(const struct agent_question *q, agent_json_fn *fn, void *owner);
/* [{"name","description","source","visible","why"}] of the tools for a session */
struct json_object *agent_tools(const char *session);
/* The same for messages of a channel and a sender ("" = any), with what a person is asked about
 * ("approval") and, for a text (or NULL), how well the tool's description fits it ("score"). */
struct json_object *agent_tools_explain(const char *session, const char *channel,
                                        const char *sender, const char *text);
/* [{"name","description","acceptsArgs","source","category"}] */
struct json_object *agent_commands(void);

/* ---- approvals ---- */
/* decision: allow-once, allow-always, deny. NOT_FOUND, CONFLICT (decided already), ARGS (not
 * offered). */
void agent_approval_resolve(const char *id, const char *decision, const char *by, agent_fn *fn,
                            void *owner);
/* The allow-list: [{"source","kind"}]. What is added by hand is a pattern with '*' and '?': source
 * "channel|account|peer|agent"; kind "tool" or "tool|what", of exec the resolved program and its
 * words. ARGS: it would allow any program, or an interpreter. */
struct json_object *agent_allow_list(void);
int agent_allow_add(const char *source, const char *kind, const char *by, struct error *e);
void agent_allow_remove(const char *source, const char *kind, agent_fn *fn, void *owner);
/* The records that wait: array. */
struct json_object *agent_approvals(void);

/* ---- trace ---- */
/* {"run","session","agent","states":[{"state","at"}],"legs":[{"leg","from","to"}],"route","attempts","calls",
 * "message": the one form} */
/* Channels: see traffic.h, pairing.h. Lists are the caller's. */
void agent_channel_traffic(const char *channel, struct json_object *o);
struct json_object *agent_delivery_failures(void);
struct json_object *agent_pairings(void);
void agent_pairing_approve(const char *channel, const char *code, const char *by, agent_fn *fn,
                           void *owner);
void agent_pairing_revoke(const char *channel, const char *sender, agent_fn *fn, void *owner);

/* A text to a chat of a channel, outside of any turn: on its way once it is stored (fn). session:
 * on whose behalf, may be NULL; key: the same one again is not sent again; buttons:
 * [{"label","value"}] or NULL. NOT_FOUND: there is no such channel. */
struct agent_post {
    const char *session, *channel, *account, *chat, *thread, *text, *key;
    struct json_object *buttons;
};
void agent_post(const struct agent_post *n, agent_fn *fn, void *owner);
void agent_trace(const char *run, agent_json_fn *fn, void *owner);

#endif
