/*
 * The facade: what the gateway and main may ask of the agent, handed to whoever knows it. Registers
 * at start what stages may not name themselves (who is told of a run's end, plugins' functions).
 */
#include "agent/agent.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/commands.h"
#include "agent/chats/ingress.h"
#include "agent/chats/markup.h"
#include "agent/chats/outbox.h"
#include "agent/chats/pairing.h"
#include "agent/chats/traffic.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/instructions.h"
#include "agent/journal/journal.h"
#include "agent/models/ask.h"
#include "agent/models/decisions.h"
#include "agent/models/embed.h"
#include "agent/models/health.h"
#include "agent/models/models.h"
#include "agent/models/spending.h"
#include "agent/recovery.h"
#include "agent/runs.h"
#include "agent/session.h"
#include "agent/tools/allow.h"
#include "agent/tools/approval.h"
#include "agent/tools/toolplan.h"
#include "agent/trace.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"

enum { OUTBOX_MS = 20 };

/* ---- start and stop ---- */

/* A question for permission goes to the chat that the turn came from, too. */
static void tell_chat(void *arg, const struct event *e)
{
    (void)arg;
    if (e->kind != EVENT_APPROVAL_REQUESTED)
        return;
    struct json_object *r = chela_json_object(e->payload, "request");
    const char *id = chela_json_string(e->payload, "id", NULL);
    const char *tool = chela_json_string(r, "toolName", NULL);
    const char *channel = chela_json_string(r, "turnSourceChannel", NULL);
    const char *chat = chela_json_string(r, "turnSourceTo", NULL);
    const char *account = chela_json_string(r, "turnSourceAccountId", NULL);
    const char *thread = chela_json_string(r, "turnSourceThreadId", NULL);
    const char *command = chela_json_string(r, "command", NULL);
    const char *risk = chela_json_string(r, "risk", NULL);
    if (!channel || !id || !command)
        return;
    struct message m = {.channel = (char *)(uintptr_t)channel,
                        .event = (char *)(uintptr_t)id,
                        .account = (char *)(uintptr_t)(account ? account : ""),
                        .chat = (char *)(uintptr_t)(chat ? chat : ""),
                        .thread = (char *)(uintptr_t)(thread ? thread : "")};
    CLEANUP(freep)
    char *asked =
        tool && strcmp(tool, "limit") == 0
            ? xstrdup(command)
            : xprintf("May I run this (%s risk)?\n\n```\n%s\n```", risk ? risk : "?", command);
    CLEANUP(freep)
    char *text = xprintf("%s\n\n`/approve %.8s allow-once` or `/deny %.8s`", asked, id, id);
    static const char *const words[] = {"allow-once", "allow-always", "deny"};
    struct json_object *buttons = chela_json_new_array();
    struct json_object *allowed = chela_json_array(r, "allowedDecisions");
    for (unsigned i = 0; i < ARRAY_LENGTH(words); i++) {
        for (size_t k = 0; k < chela_json_length(allowed); k++) {
            const char *word = chela_json_as_string(chela_json_at(allowed, k), NULL);
            if (!word || strcmp(word, words[i]) != 0)
                continue;
            CLEANUP(freep) char *value = xprintf("/approve %s %s", id, words[i]);
            struct json_object *b = chela_json_push_object(buttons);
            chela_json_put_text(b, "label", words[i]);
            chela_json_put_text(b, "value", value);
        }
    }
    outbox_notice(&m, text, buttons);
    json_object_put(buttons);
}

struct start {
    agent_fn *ready;
    void *owner;
};

static void recovered(void *owner, const struct error *e)
{
    struct start *s = owner;
    agent_fn *ready = s->ready;
    void *ready_owner = s->owner;
    free(s);
    if (!e)
        ingress_open();
    ready(ready_owner, e);
}

static void counted(void *owner, const struct error *e)
{
    if (e)
        log_warning("agent",
                    "what was spent this month can't be read, so limits begin at nothing: %s",
                    e->text);
    recovery_run(recovered, owner);
}

static void paired(void *owner, const struct error *e)
{
    if (e)
        recovered(owner, e);
    else
        spending_load(counted, owner);
}

void agent_prepare(void)
{
    ingress_register();
}

void agent_start(agent_fn *ready, void *owner)
{
    agent_prepare();
    runs_on_end(session_released);
    ask_register();
    embed_register();
    markup_register();
    events_listen(tell_chat, NULL);
    struct start *s = xcalloc(1, sizeof *s);
    s->ready = ready;
    s->owner = owner;
    pairing_load(paired, s);
}

struct stop {
    uint64_t timer, until;
    agent_fn *fn;
    void *owner;
};

static struct stop *stopping;

static void reset_all(void)
{
    session_forget_all();
    ingress_reset();
    outbox_reset();
    approval_reset();
    allow_reset();
    transcript_reset();
    toolplan_reset();
    toolset_reset();
    models_reset();
    health_reset();
    spending_reset();
    decisions_reset();
    instructions_reset();
    runs_reset();
}

/* No turn runs any more; what is being sent gets what is left of the time. */
static void turns_ended(void *arg)
{
    struct stop *s = arg;
    loop_timer_stop(s->timer);
    s->timer = 0;
    if (outbox_waiting() && clock_ticks_ms() < s->until) {
        s->timer = loop_timer(OUTBOX_MS, turns_ended, s);
        return;
    }
    agent_fn *fn = s->fn;
    void *fn_owner = s->owner;
    free(s);
    stopping = NULL;
    if (fn)
        fn(fn_owner, NULL);
    reset_all();
}

static void suspend_one(void *arg, struct run *r)
{
    (void)arg;
    runs_suspend(r);
}

static void grace_over(void *arg)
{
    struct stop *s = arg;
    s->timer = 0;
    s->until = 0;
    runs_each(NULL, suspend_one, NULL);
}

void agent_stop(uint64_t grace_ms, agent_fn *fn, void *owner)
{
    if (stopping) { /* again, with less patience: who asked first is told */
        loop_timer_stop(stopping->timer);
        stopping->until = clock_ticks_ms() + grace_ms;
        stopping->timer = loop_timer(grace_ms, grace_over, stopping);
        return;
    }
    struct stop *s = xcalloc(1, sizeof *s);
    s->fn = fn;
    s->owner = owner;
    s->until = clock_ticks_ms() + grace_ms;
    stopping = s;
    ingress_stop();
    s->timer = loop_timer(grace_ms, grace_over, s);
    session_drain(turns_ended, s);
}

/* ---- messages and runs ---- */

void agent_client_send(const struct agent_client_message *m, agent_sent_fn *fn, void *owner)
{
    ingress_client_send(m, fn, owner);
}

struct run_visit {
    void (*each)(void *arg, const struct agent_run *r);
    void *arg;
};

static void visit_run(void *arg, struct run *r)
{
    struct run_visit *v = arg;
    struct agent_run out = {.run = r->id,
                            .session = r->session,
                            .agent = r->agent,
                            .state = turn_state_name(r->state),
                            .model = r->model ? r->model : "",
                            .started_ms = r->started_ms,
                            .text = buf_text(&r->text)};
    v->each(v->arg, &out);
}

void agent_runs(const char *session, void (*each)(void *arg, const struct agent_run *r), void *arg)
{
    struct run_visit v = {each, arg};
    runs_each(session, visit_run, &v);
}

unsigned agent_abort(const char *session, const char *run, const char *by, agent_fn *fn,
                     void *owner)
{
    return session_abort(session, run, by, fn, owner);
}

/* A run that ended before the results that are kept: its end is in the journal. */
static void ended_long_ago(void *owner, struct json_object *o, const struct error *e)
{
    char *run = owner;
    const char *state = e ? NULL : chela_json_string(o, "state", NULL);
    enum turn_state s = state ? turn_state_of(state) : TURN_STATES;
    if (s < TURN_STATES && turn_state_final(s) && !runs_result(run)) {
        struct json_object *r = chela_json_new_object();
        chela_json_put_text(r, "runId", run);
        chela_json_put_text(r, "status",
                            s == TURN_DONE     ? "ok"
                            : s == TURN_FAILED ? "error"
                                               : "aborted");
        chela_json_put_text(r, "summary", state);
        runs_keep_result(run, r);
    }
    free(run);
}

void agent_wait(const char *run, uint64_t timeout_ms, agent_wait_fn *fn, void *owner)
{
    bool here = runs_find(run) || runs_result(run);
    runs_wait(run, timeout_ms, fn, owner);
    if (!here)
        trace_read(run, ended_long_ago, xstrdup(run));
}

void agent_wait_forget(void *owner)
{
    runs_wait_forget(owner);
}

/* ---- agents and sessions ---- */

const char *agent_default(void)
{
    return agents_default();
}

struct json_object *agent_list(void)
{
    struct json_object *list = chela_json_new_array();
    const char *agent;
    for (unsigned i = 0; (agent = agents_at(i)); i++) {
        struct json_object *o = chela_json_push_object(list);
        const char *name = agents_text(agent, "name");
        CLEANUP(freep) char *workspace = agents_workspace(agent);
        chela_json_put_text(o, "id", agent);
        chela_json_put_text(o, "name", *name ? name : agent);
        chela_json_put_text(o, "workspace", workspace);
        struct json_object *model = chela_json_put_object(o, "model");
        const char *primary = agents_text(agent, "model");
        CLEANUP(freep) char *first = *primary ? NULL : models_first();
        chela_json_put_text(model, "primary", *primary ? primary : first);
        struct json_object *fallbacks = chela_json_put_array(model, "fallbacks");
        for (unsigned k = 0; k < agents_count(agent, "fallback"); k++) {
            const char *item = agents_item(agent, "fallback", k);
            chela_json_push(fallbacks, chela_json_new_string(item, strlen(item)));
        }
    }
    return list;
}

char *agent_session_key(const char *agent, const char *wanted)
{
    return session_key_full(agent, wanted);
}

void agent_session_patch(const char *session, struct json_object *fields, agent_fn *fn, void *owner)
{
    session_patch(session, fields, fn, owner);
}

void agent_session_reset(const char *session, const char *reason, agent_fn *fn, void *owner)
{
    session_reset(session, reason, fn, owner);
}

void agent_session_delete(const char *session, agent_fn *fn, void *owner)
{
    session_delete(session, fn, owner);
}

void agent_session_compact(const char *session, const char *instructions, agent_fn *fn, void *owner)
{
    session_compact(session, instructions, fn, owner);
}

void agent_inject(const char *session, const char *text, const char *label, agent_fn *fn,
                  void *owner)
{
    session_inject(session, text, label, fn, owner);
}

int agent_session_import(const char *session, const char *source, const char *title,
                         struct json_object *messages, agent_fn *fn, void *owner, struct error *e)
{
    return session_import(session, source, title, messages, fn, owner, e);
}

/* ---- tools, commands ---- */

struct json_object *agent_allow_list(void)
{
    return allow_entries();
}

int agent_allow_add(const char *source, const char *kind, const char *by, struct error *e)
{
    if (allow_check(kind, e) != 0)
        return -1;
    CLEANUP(freep) char *from = xprintf("~%s", source && *source ? source : "*");
    CLEANUP(freep) char *what = xprintf("~%s", kind);
    allow_add(from, what, by);
    return 0;
}

void agent_allow_remove(const char *source, const char *kind, agent_fn *fn, void *owner)
{
    allow_remove(source, kind, fn, owner);
}

struct json_object *agent_tools(const char *session)
{
    CLEANUP(freep) char *agent = session_key_agent(session ? session : "");
    const struct policy_scope scope = {.agent = agent};
    return toolplan_explain(&scope, NULL);
}

struct json_object *agent_tools_explain(const char *session, const char *channel,
                                        const char *sender, const char *text)
{
    CLEANUP(freep) char *agent = session_key_agent(session ? session : "");
    const struct policy_scope scope = {.agent = agent, .channel = channel, .sender = sender};
    return toolplan_explain(&scope, text);
}

struct json_object *agent_commands(void)
{
    return commands_list();
}

/* ---- a message that is no turn's ---- */

void agent_post(const struct agent_post *n, agent_fn *fn, void *owner)
{
    char uuid[ID_UUID_SIZE];
    id_uuid(uuid);
    struct message m = {.channel = (char *)(uintptr_t)n->channel,
                        .event = (char *)(uintptr_t)(n->key && *n->key ? n->key : uuid),
                        .account = (char *)(uintptr_t)(n->account ? n->account : ""),
                        .chat = (char *)(uintptr_t)(n->chat ? n->chat : ""),
                        .thread = (char *)(uintptr_t)(n->thread ? n->thread : "")};
    if (!instance_find(ROLE_CHANNEL, n->channel)) {
        struct error e = {0};
        error_set(&e, CHELA_E_NOT_FOUND, "there is no channel \"%s\"", n->channel);
        fn(owner, &e);
        return;
    }
    outbox_post(n->session && *n->session ? n->session : JOURNAL_POST, &m, n->text, n->buttons, fn,
                owner);
}

/* ---- channels ---- */

void agent_channel_traffic(const char *channel, struct json_object *o)
{
    traffic_describe(channel, o);
}

struct json_object *agent_delivery_failures(void)
{
    return traffic_failures();
}

struct json_object *agent_pairings(void)
{
    return pairing_list();
}

void agent_pairing_approve(const char *channel, const char *code, const char *by, agent_fn *fn,
                           void *owner)
{
    pairing_approve(channel, code, by, fn, owner);
}

void agent_pairing_revoke(const char *channel, const char *sender, agent_fn *fn, void *owner)
{
    pairing_revoke(channel, sender, fn, owner);
}

/* ---- approvals, trace ---- */

void agent_approval_resolve(const char *id, const char *decision, const char *by, agent_fn *fn,
                            void *owner)
{
    approval_resolve(id, decision, by, fn, owner);
}

struct json_object *agent_approvals(void)
{
    return approval_list(NULL);
}

void agent_trace(const char *run, agent_json_fn *fn, void *owner)
{
    trace_read(run, fn, owner);
}
