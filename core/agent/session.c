/*
 * The session manager: lanes, one for each session in which something runs or waits, and a bound on
 * how many turns run in all. Called by ingress.c, calls renewal.c. What a new message does to a
 * running turn is decided in queue.c.
 */
#include "agent/session.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <unistd.h>

#include "agent/agents.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/queue.h"
#include "agent/renewal.h"
#include "agent/runs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/loop.h"

enum { CONCURRENT = 64 };

struct work {
    struct link link;
    session_work_fn *fn;
    void *owner;
};

static struct map lanes;
static struct link ready = {&ready, &ready}; /* lanes that could start a turn, first come */
static unsigned running;
static bool stopping;
static void (*drained)(void *owner);
static void *drained_owner;
static uint64_t drained_timer;

static void pump(struct lane *l);

static struct lane *lane_get(const char *session)
{
    struct lane *l = map_get(&lanes, session);
    if (l)
        return l;
    l = xcalloc(1, sizeof *l);
    l->session = xstrdup(session);
    list_init(&l->jobs);
    list_init(&l->works);
    list_init(&l->ready);
    map_set(&lanes, session, l);
    return l;
}

static void lane_free(void *p)
{
    struct lane *l = p;
    loop_timer_stop(l->timer);
    list_remove(&l->ready);
    while (!list_empty(&l->jobs)) {
        struct job *j = CONTAINER_OF(l->jobs.next, struct job, link);
        list_remove(&j->link);
        job_free(j);
    }
    while (!list_empty(&l->works)) {
        struct work *w = CONTAINER_OF(l->works.next, struct work, link);
        list_remove(&w->link);
        free(w);
    }
    free(l->dropped);
    free(l->run);
    free(l->session);
    free(l);
}

static void drop_if_idle(struct lane *l)
{
    if (l->run || l->working || l->timer || !list_empty(&l->jobs) || !list_empty(&l->works))
        return;
    map_remove(&lanes, l->session);
    lane_free(l);
}

static unsigned bound(void)
{
    int64_t n = settings_number_or("session.max_concurrent", CONCURRENT);
    return n > 0 ? (unsigned)n : CONCURRENT;
}

static void start(struct lane *l)
{
    struct job *j = queue_take(l);
    list_remove(&l->ready);
    l->run = xstrdup(j->run);
    running++;
    runs_open(j->run, j->session, j->agent);
    renewal_pass(j);
}

static void start_ready(void)
{
    while (!stopping && running < bound() && !list_empty(&ready)) {
        struct lane *l = CONTAINER_OF(ready.next, struct lane, ready);
        list_remove(&l->ready);
        if (!l->run && !l->working && !list_empty(&l->jobs))
            start(l);
    }
}

/* Begins what may begin in this lane. */
static void pump(struct lane *l)
{
    if (l->run || l->working)
        return;
    if (!list_empty(&l->works)) {
        struct work *w = CONTAINER_OF(l->works.next, struct work, link);
        list_remove(&w->link);
        l->working = true;
        session_work_fn *fn = w->fn;
        void *owner = w->owner;
        free(w);
        fn(owner);
        return;
    }
    if (list_empty(&l->jobs)) {
        drop_if_idle(l);
        return;
    }
    if (l->timer) /* "collect" still waits for quiet */
        return;
    if (list_empty(&l->ready))
        list_append(&ready, &l->ready);
    start_ready();
}

static void quiet(void *arg)
{
    struct lane *l = arg;
    l->timer = 0;
    pump(l);
}

/* A burst becomes one turn: its first message waits until there is quiet. Not for a client that
 * waits for the answer, not for more than text. */
static void gather(struct lane *l, struct job *j)
{
    uint64_t quiet_ms = queue_burst(j);
    if (quiet_ms == 0)
        return;
    j->collect = true;
    loop_timer_stop(l->timer);
    l->timer = loop_timer(quiet_ms, quiet, l);
}

void session_submit(struct job *j)
{
    struct lane *l = lane_get(j->session);
    struct run *r = l->run ? runs_find(l->run) : NULL;
    bool busy = l->run || l->working || !list_empty(&l->jobs);
    enum queue_mode mode = queue_mode_for(j);
    if (r && mode == QUEUE_STEER && runs_steer(r, j))
        return;
    if (busy && mode == QUEUE_INTERRUPT) {
        queue_drop_all(l, "interrupted by a newer message");
        queue_add(l, j);
        if (r)
            runs_abort(r, "interrupt", NULL, NULL);
        return;
    }
    if (mode == QUEUE_COLLECT && (busy || l->timer)) {
        j->collect = true;
        loop_timer_stop(l->timer);
        l->timer = loop_timer(queue_debounce(), quiet, l);
    }
    if (!r && !l->working && mode != QUEUE_INTERRUPT)
        gather(l, j);
    queue_add(l, j);
    pump(l);
}

static void tell_drained(void *arg)
{
    (void)arg;
    drained_timer = 0;
    void (*fn)(void *owner) = drained;
    drained = NULL;
    if (fn)
        fn(drained_owner);
}

void session_released(const char *session, const char *run, struct link *left)
{
    struct lane *l = map_get(&lanes, session);
    if (l && l->run && strcmp(l->run, run) == 0) {
        free(l->run);
        l->run = NULL;
        running--;
        queue_return(l, left);
        pump(l);
    }
    start_ready();
    if (drained && running == 0 && !drained_timer)
        drained_timer = loop_timer(0, tell_drained, NULL);
}

void session_drain(void (*fn)(void *owner), void *owner)
{
    stopping = true;
    drained = fn;
    drained_owner = owner;
    if (running == 0)
        drained_timer = loop_timer(0, tell_drained, NULL);
}

unsigned session_queued(const char *session)
{
    const struct lane *l = map_get(&lanes, session);
    return l ? queue_count(l) : 0;
}

/* ---- abort ---- */

struct stopping_wait {
    unsigned left;
    journal_fn *fn;
    void *owner;
};

static void one_stopped(void *owner)
{
    struct stopping_wait *w = owner;
    if (--w->left)
        return;
    if (w->fn)
        w->fn(w->owner, NULL);
    free(w);
}

static void one_stopped_later(void *owner)
{
    one_stopped(owner);
}

unsigned session_abort(const char *session, const char *run, const char *by, journal_fn *fn,
                       void *owner)
{
    struct stopping_wait *w = xcalloc(1, sizeof *w);
    unsigned n = 0;
    w->fn = fn;
    w->owner = owner;
    w->left = 1;
    struct run *r = run ? runs_find(run) : runs_of_session(session);
    struct lane *l = map_get(&lanes, session && *session ? session : r ? r->session : "");
    if (r && (!session || !*session || strcmp(r->session, session) == 0)) {
        w->left++;
        n++;
        runs_abort(r, by, one_stopped, w);
    }
    if (l) {
        n += queue_drop(l, run, "stopped");
        r = l->run ? runs_find(l->run) : NULL;
        if (r)
            n += queue_drop_steered(r, run);
        drop_if_idle(l);
    }
    if (n == 0) {
        free(w);
        return 0;
    }
    loop_defer(one_stopped_later, w);
    return n;
}

/* ---- exclusive work ---- */

void session_enter(const char *session, session_work_fn *fn, void *owner)
{
    struct lane *l = lane_get(session);
    struct work *w = xcalloc(1, sizeof *w);
    w->fn = fn;
    w->owner = owner;
    list_append(&l->works, &w->link);
    pump(l);
}

void session_leave(const char *session)
{
    struct lane *l = map_get(&lanes, session);
    if (!l)
        return;
    l->working = false;
    pump(l);
}

void session_forget_all(void)
{
    map_free(&lanes, lane_free);
    memset(&lanes, 0, sizeof lanes);
    running = 0;
    stopping = false;
    drained = NULL;
    loop_timer_stop(drained_timer);
    drained_timer = 0;
}
