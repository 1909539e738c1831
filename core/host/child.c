/*
 * A plugin's own process (see child.h): one plugin, its instances, a loop, and the socket to the
 * daemon. It keeps no table of calls and checks no contract, that is the daemon's; it only turns
 * frames into calls of slots and calls of the host's table into frames.
 *
 * Sending blocks: a plugin that says more than the daemon takes stands still, and that is its
 * back-pressure. Lines for the log and metrics may come from any thread, so `out` has a lock.
 */
#include "host/child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/child_frames.h"
#include "host/host_table.h"
#include "host/loop.h"
#include "host/module.h"
#include "host/options.h"
#include "host/queue.h"

enum { READ_SIZE = 64 << 10, SEND_ABOVE = 256 << 10 };

static struct {
    int fd;
    struct plugin *plugin;
    struct map instances; /* by number */
    struct inbox inbox;
    struct loop_watch *watch;
    struct wire_decoder decoder;
    pthread_mutex_t lock;
    struct buf out; /* under `lock` */
    bool gone;      /* the daemon */
} child = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- to the daemon ---- */

static void leave(void)
{
    child.gone = true;
    loop_stop();
}

/* With the lock held. Logs nothing, since that would lock again. */
static void send_out(void)
{
    if (child.out.n == 0)
        return;
    if (!child.gone && child_send_all(child.fd, child.out.p, child.out.n) != 0)
        child.gone = true;
    buf_clear(&child.out);
}

static bool send_before_poll(void)
{
    pthread_mutex_lock(&child.lock);
    send_out();
    bool gone = child.gone;
    pthread_mutex_unlock(&child.lock);
    if (gone)
        leave();
    return false;
}

static bool put(uint32_t function, uint32_t instance, const struct wire_args *a, const void *args)
{
    pthread_mutex_lock(&child.lock);
    bool fits = child_frame_add(&child.out, function, instance, a, args);
    if (child.out.n > SEND_ABOVE)
        send_out();
    pthread_mutex_unlock(&child.lock);
    return fits;
}

static void put_control(uint32_t function, uint32_t instance, const void *args)
{
    put(function, instance, child_frame_args(function), args);
}

/* host_table's sender */
static void say(struct instance *in, uint32_t fn, const void *args)
{
    const struct wire_function *f = wire_function(fn);
    if (put(fn, in->number, f->args, args))
        return;
    log_error(instance_label(in),
              "%s: can't be sent: more than %d MiB, or a length without "
              "bytes",
              f->name, WIRE_FRAME_MAX >> 20);
    if (f->act != WIRE_END && f->act != WIRE_BEGIN)
        return;
    struct chela_head head = *(const struct chela_head *)args;
    head.size = sizeof head; /* the daemon then sees an end or a call without content */
    if (f->act == WIRE_END) {
        CHELA_ARGS(chela_done, done, head.call);
        done.error = CHELA_E_PROTOCOL;
        done.text = chela_s("the plugin's answer was too large to be sent");
        put(CHELA_FN_DONE, in->number, wire_function(CHELA_FN_DONE)->args, &done);
    } else {
        put(fn, in->number, f->args, &head);
    }
}

static void wake(void *unused)
{
    (void)unused; /* the frames go out before the next poll */
}

static void log_to_daemon(enum log_level level, const char *who, const char *text)
{
    CHELA_ARGS(child_log, a, 0);
    a.level = (uint32_t)level;
    a.who = chela_s(who);
    a.text = chela_s(text);
    put_control(CHILD_LOG, 0, &a);
    if (!loop_on_thread())
        loop_post(wake, NULL);
}

static void metric_to_daemon(struct instance *in, uint32_t kind, const char *name,
                             const char *labels, double value)
{
    CHELA_ARGS(child_metric, a, 0);
    a.kind = kind;
    a.name = chela_s(name);
    a.labels = chela_s(labels);
    memcpy(&a.value, &value, sizeof value);
    put_control(CHILD_METRIC, in->number, &a);
    if (!loop_on_thread())
        loop_post(wake, NULL);
}

/* ---- instances ---- */

static struct plugin_type *find_type(struct chela_str name)
{
    for (size_t i = 0; i < child.plugin->type_count; i++)
        if (chela_str_is(name, child.plugin->types[i].iface.type))
            return &child.plugin->types[i];
    return NULL;
}

static void free_instance(struct instance *in)
{
    map_remove_number(&child.instances, in->number);
    options_release(in->options);
    in->options = NULL;
    local_release(in);
}

static void answer(uint32_t function, uint32_t instance, uint32_t error, uint32_t count,
                   const char *text)
{
    CHELA_ARGS(child_result, a, 0);
    a.error = error;
    a.count = count;
    a.text = chela_s(text);
    put_control(function, instance, &a);
}

static void take_open(uint32_t number, const struct child_open *a)
{
    struct plugin_type *type = find_type(a->type);
    if (!type || map_get_number(&child.instances, number)) {
        answer(CHILD_OPENED, number, CHELA_E_PROTOCOL, 0, "");
        return;
    }
    struct instance *in = xcalloc(1, sizeof *in);
    in->name = xmemdup(a->name.s, (size_t)a->name.n);
    in->inst = (struct chela_inst){.host = &host_table, .name = in->name};
    in->number = number;
    in->type = type;
    in->options = options_from_pairs(a->options.v, (size_t)a->options.n);
    in->state = INSTANCE_RUNNING;
    local_attach(in);
    map_set_number(&child.instances, number, in);
    int32_t error = CHELA_OK;
    if (type->iface.open) {
        uint64_t entered = callback_enter();
        error = type->iface.open(&in->inst);
        callback_leave(in, "open", entered);
    }
    answer(CHILD_OPENED, number, (uint32_t)error, 0, error != CHELA_OK ? in->said : "");
    if (error != CHELA_OK) {
        local_detach(in);
        free_instance(in);
    }
}

static void close_instance(struct instance *in)
{
    if (in->type->iface.close) {
        uint64_t entered = callback_enter();
        in->type->iface.close(&in->inst);
        callback_leave(in, "close", entered);
    }
    answer(CHILD_CLOSED, in->number, CHELA_OK, local_detach(in), "");
    free_instance(in);
}

static void take_options(struct instance *in, const struct child_open *a)
{
    options_release(in->options);
    in->options = options_from_pairs(a->options.v, (size_t)a->options.n);
}

/* ---- from the daemon ---- */

static void take_call(struct instance *in, const struct wire_function *f)
{
    const void *table = wire_table_of(&in->type->iface, f->table);
    if (!table || !f->has(table))
        return; /* the daemon has asked the description before */
    uint64_t entered = callback_enter();
    f->call(table, &in->inst, &child.decoder.args);
    callback_leave(in, f->name, entered);
}

static void take_frame(void *unused, const struct wire_frame *frame)
{
    (void)unused;
    const struct wire_function *f = wire_function(frame->function);
    const struct wire_args *a = f ? f->args : child_frame_args(frame->function);
    struct instance *in = map_get_number(&child.instances, frame->instance);
    if (!a || wire_read(&child.decoder, a, frame) != 0) {
        leave(); /* not our daemon */
        return;
    }
    const void *args = &child.decoder.args;
    if (frame->function == CHILD_OPEN)
        take_open(frame->instance, args);
    else if (!in)
        return;
    else if (frame->function == CHILD_OPTIONS)
        take_options(in, args);
    else if (frame->function == CHILD_CLOSE)
        close_instance(in);
    else if (f && f->direction == WIRE_TO_PLUGIN)
        take_call(in, f);
}

static void want(void *unused)
{
    (void)unused;
    bool full = inbox_waiting(&child.inbox) > QUEUE_LIMIT && !inbox_hungry(&child.inbox);
    loop_watch_change(child.watch, full ? 0 : CHELA_READABLE);
}

static void ready(uint32_t events, void *unused)
{
    (void)events;
    for (;;) {
        void *room = inbox_room(&child.inbox, READ_SIZE);
        ssize_t n = recv(child.fd, room, READ_SIZE, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0 || inbox_filled(&child.inbox, (size_t)n) < 0) {
            leave();
            return;
        }
        if (n < READ_SIZE || inbox_waiting(&child.inbox) > QUEUE_LIMIT)
            break;
    }
    want(unused);
}

/* ---- the whole ---- */

static void describe(const struct plugin *p, const struct error *e)
{
    if (p) {
        CHELA_ARGS(child_plugin, a, 0);
        a.major = p->major;
        a.minor = p->minor;
        a.minor_need = p->minor_need;
        a.name = chela_s(p->name);
        a.version = chela_s(p->version);
        a.summary = chela_s(p->summary);
        a.license = chela_s(p->license);
        a.origin = chela_s(p->origin);
        put_control(CHILD_PLUGIN, 0, &a);
        for (size_t i = 0; i < p->type_count; i++)
            child_type_write(&child.out, &p->types[i]);
    }
    CHELA_ARGS(child_result, result, 0);
    result.error = p ? CHELA_OK : e->class;
    result.text = chela_s(p ? "" : e->text);
    put_control(CHILD_READY, 0, &result);
    pthread_mutex_lock(&child.lock);
    send_out();
    pthread_mutex_unlock(&child.lock);
}

static void close_all(void)
{
    for (bool found = true; found;) {
        size_t i = 0;
        const struct map_slot *s;
        found = map_next(&child.instances, &i, &s);
        if (found)
            close_instance(s->value);
    }
}

int child_run(const char *file, int fd)
{
    struct error e = {0};
    /* a daemon that dies takes its children along, even one that hangs in a plugin's code */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    child.fd = fd;
    loop_open();
    queue_open();
    loop_before_poll(send_before_poll);
    inbox_open(&child.inbox, take_frame, want, NULL);
    host_set_send(say);
    host_set_metric(metric_to_daemon);
    child.plugin = module_open(file, &e);
    describe(child.plugin, &e);
    if (!child.plugin)
        return 1;
    log_divert(log_to_daemon);
    child.watch = loop_watch(fd, CHELA_READABLE, ready, NULL);
    loop_run();
    close_all();
    log_divert(NULL);
    loop_unwatch(child.watch);
    inbox_close(&child.inbox);
    wire_decoder_free(&child.decoder);
    map_free(&child.instances, NULL);
    buf_free(&child.out);
    loop_close();
    module_free(child.plugin);
    return 0;
}
