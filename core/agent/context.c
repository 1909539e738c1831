/*
 * Context: from a job to a prompt. Loads the session's transcript, puts the new messages behind it,
 * assembles the system prompt (base, files, instructions, plugins' sections, hooks) and freezes the
 * tool plan. Called by session.c, calls route.c. Never calls a model: the budget is turn.c's, which
 * knows whose window it is.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "agent/instructions.h"
#include "agent/journal/journal.h"
#include "agent/models/tokens.h"
#include "agent/runs.h"
#include "agent/tools/hooks.h"
#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

enum { SECTION_MS = 3000, SECTION_BYTES = 20000 };

struct section {
    struct assembly *a;
    struct instance *in;
    char *name, *text;
    int64_t order;
    bool is_volatile, is_memory;
};

struct assembly {
    struct prompt *p;
    char *workspace;
    struct section *sections;
    unsigned section_count, left;
};

static struct run *run_of(const struct assembly *a)
{
    return runs_find(a->p->job->run);
}

static void assembly_free(struct assembly *a)
{
    for (unsigned i = 0; i < a->section_count; i++) {
        free(a->sections[i].name);
        free(a->sections[i].text);
    }
    free(a->sections);
    free(a->workspace);
    free(a);
}

/* A list of strings as words parted by blanks. */
static char *words_of(struct json_object *list)
{
    struct buf b = {0};
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *word = chela_json_as_string(chela_json_at(list, i), NULL);
        if (word && *word && !strchr(word, ' '))
            buf_printf(&b, "%s%s", b.n ? " " : "", word);
    }
    buf_text(&b);
    return buf_take(&b);
}

/* Whoever a turn is made for, its rules hold: a sub-agent or a job has no more than the message
 * that it came of. */
static struct tool_plan *plan_of(const struct job *j)
{
    const struct message *m = j->message;
    struct json_object *wishes = message_wishes(m), *tools = chela_json_object(wishes, "tools"),
                       *origin = chela_json_object(wishes, "onBehalfOf");
    const char *channel = chela_json_string(origin, "channel", NULL);
    const char *sender = chela_json_string(origin, "sender", NULL);
    CLEANUP(freep) char *only = words_of(chela_json_array(tools, "allow"));
    CLEANUP(freep) char *without = words_of(chela_json_array(tools, "deny"));
    const struct policy_scope scope = {.agent = j->agent,
                                       .channel = channel ? channel : m->channel,
                                       .sender = sender ? sender : m->sender,
                                       .only = only,
                                       .without = without};
    return toolplan_get_for(&scope);
}

/* On to the router; whatever happened, the turn is the one that ends a run. */
static void hand_over(struct assembly *a)
{
    struct prompt *p = a->p;
    const struct transcript *t = p->transcript;
    const struct message *m = p->job->message;
    p->tools =
        toolplan_with_client(plan_of(p->job), chela_json_array(message_wishes(m), "clientTools"));
    p->tokens = tokens_of(p->system, strlen(p->system)) + p->tools->tokens;
    if (t) {
        p->tokens += transcript_tokens(t, 0) + tokens_of(t->summary, strlen(t->summary));
        for (unsigned i = p->first; i < t->count; i++)
            p->images += t->entries[i].media;
    }
    assembly_free(a);
    route_choose(p);
}

static void hooks_done(void *owner, const struct hooks_result *r)
{
    struct assembly *a = owner;
    if (r->text && *r->text) {
        char *system = xprintf("%s\n%s\n", a->p->system, r->text);
        free(a->p->system);
        a->p->system = system;
    }
    hand_over(a);
}

static int by_order(const void *x, const void *y)
{
    const struct section *a = x, *b = y;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void assemble(struct assembly *a)
{
    struct job *j = a->p->job;
    const char *extra = chela_json_string(message_wishes(j->message), "extraSystemPrompt", NULL);
    struct instructions_request q = {
        .agent = j->agent,
        .workspace = a->workspace,
        .channel = j->message->channel,
        .platform = j->message->platform,
        .session_text = a->p->transcript ? transcript_field(a->p->transcript, "instructions") : "",
        .extra = extra ? extra : "",
        .chat_type = j->message->chat_type};
    struct buf stable = {0}, changing = {0}, memory = {0};
    instructions_base(&stable, &q);
    instructions_files(&stable, j->agent, a->workspace);
    if (a->section_count)
        qsort(a->sections, a->section_count, sizeof *a->sections, by_order);
    for (unsigned i = 0; i < a->section_count; i++) {
        const struct section *s = &a->sections[i];
        if (s->text && *s->text)
            buf_printf(s->is_memory     ? &memory
                       : s->is_volatile ? &changing
                                        : &stable,
                       "\n%s\n", s->text);
    }
    instructions_rest(&stable, &q);
    a->p->system = buf_take(&stable);
    buf_text(&changing);
    a->p->volatile_text = buf_take(&changing);
    buf_text(&memory);
    a->p->memory = buf_take(&memory);
    if (!hooks_any(CHELA_BEFORE_PROMPT)) {
        hand_over(a);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "system", a->p->system);
    chela_json_put_text(o, "text", j->message->text);
    hooks_ask(CHELA_BEFORE_PROMPT, j->agent, j->session, o, NULL, hooks_done, a);
}

static void section_done(void *owner, uint64_t call, const struct chela_done *d,
                         const struct chela_decide *v)
{
    struct section *s = owner;
    struct assembly *a = s->a;
    (void)call;
    (void)v;
    if (d->error != CHELA_OK)
        log_warning("agent", "prompt section %s of %s: %.*s", s->name, instance_name(s->in),
                    (int)d->text.n, d->text.s ? d->text.s : "");
    else
        s->text = xmemdup(d->text.s ? d->text.s : "",
                          d->text.n > SECTION_BYTES ? SECTION_BYTES : d->text.n);
    if (--a->left == 0)
        assemble(a);
}

static const struct call_ops section_ops = {NULL, section_done};

static void find_sections(struct assembly *a)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_SERVICE, in));) {
        const struct chela_service *service = instance_iface(in)->service;
        const struct published *p = published_get(in, CHELA_PROMPTS);
        for (size_t i = 0; p && service && service->prompt && i < p->count; i++) {
            if (instance_state(in) != INSTANCE_RUNNING)
                break;
            struct json_object *o = NULL;
            chela_json_parse(p->items[i].value.s, p->items[i].value.n, NULL, &o, NULL);
            const char *place = chela_json_string(o, "place", NULL);
            a->sections = xrealloc(a->sections, (a->section_count + 1) * sizeof *a->sections);
            a->sections[a->section_count++] =
                (struct section){a,
                                 in,
                                 xmemdup(p->items[i].name.s, p->items[i].name.n),
                                 NULL,
                                 chela_json_int(o, "order", 0),
                                 chela_json_bool(o, "volatile", false),
                                 place && strcmp(place, "memory") == 0};
            json_object_put(o);
        }
        published_release(p);
    }
}

static void ask_sections(struct assembly *a)
{
    struct job *j = a->p->job;
    find_sections(a);
    a->left = a->section_count;
    if (a->left == 0) {
        assemble(a);
        return;
    }
    for (unsigned i = 0; i < a->section_count; i++) {
        CHELA_ARGS(chela_prompt, q, 0);
        q.name = chela_s(a->sections[i].name);
        q.session = chela_s(j->session);
        q.agent = chela_s(j->agent);
        q.workspace = chela_s(a->workspace);
        q.text = chela_s(j->message->text);
        call_begin(a->sections[i].in, CHELA_FN_SERVICE_PROMPT, &q, SECTION_MS, 0, &section_ops,
                   &a->sections[i]);
    }
}

/* Results for calls that no run will end any more: the transcript stays paired. */
static void repair(struct transcript *t)
{
    struct json_object *open = transcript_open_calls(t);
    if (!open)
        return;
    struct json_object *results = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(open); i++) {
        struct json_object *call = chela_json_at(open, i);
        struct json_object *o = chela_json_push_object(results);
        chela_json_put_text(o, "type", "toolResult");
        chela_json_put_text(o, "callId", chela_json_string(call, "id", NULL));
        chela_json_put_text(o, "name", chela_json_string(call, "name", NULL));
        struct json_object *part = chela_json_push_object(chela_json_put_array(o, "content"));
        chela_json_put_text(part, "type", "text");
        chela_json_put_text(part, "text", "Interrupted: the outcome of this call is unknown.");
        chela_json_put_bool(o, "isError", true);
    }
    transcript_append(t, t->last + 1, "tool", chela_json_text(results, NULL), NULL);
    json_object_put(results);
    json_object_put(open);
}

static void session_began(void *owner, const struct hooks_result *r)
{
    (void)owner;
    (void)r;
}

static void loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct assembly *a = owner;
    struct job *j = a->p->job;
    if (e) { /* the turn tells it */
        log_error("agent", "session %s can't be read: %s", j->session, e->text);
        assemble(a);
        return;
    }
    a->p->transcript = t;
    a->p->first = t->count;
    if (t->count == 0 && !*t->summary && hooks_any(CHELA_SESSION_START)) {
        struct json_object *o = chela_json_new_object();
        chela_json_put_text(o, "session", j->session);
        chela_json_put_text(o, "agent", j->agent);
        hooks_ask(CHELA_SESSION_START, j->agent, j->session, o, NULL, session_began, NULL);
    }
    if (j->recovered && chela_json_length(j->fresh) == 0) { /* its messages are in the store */
        a->p->first = transcript_last_user(t);
    } else {
        repair(t);
        for (size_t i = 0; i < chela_json_length(j->fresh); i++) {
            struct json_object *m = chela_json_at(j->fresh, i);
            transcript_append(t, t->last + 1, job_fresh_role(m),
                              chela_json_text(chela_json_get(m, "content"), NULL), NULL);
        }
    }
    struct run *r = run_of(a);
    if (r && !r->message)
        r->message = message_form(j->message, t->id && *t->id ? t->id : j->session);
    ask_sections(a);
}

void context_build(struct job *j)
{
    struct assembly *a = xcalloc(1, sizeof *a);
    a->p = xcalloc(1, sizeof *a->p);
    a->p->job = j;
    a->workspace = agents_workspace(j->agent);
    struct run *r = run_of(a);
    if (r)
        runs_move(r, TURN_CONTEXT_ASSEMBLY);
    transcript_get(j->session, loaded, a);
}
