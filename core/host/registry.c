/*
 * All instances together (see registry.h): opened, started in the order of their roles, stopped in
 * the opposite one, and tried again after a failure. What one instance goes through is life.c's,
 * the change to another configuration reload.c's.
 */
#include "host/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/isolate.h"
#include "host/life.h"
#include "host/loop.h"
#include "host/options.h"
#include "host/plugins.h"
#include "host/published.h"
#include "host/registry_private.h"

enum { GRACE_MS = 3000, RETRY_FIRST_MS = 2000, RETRY_MOST_MS = 300000 };

static struct {
    registry_done *done;
    registry_stores_fn *stores; /* to be told; NULL: it was, or need not be */
    void *arg;
    bool busy, ending, failed;
    bool starting, stopping, but_stores;
    struct error error;
    enum role role;   /* that is being started or stopped */
    unsigned waiting; /* for so many */
    uint64_t grace;
} work;

static struct link buried = {&buried, &buried};

enum role registry_role(const struct instance *in)
{
    enum role last = ROLE_STORE;
    for (unsigned r = 0; r < ROLE_COUNT; r++)
        if (in->type->roles & (1u << r))
            last = (enum role)r;
    return last;
}

struct instance *registry_add(const struct settings_instance *s)
{
    struct instance *in =
        life_new(s->section, s->name, s->origin, s->embedded, plugins_type_of(s->type), s->options);
    list_append(&registry_list, &in->link);
    return in;
}

void registry_bury(struct instance *in)
{
    list_remove(&in->link);
    list_append(&buried, &in->link);
}

/* ---- one piece of work at a time ---- */

bool registry_begin(registry_done *done, void *arg)
{
    if (work.busy)
        return false;
    memset(&work, 0, sizeof work);
    work.busy = true;
    work.done = done;
    work.arg = arg;
    return true;
}

static void tell_end(void *unused)
{
    (void)unused;
    registry_done *done = work.done;
    struct error e = work.error;
    bool failed = work.failed;
    if (!work.ending)
        return;
    work.busy = work.ending = work.starting = false;
    if (done)
        done(work.arg, failed ? &e : NULL);
}

void registry_end(const struct error *e)
{
    loop_timer_stop(work.grace);
    work.grace = 0;
    work.waiting = 0;
    work.starting = false;
    work.ending = true;
    work.failed = e != NULL;
    if (e && e != &work.error)
        work.error = *e;
    loop_defer(tell_end, NULL);
}

bool registry_busy(void)
{
    return work.busy;
}

/* ---- again after a failure ---- */

static void try_again(void *arg)
{
    struct instance *in = arg;
    in->retry = 0;
    registry_bring_up(in, NULL);
}

static bool may_pass(const struct error *e)
{
    switch (e->class) {
    case CHELA_E_ARGS:
    case CHELA_E_AUTH:
    case CHELA_E_QUOTA:
    case CHELA_E_UNSUPPORTED:
    case CHELA_E_DENIED:
    case CHELA_E_CANCELLED: return e->retry;
    default: return true;
    }
}

/* Plans another start: after 2 s, then twice as long each time, up to 5 minutes. */
static void retry_later(struct instance *in, const struct error *e)
{
    if (in->retry || work.stopping || !may_pass(e))
        return;
    unsigned shift = in->attempts < 8 ? in->attempts : 8;
    uint64_t ms = (uint64_t)RETRY_FIRST_MS << shift;
    in->attempts++;
    in->retry = loop_timer(ms < RETRY_MOST_MS ? ms : RETRY_MOST_MS, try_again, in);
}

static void brought_up(struct instance *in, const struct error *e)
{
    void (*done)(struct instance *, const struct error *) = in->brought;
    in->brought = NULL;
    if (e) {
        log_warning(instance_label(in), "%s", e->text);
        retry_later(in, e);
    }
    if (done)
        done(in, e);
}

static void opened_alone(struct instance *in, const struct error *e)
{
    if (e)
        brought_up(in, e);
    else
        life_start(in, brought_up);
}

static void closed_before(struct instance *in, const struct error *unused)
{
    struct error e;
    struct plugin *p = in->type->plugin;
    (void)unused;
    if (p->child && !isolate_alive(p) && isolate_restart(p, &e) < 0) {
        life_state(in, INSTANCE_FAILED, e.text);
        brought_up(in, &e);
        return;
    }
    int opened = life_open(in, opened_alone, &e);
    if (opened < 0)
        brought_up(in, &e);
    else if (opened == 0)
        life_start(in, brought_up);
}

void registry_bring_up(struct instance *in, void (*done)(struct instance *, const struct error *))
{
    in->brought = done;
    if (in->number)
        life_stop(in, closed_before); /* what a failed start has left */
    else
        closed_before(in, NULL);
}

static void process_ended(struct instance *in, const char *why)
{
    struct error e;
    error_set(&e, CHELA_E_GONE, "%s", why);
    if (in->state == INSTANCE_STOPPING || in->state == INSTANCE_CLOSED)
        return; /* its stop goes on, and finds nobody there */
    published_drop(in);
    life_state(in, INSTANCE_FAILED, why);
    if (!in->after)
        retry_later(in, &e);
}

static void got_stuck(struct instance *in)
{
    published_tell(in, 0);
}

/* ---- start ---- */

static void start_role(void);

static void grace_over(void *unused)
{
    (void)unused;
    work.grace = 0;
    work.waiting = 0;
    LIST_EACH(l, &registry_list)
    {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (in->awaited)
            log_info(instance_label(in), "is still starting; the others don't wait for it");
        in->awaited = false;
    }
    start_role();
}

static void stop_role(void);

/* A store can't be started, or something configured not be opened: nothing may stay. */
static void give_up(const struct error *e)
{
    if (e != &work.error)
        work.error = *e;
    work.failed = true;
    work.stopping = true;
    work.starting = false;
    work.role = ROLE_CHANNEL;
    loop_timer_stop(work.grace);
    work.grace = 0;
    work.waiting = 0;
    stop_role();
}

static void started(struct instance *in, const struct error *e)
{
    bool awaited = in->awaited;
    in->awaited = false;
    if (e && work.stopping)
        return;
    if (e) {
        log_warning(instance_label(in), "%s", e->text);
        if (registry_role(in) == ROLE_STORE) {
            give_up(e);
            return;
        }
        retry_later(in, e);
    }
    if (work.starting && awaited && --work.waiting == 0)
        start_role();
}

static unsigned start_all_of(enum role role)
{
    unsigned begun = 0;
    LIST_EACH(l, &registry_list)
    {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (registry_role(in) != role || in->state != INSTANCE_OPEN)
            continue;
        in->awaited = true;
        life_start(in, started);
        begun++;
    }
    return begun;
}

/* Starts what comes next, until there is something to wait for: after the stores, and before and
 * after the channels. */
static void start_role(void)
{
    while (work.role < ROLE_COUNT) {
        registry_stores_fn *stores = work.role > ROLE_STORE ? work.stores : NULL;
        if (stores) {
            work.stores = NULL;
            stores(work.arg);
            return;
        }
        enum role role = work.role++;
        work.waiting += start_all_of(role);
        bool wait = role == ROLE_STORE || role == ROLE_SERVICE || role == ROLE_CHANNEL;
        if (!wait || work.waiting == 0)
            continue;
        if (role != ROLE_STORE && !work.grace)
            work.grace = loop_timer(GRACE_MS, grace_over, NULL);
        return;
    }
    registry_end(NULL);
}

void registry_go_on(void)
{
    if (work.starting)
        start_role();
}

static void opened(struct instance *in, const struct error *e)
{
    if (e && !in->embedded && !work.failed) {
        work.failed = true;
        work.error = *e;
    } else if (e) {
        log_warning(instance_label(in), "%s", e->text);
    }
    if (--work.waiting > 0)
        return;
    if (work.failed) {
        give_up(&work.error);
    } else {
        start_role();
    }
}

static void nothing_to_open(void *unused)
{
    (void)unused;
    start_role();
}

void registry_start(registry_stores_fn *stores, registry_done *done, void *arg)
{
    const struct settings_instance *s;
    struct error e;
    if (!registry_begin(done, arg))
        return;
    call_handle(CHELA_FN_PUBLISH, published_take, NULL);
    call_on_stuck(got_stuck);
    isolate_on_end(process_ended);
    work.starting = true;
    work.stores = stores;
    work.waiting = 1; /* until all are begun */
    for (size_t i = 0; (s = settings_instance(settings_now(), i)); i++) {
        struct instance *in = registry_add(s);
        int result = life_open(in, opened, &e);
        if (result > 0)
            work.waiting++;
        if (result >= 0)
            continue;
        if (in->embedded) {
            log_warning(instance_label(in), "%s", e.text);
        } else if (!work.failed) {
            work.failed = true;
            work.error = e;
        }
    }
    if (--work.waiting > 0)
        return;
    if (work.failed) {
        give_up(&work.error);
    } else {
        loop_defer(nothing_to_open, NULL);
    }
}

/* ---- stop ---- */

static void stopped(struct instance *in, const struct error *e)
{
    (void)in;
    (void)e;
    if (work.waiting > 0 && --work.waiting == 0)
        stop_role();
}

/* Stops role after role, each when the one before has ended. */
static void stop_role(void)
{
    for (;;) {
        enum role role = work.role;
        if (role == ROLE_STORE && work.but_stores)
            break;
        LIST_EACH(l, &registry_list)
        {
            struct instance *in = CONTAINER_OF(l, struct instance, link);
            if (registry_role(in) != role || (in->number == 0 && !in->retry))
                continue;
            work.waiting++;
            life_stop(in, stopped);
        }
        if (role != ROLE_STORE)
            work.role = (enum role)(role - 1);
        if (work.waiting > 0)
            return;
        if (role == ROLE_STORE)
            break;
    }
    registry_end(work.failed ? &work.error : NULL);
}

void registry_stop(bool but_stores, registry_done *done, void *arg)
{
    work.busy = false; /* a start or reload that is under way ends here, and tells nobody */
    reload_forget();
    loop_timer_stop(work.grace);
    registry_begin(done, arg);
    work.stopping = true;
    work.but_stores = but_stores;
    work.role = ROLE_CHANNEL;
    stop_role();
}

void registry_close(void)
{
    struct link *lists[] = {&registry_list, &buried};
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        LIST_EACH(l, lists[i])
        {
            struct instance *in = CONTAINER_OF(l, struct instance, link);
            list_remove(&in->link);
            loop_timer_stop(in->retry);
            life_free(in);
        }
    memset(&work, 0, sizeof work);
    plugins_close();
}
