/*
 * Methods of approvals: exec.approval.list, get, resolve, waitDecision. Called by method.c; the
 * agent decides.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "base/list.h"
#include "base/mem.h"
#include "gateway/approval_wait.h"
#include "gateway/method.h"
#include "host/loop.h"
#include "support/json.h"

enum { WAIT_MOST_MS = 30 * 60 * 1000 };

static json_object *find(json_object *records, const char *id)
{
    for (size_t i = 0; i < chela_json_length(records); i++) {
        json_object *r = chela_json_at(records, i);
        const char *its = chela_json_string(r, "id", NULL);
        if (its && strcmp(its, id) == 0)
            return r;
    }
    return NULL;
}

static void approval_list(struct rpc *rpc, json_object *params)
{
    (void)params;
    rpc_answer(rpc, agent_approvals());
}

static void not_found(struct rpc *rpc)
{
    json_object *details = chela_json_new_object();
    chela_json_put_text(details, "reason", "APPROVAL_NOT_FOUND");
    rpc_fail(rpc, "INVALID_REQUEST", details, "unknown or expired approval id");
}

static void approval_get(struct rpc *rpc, json_object *params)
{
    json_object *records = agent_approvals(),
                *r = find(records, chela_json_string(params, "id", NULL));
    if (r)
        rpc_answer(rpc, json_object_get(r));
    else
        not_found(rpc);
    json_object_put(records);
}

static void resolved(void *owner, const struct error *e)
{
    struct rpc *rpc = owner;
    if (e && e->class == CHELA_E_NOT_FOUND)
        not_found(rpc);
    else
        rpc_done(rpc, e);
}

static void approval_resolve(struct rpc *rpc, json_object *params)
{
    const struct connection *c = connection_find(rpc->connection);
    CLEANUP(freep) char *by = connection_person(c);
    agent_approval_resolve(chela_json_string(params, "id", NULL),
                           chela_json_string(params, "decision", NULL), by, resolved, rpc);
}

/* ---- waitDecision ---- */

struct waiting {
    struct link link;
    struct rpc *rpc;
    char *id;
    uint64_t timer;
};

static struct link waiters = {&waiters, &waiters};

static void answer_decision(struct waiting *w, const char *decision)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "id", w->id);
    json_object_object_add(o, "decision", decision ? json_object_new_string(decision) : NULL);
    rpc_answer(w->rpc, o);
    loop_timer_stop(w->timer);
    list_remove(&w->link);
    free(w->id);
    free(w);
}

static void waited_enough(void *arg)
{
    answer_decision(arg, NULL);
}

static void wait_decision(struct rpc *rpc, json_object *params)
{
    json_object *records = agent_approvals();
    const char *id = chela_json_string(params, "id", NULL);
    bool known = find(records, id) != NULL;
    json_object_put(records);
    if (!known) {
        not_found(rpc);
        return;
    }
    struct waiting *w = xcalloc(1, sizeof *w);
    w->rpc = rpc;
    w->id = xstrdup(id);
    w->timer = loop_timer(WAIT_MOST_MS, waited_enough, w);
    list_append(&waiters, &w->link);
}

void approval_wait_event(const struct event *e)
{
    const char *id = chela_json_string(e->payload, "id", NULL),
               *decision = chela_json_string(e->payload, "decision", NULL);
    LIST_EACH(l, &waiters)
    {
        struct waiting *w = CONTAINER_OF(l, struct waiting, link);
        if (id && strcmp(w->id, id) == 0)
            answer_decision(w, decision);
    }
}

void approval_wait_close(void)
{
    LIST_EACH(l, &waiters)
    {
        answer_decision(CONTAINER_OF(l, struct waiting, link), NULL);
    }
}

const struct method methods_approval[] = {
    {"exec.approval.list", SCOPE_APPROVALS, "", approval_list},
    {"exec.approval.get", SCOPE_APPROVALS, "id:s!", approval_get},
    {"exec.approval.resolve", SCOPE_APPROVALS, "id:s! decision:s! reviewer:o grantExpiresInDays:i",
     approval_resolve},
    {"exec.approval.waitDecision", SCOPE_APPROVALS, "id:s!", wait_decision},
    {NULL, 0, NULL, NULL},
};
