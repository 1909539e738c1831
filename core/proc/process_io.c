/*
 * Output and input of a child. Output is read only while its consumer has room, so a flood waits in
 * the kernel's pipe and stops its maker. Called by process.c and by the watches set here.
 */
#include "proc/process_private.h"

#include <errno.h>
#include <unistd.h>

static void tell(struct output *o, struct chela_str data)
{
    struct process *p = o->process;
    if (p->ops && p->ops->output)
        p->ops->output(p->owner, p->id, o->stream, data);
}

static void on_line(void *arg, struct chela_str line)
{
    tell(arg, line);
}

static void output_ready(uint32_t events, void *arg)
{
    struct output *o = arg;
    if (events & CHELA_WRITABLE)
        process_io_write(o->process);
    if (!(events & CHELA_READABLE))
        return;
    o->ready = true;
    process_work(o->process);
}

static void close_input(struct process *p)
{
    bool terminal = (p->flags & CHELA_PTY) != 0;
    loop_unwatch(p->input_watch);
    p->input_watch = NULL;
    if (p->input >= 0 && !terminal)
        close(p->input);
    p->input = -1;
    buf_free(&p->waiting);
}

static void close_output(struct output *o)
{
    loop_unwatch(o->watch);
    o->watch = NULL;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->ready = false;
}

static void output_ended(struct output *o)
{
    if (o->process->flags & CHELA_PTY)
        close_input(o->process);
    close_output(o);
    lines_end(&o->lines);
}

void process_io_start(struct process *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct output *o = &p->out[i];
        o->process = p;
        o->stream = i + 1;
        lines_open(&o->lines, PROCESS_LINE, on_line, o);
        o->lines.cut = o->lines.empty = true;
        o->watch_events = CHELA_READABLE;
        if (o->fd >= 0)
            o->watch = loop_watch(o->fd, CHELA_READABLE, output_ready, o);
    }
}

static bool has_room(const struct process *p)
{
    return !p->ops || !p->ops->room || p->ops->room(p->owner);
}

bool process_io_read(struct process *p)
{
    bool room = true;
    for (int i = 0; i < 2; i++) {
        struct output *o = &p->out[i];
        char bytes[PROCESS_READ];
        if (!o->ready || o->fd < 0)
            continue;
        room = has_room(p);
        if (!room) {
            loop_watch_change(o->watch, 0);
            continue;
        }
        o->ready = false;
        loop_watch_change(o->watch, o->watch_events);
        ssize_t n = read(o->fd, bytes, sizeof bytes);
        if (n > 0 && (p->flags & CHELA_LINED))
            lines_feed(&o->lines, bytes, (size_t)n);
        else if (n > 0)
            tell(o, chela_sn(bytes, (size_t)n));
        else if (n == 0 || (errno != EAGAIN && errno != EINTR)) /* EIO: the terminal's last user */
            output_ended(o);
    }
    return room;
}

bool process_io_ended(const struct process *p)
{
    return p->out[0].fd < 0 && p->out[1].fd < 0;
}

void process_io_close(struct process *p)
{
    close_input(p);
    for (int i = 0; i < 2; i++) {
        close_output(&p->out[i]);
        lines_close(&p->out[i].lines);
    }
}

static void input_ready(uint32_t events, void *arg)
{
    (void)events;
    process_io_write(arg);
}

/* A terminal has one descriptor for both ways, and a descriptor one watch. */
static void watch_input(struct process *p, bool on)
{
    if (p->flags & CHELA_PTY) {
        p->out[0].watch_events = on ? CHELA_READABLE | CHELA_WRITABLE : CHELA_READABLE;
        if (p->out[0].watch && !p->out[0].ready)
            loop_watch_change(p->out[0].watch, p->out[0].watch_events);
    } else if (p->input_watch) {
        loop_watch_change(p->input_watch, on ? CHELA_WRITABLE : 0);
    } else if (on) {
        p->input_watch = loop_watch(p->input, CHELA_WRITABLE, input_ready, p);
    }
}

void process_io_write(struct process *p)
{
    while (p->input >= 0 && p->waiting.n) {
        ssize_t n = write(p->input, p->waiting.p, p->waiting.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            watch_input(p, true);
            return;
        }
        if (n < 0) { /* it reads no more */
            close_input(p);
            return;
        }
        buf_consume(&p->waiting, (size_t)n);
    }
    if (p->input < 0)
        return;
    watch_input(p, false);
    if (p->input_last && !(p->flags & CHELA_PTY))
        close_input(p);
}
