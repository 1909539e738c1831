/*
 * What happens in the agent, told to whoever listens (the gateway sends it to its clients). Any
 * stage may emit; listeners are registered by main and are called from the top of the loop, in
 * order.
 */
#ifndef AGENT_EVENTS_H
#define AGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* Names and payloads are those of the gateway's protocol (doc/protocol.md). */
enum event_kind {
    EVENT_CHAT,  /* {runId, sessionKey, agentId, seq, state: status|delta|final|aborted|error, ...}
                  */
    EVENT_AGENT, /* {runId, seq, stream: lifecycle|assistant|thinking|tool|usage|compaction, ts,
                    sessionKey, data} */
    EVENT_APPROVAL_REQUESTED, /* the record of exec.approval.list */
    EVENT_APPROVAL_RESOLVED,  /* {id, decision, resolvedBy, ts, request} */
    EVENT_SESSIONS_CHANGED,   /* {key, reason} */
    EVENT_SESSION_MESSAGE     /* {sessionKey, message, messageId, messageSeq} */
};

struct event {
    enum event_kind kind;
    const char *session, *run;   /* "" if none */
    struct json_object *payload; /* borrowed; listeners may read it and take a reference */
};

/* Takes over the payload (drops its reference afterwards). */
void events_emit(enum event_kind kind, const char *session, const char *run,
                 struct json_object *payload);
void events_listen(void (*fn)(void *arg, const struct event *e), void *arg);
void events_reset(void); /* tests */

#endif
