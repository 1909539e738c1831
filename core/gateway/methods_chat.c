/*
 * Methods of conversation: chat.send, chat.history, chat.abort, chat.inject, agent, agent.wait.
 * Called by method.c; they call the agent and read the journal.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/limits.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "host/instance.h"
#include "support/json.h"

enum { AGENT_TIMEOUT_MS = 600000, WAIT_TIMEOUT_MS = 30000, HISTORY_DEFAULT = 200 };

/* ---- chat.send and agent ---- */

/* A message on its way to the agent: whom to answer and how. */
struct sending {
    struct rpc *rpc;
    char *session, *agent;
    uint64_t timeout_ms;
    bool waits;           /* `agent`: a second answer follows at the run's end */
    method_sent_fn *done; /* who answers instead, or NULL */
};

static void sending_free(struct sending *s)
{
    free(s->session);
    free(s->agent);
    free(s);
}

static void run_ended(void *owner, json_object *result)
{
    struct sending *s = owner;
    rpc_answer(s->rpc, json_object_get(result));
    sending_free(s);
}

static void sent(void *owner, const char *run, const char *status, const struct error *e)
{
    struct sending *s = owner;
    if (s->done || e) {
        if (s->done)
            s->done(s->rpc, run, status, e);
        else
            rpc_fail_error(s->rpc, e);
        sending_free(s);
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", run);
    if (!s->waits) {
        chela_json_put_text(o, "status", status);
        rpc_answer(s->rpc, o);
        sending_free(s);
        return;
    }
    chela_json_put_text(o, "sessionKey", s->session);
    chela_json_put_text(o, "agentId", s->agent);
    chela_json_put_text(o, "status", "accepted");
    chela_json_put_int(o, "acceptedAt", (int64_t)clock_now_ms());
    rpc_answer_first(s->rpc, o);
    agent_wait(run, s->timeout_ms, run_ended, s);
}

/* The channel instance whose surface this client is; NULL if it is not enabled. */
static const char *channel_of(const struct connection *c)
{
    bool page = strcmp(c->mode, "webchat") == 0 || strcmp(c->mode, "ui") == 0;
    if (page && instance_find(ROLE_CHANNEL, "webchat"))
        return "webchat";
    return instance_find(ROLE_CHANNEL, "cli") ? "cli" : NULL;
}

static json_object *media_of(json_object *attachments, struct error *e)
{
    json_object *media = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(attachments); i++) {
        json_object *a = chela_json_at(attachments, i), *o = chela_json_push_object(media);
        const char *name = chela_json_string(a, "fileName", NULL),
                   *mime = chela_json_string(a, "mimeType", NULL);
        size_t n = 0;
        const char *content = chela_json_string(a, "content", &n);
        if (!content) {
            json_object_put(media);
            error_set(e, CHELA_E_ARGS, "attachment %zu has no content", i + 1);
            return NULL;
        }
        chela_json_put_text(o, "name", name ? name : "attachment");
        chela_json_put_text(o, "mime", mime ? mime : "application/octet-stream");
        chela_json_put_string(o, "content", content, n);
    }
    return media;
}

static void wish(json_object *request, const char *name, json_object *params, const char *member)
{
    json_object *value = chela_json_get(params, member);
    if (value)
        chela_json_put(request, name, json_object_get(value));
}

/* How a message is sent, beside the parameters. */
struct manner {
    const char *session, *message, *key;
    bool waits;
    uint64_t timeout_ms;
    method_sent_fn *done;
};

static void send_message(struct rpc *rpc, json_object *params, const struct manner *how)
{
    struct connection *c = connection_find(rpc->connection);
    struct error e;
    const char *channel = channel_of(c), *agent = chela_json_string(params, "agentId", NULL);
    if (!channel) {
        rpc_fail(rpc, "UNAVAILABLE", NULL,
                 "the channel for this client is disabled: set channels.cli.enabled = true");
        return;
    }
    json_object *media = media_of(chela_json_array(params, "attachments"), &e);
    if (!media) {
        rpc_fail_error(rpc, &e);
        return;
    }
    struct sending *s = xcalloc(1, sizeof *s);
    s->rpc = rpc;
    s->agent = xstrdup(agent && *agent ? agent : agent_default());
    s->session = agent_session_key(s->agent, how->session ? how->session : "");
    s->waits = how->waits;
    s->timeout_ms = how->timeout_ms;
    s->done = how->done;
    json_object *request = chela_json_new_object(), *client = connection_describe(c);
    wish(request, "thinking", params, "thinking");
    wish(request, "queueMode", params, "queueMode");
    wish(request, "timeoutMs", params, "timeoutMs");
    wish(request, "model", params, "model");
    wish(request, "provider", params, "provider");
    wish(request, "extraSystemPrompt", params, "extraSystemPrompt");
    wish(request, "replyToId", params, "replyToId");
    wish(request, "suppressCommandInterpretation", params, "suppressCommandInterpretation");
    struct agent_client_message m = {
        .channel = channel,
        .client = client,
        .session = s->session,
        .agent = s->agent,
        .key = how->key,
        .text = how->message,
        .media = media,
        .request = request,
    };
    agent_client_send(&m, sent, s);
    json_object_put(request);
    json_object_put(client);
    json_object_put(media);
}

static struct manner manner_of(json_object *params)
{
    return (struct manner){.session = chela_json_string(params, "sessionKey", NULL),
                           .message = chela_json_string(params, "message", NULL),
                           .key = chela_json_string(params, "idempotencyKey", NULL)};
}

static void chat_send(struct rpc *rpc, json_object *params)
{
    struct manner how = manner_of(params);
    send_message(rpc, params, &how);
}

void method_send(struct rpc *rpc, json_object *params, const char *session, const char *message,
                 const char *key, method_sent_fn *done)
{
    const struct manner how = {.session = session, .message = message, .key = key, .done = done};
    send_message(rpc, params, &how);
}

static void agent_run_method(struct rpc *rpc, json_object *params)
{
    int64_t seconds = chela_json_int(params, "timeout", AGENT_TIMEOUT_MS / 1000);
    struct manner how = manner_of(params);
    how.waits = true;
    how.timeout_ms = seconds > 0 ? (uint64_t)seconds * 1000u : 0;
    send_message(rpc, params, &how);
}

static void wait_ended(void *owner, json_object *result)
{
    rpc_answer(owner, json_object_get(result));
}

static void agent_wait_method(struct rpc *rpc, json_object *params)
{
    int64_t ms = chela_json_int(params, "timeoutMs", WAIT_TIMEOUT_MS);
    agent_wait(chela_json_string(params, "runId", NULL), ms < 0 ? 0 : (uint64_t)ms, wait_ended,
               rpc);
}

/* ---- chat.history ---- */

struct history {
    struct rpc *rpc;
    char *session;
    json_object *messages; /* newest first while rows come */
    json_object *info;
    size_t max_chars;
    unsigned limit;
    uint64_t before;
    method_history_fn *done; /* who gets the answer instead, or NULL */
};

static void history_free(struct history *h)
{
    json_object_put(h->messages);
    json_object_put(h->info);
    free(h->session);
    free(h);
}

static void add_in_flight(void *arg, const struct agent_run *r)
{
    json_object *o = arg;
    if (chela_json_get(o, "inFlightRun"))
        return;
    json_object *run = chela_json_put_object(o, "inFlightRun");
    chela_json_put_text(run, "runId", r->run);
    chela_json_put_text(run, "text", r->text);
}

static void history_done(void *owner, const struct error *e)
{
    struct history *h = owner;
    if (e) {
        rpc_fail_error(h->rpc, e);
        history_free(h);
        return;
    }
    json_object *o = chela_json_new_object(), *messages = chela_json_put_array(o, "messages");
    for (size_t i = chela_json_length(h->messages); i-- > 0;) {
        json_object *row =
            chela_json_at(h->messages, i); /* entries of one stored message, in order */
        for (size_t k = 0; k < chela_json_length(row); k++)
            chela_json_push(messages, json_object_get(chela_json_at(row, k)));
    }
    chela_json_put_text(o, "sessionKey", h->session);
    const char *id = chela_json_string(h->info, "sessionId", NULL);
    if (id) /* a session without messages has none yet */
        chela_json_put_text(o, "sessionId", id);
    if (h->info)
        chela_json_put(o, "sessionInfo", json_object_get(h->info));
    agent_runs(h->session, add_in_flight, o);
    if (h->done)
        h->done(h->rpc, o);
    else
        rpc_answer(h->rpc, o);
    history_free(h);
}

static void history_row(void *owner, const struct journal_row *row)
{
    struct history *h = owner;
    json_object *entries = chela_json_new_array();
    view_message(row, h->session, h->max_chars, entries);
    chela_json_push(h->messages, entries);
}

static void info_row(void *owner, const struct journal_row *row)
{
    struct history *h = owner;
    json_object_put(h->info);
    h->info = view_session(row);
}

static void info_done(void *owner, const struct error *e)
{
    struct history *h = owner;
    if (e && e->class != CHELA_E_NOT_FOUND) {
        history_done(h, e);
        return;
    }
    journal_history_tail(h->session, h->before, h->limit, history_row, history_done, h);
}

void method_history(struct rpc *rpc, json_object *params, method_history_fn *done)
{
    struct history *h = xcalloc(1, sizeof *h);
    int64_t limit = chela_json_int(params, "limit", HISTORY_DEFAULT),
            max = chela_json_int(params, "maxChars", 0);
    const char *agent = chela_json_string(params, "agentId", NULL),
               *cursor = chela_json_string(params, "cursor", NULL);
    h->rpc = rpc;
    h->session = agent_session_key(agent ? agent : agent_default(),
                                   chela_json_string(params, "sessionKey", NULL));
    h->messages = chela_json_new_array();
    h->max_chars = max > 0 ? (size_t)max : 0;
    h->limit = limit < 1 ? 1 : limit > LIMIT_HISTORY ? LIMIT_HISTORY : (unsigned)limit;
    h->before = cursor ? strtoull(cursor, NULL, 10) : 0;
    h->done = done;
    journal_session_get(h->session, info_row, info_done, h);
}

static void chat_history(struct rpc *rpc, json_object *params)
{
    method_history(rpc, params, NULL);
}

/* ---- chat.abort, chat.inject ---- */

struct aborting {
    struct rpc *rpc;
    json_object *runs;
};

static void add_run(void *arg, const struct agent_run *r)
{
    chela_json_push(arg, json_object_new_string(r->run));
}

static void aborted(void *owner, const struct error *e)
{
    struct aborting *a = owner;
    if (e) {
        rpc_fail_error(a->rpc, e);
        json_object_put(a->runs);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_bool(o, "ok", true);
        chela_json_put_bool(o, "aborted", chela_json_length(a->runs) > 0);
        chela_json_put(o, "runIds", a->runs);
        rpc_answer(a->rpc, o);
    }
    free(a);
}

void method_abort(struct rpc *rpc, const char *session, const char *run)
{
    struct aborting *a = xcalloc(1, sizeof *a);
    struct connection *c = connection_find(rpc->connection);
    a->rpc = rpc;
    a->runs = chela_json_new_array();
    if (run)
        chela_json_push(a->runs, json_object_new_string(run));
    else
        agent_runs(session, add_run, a->runs);
    if (agent_abort(session, run, c->client_id, aborted, a) == 0) {
        json_object_put(a->runs);
        a->runs = chela_json_new_array();
        aborted(a, NULL); /* nobody else will: there was nothing to stop */
    }
}

static void chat_abort(struct rpc *rpc, json_object *params)
{
    const char *agent = chela_json_string(params, "agentId", NULL);
    CLEANUP(freep)
    char *session = agent_session_key(agent ? agent : agent_default(),
                                      chela_json_string(params, "sessionKey", NULL));
    method_abort(rpc, session, chela_json_string(params, "runId", NULL));
}

static void finished(void *owner, const struct error *e)
{
    rpc_done(owner, e);
}

static void chat_inject(struct rpc *rpc, json_object *params)
{
    CLEANUP(freep)
    char *session =
        agent_session_key(agent_default(), chela_json_string(params, "sessionKey", NULL));
    agent_inject(session, chela_json_string(params, "message", NULL),
                 chela_json_string(params, "label", NULL), finished, rpc);
}

const struct method methods_chat[] = {
    {"chat.send", SCOPE_WRITE,
     "sessionKey:s! message:s! idempotencyKey:s! agentId:s sessionId:s intent:o thinking:s "
     "fastMode:* "
     "fastAutoOnSeconds:i queueMode:s deliver:b originatingChannel:s originatingTo:s "
     "originatingAccountId:s "
     "originatingThreadId:s replyToId:s attachments:a toolBindings:o timeoutMs:i "
     "systemInputProvenance:o "
     "systemProvenanceReceipt:s suppressCommandInterpretation:b expectedLeafEntryId:s|null "
     "expectedSessionRoutingContract:s expectedPermissionMode:s|null expectedToolOverrides:o|null",
     chat_send},
    {"chat.history", SCOPE_READ,
     "sessionKey:s! agentId:s cursor:s limit:i offset:i pendingBefore:i inputRunIds:a messageId:s "
     "sessionId:s "
     "maxChars:i",
     chat_history},
    {"chat.abort", SCOPE_WRITE, "sessionKey:s! agentId:s runId:s preserveSideRuns:b", chat_abort},
    {"chat.inject", SCOPE_ADMIN, "sessionKey:s! agentId:s message:s! label:s", chat_inject},
    {"agent", SCOPE_WRITE,
     "message:s! idempotencyKey:s! agentId:s provider:s model:s to:s replyTo:s sessionId:s "
     "sessionKey:s "
     "expectedExistingSessionId:s thinking:s deliver:b attachments:a channel:s replyChannel:s "
     "accountId:s "
     "replyAccountId:s threadId:s groupId:s groupChannel:s groupSpace:s timeout:i "
     "bestEffortDeliver:b lane:s cwd:s "
     "cleanupBundleMcpOnRunEnd:b modelRun:b promptMode:s extraSystemPrompt:s "
     "bootstrapContextMode:s "
     "bootstrapContextRunKind:s inputProvenance:o label:s suppressPromptPersistence:b "
     "sessionEffects:s "
     "sourceReplyDeliveryMode:s",
     agent_run_method},
    {"agent.wait", SCOPE_READ, "runId:s! timeoutMs:i", agent_wait_method},
    {NULL, 0, NULL, NULL},
};
