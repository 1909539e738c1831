/*
 * The table of calls: begin, cancel, deadlines, parents, answers, delivery to the plugin (see
 * call.h). What plugins say is taken in by call_say.c, the one place that checks the contract.
 */
#include "host/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/call_private.h"
#include "host/host_table.h"
#include "host/isolate.h"
#include "host/loop.h"

enum { WATCHDOG_MS = 5000 };

static struct {
    struct map by_id;
    uint64_t last;     /* id of the host's newest call */
    uint32_t instance; /* newest number of an instance */
    struct handler handlers[CHELA_FN_COUNT];
    void (*on_stuck)(struct instance *);
} calls;

/* ---- the table ---- */

struct call *call_find(uint64_t id)
{
    return map_get_number(&calls.by_id, id);
}

bool call_existed(const struct instance *in, uint64_t id)
{
    uint64_t maker = id >> CALL_COUNTER_BITS;
    if (maker == 0)
        return id != 0 && id <= calls.last;
    return maker == in->number && id <= in->last_begun;
}

struct call *call_add(uint64_t id, struct instance *in, const struct wire_function *f,
                      struct call *parent)
{
    struct call *c = xcalloc(1, sizeof *c);
    c->id = id;
    c->in = in;
    c->function = f;
    c->parent = parent;
    list_init(&c->children);
    list_init(&c->sibling);
    if (parent)
        list_append(&parent->children, &c->sibling);
    list_append(&in->calls, &c->of_instance);
    in->call_count++;
    map_set_number(&calls.by_id, id, c);
    return c;
}

static void cancel_children(struct call *c)
{
    while (!list_empty(&c->children)) {
        struct call *child = CONTAINER_OF(c->children.next, struct call, sibling);
        list_remove(&child->sibling);
        child->parent = NULL;
        call_ask_to_end(child);
    }
}

static void tell_idle(struct instance *in)
{
    if (in->call_count > 0 || !in->idle)
        return;
    void (*fn)(void *) = in->idle;
    in->idle = NULL;
    loop_defer(fn, in->idle_arg);
}

void call_remove(struct call *c)
{
    struct instance *in = c->in;
    loop_timer_stop(c->timer);
    map_remove_number(&calls.by_id, c->id);
    list_remove(&c->sibling);
    list_remove(&c->of_instance);
    in->call_count--;
    cancel_children(c);
    free(c);
    tell_idle(in);
}

/* ---- to the plugin ---- */

bool call_has_slot(const struct instance *in, const struct wire_function *f)
{
    const void *table = wire_table_of(&in->type->iface, f->table);
    return table && f->has(table);
}

bool call_deliver(struct instance *in, const struct wire_function *f, const void *args)
{
    if (!call_has_slot(in, f))
        return false;
    if (in->type->plugin && in->type->plugin->child) {
        isolate_send(in, f->number, args);
        return true;
    }
    /* what a newer plugin reads behind the struct is zero */
    union {
        struct chela_head head;
        unsigned char bytes[WIRE_ARGS_MAX];
    } whole;
    memset(&whole, 0, sizeof whole);
    memcpy(whole.bytes, args, f->args->size);
    uint64_t entered = callback_enter();
    f->call(wire_table_of(&in->type->iface, f->table), &in->inst, &whole);
    callback_leave(in, f->name, entered);
    return true;
}

void call_end_by_host(struct call *c, uint32_t class, const char *text)
{
    loop_timer_stop(c->timer);
    c->timer = 0;
    c->ending = true;
    CHELA_ARGS(chela_done, done, c->id);
    done.error = class;
    done.text = chela_s(text);
    say_push(c->in, wire_function(CHELA_FN_DONE), &done, WIRE_BY_HOST);
}

/* Why the instance can't take the call, NULL if it can. */
static const char *refusal(const struct instance *in, uint32_t fn)
{
    const struct plugin *p = in->type->plugin;
    if (p && p->child && !isolate_alive(p))
        return "the plugin's process has ended";
    switch (in->state) {
    case INSTANCE_OPEN:
    case INSTANCE_RUNNING: return NULL;
    case INSTANCE_STARTING: return fn == CHELA_FN_START ? NULL : "it is still starting";
    case INSTANCE_STOPPING: return fn == CHELA_FN_STOP ? NULL : "it is being stopped";
    case INSTANCE_STUCK:
        return fn == CHELA_FN_STOP ? NULL : "it is stuck: it did not end a cancelled call";
    case INSTANCE_CLOSED: return "it is not open";
    case INSTANCE_FAILED: return in->why ? in->why : "it has failed";
    }
    return "its state is unknown";
}

static void refuse(struct call *c, uint32_t class, const char *why)
{
    CLEANUP(freep)
    char *text =
        xprintf("%s: %s can't be called: %s", instance_label(c->in), c->function->name, why);
    call_end_by_host(c, class, text);
}

static void deadline_passed(void *arg)
{
    struct call *c = arg;
    c->timer = 0;
    c->timed_out = true;
    call_ask_to_end(c);
}

static void start_call(struct call *c, void *args, uint64_t deadline_ms)
{
    const char *why = refusal(c->in, c->function->number);
    if (why) {
        refuse(c, CHELA_E_GONE, why);
        return;
    }
    struct chela_head *h = args;
    h->size = (uint32_t)c->function->args->size;
    h->call = c->id;
    if (deadline_ms)
        c->timer = loop_timer(deadline_ms, deadline_passed, c);
    uint32_t fn = c->function->number;
    if (call_deliver(c->in, c->function, args))
        return;
    if (fn == CHELA_FN_START || fn == CHELA_FN_STOP || fn == CHELA_FN_CHECK)
        call_end_by_host(c, CHELA_OK, "");
    else
        refuse(c, CHELA_E_UNSUPPORTED, "it doesn't do that");
}

uint64_t call_begin(struct instance *in, uint32_t fn, void *args, uint64_t deadline_ms,
                    uint64_t parent, const struct call_ops *ops, void *owner)
{
    uint64_t id = ++calls.last;
    struct call *above = parent ? call_find(parent) : NULL;
    struct call *c = call_add(id, in, wire_function(fn), above);
    c->ops = ops;
    c->owner = owner;
    if (parent && (!above || above->cancelling)) {
        c->cancelling = true;
        call_end_by_host(c, CHELA_E_CANCELLED, "the call that it served has ended");
    } else {
        start_call(c, args, deadline_ms);
    }
    return id;
}

void call_tell(struct instance *in, uint32_t fn, void *args)
{
    const struct wire_function *f = wire_function(fn);
    struct chela_head *h = args;
    h->size = (uint32_t)f->args->size;
    if (!refusal(in, fn))
        call_deliver(in, f, args);
}

/* ---- cancel ---- */

static void not_ended(void *arg)
{
    struct call *c = arg;
    struct instance *in = c->in;
    c->timer = 0;
    log_error(instance_label(in), "did not end %s within %d s after it was cancelled; it is stuck",
              c->function->name, WATCHDOG_MS / 1000);
    call_end_by_host(c, c->timed_out ? CHELA_E_TIMEOUT : CHELA_E_GONE,
                     "the plugin did not end the call after it was cancelled");
    if (in->state == INSTANCE_STUCK)
        return;
    in->state = INSTANCE_STUCK;
    free(in->why);
    in->why = xprintf("did not end %s after it was cancelled", c->function->name);
    if (calls.on_stuck)
        calls.on_stuck(in);
}

static void ask_plugin(struct call *c)
{
    loop_timer_stop(c->timer);
    c->timer = loop_timer(WATCHDOG_MS, not_ended, c);
    CHELA_ARGS(chela_arg, a, c->id);
    call_deliver(c->in, wire_function(CHELA_FN_CANCEL), &a);
}

void call_ask_to_end(struct call *c)
{
    if (c->cancelling)
        return;
    c->cancelling = true;
    cancel_children(c);
    if (c->ending)
        return;
    if (!c->by_plugin) {
        ask_plugin(c);
        return;
    }
    const struct handler *h = call_handler_of(c->function);
    if (h->cancel)
        h->cancel(c->in, c->id); /* may answer, which ends c */
}

void call_cancel(uint64_t id)
{
    struct call *c = call_find(id);
    if (c && !c->by_plugin)
        call_ask_to_end(c);
}

void call_forget(uint64_t id)
{
    struct call *c = call_find(id);
    if (!c || c->by_plugin)
        return;
    c->ops = NULL;
    call_ask_to_end(c);
}

/* ---- answers of the host ---- */

void call_handle(uint32_t fn, call_handler *begin, void (*cancel)(struct instance *, uint64_t))
{
    calls.handlers[fn] = (struct handler){begin, cancel};
}

const struct handler *call_handler_of(const struct wire_function *f)
{
    return &calls.handlers[f->number];
}

static void fill_head(struct chela_head *h, const struct call *c, const struct wire_function *f)
{
    h->size = (uint32_t)f->args->size;
    h->call = c->id;
    h->tag = c->tag;
}

void call_event(uint64_t id, uint32_t fn, void *args)
{
    struct call *c = call_find(id);
    if (!c || !c->by_plugin || c->cancelling)
        return;
    const struct wire_function *f = wire_function(fn);
    fill_head(args, c, f);
    call_deliver(c->in, f, args);
}

void call_answer(uint64_t id, struct chela_done *done)
{
    struct call *c = call_find(id);
    if (!c || !c->by_plugin)
        return;
    const struct wire_function *f = wire_function(CHELA_FN_INST_DONE);
    struct instance *in = c->in;
    fill_head(&done->h, c, f);
    call_remove(c);
    call_deliver(in, f, done);
}

void call_answer_error(uint64_t id, uint32_t class, const char *text)
{
    CHELA_ARGS(chela_done, done, id);
    done.error = class;
    done.text = chela_s(text);
    call_answer(id, &done);
}

/* ---- questions ---- */

struct instance *call_instance(uint64_t id)
{
    struct call *c = call_find(id);
    return c ? c->in : NULL;
}

void call_set_key(uint64_t id, unsigned key)
{
    struct call *c = call_find(id);
    if (c)
        c->key = key;
}

unsigned call_key(uint64_t id)
{
    const struct call *c = call_find(id);
    while (c && !c->key)
        c = c->parent;
    return c ? c->key : 0;
}

uint64_t call_parent(uint64_t id)
{
    struct call *c = call_find(id);
    return c && c->parent ? c->parent->id : 0;
}

size_t call_waiting(uint64_t id)
{
    struct call *c = call_find(id);
    const struct plugin *p = c ? c->in->type->plugin : NULL;
    return p && p->child ? isolate_waiting(c->in) : 0;
}

unsigned call_count(void)
{
    return (unsigned)calls.by_id.count;
}

/* ---- instances ---- */

void call_attach(struct instance *in)
{
    list_init(&in->calls);
    say_attach(in);
}

void call_detach(struct instance *in)
{
    while (!list_empty(&in->calls)) {
        struct call *c = CONTAINER_OF(in->calls.next, struct call, of_instance);
        c->ops = NULL;
        call_remove(c);
    }
    in->idle = NULL;
    inbox_close(&in->inbox);
}

uint32_t call_number(void)
{
    return ++calls.instance;
}

void call_cancel_all(struct instance *in)
{
    /* each step may end others, so begin anew until none is left to ask */
    for (bool found = true; found;) {
        found = false;
        LIST_EACH(l, &in->calls)
        {
            struct call *c = CONTAINER_OF(l, struct call, of_instance);
            if (c->cancelling)
                continue;
            call_ask_to_end(c);
            found = true;
            break;
        }
    }
}

void call_when_idle(struct instance *in, void (*fn)(void *), void *arg)
{
    in->idle = fn;
    in->idle_arg = arg;
    tell_idle(in);
}

unsigned call_end_all(struct instance *in, uint32_t class, const char *text)
{
    unsigned of_plugin = 0;
    LIST_EACH(l, &in->calls)
    {
        struct call *c = CONTAINER_OF(l, struct call, of_instance);
        if (c->by_plugin) {
            list_remove(&c->sibling); /* not to be cancelled, and answered, for its parent's sake */
            c->parent = NULL;
        } else if (!c->ending) {
            call_end_by_host(c, class, text);
        }
    }
    for (struct link *l = in->calls.next; l != &in->calls;) {
        struct call *c = CONTAINER_OF(l, struct call, of_instance);
        if (!c->by_plugin) {
            l = l->next;
            continue;
        }
        of_plugin++;
        const struct handler *h = call_handler_of(c->function);
        uint64_t id = c->id;
        bool asked = c->cancelling;
        call_remove(c);
        if (h->cancel && !asked)
            h->cancel(in, id);
        l = in->calls.next; /* anything may have changed */
    }
    return of_plugin;
}

void call_on_stuck(void (*fn)(struct instance *))
{
    calls.on_stuck = fn;
}

void call_open(void)
{
    const char *wrong = wire_check();
    if (wrong) { /* a mistake in the program itself */
        log_error("host", "the table of functions is wrong at %s", wrong);
        abort();
    }
    queue_open();
    host_set_send(say_enqueue);
}

void call_close(void)
{
    size_t i = 0;
    for (const struct map_slot *s; map_next(&calls.by_id, &i, &s);) {
        struct call *c = s->value;
        loop_timer_stop(c->timer);
        free(c);
    }
    map_free(&calls.by_id, NULL);
    say_mend_close();
}
