/*
 * What plugins say to the host: taken into the inbox with its credit, and, when the run queue gets
 * to it, checked against the contract of calls. This is the one place that does so, for plugins in
 * this process and in children alike; each break is logged with the instance's name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/call_private.h"
#include "host/host_table.h"
#include "host/isolate.h"
#include "wire/frame.h"

/* Above this even the small frames that stand for lost ones are refused. */
enum { HARD_LIMIT = 16 * QUEUE_LIMIT, LOGGED_BREAKS = 10 };

static struct wire_decoder decoder;

/* A plugin that breaks the rules all the time must not fill the log: the first ones, then the
 * 16th, 32nd, 64th ... */
static void broken(struct instance *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void broken(struct instance *in, const char *format, ...)
{
    uint64_t n = ++in->broken_rules;
    if (n > LOGGED_BREAKS && (n & (n - 1)) != 0)
        return;
    va_list ap;
    va_start(ap, format);
    log_vline(LOG_ERROR, instance_label(in), format, ap);
    va_end(ap);
}

/* ---- into the inbox ---- */

static void take_own(void *owner, const struct wire_frame *f)
{
    say_take(owner, f);
}

void say_attach(struct instance *in)
{
    inbox_open(&in->inbox, take_own, NULL, in);
}

static void push(struct inbox *b, const struct instance *in, const struct wire_function *f,
                 const void *args, size_t size, uint16_t marks)
{
    struct wire_frame *to = inbox_room(b, size);
    wire_write(to, f->number, in->number, f->args, args);
    to->marks = marks;
    inbox_filled(b, size);
}

void say_push(struct instance *in, const struct wire_function *f, const void *args, uint16_t marks)
{
    const struct plugin *p = in->type->plugin;
    struct inbox *b = in->number && p && p->child ? isolate_inbox(in) : &in->inbox;
    push(b, in, f, args, wire_size(f->args, args), marks);
}

/* Only the head goes in: the receiver learns that something was lost. */
static void push_lost(struct instance *in, const struct wire_function *f,
                      const struct chela_head *head)
{
    struct chela_arg stub = {*head};
    stub.h.size = sizeof stub;
    size_t size = wire_size(f->args, &stub);
    push(&in->inbox, in, f, &stub, size, WIRE_LOST);
}

/* Beyond its credit, or something that no frame can hold. */
static void lose(struct instance *in, const struct wire_function *f, const struct chela_head *head)
{
    if (f->act == WIRE_EVENT) {
        struct call *c = call_find(head->call);
        if (!c || c->in != in || c->overran)
            return;
        c->overran = true;
        broken(in,
               "%s: more than %d MiB wait, so events of the call are dropped; send less in one "
               "callback",
               f->name, QUEUE_LIMIT >> 20);
        return;
    }
    if (f->act == WIRE_END || inbox_waiting(&in->inbox) < HARD_LIMIT)
        push_lost(in, f, head);
    else
        broken(in, "%s: dropped, more than %d MiB wait", f->name, HARD_LIMIT >> 20);
}

void say_enqueue(struct instance *in, uint32_t fn, const void *args)
{
    const struct wire_function *f = wire_function(fn);
    if (in->state == INSTANCE_CLOSED) {
        broken(in, "called %s while it is closed", f->name);
        return;
    }
    size_t size = wire_size(f->args, args);
    bool passes = f->act == WIRE_END || f->act == WIRE_CANCEL;
    if (size == 0)
        broken(in, "%s: can't be sent: more than %d MiB, or a length without bytes", f->name,
               WIRE_FRAME_MAX >> 20);
    if (size == 0 || (!passes && inbox_waiting(&in->inbox) > QUEUE_LIMIT))
        lose(in, f, args);
    else
        push(&in->inbox, in, f, args, size, 0);
}

/* ---- events and ends of the host's calls ---- */

/* The open call of the host on this instance; else says what is wrong with the id. */
static struct call *own_call(struct instance *in, const struct wire_function *f, uint64_t id)
{
    struct call *c = call_find(id);
    if (c && c->in == in && !c->by_plugin)
        return c;
    if (c)
        broken(in, "%s for call %llu, which is not the host's call to it", f->name,
               (unsigned long long)id);
    else if (!call_existed(in, id))
        broken(in, "%s for call %llu, which was never begun", f->name, (unsigned long long)id);
    else if (in->state == INSTANCE_STUCK)
        log_debug(instance_label(in), "%s came too late", f->name);
    else
        broken(in, "%s for call %llu after its end", f->name, (unsigned long long)id);
    return NULL;
}

static void take_event(struct instance *in, const struct wire_function *f, uint64_t id)
{
    struct call *c = own_call(in, f, id);
    if (c && !c->cancelling && c->ops && c->ops->event)
        c->ops->event(c->owner, id, f->number, &decoder.args);
}

/* Takes the call out and tells its owner. */
static void finish(struct call *c, struct chela_done *done, const struct chela_decide *decide)
{
    const struct call_ops *ops = c->ops;
    void *owner = c->owner;
    uint64_t id = c->id;
    if (done->error > CHELA_E_UNKNOWN)
        done->error = CHELA_E_OTHER;
    if (c->timed_out && done->error != CHELA_OK && done->error != CHELA_E_TIMEOUT) {
        done->error = CHELA_E_TIMEOUT;
        done->text = chela_s("the deadline passed");
    }
    call_remove(c);
    if (ops && ops->done)
        ops->done(owner, id, done, decide);
}

static void finish_badly(struct call *c, uint32_t class, const char *text)
{
    CHELA_ARGS(chela_done, done, c->id);
    done.error = class;
    done.text = chela_s(text);
    finish(c, &done, NULL);
}

static void take_end(struct instance *in, const struct wire_function *f, uint64_t id)
{
    struct call *c = own_call(in, f, id);
    if (!c)
        return;
    bool verdict = c->function->act == WIRE_VERDICT;
    if (c->overran) {
        finish_badly(c, CHELA_E_PROTOCOL,
                     "the plugin went beyond its credit: events of the call were dropped");
    } else if (f->number == CHELA_FN_DECIDE && verdict) {
        CHELA_ARGS(chela_done, ok, id);
        finish(c, &ok, (const void *)&decoder.args);
    } else if (f->number == CHELA_FN_DECIDE) {
        broken(in, "decided %s, which is no question", c->function->name);
        finish_badly(c, CHELA_E_PROTOCOL, "the plugin answered with a verdict");
    } else if (verdict && ((struct chela_done *)(void *)&decoder.args)->error == CHELA_OK) {
        broken(in, "ended %s without a verdict", c->function->name);
        finish_badly(c, CHELA_E_PROTOCOL, "the plugin gave no verdict");
    } else {
        finish(c, (void *)&decoder.args, NULL);
    }
}

/* An end that the host itself made. The call may have ended since, by a done that was waiting. */
void say_take_host_end(const struct wire_frame *frame)
{
    struct call *c = call_find(frame->call);
    if (c && !c->by_plugin && wire_read(&decoder, wire_function(frame->function)->args, frame) == 0)
        finish(c, (void *)&decoder.args, NULL);
}

/* ---- calls that the plugin begins ---- */

static uint64_t parent_of(const struct wire_function *f)
{
    uint64_t parent = 0;
    if (f->args->count > 0 && strcmp(f->args->fields[0].name, "parent") == 0)
        memcpy(&parent, decoder.args.bytes + f->args->fields[0].offset, sizeof parent);
    return parent;
}

/* Whether the id is a new one of this maker; ids only rise. */
static bool fresh_id(struct instance *in, const struct wire_function *f, uint64_t id)
{
    if (id >> CALL_COUNTER_BITS != in->number) {
        broken(in, "%s with call %llu, which is not an id from its new_call", f->name,
               (unsigned long long)id);
        return false;
    }
    if (id <= in->last_begun) {
        broken(in,
               "%s with a call id that was used before, or taken before another one that was "
               "used already",
               f->name);
        return false;
    }
    in->last_begun = id;
    return true;
}

static void take_begin(struct instance *in, const struct wire_function *f, uint64_t id, bool lost)
{
    if (!fresh_id(in, f, id))
        return;
    uint64_t parent_id = parent_of(f);
    struct call *parent = parent_id ? call_find(parent_id) : NULL;
    bool foreign = parent ? parent->in != in : parent_id && !call_existed(in, parent_id);
    struct call *c = call_add(id, in, f, foreign ? NULL : parent);
    c->by_plugin = true;
    c->tag = decoder.args.head.tag;
    const struct handler *h = call_handler_of(f);
    if (foreign) {
        broken(in, "%s with parent %llu, which is no call of it", f->name,
               (unsigned long long)parent_id);
        call_answer_error(id, CHELA_E_ARGS, "parent is no call of this instance");
    } else if (parent_id && (!parent || parent->cancelling)) {
        call_answer_error(id, CHELA_E_CANCELLED, "the call that it served has ended");
    } else if (lost) {
        call_answer_error(id, CHELA_E_OVERLOADED, "too much waits that the plugin has sent");
    } else if (!h->begin) {
        call_answer_error(id, CHELA_E_UNSUPPORTED, "this host doesn't do that");
    } else {
        h->begin(in, id, &decoder.args);
    }
}

/* Something for a call of the plugin's own. That it has just ended is nobody's fault. */
static void take_send(struct instance *in, const struct wire_function *f, uint64_t id, bool lost)
{
    struct call *c = call_find(id);
    if (!c && call_existed(in, id))
        return;
    if (!c || c->in != in || !c->by_plugin) {
        broken(in, "%s for call %llu, which it did not begin", f->name, (unsigned long long)id);
        return;
    }
    if (f->act == WIRE_CANCEL) {
        call_ask_to_end(c);
        return;
    }
    const struct handler *h = call_handler_of(f);
    if (lost) {
        call_ask_to_end(c);
        call_answer_error(id, CHELA_E_PROTOCOL, "more was sent than the host takes at once");
    } else if (h->begin && !c->cancelling) {
        h->begin(in, id, &decoder.args);
    }
}

static void take_plain(struct instance *in, const struct wire_function *f, bool lost)
{
    const struct handler *h = call_handler_of(f);
    if (lost)
        broken(in, "%s: dropped, more than %d MiB wait", f->name, QUEUE_LIMIT >> 20);
    else if (h->begin)
        h->begin(in, 0, &decoder.args);
}

/* ---- from the inbox ---- */

static void take_lost_end(struct instance *in, const struct wire_function *f, uint64_t id)
{
    struct call *c = own_call(in, f, id);
    if (c)
        finish_badly(c, CHELA_E_PROTOCOL, "the plugin's answer was too large to be sent");
}

void say_take(struct instance *in, const struct wire_frame *frame)
{
    if (frame->marks & WIRE_BY_HOST) {
        say_take_host_end(frame);
        return;
    }
    const struct wire_function *f = wire_function(frame->function);
    if (!f || f->direction != WIRE_TO_HOST) {
        broken(in, "sent function %u, which the host doesn't have", (unsigned)frame->function);
        return;
    }
    if (in->number == 0 || frame->instance != in->number)
        return; /* from before it was closed */
    if (wire_read(&decoder, f->args, frame) != 0) {
        broken(in, "sent a damaged %s", f->name);
        return;
    }
    if (say_mend(f, call_find(frame->call), &decoder.args))
        broken(in, "%s: text that is not UTF-8; its bytes were replaced", f->name);
    bool lost = (frame->marks & WIRE_LOST) != 0;
    switch (f->act) {
    case WIRE_PLAIN: take_plain(in, f, lost); break;
    case WIRE_BEGIN:
    case WIRE_VERDICT: take_begin(in, f, frame->call, lost); break;
    case WIRE_EVENT: take_event(in, f, frame->call); break;
    case WIRE_END:
        if (lost)
            take_lost_end(in, f, frame->call);
        else
            take_end(in, f, frame->call);
        break;
    case WIRE_SEND:
    case WIRE_CANCEL: take_send(in, f, frame->call, lost); break;
    }
}
