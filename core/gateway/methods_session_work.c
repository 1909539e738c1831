/*
 * Work in sessions by their key: making one, sending to it, stopping it, searching what was said.
 * Called by method.c; the other methods on sessions are methods_sessions.c's.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/id.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "support/json.h"

enum { HITS = 10, HITS_MOST = 25 };

static const char *param(json_object *params, const char *name)
{
    return chela_json_string(params, name, NULL);
}

static char *key_of(json_object *params)
{
    const char *agent = param(params, "agentId"), *key = param(params, "key");
    return agent_session_key(agent ? agent : agent_default(), key ? key : "");
}

/* ---- sessions.create ---- */

struct creation {
    struct rpc *rpc;
    json_object *params, *entry;
    char *key;
};

static void creation_free(struct creation *c)
{
    json_object_put(c->params);
    json_object_put(c->entry);
    free(c->key);
    free(c);
}

static json_object *created(const struct creation *c)
{
    json_object *o = chela_json_new_object();
    const char *id = chela_json_string(c->entry, "sessionId", NULL);
    chela_json_put_bool(o, "ok", true);
    chela_json_put_text(o, "key", c->key);
    if (id)
        chela_json_put_text(o, "sessionId", id);
    chela_json_put(o, "entry", c->entry ? json_object_get(c->entry) : chela_json_new_object());
    return o;
}

static void first_sent(struct rpc *rpc, const char *run, const char *status, const struct error *e)
{
    json_object *o = rpc->data;
    (void)status;
    rpc->data = NULL;
    chela_json_put_bool(o, "runStarted", e == NULL);
    if (e) {
        json_object *error = chela_json_put_object(o, "runError");
        chela_json_put_text(error, "code", "UNAVAILABLE");
        chela_json_put_text(error, "message", e->text);
    } else {
        chela_json_put_text(o, "runId", run);
    }
    rpc_answer(rpc, o);
}

static void creation_row(void *owner, const struct journal_row *row)
{
    struct creation *c = owner;
    json_object_put(c->entry);
    c->entry = view_session(row);
}

static void creation_read(void *owner, const struct error *e)
{
    struct creation *c = owner;
    const char *message = param(c->params, "message"), *key = param(c->params, "idempotencyKey");
    char made[ID_UUID_SIZE];
    if (!message)
        message = param(c->params, "task");
    if (e && e->class != CHELA_E_NOT_FOUND) {
        rpc_fail_error(c->rpc, e);
    } else if (!message) {
        rpc_answer(c->rpc, created(c));
    } else {
        id_uuid(made);
        c->rpc->data = created(c);
        method_send(c->rpc, c->params, c->key, message, key ? key : made, first_sent);
    }
    creation_free(c);
}

static void patched(void *owner, const struct error *e)
{
    struct creation *c = owner;
    if (!e) {
        journal_session_get(c->key, creation_row, creation_read, c);
        return;
    }
    rpc_fail_error(c->rpc, e);
    creation_free(c);
}

static void sessions_create(struct rpc *rpc, json_object *params)
{
    static const char *const names[][2] = {{"label", "title"},
                                           {"displayName", "title"},
                                           {"model", "model"},
                                           {"thinkingLevel", "thinking"}};
    struct creation *c = xcalloc(1, sizeof *c);
    json_object *fields = chela_json_new_object();
    const char *agent = param(params, "agentId");
    char id[ID_UUID_SIZE];
    id_uuid(id);
    c->rpc = rpc;
    c->params = json_object_get(params);
    CLEANUP(freep) char *fresh = xprintf("dashboard:%s", id);
    c->key = param(params, "key") ? key_of(params)
                                  : agent_session_key(agent ? agent : agent_default(), fresh);
    for (size_t i = ARRAY_LENGTH(names); i-- > 0;)
        if (chela_json_get(params, names[i][0]))
            chela_json_put(fields, names[i][1],
                           json_object_get(chela_json_get(params, names[i][0])));
    agent_session_patch(c->key, fields, patched, c);
    json_object_put(fields);
}

/* ---- sessions.send, sessions.abort ---- */

static void message_sent(struct rpc *rpc, const char *run, const char *status,
                         const struct error *e)
{
    if (e) {
        rpc_fail_error(rpc, e);
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", run);
    chela_json_put_text(o, "status", status);
    rpc_answer(rpc, o);
}

static void sessions_send(struct rpc *rpc, json_object *params)
{
    const char *key = param(params, "idempotencyKey");
    char made[ID_UUID_SIZE];
    id_uuid(made);
    method_send(rpc, params, param(params, "key"), param(params, "message"), key ? key : made,
                message_sent);
}

static void find_run(void *arg, const struct agent_run *r)
{
    json_object *o = arg;
    const char *wanted = chela_json_string(o, "run", NULL);
    if (strcmp(r->run, wanted) == 0)
        chela_json_put_text(o, "session", r->session);
}

static void sessions_abort(struct rpc *rpc, json_object *params)
{
    const char *run = param(params, "runId");
    CLEANUP(freep) char *session = key_of(params);
    if (run && !param(params, "key")) { /* the run alone says which session it is */
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "run", run);
        agent_runs(NULL, find_run, o);
        const char *found = chela_json_string(o, "session", NULL);
        if (found) {
            free(session);
            session = xstrdup(found);
        }
        json_object_put(o);
    }
    method_abort(rpc, session, run);
}

/* ---- sessions.search ---- */

struct search {
    struct rpc *rpc;
    json_object *results, *only;
    unsigned limit;
};

static bool wanted(const struct search *s, const char *session)
{
    for (size_t i = 0; i < chela_json_length(s->only); i++) {
        const char *key = chela_json_as_string(chela_json_at(s->only, i), NULL);
        if (key && strcmp(key, session) == 0)
            return true;
    }
    return !s->only;
}

static void search_row(void *owner, const struct journal_row *row)
{
    struct search *s = owner;
    const char *session = view_text(row, 0), *role = view_text(row, 2);
    bool spoken = strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0;
    size_t found = chela_json_length(s->results);
    if (!spoken || !wanted(s, session) || found >= s->limit)
        return;
    json_object *o = chela_json_push_object(s->results);
    CLEANUP(freep) char *id = xprintf("%s#%lld", session, (long long)view_int(row, 1));
    chela_json_put_text(o, "sessionKey", session);
    chela_json_put_text(o, "sessionId", session);
    chela_json_put_text(o, "messageId", id);
    chela_json_put_text(o, "role", role);
    chela_json_put_int(o, "timestamp", view_int(row, 4));
    chela_json_put_text(o, "snippet", view_text(row, 3));
    chela_json_put_double(o, "score", 1.0 / (double)(found + 1)); /* they come best first */
}

static void search_done(void *owner, const struct error *e)
{
    struct search *s = owner;
    if (e) {
        rpc_fail_error(s->rpc, e);
        json_object_put(s->results);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put(o, "results", s->results);
        rpc_answer(s->rpc, o);
    }
    json_object_put(s->only);
    free(s);
}

static void sessions_search(struct rpc *rpc, json_object *params)
{
    struct search *s = xcalloc(1, sizeof *s);
    int64_t limit = chela_json_int(params, "limit", HITS);
    s->rpc = rpc;
    s->results = chela_json_new_array();
    s->only = json_object_get(chela_json_array(params, "sessionKeys"));
    s->limit = limit < 1 ? 1 : limit > HITS_MOST ? HITS_MOST : (unsigned)limit;
    journal_search(param(params, "query"), 20 * s->limit, search_row, search_done, s);
}

/* ---- the ends of subscriptions ---- */

static void sessions_unsubscribe(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    connection_find(rpc->connection)->follows_sessions = false;
    chela_json_put_bool(o, "subscribed", false);
    rpc_answer(rpc, o);
}

static void messages_unsubscribe(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    CLEANUP(freep) char *key = key_of(params);
    chela_json_put_bool(o, "subscribed", false);
    chela_json_put_text(o, "key", key);
    rpc_answer(rpc, o);
}

/* ---- a conversation that was held elsewhere ---- */

static void session_imported(void *owner, const struct error *e)
{
    struct rpc *rpc = owner;
    json_object *o = chela_json_new_object();
    bool there = e && e->class == CHELA_E_CONFLICT;
    if (e && !there && e->class != CHELA_E_DENIED) {
        json_object_put(o);
        rpc_fail_error(rpc, e);
        return;
    }
    chela_json_put_bool(o, "ok", true);
    chela_json_put_bool(o, "imported", e == NULL);
    chela_json_put_bool(o, "there", there);
    if (e)
        chela_json_put_text(o, "reason", e->text);
    rpc_answer(rpc, o);
}

static void sessions_import(struct rpc *rpc, json_object *params)
{
    struct error e = {0};
    CLEANUP(freep) char *key = key_of(params);
    if (agent_session_import(key, param(params, "source"), param(params, "title"),
                             chela_json_array(params, "messages"), session_imported, rpc, &e) < 0)
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "invalid chela.sessions.import params: %s", e.text);
}

const struct method methods_session_work[] = {
    {"chela.sessions.import", SCOPE_ADMIN, "key:s! agentId:s source:s! title:s messages:a!",
     sessions_import},
    {"sessions.create", SCOPE_WRITE,
     "key:s idempotencyKey:s agentId:s label:s displayName:s model:s thinkingLevel:s message:s "
     "task:s attachments:a category:s parentSessionKey:s succeedsParent:b emitCommandHooks:b",
     sessions_create},
    {"sessions.send", SCOPE_WRITE,
     "key:s! agentId:s message:s! thinking:s attachments:a timeoutMs:i idempotencyKey:s",
     sessions_send},
    {"sessions.abort", SCOPE_WRITE, "key:s runId:s agentId:s clearQueued:b", sessions_abort},
    {"sessions.search", SCOPE_READ, "agentId:s sessionKeys:a query:s! limit:i", sessions_search},
    {"sessions.unsubscribe", SCOPE_READ, "", sessions_unsubscribe},
    {"sessions.messages.unsubscribe", SCOPE_READ, "key:s! agentId:s", messages_unsubscribe},
    {NULL, 0, NULL, NULL},
};
