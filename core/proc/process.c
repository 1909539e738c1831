/*
 * The life of a child process: what the supervisor says, deadlines, and the end, which is told once
 * the supervisor has ended (so nobody is left) and the output is read to its end.
 */
#include "proc/process_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/worklist.h"

static struct {
    struct map by_id;
    struct link all;
    struct worklist work;
    uint64_t last_id;
} pool;

void process_work(struct process *p)
{
    worklist_add(&pool.work, &p->work);
}

static void supervisor_late(void *arg)
{
    struct process *p = arg;
    p->watchdog = 0;
    log_error("process", "the supervisor of %u does not end, killing it", p->end.pid);
    kill(p->supervisor, SIGKILL);
}

void process_ask(struct process *p, uint32_t kind, uint32_t value)
{
    struct supervise_request r = {kind, value};
    if (p->socket < 0 || p->gone)
        return;
    if (send(p->socket, &r, sizeof r, MSG_NOSIGNAL) != (ssize_t)sizeof r)
        kill(p->supervisor, SIGKILL); /* its socket is full of signals it doesn't read */
    if (kind != SUPERVISE_SIGNAL && !p->watchdog)
        p->watchdog = loop_timer(PROCESS_ANSWER_MS, supervisor_late, p);
}

static void timed_out(void *arg)
{
    struct process *p = arg;
    p->timeout = 0;
    if (p->ended)
        return;
    p->end.timed_out = true;
    process_ask(p, SUPERVISE_END, 0);
}

static void drain_over(void *arg)
{
    struct process *p = arg;
    p->drain = 0;
    p->drained = true;
    process_work(p);
}

/* ---- the supervisor ---- */

static void start_failed(struct process *p, uint32_t stage, int number)
{
    static const char *const names[] = {
        [STAGE_NONE] = "",
        [STAGE_SPEC] = "the supervisor could not read what to start",
        [STAGE_FORK] = "no process could be made",
        [STAGE_SESSION] = "no session or terminal could be made",
        [STAGE_LIMITS] = "the limits could not be set",
        [STAGE_DIRECTORY] = "the directory can't be entered",
        [STAGE_CONFINE] = "the confinement could not be set up",
        [STAGE_PROGRAM] = "the program can't be run",
    };
    uint32_t class = stage == STAGE_PROGRAM || stage == STAGE_DIRECTORY
                         ? (number == ENOENT || number == ENOTDIR ? (uint32_t)CHELA_E_NOT_FOUND
                            : number == EACCES                    ? (uint32_t)CHELA_E_DENIED
                                                                  : (uint32_t)CHELA_E_OTHER)
                         : (uint32_t)CHELA_E_OTHER;
    error_set(&p->end.error, class, "%s: %s",
              stage < ARRAY_LENGTH(names) ? names[stage] : "the process could not be started",
              strerror(number));
    p->ended = true;
}

static void take_reply(struct process *p, const struct supervise_reply *r)
{
    if (r->kind == SUPERVISE_STARTED) {
        p->end.pid = r->first;
        p->end.missing = r->second;
    } else if (r->kind == SUPERVISE_FAILED) {
        start_failed(p, r->first, (int)r->second);
    } else if (r->kind == SUPERVISE_ENDED) {
        p->end.exit = r->first;
        p->end.signal = r->second;
        p->ended = true;
    }
}

static void read_replies(struct process *p)
{
    struct supervise_reply r;
    while (p->socket >= 0 && recv(p->socket, &r, sizeof r, MSG_DONTWAIT) == (ssize_t)sizeof r)
        take_reply(p, &r);
    process_work(p);
}

static void socket_ready(uint32_t events, void *arg)
{
    struct process *p = arg;
    char byte;
    (void)events;
    read_replies(p);
    ssize_t n = recv(p->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (n == 0 || (n < 0 && errno != EAGAIN)) { /* its end; the rest comes by the pidfd */
        loop_unwatch(p->socket_watch);
        p->socket_watch = NULL;
    }
}

static void supervisor_ended(uint32_t events, void *arg)
{
    struct process *p = arg;
    int status = 0;
    (void)events;
    if (waitpid(p->supervisor, &status, WNOHANG) == 0)
        return;
    loop_unwatch(p->supervisor_watch);
    p->supervisor_watch = NULL;
    read_replies(p);
    p->gone = true;
    if (!p->ended)
        error_set(&p->end.error, CHELA_E_GONE, "the supervisor of the process was killed");
    p->ended = true;
    p->drain = loop_timer(PROCESS_DRAIN_MS, drain_over, p);
}

/* ---- the scheduler ---- */

static void process_free(struct process *p)
{
    loop_timer_stop(p->timeout);
    loop_timer_stop(p->watchdog);
    loop_timer_stop(p->drain);
    loop_unwatch(p->supervisor_watch);
    loop_unwatch(p->socket_watch);
    process_io_close(p);
    if (p->socket >= 0)
        close(p->socket);
    if (p->supervisor_fd >= 0)
        close(p->supervisor_fd);
    map_remove_number(&pool.by_id, p->id);
    list_remove(&p->link);
    list_remove(&p->work);
    free(p);
}

static void finish(struct process *p)
{
    map_remove_number(&pool.by_id, p->id);
    if (p->ops)
        p->ops->done(p->owner, p->id, &p->end);
    process_free(p);
}

/* Does what is due; false: its consumer has no room. */
static bool step(struct link *work)
{
    struct process *p = CONTAINER_OF(work, struct process, work);
    bool room = process_io_read(p);
    if (!room && p->drain) { /* it is we who don't read */
        loop_timer_stop(p->drain);
        p->drain = 0;
    } else if (room && p->gone && !p->drain && !p->drained && !process_io_ended(p)) {
        p->drain = loop_timer(PROCESS_DRAIN_MS, drain_over, p);
    }
    if (p->gone && room && (p->drained || process_io_ended(p))) {
        finish(p);
        return true;
    }
    return room;
}

static bool before_poll(void)
{
    return worklist_run(&pool.work, step);
}

/* ---- what others call ---- */

void process_open(void)
{
    list_init(&pool.all);
    worklist_open(&pool.work);
    signal(SIGPIPE, SIG_IGN); /* of a child that reads no more; children get the default back */
    loop_before_poll(before_poll);
}

void process_close(void)
{
    LIST_EACH(l, &pool.all)
    {
        struct process *p = CONTAINER_OF(l, struct process, link);
        if (p->socket >= 0)
            close(p->socket); /* ends all of it */
        p->socket = -1;
        if (p->supervisor > 0 && !p->gone)
            waitpid(p->supervisor, NULL, 0);
        process_free(p);
    }
    map_free(&pool.by_id, NULL);
    memset(&pool.by_id, 0, sizeof pool.by_id);
}

uint64_t process_start(const struct process_request *r, const struct process_ops *ops, void *owner)
{
    struct process *p = xcalloc(1, sizeof *p);
    p->id = ++pool.last_id;
    p->ops = ops;
    p->owner = owner;
    p->flags = r->flags;
    p->out[0].fd = p->out[1].fd = p->input = p->socket = p->supervisor_fd = -1;
    list_init(&p->work);
    list_append(&pool.all, &p->link);
    map_set_number(&pool.by_id, p->id, p);
    if (process_spawn(p, r, &p->end.error) != 0) {
        p->gone = p->ended = p->drained = true;
        process_work(p);
        return p->id;
    }
    process_io_start(p);
    p->socket_watch = loop_watch(p->socket, CHELA_READABLE, socket_ready, p);
    p->supervisor_watch = loop_watch(p->supervisor_fd, CHELA_READABLE, supervisor_ended, p);
    if (r->timeout_ms)
        p->timeout = loop_timer(r->timeout_ms, timed_out, p);
    return p->id;
}

void process_write(uint64_t id, struct chela_str data, bool last)
{
    struct process *p = map_get_number(&pool.by_id, id);
    if (!p || p->input < 0 || p->input_last)
        return;
    buf_str(&p->waiting, data);
    p->input_last = last;
    if (last && (p->flags & CHELA_PTY))
        buf_char(&p->waiting, 4); /* the terminal's end of file */
    process_io_write(p);
    if (p->waiting.n > PROCESS_INPUT && !p->end.error.class) {
        error_set(&p->end.error, CHELA_E_TOO_LONG, "the process takes too little of its input");
        process_ask(p, SUPERVISE_END, 0);
    }
}

void process_resize(uint64_t id, uint32_t rows, uint32_t columns)
{
    struct process *p = map_get_number(&pool.by_id, id);
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    if (p && (p->flags & CHELA_PTY) && p->out[0].fd >= 0 && rows && columns)
        ioctl(p->out[0].fd, TIOCSWINSZ, &size);
}

void process_signal(uint64_t id, uint32_t number)
{
    struct process *p = map_get_number(&pool.by_id, id);
    if (p && number > 0 && number < NSIG)
        process_ask(p, SUPERVISE_SIGNAL, number);
}

void process_stop(uint64_t id)
{
    struct process *p = map_get_number(&pool.by_id, id);
    if (!p)
        return;
    p->end.ended = true;
    process_ask(p, SUPERVISE_END, 0);
}

void process_forget(uint64_t id)
{
    struct process *p = map_get_number(&pool.by_id, id);
    if (!p)
        return;
    p->ops = NULL;
    process_ask(p, SUPERVISE_KILL, 0);
}

unsigned process_count(void)
{
    return (unsigned)pool.by_id.count;
}
