/*
 * The SDK's `process` group: processes of plugins, as calls.
 */
#include "proc/process_group.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "proc/confine.h"
#include "proc/process.h"
#include "support/json.h"

struct carried {
    uint64_t call, process;
};

static struct map by_call;

static void on_output(void *owner, uint64_t id, uint32_t stream, struct chela_str data)
{
    struct carried *c = owner;
    struct chela_output event = {.stream = stream, .data = data};
    (void)id;
    call_event(c->call, CHELA_FN_OUTPUT, &event);
}

static bool has_room(void *owner)
{
    struct carried *c = owner;
    return call_waiting(c->call) <= CALL_WAITING_MAX;
}

/* {"pid":1,"exit":0} or {"pid":1,"signal":9}, "timed_out":true, "unconfined":["files","network"] */
static char *describe(const struct process_end *end)
{
    json_object *extra = chela_json_new_object();
    chela_json_put_int(extra, "pid", end->pid);
    if (end->signal)
        chela_json_put_int(extra, "signal", end->signal);
    else if (end->pid)
        chela_json_put_int(extra, "exit", end->exit);
    if (end->timed_out)
        chela_json_put_bool(extra, "timed_out", true);
    if (end->missing) {
        json_object *list = chela_json_put_array(extra, "unconfined");
        if (end->missing & CONFINE_MISSING_FILES)
            chela_json_push(list, chela_json_new_string("files", 5));
        if (end->missing & CONFINE_MISSING_NETWORK)
            chela_json_push(list, chela_json_new_string("network", 7));
    }
    char *text = xstrdup(chela_json_text(extra, NULL));
    json_object_put(extra);
    return text;
}

static void on_done(void *owner, uint64_t id, const struct process_end *end)
{
    struct carried *c = owner;
    CLEANUP(freep) char *extra = describe(end);
    struct chela_done d = {.error = end->error.class, .extra = chela_s(extra)};
    (void)id;
    if (!d.error && end->ended) { /* it was the call's cancel that ended it */
        d.error = CHELA_E_CANCELLED;
        d.text = chela_s("the process was ended");
    } else if (d.error) {
        d.text = chela_s(end->error.text);
    }
    map_remove_number(&by_call, c->call);
    call_answer(c->call, &d);
    free(c);
}

static uint64_t limit_of(const json_object *object, const char *key)
{
    int64_t n = chela_json_int(object, key, 0);
    return n > 0 ? (uint64_t)n : 0;
}

static int read_limits(struct chela_str text, struct supervise_limits *ret, struct error *e)
{
    json_object *object = NULL;
    struct chela_json_error why = {.text = ""};
    if (!text.n)
        return 0;
    if (chela_json_parse(text.s, text.n, NULL, &object, &why) != 0 ||
        !json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        return error_set(e, CHELA_E_ARGS, "the limits of the process are no JSON object %s",
                         why.text);
    }
    ret->cpu_s = limit_of(object, "cpu_s");
    ret->memory = limit_of(object, "memory");
    ret->processes = limit_of(object, "processes");
    ret->files = limit_of(object, "files");
    ret->file_size = limit_of(object, "file_size");
    json_object_put(object);
    return 0;
}

static void spawn_begin(struct instance *in, uint64_t id, const void *args)
{
    static const struct process_ops ops = {on_output, on_done, has_room};
    const struct chela_spawn *a = args;
    CLEANUP(freep) char *directory = xmemdup(a->directory.s, a->directory.n);
    struct process_request r = {.arguments = a->arguments,
                                .environment = a->environment,
                                .directory = directory,
                                .flags = a->h.flags,
                                .confine = a->confine,
                                .rows = a->rows,
                                .columns = a->columns,
                                .timeout_ms = a->timeout_ms};
    struct error e = {0};
    (void)in;
    if (read_limits(a->limits, &r.limits, &e) != 0) {
        call_answer_error(id, e.class, e.text);
        return;
    }
    struct carried *c = xcalloc(1, sizeof *c);
    c->call = id;
    map_set_number(&by_call, id, c);
    c->process = process_start(&r, &ops, c);
}

static void spawn_end(struct instance *in, uint64_t id)
{
    struct carried *c = map_get_number(&by_call, id);
    (void)in;
    if (c)
        process_stop(c->process);
}

static void write_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_write *a = args;
    struct carried *c = map_get_number(&by_call, id);
    (void)in;
    if (c)
        process_write(c->process, a->data, (a->h.flags & CHELA_LAST) != 0);
}

static void control_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_control *a = args;
    struct carried *c = map_get_number(&by_call, id);
    (void)in;
    if (!c)
        return;
    if (a->rows && a->columns)
        process_resize(c->process, a->rows, a->columns);
    if (a->signal)
        process_signal(c->process, a->signal);
}

void process_group_open(void)
{
    call_handle(CHELA_FN_SPAWN, spawn_begin, spawn_end);
    call_handle(CHELA_FN_WRITE, write_begin, NULL);
    call_handle(CHELA_FN_CONTROL, control_begin, NULL);
}

void process_group_close(void)
{
    size_t position = 0;
    const struct map_slot *slot;
    while (map_next(&by_call, &position, &slot)) {
        struct carried *c = slot->value;
        process_forget(c->process);
        free(c);
    }
    map_free(&by_call, NULL);
    by_call = (struct map){0};
}
