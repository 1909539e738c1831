/*
 * The event loop over libuv (see loop.h): passes, deferred and posted work, watches, signals. The
 * heap of timers is in timers.c; the run queue and the HTTP server hook in by loop_before_poll().
 *
 * A pass ends in a prepare handle, directly before libuv polls: due timers, then rounds of posted
 * and deferred work and of the hooks, until a round finds nothing new. Only then may the poll
 * block.
 */
#include "host/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include <chela/local.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/timers.h"

enum { HOOKS_MAX = 8, ROUNDS_MAX = 32 };

struct task {
    struct link link;
    loop_fn *fn;
    void *arg;
};

struct loop_watch {
    uv_poll_t poll;
    uint32_t events;
    loop_fd_fn *fn;
    void *arg;
    bool closing;
};

struct work {
    uv_work_t request;
    loop_fn *job, *done;
    void *arg;
};

struct listener {
    uv_signal_t handle;
    loop_fn *fn;
    void *arg;
};

static struct {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t idle;   /* active: the poll must not block */
    uv_timer_t timer; /* wakes the poll for the heap's next timer */
    uv_async_t async;
    uint64_t armed; /* when `timer` fires; UINT64_MAX: it is stopped */
    bool again, idling, one_pass;
    uint64_t pass;
    bool (*hooks[HOOKS_MAX])(void);
    unsigned hook_count, watch_count;
    struct link deferred;
    pthread_mutex_t lock; /* of `posted` */
    struct link posted;
    struct listener *listeners[NSIG];
    pthread_t thread;
    bool is_open;
} loop;

/* ---- passes ---- */

static void nothing_idle(uv_idle_t *h)
{
    (void)h;
}

static void timer_fired(uv_timer_t *h)
{
    (void)h; /* the prepare handle does the work */
    loop.armed = UINT64_MAX;
}

static void nothing_async(uv_async_t *h)
{
    (void)h;
}

/* Moves all of `from` behind `to`. */
static void list_move(struct link *to, struct link *from)
{
    LIST_EACH(l, from)
    {
        list_remove(l);
        list_append(to, l);
    }
}

/* Runs what is deferred and posted up to now; what these add waits for the next round. */
static bool run_tasks(void)
{
    struct link now;
    list_init(&now);
    list_move(&now, &loop.deferred);
    pthread_mutex_lock(&loop.lock);
    list_move(&now, &loop.posted);
    pthread_mutex_unlock(&loop.lock);
    bool ran = !list_empty(&now);
    while (!list_empty(&now)) {
        struct task *t = CONTAINER_OF(now.next, struct task, link);
        list_remove(&t->link);
        loop_fn *fn = t->fn;
        void *arg = t->arg;
        free(t);
        fn(arg);
    }
    return ran;
}

/* Lets the poll end when the next timer is due. A fake clock wakes nobody. */
static void arm_timer(void)
{
    uint64_t due;
    if (!timers_next(&due) || clock_is_fake()) {
        if (loop.armed != UINT64_MAX)
            uv_timer_stop(&loop.timer);
        loop.armed = UINT64_MAX;
        return;
    }
    if (due == loop.armed)
        return;
    uint64_t now = clock_ticks_ms();
    uv_update_time(&loop.uv);
    uv_timer_start(&loop.timer, timer_fired, due > now ? due - now : 0, 0);
    loop.armed = due;
}

static void set_idle(bool on)
{
    if (on && !loop.idling)
        uv_idle_start(&loop.idle, nothing_idle);
    else if (!on && loop.idling)
        uv_idle_stop(&loop.idle);
    loop.idling = on;
}

static void run_pass(void)
{
    bool left = false, again = true;
    bool did = loop.again;
    loop.pass++;
    did = timers_run(clock_ticks_ms()) || did;
    for (unsigned round = 0; again && round < ROUNDS_MAX; round++) {
        loop.again = false;
        again = run_tasks();
        left = false;
        for (unsigned i = 0; i < loop.hook_count; i++)
            left = loop.hooks[i]() || left;
        again = again || loop.again;
        did = did || again;
    }
    set_idle(left || again || (did && loop.one_pass));
    arm_timer();
}

static void before_poll(uv_prepare_t *h)
{
    (void)h;
    run_pass();
}

void loop_run(void)
{
    uv_run(&loop.uv, UV_RUN_DEFAULT);
}

void loop_stop(void)
{
    uv_stop(&loop.uv);
}

void loop_turn(bool wait)
{
    loop.one_pass = true; /* a pass that has done something doesn't block */
    uv_run(&loop.uv, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    loop.one_pass = false;
    run_pass(); /* what the poll has brought */
}

void loop_before_poll(bool (*fn)(void))
{
    for (unsigned i = 0; i < loop.hook_count; i++)
        if (loop.hooks[i] == fn)
            return;
    if (loop.hook_count == HOOKS_MAX)
        abort(); /* a mistake in the program itself */
    loop.hooks[loop.hook_count++] = fn;
}

void loop_again(void)
{
    loop.again = true;
}

uint64_t loop_pass(void)
{
    return loop.pass;
}

bool loop_on_thread(void)
{
    return pthread_equal(pthread_self(), loop.thread) != 0;
}

struct uv_loop_s *loop_uv(void)
{
    return &loop.uv;
}

/* ---- timers, tasks, pool ---- */

uint64_t loop_timer(uint64_t ms, loop_fn *fn, void *arg)
{
    uint64_t now = clock_ticks_ms();
    return timers_add(ms > UINT64_MAX - 1 - now ? UINT64_MAX - 1 : now + ms, fn, arg);
}

void loop_timer_stop(uint64_t handle)
{
    timers_stop(handle);
}

static struct task *task_new(loop_fn *fn, void *arg)
{
    struct task *t = xcalloc(1, sizeof *t);
    t->fn = fn;
    t->arg = arg;
    return t;
}

void loop_defer(loop_fn *fn, void *arg)
{
    list_append(&loop.deferred, &task_new(fn, arg)->link);
    loop.again = true;
}

void loop_post(loop_fn *fn, void *arg)
{
    struct task *t = task_new(fn, arg);
    pthread_mutex_lock(&loop.lock);
    list_append(&loop.posted, &t->link);
    pthread_mutex_unlock(&loop.lock);
    uv_async_send(&loop.async);
}

static void work_job(uv_work_t *r)
{
    struct work *w = CONTAINER_OF(r, struct work, request);
    w->job(w->arg);
}

static void work_done(uv_work_t *r, int status)
{
    struct work *w = CONTAINER_OF(r, struct work, request);
    (void)status; /* nothing is ever cancelled */
    w->done(w->arg);
    free(w);
}

void loop_work(loop_fn *job, loop_fn *done, void *arg)
{
    struct work *w = xcalloc(1, sizeof *w);
    w->job = job;
    w->done = done;
    w->arg = arg;
    uv_queue_work(&loop.uv, &w->request, work_job, work_done);
}

/* ---- descriptors ---- */

static int poll_mask(uint32_t events)
{
    return ((events & CHELA_READABLE) ? UV_READABLE : 0) |
           ((events & CHELA_WRITABLE) ? UV_WRITABLE : 0) |
           ((events & LOOP_HANGUP) ? UV_DISCONNECT : 0);
}

static void poll_ready(uv_poll_t *h, int status, int ready)
{
    struct loop_watch *w = CONTAINER_OF(h, struct loop_watch, poll);
    uint32_t events = ((ready & UV_READABLE) ? (uint32_t)CHELA_READABLE : 0) |
                      ((ready & UV_WRITABLE) ? (uint32_t)CHELA_WRITABLE : 0) |
                      ((ready & UV_DISCONNECT) ? (uint32_t)LOOP_HANGUP : 0);
    /* On an error libuv has stopped the handle. The owner learns what it is by reading; until it
     * stops watching, it is told again, as with anything that is ready. */
    if (status < 0)
        events = w->events | CHELA_READABLE;
    w->fn(events, w->arg); /* may stop the watch; its memory stays until the handle has closed */
    if (status < 0 && !w->closing && w->events)
        uv_poll_start(&w->poll, poll_mask(w->events), poll_ready);
}

struct loop_watch *loop_watch(int fd, uint32_t events, loop_fd_fn *fn, void *arg)
{
    struct loop_watch *w = xcalloc(1, sizeof *w);
    if (uv_poll_init(&loop.uv, &w->poll, fd) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = &loop; /* ours, see close_left */
    w->fn = fn;
    w->arg = arg;
    loop.watch_count++;
    loop_watch_change(w, events);
    return w;
}

void loop_watch_change(struct loop_watch *w, uint32_t events)
{
    if (w->events == events)
        return;
    w->events = events;
    if (events)
        uv_poll_start(&w->poll, poll_mask(events), poll_ready);
    else
        uv_poll_stop(&w->poll);
}

static void watch_closed(uv_handle_t *h)
{
    free(CONTAINER_OF((void *)h, struct loop_watch, poll));
}

void loop_unwatch(struct loop_watch *w)
{
    if (!w || w->closing)
        return;
    w->closing = true;
    loop.watch_count--;
    uv_close((uv_handle_t *)&w->poll, watch_closed);
}

/* ---- signals ---- */

static void signal_came(uv_signal_t *h, int number)
{
    struct listener *l = CONTAINER_OF(h, struct listener, handle);
    (void)number;
    l->fn(l->arg);
}

static void signal_closed(uv_handle_t *h)
{
    free(CONTAINER_OF((void *)h, struct listener, handle));
}

void loop_signal(int number, loop_fn *fn, void *arg)
{
    struct listener *l = loop.listeners[number];
    if (!fn) {
        loop.listeners[number] = NULL;
        if (l)
            uv_close((uv_handle_t *)&l->handle, signal_closed);
        return;
    }
    if (!l) {
        l = loop.listeners[number] = xcalloc(1, sizeof *l);
        uv_signal_init(&loop.uv, &l->handle);
        uv_unref((uv_handle_t *)&l->handle);
        uv_signal_start(&l->handle, signal_came, number);
    }
    l->fn = fn;
    l->arg = arg;
}

/* ---- open and close ---- */

void loop_open(void)
{
    if (loop.is_open)
        return;
    uv_loop_init(&loop.uv);
    uv_prepare_init(&loop.uv, &loop.prepare);
    uv_prepare_start(&loop.prepare, before_poll);
    uv_idle_init(&loop.uv, &loop.idle);
    uv_timer_init(&loop.uv, &loop.timer);
    uv_async_init(&loop.uv, &loop.async, nothing_async);
    pthread_mutex_init(&loop.lock, NULL);
    list_init(&loop.deferred);
    list_init(&loop.posted);
    loop.armed = UINT64_MAX;
    loop.thread = pthread_self();
    loop.is_open = true;
}

static void drop_tasks(struct link *tasks)
{
    LIST_EACH(l, tasks)
    {
        list_remove(l);
        free(CONTAINER_OF(l, struct task, link));
    }
}

/* Watches that nobody stopped are stopped here; handles of others (loop_uv) are closed as they are,
 * their memory stays their owners'. */
static void close_left(uv_handle_t *h, void *unused)
{
    (void)unused;
    if (uv_is_closing(h))
        return;
    if (h->data == &loop)
        loop_unwatch(CONTAINER_OF((void *)h, struct loop_watch, poll));
    else
        uv_close(h, NULL);
}

unsigned loop_close(void)
{
    if (!loop.is_open)
        return 0;
    unsigned timers = (unsigned)timers_count(), watches = loop.watch_count;
    if (timers || watches)
        log_warning("loop", "%u timers and %u watches were left at the end", timers, watches);
    for (int i = 0; i < NSIG; i++)
        loop_signal(i, NULL, NULL);
    uv_prepare_stop(&loop.prepare);
    uv_walk(&loop.uv, close_left, NULL);
    while (uv_run(&loop.uv, UV_RUN_DEFAULT) != 0)
        ;
    uv_loop_close(&loop.uv);
    timers_free();
    drop_tasks(&loop.deferred);
    drop_tasks(&loop.posted);
    pthread_mutex_destroy(&loop.lock);
    loop.is_open = loop.idling = false;
    loop.hook_count = loop.watch_count = 0;
    return timers + watches;
}
