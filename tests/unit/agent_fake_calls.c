/*
 * The fake calls of tests of the agent: slots are functions of the test, what they say waits until
 * the fake loop delivers it.
 */
#include "tests/unit/agent_fake_calls.h"

#include <stdlib.h>
#include <string.h>
#include <wire/functions.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "tests/unit/agent_fake.h"
#include "tests/unit/agent_fake_journal.h"

/* ---- calls ---- */

struct call_open {
    struct link link;
    uint64_t id, deadline;
    struct instance *in;
    const struct call_ops *ops;
    void *owner;
    bool forgotten, cancelled;
};

struct said {
    struct link link;
    uint64_t call;
    uint32_t fn;
    union {
        struct chela_head h;
        struct chela_text text;
        struct chela_thinking thinking;
        struct chela_tool_call tool_call;
        struct chela_usage usage;
        struct chela_done done;
        struct chela_decide decide;
    } args;
    char *strings[4];
    struct chela_pair pairs[16];
};

static struct link open_calls = {&open_calls, &open_calls};
static struct link said = {&said, &said};
static fake_slot *slots[CHELA_FN_COUNT];
static uint64_t last_call;
static unsigned keys[256], key_count;
bool fake_cancel_ends = true;

void fake_on(uint32_t fn, fake_slot *slot)
{
    slots[fn] = slot;
}

static struct call_open *find_call(uint64_t id)
{
    LIST_EACH(l, &open_calls)
    {
        struct call_open *c = CONTAINER_OF(l, struct call_open, link);
        if (c->id == id)
            return c;
    }
    return NULL;
}

bool fake_is_open(uint64_t call)
{
    return find_call(call) != NULL;
}

unsigned fake_open_calls(void)
{
    unsigned n = 0;
    LIST_EACH(l, &open_calls)
    n++;
    return n;
}

static struct said *say(uint64_t call, uint32_t fn)
{
    struct said *s = xcalloc(1, sizeof *s);
    s->call = call;
    s->fn = fn;
    list_append(&said, &s->link);
    return s;
}

static struct chela_str keep(struct said *s, unsigned slot, const char *text)
{
    s->strings[slot] = xstrdup(text ? text : "");
    return chela_s(s->strings[slot]);
}

void fake_text(uint64_t call, const char *text)
{
    struct said *s = say(call, CHELA_FN_TEXT);
    s->args.text.text = keep(s, 0, text);
}

void fake_thinking(uint64_t call, const char *text, const char *signature)
{
    struct said *s = say(call, CHELA_FN_THINKING);
    s->args.thinking.text = keep(s, 0, text);
    s->args.thinking.signature = keep(s, 1, signature);
}

void fake_tool_call(uint64_t call, uint32_t index, const char *id, const char *name,
                    const char *arguments, bool last)
{
    struct said *s = say(call, CHELA_FN_TOOL_CALL);
    s->args.tool_call.index = index;
    s->args.tool_call.h.flags = last ? CHELA_LAST : 0;
    s->args.tool_call.id = keep(s, 0, id);
    s->args.tool_call.name = keep(s, 1, name);
    s->args.tool_call.arguments = keep(s, 2, arguments);
}

void fake_usage(uint64_t call, uint64_t in, uint64_t out)
{
    struct said *s = say(call, CHELA_FN_USAGE);
    s->args.usage.in = in;
    s->args.usage.out = out;
}

void fake_done(uint64_t call, uint32_t error, const char *text, const char *extra, uint32_t flags,
               uint64_t retry_after)
{
    struct said *s = say(call, CHELA_FN_DONE);
    s->args.done.error = error;
    s->args.done.h.flags = flags;
    s->args.done.retry_after_ms = retry_after;
    s->args.done.text = keep(s, 0, text);
    s->args.done.extra = keep(s, 1, extra);
}

void fake_decide(uint64_t call, uint32_t verdict, const char *text, const char *extra,
                 const struct chela_pair *candidates, uint64_t count)
{
    struct said *s = say(call, CHELA_FN_DECIDE);
    s->args.decide.verdict = verdict;
    s->args.decide.text = keep(s, 0, text);
    s->args.decide.extra = keep(s, 1, extra);
    for (uint64_t i = 0; i < count && i < 16; i++)
        s->pairs[i] = candidates[i]; /* string constants of the test */
    s->args.decide.candidates = (struct chela_pairs){s->pairs, count};
}

static void said_free(struct said *s)
{
    list_remove(&s->link);
    for (unsigned i = 0; i < 4; i++)
        free(s->strings[i]);
    free(s);
}

static void end_call(struct call_open *c, const struct chela_done *d, const struct chela_decide *v)
{
    const struct call_ops *ops = c->ops;
    void *owner = c->owner;
    uint64_t id = c->id;
    bool tell = !c->forgotten && ops && ops->done;
    list_remove(&c->link);
    free(c);
    if (tell)
        ops->done(owner, id, d, v);
}

/* One thing that a plugin or the journal said. */
bool fake_calls_deliver(void)
{
    if (list_empty(&said))
        return fake_journal_deliver();
    struct said *s = CONTAINER_OF(said.next, struct said, link);
    list_remove(&s->link);
    struct call_open *c = find_call(s->call);
    if (c && s->fn == CHELA_FN_DONE) {
        end_call(c, &s->args.done, NULL);
    } else if (c && s->fn == CHELA_FN_DECIDE) {
        CHELA_ARGS(chela_done, ok, s->call);
        end_call(c, &ok, &s->args.decide);
    } else if (c && !c->forgotten && !c->cancelled && c->ops && c->ops->event) {
        c->ops->event(c->owner, s->call, s->fn, &s->args);
    }
    said_free(s);
    return true;
}

static void deadline(void *arg)
{
    uint64_t id = (uint64_t)(uintptr_t)arg;
    if (find_call(id))
        fake_done(id, CHELA_E_TIMEOUT, "too late", "", 0, 0);
}

uint64_t call_begin(struct instance *in, uint32_t fn, void *args, uint64_t deadline_ms,
                    uint64_t parent, const struct call_ops *ops, void *owner)
{
    (void)parent;
    struct call_open *c = xcalloc(1, sizeof *c);
    c->id = ++last_call;
    c->in = in;
    c->ops = ops;
    c->owner = owner;
    list_append(&open_calls, &c->link);
    ((struct chela_head *)args)->call = c->id;
    uint64_t id = c->id;
    if (deadline_ms)
        loop_timer(deadline_ms, deadline, (void *)(uintptr_t)id);
    if (slots[fn])
        slots[fn](in, id, fn, args);
    else
        fake_done(id, CHELA_E_UNSUPPORTED, "no such slot", "", 0, 0);
    return id;
}

void call_cancel(uint64_t id)
{
    struct call_open *c = find_call(id);
    if (!c || c->cancelled)
        return;
    c->cancelled = true;
    if (fake_cancel_ends)
        fake_done(id, CHELA_E_CANCELLED, "cancelled", "", 0, 0);
}

void call_forget(uint64_t id)
{
    struct call_open *c = find_call(id);
    if (!c)
        return;
    c->forgotten = true;
    call_cancel(id);
}

void call_tell(struct instance *in, uint32_t fn, void *args)
{
    if (slots[fn])
        slots[fn](in, 0, fn, args);
}

/* ---- the other direction ---- */

static call_handler *handlers[CHELA_FN_COUNT];
static struct map answers; /* by number */
static uint64_t last_plugin_call = 1000000;

void call_handle(uint32_t fn, call_handler *begin, void (*cancel)(struct instance *, uint64_t))
{
    (void)cancel;
    handlers[fn] = begin;
}

void call_event(uint64_t id, uint32_t fn, void *args)
{
    (void)id;
    (void)fn;
    (void)args;
}

void call_answer(uint64_t id, struct chela_done *d)
{
    free(map_set_number(&answers, id,
                        xprintf("OK %.*s", (int)d->text.n, d->text.s ? d->text.s : "")));
}

void call_answer_error(uint64_t id, uint32_t class, const char *text)
{
    free(map_set_number(&answers, id, xprintf("%s %s", error_class_name(class), text)));
}

void call_set_key(uint64_t id, unsigned key)
{
    (void)id;
    if (key_count < ARRAY_LENGTH(keys))
        keys[key_count++] = key;
}

unsigned fake_key(unsigned n)
{
    return n < key_count ? keys[n] : ~0u;
}

struct instance *call_instance(uint64_t id)
{
    struct call_open *c = find_call(id);
    return c ? c->in : NULL;
}

uint64_t fake_submit(struct instance *in, const struct chela_submit *args)
{
    uint64_t id = ++last_plugin_call;
    handlers[CHELA_FN_SUBMIT](in, id, args);
    return id;
}

const char *fake_answer(uint64_t id)
{
    return map_get_number(&answers, id);
}

/* ---- the world's side ---- */

void fake_calls_open(void)
{
    fake_cancel_ends = true;
    memset(slots, 0, sizeof slots);
    key_count = 0;
}

void fake_calls_drop(void)
{
    while (!list_empty(&said))
        said_free(CONTAINER_OF(said.next, struct said, link));
    while (!list_empty(&open_calls)) {
        struct call_open *c = CONTAINER_OF(open_calls.next, struct call_open, link);
        list_remove(&c->link);
        free(c);
    }
}

void fake_calls_close(void)
{
    map_free(&answers, free);
    memset(&answers, 0, sizeof answers);
}

/* ---- what is no turn's ---- */

void journal_post(const char *session, const struct journal_chunk *chunks, unsigned count,
                  journal_fn *fn, void *owner)
{
    if (fake_row(fake_table("chunks"), "key", chunks[0].key)) {
        struct fake_told *t = fake_tell(fn, owner);
        error_set(&t->error, CHELA_E_CONFLICT, "%s is there already", chunks[0].key);
        return;
    }
    struct journal_run *r = journal_run_begin(session, JOURNAL_POST);
    for (unsigned i = 0; i < count; i++)
        journal_draft(r, &chunks[i], i + 1 == count ? fn : NULL, owner);
    journal_run_end(r);
}

/* Only told: what is imported is looked at in the real journal (tests/e2e/import_test.sh). */
void journal_session_import(const char *session, const char *run, struct json_object *fields,
                            const struct journal_message *messages, unsigned count, journal_fn *fn,
                            void *owner)
{
    (void)session;
    (void)run;
    (void)fields;
    (void)messages;
    (void)count;
    fake_commit(NULL, "import", true, fn, owner);
}
