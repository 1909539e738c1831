/*
 * Reading a conversation beside chat.history: one message, what a page needs at its start. Called
 * by method.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/mem.h"
#include "gateway/catalog.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "support/json.h"

enum { MESSAGE_CHARS = 2000000 };

static const char *param(json_object *params, const char *name)
{
    return chela_json_string(params, name, NULL);
}

/* ---- chat.message.get: ids are "session#seq" or "session#seq.part" (view.c) ---- */

struct lookup {
    struct rpc *rpc;
    char *session, *id;
    json_object *entries;
    size_t max_chars;
};

static void lookup_row(void *owner, const struct journal_row *row)
{
    struct lookup *l = owner;
    view_message(row, l->session, l->max_chars, l->entries);
}

static void lookup_done(void *owner, const struct error *e)
{
    struct lookup *l = owner;
    json_object *found = NULL;
    for (size_t i = 0; i < chela_json_length(l->entries); i++) {
        json_object *m = chela_json_at(l->entries, i);
        const char *id = chela_json_string(chela_json_object(m, "__openclaw"), "id", NULL);
        if (id && strcmp(id, l->id) == 0)
            found = m;
    }
    if (e && e->class != CHELA_E_NOT_FOUND) {
        rpc_fail_error(l->rpc, e);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_bool(o, "ok", found != NULL);
        if (found)
            chela_json_put(o, "message", json_object_get(found));
        else
            chela_json_put_text(o, "unavailableReason", "not_found");
        rpc_answer(l->rpc, o);
    }
    json_object_put(l->entries);
    free(l->session);
    free(l->id);
    free(l);
}

static void message_get(struct rpc *rpc, json_object *params)
{
    struct lookup *l = xcalloc(1, sizeof *l);
    const char *agent = param(params, "agentId"), *id = param(params, "messageId"),
               *mark = strrchr(id, '#');
    int64_t max = chela_json_int(params, "maxChars", MESSAGE_CHARS);
    l->rpc = rpc;
    l->id = xstrdup(id);
    l->session = agent_session_key(agent ? agent : agent_default(), param(params, "sessionKey"));
    l->entries = chela_json_new_array();
    l->max_chars = max < 1 || max > MESSAGE_CHARS ? MESSAGE_CHARS : (size_t)max;
    uint64_t seq = mark ? strtoull(mark + 1, NULL, 10) : 0;
    journal_history(l->session, seq ? seq - 1 : 0, 1, lookup_row, lookup_done, l);
}

/* ---- chat.metadata, chat.startup ---- */

static json_object *metadata(void)
{
    json_object *o = chela_json_new_object();
    chela_json_put(o, "models", catalog_models(agent_models()));
    chela_json_put(o, "commands", catalog_commands(agent_commands(), true));
    return o;
}

static void chat_metadata(struct rpc *rpc, json_object *params)
{
    (void)params;
    rpc_answer(rpc, metadata());
}

static void with_metadata(struct rpc *rpc, json_object *history)
{
    chela_json_put(history, "metadata", metadata());
    rpc_answer(rpc, history);
}

static void chat_startup(struct rpc *rpc, json_object *params)
{
    method_history(rpc, params, with_metadata);
}

const struct method methods_chat_read[] = {
    {"chat.message.get", SCOPE_READ, "sessionKey:s! agentId:s messageId:s! maxChars:i",
     message_get},
    {"chat.metadata", SCOPE_READ, "agentId:s sessionKey:s", chat_metadata},
    {"chat.startup", SCOPE_READ, "sessionKey:s! agentId:s limit:i maxChars:i sessionId:s",
     chat_startup},
    {NULL, 0, NULL, NULL},
};
