/*
 * A small world on top of agent_fake.h: a channel "cli", providers that follow a script, a kit of
 * tools, and what one asks of them. For tests of whole turns.
 */
#ifndef TESTS_AGENT_WORLD_H
#define TESTS_AGENT_WORLD_H

/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/mem.h"
#include "tests/unit/agent_fake.h"

struct script_call {
    const char *id, *name, *arguments;
    bool open; /* not told to be complete */
};

/* One answer of a model. */
struct script {
    const char *text, *thinking;
    struct script_call calls[4];
    uint32_t error;
    const char *message, *stop, *unsupported;
    uint64_t retry_after, in, out;
    bool hang; /* says its text, then nothing more */
};

enum { SCRIPTS = 40, REQUESTS = 60, OPEN = 16 };

static struct {
    struct instance *channel, *mock, *other, *kit, *other_kit;
    struct script scripts[SCRIPTS];
    unsigned script_count, script_next;
    char *requests[REQUESTS]; /* JSON of each begin */
    unsigned request_count;
    uint64_t model_call; /* the last one begun */
    bool tools_hang;
    uint64_t tool_calls[OPEN];
    char *tool_names[OPEN];
    unsigned tool_count, prepared;
    const char *verdict; /* extra of prepare, NULL: none */
    char *sent;          /* all that the channel sent */
    uint32_t send_error;
    unsigned sends;
    unsigned rendered;
    uint64_t events;
} world;

static inline void world_provider(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_begin *q = args;
    (void)fn;
    struct buf b = {0};
    buf_printf(&b, "{\"model\":\"%s/%.*s\",\"params\":%.*s,\"tools\":[", instance_name(in),
               (int)q->model.n, q->model.s, (int)q->params.n, q->params.s);
    for (uint64_t i = 0; i < q->tools.n; i++)
        buf_printf(&b, "%s\"%.*s\"", i ? "," : "", (int)q->tools.v[i].name.n, q->tools.v[i].name.s);
    buf_puts(&b, "],\"messages\":[");
    for (uint64_t i = 0; i < q->messages.n; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", (int)q->messages.v[i].value.n,
                   q->messages.v[i].value.s);
    buf_puts(&b, "]}");
    if (world.request_count < REQUESTS)
        world.requests[world.request_count++] = buf_take(&b);
    buf_free(&b);
    world.model_call = call;
    static const struct script done = {.text = "done"};
    const struct script *s =
        world.script_next < world.script_count ? &world.scripts[world.script_next++] : &done;
    if (s->thinking)
        fake_thinking(call, s->thinking, "");
    if (s->text && *s->text)
        fake_text(call, s->text);
    for (unsigned i = 0; i < 4 && s->calls[i].name; i++)
        fake_tool_call(call, i, s->calls[i].id, s->calls[i].name, s->calls[i].arguments,
                       !s->calls[i].open);
    if (s->hang)
        return;
    if (s->in || s->out)
        fake_usage(call, s->in, s->out);
    char extra[160];
    snprintf(extra, sizeof extra, "{\"stop\":\"%s\"%s%s%s}",
             s->stop            ? s->stop
             : s->calls[0].name ? "tool_calls"
                                : "end",
             s->unsupported ? ",\"unsupported\":\"" : "", s->unsupported ? s->unsupported : "",
             s->unsupported ? "\"" : "");
    fake_done(call, s->error, s->message ? s->message : "", extra, 0, s->retry_after);
}

static inline void world_render(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_render *q = args;
    (void)in;
    (void)fn;
    world.rendered++;
    fake_done(call, CHELA_OK, q->message.s, "", 0, 0);
}

static inline void world_prepare(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)fn;
    (void)args;
    world.prepared++;
    fake_decide(call, CHELA_YES, "", world.verdict ? world.verdict : "", NULL, 0);
}

static inline void world_run(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_tool_run *q = args;
    (void)in;
    (void)fn;
    if (world.tool_count < OPEN) {
        world.tool_names[world.tool_count] = xmemdup(q->name.s, q->name.n);
        world.tool_calls[world.tool_count++] = call;
    }
    if (world.tools_hang)
        return;
    CLEANUP(freep) char *text = xprintf("ran %s %s", q->name.s, q->arguments.s);
    if (strcmp(q->name.s, "boom") == 0)
        fake_done(call, CHELA_OK, "it broke", "", CHELA_IS_ERROR, 0);
    else if (strcmp(q->name.s, "finish") == 0)
        fake_done(call, CHELA_OK, "over", "", CHELA_TERMINATE, 0);
    else if (strcmp(q->name.s, "get_weather") == 0)
        fake_done(call, CHELA_OK, "{\"temp\":28,\"condition\":\"\xe6\x99\xb4\"}", "", 0, 0);
    else
        fake_done(call, CHELA_OK, text, "", 0, 0);
}

static inline void world_send(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_send *q = args;
    (void)in;
    (void)fn;
    world.sends++;
    char *more = xprintf("%s%.*s\n", world.sent ? world.sent : "", (int)q->text.n, q->text.s);
    free(world.sent);
    world.sent = more;
    if (world.send_error)
        fake_done(call, world.send_error, "no", "", 0, 0);
    else
        fake_done(call, CHELA_OK, "id-1", "", 0, 0);
}

/* The slots only say that there is one; the fakes answer. */
static inline void slot_send(struct chela_inst *in, const struct chela_send *a)
{
    (void)in;
    (void)a;
}
static inline void slot_begin(struct chela_inst *in, const struct chela_begin *a)
{
    (void)in;
    (void)a;
}
static inline void slot_render(struct chela_inst *in, const struct chela_render *a)
{
    (void)in;
    (void)a;
}
static inline void slot_tool(struct chela_inst *in, const struct chela_tool_run *a)
{
    (void)in;
    (void)a;
}

static inline void world_tool(const char *name, const char *more)
{
    CLEANUP(freep)
    char *json = xprintf(
        "{\"description\":\"%s\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{"
        "\"type\":\"integer\"},\"city\":{\"type\":\"string\"}},\"additionalProperties\":false},%s}",
        name, more);
    fake_publish(world.kit, CHELA_TOOLS, name, json);
}

#define LOW    "\"security\":{\"riskLevel\":\"low\"}"
#define MEDIUM "\"security\":{\"riskLevel\":\"medium\"}"
#define HIGH   "\"security\":{\"riskLevel\":\"high\"}"

/* Everybody may write to this channel. */
static inline void world_let_in(const char *channel)
{
    CLEANUP(freep) char *from = xprintf("channels.%s.allow_from", channel);
    CLEANUP(freep) char *all = xprintf("%s.0", from);
    CLEANUP(freep) char *groups = xprintf("channels.%s.group_policy", channel);
    fake_set(from, "1");
    fake_set(all, "*");
    fake_set(groups, "open");
}

static inline void world_open(void)
{
    memset(&world, 0, sizeof world);
    fake_open();
    static struct chela_channel channel = {.platform = "terminal",
                                           .send_class = CHELA_SEND_IDEMPOTENT,
                                           .key_window_ms = 600000,
                                           .send = slot_send};
    static struct chela_provider provider = {.begin = slot_begin, .render = slot_render};
    static struct chela_tool tool = {.prepare = slot_tool, .run = slot_tool};
    struct chela_iface iface = {.channel = &channel};
    world.channel = fake_instance("cli", ROLE_CHANNEL, &iface);
    iface = (struct chela_iface){.provider = &provider};
    world.mock = fake_instance("mock", ROLE_PROVIDER, &iface);
    world.other = fake_instance("other", ROLE_PROVIDER, &iface);
    iface = (struct chela_iface){.tool = &tool};
    world.kit = fake_instance("kit", ROLE_TOOL, &iface);
    world.other_kit = fake_instance("other_kit", ROLE_TOOL, &iface);
    fake_publish(world.mock, CHELA_MODELS, "m1",
                 "{\"context\":100000,\"tools\":true,\"aliases\":[\"first\"]}");
    fake_publish(world.other, CHELA_MODELS, "m2", "{\"context\":100000,\"tools\":true}");
    world_tool("look", LOW ",\"reads_only\":true");
    world_tool("change", MEDIUM);
    world_tool("wipe", HIGH);
    world_tool("note", LOW);
    world_tool("boom", LOW ",\"reads_only\":true");
    world_tool("finish", LOW ",\"reads_only\":true");
    world_tool("step", LOW ",\"execution\":\"sequential\"");
    world_tool("again", LOW ",\"repeatable\":true");
    world_tool("hidden", LOW ",\"deferred\":true");
    fake_on(CHELA_FN_PROVIDER_BEGIN, world_provider);
    fake_on(CHELA_FN_PROVIDER_RENDER, world_render);
    fake_on(CHELA_FN_TOOL_PREPARE, world_prepare);
    fake_on(CHELA_FN_TOOL_RUN, world_run);
    fake_on(CHELA_FN_CHANNEL_SEND, world_send);
    fake_set("agents.defaults.fallback", "other/m2");
    world_let_in("cli");
    fake_start_agent();
}

static inline void world_close(void)
{
    fake_close();
    for (unsigned i = 0; i < world.request_count; i++)
        free(world.requests[i]);
    for (unsigned i = 0; i < world.tool_count; i++)
        free(world.tool_names[i]);
    free(world.sent);
}

static inline void world_script(struct script s)
{
    assert_true(world.script_count < SCRIPTS);
    world.scripts[world.script_count++] = s;
}

/* Submits a text; `wish` is the members of extra.request, or NULL. Nothing runs yet. */
static inline uint64_t world_submit(const char *id, const char *text, const char *wish)
{
    CHELA_ARGS(chela_submit, q, 0);
    CLEANUP(freep)
    char *extra =
        xprintf("{\"request\":{\"runId\":\"%s\"%s%s}}", id, wish ? "," : "", wish ? wish : "");
    q.kind = chela_s("message");
    q.event = chela_s(id);
    q.chat = chela_s("tty");
    q.sender = chela_s("me");
    q.text = chela_s(text);
    q.extra = chela_s(extra);
    q.h.flags = CHELA_OWNER;
    return fake_submit(world.channel, &q);
}

static inline void world_say(const char *id, const char *text)
{
    world_submit(id, text, NULL);
    fake_run();
}

#define SESSION "agent:main:main"

static inline bool world_heard(const char *what)
{
    return strstr(fake_events(), what) != NULL;
}

static inline unsigned world_times(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

static inline void ignore_end(void *owner, const struct error *e)
{
    if (owner)
        *(uint32_t *)owner = e ? e->class : 0;
}

/* Ends the only question that waits. */
static inline uint32_t world_decide(const char *decision)
{
    struct json_object *list = agent_approvals();
    assert_int_equal(chela_json_length(list), 1);
    uint32_t class = 99;
    agent_approval_resolve(chela_json_string(chela_json_at(list, 0), "id", NULL), decision, "test",
                           ignore_end, &class);
    fake_run();
    json_object_put(list);
    return class;
}

#endif
