/*
 * The local group of the host's table: what a plugin asks of its own process, answered at once. The
 * same code in the daemon and in a plugin's process. Keeps a list of what each instance has running
 * (timers, watches, work), so that what is left at close can be ended and named.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/host_table.h"
#include "host/loop.h"
#include "host/options.h"

/* Instances that are open, by number: a callback that comes late finds nothing here. [loop] */
static struct map attached;

struct timer {
    struct link link;
    struct instance *in;
    uint64_t handle; /* of the loop */
    chela_callback *fn;
    void *arg;
};

struct watch {
    struct link link;
    struct instance *in;
    uint64_t handle;
    struct loop_watch *of_loop;
    chela_fd_callback *fn;
    void *arg;
};

struct work {
    struct instance *in; /* stays allocated until the work is done, see local_release */
    uint32_t number;
    chela_callback *job, *done;
    void *arg;
};

static struct instance *still_open(uint32_t number)
{
    return map_get_number(&attached, number);
}

/* ---- log, options, clocks ---- */

static void log_from_plugin(struct chela_inst *inst, uint32_t level, const char *line)
{
    struct instance *in = instance_of(inst);
    char who[160];
    enum log_level as = level <= CHELA_ERR    ? LOG_ERROR
                        : level <= CHELA_WARN ? LOG_WARNING
                        : level <= CHELA_INFO ? LOG_INFO
                                              : LOG_DEBUG;
    snprintf(who, sizeof who, "%s/%s", in->type->plugin->name, in->name);
    log_line(as, who, "%s", line ? line : "");
    if (as == LOG_ERROR && line && loop_on_thread()) {
        free(in->said);
        in->said = xprintf("%.500s", line);
    }
}

static struct chela_str option(struct chela_inst *inst, const char *path)
{
    return chela_s(options_text(instance_of(inst)->options, path ? path : ""));
}

static int64_t number(struct chela_inst *inst, const char *path)
{
    return options_number(instance_of(inst)->options, path ? path : "");
}

static uint64_t new_call(struct chela_inst *inst)
{
    return call_new_id(instance_of(inst));
}

static uint64_t now_ms(struct chela_inst *inst)
{
    (void)inst;
    return clock_now_ms();
}

static uint64_t ticks_ms(struct chela_inst *inst)
{
    (void)inst;
    return clock_ticks_ms();
}

static void metric(struct chela_inst *inst, uint32_t kind, const char *name, const char *labels,
                   double value)
{
    host_metric(instance_of(inst), kind, name, labels, value);
}

/* ---- timers ---- */

static void timer_free(struct timer *t)
{
    list_remove(&t->link);
    t->in->timer_count--;
    free(t);
}

static void timer_fired(void *arg)
{
    struct timer *t = arg;
    struct instance *in = t->in;
    chela_callback *fn = t->fn;
    void *given = t->arg;
    timer_free(t); /* the callback may set it anew, or stop it */
    uint64_t entered = callback_enter();
    fn(&in->inst, given);
    callback_leave(in, "timer", entered);
}

static uint64_t timer(struct chela_inst *inst, uint64_t ms, chela_callback *fn, void *arg)
{
    struct timer *t = xcalloc(1, sizeof *t);
    t->in = instance_of(inst);
    t->fn = fn;
    t->arg = arg;
    t->handle = loop_timer(ms, timer_fired, t);
    list_append(&t->in->timers, &t->link);
    t->in->timer_count++;
    return t->handle;
}

static void timer_stop(struct chela_inst *inst, uint64_t handle)
{
    LIST_EACH(l, &instance_of(inst)->timers)
    {
        struct timer *t = CONTAINER_OF(l, struct timer, link);
        if (t->handle != handle)
            continue;
        loop_timer_stop(handle);
        timer_free(t);
        return;
    }
}

/* ---- watches ---- */

static void watch_free(struct watch *w)
{
    list_remove(&w->link);
    w->in->watch_count--;
    loop_unwatch(w->of_loop);
    free(w);
}

static void watch_ready(uint32_t events, void *arg)
{
    struct watch *w = arg;
    struct instance *in = w->in;
    uint64_t entered = callback_enter();
    w->fn(&in->inst, events, w->arg); /* may free the watch */
    callback_leave(in, "watch", entered);
}

static uint64_t watch(struct chela_inst *inst, int fd, uint32_t events, chela_fd_callback *fn,
                      void *arg)
{
    static uint64_t last;
    struct watch *w = xcalloc(1, sizeof *w);
    w->of_loop = loop_watch(fd, events & (CHELA_READABLE | CHELA_WRITABLE), watch_ready, w);
    if (!w->of_loop) {
        free(w);
        return 0;
    }
    w->in = instance_of(inst);
    w->fn = fn;
    w->arg = arg;
    w->handle = ++last;
    list_append(&w->in->watches, &w->link);
    w->in->watch_count++;
    return w->handle;
}

static void unwatch(struct chela_inst *inst, uint64_t handle)
{
    LIST_EACH(l, &instance_of(inst)->watches)
    {
        struct watch *w = CONTAINER_OF(l, struct watch, link);
        if (w->handle != handle)
            continue;
        watch_free(w);
        return;
    }
}

/* ---- post and work ---- */

static void posted(void *arg)
{
    struct work *w = arg;
    struct instance *in = still_open(w->number);
    if (in) {
        uint64_t entered = callback_enter();
        w->done(&in->inst, w->arg);
        callback_leave(in, "post", entered);
    }
    free(w);
}

static void post(struct chela_inst *inst, chela_callback *fn, void *arg)
{
    struct work *w = xcalloc(1, sizeof *w);
    w->number = instance_of(inst)->number;
    w->done = fn;
    w->arg = arg;
    loop_post(posted, w);
}

/* On a pool thread: the instance may be closed meanwhile, but its memory stays. */
static void do_work(void *arg)
{
    struct work *w = arg;
    w->job(&w->in->inst, w->arg);
}

static void instance_memory_free(struct instance *in)
{
    free(in->name);
    free(in->why);
    free(in->said);
    free(in->origin);
    free(in);
}

static void work_done(void *arg)
{
    struct work *w = arg;
    struct instance *in = w->in;
    in->work_count--;
    if (still_open(w->number) == in) {
        if (w->done) {
            uint64_t entered = callback_enter();
            w->done(&in->inst, w->arg);
            callback_leave(in, "end of work", entered);
        }
        if (in->work_count == 0 && in->workless)
            in->workless(in);
    } else if (in->work_count == 0 && in->released) {
        instance_memory_free(in);
    }
    free(w);
}

static void work(struct chela_inst *inst, chela_callback *job, chela_callback *done, void *arg)
{
    struct work *w = xcalloc(1, sizeof *w);
    w->in = instance_of(inst);
    w->number = w->in->number;
    w->job = job;
    w->done = done;
    w->arg = arg;
    w->in->work_count++;
    loop_work(do_work, work_done, w);
}

/* ---- the group ---- */

const struct chela_local local_group = {
    .size = sizeof local_group,
    .log = log_from_plugin,
    .option = option,
    .number = number,
    .new_call = new_call,
    .now_ms = now_ms,
    .ticks_ms = ticks_ms,
    .timer = timer,
    .timer_stop = timer_stop,
    .watch = watch,
    .unwatch = unwatch,
    .post = post,
    .work = work,
    .metric = metric,
};

void local_attach(struct instance *in)
{
    list_init(&in->timers);
    list_init(&in->watches);
    in->timer_count = in->watch_count = 0;
    map_set_number(&attached, in->number, in);
}

unsigned local_detach(struct instance *in)
{
    unsigned left = in->timer_count + in->watch_count + in->work_count;
    LIST_EACH(l, &in->timers)
    {
        struct timer *t = CONTAINER_OF(l, struct timer, link);
        loop_timer_stop(t->handle);
        timer_free(t);
    }
    LIST_EACH(l, &in->watches)
    {
        watch_free(CONTAINER_OF(l, struct watch, link));
    }
    if (map_get_number(&attached, in->number) == in)
        map_remove_number(&attached, in->number);
    if (attached.count == 0)
        map_free(&attached, NULL);
    return left;
}

void local_release(struct instance *in)
{
    in->released = true;
    if (in->work_count == 0)
        instance_memory_free(in);
}
