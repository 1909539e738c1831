/*
 * What a server asks of us (roots, sampling, elicitation, ping) and tells us (lists that changed,
 * resources that changed, its log). It may do so at any time, before it has answered initialize
 * too. Called by rpc.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { METHOD_NOT_FOUND = -32601 };

static void list_roots(struct server *s, json_object *id)
{
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "roots");
    int64_t count = server_number(s, "roots");
    for (int64_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "roots.%d", (int)i);
        struct chela_str path = server_option(s, name);
        char *uri = format("%s%s", strstr(path.s, "://") ? "" : "file://", path.s);
        json_object *root = chela_json_push_object(list);
        chela_json_put_text(root, "uri", uri);
        free(uri);
    }
    rpc_answer(s, id, o, 0, NULL);
}

void incoming_request(struct server *s, json_object *id, const char *method, json_object *params)
{
    if (strcmp(method, "ping") == 0)
        rpc_answer(s, id, NULL, 0, NULL);
    else if (strcmp(method, "roots/list") == 0)
        list_roots(s, id);
    else if (strcmp(method, "sampling/createMessage") == 0 &&
             !chela_str_is(server_option(s, "sampling"), "deny"))
        sampling_create(s, id, params);
    else if (strcmp(method, "elicitation/create") == 0 &&
             !chela_str_is(server_option(s, "elicitation"), "deny"))
        elicit_create(s, id, params);
    else
        rpc_answer(s, id, NULL, METHOD_NOT_FOUND, "this client has no such method");
}

static uint32_t level_of(const char *name)
{
    static const struct {
        const char *name;
        uint32_t level;
    } table[] = {{"debug", CHELA_DEBUG},  {"info", CHELA_INFO},    {"notice", CHELA_INFO},
                 {"warning", CHELA_WARN}, {"error", CHELA_ERR},    {"critical", CHELA_ERR},
                 {"alert", CHELA_ERR},    {"emergency", CHELA_ERR}};
    for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].level;
    return CHELA_INFO;
}

static void log_message(struct server *s, json_object *params)
{
    json_object *data = chela_json_get(params, "data");
    const char *text = chela_json_as_string(data, NULL),
               *logger = chela_json_string(params, "logger", NULL);
    if (!text && data)
        text = chela_json_text(data, NULL);
    mcp_log(s->mcp, level_of(chela_json_string(params, "level", NULL)), "%s%s%s: %.2000s", s->name,
            logger ? "/" : "", logger ? logger : "", text ? text : "");
}

void incoming_notification(struct server *s, const char *method, json_object *params)
{
    if (strcmp(method, "notifications/message") == 0)
        log_message(s, params);
    else if (strcmp(method, "notifications/resources/updated") == 0)
        resources_updated(s, chela_json_string(params, "uri", NULL));
    else if ((strcmp(method, "notifications/tools/list_changed") == 0 ||
              strcmp(method, "notifications/prompts/list_changed") == 0) &&
             s->state == SERVER_READY)
        tools_refresh(s);
    else
        mcp_log(s->mcp, CHELA_DEBUG, "%s: %s", s->name, method);
}

struct request *incoming_cause(struct server *s)
{
    for (struct request *r = s->requests; r; r = r->next) /* the newest comes first */
        if (r->source)
            return r;
    return NULL;
}
