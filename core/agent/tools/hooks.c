/*
 * A chain of hook calls for one point. A service: knows the registry and calls, no stage.
 */
#include "agent/tools/hooks.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

enum { HOOK_MS = 5000 };

struct chain {
    struct link link;
    uint64_t handle;
    uint32_t point;
    char *name, *session, *key, *text, *by;
    struct json_object *json;
    struct instance *at;
    uint64_t call;
    bool stop_after, blocked;
    hooks_fn *fn;
    void *owner;
};

static struct link chains = {&chains, &chains};
static uint64_t last_handle;

static bool wants(const struct instance *in, uint32_t point)
{
    const struct chela_hook *h = instance_iface(in)->hook;
    return h && h->event && (h->points & 1u << point) != 0;
}

static struct instance *next_hook(struct instance *in, uint32_t point)
{
    while ((in = instance_next(ROLE_HOOK, in))) {
        if (wants(in, point))
            return in;
    }
    return NULL;
}

bool hooks_any(uint32_t point)
{
    return next_hook(NULL, point) != NULL;
}

static void chain_free(struct chain *c)
{
    list_remove(&c->link);
    free(c->name);
    free(c->session);
    free(c->key);
    free(c->text);
    free(c->by);
    json_object_put(c->json);
    free(c);
}

static void finish(struct chain *c)
{
    struct hooks_result r = {c->blocked, c->stop_after, c->by ? c->by : "", c->text};
    list_remove(&c->link);
    c->fn(c->owner, &r);
    chain_free(c);
}

static void ask_next(struct chain *c);

static void changed(struct chain *c, struct chela_str text)
{
    char *fresh = xmemdup(text.s, text.n);
    if (c->key) {
        struct json_object *value = NULL;
        bool json = strcmp(c->key, "arguments") == 0;
        if (json && chela_json_parse(fresh, strlen(fresh), NULL, &value, NULL) == 0)
            chela_json_put(c->json, c->key, value);
        else
            chela_json_put_text(c->json, c->key, fresh);
        free(c->text);
        c->text = fresh;
        return;
    }
    char *joined = c->text ? xprintf("%s\n\n%s", c->text, fresh) : xstrdup(fresh);
    free(c->text);
    free(fresh);
    c->text = joined;
}

static void block(struct chain *c, char *why)
{
    c->blocked = true;
    free(c->text);
    c->text = why;
    c->by = xstrdup(instance_name(c->at));
    finish(c);
}

static void done(void *owner, uint64_t call, const struct chela_done *d,
                 const struct chela_decide *v)
{
    struct chain *c = owner;
    (void)call;
    c->call = 0;
    if (!v) {
        log_warning("agent", "hook %s: %.*s", instance_name(c->at), (int)d->text.n, d->text.s);
        if (c->point == CHELA_BEFORE_TOOL) {
            block(c, xprintf("the hook %s did not answer", instance_name(c->at)));
            return;
        }
    } else if (v->verdict == CHELA_NO && c->point != CHELA_AFTER_TOOL &&
               c->point != CHELA_SESSION_START && c->point != CHELA_SESSION_END) {
        block(c, xmemdup(v->text.s, v->text.n));
        return;
    } else if (v->verdict == CHELA_CHANGE) {
        changed(c, v->text);
    } else if (v->verdict == CHELA_STOP_AFTER) {
        c->stop_after = true;
        if (v->text.n)
            changed(c, v->text);
    }
    ask_next(c);
}

static const struct call_ops ops = {NULL, done};

static void ask_next(struct chain *c)
{
    c->at = next_hook(c->at, c->point);
    if (!c->at) {
        finish(c);
        return;
    }
    CHELA_ARGS(chela_hook_event, a, 0);
    a.point = c->point;
    a.name = chela_s(c->name);
    a.session = chela_s(c->session);
    size_t n;
    const char *json = chela_json_text(c->json, &n);
    a.json = chela_sn(json, n);
    c->call = call_begin(c->at, CHELA_FN_HOOK_EVENT, &a, HOOK_MS, 0, &ops, c);
}

uint64_t hooks_ask(uint32_t point, const char *name, const char *session, struct json_object *json,
                   const char *key, hooks_fn *fn, void *owner)
{
    if (!hooks_any(point)) {
        json_object_put(json);
        struct hooks_result r = {false, false, "", NULL};
        fn(owner, &r);
        return 0;
    }
    struct chain *c = xcalloc(1, sizeof *c);
    c->handle = ++last_handle;
    c->point = point;
    c->name = xstrdup(name);
    c->session = xstrdup(session);
    c->key = xstrdup(key);
    c->json = json;
    c->fn = fn;
    c->owner = owner;
    list_append(&chains, &c->link);
    uint64_t handle = c->handle;
    ask_next(c);
    return handle;
}

void hooks_forget(uint64_t handle)
{
    LIST_EACH(l, &chains)
    {
        struct chain *c = CONTAINER_OF(l, struct chain, link);
        if (c->handle != handle)
            continue;
        call_forget(c->call);
        chain_free(c);
        return;
    }
}
