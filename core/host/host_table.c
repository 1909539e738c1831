/*
 * The host's table (see host_table.h). The thunks are made from the list of functions; each checks
 * that it is called where it may be, and hands its arguments to the process's sender.
 */
#include "host/host_table.h"

#include "base/log.h"
#include "host/call_private.h"
#include "host/loop.h"

static host_send_fn *host_send;
static host_metric_fn *metric_sink;

void host_set_send(host_send_fn *send)
{
    host_send = send;
}

static void say(struct chela_inst *inst, uint32_t fn, const struct chela_head *head)
{
    const struct wire_function *f = wire_function(fn);
    struct instance *in = instance_of(inst);
    if (!loop_on_thread()) {
        log_error(in->name,
                  "called %s from a thread of its own; only log, now_ms, ticks_ms, post "
                  "and metric may be (the call was dropped)",
                  f->name);
        return;
    }
    if (head->size < sizeof *head) {
        in->broken_rules++;
        log_error(instance_label(in), "called %s with head.size %u; use CHELA_ARGS", f->name,
                  (unsigned)head->size);
        return;
    }
    host_send(in, fn, head);
}

/* One thunk for each function to the host, none for those to the plugin. */
#define FUNCTION_PLUGIN(name, args)
#define FUNCTION_HOST(name, args)                                                                  \
    static void say_##name(struct chela_inst *in, const struct chela_##args *a)                    \
    {                                                                                              \
        say(in, CHELA_FN_##name, &a->h);                                                           \
    }
#define FUNCTION(name, number, text, direction, table, slot, args, act)                            \
    FUNCTION_##direction(name, args)
CHELA_FUNCTIONS(FUNCTION)

static const struct chela_answer answer_group = {
    .size = sizeof answer_group,
    .done = say_DONE,
    .text = say_TEXT,
    .thinking = say_THINKING,
    .tool_call = say_TOOL_CALL,
    .usage = say_USAGE,
    .decide = say_DECIDE,
    .rows = say_ROWS,
    .publish = say_PUBLISH,
};

static const struct chela_net net_group = {
    .size = sizeof net_group,
    .http = say_HTTP,
    .ws_connect = say_WS_CONNECT,
    .ws_send = say_WS_SEND,
    .sign = say_SIGN,
    .cancel = say_NET_CANCEL,
};

static const struct chela_process process_group = {
    .size = sizeof process_group,
    .spawn = say_SPAWN,
    .write = say_WRITE,
    .control = say_CONTROL,
};

static const struct chela_chat chat_group = {
    .size = sizeof chat_group,
    .submit = say_SUBMIT,
    .receipt = say_RECEIPT,
    .ask = say_ASK,
    .markup = say_MARKUP,
    .invoke = say_INVOKE,
    .embed = say_EMBED,
};

static const struct chela_kv kv_group = {
    .size = sizeof kv_group,
    .get = say_KV_GET,
    .put = say_KV_PUT,
    .del = say_KV_DEL,
    .list = say_KV_LIST,
    .blob_put = say_KV_BLOB_PUT,
    .blob_get = say_KV_BLOB_GET,
    .index = say_KV_INDEX,
    .search = say_KV_SEARCH,
};

static const void *query(struct chela_inst *in, const char *group, uint32_t major)
{
    (void)in;
    (void)group;
    (void)major;
    return NULL; /* no group has come later than the table itself */
}

const struct chela_host host_table = {
    .size = sizeof host_table,
    .major = CHELA_MAJOR,
    .minor = CHELA_MINOR,
    .local = &local_group,
    .answer = &answer_group,
    .net = &net_group,
    .process = &process_group,
    .chat = &chat_group,
    .kv = &kv_group,
    .query = query,
};

void host_set_metric(host_metric_fn *metric)
{
    metric_sink = metric;
}

void host_metric(struct instance *in, uint32_t kind, const char *name, const char *labels,
                 double value)
{
    if (metric_sink)
        metric_sink(in, kind, name, labels, value);
}

uint64_t call_new_id(struct instance *in)
{
    return ((uint64_t)in->number << CALL_COUNTER_BITS) | ++in->last_call;
}
