/*
 * Approvals whatever they are about, as the protocol's kind-agnostic methods show them: open and
 * decided ones, answering one; and the approval document of exec. Called by method.c;
 * methods_approval.c has exec.approval.*.
 */
#include <json-c/json_object.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "host/settings.h"
#include "support/json.h"

enum { PAGE = 25, PAGE_MOST = 100 };

static const char *param(json_object *params, const char *name)
{
    return chela_json_string(params, name, NULL);
}

/* ---- one approval ---- */

static void put_presentation(json_object *o, json_object *request)
{
    json_object *p = chela_json_put_object(o, "presentation"), *offered,
                *allowed = chela_json_array(request, "allowedDecisions");
    const char *command = param(request, "command"), *tool = param(request, "toolName"),
               *agent = param(request, "agentId");
    chela_json_put_text(p, "kind", "exec");
    chela_json_put_text(p, "commandText", command && *command ? command : tool ? tool : "?");
    if (agent && *agent)
        chela_json_put_text(p, "agentId", agent);
    offered = chela_json_put_array(p, "allowedDecisions");
    for (size_t i = 0; i < chela_json_length(allowed); i++)
        chela_json_push(offered, json_object_get(chela_json_at(allowed, i)));
    if (!chela_json_length(offered))
        chela_json_push(offered, json_object_new_string("deny"));
}

static json_object *present(json_object *record)
{
    json_object *o = chela_json_new_object(), *request = chela_json_object(record, "request");
    const char *id = param(record, "id");
    CLEANUP(freep) char *path = xprintf("/approve/%s", id ? id : "");
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "urlPath", path);
    chela_json_put_int(o, "createdAtMs", chela_json_int(record, "createdAtMs", 0));
    chela_json_put_int(o, "expiresAtMs", chela_json_int(record, "expiresAtMs", 0));
    put_presentation(o, request);
    return o;
}

static json_object *present_open(json_object *record)
{
    json_object *o = present(record);
    const char *session = param(chela_json_object(record, "request"), "sessionKey");
    chela_json_put_text(o, "status", "pending");
    if (session && *session)
        chela_json_put_text(o, "sourceSessionKey", session);
    return o;
}

static void put_end(json_object *o, json_object *record, const char *state, int64_t at)
{
    static const struct {
        const char *state, *status, *decision, *reason;
    } ends[] = {
        {"allow-once", "allowed", "allow-once", "user"},
        {"allow-always", "allowed", "allow-always", "user"},
        {"deny", "denied", "deny", "user"},
        {"expired", "expired", NULL, "timeout"},
        {"cancelled", "cancelled", NULL, "run-aborted"},
    };
    size_t i = 0;
    json_object *request = chela_json_object(record, "request"), *source;
    while (i + 1 < ARRAY_LENGTH(ends) && strcmp(ends[i].state, state) != 0)
        i++;
    chela_json_put_int(o, "resolvedAtMs", at);
    source = chela_json_put_object(o, "source");
    if (param(request, "agentId") && *param(request, "agentId"))
        chela_json_put_text(source, "agentId", param(request, "agentId"));
    if (param(request, "sessionKey") && *param(request, "sessionKey"))
        chela_json_put_text(source, "sessionKey", param(request, "sessionKey"));
    chela_json_put_text(o, "status", ends[i].status);
    if (ends[i].decision)
        chela_json_put_text(o, "decision", ends[i].decision);
    chela_json_put_text(o, "reason", ends[i].reason);
}

enum { A_ID, A_SESSION, A_RUN, A_CALL, A_RECORD, A_HASH, A_STATE, A_EXPIRES, A_BY, A_DECIDED };

/* A decided one; NULL if its record can't be read. */
static json_object *present_row(const struct journal_row *row)
{
    const char *text = view_text(row, A_RECORD), *by = view_text(row, A_BY);
    json_object *record = NULL;
    if (chela_json_parse(text, strlen(text), NULL, &record, NULL) < 0)
        return NULL;
    json_object *o = present(record);
    put_end(o, record, view_text(row, A_STATE), view_int(row, A_DECIDED));
    if (*by) {
        json_object *who = chela_json_put_object(o, "resolver");
        chela_json_put_text(who, "kind", "device");
        chela_json_put_text(who, "id", by);
    }
    json_object_put(record);
    return o;
}

/* ---- approval.get, approval.resolve ---- */

static json_object *find_open(const char *id)
{
    json_object *records = agent_approvals(), *found = NULL;
    for (size_t i = 0; i < chela_json_length(records) && !found; i++) {
        json_object *r = chela_json_at(records, i);
        const char *its = param(r, "id");
        if (its && strcmp(its, id) == 0)
            found = present_open(r);
    }
    json_object_put(records);
    return found;
}

struct lookup {
    struct rpc *rpc;
    char *id;
    json_object *found;
    bool resolved; /* answer {applied, approval} */
    bool applied;
};

static void lookup_row(void *owner, const struct journal_row *row)
{
    struct lookup *l = owner;
    if (!l->found && strcmp(view_text(row, A_ID), l->id) == 0)
        l->found = present_row(row);
}

static void lookup_done(void *owner, const struct error *e)
{
    struct lookup *l = owner;
    if (e) {
        rpc_fail_error(l->rpc, e);
        json_object_put(l->found);
    } else if (!l->found) {
        json_object *details = chela_json_new_object();
        chela_json_put_text(details, "reason", "APPROVAL_NOT_FOUND");
        rpc_fail(l->rpc, "INVALID_REQUEST", details, "unknown or expired approval id");
    } else {
        json_object *o = chela_json_new_object();
        if (l->resolved)
            chela_json_put_bool(o, "applied", l->applied);
        chela_json_put(o, "approval", l->found);
        rpc_answer(l->rpc, o);
    }
    free(l->id);
    free(l);
}

static struct lookup *lookup_new(struct rpc *rpc, json_object *params)
{
    struct lookup *l = xcalloc(1, sizeof *l);
    l->rpc = rpc;
    l->id = xstrdup(param(params, "id"));
    return l;
}

static void approval_get(struct rpc *rpc, json_object *params)
{
    struct lookup *l = lookup_new(rpc, params);
    l->found = find_open(l->id);
    if (l->found)
        lookup_done(l, NULL);
    else
        journal_approvals(false, lookup_row, lookup_done, l);
}

static void resolved(void *owner, const struct error *e)
{
    struct lookup *l = owner;
    if (e && e->class != CHELA_E_CONFLICT && e->class != CHELA_E_NOT_FOUND) {
        lookup_done(l, e);
        return;
    }
    l->resolved = true;
    l->applied = !e; /* else somebody was faster: what was decided is shown */
    journal_approvals(false, lookup_row, lookup_done, l);
}

static void approval_resolve(struct rpc *rpc, json_object *params)
{
    struct lookup *l = lookup_new(rpc, params);
    CLEANUP(freep) char *by = connection_person(connection_find(rpc->connection));
    agent_approval_resolve(l->id, param(params, "decision"), by, resolved, l);
}

/* ---- approval.history ---- */

struct history {
    struct rpc *rpc;
    json_object *items;
    uint64_t skip, seen;
    unsigned limit;
};

static void history_row(void *owner, const struct journal_row *row)
{
    struct history *h = owner;
    if (h->seen++ < h->skip || h->seen > h->skip + h->limit)
        return;
    json_object *o = present_row(row);
    if (o)
        chela_json_push(h->items, o);
}

static void history_done(void *owner, const struct error *e)
{
    struct history *h = owner;
    if (e) {
        rpc_fail_error(h->rpc, e);
        json_object_put(h->items);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put(o, "items", h->items);
        if (h->seen > h->skip + h->limit) {
            CLEANUP(freep) char *next = xprintf("%llu", (unsigned long long)(h->skip + h->limit));
            chela_json_put_text(o, "nextCursor", next);
        }
        rpc_answer(h->rpc, o);
    }
    free(h);
}

static void approval_history(struct rpc *rpc, json_object *params)
{
    struct history *h = xcalloc(1, sizeof *h);
    int64_t limit = chela_json_int(params, "limit", PAGE);
    const char *cursor = param(params, "cursor"), *kind = param(params, "kind");
    h->rpc = rpc;
    h->items = chela_json_new_array();
    h->limit = limit < 1 ? 1 : limit > PAGE_MOST ? PAGE_MOST : (unsigned)limit;
    h->skip = cursor ? strtoull(cursor, NULL, 10) : 0;
    if (kind && strcmp(kind, "exec") != 0)
        history_done(h, NULL); /* ours are all of that kind */
    else
        journal_approvals(false, history_row, history_done, h);
}

/* ---- exec.approvals.get: our rules in the words of that document ---- */

static void approvals_get(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object(), *file, *list, *entries = agent_allow_list();
    const char *security = settings_text(settings_now(), "tools.security");
    bool asks = strcmp(security, "ask") == 0, full = strcmp(security, "full") == 0,
         listed = strcmp(security, "allowlist") == 0;
    char hash[2 * SHA256_DIGEST_LENGTH + 1];
    unsigned char digest[SHA256_DIGEST_LENGTH];
    (void)params;
    file = chela_json_new_object();
    chela_json_put_int(file, "version", 1);
    list = chela_json_put_array(
        chela_json_put_object(chela_json_put_object(file, "agents"), agent_default()), "allowlist");
    for (size_t i = 0; i < chela_json_length(entries); i++) {
        const char *kind = param(chela_json_at(entries, i), "kind");
        chela_json_put_text(chela_json_push_object(list), "pattern", kind ? kind : "");
    }
    size_t n;
    const char *text = chela_json_text(file, &n);
    SHA256((const unsigned char *)text, n, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
    CLEANUP(freep) char *path = xprintf("%s#allowlist", settings_state_dir());
    chela_json_put_text(o, "path", path);
    chela_json_put_bool(o, "exists", true);
    chela_json_put_text(o, "hash", hash);
    chela_json_put(o, "file", file);
    json_object *defaults = chela_json_put_object(o, "resolvedDefaults");
    chela_json_put_text(defaults, "security",
                        full             ? "full"
                        : asks || listed ? "allowlist"
                                         : "deny");
    chela_json_put_text(defaults, "ask", asks || full ? "on-miss" : "off");
    chela_json_put_text(defaults, "askFallback", "deny");
    chela_json_put_bool(defaults, "autoAllowSkills", false);
    json_object_put(entries);
    rpc_answer(rpc, o);
}

const struct method methods_decided[] = {
    {"approval.get", SCOPE_APPROVALS, "id:s!", approval_get},
    {"approval.resolve", SCOPE_APPROVALS,
     "id:s! kind:s! decision:s! reviewer:o grantExpiresInDays:i", approval_resolve},
    {"approval.history", SCOPE_APPROVALS, "cursor:s limit:i kind:s", approval_history},
    {"exec.approvals.get", SCOPE_APPROVALS, "", approvals_get},
    {NULL, 0, NULL, NULL},
};
