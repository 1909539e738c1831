/*
 * The fake loop, instances and settings of tests of the agent; agent_fake_calls.c has the calls,
 * agent_fake_journal.c the journal.
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
#include "tests/unit/agent_fake_calls.h"
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
        if (fake_calls_deliver())
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

/* Members are set by hand: fake_set("agents/0", "main"). "defaults" is none, as settings.h says. */
const char *settings_member(const struct settings *s, const char *path, unsigned index)
{
    char key[128];
    const char *name;
    for (unsigned i = 0;; i++) {
        snprintf(key, sizeof key, "%s/%u", path, i);
        name = map_get(&s->values, key);
        if (!name || (strcmp(name, "defaults") != 0 && index-- == 0))
            return name;
    }
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

/* Nothing is inherited here: each value stands where it was set. */
const char *settings_origin(const struct settings *s, const char *path)
{
    (void)s;
    return path;
}

unsigned instance_keys(const struct instance *in)
{
    CLEANUP(freep) char *path = xprintf("providers.%s.keys", in->name);
    int64_t n = settings_number(settings_now(), path);
    return n > 1 ? (unsigned)n : 1;
}

bool instance_is_local(const struct instance *in)
{
    (void)in;
    return false;
}

struct instance *instance_find(enum role role, const char *name)
{
    for (struct instance *in = NULL; (in = instance_next(role, in));) {
        if (strcmp(in->name, name) == 0)
            return in;
    }
    return NULL;
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
    fake_calls_drop();
    drop_all(&timers);
    drop_all(&deferred);
    events_reset();
    fake_journal_freeze(false);
}

void fake_open(void)
{
    clock_fake(1780000000000u);
    fake_journal_open();
    fake_calls_open();
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
    fake_calls_close();
    buf_free(&events);
    clock_fake_end();
}
