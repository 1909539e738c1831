/*
 * The daemon's end of a plugin in a process of its own (see isolate.h): starting it, its
 * description, the bytes in both directions, its instances, its end. Nothing here blocks but
 * isolate_open() before the loop runs, which waits for the description (isolate_start.c).
 *
 * What a child sends goes into its inbox as it comes and is worked off by the run queue; while more
 * than QUEUE_LIMIT wait, nothing is read, and so the child blocks.
 */
#include "host/isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/call_private.h"
#include "host/child_frames.h"
#include "host/host_table.h"
#include "host/isolate_private.h"
#include "host/options.h"

enum { READ_SIZE = 64 << 10, OUT_LIMIT = 64 << 20 };

/* An instance over there. */
struct remote {
    struct instance *in;
    isolate_opened *opened; /* waited for, or NULL */
    void (*closed)(struct instance *in);
};

static struct link children = {&children, &children};
static void (*on_end)(struct instance *, const char *);

/* ---- the end ---- */

static void process_closed(uv_handle_t *h)
{
    free(h);
}

static void finish(struct child *c);

void child_exited(uv_process_t *process, int64_t status, int signal)
{
    struct child *c = process->data;
    uv_close((uv_handle_t *)process, process_closed);
    c->process = NULL;
    c->exited = true;
    if (c->why[0] == '\0' && signal)
        snprintf(c->why, sizeof c->why, "its process was ended by signal %d (%s)", signal,
                 strsignal(signal));
    else if (c->why[0] == '\0')
        snprintf(c->why, sizeof c->why, "its process ended with status %d", (int)status);
    if (c->fd < 0)
        finish(c);
}

static void hang_up(struct child *c)
{
    if (c->fd < 0)
        return;
    loop_unwatch(c->watch);
    c->watch = NULL;
    close(c->fd);
    c->fd = -1;
    inbox_cut(&c->inbox);
    buf_free(&c->out);
    if (c->process)
        uv_process_kill(c->process, SIGKILL);
    if (c->exited)
        finish(c);
}

/* Ends it for a reason of ours. */
static void give_up(struct child *c, const char *why)
{
    c->broken = true;
    snprintf(c->why, sizeof c->why, "%s", why);
    log_error(c->plugin->name, "%s; its process is ended", why);
    hang_up(c);
}

static void drop_remote(struct child *c, struct remote *r)
{
    map_remove_number(&c->remotes, r->in->number);
    free(r);
}

/* Both the bytes and the process have ended: all that hangs on it is told. */
static void finish(struct child *c)
{
    if (c->attached && !c->broken)
        log_error(c->plugin->name, "%s", c->why);
    size_t i = 0;
    struct link ended; /* the map must not change while it is walked */
    struct entry {
        struct link link;
        struct instance *in;
    };
    list_init(&ended);
    for (const struct map_slot *s; map_next(&c->remotes, &i, &s);) {
        struct entry *e = xcalloc(1, sizeof *e);
        e->in = ((struct remote *)s->value)->in;
        list_append(&ended, &e->link);
    }
    LIST_EACH(l, &ended)
    {
        struct entry *e = CONTAINER_OF(l, struct entry, link);
        struct instance *in = e->in;
        struct remote *r = map_get_number(&c->remotes, in->number);
        free(e);
        if (!r)
            continue;
        isolate_opened *opened = r->opened;
        void (*closed)(struct instance *) = r->closed;
        drop_remote(c, r);
        call_end_all(in, CHELA_E_GONE, c->why);
        if (closed)
            closed(in);
        else if (opened)
            opened(in, CHELA_E_GONE, c->why);
        else if (on_end)
            on_end(in, c->why);
    }
}

void isolate_on_end(void (*fn)(struct instance *, const char *))
{
    on_end = fn;
}

/* ---- what it sends ---- */

static struct wire_decoder decoder;

static void take_opened(struct child *c, struct remote *r, const struct child_result *a)
{
    isolate_opened *opened = r->opened;
    struct instance *in = r->in;
    r->opened = NULL;
    if (a->error != CHELA_OK)
        drop_remote(c, r);
    if (opened)
        opened(in, a->error, a->text.s ? a->text.s : "");
}

static void take_closed(struct child *c, struct remote *r, const struct child_result *a)
{
    void (*closed)(struct instance *) = r->closed;
    struct instance *in = r->in;
    if (a->count)
        log_warning(instance_label(in), "left %u timers, watches or jobs when it was closed",
                    (unsigned)a->count);
    drop_remote(c, r);
    if (closed)
        closed(in);
}

static void take_log(struct child *c, const struct child_log *a)
{
    enum log_level level = a->level <= LOG_ERROR     ? LOG_ERROR
                           : a->level == LOG_WARNING ? LOG_WARNING
                           : a->level == LOG_DEBUG   ? LOG_DEBUG
                                                     : LOG_INFO;
    (void)c;
    log_line(level, a->who.s ? a->who.s : "child", "%s", a->text.s ? a->text.s : "");
}

/* The first frames. A process that was started again must describe the same plugin. */
static void take_description(struct child *c, const struct wire_frame *f)
{
    size_t left = c->description.n - c->described;
    if (left < f->length || memcmp(c->description.p + c->described, f, f->length) != 0) {
        give_up(c, "the file has changed since it was first opened; restart the gateway");
        return;
    }
    c->described += f->length;
    c->is_described = c->described == c->description.n;
}

static void take_control(struct child *c, const struct wire_frame *f)
{
    const struct wire_args *a = child_frame_args(f->function);
    struct remote *r = map_get_number(&c->remotes, f->instance);
    if (!a || wire_read(&decoder, a, f) != 0) {
        give_up(c, "sent something that is no frame");
        return;
    }
    const void *args = &decoder.args;
    switch (f->function) {
    case CHILD_LOG: take_log(c, args); break;
    case CHILD_OPENED:
        if (r)
            take_opened(c, r, args);
        break;
    case CHILD_CLOSED:
        if (r)
            take_closed(c, r, args);
        break;
    case CHILD_METRIC:
        if (r) {
            const struct child_metric *m = args;
            double value;
            memcpy(&value, &m->value, sizeof value);
            host_metric(r->in, m->kind, m->name.s, m->labels.s, value);
        }
        break;
    default: give_up(c, "sent a frame that only the gateway sends"); break;
    }
}

static void take_frame(void *owner, const struct wire_frame *f)
{
    struct child *c = owner;
    if (f->marks & WIRE_BY_HOST) {
        say_take_host_end(f);
    } else if (c->broken) {
        return;
    } else if (!c->is_described) {
        take_description(c, f);
    } else if (f->function >= CHILD_PLUGIN) {
        take_control(c, f);
    } else {
        struct remote *r = map_get_number(&c->remotes, f->instance);
        if (r)
            say_take(r->in, f);
    }
}

/* ---- bytes ---- */

static void want(struct child *c)
{
    if (!c->watch)
        return;
    bool full = inbox_waiting(&c->inbox) > QUEUE_LIMIT && !inbox_hungry(&c->inbox);
    loop_watch_change(c->watch, (full ? 0 : (uint32_t)CHELA_READABLE) |
                                    (c->out.n ? (uint32_t)CHELA_WRITABLE : 0));
}

static void flush(struct child *c)
{
    size_t sent = 0;
    while (c->fd >= 0 && sent < c->out.n) {
        ssize_t n = send(c->fd, c->out.p + sent, c->out.n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break; /* full, or its end will be read */
        sent += (size_t)n;
    }
    if (c->fd >= 0)
        buf_consume(&c->out, sent);
}

static void fill(struct child *c)
{
    for (;;) {
        if (inbox_waiting(&c->inbox) > QUEUE_LIMIT && !inbox_hungry(&c->inbox))
            return;
        void *room = inbox_room(&c->inbox, READ_SIZE);
        ssize_t n = recv(c->fd, room, READ_SIZE, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            hang_up(c);
            return;
        }
        if (inbox_filled(&c->inbox, (size_t)n) < 0) {
            give_up(c, "sent something that is no frame");
            return;
        }
        if (n < READ_SIZE)
            return;
    }
}

static void ready(uint32_t events, void *arg)
{
    struct child *c = arg;
    if (events & CHELA_WRITABLE)
        flush(c);
    if (events & CHELA_READABLE)
        fill(c);
    want(c);
}

static void has_room(void *owner)
{
    want(owner);
}

/* Before each poll: sends what was collected since the last one, with one call for each child. */
static bool flush_all(void)
{
    LIST_EACH(l, &children)
    {
        struct child *c = CONTAINER_OF(l, struct child, link);
        if (c->out.n && c->watch) {
            flush(c);
            want(c);
        }
    }
    return false;
}

static void put(struct child *c, uint32_t function, uint32_t instance, const struct wire_args *a,
                const void *args)
{
    if (c->fd < 0)
        return;
    if (c->out.n > OUT_LIMIT) {
        give_up(c, "does not take what it is sent");
        return;
    }
    if (!child_frame_add(&c->out, function, instance, a, args))
        log_error(c->plugin->name, "%s could not be sent: too large", a->name);
    loop_again();
}

void isolate_send(struct instance *in, uint32_t fn, const void *args)
{
    put(in->type->plugin->child, fn, in->number, wire_function(fn)->args, args);
}

size_t isolate_waiting(const struct instance *in)
{
    return in->type->plugin->child->out.n;
}

struct inbox *isolate_inbox(const struct instance *in)
{
    return &in->type->plugin->child->inbox;
}

bool isolate_alive(const struct plugin *p)
{
    return p->child && p->child->fd >= 0;
}

/* ---- instances ---- */

static void put_open(struct instance *in, uint32_t function)
{
    struct chela_pair *options = NULL;
    CHELA_ARGS(child_open, a, 0);
    a.name = chela_s(in->name);
    a.type = chela_s(in->type->iface.type);
    a.options.n = options_pairs(in->options, &options);
    a.options.v = options;
    put(in->type->plugin->child, function, in->number, child_frame_args(function), &a);
    free(options);
}

struct answer {
    struct instance *in;
    isolate_opened *opened;
    void (*closed)(struct instance *);
};

/* For a process that is gone; still from the top of the loop. */
static void answer_later(void *arg)
{
    struct answer a = *(struct answer *)arg;
    free(arg);
    if (a.opened)
        a.opened(a.in, CHELA_E_GONE, a.in->type->plugin->child->why);
    else if (a.closed)
        a.closed(a.in);
}

static void defer_answer(struct answer a)
{
    loop_defer(answer_later, xmemdup(&a, sizeof a));
}

void isolate_instance_open(struct instance *in, isolate_opened *opened)
{
    struct child *c = in->type->plugin->child;
    if (c->fd < 0) {
        defer_answer((struct answer){in, opened, NULL});
        return;
    }
    struct remote *r = xcalloc(1, sizeof *r);
    r->in = in;
    r->opened = opened;
    map_set_number(&c->remotes, in->number, r);
    put_open(in, CHILD_OPEN);
}

void isolate_instance_options(struct instance *in)
{
    put_open(in, CHILD_OPTIONS);
}

void isolate_instance_close(struct instance *in, void (*closed)(struct instance *in))
{
    struct child *c = in->type->plugin->child;
    struct remote *r = map_get_number(&c->remotes, in->number);
    if (!r) {
        defer_answer((struct answer){in, NULL, closed});
        return;
    }
    r->closed = closed;
    CHELA_ARGS(chela_arg, a, 0);
    put(c, CHILD_CLOSE, in->number, child_frame_args(CHILD_CLOSE), &a);
}

/* ---- start ---- */

static void attach(struct child *c)
{
    c->attached = true;
    c->watch = loop_watch(c->fd, CHELA_READABLE, ready, c);
    loop_before_poll(flush_all);
}

/* ---- description, while the loop runs ---- */

static bool later;
static void (*described_fn)(void *arg);
static void *described_arg;

void isolate_describe_later(bool on)
{
    later = on;
}

bool isolate_describing(void)
{
    LIST_EACH(l, &children)
    {
        if (CONTAINER_OF(l, struct child, link)->describing)
            return true;
    }
    return false;
}

void isolate_when_described(void (*fn)(void *arg), void *arg)
{
    described_fn = fn;
    described_arg = arg;
}

static void stop_describing(struct child *c)
{
    loop_unwatch(c->watch);
    c->watch = NULL;
    loop_timer_stop(c->timer);
    c->timer = 0;
    c->describing = false;
    c->unclaimed = true;
    void (*fn)(void *) = isolate_describing() ? NULL : described_fn;
    if (!fn)
        return;
    described_fn = NULL;
    fn(described_arg);
}

static void more_of_it(uint32_t events, void *arg)
{
    struct child *c = arg;
    (void)events;
    if (child_collect(c, &c->failed) != 0)
        stop_describing(c);
}

static void too_late(void *arg)
{
    struct child *c = arg;
    c->timer = 0;
    error_set(&c->failed, CHELA_E_TIMEOUT, "%s: its process has not described it within %d s",
              c->path, CHILD_DESCRIBE_MS / 1000);
    stop_describing(c);
}

static struct child *known(const char *path)
{
    LIST_EACH(l, &children)
    {
        struct child *c = CONTAINER_OF(l, struct child, link);
        if ((c->describing || c->unclaimed) && strcmp(c->path, path) == 0)
            return c;
    }
    return NULL;
}

static struct child *child_new(const char *path)
{
    struct plugin *p = xcalloc(1, sizeof *p);
    struct child *c = xcalloc(1, sizeof *c);
    list_init(&p->link);
    p->path = xstrdup(path);
    p->child = c;
    c->plugin = p;
    c->path = xstrdup(path);
    c->fd = -1;
    inbox_open(&c->inbox, take_frame, has_room, c);
    list_append(&children, &c->link);
    return c;
}

struct plugin *isolate_open(const char *path, struct error *e)
{
    struct child *c = later ? known(path) : NULL;
    bool fresh = !c;
    if (fresh) {
        c = child_new(path);
        if (child_spawn(c, e) != 0)
            return NULL;
    }
    if (fresh && later) {
        c->describing = true;
        c->watch = loop_watch(c->fd, CHELA_READABLE, more_of_it, c);
        c->timer = loop_timer(CHILD_DESCRIBE_MS, too_late, c);
    }
    if (c->describing) {
        error_set(e, CHELA_E_BUSY, "%s: its process is being asked what it is", path);
        return NULL;
    }
    c->unclaimed = false;
    int bad = fresh ? child_wait_description(c, e) : c->failed.class ? -1 : 0;
    if (bad && !fresh)
        *e = c->failed;
    if (bad || child_parse_description(c, e) != 0) {
        snprintf(c->why, sizeof c->why, "it could not be opened");
        hang_up(c);
        return NULL;
    }
    c->is_described = true;
    attach(c);
    return c->plugin;
}

int isolate_restart(struct plugin *p, struct error *e)
{
    struct child *c = p->child;
    if (c->fd >= 0)
        return 0;
    if (c->process || inbox_waiting(&c->inbox) > 0)
        return error_set(e, CHELA_E_BUSY, "%s: its last process has not ended yet", p->name);
    if (child_spawn(c, e) != 0)
        return -1;
    log_info(p->name, "its process was started again");
    attach(c);
    return 0;
}

void isolate_close(void)
{
    LIST_EACH(l, &children)
    {
        struct child *c = CONTAINER_OF(l, struct child, link);
        loop_unwatch(c->watch);
        c->watch = NULL;
        loop_timer_stop(c->timer);
        c->timer = 0;
        c->describing = c->unclaimed = false;
        if (c->fd >= 0)
            close(c->fd); /* it ends when it reads this */
        c->fd = -1;
        if (c->process)
            uv_close((uv_handle_t *)c->process, process_closed);
        c->process = NULL;
        inbox_close(&c->inbox);
        buf_free(&c->out);
        map_free(&c->remotes, free);
    }
}
