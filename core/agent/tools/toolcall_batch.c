/*
 * A batch: which call may begin when, one barrier for all that start together, one result for each
 * call in the order of the calls. Called by turn.c through toolcall.h.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/tools/toolcall_private.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/loop.h"
#include "host/settings.h"

static void batch_free(struct batch *b)
{
    loop_timer_stop(b->timer);
    for (unsigned i = 0; i < b->count; i++)
        call_clear(&b->calls[i]);
    free(b->calls);
    free(b->run);
    free(b->session);
    free(b->agent);
    free(b->workspace);
    free(b->source);
    free(b->provider);
    free(b);
}

void batch_waits(struct batch *b, int change)
{
    b->waiting = (unsigned)((int)b->waiting + change);
    if (!b->suspended)
        b->ops->waiting(b->owner, b->waiting);
}

/* ---- starting, with one barrier for all ---- */

struct start_group {
    struct batch *b;
    unsigned *indices, count;
};

static void started(void *owner, const struct error *e)
{
    struct start_group *g = owner;
    struct batch *b = g->b;
    b->writes--;
    if (e && !b->failed) {
        b->failed = true;
        b->ops->broken(b->owner, e);
    }
    for (unsigned i = 0; i < g->count; i++) {
        struct call *c = &b->calls[g->indices[i]];
        if (b->failed)
            call_fail(c, "Not run: its start could not be stored.");
        else if (b->aborting)
            call_fail(c, "Aborted before it ran.");
        else
            call_run(c);
    }
    free(g->indices);
    free(g);
    batch_schedule(b);
}

static void write_start(struct call *c, bool lazy, struct start_group *g)
{
    struct batch *b = c->batch;
    c->started = clock_ticks_ms();
    c->ready = false;
    if (c->found == CALL_EXECUTING) /* repeated after a restart: PENDING only here */
        c->found = CALL_PENDING;
    call_move(c, CALL_EXECUTING);
    b->writes++;
    journal_call_start(b->journal, c->id, c->approval, c->hash, lazy, started, g);
}

static struct start_group *new_group(struct batch *b)
{
    struct start_group *g = xcalloc(1, sizeof *g);
    g->b = b;
    g->indices = xcalloc(b->count, sizeof *g->indices);
    return g;
}

/*
 * All that became ready in this pass: those that only read run at once, the others when the last
 * one's barrier has made them all durable.
 */
static void start_ready(struct batch *b)
{
    unsigned effects = 0;
    for (unsigned i = 0; i < b->count; i++)
        effects += b->calls[i].ready && !b->calls[i].reads_only;
    struct start_group *all = effects ? new_group(b) : NULL;
    for (unsigned i = 0; i < b->count; i++) {
        struct call *c = &b->calls[i];
        if (!c->ready)
            continue;
        if (c->reads_only) {
            write_start(c, true, new_group(b));
            call_run(c);
            continue;
        }
        all->indices[all->count++] = i;
        bool last = --effects == 0;
        write_start(c, !last, last ? all : new_group(b));
    }
}

/* ---- order ---- */

static bool may_begin(const struct batch *b, const struct call *c)
{
    if (c->begun || c->ended)
        return false;
    for (unsigned i = 0; b->sequential && i < c->index; i++) {
        if (!b->calls[i].ended)
            return false;
    }
    return true;
}

static void skip_rest(struct batch *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        if (!b->calls[i].begun && !b->calls[i].ended)
            call_fail(&b->calls[i], "Skipped to process an incoming message.");
    }
}

static void begin_calls(struct batch *b)
{
    bool asked = false;
    for (unsigned i = 0; i < b->count && !b->aborting; i++) {
        struct call *c = &b->calls[i];
        if (!may_begin(b, c))
            continue;
        if (!asked && b->ops->interrupted(b->owner)) {
            skip_rest(b);
            return;
        }
        asked = !b->sequential; /* one checkpoint before a parallel batch */
        call_begin_flow(c);
    }
}

static void finish(struct batch *b)
{
    if (b->suspended) {
        void (*fn)(void *owner) = b->suspended_fn;
        void *owner = b->suspended_owner;
        batch_free(b);
        fn(owner);
        return;
    }
    struct batch_result r = {chela_json_new_array(), b->count > 0, false};
    for (unsigned i = 0; i < b->count; i++) {
        chela_json_push(r.parts, json_object_get(b->calls[i].part));
        r.terminate = r.terminate && b->calls[i].terminate;
        r.stop_after = r.stop_after || b->calls[i].stop_after;
    }
    const struct batch_ops *ops = b->ops;
    void *owner = b->owner;
    batch_free(b);
    ops->done(owner, &r);
    json_object_put(r.parts);
}

void batch_pump(struct batch *b)
{
    if (!b->aborting)
        begin_calls(b);
    start_ready(b);
    /* results of a suspended batch are not written, but what was begun has to end */
    if (b->ended == b->count && b->writes == 0)
        finish(b);
    else if (b->ended == b->count)
        return;
}

static void pump(void *arg)
{
    struct batch *b = arg;
    b->timer = 0;
    batch_pump(b);
}

void batch_schedule(struct batch *b)
{
    if (!b->timer)
        b->timer = loop_timer(0, pump, b);
}

/* ---- begin, abort ---- */

static char *source_json(const struct message *m)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "account", m->account);
    chela_json_put_text(o, "chat", m->chat);
    chela_json_put_text(o, "sender", m->sender);
    if (*m->thread)
        chela_json_put_text(o, "thread", m->thread);
    char *text = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return text;
}

static void take_call(struct batch *b, unsigned index, const struct batch_call *q)
{
    struct call *c = &b->calls[index];
    c->batch = b;
    c->index = index;
    c->id = xstrdup(q->id);
    c->name = xstrdup(q->name ? q->name : "");
    c->arguments = xstrdup(q->arguments ? q->arguments : "{}");
    c->wrong = xstrdup(q->wrong);
    c->found = q->found;
    if ((q->found == CALL_COMPLETED || q->found == CALL_FAILED) && q->result) {
        c->state = q->found; /* it ended before the restart: nothing is run or written again */
        c->part = json_object_get(q->result);
        c->begun = c->ended = true;
        b->ended++;
        return;
    }
    c->tool = toolplan_find(*b->plan, c->name);
    if (!c->tool)
        c->tool = toolplan_resolve(b->plan, c->name);
    if (c->tool && c->tool->sequential)
        b->sequential = true;
}

struct batch *batch_begin(const struct batch_request *q, const struct batch_ops *ops, void *owner)
{
    struct batch *b = xcalloc(1, sizeof *b);
    b->run = xstrdup(q->run);
    b->session = xstrdup(q->session);
    b->agent = xstrdup(q->agent);
    b->provider = xstrdup(q->provider);
    b->workspace = agents_workspace(q->agent);
    b->source = source_json(q->message);
    b->message = q->message;
    b->plan = q->plan;
    b->journal = q->journal;
    b->ops = ops;
    b->owner = owner;
    b->count = q->count;
    b->calls = xcalloc(q->count ? q->count : 1, sizeof *b->calls);
    b->sequential = strcmp(settings_text(settings_now(), "tools.execution"), "sequential") == 0;
    for (unsigned i = 0; i < q->count; i++)
        take_call(b, i, &q->calls[i]);
    batch_schedule(b);
    return b;
}

void batch_abort(struct batch *b)
{
    if (b->aborting)
        return;
    b->aborting = true;
    for (unsigned i = 0; i < b->count; i++)
        call_abort(&b->calls[i]);
    batch_schedule(b);
}

void batch_suspend(struct batch *b, void (*fn)(void *owner), void *owner)
{
    b->suspended = true;
    b->suspended_fn = fn;
    b->suspended_owner = owner;
    batch_abort(b);
}
