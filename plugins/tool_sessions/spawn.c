/*
 * sessions_spawn and subagents: a sub-agent is made within its bounds (depth, number, time, tokens,
 * tools), recorded, then given its task; what runs can be listed and stopped. Called by
 * tool_sessions.c; children.c keeps and delivers.
 */
#include "sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spawning {
    uint64_t call;
    char *session;
    bool started; /* stored; now its task is submitted */
};

unsigned hops_of(const char *run)
{
    return run && strncmp(run, "hop", 3) == 0 ? (unsigned)strtoul(run + 3, NULL, 10) : 0;
}

/* Why there can't be one more, or NULL. Owned by the caller. */
static char *refusal(struct sessions *s, const struct chela_tool_run *r, json_object *a)
{
    struct child *self = child_find(s, r->session.s);
    int64_t depth = self ? chela_json_int(self->o, "depth", 0) : 0,
            deepest = chela_option_number(s->in, "subagents.max_depth"),
            own = chela_option_number(s->in, "subagents.per_session"),
            all = chela_option_number(s->in, "subagents.running");
    int64_t mine = 0, running = 0;
    for (struct child *c = s->children; c; c = c->next) {
        running += child_running(c);
        mine += child_running(c) && chela_str_is(r->session, child_text(c, "parent"));
    }
    const char *agent = chela_json_string(a, "agentId", NULL);
    if (depth >= deepest)
        return chela_format("a sub-agent of depth %lld has none of its own "
                            "(tools.sessions.subagents.max_depth)",
                            (long long)depth);
    if (mine >= own)
        return chela_format("%lld sub-agents of this conversation are at work; wait for one "
                            "(tools.sessions.subagents.per_session)",
                            (long long)mine);
    if (running >= all)
        return chela_format("%lld sub-agents are at work; wait for one "
                            "(tools.sessions.subagents.running)",
                            (long long)running);
    if (agent && !chela_str_is(r->agent, agent) &&
        !chela_str_is(chela_option_text(s->in, "visibility"), "all"))
        return chela_format("another agent's help needs tools.sessions.visibility = \"all\"");
    return NULL;
}

static void put_tools(struct sessions *s, json_object *request, json_object *a, bool deepest)
{
    json_object *wanted = chela_json_object(a, "tools"),
                *tools = chela_json_put_object(request, "tools"),
                *allow = chela_json_array(wanted, "allow"), *deny = chela_json_new_array();
    if (allow)
        chela_json_put(tools, "allow", json_object_get(allow));
    for (int64_t i = 0; i < chela_option_number(s->in, "subagents.deny"); i++) {
        char path[64];
        snprintf(path, sizeof path, "subagents.deny.%lld", (long long)i);
        struct chela_str word = chela_option_text(s->in, path);
        chela_json_push(deny, chela_json_new_string(word.s, (size_t)word.n));
    }
    for (size_t i = 0; i < chela_json_length(chela_json_array(wanted, "deny")); i++)
        chela_json_push(deny, json_object_get(chela_json_at(chela_json_array(wanted, "deny"), i)));
    if (deepest)
        chela_json_push(deny, chela_json_new_string("sessions_spawn", 14));
    chela_json_put(tools, "deny", deny);
}

static json_object *request_of(struct sessions *s, json_object *a, const char *run, int64_t depth,
                               json_object *origin)
{
    json_object *q = chela_json_new_object(), *budget = chela_json_put_object(q, "budget");
    struct chela_str model = chela_option_text(s->in, "subagents.model");
    int64_t tokens = chela_option_number(s->in, "subagents.tokens"),
            wanted = chela_json_int(a, "maxTokens", 0),
            ms = chela_option_number(s->in, "subagents.timeout"),
            seconds = chela_json_int(a, "runTimeoutSeconds", 0);
    chela_json_put_text(q, "runId", run);
    chela_json_put_bool(q, "suppressCommandInterpretation", true);
    if (chela_json_has(a, "model"))
        chela_json_put_text(q, "model", chela_member(a, "model"));
    else if (model.n)
        chela_json_put_string(q, "model", model.s, (size_t)model.n);
    if (chela_json_has(a, "thinking"))
        chela_json_put_text(q, "thinking", chela_member(a, "thinking"));
    if (seconds > 0 && seconds < ms / 1000)
        ms = seconds * 1000;
    chela_json_put_int(q, "timeoutMs", ms);
    chela_json_put_int(budget, "tokens",
                       wanted > 0 && (tokens == 0 || wanted < tokens) ? wanted : tokens);
    chela_json_put_int(budget, "steps", chela_option_number(s->in, "subagents.steps"));
    put_tools(s, q, a, depth >= chela_option_number(s->in, "subagents.max_depth"));
    chela_json_put_text(q, "extraSystemPrompt",
                        "You are a sub-agent: the message is a task from the assistant that you "
                        "help, not from a person. Nobody can answer questions. Your last message "
                        "is the result; say in it all that you found or did, and what failed.");
    json_object *behalf = chela_json_put_object(q, "onBehalfOf");
    chela_json_put_text(behalf, "channel", chela_member(origin, "channel"));
    chela_json_put_text(behalf, "sender", chela_member(origin, "sender"));
    return q;
}

static void spawning_end(struct sessions *s, struct spawning *w, const char *text, bool failed)
{
    say(s, w->call, text, failed);
    free(w->session);
    free(w);
}

static void started(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    struct spawning *w = owner;
    struct child *c = child_find(s, w->session);
    if (d->error != CHELA_OK || !c) {
        char *text = chela_format("The sub-agent could not be started: %.*s", (int)d->text.n,
                                  d->text.n ? d->text.s : "");
        if (c) {
            chela_json_put_text(c->o, "state", "ended");
            chela_json_put_text(c->o, "status", "not started");
            child_put(s, c, NULL, NULL);
        }
        spawning_end(s, w, text, true);
        free(text);
        return;
    }
    if (!w->started) {
        w->started = true;
        child_start(s, c, started, w);
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "status", "accepted");
    chela_json_put_text(o, "childSessionKey", w->session);
    chela_json_put_text(o, "runId", child_text(c, "run"));
    chela_json_put_text(o, "note", "Its result comes as a message; don't wait by asking again.");
    spawning_end(s, w, chela_json_text(o, NULL), false);
    json_object_put(o);
}

static json_object *record(struct sessions *s, const struct chela_tool_run *r, json_object *a,
                           const char *run)
{
    struct child *self = child_find(s, r->session.s);
    int64_t depth = (self ? chela_json_int(self->o, "depth", 0) : 0) + 1;
    /* a sub-agent's own ones work for whom it works for */
    json_object *origin = self ? json_object_get(chela_json_object(self->o, "origin"))
                               : chela_object_of(r->source),
                *o = chela_json_new_object();
    chela_json_put_text(o, "run", run);
    chela_json_put_string(o, "parent", r->session.s, (size_t)r->session.n);
    chela_json_put_string(o, "parentAgent", r->agent.s, (size_t)r->agent.n);
    chela_json_put_text(o, "agent",
                        chela_json_has(a, "agentId") ? chela_member(a, "agentId") : r->agent.s);
    chela_json_put_text(o, "label", chela_member(a, "label"));
    chela_json_put_text(o, "task", chela_member(a, "task"));
    chela_json_put_int(o, "depth", depth);
    chela_json_put_text(o, "state", "running");
    chela_json_put_int(o, "startedAt", (int64_t)s->in->host->local->now_ms(s->in));
    chela_json_put(o, "request", request_of(s, a, run, depth, origin));
    chela_json_put(o, "origin", origin ? origin : chela_json_new_object());
    return o;
}

void spawn_run(struct sessions *s, const struct chela_tool_run *r, json_object *a)
{
    char *no = refusal(s, r, a);
    if (no) {
        char *text = chela_format("Not started: %s.", no);
        say(s, r->h.call, text, true);
        free(text);
        free(no);
        return;
    }
    struct spawning *w = chela_need(calloc(1, sizeof *w));
    char *id = chela_format("%llx-%llx", (unsigned long long)s->in->host->local->now_ms(s->in),
                            (unsigned long long)s->in->host->local->new_call(s->in));
    char *run = chela_format("sub-%s", id);
    json_object *o = record(s, r, a, run);
    w->call = r->h.call;
    w->session = chela_format("agent:%s:subagent:%s", chela_member(o, "agent"), id);
    child_put(s, child_add(s, w->session, o), started, w);
    free(run);
    free(id);
}

/* ---- subagents ---- */

static void stopped(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    uint64_t *call = owner;
    char *error = chela_copy(d->text);
    say(s, *call, d->error == CHELA_OK ? "Stopped." : error, d->error != CHELA_OK);
    free(error);
    free(call);
}

static void list(struct sessions *s, const struct chela_tool_run *r)
{
    char *text = NULL;
    size_t n;
    FILE *out = chela_need(open_memstream(&text, &n));
    for (struct child *c = s->children; c; c = c->next)
        if (chela_str_is(r->session, child_text(c, "parent")))
            fprintf(out, "%s \"%s\": %s %s\n", c->session, child_text(c, "label"),
                    child_text(c, "state"), child_text(c, "status"));
    fclose(out);
    say(s, r->h.call, n ? text : "There are none.", false);
    free(text);
}

void subagents_run(struct sessions *s, const struct chela_tool_run *r, json_object *a)
{
    struct child *c = child_find(s, chela_member(a, "sessionKey"));
    if (strcmp(chela_member(a, "action"), "list") == 0) {
        list(s, r);
        return;
    }
    if (!c || !chela_str_is(r->session, child_text(c, "parent"))) {
        say(s, r->h.call, "This conversation has no such sub-agent.", true);
        return;
    }
    uint64_t *call = chela_need(malloc(sizeof *call));
    json_object *params = chela_json_new_object();
    *call = r->h.call;
    chela_json_put_text(params, "sessionKey", c->session);
    chela_ask_gateway(s->in, r->h.call, "chat.abort", params, stopped, call);
}
