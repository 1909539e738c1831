/*
 * The host's table of the test kit: the local group, and thunks that keep what the plugin says as a
 * frame. Called by the plugin alone.
 */
#include <stdlib.h>
#include <string.h>

#include "kit_private.h"

/* ---- local ---- */

static void local_log(struct chela_inst *in, uint32_t level, const char *line)
{
    kit_print(kit_of(in), "log level=%u %s\n", level, line);
}

/* The option as set, else the fallback of the table (for names without a dot). */
static struct chela_str local_option(struct chela_inst *in, const char *path)
{
    const struct kit *k = kit_of(in);
    for (size_t i = 0; i < k->setup.option_count; i++)
        if (chela_str_is(k->setup.options[i].name, path))
            return k->setup.options[i].value;
    for (const struct chela_option *o = k->iface->options; o && o->name; o++)
        if (strcmp(o->name, path) == 0)
            return chela_s(o->fallback);
    return chela_s("");
}

/* Numbers, truths, durations and sizes as the host would have converted them. */
static int64_t local_number(struct chela_inst *in, const char *path)
{
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"ms", 1},
                 {"s", 1000},
                 {"m", 60000},
                 {"h", 3600000},
                 {"k", 1024},
                 {"M", 1024 * 1024},
                 {"G", 1024L * 1024 * 1024}};
    struct chela_str s = local_option(in, path);
    char *end = NULL;
    if (!s.n)
        return 0;
    if (chela_str_is(s, "true"))
        return 1;
    int64_t v = strtoll(s.s, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].unit) == 0)
            return v * units[i].factor;
    return v;
}

static uint64_t local_new_call(struct chela_inst *in)
{
    return ++kit_of(in)->last_plugin_call;
}

static uint64_t local_now(struct chela_inst *in)
{
    return kit_of(in)->now_ms;
}

static uint64_t local_timer(struct chela_inst *in, uint64_t ms, chela_callback *fn, void *arg)
{
    struct kit *k = kit_of(in);
    for (size_t i = 0; i < KIT_TIMERS; i++)
        if (!k->timers[i].handle) {
            k->timers[i] = (struct kit_timer){++k->last_handle, k->now_ms + ms, fn, arg};
            return k->last_handle;
        }
    kit_contract(k, "too many timers", NULL);
    return 0;
}

static void local_timer_stop(struct chela_inst *in, uint64_t handle)
{
    struct kit *k = kit_of(in);
    for (size_t i = 0; handle && i < KIT_TIMERS; i++)
        if (k->timers[i].handle == handle)
            k->timers[i].handle = 0;
}

static uint64_t local_watch(struct chela_inst *in, int fd, uint32_t events, chela_fd_callback *fn,
                            void *arg)
{
    (void)fd;
    (void)events;
    (void)fn;
    (void)arg;
    kit_of(in)->watch_count++;
    return ++kit_of(in)->last_handle;
}

static void local_unwatch(struct chela_inst *in, uint64_t handle)
{
    kit_of(in)->watch_count -= handle && kit_of(in)->watch_count;
}

static void local_work(struct chela_inst *in, chela_callback *job, chela_callback *done, void *arg)
{
    struct kit *k = kit_of(in);
    if (k->work_count == KIT_WORK)
        kit_contract(k, "too much work", NULL);
    else
        k->work[k->work_count++] = (struct kit_work){job, done, arg};
}

static void local_post(struct chela_inst *in, chela_callback *fn, void *arg)
{
    local_work(in, NULL, fn, arg);
}

static void local_metric(struct chela_inst *in, uint32_t kind, const char *name, const char *labels,
                         double value)
{
    kit_print(kit_of(in), "metric kind=%u %s{%s} %g\n", kind, name, labels, value);
}

static const struct chela_local local = {
    .size = (uint32_t)sizeof(struct chela_local),
    .log = local_log,
    .option = local_option,
    .number = local_number,
    .new_call = local_new_call,
    .now_ms = local_now,
    .ticks_ms = local_now,
    .timer = local_timer,
    .timer_stop = local_timer_stop,
    .watch = local_watch,
    .unwatch = local_unwatch,
    .post = local_post,
    .work = local_work,
    .metric = local_metric,
};

/* ---- thunks ---- */

#define THUNK_PLUGIN(NAME, args)
#define THUNK_HOST(NAME, args)                                                                     \
    static void thunk_##NAME(struct chela_inst *in, const struct chela_##args *a)                  \
    {                                                                                              \
        kit_say(in, CHELA_FN_##NAME, a);                                                           \
    }
#define THUNK(NAME, number, text, direction, table, slot, args, act) THUNK_##direction(NAME, args)
CHELA_FUNCTIONS(THUNK)

static const struct chela_answer answer = {
    .size = (uint32_t)sizeof(struct chela_answer),
    .done = thunk_DONE,
    .text = thunk_TEXT,
    .thinking = thunk_THINKING,
    .tool_call = thunk_TOOL_CALL,
    .usage = thunk_USAGE,
    .decide = thunk_DECIDE,
    .rows = thunk_ROWS,
    .publish = thunk_PUBLISH,
};

static const struct chela_net net = {
    .size = (uint32_t)sizeof(struct chela_net),
    .http = thunk_HTTP,
    .ws_connect = thunk_WS_CONNECT,
    .ws_send = thunk_WS_SEND,
    .sign = thunk_SIGN,
    .cancel = thunk_NET_CANCEL,
};

static const struct chela_process process = {
    .size = (uint32_t)sizeof(struct chela_process),
    .spawn = thunk_SPAWN,
    .write = thunk_WRITE,
    .control = thunk_CONTROL,
};

static const struct chela_chat chat = {
    .size = (uint32_t)sizeof(struct chela_chat),
    .submit = thunk_SUBMIT,
    .receipt = thunk_RECEIPT,
    .ask = thunk_ASK,
    .markup = thunk_MARKUP,
    .invoke = thunk_INVOKE,
    .embed = thunk_EMBED,
};

static const struct chela_kv kv = {
    .size = (uint32_t)sizeof(struct chela_kv),
    .get = thunk_KV_GET,
    .put = thunk_KV_PUT,
    .del = thunk_KV_DEL,
    .list = thunk_KV_LIST,
    .blob_put = thunk_KV_BLOB_PUT,
    .blob_get = thunk_KV_BLOB_GET,
    .index = thunk_KV_INDEX,
    .search = thunk_KV_SEARCH,
};

static const void *query(struct chela_inst *in, const char *group, uint32_t major)
{
    (void)in;
    (void)group;
    (void)major;
    return NULL;
}

void kit_host_fill(struct kit *k)
{
    k->host = (struct chela_host){
        .size = (uint32_t)sizeof(struct chela_host),
        .major = (uint16_t)CHELA_MAJOR,
        .minor = (uint16_t)CHELA_MINOR,
        .local = &local,
        .answer = &answer,
        .net = &net,
        .process = &process,
        .chat = &chat,
        .kv = &kv,
        .query = query,
    };
}

void kit_say(struct chela_inst *in, uint32_t fn, const void *args)
{
    struct kit *k = kit_of(in);
    const struct wire_function *f = wire_function(fn);
    size_t n = wire_size(f->args, args);
    void *frame = n ? aligned_alloc(8, n) : NULL,
         **grown = realloc(k->said, (k->said_count + 1) * sizeof *grown);
    if (!frame || !grown) {
        fprintf(stderr, "kit: %s can't be encoded\n", f->name);
        abort();
    }
    wire_write(frame, fn, 1, f->args, args);
    k->said = grown;
    k->said[k->said_count++] = frame;
}
