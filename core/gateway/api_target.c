/*
 * Where an HTTP request's message goes: which agent, which model, which session. Called by the
 * api_*.c. A model's name is an agent's ("chela", "openclaw/work", "agent:work") or a model of the
 * configuration ("anthropic/claude-...", an alias).
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/models/models.h"
#include "base/id.h"
#include "base/mem.h"
#include "gateway/api_turn.h"
#include "support/json.h"

static bool agent_exists(const char *id)
{
    json_object *list = agent_list();
    bool found = false;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *its = chela_json_string(chela_json_at(list, i), "id", NULL);
        found = found || (its && strcmp(its, id) == 0);
    }
    json_object_put(list);
    return found;
}

/* The agent's id in "chela/work", "openclaw:work", "agent:work"; "" = the default one; NULL: the
 * name is a model's. Ollama's clients put ":latest" behind a name. */
static const char *agent_in(const char *name)
{
    static const char *const words[] = {"chela", "openclaw", "agent"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(name, words[i], n) != 0)
            continue;
        if (!name[n] || strcmp(name + n, ":latest") == 0 || strcmp(name + n, "/default") == 0)
            return "";
        if (name[n] == '/' || name[n] == ':')
            return name + n + 1;
    }
    return NULL;
}

static char *session_for(struct server_request *r, const char *agent, const char *user, bool *kept)
{
    const char *key = server_header(r, "x-openclaw-session-key");
    char uuid[ID_UUID_SIZE];
    if (!key)
        key = server_header(r, "x-chela-session-key");
    *kept = (key && *key) || (user && *user);
    if (key && *key)
        return agent_session_key(agent, key);
    id_uuid(uuid);
    CLEANUP(freep)
    char *made = *kept ? xprintf("agent:%s:openai-user:%.200s", agent, user)
                       : xprintf("agent:%s:openai:%s", agent, uuid);
    return agent_session_key(agent, made);
}

int api_target(struct server_request *r, const char *name, const char *user, struct api_target *ret,
               struct error *e)
{
    const char *agent = server_header(r, "x-openclaw-agent-id"),
               *model = server_header(r, "x-openclaw-model"), *named = name ? agent_in(name) : "";
    memset(ret, 0, sizeof *ret);
    if (!agent || !*agent)
        agent = named && *named ? named : agent_default();
    if ((!model || !*model) && !named)
        model = name;
    if (!agent_exists(agent))
        return error_set(e, CHELA_E_NOT_FOUND, "there is no agent \"%.100s\"", agent);
    if (model && *model) {
        char *full = models_resolve(model);
        if (!full)
            return error_set(e, CHELA_E_NOT_FOUND,
                             "there is no model \"%.200s\"; GET /v1/models lists them", model);
        ret->model = full;
    } else {
        ret->model = xstrdup("");
    }
    ret->agent = xstrdup(agent);
    ret->session = session_for(r, agent, user, &ret->kept);
    return 0;
}

void api_target_free(struct api_target *t)
{
    free(t->agent);
    free(t->model);
    free(t->session);
}
