/*
 * The way of a message: the structs that one stage hands to the next, and the stages' entry
 * functions in their order. A stage owns its struct until it hands it on, keeps no pointer into it
 * afterwards, and calls only the next stage; ids go along.
 *
 *   ingress -> session -> context -> route -> turn -> outbox
 *   message -> job     -> prompt  -> plan  -> turn -> reply
 */
#ifndef AGENT_FLOW_H
#define AGENT_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "host/instance.h"

struct json_object;

/* ---- 1. ingress: a message as it came in, whatever the channel ---- */
struct message {
    char *channel;      /* instance, e.g. "cli" */
    char *platform;     /* "terminal", "web", "telegram" */
    char *kind, *event; /* "message", "edit", "reaction"; the service's id */
    uint64_t version;
    char *account, *chat, *thread;
    uint32_t chat_type, flags; /* CHELA_DIRECT ...; CHELA_MENTIONED, CHELA_OWNER, CHELA_BUTTON */
    char *sender, *sender_name;
    char *session; /* key that the sender asked for, "" = by the rules */
    char *text, *reply_to, *quote;
    struct json_object *media; /* [{"name","hash","mime","size"}] */
    struct json_object *extra; /* object; "request" holds a client's wishes: model, thinking,
                                  queueMode, timeoutMs, extraSystemPrompt, runId, of plugins also
                                  tools, budget, onBehalfOf (chela/chat.h), and of
                                  HTTP clients (gateway/api_input.h) clientTools, history */
    uint64_t at;               /* seconds since 1970 */
};

void message_free(struct message *m); /* NULL is fine, as everywhere here */
struct message *message_copy(const struct message *m);
/* extra.request: what a client wished, or NULL. */
struct json_object *message_wishes(const struct message *m);
/* The whole of it, for the journal, and back. */
struct json_object *message_to_json(const struct message *m);
struct message *message_from_json(struct json_object *o);
/* The mission's one form: {"channel","sessionId","message":{"role","content","attachments"},
 * "metadata":{"platform","timestamp"}}, exactly as `chela trace RUN --message` shows it. */
struct json_object *message_form(const struct message *m, const char *session_id);

/* `fn` gets the run's id once the message is stored ("" if no turn comes of it), or the error. Owns
 * m. */
typedef void ingress_fn(void *owner, const char *run, const struct error *e);
void ingress_accept(struct message *m, ingress_fn *fn, void *owner);

/* ---- 2. session: a turn to be, in its session's queue ---- */
struct job {
    struct link link;
    char *run, *session, *agent; /* ids; session is the key */
    struct message *message; /* the one that it answers (the newest if several were collected) */
    char **inbox;            /* ids of all inbox rows that it consumes */
    unsigned inbox_count;
    struct json_object *fresh; /* array of {"content": parts, "inbox": id, "role"?}: the messages to
                                  add to the transcript; without a role a user's */
    bool recovered;            /* found again after a restart */
    bool collect;              /* may share a turn with what waits beside it */
    uint64_t accepted_ms;      /* clock_ticks_ms */
};

void job_free(struct job *j);
const char *job_fresh_role(struct json_object *fresh); /* "user", "assistant", "tool" */
void job_add_inbox(struct job *j, const char *id);
/* Takes the job: starts it, queues it, steers it into the running turn or collects it, by the
 * queue's mode. */
void session_submit(struct job *j);
/* The turn of this session has ended: the next one may begin. `left`: jobs that were steered into
 * it but not taken. Registered with runs.h by agent_start(), since no stage calls backwards. */
void session_released(const char *session, const char *run, struct link *left);

/* ---- 3. context: all that a model will be told ---- */
struct prompt {
    struct job *job;
    char *system; /* base, the user's files, session's instructions: stable from turn to turn */
    struct transcript *transcript; /* transcript.h: committed prefix and this job's own tail */
    unsigned first;                /* index of this turn's first message in it */
    struct tool_plan *tools;       /* toolplan.h: frozen */
    char *memory;                  /* what is always remembered: told before the history */
    char *volatile_text;           /* behind the history: time, retrieved notes */
    uint64_t tokens;               /* estimate of the whole */
    unsigned images;
};

void prompt_free(struct prompt *p);
void context_build(struct job *j);

/* ---- 4. route: which models, in which order ---- */
struct candidate {
    char *model; /* "instance/model" with aliases resolved */
    char *reason;
    char *by; /* who named it: a router's name, "person", "agent", "default" */
};

struct plan {
    struct prompt *prompt;
    struct candidate *candidates;
    unsigned count;
    bool strict; /* a person chose the model: no fallback */
};

void plan_free(struct plan *p);
void route_choose(struct prompt *p);
/* The same without a turn: {"facts","routers":[{"name","verdict","reason","candidates"}],
 * "candidates":[...],"strict"}; owned by the callee. */
struct route_question {
    const char *session, *agent, *channel, *sender, *text, *prefer;
    const char *attachments;             /* kinds: "image file", or "" */
    const struct transcript *transcript; /* or NULL */
    uint64_t tokens;
    unsigned tools, tool_calls;
};
typedef void route_fn(void *owner, struct json_object *o);
void route_explain(const struct route_question *q, route_fn *fn, void *owner);

/* ---- 5. turn: the loop of model and tools (turn.h has its states) ---- */
void turn_begin(struct plan *p);

/* ---- 6. outbox: the answer on its way back ---- */
struct reply {
    char *run, *session, *agent;
    struct message *message; /* where it goes: channel, account, chat, thread, reply_to */
    char *draft;             /* id of the message that shows the draft, or NULL: it is edited */
    char *text;              /* Markdown; "" or NO_REPLY: nothing is sent */
    struct json_object *media;
    struct json_object *extra; /* for clients: usage, model, stop reason */
};

void reply_free(struct reply *r);
/* The pieces for the journal's final row, made before it is written (hooks may change or suppress
 * the text: fn comes at once or later; the reply stays the caller's) ... */
struct outbox_chunks;
typedef void outbox_fn(void *owner, struct outbox_chunks *chunks);
void outbox_prepare(struct reply *r, outbox_fn *fn, void *owner);
struct journal_chunk;
const struct journal_chunk *outbox_rows(const struct outbox_chunks *chunks, unsigned *ret_count);
/* ... and sent after it is on disk. Owns both. */
void outbox_send(struct reply *r, struct outbox_chunks *chunks);
void outbox_drop(struct outbox_chunks *chunks); /* it could not be stored */

#endif
