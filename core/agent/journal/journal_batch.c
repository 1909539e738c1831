/*
 * Commits on their way: a batch is sent under its id until the store says what became of it. BUSY
 * and UNKNOWN are tried again, with pauses, under the same id (which commits once); a chain stays
 * in order meanwhile. Called by journal*.c.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"

enum { PAUSE_FIRST_MS = 20, PAUSE_MOST_MS = 5000 };

struct journal_counts journal_counted;
bool journal_power = true;
static struct link under_way = {&under_way, &under_way};

/* ---- statements with their parameters ---- */

static struct chela_value *add(struct journal_ops *o, uint32_t type)
{
    if (o->count == o->size) {
        o->size = o->size ? o->size * 2 : 32;
        o->values = xrealloc(o->values, o->size * sizeof *o->values);
    }
    struct chela_value *v = &o->values[o->count++];
    memset(v, 0, sizeof *v);
    v->type = type;
    return v;
}

void ops_statement(struct journal_ops *o, enum sql s)
{
    add(o, CHELA_V_OP)->i = s;
}

static void add_bytes(struct journal_ops *o, uint32_t type, const char *p, size_t n)
{
    struct chela_value *v = add(o, type);
    v->i = (int64_t)o->bytes.n;
    v->s.n = n;
    buf_add(&o->bytes, p, n);
    buf_char(&o->bytes, '\0');
}

void ops_text(struct journal_ops *o, const char *s)
{
    if (s)
        add_bytes(o, CHELA_V_TEXT, s, strlen(s));
    else
        add(o, CHELA_V_NULL);
}

void ops_bytes(struct journal_ops *o, struct chela_str s)
{
    add_bytes(o, CHELA_V_BYTES, s.s, s.n);
}

void ops_int(struct journal_ops *o, uint64_t i)
{
    add(o, CHELA_V_INT)->i = i > INT64_MAX ? INT64_MAX : (int64_t)i;
}

void ops_real(struct journal_ops *o, double d)
{
    add(o, CHELA_V_REAL)->d = d;
}

static bool has_bytes(const struct chela_value *v)
{
    return v->type == CHELA_V_TEXT || v->type == CHELA_V_BYTES;
}

void ops_append(struct journal_ops *o, struct journal_ops *more)
{
    for (size_t i = 0; i < more->count; i++) {
        struct chela_value *v = add(o, 0);
        *v = more->values[i];
        if (has_bytes(v))
            v->i += (int64_t)o->bytes.n;
    }
    buf_add(&o->bytes, more->bytes.p, more->bytes.n);
    more->count = 0;
    buf_clear(&more->bytes);
}

void ops_seal(struct journal_ops *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (has_bytes(&o->values[i])) {
            o->values[i].s.s = o->bytes.p + o->values[i].i;
            o->values[i].i = 0;
        }
}

void ops_free(struct journal_ops *o)
{
    free(o->values);
    buf_free(&o->bytes);
    memset(o, 0, sizeof *o);
}

/* ---- batches ---- */

/* Rises within a process and from one to the next, and never repeats one, even where the wall clock
 * was set back: low bits at random where it begins. */
uint64_t journal_new_id(void)
{
    static uint64_t last;
    if (last == 0)
        last = (clock_now_ms() << 21) + (id_random() & ((1u << 20) - 1));
    return ++last;
}

struct journal_batch *batch_new(const char *partition, bool barrier)
{
    struct journal_batch *b = xcalloc(1, sizeof *b);
    b->id = journal_new_id();
    b->partition = xstrdup(partition);
    b->barrier = barrier;
    list_init(&b->link);
    return b;
}

static void join_states(struct journal_run *r, struct journal_ops *o, uint64_t ended)
{
    if (!r->state)
        return;
    ops_statement(o, SQL_RUN_STATE);
    ops_text(o, r->session);
    ops_text(o, r->run);
    ops_text(o, r->state);
    ops_text(o, buf_text(&r->states));
    ops_int(o, ended);
    buf_clear(&r->states);
    free(r->state);
    r->state = NULL;
}

void run_join(struct journal_run *r, struct journal_ops *o, uint64_t ended)
{
    ops_append(o, &r->ops);
    join_states(r, o, ended);
}

struct journal_batch *batch_of_run(struct journal_run *r, bool barrier)
{
    struct journal_batch *b = batch_new(r->session, barrier);
    b->run = r;
    r->holds++;
    b->after = r->last;
    r->last = b->id;
    return b;
}

void run_release(struct journal_run *r)
{
    if (--r->holds > 0)
        return;
    ops_free(&r->ops);
    buf_free(&r->states);
    free(r->state);
    free(r->session);
    free(r->run);
    free(r);
}

static void batch_free(struct journal_batch *b)
{
    list_remove(&b->link);
    loop_timer_stop(b->timer);
    if (b->run)
        run_release(b->run);
    ops_free(&b->ops);
    free(b->partition);
    free(b);
}

void batch_drop(struct journal_batch *b)
{
    batch_free(b);
}

static struct journal_batch *find(uint64_t id, const struct journal_run *r)
{
    LIST_EACH(l, &under_way)
    {
        struct journal_batch *b = CONTAINER_OF(l, struct journal_batch, link);
        if (b->id == id && b->run == r)
            return b;
    }
    return NULL;
}

static void submit(void *arg);

/* The one that waited for this one, if any, goes on. */
static void wake_follower(const struct journal_batch *b)
{
    LIST_EACH(l, &under_way)
    {
        struct journal_batch *next = CONTAINER_OF(l, struct journal_batch, link);
        if (next->waiting && next->after == b->id && next->run == b->run) {
            next->waiting = false;
            next->timer = loop_timer(0, submit, next);
        }
    }
}

static void finish(struct journal_batch *b, const struct error *e)
{
    fault_point("a commit's answer");
    if (e && b->run && b->run->failed.class == CHELA_OK)
        b->run->failed = *e;
    list_remove(&b->link);
    wake_follower(b);
    if (b->fn)
        b->fn(b->owner, e);
    batch_free(b);
}

static void pause_then(struct journal_batch *b, const struct error *e)
{
    uint64_t ms = (uint64_t)PAUSE_FIRST_MS << (b->tries < 9 ? b->tries : 8);
    if (b->tries++ == 3)
        log_warning("journal", "a commit is tried again and again: %s", e->text);
    b->timer = loop_timer(ms < PAUSE_MOST_MS ? ms : PAUSE_MOST_MS, submit, b);
}

static void done(void *owner, uint64_t call, const struct chela_done *d,
                 const struct chela_decide *decide)
{
    struct journal_batch *b = owner;
    struct error e;
    (void)call;
    (void)decide;
    b->call = 0;
    if (error_from_done(&e, d) == 0) {
        finish(b, NULL);
        return;
    }
    if (e.class == CHELA_E_BUSY || e.class == CHELA_E_UNKNOWN) {
        pause_then(b, &e);
        return;
    }
    if (e.class == CHELA_E_SKIPPED && b->run) {
        if (find(b->after, b->run)) {
            b->waiting = true;
            return;
        }
        if (b->run->failed.class != CHELA_OK)
            error_set(&e, CHELA_E_SKIPPED, "an earlier commit of this run failed: %.900s",
                      b->run->failed.text);
    }
    finish(b, &e);
}

static const struct call_ops ops = {.done = done};

static void submit(void *arg)
{
    struct journal_batch *b = arg;
    b->timer = 0;
    struct error e;
    if (!journal_store()) {
        error_set(&e, CHELA_E_GONE, "the store is closed");
        finish(b, &e);
        return;
    }
    fault_point("a commit");
    CHELA_ARGS(chela_batch, a, 0);
    a.id = b->id;
    a.after = b->after;
    a.durability = b->barrier && journal_power ? CHELA_BARRIER : CHELA_LAZY;
    a.h.flags = b->patient ? CHELA_MAY_WAIT : 0;
    a.partition = chela_s(b->partition);
    a.ops.v = b->ops.values;
    a.ops.n = b->ops.count;
    b->call = call_begin(journal_store(), CHELA_FN_STORE_COMMIT, &a, 0, 0, &ops, b);
}

static void count(const struct journal_batch *b)
{
    journal_counted.batches++;
    journal_counted.barriers += b->barrier;
    for (size_t i = 0; i < b->ops.count; i++)
        journal_counted.statements += b->ops.values[i].type == CHELA_V_OP;
}

void batch_send(struct journal_batch *b, journal_fn *fn, void *owner)
{
    b->fn = fn;
    b->owner = owner;
    list_append(&under_way, &b->link);
    ops_seal(&b->ops);
    count(b);
    if (journal_store())
        submit(b);
    else
        b->timer = loop_timer(0, submit, b);
}

static void log_failure(void *owner, const struct error *e)
{
    if (e)
        log_error("journal", "%s: %s", (const char *)owner, e->text);
}

void batch_send_alone(struct journal_batch *b, const char *what)
{
    batch_send(b, log_failure, (void *)(uintptr_t)what);
}

void batches_close(void)
{
    LIST_EACH(l, &under_way)
    {
        struct journal_batch *b = CONTAINER_OF(l, struct journal_batch, link);
        if (b->call)
            call_forget(b->call);
        batch_free(b);
    }
}
