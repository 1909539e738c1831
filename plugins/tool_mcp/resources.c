/*
 * Resources of the servers, as three tools: list, read, subscribe. Who has subscribed is told
 * before the next turn of that session that a resource has changed. Called by tools.c, incoming.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

#define READS                                                                                      \
    "\"security\":{\"requiresApproval\":true,\"riskLevel\":\"medium\"},\"reads_only\":true,"       \
    "\"group\":\"mcp\""
#define WHICH                                                                                      \
    "\"server\":{\"type\":\"string\",\"description\":\"name of the server\"},"                     \
    "\"uri\":{\"type\":\"string\",\"description\":\"the resource\"}},"                             \
    "\"required\":[\"server\",\"uri\"],\"additionalProperties\":false},"

const char *const resource_manifests[][2] = {
    {"mcp_list_resources",
     "{\"name\":\"mcp_list_resources\",\"description\":\"Lists the resources that a connected MCP "
     "server offers, a page at a time.\",\"parameters\":{\"type\":\"object\",\"properties\":{"
     "\"server\":{\"type\":\"string\",\"description\":\"name of the server\"},"
     "\"cursor\":{\"type\":\"string\",\"description\":\"where the last page said it goes on\"}},"
     "\"required\":[\"server\"],\"additionalProperties\":false},\"security\":{"
     "\"requiresApproval\":false,\"riskLevel\":\"low\"},\"reads_only\":true,\"group\":\"mcp\"}"},
    {"mcp_read_resource",
     "{\"name\":\"mcp_read_resource\",\"description\":\"Reads a resource of an MCP server by its "
     "URI.\",\"parameters\":{\"type\":\"object\",\"properties\":{" WHICH READS "}"},
    {"mcp_subscribe_resource",
     "{\"name\":\"mcp_subscribe_resource\",\"description\":\"Asks an MCP server to tell when a "
     "resource changes; the change is told before the next turn of this session.\",\"parameters\":"
     "{\"type\":\"object\",\"properties\":{" WHICH READS "}"},
};
const size_t resource_manifest_count = sizeof resource_manifests / sizeof resource_manifests[0];

enum { LIST, READ, SUBSCRIBE };

struct resource_call {
    struct mcp *mcp;
    struct server *server;
    uint64_t call;
    int kind;
    char *uri, *cursor, *session;
};

static void call_free(struct resource_call *c)
{
    free(c->uri);
    free(c->cursor);
    free(c->session);
    free(c);
}

static void put_list(struct resource_call *c, json_object *result)
{
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    json_object *list = chela_json_array(result, "resources");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        const char *uri = chela_json_string(o, "uri", NULL),
                   *name = chela_json_string(o, "name", NULL),
                   *mime = chela_json_string(o, "mimeType", NULL),
                   *about = chela_json_string(o, "description", NULL);
        fprintf(out, "%s (%s%s%s)%s%s\n", uri ? uri : "?", name ? name : "", mime ? ", " : "",
                mime ? mime : "", about ? ": " : "", about ? about : "");
    }
    const char *cursor = chela_json_string(result, "nextCursor", NULL);
    if (cursor)
        fprintf(out, "[more with cursor %s]\n", cursor);
    fclose(out);
    chela_end(c->mcp->in, c->call, CHELA_OK, n ? text : "It has no resources.");
    free(text);
}

static void remember(struct resource_call *c)
{
    json_object *all = c->mcp->subscriptions, *mine = chela_json_object(all, c->session);
    char *key = format("%s %s", c->server->name, c->uri);
    if (!mine)
        mine = chela_json_put_object(all, c->session);
    chela_json_put_bool(mine, key, true);
    free(key);
    chela_end(c->mcp->in, c->call, CHELA_OK, "Subscribed.");
}

static void answered(void *owner, json_object *result, const char *error)
{
    struct resource_call *c = owner;
    if (error)
        chela_end(c->mcp->in, c->call, CHELA_E_OTHER, error);
    else if (c->kind == LIST)
        put_list(c, result);
    else if (c->kind == READ)
        result_end(c->mcp, c->call, result, false);
    else
        remember(c);
    call_free(c);
}

static void begin(void *owner, const char *error)
{
    static const char *const methods[] = {"resources/list", "resources/read",
                                          "resources/subscribe"};
    struct resource_call *c = owner;
    if (error) {
        chela_end(c->mcp->in, c->call, CHELA_E_GONE, error);
        call_free(c);
        return;
    }
    json_object *params = chela_json_new_object();
    if (c->uri)
        chela_json_put_text(params, "uri", c->uri);
    if (c->cursor)
        chela_json_put_text(params, "cursor", c->cursor);
    struct request *r =
        rpc_request(c->server, methods[c->kind], params,
                    (uint64_t)server_number(c->server, "request_timeout"), answered, c);
    r->call = c->call;
}

bool resources_run(struct chela_inst *in, const struct chela_tool_run *r)
{
    size_t kind = 0;
    json_object *o = NULL;
    while (kind < resource_manifest_count && !chela_str_is(r->name, resource_manifests[kind][0]))
        kind++;
    if (kind == resource_manifest_count)
        return false;
    chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &o, NULL);
    const char *uri = chela_json_string(o, "uri", NULL),
               *cursor = chela_json_string(o, "cursor", NULL);
    struct server *s = mcp_server(mcp_of(in), chela_json_string(o, "server", NULL));
    if (!s || (kind != LIST && !uri)) {
        chela_end(in, r->h.call, CHELA_E_NOT_FOUND, "there is no such server");
    } else {
        struct resource_call *c = need(calloc(1, sizeof *c));
        c->mcp = mcp_of(in);
        c->server = s;
        c->call = r->h.call;
        c->kind = (int)kind;
        c->uri = uri ? need(strdup(uri)) : NULL;
        c->cursor = cursor ? need(strdup(cursor)) : NULL;
        c->session = text_of(r->session);
        server_want(s, SERVER_IS_READY, c->call, begin, c);
    }
    json_object_put(o);
    return true;
}

/* A new connection knows nothing of what was subscribed to by the one before. */
void resources_renew(struct server *s)
{
    json_object *sent = chela_json_new_object();
    size_t n = strlen(s->name);
    json_object_object_foreach(s->mcp->subscriptions, session, mine)
    {
        (void)session;
        json_object_object_foreach(mine, key, set)
        {
            (void)set;
            if (strncmp(key, s->name, n) != 0 || key[n] != ' ' || chela_json_has(sent, key))
                continue;
            json_object *params = chela_json_new_object();
            chela_json_put_text(params, "uri", key + n + 1);
            rpc_request(s, "resources/subscribe", params, 30000, NULL, NULL);
            chela_json_put_bool(sent, key, true);
        }
    }
    json_object_put(sent);
}

void resources_updated(struct server *s, const char *uri)
{
    struct mcp *m = s->mcp;
    if (!uri)
        return;
    char *key = format("%s %s", s->name, uri);
    char *text = format("The resource %.500s of the server %s has changed.", uri, s->name);
    json_object_object_foreach(m->subscriptions, session, mine)
    {
        if (!chela_json_has(mine, key))
            continue;
        json_object *list = chela_json_array(m->updates, session);
        if (!list)
            list = chela_json_put_array(m->updates, session);
        size_t i = 0, n = chela_json_length(list);
        while (i < n && strcmp(chela_json_as_string(chela_json_at(list, i), NULL), text) != 0)
            i++;
        if (i == n && n < 50)
            chela_json_push(list, chela_json_new_string(text, strlen(text)));
    }
    free(key);
    free(text);
}
