/*
 * Methods on sessions: list, describe, preview, resolve, patch, reset, delete, compact, subscribe.
 * Called by method.c; they read the journal and change sessions through the agent.
 */
#include <json-c/json_object.h>
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

enum { LIST_DEFAULT = 100, LIST_MOST = 500, PREVIEW_DEFAULT = 6, PREVIEW_CHARS = 240 };

/* One page of sessions being read. */
struct listing {
    struct rpc *rpc;
    json_object *sessions;
    unsigned limit, offset, seen;
    uint64_t newer_than;
    char *agent;
    int archived; /* 0 no, 1 only, 2 all */
    bool more;
};

static char *key_of(json_object *params, const char *member)
{
    const char *agent = chela_json_string(params, "agentId", NULL);
    return agent_session_key(agent ? agent : agent_default(),
                             chela_json_string(params, member, NULL));
}

static void list_row(void *owner, const struct journal_row *row)
{
    struct listing *l = owner;
    json_object *session = view_session(row);
    bool archived = chela_json_bool(session, "archived", false);
    const char *agent = chela_json_string(session, "agentId", NULL);
    bool wanted = (l->archived == 2 || archived == (l->archived == 1)) &&
                  (uint64_t)chela_json_int(session, "updatedAt", 0) >= l->newer_than &&
                  (!l->agent || (agent && strcmp(agent, l->agent) == 0));
    if (wanted && l->seen++ >= l->offset) {
        if (chela_json_length(l->sessions) < l->limit)
            chela_json_push(l->sessions, json_object_get(session));
        else
            l->more = true;
    }
    json_object_put(session);
}

static void put_defaults(json_object *o)
{
    json_object *defaults = chela_json_put_object(o, "defaults"), *models = agent_models(),
                *agents = agent_list();
    const char *primary = chela_json_string(chela_json_path(agents, "/0/model"), "primary", NULL);
    const char *slash = primary ? strchr(primary, '/') : NULL;
    json_object_object_add(defaults, "modelProvider",
                           slash ? json_object_new_string_len(primary, (int)(slash - primary))
                                 : NULL);
    json_object_object_add(defaults, "model", slash ? json_object_new_string(slash + 1) : NULL);
    json_object_object_add(defaults, "contextTokens", NULL);
    for (size_t i = 0; primary && i < chela_json_length(models); i++) {
        json_object *m = chela_json_at(models, i);
        const char *id = chela_json_string(m, "id", NULL);
        if (slash && id && strcmp(id, slash + 1) == 0 && chela_json_get(m, "contextWindow"))
            chela_json_put_int(defaults, "contextTokens", chela_json_int(m, "contextWindow", 0));
    }
    json_object_put(models);
    json_object_put(agents);
}

static void list_done(void *owner, const struct error *e)
{
    struct listing *l = owner;
    if (e) {
        rpc_fail_error(l->rpc, e);
        json_object_put(l->sessions);
    } else {
        json_object *o = chela_json_new_object();
        size_t count = chela_json_length(l->sessions);
        chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
        chela_json_put_text(o, "path", settings_state_dir());
        chela_json_put_int(o, "count", (int64_t)count);
        chela_json_put_int(o, "totalCount", l->seen);
        chela_json_put_bool(o, "hasMore", l->more);
        if (l->more)
            chela_json_put_int(o, "nextOffset", (int64_t)(l->offset + count));
        put_defaults(o);
        chela_json_put(o, "sessions", l->sessions);
        rpc_answer(l->rpc, o);
    }
    free(l->agent);
    free(l);
}

static void sessions_list(struct rpc *rpc, json_object *params)
{
    struct listing *l = xcalloc(1, sizeof *l);
    int64_t limit = chela_json_int(params, "limit", LIST_DEFAULT),
            offset = chela_json_int(params, "offset", 0),
            minutes = chela_json_int(params, "activeMinutes", 0);
    const char *search = chela_json_string(params, "search", NULL),
               *label = chela_json_string(params, "label", NULL);
    json_object *archived = chela_json_get(params, "archived");
    l->rpc = rpc;
    l->sessions = chela_json_new_array();
    l->limit = limit < 1 ? 1 : limit > LIST_MOST ? LIST_MOST : (unsigned)limit;
    l->offset = offset < 0 ? 0 : (unsigned)offset;
    l->newer_than = minutes > 0 ? clock_now_ms() - (uint64_t)minutes * 60000u : 0;
    l->agent = xstrdup(chela_json_string(params, "agentId", NULL));
    l->archived = json_object_is_type(archived, json_type_string)
                      ? 2
                      : chela_json_bool(params, "archived", false);
    journal_session_list(0, "", search ? search : label ? label : "", 0, list_row, list_done, l);
}

/* ---- one session: describe and resolve ---- */

struct one {
    struct rpc *rpc;
    json_object *session;
    bool resolve, missing_ok;
};

static void one_row(void *owner, const struct journal_row *row)
{
    struct one *o = owner;
    json_object_put(o->session);
    o->session = view_session(row);
}

static void one_done(void *owner, const struct error *e)
{
    struct one *o = owner;
    if (e && e->class != CHELA_E_NOT_FOUND) {
        rpc_fail_error(o->rpc, e);
    } else if (o->resolve && !o->session && !o->missing_ok) {
        rpc_fail(o->rpc, "INVALID_REQUEST", NULL,
                 "No session found: give the key of `sessions.list`");
    } else {
        json_object *answer = chela_json_new_object();
        if (o->resolve) {
            chela_json_put_bool(answer, "ok", o->session != NULL);
            if (o->session) {
                chela_json_put_text(answer, "key", chela_json_string(o->session, "key", NULL));
                chela_json_put_text(answer, "agentId",
                                    chela_json_string(o->session, "agentId", NULL));
            }
        } else {
            json_object_object_add(answer, "session", json_object_get(o->session));
        }
        rpc_answer(o->rpc, answer);
    }
    json_object_put(o->session);
    free(o);
}

static void read_one(struct rpc *rpc, json_object *params, bool resolve)
{
    struct one *o = xcalloc(1, sizeof *o);
    CLEANUP(freep) char *key = key_of(params, "key");
    o->rpc = rpc;
    o->resolve = resolve;
    o->missing_ok = chela_json_bool(params, "allowMissing", false);
    journal_session_get(key, one_row, one_done, o);
}

static void sessions_describe(struct rpc *rpc, json_object *params)
{
    read_one(rpc, params, false);
}

static void sessions_resolve(struct rpc *rpc, json_object *params)
{
    read_one(rpc, params, true);
}

/* ---- previews ---- */

struct preview {
    struct rpc *rpc;
    json_object *keys, *previews, *messages;
    size_t at;
    unsigned limit;
    size_t chars;
};

static void preview_next(struct preview *p);

static void preview_row(void *owner, const struct journal_row *row)
{
    struct preview *p = owner;
    view_message(row, "", p->chars, p->messages);
}

static void preview_done(void *owner, const struct error *e)
{
    struct preview *p = owner;
    json_object *o = chela_json_push_object(p->previews), *items;
    chela_json_put(o, "key", json_object_get(chela_json_at(p->keys, p->at)));
    chela_json_put_text(o, "status", e ? "error" : chela_json_length(p->messages) ? "ok" : "empty");
    items = chela_json_put_array(o, "items");
    for (size_t i = chela_json_length(p->messages); i-- > 0;) {
        json_object *m = chela_json_at(p->messages, i);
        const char *text = chela_json_string(chela_json_path(m, "/content/0"), "text", NULL);
        if (!text)
            continue;
        json_object *item = chela_json_push_object(items);
        chela_json_put_text(item, "role", chela_json_string(m, "role", NULL));
        chela_json_put_text(item, "text", text);
    }
    json_object_put(p->messages);
    p->at++;
    preview_next(p);
}

static void preview_next(struct preview *p)
{
    if (p->at < chela_json_length(p->keys)) {
        const char *key = chela_json_as_string(chela_json_at(p->keys, p->at), NULL);
        p->messages = chela_json_new_array();
        journal_history_tail(key ? key : "", 0, p->limit, preview_row, preview_done, p);
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put(o, "previews", p->previews);
    rpc_answer(p->rpc, o);
    json_object_put(p->keys);
    free(p);
}

static void sessions_preview(struct rpc *rpc, json_object *params)
{
    struct preview *p = xcalloc(1, sizeof *p);
    int64_t limit = chela_json_int(params, "limit", PREVIEW_DEFAULT),
            chars = chela_json_int(params, "maxChars", PREVIEW_CHARS);
    p->rpc = rpc;
    p->keys = json_object_get(chela_json_array(params, "keys"));
    p->previews = chela_json_new_array();
    p->limit = limit < 1 ? 1 : limit > 50 ? 50 : (unsigned)limit;
    p->chars = chars < 20 ? 20 : (size_t)chars;
    preview_next(p);
}

/* ---- changes ---- */

/* A change being made: answered with {ok, key, entry}. */
struct change {
    struct rpc *rpc;
    char *key;
    json_object *entry;
};

static void change_row(void *owner, const struct journal_row *row)
{
    struct change *c = owner;
    json_object_put(c->entry);
    c->entry = view_session(row);
}

static void change_read(void *owner, const struct error *e)
{
    struct change *c = owner;
    (void)e; /* without the entry the change is still done */
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", true);
    chela_json_put_text(o, "path", settings_state_dir());
    chela_json_put_text(o, "key", c->key);
    chela_json_put(o, "entry", c->entry ? c->entry : chela_json_new_object());
    rpc_answer(c->rpc, o);
    free(c->key);
    free(c);
}

static void changed(void *owner, const struct error *e)
{
    struct change *c = owner;
    if (!e) {
        journal_session_get(c->key, change_row, change_read, c);
        return;
    }
    rpc_fail_error(c->rpc, e);
    free(c->key);
    free(c);
}

static struct change *change_new(struct rpc *rpc, json_object *params)
{
    struct change *c = xcalloc(1, sizeof *c);
    c->rpc = rpc;
    c->key = key_of(params, "key");
    return c;
}

static void sessions_patch(struct rpc *rpc, json_object *params)
{
    static const struct {
        const char *param, *field;
    } names[] = {
        {"label", "title"},
        {"model", "model"},
        {"thinkingLevel", "thinking"},
        {"verboseLevel", "verbose"},
        {"archived", "archived"},
        {"pinned", "pinned"},
        {"unread", "unread"},
        {"responseUsage", "usageShown"},
        {"sendPolicy", "send"},
        {"groupActivation", "activation"},
    };
    json_object *fields = chela_json_new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        json_object *value;
        if (json_object_object_get_ex(params, names[i].param, &value))
            json_object_object_add(fields, names[i].field, json_object_get(value));
    }
    struct change *c = change_new(rpc, params);
    agent_session_patch(c->key, fields, changed, c);
    json_object_put(fields);
}

static void sessions_reset(struct rpc *rpc, json_object *params)
{
    struct change *c = change_new(rpc, params);
    const char *reason = chela_json_string(params, "reason", NULL);
    agent_session_reset(c->key, reason ? reason : "reset", changed, c);
}

static void finished(void *owner, const struct error *e)
{
    rpc_done(owner, e);
}

static void deleted(void *owner, const struct error *e)
{
    struct change *c = owner;
    if (e) {
        rpc_fail_error(c->rpc, e);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_bool(o, "ok", true);
        chela_json_put_text(o, "key", c->key);
        chela_json_put_bool(o, "deleted", true);
        chela_json_put_array(o, "archived"); /* nothing of it is kept */
        rpc_answer(c->rpc, o);
    }
    free(c->key);
    free(c);
}

static void sessions_delete(struct rpc *rpc, json_object *params)
{
    struct change *c = change_new(rpc, params);
    agent_session_delete(c->key, deleted, c);
}

static void sessions_compact(struct rpc *rpc, json_object *params)
{
    CLEANUP(freep) char *key = key_of(params, "key");
    agent_session_compact(key, "", finished, rpc);
}

static void sessions_subscribe(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    connection_find(rpc->connection)->follows_sessions = true;
    chela_json_put_bool(o, "subscribed", true);
    rpc_answer(rpc, o);
}

static void sessions_messages_subscribe(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    CLEANUP(freep) char *key = key_of(params, "key");
    chela_json_put_bool(o, "subscribed", true);
    chela_json_put_text(o, "key", key);
    rpc_answer(rpc, o);
}

const struct method methods_sessions[] = {
    {"sessions.list", SCOPE_READ,
     "limit:i offset:i activeMinutes:i requireLastInteraction:b sortBy:s includeGlobal:b "
     "includeUnknown:b "
     "configuredAgentsOnly:b includeDerivedTitles:b includeLastMessage:b label:s boardFace:s "
     "creatorId:s ownerId:s "
     "ownerFirst:b involvingMe:b involvingProfileId:s includePeople:b spawnedBy:s agentId:s "
     "search:s archived:*",
     sessions_list},
    {"sessions.describe", SCOPE_READ, "key:s! includeDerivedTitles:b includeLastMessage:b",
     sessions_describe},
    {"sessions.resolve", SCOPE_READ,
     "key:s sessionId:s label:s shortId:s slugHint:s agentId:s spawnedBy:s includeGlobal:b "
     "includeUnknown:b "
     "allowMissing:b",
     sessions_resolve},
    {"sessions.preview", SCOPE_READ, "keys:a! limit:i maxChars:i", sessions_preview},
    {"sessions.patch", SCOPE_WRITE,
     "key:s! agentId:s label:s|null model:s|null thinkingLevel:s|null verboseLevel:s|null "
     "archived:b pinned:b "
     "unread:b responseUsage:s|null sendPolicy:s|null groupActivation:s|null expectedSessionId:s",
     sessions_patch},
    {"sessions.reset", SCOPE_WRITE, "key:s! agentId:s reason:s", sessions_reset},
    {"sessions.delete", SCOPE_ADMIN,
     "key:s! agentId:s deleteTranscript:b expectedSessionId:s emitLifecycleHooks:b",
     sessions_delete},
    {"sessions.compact", SCOPE_WRITE, "key:s! agentId:s maxLines:i", sessions_compact},
    {"sessions.subscribe", SCOPE_READ,
     "limit:i offset:i agentId:s includeDerivedTitles:b includeLastMessage:b", sessions_subscribe},
    {"sessions.messages.subscribe", SCOPE_READ, "key:s! agentId:s includeApprovals:b",
     sessions_messages_subscribe},
    {NULL, 0, NULL, NULL},
};
