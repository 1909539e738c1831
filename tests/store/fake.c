/*
 * The small host of the store's tests (see fake.h).
 */
#include "store/fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

struct task {
    struct task *next;
    chela_callback *fn;
    void *arg;
    uint64_t timer; /* 0: none */
};

struct fake {
    struct chela_inst inst; /* first */
    struct chela_host host;
    const struct chela_iface *iface;
    void *handle;
    const char *const *options;
    uint64_t last_call, last_timer;
    struct outcome *outcomes;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct task *first, **last;
    struct buf log, log_read;
    const struct fake_hooks *hooks;
    bool hooked;
    atomic_ulong working;
    _Atomic uint64_t ahead;
};

static struct fake *fake_of(struct chela_inst *in)
{
    return (struct fake *)in;
}

static void local_log(struct chela_inst *in, uint32_t level, const char *line)
{
    struct fake *f = fake_of(in);
    (void)level;
    pthread_mutex_lock(&f->lock);
    buf_printf(&f->log, "%s\n", line);
    pthread_mutex_unlock(&f->lock);
}

const char *fake_log(struct fake *f)
{
    pthread_mutex_lock(&f->lock);
    buf_clear(&f->log_read);
    buf_add(&f->log_read, f->log.p, f->log.n);
    pthread_mutex_unlock(&f->lock);
    return buf_text(&f->log_read);
}

static struct chela_str local_option(struct chela_inst *in, const char *path)
{
    struct fake *f = fake_of(in);
    size_t n = strlen(path);
    for (const char *const *o = f->options; o && *o; o++)
        if (strncmp(*o, path, n) == 0 && (*o)[n] == '=')
            return chela_s(*o + n + 1);
    for (const struct chela_option *o = f->iface->options; o && o->name; o++)
        if (strcmp(o->name, path) == 0)
            return chela_s(o->fallback);
    return chela_s("");
}

static int64_t local_number(struct chela_inst *in, const char *path)
{
    const char *text = local_option(in, path).s;
    char *end;
    if (strcmp(text, "true") == 0)
        return 1;
    int64_t n = strtoll(text, &end, 10);
    return strcmp(end, "s") == 0 ? n * 1000 : strcmp(end, "m") == 0 ? n * 60000 : n;
}

static uint64_t local_new_call(struct chela_inst *in)
{
    return ++fake_of(in)->last_call;
}

static uint64_t local_now(struct chela_inst *in)
{
    return clock_now_ms() + atomic_load(&fake_of(in)->ahead);
}

static uint64_t local_ticks(struct chela_inst *in)
{
    return clock_ticks_ms() + atomic_load(&fake_of(in)->ahead);
}

static void add_task(struct fake *f, chela_callback *fn, void *arg, uint64_t timer)
{
    struct task *t = xmalloc(sizeof *t);
    *t = (struct task){NULL, fn, arg, timer};
    pthread_mutex_lock(&f->lock);
    *f->last = t;
    f->last = &t->next;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    if (f->hooks)
        f->hooks->posted(f);
}

static void local_post(struct chela_inst *in, chela_callback *fn, void *arg)
{
    add_task(fake_of(in), fn, arg, 0);
}

/* Time passes at once: it fires in the next pass. */
static uint64_t local_timer(struct chela_inst *in, uint64_t ms, chela_callback *fn, void *arg)
{
    struct fake *f = fake_of(in);
    (void)ms;
    add_task(f, fn, arg, ++f->last_timer);
    return f->last_timer;
}

static void local_timer_stop(struct chela_inst *in, uint64_t timer)
{
    struct fake *f = fake_of(in);
    pthread_mutex_lock(&f->lock);
    for (struct task *t = f->first; t; t = t->next)
        if (timer && t->timer == timer)
            t->fn = NULL;
    pthread_mutex_unlock(&f->lock);
}

struct work {
    struct fake *fake;
    chela_callback *job, *done;
    void *arg;
};

static void *work_main(void *arg)
{
    struct work w = *(struct work *)arg;
    free(arg);
    w.job(&w.fake->inst, w.arg);
    local_post(&w.fake->inst, w.done, w.arg);
    atomic_fetch_sub(&w.fake->working, 1);
    return NULL;
}

static void local_work(struct chela_inst *in, chela_callback *job, chela_callback *done, void *arg)
{
    pthread_t thread;
    struct work *w = xmalloc(sizeof *w);
    *w = (struct work){fake_of(in), job, done, arg};
    atomic_fetch_add(&w->fake->working, 1);
    if (pthread_create(&thread, NULL, work_main, w) != 0)
        abort();
    pthread_detach(thread);
}

static void local_metric(struct chela_inst *in, uint32_t kind, const char *name, const char *labels,
                         double value)
{
    (void)in, (void)kind, (void)name, (void)labels, (void)value;
}

static const struct chela_local local_table = {
    .size = sizeof local_table,
    .log = local_log,
    .option = local_option,
    .number = local_number,
    .new_call = local_new_call,
    .now_ms = local_now,
    .ticks_ms = local_ticks,
    .post = local_post,
    .timer = local_timer,
    .timer_stop = local_timer_stop,
    .work = local_work,
    .metric = local_metric,
};

static struct outcome *find(struct fake *f, uint64_t call)
{
    for (struct outcome *o = f->outcomes; o; o = o->next)
        if (o->call == call)
            return o;
    return NULL;
}

static void answer_done(struct chela_inst *in, const struct chela_done *d)
{
    struct outcome *o = find(fake_of(in), d->h.call);
    if (!o && fake_of(in)->hooked) { /* without hooks by now: its caller has gone */
        if (fake_of(in)->hooks)
            fake_of(in)->hooks->done(d);
        return;
    }
    if (!o || o->done) {
        fprintf(stderr, "# a done for a call that isn't open\n");
        abort();
    }
    o->done = true;
    o->error = d->error;
    o->flags = d->h.flags;
    o->text = xmemdup(d->text.s, d->text.n);
    o->length = d->text.n;
}

static void answer_rows(struct chela_inst *in, const struct chela_rows *r)
{
    struct outcome *o = find(fake_of(in), r->h.call);
    if (!o && fake_of(in)->hooked) {
        if (fake_of(in)->hooks)
            fake_of(in)->hooks->rows(r);
        return;
    }
    if (!o || o->done)
        abort();
    o->values = xrealloc(o->values, (o->count + r->values.n) * sizeof *o->values);
    for (uint64_t i = 0; i < r->values.n; i++) {
        struct chela_value *v = &o->values[o->count++];
        *v = r->values.v[i];
        v->s.s = xmemdup(v->s.s, v->s.n);
    }
    o->columns = r->columns;
    o->portions++;
}

static const struct chela_answer answer_table = {
    .size = sizeof answer_table,
    .done = answer_done,
    .rows = answer_rows,
};

static const struct chela_plugin *load(struct fake *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = xstrdup(slash ? slash + 1 : path), *dot = strrchr(name, '.');
    if (dot)
        *dot = '\0';
    char *symbol = xprintf("%s_LTX_chela_plugin", name);
    f->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct chela_plugin *p = f->handle ? dlsym(f->handle, symbol) : NULL;
    if (!p)
        fprintf(stderr, "%s\n", dlerror());
    free(name);
    free(symbol);
    return p;
}

struct fake *fake_open(const char *plugin, const char *const *options)
{
    struct fake *f = xcalloc(1, sizeof *f);
    const struct chela_plugin *p = load(f, plugin);
    if (!p) {
        free(f);
        return NULL;
    }
    f->iface = p->ifaces[0];
    f->options = options;
    f->last = &f->first;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->wake, NULL);
    f->host =
        (struct chela_host){.size = sizeof f->host, .local = &local_table, .answer = &answer_table};
    f->inst.host = &f->host;
    f->inst.name = f->iface->type;
    if (f->iface->open(&f->inst) != CHELA_OK) {
        fprintf(stderr, "%s", buf_text(&f->log));
        exit(1);
    }
    return f;
}

struct chela_inst *fake_instance(struct fake *f)
{
    return &f->inst;
}

const struct chela_store *fake_store(struct fake *f)
{
    return f->iface->store;
}

const struct chela_iface *fake_iface(struct fake *f)
{
    return f->iface;
}

void fake_advance(struct fake *f, uint64_t ms)
{
    atomic_fetch_add(&f->ahead, ms);
}

struct outcome *fake_call(struct fake *f)
{
    struct outcome *o = xcalloc(1, sizeof *o);
    o->call = ++f->last_call;
    o->next = f->outcomes;
    f->outcomes = o;
    return o;
}

void fake_set_hooks(struct fake *f, const struct fake_hooks *hooks)
{
    f->hooks = hooks;
    f->hooked = true;
}

static struct task *take(struct fake *f, bool wait)
{
    pthread_mutex_lock(&f->lock);
    while (wait && !f->first)
        pthread_cond_wait(&f->wake, &f->lock);
    struct task *t = f->first;
    f->first = NULL;
    f->last = &f->first;
    pthread_mutex_unlock(&f->lock);
    return t;
}

static void run(struct fake *f, struct task *t)
{
    for (struct task *next; t; t = next) {
        next = t->next;
        if (t->fn)
            t->fn(&f->inst, t->arg);
        free(t);
    }
}

void fake_turn(struct fake *f)
{
    run(f, take(f, true));
}

bool fake_poll(struct fake *f)
{
    struct task *t = take(f, false);
    run(f, t);
    return t != NULL;
}

uint32_t fake_wait(struct fake *f, struct outcome *o)
{
    while (!o->done)
        fake_turn(f);
    return o->error;
}

static void outcome_free(struct outcome *o)
{
    for (size_t i = 0; i < o->count; i++)
        free((char *)(uintptr_t)o->values[i].s.s);
    free(o->values);
    free(o->text);
    free(o);
}

void fake_forget(struct fake *f, struct outcome *o)
{
    struct outcome **p = &f->outcomes;
    while (*p != o)
        p = &(*p)->next;
    *p = o->next;
    outcome_free(o);
}

void fake_close(struct fake *f)
{
    for (struct outcome *o = f->outcomes; o; o = o->next)
        fake_wait(f, o);
    if (f->iface->stop) {
        struct outcome *o = fake_call(f);
        CHELA_ARGS(chela_arg, a, o->call);
        f->iface->stop(&f->inst, &a);
        fake_wait(f, o);
    }
    f->iface->close(&f->inst);
    while (f->outcomes)
        fake_forget(f, f->outcomes);
    while (atomic_load(&f->working))
        sched_yield();
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    buf_free(&f->log);
    buf_free(&f->log_read);
    dlclose(f->handle);
    free(f);
}
