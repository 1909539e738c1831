/*
 * The registry of running turns and of results of ended ones. A service: called by all stages and
 * by the facade, calls the journal (states) and whoever registered. Never starts or stops work of
 * its own.
 */
#include "agent/runs.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/models/decisions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/loop.h"

enum { RESULTS_KEPT = 256 };

struct stop_waiter {
    struct link link;
    runs_stopped_fn *fn;
    void *owner;
};

struct waiter {
    struct link link;
    char *run;
    uint64_t timer;
    runs_wait_fn *fn;
    void *owner;
};

struct kept {
    struct link link;
    char *run;
    struct json_object *result;
};

static struct link all = {&all, &all};
static struct link waiters = {&waiters, &waiters};
static struct link kept = {&kept, &kept}; /* oldest first */
static unsigned kept_count, run_count;
static struct map by_id;
static void (*on_end)(const char *session, const char *run, struct link *left);

static void write_steps(struct run *r)
{
    for (; r->journal && r->steps_written < r->step_count; r->steps_written++)
        journal_run_state(r->journal, turn_state_name(r->steps[r->steps_written].state),
                          r->steps[r->steps_written].at);
}

static void push_step(struct run *r, enum turn_state s)
{
    r->steps = xrealloc(r->steps, (r->step_count + 1) * sizeof *r->steps);
    r->steps[r->step_count++] = (struct run_step){s, clock_now_ms()};
    r->state = s;
    write_steps(r);
}

static void free_spent(struct spent *s)
{
    char *const texts[] = {(char *)(uintptr_t)s->session, (char *)(uintptr_t)s->channel,
                           (char *)(uintptr_t)s->sender, (char *)(uintptr_t)s->model};
    for (unsigned i = 0; i < ARRAY_LENGTH(texts); i++)
        free(texts[i]);
}

static void write_spent(struct run *r)
{
    for (unsigned i = 0; r->journal && i < r->spent_count; i++) {
        journal_run_spent(r->journal, &r->spent[i]);
        free_spent(&r->spent[i]);
    }
    if (r->journal)
        r->spent_count = 0;
}

void runs_spend(struct run *r, const struct spent *s)
{
    r->spent = xrealloc(r->spent, (r->spent_count + 1) * sizeof *r->spent);
    struct spent *copy = &r->spent[r->spent_count++];
    *copy = *s;
    copy->session = xstrdup(s->session);
    copy->channel = xstrdup(s->channel);
    copy->sender = xstrdup(s->sender);
    copy->model = xstrdup(s->model);
    write_spent(r);
}

void runs_set_journal(struct run *r, struct journal_run *j)
{
    r->journal = j;
    write_steps(r);
    write_spent(r);
    decisions_write(r);
}

struct run *runs_open(const char *id, const char *session, const char *agent)
{
    struct run *r = xcalloc(1, sizeof *r);
    r->id = xstrdup(id);
    r->session = xstrdup(session);
    r->agent = xstrdup(agent);
    r->started_ms = clock_now_ms();
    list_init(&r->steered);
    list_init(&r->stop_waiters);
    list_append(&all, &r->link);
    map_set(&by_id, id, r);
    run_count++;
    runs_move(r, TURN_RECEIVED);
    return r;
}

struct run *runs_find(const char *id)
{
    return map_get(&by_id, id);
}

struct run *runs_of_session(const char *session)
{
    LIST_EACH(l, &all)
    {
        struct run *r = CONTAINER_OF(l, struct run, link);
        if (strcmp(r->session, session) == 0)
            return r;
    }
    return NULL;
}

unsigned runs_count(void)
{
    return run_count;
}

void runs_each(const char *session, void (*each)(void *arg, struct run *r), void *arg)
{
    LIST_EACH(l, &all)
    {
        struct run *r = CONTAINER_OF(l, struct run, link);
        if (!session || strcmp(r->session, session) == 0)
            each(arg, r);
    }
}

bool runs_move(struct run *r, enum turn_state to)
{
    if (!turn_state_follows(r->state, to)) {
        log_error("agent", "run %s: no way from %s to %s", r->id, turn_state_name(r->state),
                  turn_state_name(to));
        return false;
    }
    log_debug("agent", "run %s: %s -> %s", r->id, turn_state_name(r->state), turn_state_name(to));
    push_step(r, to);
    return true;
}

void runs_set_owner(struct run *r, void (*abort)(void *owner), void *owner)
{
    r->abort = abort;
    r->owner = owner;
}

bool runs_steer(struct run *r, struct job *j)
{
    if (r->closing || r->aborted || r->suspended)
        return false;
    list_append(&r->steered, &j->link);
    return true;
}

struct job *runs_take_steered(struct run *r)
{
    if (list_empty(&r->steered))
        return NULL;
    struct job *j = CONTAINER_OF(r->steered.next, struct job, link);
    list_remove(&j->link);
    return j;
}

void runs_abort(struct run *r, const char *by, runs_stopped_fn *fn, void *owner)
{
    if (fn) {
        struct stop_waiter *w = xcalloc(1, sizeof *w);
        w->fn = fn;
        w->owner = owner;
        list_append(&r->stop_waiters, &w->link);
    }
    if (r->aborted)
        return;
    r->aborted = true;
    r->aborted_by = xstrdup(by);
    if (r->abort)
        r->abort(r->owner);
}

void runs_suspend(struct run *r)
{
    if (r->suspended || r->closing)
        return;
    r->suspended = true;
    if (r->abort)
        r->abort(r->owner);
}

static void waiter_free(struct waiter *w)
{
    list_remove(&w->link);
    loop_timer_stop(w->timer);
    free(w->run);
    free(w);
}

static void waiter_late(void *arg)
{
    struct waiter *w = arg;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", w->run);
    chela_json_put_text(o, "status", "timeout");
    w->fn(w->owner, o);
    json_object_put(o);
    waiter_free(w);
}

void runs_wait(const char *id, uint64_t timeout_ms, runs_wait_fn *fn, void *owner)
{
    struct json_object *result = runs_result(id);
    if (result) {
        fn(owner, result);
        return;
    }
    struct waiter *w = xcalloc(1, sizeof *w);
    w->run = xstrdup(id);
    w->fn = fn;
    w->owner = owner;
    w->timer = timeout_ms ? loop_timer(timeout_ms, waiter_late, w) : 0;
    list_append(&waiters, &w->link);
}

void runs_wait_forget(void *owner)
{
    LIST_EACH(l, &waiters)
    {
        struct waiter *w = CONTAINER_OF(l, struct waiter, link);
        if (w->owner == owner)
            waiter_free(w);
    }
}

struct json_object *runs_result(const char *id)
{
    LIST_EACH(l, &kept)
    {
        struct kept *k = CONTAINER_OF(l, struct kept, link);
        if (strcmp(k->run, id) == 0)
            return k->result;
    }
    return NULL;
}

static void kept_free(struct kept *k)
{
    list_remove(&k->link);
    free(k->run);
    json_object_put(k->result);
    free(k);
    kept_count--;
}

void runs_keep_result(const char *id, struct json_object *result)
{
    struct kept *k = xcalloc(1, sizeof *k);
    k->run = xstrdup(id);
    k->result = result;
    list_append(&kept, &k->link);
    if (++kept_count > RESULTS_KEPT)
        kept_free(CONTAINER_OF(kept.next, struct kept, link));
    struct link mine;
    list_init(&mine);
    LIST_EACH(l, &waiters)
    {
        struct waiter *w = CONTAINER_OF(l, struct waiter, link);
        if (strcmp(w->run, id) == 0) {
            list_remove(&w->link);
            list_append(&mine, &w->link);
        }
    }
    json_object_get(result); /* a waiter may end another run */
    while (!list_empty(&mine)) {
        struct waiter *w = CONTAINER_OF(mine.next, struct waiter, link);
        runs_wait_fn *fn = w->fn;
        void *owner = w->owner;
        waiter_free(w);
        fn(owner, result);
    }
    json_object_put(result);
}

static void run_free(struct run *r)
{
    list_remove(&r->link);
    map_remove(&by_id, r->id);
    run_count--;
    free(r->id);
    free(r->session);
    free(r->agent);
    free(r->steps);
    free(r->model);
    free(r->reason);
    free(r->aborted_by);
    buf_free(&r->text);
    json_object_put(r->message);
    json_object_put(r->decisions);
    for (unsigned i = 0; i < r->spent_count; i++)
        free_spent(&r->spent[i]);
    free(r->spent);
    while (!list_empty(&r->steered)) {
        struct job *j = CONTAINER_OF(r->steered.next, struct job, link);
        list_remove(&j->link);
        job_free(j);
    }
    free(r);
}

void runs_end(struct run *r, struct json_object *result)
{
    struct link stops, left;
    list_init(&stops);
    list_init(&left);
    while (!list_empty(&r->stop_waiters)) {
        struct link *l = r->stop_waiters.next;
        list_remove(l);
        list_append(&stops, l);
    }
    while (!list_empty(&r->steered)) {
        struct link *l = r->steered.next;
        list_remove(l);
        list_append(&left, l);
    }
    decisions_keep(r);
    char *id = xstrdup(r->id), *session = xstrdup(r->session);
    run_free(r);
    if (result)
        runs_keep_result(id, result);
    while (!list_empty(&stops)) {
        struct stop_waiter *w = CONTAINER_OF(stops.next, struct stop_waiter, link);
        list_remove(&w->link);
        w->fn(w->owner);
        free(w);
    }
    if (on_end)
        on_end(session, id, &left);
    while (!list_empty(&left)) {
        struct job *j = CONTAINER_OF(left.next, struct job, link);
        list_remove(&j->link);
        job_free(j);
    }
    free(id);
    free(session);
}

void runs_on_end(void (*fn)(const char *session, const char *run, struct link *left))
{
    on_end = fn;
}

void runs_reset(void)
{
    while (!list_empty(&all))
        run_free(CONTAINER_OF(all.next, struct run, link));
    while (!list_empty(&waiters))
        waiter_free(CONTAINER_OF(waiters.next, struct waiter, link));
    while (!list_empty(&kept))
        kept_free(CONTAINER_OF(kept.next, struct kept, link));
    map_free(&by_id, NULL);
    memset(&by_id, 0, sizeof by_id);
    on_end = NULL;
}
