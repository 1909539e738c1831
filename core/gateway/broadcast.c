/*
 * Events of the agent on their way to clients (see broadcast.h): which name, which right, which
 * capability.
 */
#include "gateway/broadcast.h"

#include <json-c/json_object.h>
#include <string.h>

#include "agent/events.h"
#include "base/mem.h"
#include "gateway/approval_wait.h"
#include "gateway/audit.h"
#include "gateway/connection.h"
#include "gateway/view.h"
#include "support/json.h"

static void to_follower(void *arg, struct connection *c)
{
    struct chela_str *payload = arg;
    if (c->follows_sessions && connection_may(c, SCOPE_READ))
        connection_event(c, "sessions.changed", *payload, true);
}

static void sessions_changed(json_object *payload)
{
    size_t n;
    struct chela_str text = {.s = chela_json_text(payload, &n)};
    text.n = n;
    connection_each(to_follower, &text);
}

/* Who allowed or refused what, for the audit log. */
static void note_approval(json_object *payload)
{
    static const char *const kept[] = {"command", "cwd",        "toolName", "arguments",
                                       "risk",    "sessionKey", "runId"};
    json_object *what = chela_json_new_object(), *request = chela_json_object(payload, "request");
    chela_json_put_text(what, "id", chela_json_string(payload, "id", NULL));
    chela_json_put_text(what, "decision", chela_json_string(payload, "decision", NULL));
    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
        if (chela_json_get(request, kept[i]))
            chela_json_put(what, kept[i], json_object_get(chela_json_get(request, kept[i])));
    audit_note("approval", chela_json_string(payload, "resolvedBy", NULL), what);
}

/* In the form of chat.history, so that clients know a message again: one event for each entry. */
static void session_message(json_object *payload)
{
    json_object *entries = view_live_message(payload);
    for (size_t i = 0; i < chela_json_length(entries); i++) {
        json_object *o = chela_json_new_object(), *message = chela_json_at(entries, i),
                    *meta = chela_json_object(message, "__openclaw");
        chela_json_put(o, "sessionKey", json_object_get(chela_json_get(payload, "sessionKey")));
        chela_json_put(o, "message", json_object_get(message));
        chela_json_put(o, "messageId", json_object_get(chela_json_get(meta, "id")));
        chela_json_put(o, "messageSeq", json_object_get(chela_json_get(payload, "messageSeq")));
        connection_broadcast("session.message", o, SCOPE_READ, 0);
        json_object_put(o);
    }
    json_object_put(entries);
}

static void on_event(void *arg, const struct event *e)
{
    (void)arg;
    switch (e->kind) {
    case EVENT_CHAT: connection_broadcast("chat", e->payload, SCOPE_READ, 0); break;
    case EVENT_AGENT: {
        const char *stream = chela_json_string(e->payload, "stream", NULL);
        bool tool = stream && strcmp(stream, "tool") == 0;
        connection_broadcast("agent", e->payload, SCOPE_READ, tool ? CAP_TOOL_EVENTS : 0);
        break;
    }
    case EVENT_APPROVAL_REQUESTED:
        connection_broadcast("exec.approval.requested", e->payload, SCOPE_APPROVALS, 0);
        plugin_approval_requested(e->payload);
        break;
    case EVENT_APPROVAL_RESOLVED:
        connection_broadcast("exec.approval.resolved", e->payload, SCOPE_APPROVALS, 0);
        plugin_approval_resolved(e->payload);
        approval_wait_event(e);
        note_approval(e->payload);
        break;
    case EVENT_SESSIONS_CHANGED: sessions_changed(e->payload); break;
    case EVENT_SESSION_MESSAGE: session_message(e->payload); break;
    }
}

void broadcast_open(void)
{
    events_listen(on_event, NULL);
}
