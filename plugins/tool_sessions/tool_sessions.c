/*
 * tool_sessions: conversations as tools (list, read, write to, status), sub-agents, and messages to
 * chats. As a channel it is where the turns that it begins come from and answer to: the host stores
 * such a message before the turn and the answer before it is handed over, which makes the mailbox
 * between a sub-agent and its parent survive a crash. All else goes by the gateway's methods.
 */
#define CHELA_MINOR_NEED 10u
#include "sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY = 1000, WINDOW_MS = 14 * 24 * 3600 * 1000 };

void say(struct sessions *s, uint64_t call, const char *text, bool is_error)
{
    CHELA_ARGS(chela_done, d, call);
    d.h.flags = is_error ? CHELA_IS_ERROR : 0;
    d.text = chela_s(text);
    s->in->host->answer->done(s->in, &d);
}

char *agent_of_key(const char *key)
{
    const char *name = strncmp(key, "agent:", 6) == 0 ? key + 6 : "";
    return chela_copy(chela_sn(name, strcspn(name, ":")));
}

/* ---- who sees what ---- */

static bool below(struct sessions *s, const char *key, const char *above)
{
    for (unsigned depth = 0; depth < 16; depth++) {
        if (strcmp(key, above) == 0)
            return true;
        const struct child *c = child_find(s, key);
        if (!c)
            return false;
        key = child_text(c, "parent");
    }
    return false;
}

const char *hidden(struct sessions *s, const struct chela_tool_run *r, const char *key)
{
    struct chela_str rule = chela_option_text(s->in, "visibility");
    if (below(s, key, r->session.s))
        return NULL;
    if (child_find(s, r->session.s))
        return "a sub-agent sees its own sessions only";
    if (chela_str_is(rule, "all"))
        return NULL;
    if (chela_str_is(rule, "tree"))
        return "it is not one of this conversation's own (tools.sessions.visibility)";
    char *agent = agent_of_key(key);
    bool own = strcmp(agent, r->agent.s) == 0;
    free(agent);
    return own ? NULL : "it belongs to another agent (tools.sessions.visibility)";
}

/* ---- the tools ---- */

/* The chat that a message goes to is the one that it is said in: nothing that the answer could not
 * do as well. */
static bool goes_home(const struct chela_tool_run *r, json_object *a)
{
    json_object *source = chela_object_of(r->source);
    const char *channel = chela_json_string(a, "channel", NULL),
               *target = chela_json_string(a, "target", NULL);
    const char *here = chela_json_string(source, "channel", NULL),
               *chat = chela_json_string(source, "chat", NULL);
    bool home = (!channel || (here && strcmp(channel, here) == 0)) &&
                (!target || (chat && strcmp(target, chat) == 0)) &&
                !chela_json_has(a, "accountId") && !chela_json_has(a, "threadId");
    json_object_put(source);
    return home;
}

static const char *refusal(struct sessions *s, int kind, const struct chela_tool_run *r,
                           const char *key)
{
    if (kind == SEND && key && chela_str_is(r->session, key))
        return "a conversation can't send to itself: answer instead";
    return key ? hidden(s, r, key) : NULL;
}

static void put_kind(json_object *extra, int kind, json_object *a, const char *key)
{
    const char *channel = chela_json_string(a, "channel", NULL),
               *target = chela_json_string(a, "target", NULL);
    char *text = kind == MESSAGE
                     ? chela_format("%s %s", channel ? channel : "here", target ? target : "here")
                     : chela_format("%s", key ? key : "sub-agent");
    chela_json_put_text(extra, "kind", text);
    free(text);
}

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct sessions *s = in->self;
    int kind = tool_find(r->name);
    json_object *a = chela_object_of(r->arguments), *extra = chela_json_new_object();
    const char *key = chela_json_string(a, "sessionKey", NULL),
               *text = chela_json_string(a, kind == SPAWN ? "task" : "message", NULL),
               *channel = chela_json_string(a, "channel", NULL),
               *target = chela_json_string(a, "target", NULL);
    const char *no = refusal(s, kind, r, key);
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = no ? CHELA_NO : CHELA_YES;
    if (kind == MESSAGE && goes_home(r, a))
        chela_json_put_text(extra, "risk", "low");
    if (kind == SUBAGENTS && chela_str_is(chela_s(chela_json_string(a, "action", NULL)), "list"))
        chela_json_put_bool(extra, "reads_only", true);
    char *summary =
        chela_format("%.*s%s%s%s%s%s%s: %.*s", (int)r->name.n, r->name.s, key ? " " : "",
                     key ? key : "", channel ? " " : "", channel ? channel : "", target ? " " : "",
                     target ? target : "", SUMMARY, text ? text : "");
    chela_json_put_text(extra, "summary", summary);
    put_kind(extra, kind, a, key);
    if (no)
        d.text = chela_s(no);
    else
        d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->decide(in, &d);
    free(summary);
    json_object_put(extra);
    json_object_put(a);
}

static void run(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct sessions *s = in->self;
    int kind = tool_find(r->name);
    json_object *a = chela_object_of(r->arguments);
    const char *no = refusal(s, kind, r, chela_json_string(a, "sessionKey", NULL));
    if (kind < 0 || !a)
        chela_end(in, r->h.call, CHELA_E_ARGS, "there is no such tool, or no arguments");
    else if (no)
        chela_end(in, r->h.call, CHELA_E_DENIED, no);
    else if (kind == SPAWN)
        spawn_run(s, r, a);
    else if (kind == SUBAGENTS)
        subagents_run(s, r, a);
    else
        calls_run(s, kind, r, a);
    json_object_put(a);
}

/* ---- the channel ---- */

static void channel_send(struct chela_inst *in, const struct chela_send *m)
{
    children_answer(in->self, m);
}

/* ---- life ---- */

static int32_t open_instance(struct chela_inst *in)
{
    struct sessions *s = chela_need(calloc(1, sizeof *s));
    s->in = in;
    in->self = s;
    return CHELA_OK;
}

static void close_instance(struct chela_inst *in)
{
    children_free(in->self);
    free(in->self);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct sessions *s = in->self;
    s->starting = a->h.call;
    chela_publish_list(in, CHELA_TOOLS, 1, manifests, TOOLS);
    children_load(s);
}

static void applied(struct chela_inst *in, const struct chela_arg *a)
{
    chela_end(in, a->h.call, CHELA_OK, "");
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = prepare, .run = run};

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "sessions",
    .send = channel_send,
};

static const struct chela_iface sessions = {
    CHELA_IFACE("sessions", "conversations as tools, sub-agents, messages to chats",
                CHELA_CAP_DEFAULT, option_table),
    .open = open_instance,
    .close = close_instance,
    .start = start,
    .check = applied,
    .apply = applied,
    .rows = chela_op_rows,
    .done = chela_op_done,
    .channel = &channel,
    .tool = &tool,
};

CHELA_PLUGIN(tool_sessions, "0.9.0", "conversations as tools, sub-agents, messages to chats", "MIT",
             "", &sessions);
