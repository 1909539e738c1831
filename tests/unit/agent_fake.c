/*
 * The fake loop, calls, instances and settings of tests of the agent; agent_fake_journal.c has the
 * journal.
 */
#include "tests/unit/agent_fake.h"

#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wire/functions.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/settings.h"
#include "tests/unit/agent_fake_journal.h"

/* ---- loop ---- */

struct timer {
    struct link link;
    uint64_t handle, at;
    loop_fn *fn;
    void *arg;
};

static struct link timers = {&timers, &timers};
static struct link deferred = {&deferred, &deferred};
static uint64_t last_handle;

static uint64_t add_timer(struct link *list, uint64_t at, loop_fn *fn, void *arg)
{
    struct timer *t = xcalloc(1, sizeof *t);
    t->handle = ++last_handle;
    t->at = at;
    t->fn = fn;
    t->arg = arg;
    list_append(list, &t->link);
    return t->handle;
}

uint64_t loop_timer(uint64_t ms, loop_fn *fn, void *arg)
{
    return add_timer(&timers, clock_ticks_ms() + ms, fn, arg);
}

void loop_defer(loop_fn *fn, void *arg)
{
    add_timer(&deferred, 0, fn, arg);
}

void loop_timer_stop(uint64_t handle)
{
    LIST_EACH(l, &timers)
    {
        struct timer *t = CONTAINER_OF(l, struct timer, link);
        if (handle && t->handle == handle) {
            list_remove(&t->link);
            free(t);
            return;
        }
    }
}

static struct timer *next_timer(void)
{
    struct timer *best = NULL;
    LIST_EACH(l, &timers)
    {
        struct timer *t = CONTAINER_OF(l, struct timer, link);
        if (!best || t->at < best->at)
            best = t;
    }
    return best;
}

static bool deliver(void);

static void fire(struct timer *t)
{
    loop_fn *fn = t->fn;
    void *arg = t->arg;
    list_remove(&t->link);
    free(t);
    fn(arg);
}

void fake_run(void)
{
    for (unsigned guard = 0; guard < 2000000; guard++) {
        if (!list_empty(&deferred)) {
            fire(CONTAINER_OF(deferred.next, struct timer, link));
            continue;
        }
        if (deliver())
            continue;
        struct timer *t = next_timer();
        if (!t || t->at > clock_ticks_ms())
            return;
        fire(t);
    }
    fprintf(stderr, "the fake loop never comes to rest\n");
    abort();
}

void fake_advance(uint64_t ms)
{
    uint64_t end = clock_ticks_ms() + ms;
    fake_run();
    struct timer *t;
    while ((t = next_timer()) && t->at <= end) {
        if (t->at > clock_ticks_ms())
            clock_fake_advance(t->at - clock_ticks_ms());
        fake_run();
    }
    if (clock_ticks_ms() < end)
        clock_fake_advance(end - clock_ticks_ms());
    fake_run();
}

/* ---- settings ---- */

struct settings {
    struct map values;
};

static struct settings now;

const struct settings *settings_now(void)
{
    return &now;
}

void fake_set(const char *path, const char *value)
{
    free(map_remove(&now.values, path));
    if (value)
        map_set(&now.values, path, xstrdup(value));
}

bool settings_has(const struct settings *s, const char *path)
{
    return map_get(&s->values, path) != NULL;
}

const char *settings_text(const struct settings *s, const char *path)
{
    const char *v = map_get(&s->values, path);
    return v ? v : "";
}

int64_t settings_number(const struct settings *s, const char *path)
{
    return strtoll(settings_text(s, path), NULL, 10);
}

double settings_real(const struct settings *s, const char *path)
{
    return strtod(settings_text(s, path), NULL);
}

/* Members are set by hand: fake_set("agents/0", "main"). */
const char *settings_member(const struct settings *s, const char *path, unsigned index)
{
    char key[128];
    snprintf(key, sizeof key, "%s/%u", path, index);
    return map_get(&s->values, key);
}

static char dir[64];

static void remove_dir(void)
{
    static const char *const folders[] = {"workspace", "workspace-work"};
    for (unsigned i = 0; i < ARRAY_LENGTH(folders); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        rmdir(path);
    }
    rmdir(dir);
}

const char *settings_state_dir(void)
{
    if (!dir[0]) {
        atexit(remove_dir);
        snprintf(dir, sizeof dir, "/tmp/agent_test.XXXXXX");
        if (!mkdtemp(dir))
            abort();
    }
    return dir;
}

/* ---- instances ---- */

enum { LISTS = 8, ITEMS = 64 };

struct list_of {
    uint64_t revision;
    struct chela_pair *items;
    size_t count;
    bool is;
};

struct instance {
    struct link link;
    char *name;
    enum role role;
    enum instance_state state;
    struct chela_iface iface;
    struct list_of lists[LISTS];
};

static struct link instances = {&instances, &instances};

struct instance *fake_instance(const char *name, enum role role, const struct chela_iface *iface)
{
    struct instance *in = xcalloc(1, sizeof *in);
    in->name = xstrdup(name);
    in->role = role;
    in->state = INSTANCE_RUNNING;
    in->iface = *iface;
    list_append(&instances, &in->link);
    return in;
}

void fake_state(struct instance *in, enum instance_state s)
{
    in->state = s;
}

static void clear_list(struct list_of *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free((char *)(uintptr_t)l->items[i].name.s);
        free((char *)(uintptr_t)l->items[i].value.s);
    }
    free(l->items);
    l->items = NULL;
    l->count = 0;
}

void fake_publish(struct instance *in, uint32_t what, const char *name, const char *json)
{
    struct list_of *l = &in->lists[what];
    l->is = true;
    l->revision++;
    l->items = xrealloc(l->items, (l->count + 1) * sizeof *l->items);
    l->items[l->count++] = (struct chela_pair){chela_s(xstrdup(name)), chela_s(xstrdup(json))};
}

void fake_unpublish(struct instance *in, uint32_t what)
{
    clear_list(&in->lists[what]);
    in->lists[what].revision++;
}

const struct published *published_get(struct instance *in, uint32_t what)
{
    struct list_of *l = &in->lists[what];
    if (!l->is)
        return NULL;
    struct published *p = xcalloc(1, sizeof *p);
    p->revision = l->revision;
    p->instance = in;
    p->items = l->items;
    p->count = l->count;
    return p;
}

void published_release(const struct published *p)
{
    free((void *)(uintptr_t)p);
}

const char *instance_name(const struct instance *in)
{
    return in->name;
}

const char *instance_type(const struct instance *in)
{
    return in->name;
}

enum instance_state instance_state(const struct instance *in)
{
    return in->state;
}

const struct chela_iface *instance_iface(const struct instance *in)
{
    return &in->iface;
}

struct instance *instance_next(enum role role, struct instance *before)
{
    struct link *l = before ? before->link.next : instances.next;
    for (; l != &instances; l = l->next) {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (in->role == role)
            return in;
    }
    return NULL;
}

struct instance *instance_find(enum role role, const char *name)
{
    for (struct instance *in = NULL; (in = instance_next(role, in));) {
        if (strcmp(in->name, name) == 0)
            return in;
    }
    return NULL;
}

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
static bool deliver(void)
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

/* ---- events ---- */

static struct buf events;

static void listen(void *arg, const struct event *e)
{
    (void)arg;
    static const char *const names[] = {"chat",     "agent",    "requested",
                                        "resolved", "sessions", "message"};
    buf_printf(&events, "%s %s\n", names[e->kind], chela_json_text(e->payload, NULL));
}

const char *fake_events(void)
{
    return buf_text(&events);
}

void fake_events_clear(void)
{
    buf_clear(&events);
    buf_text(&events);
    if (events.p)
        events.p[0] = '\0';
}

/* ---- the world ---- */

static void ready(void *owner, const struct error *e)
{
    *(int *)owner = e ? -1 : 1;
}

void fake_start_agent(void)
{
    int started = 0;
    events_listen(listen, NULL);
    agent_start(ready, &started);
    fake_run();
    if (started != 1)
        abort();
}

static void stopped(void *owner, const struct error *e)
{
    (void)e;
    *(int *)owner = 1;
}

static void drop_all(struct link *list)
{
    while (!list_empty(list)) {
        struct timer *t = CONTAINER_OF(list->next, struct timer, link);
        list_remove(&t->link);
        free(t);
    }
}

void fake_crash(void)
{
    /* nothing more reaches the disk; then the memory is given back in an orderly way, which a real
     * crash doesn't need */
    fake_journal_freeze(true);
    int done = 0;
    agent_stop(0, stopped, &done);
    for (unsigned i = 0; i < 20 && !done; i++)
        fake_advance(10000);
    if (!done)
        abort();
    while (!list_empty(&said))
        said_free(CONTAINER_OF(said.next, struct said, link));
    while (!list_empty(&open_calls)) {
        struct call_open *c = CONTAINER_OF(open_calls.next, struct call_open, link);
        list_remove(&c->link);
        free(c);
    }
    drop_all(&timers);
    drop_all(&deferred);
    events_reset();
    fake_journal_freeze(false);
}

void fake_open(void)
{
    clock_fake(1780000000000u);
    fake_journal_open();
    fake_cancel_ends = true;
    memset(slots, 0, sizeof slots);
}

void fake_close(void)
{
    fake_crash();
    fake_journal_close();
    while (!list_empty(&instances)) {
        struct instance *in = CONTAINER_OF(instances.next, struct instance, link);
        list_remove(&in->link);
        for (unsigned i = 0; i < LISTS; i++)
            clear_list(&in->lists[i]);
        free(in->name);
        free(in);
    }
    map_free(&now.values, free);
    memset(&now, 0, sizeof now);
    map_free(&answers, free);
    memset(&answers, 0, sizeof answers);
    buf_free(&events);
    clock_fake_end();
}
