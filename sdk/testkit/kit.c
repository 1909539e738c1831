/*
 * The test kit (see kit.h): one instance, its calls in both directions, and the clock. Called by
 * tests.
 */
#include "kit.h"

#include <stdlib.h>
#include <string.h>

#include "kit_private.h"

struct chela_inst *kit_instance(struct kit *k)
{
    return &k->inst;
}

/* ---- calls ---- */

struct kit_call *kit_find(struct kit *k, uint64_t id, bool by_plugin)
{
    for (size_t i = 0; i < k->call_count; i++)
        if (k->calls[i].id == id && k->calls[i].by_plugin == by_plugin)
            return &k->calls[i];
    return NULL;
}

static struct kit_call *add_call(struct kit *k, uint32_t fn, uint64_t id, uint64_t tag,
                                 bool by_plugin)
{
    if (k->call_count == KIT_CALLS) { /* forget the ended ones */
        size_t n = 0;
        for (size_t i = 0; i < k->call_count; i++)
            if (!k->calls[i].done)
                k->calls[n++] = k->calls[i];
        k->call_count = n;
        if (n == KIT_CALLS)
            abort();
    }
    struct kit_call *c = &k->calls[k->call_count++];
    memset(c, 0, sizeof *c);
    c->id = id;
    c->tag = tag;
    c->fn = fn;
    c->by_plugin = by_plugin;
    c->shown = ++k->shown;
    return c;
}

static void end_call(struct kit *k, struct kit_call *c)
{
    c->done = true;
    free(c->frame);
    c->frame = NULL;
    wire_decoder_free(&c->decoder);
    memset(&c->decoder, 0, sizeof c->decoder);
    /* what the plugin began for it ends with it */
    for (size_t i = 0; !c->by_plugin && i < k->call_count; i++)
        if (k->calls[i].by_plugin && !k->calls[i].done && k->calls[i].parent == c->id)
            k->calls[i].cancelled = true;
}

/* Calls the plugin with arguments that live only as long as the call. */
static void call_plugin(struct kit *k, const struct wire_function *f, void *args)
{
    const void *table = wire_table_of(k->iface, f->table);
    struct chela_head *head = args;
    head->size = (uint32_t)f->args->size;
    if (!table || !f->has(table)) {
        kit_print(k, "no slot: %s\n", f->name);
        return;
    }
    if (!k->setup.encoded) {
        unsigned char room[WIRE_ARGS_MAX + 64] __attribute__((aligned(16))) = {0};
        memcpy(room, args, f->args->size);
        f->call(table, &k->inst, room);
        memset(room, 0x5a, sizeof room); /* who kept a pointer will notice */
        return;
    }
    struct wire_decoder d = {0};
    size_t n = wire_size(f->args, args);
    void *frame = aligned_alloc(8, n);
    if (!frame)
        abort();
    wire_write(frame, f->number, 1, f->args, args);
    if (wire_read(&d, f->args, frame) < 0)
        abort();
    f->call(table, &k->inst, &d.args);
    memset(frame, 0x5a, n);
    free(frame);
    wire_decoder_free(&d);
}

static void keep_frame(void **where, struct wire_decoder *d, const struct wire_function *f,
                       void *frame)
{
    free(*where);
    *where = frame;
    wire_read(d, f->args, frame);
}

/* ---- what the plugin said ---- */

static void take_tool_call(struct kit *k, const struct chela_tool_call *c)
{
    if (c->index >= KIT_TOOL_CALLS)
        return;
    kit_text_add(&k->tool_name[c->index], c->name.s, (size_t)c->name.n);
    kit_text_add(&k->tool_id[c->index], c->id.s, (size_t)c->id.n);
    kit_text_add(&k->tool_arguments[c->index], c->arguments.s, (size_t)c->arguments.n);
}

/* Collects what tests ask for; true: the frame was kept. */
static bool collect(struct kit *k, const struct wire_function *f, const void *args, void *frame)
{
    const struct chela_publish *p = args;
    switch (f->number) {
    case CHELA_FN_TEXT:
        kit_text_add(&k->text, ((const struct chela_text *)args)->text.s,
                     (size_t)((const struct chela_text *)args)->text.n);
        return false;
    case CHELA_FN_THINKING:
        kit_text_add(&k->thinking, ((const struct chela_thinking *)args)->text.s,
                     (size_t)((const struct chela_thinking *)args)->text.n);
        return false;
    case CHELA_FN_TOOL_CALL: take_tool_call(k, args); return false;
    case CHELA_FN_USAGE: keep_frame(&k->usage_frame, &k->usage, f, frame); return true;
    case CHELA_FN_DONE: keep_frame(&k->done_frame, &k->done, f, frame); return true;
    case CHELA_FN_PUBLISH:
        if (p->what >= KIT_KINDS)
            return false;
        if (k->published[p->what] && p->revision <= kit_published(k, p->what)->revision) {
            fprintf(stderr, "kit: list %u was published with a revision that doesn't rise\n%s",
                    p->what, kit_trace(k));
            abort(); /* the host would drop it */
        }
        keep_frame(&k->published[p->what], &k->lists[p->what], f, frame);
        return true;
    default: return false;
    }
}

static void take_begin(struct kit *k, const struct wire_function *f, const struct chela_head *head,
                       void *frame)
{
    if (kit_find(k, head->call, true) || head->call == 0) {
        kit_contract(k, "a call id that is not new", f);
        free(frame);
        return;
    }
    struct kit_call *c = add_call(k, f->number, head->call, head->tag, true);
    c->frame = frame;
    wire_read(&c->decoder, f->args, frame);
    const struct wire_field *fields = f->args->fields;
    for (unsigned i = 0; i < f->args->count; i++)
        if (strcmp(fields[i].name, "parent") == 0)
            memcpy(&c->parent, c->decoder.args.bytes + fields[i].offset, sizeof c->parent);
    kit_trace_args(k, f, &c->decoder.args, c->shown);
}

static void take_frame(struct kit *k, void *frame)
{
    struct wire_decoder d = {0};
    const struct wire_function *f = wire_function(((struct wire_frame *)frame)->function);
    if (!f || wire_read(&d, f->args, frame) < 0)
        abort();
    const struct chela_head *head = &d.args.head;
    bool kept = false;
    if (f->act == WIRE_BEGIN || f->act == WIRE_VERDICT) {
        take_begin(k, f, head, frame);
        kept = true;
    } else {
        bool to_own = f->act == WIRE_SEND || f->act == WIRE_CANCEL;
        struct kit_call *c = head->call ? kit_find(k, head->call, to_own) : NULL;
        if (head->call && (!c || c->done) && !to_own) {
            kit_contract(k, c ? "after done" : "of an unknown call", f);
        } else {
            kit_trace_args(k, f, head, c ? c->shown : 0);
            kept = collect(k, f, head, frame);
            if (c && f->act == WIRE_END)
                end_call(k, c);
            if (c && f->act == WIRE_CANCEL)
                c->cancelled = true;
        }
    }
    if (!kept)
        free(frame);
    wire_decoder_free(&d);
}

void kit_drain(struct kit *k)
{
    if (k->draining)
        return;
    k->draining = true;
    for (bool more = true; more;) {
        more = false;
        while (k->said_count) {
            void *frame = k->said[0];
            memmove(k->said, k->said + 1, --k->said_count * sizeof *k->said);
            take_frame(k, frame);
        }
        while (k->work_count) {
            struct kit_work w = k->work[0];
            memmove(k->work, k->work + 1, --k->work_count * sizeof *k->work);
            if (w.job)
                w.job(&k->inst, w.arg);
            w.done(&k->inst, w.arg);
            more = true;
        }
        for (size_t i = 0; i < k->call_count; i++)
            if (k->calls[i].by_plugin && k->calls[i].cancelled && !k->calls[i].done) {
                k->draining = false;
                kit_answer_error(k, k->calls[i].id, CHELA_E_CANCELLED, 0, "cancelled");
                k->draining = true;
                more = true;
            }
        more = more || k->said_count;
    }
    k->draining = false;
}

/* ---- for tests ---- */

uint64_t kit_call(struct kit *k, uint32_t fn, void *args)
{
    const struct wire_function *f = wire_function(fn);
    struct chela_head *head = args;
    if (f->act == WIRE_BEGIN || f->act == WIRE_VERDICT) {
        head->call = ++k->last_host_call;
        add_call(k, fn, head->call, head->tag, false);
    }
    call_plugin(k, f, args);
    kit_drain(k);
    return head->call;
}

void kit_cancel(struct kit *k, uint64_t call)
{
    struct kit_call *c = kit_find(k, call, false);
    CHELA_ARGS(chela_arg, a, call);
    if (!c || c->done)
        return;
    c->cancelled = true;
    for (size_t i = 0; i < k->call_count; i++)
        if (k->calls[i].by_plugin && !k->calls[i].done && k->calls[i].parent == call)
            k->calls[i].cancelled = true;
    if (k->iface->cancel)
        call_plugin(k, wire_function(CHELA_FN_CANCEL), &a);
    kit_drain(k);
}

void kit_start(struct kit *k)
{
    CHELA_ARGS(chela_arg, a, 0);
    if (!k->iface->start)
        return;
    kit_call(k, CHELA_FN_START, &a);
    if (!kit_done(k) || kit_done(k)->error != CHELA_OK) {
        fprintf(stderr, "kit: start failed\n%s", kit_trace(k));
        abort();
    }
}

const char *kit_trace(struct kit *k)
{
    return k->trace.p ? k->trace.p : "";
}

const char *kit_text(struct kit *k)
{
    return k->text.p ? k->text.p : "";
}

const char *kit_thinking(struct kit *k)
{
    return k->thinking.p ? k->thinking.p : "";
}

const char *kit_tool_call(struct kit *k, unsigned index, const char **ret_name, const char **ret_id)
{
    if (index >= KIT_TOOL_CALLS || !k->tool_name[index].p)
        return NULL;
    if (ret_name)
        *ret_name = k->tool_name[index].p;
    if (ret_id)
        *ret_id = k->tool_id[index].p;
    return k->tool_arguments[index].p;
}

const struct chela_done *kit_done(struct kit *k)
{
    return k->done_frame ? (const struct chela_done *)(const void *)&k->done.args : NULL;
}

const struct chela_usage *kit_usage(struct kit *k)
{
    return k->usage_frame ? (const struct chela_usage *)(const void *)&k->usage.args : NULL;
}

const struct chela_publish *kit_published(struct kit *k, uint32_t what)
{
    return k->published[what] ? (const struct chela_publish *)(const void *)&k->lists[what].args
                              : NULL;
}

static void drop_text(struct kit_text *t)
{
    free(t->p);
    *t = (struct kit_text){0};
}

void kit_clear(struct kit *k)
{
    drop_text(&k->trace);
    drop_text(&k->text);
    drop_text(&k->thinking);
    for (size_t i = 0; i < KIT_TOOL_CALLS; i++) {
        drop_text(&k->tool_arguments[i]);
        drop_text(&k->tool_name[i]);
        drop_text(&k->tool_id[i]);
    }
    free(k->done_frame);
    free(k->usage_frame);
    k->done_frame = k->usage_frame = NULL;
}

const void *kit_request(struct kit *k, uint32_t fn)
{
    for (size_t i = k->call_count; i-- > 0;)
        if (k->calls[i].by_plugin && k->calls[i].fn == fn && !k->calls[i].done)
            return &k->calls[i].decoder.args;
    return NULL;
}

unsigned kit_open_requests(struct kit *k)
{
    unsigned n = 0;
    for (size_t i = 0; i < k->call_count; i++)
        n += k->calls[i].by_plugin && !k->calls[i].done;
    return n;
}

void kit_tell(struct kit *k, uint64_t call, uint32_t fn, void *args)
{
    struct kit_call *c = kit_find(k, call, true);
    struct chela_head *head = args;
    if (!c || c->done)
        return;
    head->call = call;
    head->tag = c->tag;
    call_plugin(k, wire_function(fn), args);
    kit_drain(k);
}

void kit_http_event(struct kit *k, uint64_t call, const char *name, const char *data, size_t length)
{
    CHELA_ARGS(chela_http_event, e, call);
    e.status = 200;
    e.name = chela_s(name);
    e.data = chela_sn(data, length);
    kit_tell(k, call, CHELA_FN_HTTP_EVENT, &e);
}

void kit_answer(struct kit *k, uint64_t call, struct chela_done *done)
{
    struct kit_call *c = kit_find(k, call, true);
    if (!c || c->done)
        return;
    done->h.call = call;
    done->h.tag = c->tag;
    end_call(k, c);
    if (k->iface->done)
        call_plugin(k, wire_function(CHELA_FN_INST_DONE), done);
    kit_drain(k);
}

void kit_answer_ok(struct kit *k, uint64_t call, const char *text, size_t length)
{
    CHELA_ARGS(chela_done, d, call);
    d.text = chela_sn(text, length);
    d.http_status =
        kit_find(k, call, true) && kit_find(k, call, true)->fn == CHELA_FN_HTTP ? 200 : 0;
    kit_answer(k, call, &d);
}

void kit_answer_error(struct kit *k, uint64_t call, uint32_t error, uint32_t http_status,
                      const char *text)
{
    CHELA_ARGS(chela_done, d, call);
    d.error = error;
    d.http_status = http_status;
    d.text = chela_s(text);
    kit_answer(k, call, &d);
}

void kit_advance(struct kit *k, uint64_t ms)
{
    uint64_t until = k->now_ms + ms;
    for (;;) {
        struct kit_timer *next = NULL;
        for (size_t i = 0; i < KIT_TIMERS; i++)
            if (k->timers[i].handle && k->timers[i].due <= until &&
                (!next || k->timers[i].due < next->due))
                next = &k->timers[i];
        if (!next)
            break;
        struct kit_timer t = *next;
        next->handle = 0;
        k->now_ms = t.due > k->now_ms ? t.due : k->now_ms;
        t.fn(&k->inst, t.arg);
        kit_drain(k);
    }
    k->now_ms = until;
}

/* ---- open and close ---- */

struct kit *kit_open(const struct kit_setup *setup)
{
    const char *wrong = wire_check();
    struct kit *k = calloc(1, sizeof *k);
    if (wrong || !k) {
        fprintf(stderr, "kit: %s\n", wrong ? wrong : "no memory");
        abort();
    }
    for (const struct chela_iface *const *i = setup->plugin->ifaces; *i; i++)
        if (!k->iface && (!setup->type || strcmp((*i)->type, setup->type) == 0))
            k->iface = *i;
    k->setup = *setup;
    k->name = strdup(setup->name ? setup->name : "test");
    k->now_ms = 1767225600000; /* 2026-01-01 */
    kit_host_fill(k);
    k->inst.host = &k->host;
    k->inst.name = k->name;
    int32_t error = k->iface->open ? k->iface->open(&k->inst) : CHELA_OK;
    if (error == CHELA_OK)
        return k;
    fprintf(stderr, "%s", kit_trace(k));
    kit_clear(k);
    free(k->name);
    free(k);
    return NULL;
}

unsigned kit_close(struct kit *k)
{
    CHELA_ARGS(chela_arg, a, 0);
    if (k->iface->stop)
        kit_call(k, CHELA_FN_STOP, &a);
    for (size_t i = 0; i < k->call_count; i++)
        if (!k->calls[i].done && !k->calls[i].by_plugin)
            kit_contract(k, "a call was never ended", wire_function(k->calls[i].fn));
    for (size_t i = 0; i < k->call_count; i++)
        if (!k->calls[i].done && k->calls[i].by_plugin)
            kit_answer_error(k, k->calls[i].id, CHELA_E_CANCELLED, 0, "cancelled");
    if (k->iface->close)
        k->iface->close(&k->inst);
    for (size_t i = 0; i < KIT_TIMERS; i++)
        if (k->timers[i].handle)
            kit_contract(k, "a timer was left at close", NULL);
    if (k->watch_count)
        kit_contract(k, "a watch was left at close", NULL);
    unsigned errors = k->errors;
    if (errors)
        fprintf(stderr, "%s", kit_trace(k));
    for (size_t i = 0; i < k->said_count; i++)
        free(k->said[i]);
    for (size_t i = 0; i < KIT_KINDS; i++) {
        free(k->published[i]);
        wire_decoder_free(&k->lists[i]);
    }
    for (size_t i = 0; i < k->call_count; i++) {
        free(k->calls[i].frame);
        wire_decoder_free(&k->calls[i].decoder);
    }
    kit_clear(k);
    wire_decoder_free(&k->done);
    wire_decoder_free(&k->usage);
    free(k->said);
    free(k->name);
    free(k);
    return errors;
}
