/*
 * Asks one model one question. A service over modelcall.c; no retry, no fallback: who asks has an
 * answer of its own when none comes.
 */
#include "agent/models/ask.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/models/health.h"
#include "agent/models/modelcall.h"
#include "agent/models/models.h"
#include "agent/models/payer.h"
#include "agent/models/tokens.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/settings.h"

enum { IMPATIENT_MS = 1000, THINKING_TOKENS = 2048 };

struct ask {
    struct link link;
    uint64_t handle, plugin_call, timer;
    char *model;
    struct model_call *call;
    char *purpose, *circuit; /* circuit: breaker's name, NULL: it has none */
    struct payer *payer;
    struct error error;
    ask_fn *fn;
    void *owner;
};

static struct link all = {&all, &all};
static uint64_t last_handle;

static void ask_free(struct ask *a)
{
    list_remove(&a->link);
    loop_timer_stop(a->timer);
    payer_release(a->payer);
    free(a->circuit);
    free(a->purpose);
    free(a->model);
    free(a);
}

static void book(const struct ask *a, const struct model_answer *m, double cost)
{
    struct payer_bill bill = {.model = a->model,
                              .purpose = a->purpose,
                              .usage = m->usage,
                              .cost = cost,
                              .ms = m->total_ms,
                              .outcome = m->error ? error_class_name(m->error) : "ok"};
    if (usage_in(&m->usage) + m->usage.out > 0)
        payer_book(a->payer, &bill);
    if (!a->circuit)
        return;
    if (m->error == CHELA_OK)
        health_good(a->circuit, m->first_ms ? m->first_ms : m->total_ms);
    else if (m->error == CHELA_E_CANCELLED && m->total_ms < IMPATIENT_MS)
        health_neutral(a->circuit);
    else if (m->error == CHELA_E_CANCELLED) /* who asked had no patience left */
        health_bad(a->circuit, CHELA_E_TIMEOUT, 0);
    else
        health_bad(a->circuit, m->error, m->detail.retry_after_ms);
}

static void answered(void *owner, struct model_answer *m)
{
    struct ask *a = owner;
    struct model_info info;
    double cost = 0;
    a->call = NULL;
    if (models_info(a->model, &info))
        cost = models_cost(&info, &m->usage);
    book(a, m, cost);
    struct error e = m->detail;
    ask_fn *fn = a->fn;
    void *fn_owner = a->owner;
    ask_free(a);
    fn(fn_owner, buf_text(&m->text), &m->usage, cost, m->error ? &e : NULL);
}

static const struct model_call_ops ops = {NULL, answered};

static void failed(void *arg)
{
    struct ask *a = arg;
    static const struct usage none;
    struct error e = a->error;
    ask_fn *fn = a->fn;
    void *owner = a->owner;
    a->timer = 0;
    ask_free(a);
    fn(owner, "", &none, 0, &e);
}

static void first_local(void *arg, const char *full, const struct model_info *info)
{
    char **found = arg;
    if (!*found && info->local && models_available(info->instance))
        *found = xstrdup(full);
}

static struct payer *payer_for_request(const struct ask_request *q)
{
    struct payer *payer = q->payer ? q->payer : payer_of(q->for_call);
    if (payer)
        return payer;
    CLEANUP(freep) char *session = xprintf("agent:%s:main", agents_default());
    return payer_open(session, "", "", "");
}

/* False: the model is not asked, the error says why. */
static bool may_ask(struct ask *a, const struct ask_request *q)
{
    if (!a->model) {
        error_set(&a->error, CHELA_E_NOT_FOUND, "no model for \"%s\": set models.classifier",
                  a->purpose);
        return false;
    }
    if (!q->for_call)
        return true;
    a->circuit = xprintf("ask:%s", a->model);
    if (!health_usable(a->circuit)) {
        error_set(&a->error, CHELA_E_BUSY, "%s rests after failures", a->model);
        return false;
    }
    if (!payer_may(a->payer, a->model, tokens_of(q->text, strlen(q->text)), &a->error))
        return false;
    health_begin(a->circuit);
    return true;
}

static char *choose(const struct ask_request *q)
{
    if (q->model && *q->model)
        return models_resolve(q->model);
    const char *set = settings_text(settings_now(), "models.classifier");
    if (*set)
        return models_resolve(set);
    char *found = NULL;
    models_each(first_local, &found);
    return found ? found : models_first();
}

uint64_t ask_model(const struct ask_request *q, ask_fn *fn, void *owner)
{
    struct ask *a = xcalloc(1, sizeof *a);
    a->handle = ++last_handle;
    a->fn = fn;
    a->owner = owner;
    list_append(&all, &a->link);
    a->model = choose(q);
    a->purpose = xstrdup(q->purpose && *q->purpose ? q->purpose : "somebody");
    a->payer = payer_for_request(q);
    if (!may_ask(a, q)) {
        a->timer = loop_timer(0, failed, a);
        return a->handle;
    }
    struct json_object *params = chela_json_new_object();
    struct json_object *schema = NULL;
    struct model_info info;
    models_info(a->model, &info); /* all 0 where its provider is gone */
    /* some can't be kept from thinking, and their thoughts count, too */
    if (q->max_tokens)
        chela_json_put_int(params, "max_tokens",
                           (int64_t)q->max_tokens + (info.thinking ? THINKING_TOKENS : 0));
    chela_json_put_int(params, "temperature", 0);
    chela_json_put_text(params, "thinking", "off");
    chela_json_put_bool(params, "stream", true);
    if (q->schema && *q->schema &&
        chela_json_parse(q->schema, strlen(q->schema), NULL, &schema, NULL) == 0)
        chela_json_put(params, "schema", schema);
    struct json_object *message = chela_json_new_object();
    chela_json_put_text(message, "role", "user");
    struct json_object *part = chela_json_push_object(chela_json_put_array(message, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", q->text);
    const char *body = chela_json_text(message, NULL);
    struct chela_pair pair = {chela_s("user"), chela_s(body)};
    struct model_request r = {.model = a->model,
                              .system = q->system,
                              .params = params,
                              .messages = {&pair, 1},
                              .total_ms = q->timeout_ms};
    a->call = model_call_begin(&r, &ops, a);
    json_object_put(message);
    json_object_put(params);
    return a->handle;
}

void ask_forget(uint64_t handle)
{
    LIST_EACH(l, &all)
    {
        struct ask *a = CONTAINER_OF(l, struct ask, link);
        if (a->handle != handle)
            continue;
        model_call_forget(a->call);
        ask_free(a);
        return;
    }
}

/* ---- chat.ask of plugins ---- */

static void plugin_answered(void *owner, const char *text, const struct usage *u, double cost,
                            const struct error *e)
{
    uint64_t *id = owner;
    if (e) {
        call_answer_error(*id, e->class, e->text);
    } else {
        struct json_object *extra = chela_json_new_object();
        chela_json_put(extra, "usage", usage_json(u, cost));
        size_t n;
        const char *json = chela_json_text(extra, &n);
        CHELA_ARGS(chela_done, d, 0);
        d.text = chela_s(text);
        d.extra = chela_sn(json, n);
        call_answer(*id, &d);
        json_object_put(extra);
    }
    free(id);
}

static void plugin_asks(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ask *q = args;
    uint64_t *owner = xmalloc(sizeof *owner);
    *owner = id;
    CLEANUP(freep) char *system = xmemdup(q->system.s ? q->system.s : "", q->system.n);
    CLEANUP(freep) char *text = xmemdup(q->text.s ? q->text.s : "", q->text.n);
    CLEANUP(freep) char *schema = xmemdup(q->schema.s ? q->schema.s : "", q->schema.n);
    CLEANUP(freep) char *purpose = xmemdup(q->purpose.s ? q->purpose.s : "", q->purpose.n);
    struct ask_request r = {.model = "",
                            .system = system,
                            .text = text,
                            .schema = schema,
                            .max_tokens = q->max_tokens,
                            .timeout_ms = q->timeout_ms ? q->timeout_ms : 10000,
                            .purpose = *purpose ? purpose : instance_name(in),
                            .for_call = q->parent};
    uint64_t handle = ask_model(&r, plugin_answered, owner);
    LIST_EACH(l, &all)
    {
        struct ask *a = CONTAINER_OF(l, struct ask, link);
        if (a->handle == handle)
            a->plugin_call = id;
    }
}

static void plugin_cancels(struct instance *in, uint64_t id)
{
    (void)in;
    LIST_EACH(l, &all)
    {
        struct ask *a = CONTAINER_OF(l, struct ask, link);
        if (a->plugin_call == id && a->call)
            model_call_cancel(a->call);
    }
}

void ask_register(void)
{
    call_handle(CHELA_FN_ASK, plugin_asks, plugin_cancels);
}
