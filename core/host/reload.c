/*
 * The change to another configuration while everything runs (registry_reload): first all are asked,
 * then all change. What can be put in force in a running instance is (apply); the others are
 * stopped, closed, opened and started anew, under the same struct, so that who knows an instance
 * goes on knowing it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/life.h"
#include "host/loop.h"
#include "host/options.h"
#include "host/plugins.h"
#include "host/registry_private.h"
#include "host/settings_private.h"

enum change_kind { STAYS, APPLIES, RESTARTS, COMES, GOES };

struct change {
    enum change_kind kind;
    struct instance *in;
    const struct settings_instance *to; /* NULL: it goes */
};

static struct {
    bool active, committed;
    struct settings *fresh;
    struct change *changes;
    size_t count;
    unsigned waiting;
    bool failed;
    struct error error;
} reload;

static void add_change(enum change_kind kind, struct instance *in,
                       const struct settings_instance *to)
{
    reload.changes = xrealloc(reload.changes, (reload.count + 1) * sizeof(struct change));
    reload.changes[reload.count++] = (struct change){kind, in, to};
}

static struct change *change_of(const struct instance *in)
{
    for (size_t i = 0; i < reload.count; i++)
        if (reload.changes[i].in == in)
            return &reload.changes[i];
    return NULL;
}

static struct instance *existing(const struct settings_instance *s)
{
    LIST_EACH(l, &registry_list)
    {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (strcmp(in->section, s->section) == 0 && strcmp(in->name, s->name) == 0 &&
            in->type == plugins_type_of(s->type))
            return in;
    }
    return NULL;
}

static enum change_kind kind_of(const struct instance *in, const struct settings_instance *s)
{
    struct buf changed = {0};
    bool reloadable;
    enum change_kind kind = STAYS;
    options_compare(in->options, s->options, &changed, &reloadable);
    bool applies = reloadable && in->type->iface.apply && in->state == INSTANCE_RUNNING;
    if (changed.n) {
        kind = applies ? APPLIES : RESTARTS;
        log_info(instance_label(in), "changed: %s%s", buf_text(&changed),
                 applies ? "" : " (it will be started anew)");
    } else if (in->state == INSTANCE_FAILED || in->state == INSTANCE_STUCK) {
        kind = RESTARTS;
    }
    buf_free(&changed);
    return kind;
}

static void make_plan(void)
{
    const struct settings_instance *s;
    for (size_t i = 0; (s = settings_instance(reload.fresh, i)); i++) {
        struct instance *in = existing(s);
        if (in)
            add_change(kind_of(in, s), in, s);
        else
            add_change(COMES,
                       life_new(s->section, s->name, s->origin, s->embedded,
                                plugins_type_of(s->type), s->options),
                       s);
    }
    LIST_EACH(l, &registry_list)
    {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (!change_of(in))
            add_change(GOES, in, NULL);
    }
}

static void finish(const struct error *e)
{
    free(reload.changes);
    memset(&reload, 0, sizeof reload);
    registry_end(e);
}

/* Nothing has changed yet. */
static void abandon(void)
{
    struct error e = reload.error;
    for (size_t i = 0; i < reload.count; i++)
        if (reload.changes[i].kind == COMES)
            life_free(reload.changes[i].in);
    settings_free(reload.fresh);
    finish(&e);
}

void reload_forget(void)
{
    if (!reload.active)
        return;
    for (size_t i = 0; i < reload.count; i++)
        if (reload.changes[i].kind == COMES && list_empty(&reload.changes[i].in->link))
            life_free(reload.changes[i].in);
    if (!reload.committed)
        settings_free(reload.fresh);
    free(reload.changes);
    memset(&reload, 0, sizeof reload);
}

/* ---- after all have agreed ---- */

static void order_list(void)
{
    for (size_t i = 0; i < reload.count; i++)
        if (reload.changes[i].to) {
            list_remove(&reload.changes[i].in->link);
            list_append(&registry_list, &reload.changes[i].in->link);
        }
}

static void one_is_up(struct instance *in, const struct error *e)
{
    (void)in;
    (void)e; /* it is logged, and tried again */
    if (!reload.active || --reload.waiting > 0)
        return;
    finish(NULL);
}

static void applied(struct instance *in, const struct error *e)
{
    if (!reload.active)
        return;
    if (!e) {
        one_is_up(in, NULL);
        return;
    }
    log_warning(instance_label(in), "did not take its new options: %s; it is started anew",
                e->text);
    registry_bring_up(in, one_is_up);
}

static void bring_all_up(void)
{
    order_list();
    reload.waiting = 1;
    for (size_t i = 0; i < reload.count; i++) {
        struct change *c = &reload.changes[i];
        if (c->kind == STAYS || c->kind == GOES)
            continue;
        reload.waiting++;
        if (c->kind == APPLIES) {
            life_apply(c->in, c->to->options, applied);
            continue;
        }
        if (c->kind == RESTARTS) {
            options_release(c->in->options);
            c->in->options = options_hold(c->to->options);
        }
        c->in->attempts = 0;
        registry_bring_up(c->in, one_is_up);
    }
    if (--reload.waiting == 0)
        finish(NULL);
}

static void one_is_down(struct instance *in, const struct error *e)
{
    (void)e;
    if (!reload.active)
        return;
    const struct change *c = change_of(in);
    if (c && c->kind == GOES)
        registry_bury(in);
    if (--reload.waiting == 0)
        bring_all_up();
}

/* Options of the core that are read once. */
static void warn_of_restart(const struct settings *before, const struct settings *after)
{
    static const char *const once[] = {"gateway.bind",
                                       "gateway.port",
                                       "gateway.max_connections",
                                       "durability",
                                       "isolated",
                                       "logging.format",
                                       "network.ca_file",
                                       "network.proxy",
                                       "network.no_proxy",
                                       "network.proxy_is_public",
                                       "network.connect_timeout"};
    for (size_t i = 0; i < ARRAY_LENGTH(once); i++)
        if (strcmp(settings_text(before, once[i]), settings_text(after, once[i])) != 0)
            log_warning("config", "%s has changed; it counts from the next start", once[i]);
}

static void commit(void)
{
    warn_of_restart(settings_now(), reload.fresh);
    settings_use(reload.fresh);
    reload.committed = true;
    reload.waiting = 1;
    for (size_t i = 0; i < reload.count; i++) {
        struct change *c = &reload.changes[i];
        if (c->kind != GOES && c->kind != RESTARTS)
            continue;
        reload.waiting++;
        life_stop(c->in, one_is_down);
    }
    if (--reload.waiting == 0)
        bring_all_up();
}

/* ---- asking ---- */

static void refuse(const struct error *e)
{
    if (!reload.failed)
        reload.error = *e;
    reload.failed = true;
}

static void checked(struct instance *in, const struct error *e)
{
    (void)in;
    if (!reload.active)
        return;
    if (e)
        refuse(e);
    if (--reload.waiting > 0)
        return;
    if (reload.failed)
        abandon();
    else
        commit();
}

static void ask_all(void *unused)
{
    struct error e;
    (void)unused;
    if (!reload.active)
        return;
    reload.waiting = 1;
    for (size_t i = 0; i < reload.count; i++) {
        struct change *c = &reload.changes[i];
        if ((c->kind == COMES || c->kind == RESTARTS) && life_try(c->in, c->to->options, &e) < 0)
            refuse(&e);
        if (c->kind != APPLIES)
            continue;
        reload.waiting++;
        life_check(c->in, c->to->options, checked);
    }
    checked(NULL, NULL); /* the one that was added in front */
}

struct refusal {
    registry_done *done;
    void *arg;
};

static void tell_busy(void *arg)
{
    struct refusal r = *(struct refusal *)arg;
    struct error e;
    free(arg);
    error_set(&e, CHELA_E_BUSY,
              "a start, stop or reload is under way; try again when it has ended");
    r.done(r.arg, &e);
}

void registry_reload(struct settings *fresh, registry_done *done, void *arg)
{
    if (!registry_begin(done, arg)) {
        struct refusal r = {done, arg};
        settings_free(fresh);
        loop_defer(tell_busy, xmemdup(&r, sizeof r));
        return;
    }
    free(reload.changes);
    memset(&reload, 0, sizeof reload);
    reload.active = true;
    reload.fresh = fresh;
    make_plan();
    loop_defer(ask_all, NULL);
}
