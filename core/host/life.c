/*
 * The life of one instance (see life.h). Each step that takes time is a call with a deadline, so a
 * plugin can't hold up another; what it leaves behind at its close is ended and named here.
 */
#include "host/life.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/host_table.h"
#include "host/isolate.h"
#include "host/loop.h"
#include "host/metrics.h"
#include "host/options.h"
#include "host/published.h"

enum { START_MS = 30000, STOP_MS = 10000, CHECK_MS = 10000, WORK_MS = 10000 };

static bool isolated(const struct instance *in)
{
    return in->type->plugin->child != NULL;
}

struct instance *life_new(const char *section, const char *name, const char *origin, bool embedded,
                          struct plugin_type *type, struct options *options)
{
    struct instance *in = xcalloc(1, sizeof *in);
    list_init(&in->link);
    in->section = section;
    in->name = xstrdup(name);
    in->origin = xstrdup(origin);
    in->embedded = embedded;
    in->type = type;
    in->options = options_hold(options);
    in->inst = (struct chela_inst){.host = &host_table, .name = in->name};
    call_attach(in);
    return in;
}

static void drop_kept(struct instance *in)
{
    for (size_t i = 0; i < in->kept_count; i++)
        options_release(in->kept[i]);
    free(in->kept);
    in->kept = NULL;
    in->kept_count = 0;
}

void life_free(struct instance *in)
{
    published_drop(in);
    drop_kept(in);
    call_detach(in);
    options_release(in->options);
    in->options = NULL;
    local_release(in);
}

void life_state(struct instance *in, enum instance_state state, const char *why)
{
    in->state = state;
    free(in->why);
    in->why = xstrdup(why);
    published_tell(in, 0);
}

/* A stop ends what was under way; the late end of that must not count as the stop's. */
static bool taken_over(const struct instance *in)
{
    return in->state == INSTANCE_STOPPING || in->state == INSTANCE_CLOSED;
}

/* Ends the step that is under way. */
static void finish(struct instance *in, const struct error *e)
{
    life_done *after = in->after;
    in->after = NULL;
    if (after)
        after(in, e);
}

/* ---- open ---- */

static int refused(const struct instance *in, uint32_t class, const char *reason, struct error *e)
{
    return error_set(e, class, "%s: %s.%s: %s refused to open: %s", in->origin, in->section,
                     in->name, in->type->plugin->name,
                     reason && *reason ? reason : error_class_name(class));
}

static void opened_there(struct instance *in, uint32_t class, const char *text)
{
    struct error e;
    if (taken_over(in))
        return;
    if (class != CHELA_OK) {
        refused(in, class, text, &e);
        call_end_all(in, CHELA_E_GONE, "it did not open");
        in->number = 0;
        life_state(in, INSTANCE_FAILED, e.text);
    }
    finish(in, class != CHELA_OK ? &e : NULL);
}

/* In this process. Returns CHELA_OK or the plugin's class. */
static uint32_t open_here(struct instance *in)
{
    int32_t class = CHELA_OK;
    local_attach(in);
    if (in->type->iface.open) {
        uint64_t entered = callback_enter();
        class = in->type->iface.open(&in->inst);
        callback_leave(in, "open", entered);
    }
    if (class != CHELA_OK) /* what it has begun before it refused */
        local_detach(in);
    return (uint32_t) class;
}

int life_open(struct instance *in, life_done *done, struct error *e)
{
    in->number = call_number();
    free(in->said);
    in->said = NULL;
    life_state(in, INSTANCE_OPEN, NULL);
    if (isolated(in)) {
        in->after = done;
        isolate_instance_open(in, opened_there);
        return 1;
    }
    uint32_t class = open_here(in);
    if (class == CHELA_OK)
        return 0;
    refused(in, class, in->said, e);
    call_end_all(in, CHELA_E_GONE, "it did not open");
    life_state(in, INSTANCE_FAILED, e->text);
    in->number = 0;
    return -1;
}

int life_try(const struct instance *in, struct options *options, struct error *e)
{
    if (isolated(in))
        return 0;
    struct instance *trial =
        life_new(in->section, in->name, in->origin, in->embedded, in->type, options);
    trial->number = call_number();
    trial->state = INSTANCE_OPEN;
    uint32_t class = open_here(trial);
    int result = class == CHELA_OK ? 0 : refused(trial, class, trial->said, e);
    if (result == 0) {
        if (trial->type->iface.close)
            trial->type->iface.close(&trial->inst);
        local_detach(trial);
    }
    trial->state = INSTANCE_CLOSED;
    call_end_all(trial, CHELA_E_GONE, "it was opened for a test only");
    life_free(trial);
    return result;
}

/* ---- start ---- */

static void start_ended(void *owner, uint64_t call, const struct chela_done *done,
                        const struct chela_decide *decide)
{
    (void)call;
    (void)decide;
    struct instance *in = owner;
    struct error e;
    int failed = error_from_done(&e, done);
    if (taken_over(in))
        return;
    if (in->state != INSTANCE_STARTING) { /* stuck, or its process has ended meanwhile */
        if (!failed)
            error_set(&e, CHELA_E_GONE, "%s", in->why ? in->why : "it has failed");
        failed = -1;
    } else if (failed) {
        error_prefix(&e, "%s could not start", instance_label(in));
        life_state(in, INSTANCE_FAILED, e.text);
    } else {
        in->attempts = 0;
        life_state(in, INSTANCE_RUNNING, NULL);
    }
    finish(in, failed ? &e : NULL);
}

static const struct call_ops start_ops = {.done = start_ended};

void life_start(struct instance *in, life_done *done)
{
    CHELA_ARGS(chela_arg, a, 0);
    in->after = done;
    life_state(in, INSTANCE_STARTING, NULL);
    call_begin(in, CHELA_FN_START, &a, START_MS, 0, &start_ops, in);
}

/* ---- stop ---- */

static void count_leaks(const struct instance *in, unsigned requests, unsigned handles)
{
    if (requests + handles == 0)
        return;
    CLEANUP(freep)
    char *labels = xprintf("plugin=\"%s\",instance=\"%s\"", in->type->plugin->name, in->name);
    metrics_count("chela_instance_leaks_total", labels, requests + handles);
    log_warning(instance_label(in),
                "left %u requests and %u timers, watches and jobs behind when it was closed; they "
                "were ended",
                requests, handles);
}

static void closed(struct instance *in, unsigned requests, unsigned handles)
{
    count_leaks(in, requests, handles);
    drop_kept(in);
    published_drop(in);
    in->number = 0;
    life_state(in, INSTANCE_CLOSED, NULL);
    finish(in, NULL);
}

static void closed_there(struct instance *in)
{
    /* its process has counted and named the handles */
    closed(in, call_end_all(in, CHELA_E_GONE, "it is closed"), 0);
}

static void close_here(void *arg)
{
    struct instance *in = arg;
    if (in->type->iface.close) {
        uint64_t entered = callback_enter();
        in->type->iface.close(&in->inst);
        callback_leave(in, "close", entered);
    }
    unsigned requests = call_end_all(in, CHELA_E_GONE, "it is closed");
    closed(in, requests, local_detach(in));
}

static void work_ended(void *arg)
{
    struct instance *in = arg;
    in->workless = NULL;
    loop_timer_stop(in->work_limit);
    close_here(in);
}

/* Jobs on pool threads use what close would free, so it waits for them, but not for ever. */
static void wait_for_work(struct instance *in)
{
    if (in->work_count == 0) {
        close_here(in);
        return;
    }
    in->workless = work_ended;
    in->work_limit = loop_timer(WORK_MS, work_ended, in);
}

static void stop_ended(void *owner, uint64_t call, const struct chela_done *done,
                       const struct chela_decide *decide)
{
    (void)call;
    (void)decide;
    struct instance *in = owner;
    if (done->error != CHELA_OK && done->error != CHELA_E_GONE)
        log_warning(instance_label(in), "did not stop cleanly: %.*s",
                    (int)(done->text.n > 500 ? 500 : done->text.n), done->text.s);
    if (isolated(in))
        isolate_instance_close(in, closed_there);
    else
        wait_for_work(in);
}

static const struct call_ops stop_ops = {.done = stop_ended};

static void all_calls_ended(void *arg)
{
    struct instance *in = arg;
    CHELA_ARGS(chela_arg, a, 0);
    call_begin(in, CHELA_FN_STOP, &a, STOP_MS, 0, &stop_ops, in);
}

static void nothing_to_stop(void *arg)
{
    finish(arg, NULL);
}

void life_stop(struct instance *in, life_done *done)
{
    loop_timer_stop(in->retry);
    in->retry = 0;
    if (in->after) /* a start that is under way: it is cancelled with the rest */
        finish(in, &(struct error){.class = CHELA_E_CANCELLED, .text = "it was stopped"});
    in->after = done;
    if (in->number == 0) { /* never opened, or closed */
        in->state = INSTANCE_CLOSED;
        loop_defer(nothing_to_stop, in);
        return;
    }
    life_state(in, INSTANCE_STOPPING, NULL);
    call_cancel_all(in);
    call_when_idle(in, all_calls_ended, in);
}

/* ---- check and apply ---- */

static void told(void *owner, uint64_t call, const struct chela_done *done,
                 const struct chela_decide *decide)
{
    (void)call;
    (void)decide;
    struct instance *in = owner;
    struct error e;
    int failed = error_from_done(&e, done);
    if (taken_over(in))
        return;
    if (failed)
        error_prefix(&e, "%s.%s", in->section, in->name);
    finish(in, failed ? &e : NULL);
}

static const struct call_ops told_ops = {.done = told};

/* What the plugin reads from now on. */
static void show_options(struct instance *in, struct options *options)
{
    in->options = options;
    if (isolated(in) && isolate_alive(in->type->plugin))
        isolate_instance_options(in);
}

void life_check(struct instance *in, struct options *options, life_done *done)
{
    struct options *before = in->options;
    CHELA_ARGS(chela_arg, a, 0);
    in->after = done;
    show_options(in, options);
    call_begin(in, CHELA_FN_CHECK, &a, CHECK_MS, 0, &told_ops, in); /* runs the slot at once */
    show_options(in, before);
}

void life_apply(struct instance *in, struct options *options, life_done *done)
{
    CHELA_ARGS(chela_arg, a, 0);
    in->after = done;
    in->kept = xrealloc(in->kept, (in->kept_count + 1) * sizeof(struct options *));
    in->kept[in->kept_count++] = in->options;
    show_options(in, options_hold(options));
    call_begin(in, CHELA_FN_APPLY, &a, CHECK_MS, 0, &told_ops, in);
}
