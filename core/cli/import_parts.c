/* Import: see import.h. MCP servers, channels, bindings and people of an openclaw.json. */
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/import.h"
#include "support/json.h"

static json_object *texts(json_object *list)
{
    json_object *o = chela_json_new_array();
    for (size_t k = 0; k < chela_json_length(list); k++)
        chela_json_push(o, json_object_new_string(json_object_get_string(chela_json_at(list, k))));
    return o;
}

/* {"a":"b"} as [{name, value}]. */
static void put_pairs(struct import *i, const char *what, json_object *to, const char *name,
                      json_object *map)
{
    json_object *list = chela_json_new_array();
    if (json_object_is_type(map, json_type_object)) {
        json_object_object_foreach(map, key, value)
        {
            json_object *text = import_text(i, what, value), *o;
            if (!text)
                continue;
            o = chela_json_push_object(list);
            chela_json_put_text(o, "name", key);
            chela_json_put(o, "value", text);
        }
    }
    if (chela_json_length(list))
        chela_json_put(to, name, json_object_get(list));
    json_object_put(list);
}

/* ---- MCP servers ---- */

static bool fetches(const char *command)
{
    const char *base = strrchr(command, '/') ? strrchr(command, '/') + 1 : command;
    static const char *const names[] = {"npx", "uvx", "bunx", "pipx"};
    for (size_t k = 0; k < ARRAY_LENGTH(names); k++)
        if (strcmp(base, names[k]) == 0)
            return true;
    return false;
}

static void map_server(struct import *i, json_object *list, const char *name, json_object *s)
{
    static const char *const same[][2] = {{"command", "command"}, {"cwd", "cwd"}, {"url", "url"}};
    CLEANUP(freep) char *what = xprintf("mcp.servers.%s", name);
    json_object *o = chela_json_push_object(list);
    chela_json_put_text(o, "name", name);
    for (size_t k = 0; k < ARRAY_LENGTH(same); k++) {
        json_object *text = import_text(i, what, chela_json_get(s, same[k][0]));
        if (text)
            chela_json_put(o, same[k][1], text);
    }
    if (chela_json_length(chela_json_array(s, "args")))
        chela_json_put(o, "args", texts(chela_json_array(s, "args")));
    put_pairs(i, what, o, "env", chela_json_get(s, "env"));
    put_pairs(i, what, o, "headers", chela_json_get(s, "headers"));
    const char *transport = chela_json_string(s, "transport", NULL),
               *command = chela_json_string(s, "command", NULL);
    if (transport && strcmp(transport, "sse") == 0)
        chela_json_put_text(o, "transport", "sse");
    if (chela_json_has(s, "enabled") && !chela_json_bool(s, "enabled", true))
        chela_json_put_bool(o, "enabled", false);
    if (command && fetches(command))
        import_note(i, what, "changed",
                    "carried, but it fetches a program at each start and runs what came: install a "
                    "version of it once and start that");
    else
        import_note(i, what, "carried", "tools.mcp.servers");
}

static void map_servers(struct import *i)
{
    static const char *const places[] = {"/mcp/servers", "/tools/mcpServers", "/mcpServers"};
    json_object *list = chela_json_new_array();
    for (size_t k = 0; k < ARRAY_LENGTH(places); k++) {
        json_object *servers = chela_json_path(i->theirs, places[k]);
        if (json_object_is_type(servers, json_type_object)) {
            json_object_object_foreach(servers, name, s) map_server(i, list, name, s);
        }
    }
    if (chela_json_length(list))
        import_put(i, "tools.mcp.servers", json_object_get(list));
    json_object_put(list);
}

/* ---- channels ---- */

static void map_groups(json_object *to, json_object *groups)
{
    json_object *list = chela_json_new_array();
    if (json_object_is_type(groups, json_type_object)) {
        json_object_object_foreach(groups, chat, g)
        {
            json_object *o = chela_json_push_object(list);
            chela_json_put_text(o, "chat", chat);
            if (chela_json_has(g, "requireMention"))
                chela_json_put_bool(o, "require_mention",
                                    chela_json_bool(g, "requireMention", true));
        }
    }
    if (chela_json_length(list))
        chela_json_put(to, "groups", json_object_get(list));
    json_object_put(list);
}

static void map_account(struct import *i, const char *type, const char *key, const char *what,
                        json_object *a)
{
    static const char *const words[][2] = {{"dmPolicy", "dm_policy"},
                                           {"groupPolicy", "group_policy"}};
    static const char *const lists[][2] = {{"allowFrom", "allow_from"},
                                           {"groupAllowFrom", "group_allow_from"}};
    CLEANUP(freep) char *path = xprintf("channels.%s", key);
    json_object *o = chela_json_new_object(),
                *token = import_text(
                    i, what,
                    chela_json_get(a, strcmp(type, "telegram") == 0 ? "botToken" : "token"));
    if (strcmp(type, key) != 0)
        chela_json_put_text(o, "type", type);
    if (token)
        chela_json_put(o, "token", token);
    for (size_t k = 0; k < ARRAY_LENGTH(words); k++) {
        const char *word = chela_json_string(a, words[k][0], NULL);
        if (word && (strcmp(word, "pairing") == 0 || strcmp(word, "allowlist") == 0 ||
                     strcmp(word, "disabled") == 0))
            chela_json_put_text(o, words[k][1], word);
        else if (word)
            import_note(i, what, "changed",
                        "strangers are not let in here unless you say so again");
    }
    for (size_t k = 0; k < ARRAY_LENGTH(lists); k++)
        if (chela_json_length(chela_json_array(a, lists[k][0])))
            chela_json_put(o, lists[k][1], texts(chela_json_array(a, lists[k][0])));
    map_groups(o, chela_json_get(a, "groups"));
    if (chela_json_has(a, "enabled") && !chela_json_bool(a, "enabled", true))
        chela_json_put_bool(o, "enabled", false);
    import_put(i, path, o);
    import_note(i, what, "carried", path);
}

static void map_channels(struct import *i)
{
    json_object *channels = chela_json_object(i->theirs, "channels");
    if (!channels)
        return;
    json_object_object_foreach(channels, name, c)
    {
        CLEANUP(freep) char *what = xprintf("channels.%s", name);
        json_object *accounts = chela_json_object(c, "accounts");
        if (strcmp(name, "telegram") != 0 && strcmp(name, "discord") != 0) {
            import_note(i, what, "left", "there is no channel of that kind here");
            continue;
        }
        if (chela_json_get(c, "botToken") || chela_json_get(c, "token"))
            map_account(i, name, name, what, c);
        if (accounts) {
            json_object_object_foreach(accounts, account, a)
            {
                CLEANUP(freep) char *key = xprintf("%s-%s", name, account);
                map_account(i, name, key, what, a);
            }
        }
    }
}

/* ---- bindings and people ---- */

static void map_bindings(struct import *i)
{
    json_object *bindings = chela_json_array(i->theirs, "bindings"), *list = chela_json_new_array(),
                *links = chela_json_path(i->theirs, "/session/identityLinks");
    for (size_t k = 0; k < chela_json_length(bindings); k++) {
        json_object *b = chela_json_at(bindings, k), *match = chela_json_object(b, "match"),
                    *o = chela_json_push_object(list);
        const char *texts_of[][2] = {
            {"agent", chela_json_string(b, "agentId", NULL)},
            {"channel", chela_json_string(match, "channel", NULL)},
            {"account", chela_json_string(match, "accountId", NULL)},
            {"peer", chela_json_string(chela_json_object(match, "peer"), "id", NULL)}};
        for (size_t n = 0; n < ARRAY_LENGTH(texts_of); n++)
            if (texts_of[n][1])
                chela_json_put_text(o, texts_of[n][0], texts_of[n][1]);
        if (chela_json_has(match, "guildId") || chela_json_has(match, "teamId") ||
            chela_json_has(match, "roles"))
            import_note(i, "bindings", "changed", "servers, teams and roles don't count here");
    }
    if (chela_json_length(list)) {
        import_put(i, "bindings", json_object_get(list));
        import_note(i, "bindings", "carried", "bindings");
    }
    json_object_put(list);
    if (!json_object_is_type(links, json_type_object))
        return;
    list = chela_json_new_array();
    json_object_object_foreach(links, name, ids)
    {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "name", name);
        chela_json_put(o, "is", texts(ids));
    }
    import_put(i, "session.identities", list);
    import_note(i, "session.identityLinks", "carried", "session.identities");
}

static void tell_of_variables(struct import *i)
{
    static const char *const variables[][2] = {
        {"OPENCLAW_GATEWAY_PORT", "CHELA_GATEWAY_PORT"},
        {"OPENCLAW_GATEWAY_TOKEN", "CHELA_GATEWAY_TOKEN"},
        {"OPENCLAW_GATEWAY_PASSWORD", "CHELA_GATEWAY__AUTH__PASSWORD"},
        {"OPENCLAW_STATE_DIR", "CHELA_STATE_DIR"},
        {"OPENCLAW_CONFIG_PATH", "CHELA_CONFIG"},
    };
    json_object *env = chela_json_path(i->theirs, "/env/vars");
    for (size_t k = 0; k < ARRAY_LENGTH(variables); k++)
        if (getenv(variables[k][0])) {
            CLEANUP(freep) char *text = xprintf("is %s here", variables[k][1]);
            import_note(i, variables[k][0], "left", text);
        }
    if (json_object_is_type(env, json_type_object)) {
        json_object_object_foreach(env, name, value)
        {
            CLEANUP(freep) char *what = xprintf("env.vars.%s", name);
            (void)value;
            import_note(i, what, "left", "set it where the gateway is started");
        }
    }
}

void import_parts(struct import *i)
{
    map_servers(i);
    map_channels(i);
    map_bindings(i);
    tell_of_variables(i);
}
