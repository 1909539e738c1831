/*
 * The host's calls without a host (see bridge.h).
 */
#include "store/bridge.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/journal/journal.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"

struct instance {
    struct fake *fake;
    bridge_fn *fn;
};

struct call {
    struct link link;
    uint64_t id;
    const struct call_ops *ops;
    void *owner;
};

static struct instance the_store;
static struct link calls = {&calls, &calls};
static uint64_t last_call = 1u << 20; /* apart from those that fake.c makes */

static struct call *find(uint64_t id)
{
    LIST_EACH(l, &calls)
    {
        struct call *c = CONTAINER_OF(l, struct call, link);
        if (c->id == id)
            return c;
    }
    return NULL;
}

static void end(const struct chela_done *d)
{
    struct call *c = find(d->h.call);
    if (!c)
        return; /* forgotten */
    list_remove(&c->link);
    c->ops->done(c->owner, c->id, d, NULL);
    free(c);
}

static void rows(const struct chela_rows *r)
{
    struct call *c = find(r->h.call);
    if (c && c->ops->event)
        c->ops->event(c->owner, c->id, CHELA_FN_ROWS, r);
}

/* Answers come from the top of the loop: the plugin may have given one before it returned. */
struct later {
    struct chela_done done;
    char *text, *extra;
};

static void end_later(void *arg)
{
    struct later *l = arg;
    end(&l->done);
    free(l->text);
    free(l->extra);
    free(l);
}

static void defer(const struct chela_done *d)
{
    struct later *l = xcalloc(1, sizeof *l);
    l->done = *d;
    l->done.text.s = l->text = xmemdup(d->text.s, d->text.n);
    l->done.extra.s = l->extra = xmemdup(d->extra.s, d->extra.n);
    loop_defer(end_later, l);
}

static void drain(void *arg)
{
    fake_poll(arg);
}

static void posted(struct fake *f)
{
    loop_post(drain, f);
}

static const struct fake_hooks hooks = {.posted = posted, .done = defer, .rows = rows};

struct instance *bridge_store(struct fake *f)
{
    fake_set_hooks(f, &hooks);
    the_store = (struct instance){.fake = f};
    return &the_store;
}

struct instance *bridge_function(bridge_fn *fn)
{
    the_store = (struct instance){.fn = fn};
    return &the_store;
}

void bridge_done(uint64_t call, uint32_t error, const char *text)
{
    CHELA_ARGS(chela_done, d, call);
    d.error = error;
    d.text = chela_s(text);
    defer(&d);
}

unsigned bridge_open_calls(void)
{
    unsigned n = 0;
    LIST_EACH(l, &calls) n++;
    return n;
}

uint64_t call_begin(struct instance *in, uint32_t fn, void *args, uint64_t deadline_ms,
                    uint64_t parent, const struct call_ops *ops, void *owner)
{
    struct call *c = xcalloc(1, sizeof *c);
    struct chela_head *head = args;
    (void)deadline_ms;
    (void)parent;
    c->id = ++last_call;
    c->ops = ops;
    c->owner = owner;
    list_append(&calls, &c->link);
    head->call = c->id;
    uint64_t id = c->id;
    if (in->fn) {
        in->fn(id, fn, args);
        return id;
    }
    const struct chela_store *s = fake_store(in->fake);
    struct chela_inst *plugin = fake_instance(in->fake);
    switch (fn) {
    case CHELA_FN_STORE_OPEN_DB: s->open_db(plugin, args); break;
    case CHELA_FN_STORE_COMMIT: s->commit(plugin, args); break;
    case CHELA_FN_STORE_QUERY: s->query(plugin, args); break;
    case CHELA_FN_STORE_BLOB_PUT: s->blob_put(plugin, args); break;
    case CHELA_FN_STORE_BLOB_GET: s->blob_get(plugin, args); break;
    default: abort();
    }
    return id;
}

void call_forget(uint64_t id)
{
    struct call *c = find(id);
    if (!c)
        return;
    list_remove(&c->link);
    free(c);
}

const char *instance_name(const struct instance *in)
{
    (void)in;
    return "test";
}

void answer_done(void *owner, const struct error *e)
{
    struct answer *a = owner;
    if (a->here)
        abort(); /* twice */
    a->here = true;
    a->class = e ? e->class : CHELA_OK;
    snprintf(a->text, sizeof a->text, "%s", e ? e->text : "");
}

void answer_row(void *owner, const struct journal_row *row)
{
    struct answer *a = owner;
    struct buf b = {0};
    for (unsigned i = 0; i < row->columns; i++) {
        const struct chela_value *v = &row->values[i];
        if (i)
            buf_char(&b, '|');
        if (v->type == CHELA_V_INT)
            buf_printf(&b, "%lld", (long long)v->i);
        else if (v->type == CHELA_V_REAL)
            buf_printf(&b, "%g", v->d);
        else if (v->type == CHELA_V_NULL)
            buf_puts(&b, "null");
        else
            buf_str(&b, v->s);
    }
    if (a->rows < ARRAY_LENGTH(a->row))
        snprintf(a->row[a->rows], sizeof a->row[0], "%s", buf_text(&b));
    a->rows++;
    buf_free(&b);
}

uint32_t answer_wait(struct answer *a)
{
    /* deferred work ends in a pass that doesn't wait; only then is another thread's turn */
    for (int i = 0; i < 4 && !a->here; i++)
        loop_turn(false);
    while (!a->here)
        loop_turn(true);
    a->here = false;
    return a->class;
}
