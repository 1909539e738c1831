/* Import: see import.h. What becomes of the gateway, the models, the agents and the sessions of an
 * openclaw.json. What is safer here by default is never loosened by an import. */
#include <ctype.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/import.h"
#include "support/json.h"

void import_note(struct import *i, const char *what, const char *how, const char *text)
{
    json_object *o = chela_json_push_object(i->report);
    chela_json_put_text(o, "what", what);
    chela_json_put_text(o, "how", how);
    chela_json_put_text(o, "text", text);
}

void import_put(struct import *i, const char *path, json_object *value)
{
    json_object *at = i->ours;
    for (;;) {
        size_t n = strcspn(path, ".");
        CLEANUP(freep) char *name = xmemdup(path, n);
        if (!path[n]) {
            chela_json_put(at, name, value);
            return;
        }
        json_object *next = chela_json_object(at, name);
        at = next ? next : chela_json_put_object(at, name);
        path += n + 1;
    }
}

json_object *import_text(struct import *i, const char *what, json_object *value)
{
    const char *source = chela_json_string(value, "source", NULL),
               *id = chela_json_string(value, "id", NULL);
    if (json_object_is_type(value, json_type_string) || json_object_is_type(value, json_type_int) ||
        json_object_is_type(value, json_type_boolean))
        return json_object_new_string(json_object_get_string(value));
    if (source && id && strcmp(source, "env") == 0) {
        CLEANUP(freep) char *text = xprintf("${%s}", id);
        return json_object_new_string(text);
    }
    if (source && id && strcmp(source, "file") == 0 && *id == '/') {
        CLEANUP(freep) char *text = xprintf("file:%s", id);
        return json_object_new_string(text);
    }
    if (value)
        import_note(i, what, "left", "a secret kept elsewhere: put it in by ${NAME} or file:PATH");
    return NULL;
}

/* ---- rows: a value of theirs that is one of ours ---- */

enum kind { TEXT, SECRET, NUMBER, FLAG, LIST };

static const struct row {
    const char *theirs, *ours;
    enum kind kind;
} rows[] = {
    {"/gateway/port", "gateway.port", NUMBER},
    {"/gateway/auth/token", "gateway.auth.token", SECRET},
    {"/gateway/auth/password", "gateway.auth.password", SECRET},
    {"/gateway/trustedProxies", "gateway.trusted_proxies", LIST},
    {"/gateway/controlUi/allowedOrigins", "gateway.allowed_origins", LIST},
    {"/gateway/http/endpoints/chatCompletions/enabled", "gateway.http.openai", FLAG},
    {"/hooks/enabled", "gateway.hooks.enabled", FLAG},
    {"/hooks/token", "gateway.hooks.token", SECRET},
    {"/agents/defaults/workspace", "agents.defaults.workspace", TEXT},
    {"/agents/defaults/maxConcurrent", "session.max_concurrent", NUMBER},
    {"/session/dmScope", "session.dm_scope", TEXT},
    {"/messages/queue/mode", "messages.queue.mode", TEXT},
    {"/tools/profile", "tools.profile", TEXT},
    {"/tools/allow", "tools.allow", LIST},
    {"/tools/deny", "tools.deny", LIST},
    {"/commands/ownerAllowFrom", "owners", LIST},
};

static json_object *texts(json_object *list)
{
    json_object *o = chela_json_new_array();
    for (size_t k = 0; k < chela_json_length(list); k++) {
        json_object *item = chela_json_at(list, k);
        if (item && !json_object_is_type(item, json_type_object))
            chela_json_push(o, json_object_new_string(json_object_get_string(item)));
    }
    return o;
}

static void map_rows(struct import *i)
{
    for (size_t k = 0; k < ARRAY_LENGTH(rows); k++) {
        const struct row *r = &rows[k];
        json_object *value = chela_json_path(i->theirs, r->theirs), *made = NULL;
        if (!value)
            continue;
        CLEANUP(freep) char *what = xstrdup(r->theirs + 1);
        for (char *c = what; *c; c++)
            *c = *c == '/' ? '.' : *c;
        if (r->kind == LIST)
            made = texts(value);
        else if (r->kind == TEXT || r->kind == SECRET)
            made = import_text(i, what, value);
        else
            made = json_object_get(value);
        if (made) {
            import_put(i, r->ours, made);
            import_note(i, what, "carried", r->ours);
        }
    }
}

/* ---- the gateway ---- */

static void map_gateway(struct import *i)
{
    const char *bind = chela_json_as_string(chela_json_path(i->theirs, "/gateway/bind"), NULL),
               *mode = chela_json_as_string(chela_json_path(i->theirs, "/gateway/auth/mode"), NULL);
    if (bind && (strcmp(bind, "loopback") == 0 || strcmp(bind, "lan") == 0)) {
        import_put(i, "gateway.bind", json_object_new_string(bind));
        import_note(i, "gateway.bind", "carried", "gateway.bind");
    } else if (bind) {
        import_note(i, "gateway.bind", "left",
                    "only this machine reaches the gateway; see gateway.bind");
    }
    if (mode && (strcmp(mode, "token") == 0 || strcmp(mode, "password") == 0 ||
                 strcmp(mode, "trusted-proxy") == 0)) {
        import_put(i, "gateway.auth.mode", json_object_new_string(mode));
        import_note(i, "gateway.auth.mode", "carried", "gateway.auth.mode");
    } else if (mode) {
        import_note(i, "gateway.auth.mode", "changed",
                    "\"token\": somebody is always asked for a secret");
    }
}

/* ---- models ---- */

/* A name that libconfig takes. */
static char *group_name(const char *name)
{
    char *key = xprintf("%s%s", isalpha((unsigned char)*name) ? "" : "x", name);
    for (char *c = key; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            *c = '-';
    return key;
}

static const char *type_of(const char *api, const char *name)
{
    static const char *const types[][2] = {
        {"openai-completions", "openai"},
        {"openai-responses", "openai-responses"},
        {"anthropic-messages", "anthropic"},
        {"google-generative-ai", "google"},
        {"ollama", "ollama"},
        {"mistral", "mistral"},
    };
    for (size_t k = 0; k < ARRAY_LENGTH(types); k++)
        if (strcmp(types[k][0], api) == 0)
            return types[k][1];
    return strcmp(name, "ollama") == 0      ? "ollama"
           : strcmp(name, "anthropic") == 0 ? "anthropic"
                                            : "openai";
}

static void map_provider(struct import *i, const char *name, json_object *p)
{
    const char *api = chela_json_string(p, "api", NULL);
    json_object *o = chela_json_new_object(), *models = chela_json_array(p, "models"), *list, *text;
    CLEANUP(freep) char *key = group_name(name);
    CLEANUP(freep) char *path = xprintf("providers.%s", key);
    CLEANUP(freep) char *what = xprintf("models.providers.%s", name);
    chela_json_put_text(o, "type", type_of(api ? api : "", name));
    if (strcmp(key, name) != 0)
        chela_json_put_text(o, "name", name);
    if ((text = import_text(i, what, chela_json_get(p, "baseUrl"))))
        chela_json_put(o, "base_url", text);
    if ((text = import_text(i, what, chela_json_get(p, "apiKey"))))
        chela_json_put(o, "api_key", text);
    if (chela_json_length(models)) {
        list = chela_json_put_array(o, "models");
        for (size_t k = 0; k < chela_json_length(models); k++) {
            json_object *m = chela_json_at(models, k), *one = chela_json_push_object(list);
            chela_json_put_text(one, "name", chela_json_string(m, "id", NULL));
            if (chela_json_int(m, "contextWindow", 0) > 0)
                chela_json_put_int(one, "context", chela_json_int(m, "contextWindow", 0));
        }
    }
    import_put(i, path, o);
    import_note(i, what, "carried", path);
}

/* A model of theirs may be of a provider that their program knows by itself; ours must be named. */
static void need_provider(struct import *i, const char *model)
{
    static const char *const keys[][3] = {
        {"anthropic", "anthropic", "${ANTHROPIC_API_KEY}"},
        {"openai", "openai", "${OPENAI_API_KEY}"},
        {"google", "google", "${GEMINI_API_KEY}"},
        {"mistral", "mistral", "${MISTRAL_API_KEY}"},
        {"ollama", "ollama", NULL},
    };
    size_t n = strcspn(model, "/");
    for (size_t k = 0; model[n] && k < ARRAY_LENGTH(keys); k++) {
        if (strlen(keys[k][0]) != n || strncmp(model, keys[k][0], n) != 0 ||
            chela_json_object(chela_json_object(i->ours, "providers"), keys[k][0]))
            continue;
        json_object *o = chela_json_new_object();
        CLEANUP(freep) char *path = xprintf("providers.%s", keys[k][0]);
        chela_json_put_text(o, "type", keys[k][1]);
        if (keys[k][2])
            chela_json_put_text(o, "api_key", keys[k][2]);
        import_put(i, path, o);
        import_note(i, path, "changed",
                    keys[k][2] ? "added for its models; its key comes from the environment"
                               : "added for its models");
    }
}

static void map_model(struct import *i, const char *agent, const char *what, json_object *model)
{
    const char *primary = chela_json_as_string(model, NULL);
    json_object *fallbacks = chela_json_array(model, "fallbacks");
    CLEANUP(freep) char *path = xprintf("agents.%s.model", agent);
    CLEANUP(freep) char *also = xprintf("agents.%s.fallback", agent);
    if (!primary)
        primary = chela_json_string(model, "primary", NULL);
    if (!primary)
        return;
    need_provider(i, primary);
    import_put(i, path, json_object_new_string(primary));
    import_note(i, what, "carried", path);
    if (!chela_json_length(fallbacks))
        return;
    for (size_t k = 0; k < chela_json_length(fallbacks); k++) {
        const char *name = chela_json_as_string(chela_json_at(fallbacks, k), NULL);
        if (name)
            need_provider(i, name);
    }
    import_put(i, also, texts(fallbacks));
    import_note(i, what, "carried", also);
}

/* ---- agents ---- */

static void map_agent(struct import *i, const char *id, json_object *a)
{
    CLEANUP(freep) char *key = group_name(id);
    CLEANUP(freep) char *what = xprintf("agents.%s", id);
    static const char *const same[][2] = {{"name", "name"}, {"workspace", "workspace"}};
    CLEANUP(freep) char *empty = xprintf("agents.%s", key);
    import_put(i, empty, chela_json_new_object());
    for (size_t k = 0; k < ARRAY_LENGTH(same); k++) {
        CLEANUP(freep) char *path = xprintf("agents.%s.%s", key, same[k][1]);
        json_object *text = import_text(i, what, chela_json_get(a, same[k][0]));
        if (text)
            import_put(i, path, text);
    }
    if (chela_json_bool(a, "default", false)) {
        CLEANUP(freep) char *path = xprintf("agents.%s.default", key);
        import_put(i, path, json_object_new_boolean(1));
    }
    map_model(i, key, what, chela_json_get(a, "model"));
    import_note(i, what, "carried", empty);
}

static void map_agents(struct import *i)
{
    json_object *agents = chela_json_object(i->theirs, "agents"),
                *entries = chela_json_object(agents, "entries"),
                *list = chela_json_array(agents, "list");
    map_model(i, "defaults", "agents.defaults.model",
              chela_json_path(i->theirs, "/agents/defaults/model"));
    if (entries) {
        json_object_object_foreach(entries, id, a) map_agent(i, id, a);
    }
    for (size_t k = 0; k < chela_json_length(list); k++) {
        const char *id = chela_json_string(chela_json_at(list, k), "id", NULL);
        if (id)
            map_agent(i, id, chela_json_at(list, k));
    }
}

/* ---- routing: rules in order, the last without words ---- */

static void map_routing(struct import *i)
{
    json_object *routing = chela_json_array(i->theirs, "routing"), *rules = chela_json_new_array();
    for (size_t k = 0; k < chela_json_length(routing); k++) {
        json_object *r = chela_json_at(routing, k), *patterns = chela_json_array(r, "patterns");
        const char *model = chela_json_string(r, "model", NULL),
                   *fallback = chela_json_string(r, "default", NULL);
        if (fallback) {
            need_provider(i, fallback);
            import_put(i, "routing.default", json_object_new_string(fallback));
        } else if (model && patterns) {
            json_object *o = chela_json_push_object(rules);
            need_provider(i, model);
            chela_json_put(o, "patterns", texts(patterns));
            chela_json_put_text(o, "model", model);
        } else {
            import_note(i, "routing", "left", "a rule without patterns and a model");
        }
    }
    if (chela_json_length(rules)) {
        import_put(i, "routing.rules", json_object_get(rules));
        import_note(i, "routing", "carried", "routing.rules");
    }
    json_object_put(rules);
}

/* ---- what a command may do ---- */

static void map_security(struct import *i)
{
    json_object *exec = chela_json_path(i->theirs, "/tools/exec");
    const char *mode = chela_json_string(exec, "mode", NULL);
    if (!mode)
        mode = chela_json_string(exec, "security", NULL);
    if (!mode)
        return;
    if (strcmp(mode, "deny") == 0 || strcmp(mode, "allowlist") == 0 || strcmp(mode, "ask") == 0) {
        import_put(i, "tools.security", json_object_new_string(mode));
        import_note(i, "tools.exec", "carried", "tools.security");
    } else {
        import_note(i, "tools.exec", "changed",
                    "commands ask first here; see tools.security if they shall not");
    }
}

/* What nothing of ours stands for is told, so that nobody has to look for it. */
static void tell_the_rest(struct import *i)
{
    static const char *const known[] = {
        "gateway", "models", "agents",   "session",  "messages", "tools", "commands", "hooks",
        "routing", "mcp",    "channels", "bindings", "$schema",  "meta",  "env",      "mcpServers"};
    json_object_object_foreach(i->theirs, name, value)
    {
        bool is_known = false;
        (void)value;
        for (size_t k = 0; k < ARRAY_LENGTH(known); k++)
            is_known = is_known || strcmp(known[k], name) == 0;
        if (!is_known)
            import_note(i, name, "left", "nothing of Chela's stands for it");
    }
}

void import_map(struct import *i)
{
    json_object *providers = chela_json_path(i->theirs, "/models/providers");
    if (json_object_is_type(providers, json_type_object)) {
        json_object_object_foreach(providers, name, p) map_provider(i, name, p);
    }
    map_rows(i);
    map_gateway(i);
    map_agents(i);
    map_routing(i);
    map_security(i);
    import_parts(i);
    tell_the_rest(i);
}
