/*
 * Tools of the servers: their lists, page by page, as manifests under names of ours, and their
 * calls. Tools of a server that is not running stay published: a call starts it. Called by
 * server.c, incoming.c and the host.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

#include "support/glob.h"

enum { PAGES_MOST = 100, TOOLS_MOST = 1000, NAME_MOST = 64 };

/* ---- names ---- */

static bool listed(const struct server *s, const char *option, const char *name)
{
    int64_t count = server_number(s, option);
    for (int64_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s.%d", option, (int)i);
        if (chela_glob(server_option(s, path).s, name))
            return true;
    }
    return false;
}

static char *public_name(const struct server *s, const char *name)
{
    char *whole = format("%s__%s", s->name, name);
    uint32_t hash = 2166136261u;
    for (char *p = whole; *p; p++) {
        hash = (hash ^ (unsigned char)*p) * 16777619u;
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
            *p = '-';
    }
    if (strlen(whole) > NAME_MOST)
        snprintf(whole + NAME_MOST - 9, 10, "-%08x", hash);
    return whole;
}

/* ---- manifests ---- */

static json_object *schema_of(json_object *schema)
{
    json_object *o = schema ? json_object_get(schema) : chela_json_new_object();
    json_object_object_del(o, "$schema"); /* several providers refuse it */
    if (!chela_json_has(o, "type"))
        chela_json_put_text(o, "type", "object");
    return o;
}

static void put_risk(const struct server *s, json_object *m, json_object *about)
{
    bool trusted = server_number(s, "trusted") != 0,
         reads = trusted && chela_json_bool(about, "readOnlyHint", false),
         destroys = trusted && !reads && chela_json_bool(about, "destructiveHint", true);
    json_object *security = chela_json_put_object(m, "security");
    chela_json_put_bool(security, "requiresApproval", !reads);
    chela_json_put_text(security, "riskLevel", reads ? "low" : destroys ? "high" : "medium");
    if (reads)
        chela_json_put_bool(m, "reads_only", true);
    if (trusted && chela_json_bool(about, "idempotentHint", false))
        chela_json_put_bool(m, "repeatable", true);
}

static bool make_tool(struct server *s, json_object *o, struct mcp_tool *t)
{
    const char *name = chela_json_string(o, "name", NULL),
               *about = chela_json_string(o, "description", NULL),
               *title = chela_json_string(o, "title", NULL);
    if (!name || !*name || listed(s, "exclude", name) ||
        (server_number(s, "include") > 0 && !listed(s, "include", name)))
        return false;
    json_object *m = chela_json_new_object();
    t->name = need(strdup(name));
    t->public_name = public_name(s, name);
    chela_json_put_text(m, "name", t->public_name);
    chela_json_put_text(m, "description", about && *about ? about : title ? title : name);
    chela_json_put(m, "parameters", schema_of(chela_json_object(o, "inputSchema")));
    json_object *returns = chela_json_object(o, "outputSchema");
    t->structured = returns != NULL;
    if (returns)
        chela_json_put(m, "returns", schema_of(returns));
    chela_json_put_text(m, "group", "mcp");
    if (server_number(s, "deferred"))
        chela_json_put_bool(m, "deferred", true);
    put_risk(s, m, chela_json_object(o, "annotations"));
    t->manifest = need(strdup(chela_json_text(m, NULL)));
    json_object_put(m);
    return true;
}

void tools_clear(struct server *s)
{
    for (size_t i = 0; i < s->table_count; i++) {
        free(s->table[i].name);
        free(s->table[i].public_name);
        free(s->table[i].manifest);
    }
    free(s->table);
    s->table = NULL;
    s->table_count = 0;
}

void tools_publish(struct mcp *m)
{
    size_t n = 0, room = resource_manifest_count;
    bool resources = false;
    for (size_t i = 0; i < m->count; i++)
        room += m->servers[i].table_count;
    struct chela_pair *v = need(calloc(room + 1, sizeof *v));
    for (size_t i = 0; i < m->count; i++) {
        struct server *s = &m->servers[i];
        resources = resources || s->has_resources;
        for (size_t k = 0; k < s->table_count; k++)
            v[n++] = (struct chela_pair){chela_s(s->table[k].public_name),
                                         chela_s(s->table[k].manifest)};
    }
    for (size_t i = 0; resources && i < resource_manifest_count; i++)
        v[n++] = (struct chela_pair){chela_s(resource_manifests[i][0]),
                                     chela_s(resource_manifests[i][1])};
    chela_publish_list(m->in, CHELA_TOOLS, ++m->revision, v, n);
    free(v);
}

/* ---- lists ---- */

static void list_page(struct server *s, const char *method, const char *cursor, request_fn *fn)
{
    json_object *params = chela_json_new_object();
    if (cursor)
        chela_json_put_text(params, "cursor", cursor);
    rpc_request(s, method, params, (uint64_t)server_number(s, "request_timeout"), fn, s);
}

/* The next page, or false at the end. */
static bool more(struct server *s, json_object *result, const char *member, json_object *all,
                 request_fn *fn)
{
    json_object *list = chela_json_array(result, member);
    const char *cursor = chela_json_string(result, "nextCursor", NULL);
    for (size_t i = 0; i < chela_json_length(list) && chela_json_length(all) < TOOLS_MOST; i++)
        chela_json_push(all, json_object_get(chela_json_at(list, i)));
    if (!cursor || ++s->listing > PAGES_MOST)
        return false;
    char *method = format("%s/list", member), *copy = need(strdup(cursor));
    list_page(s, method, copy, fn);
    free(method);
    free(copy);
    return true;
}

static void refreshed(struct server *s)
{
    s->refreshing = false;
    if (s->refresh_again && s->state == SERVER_READY)
        tools_refresh(s);
    else
        server_listed(s);
}

static void prompts_came(void *owner, json_object *result, const char *error)
{
    struct server *s = owner;
    if (error && s->state != SERVER_READY)
        return;
    if (!error && more(s, result, "prompts", s->prompts, prompts_came))
        return;
    json_object_put(s->prompt_table);
    s->prompt_table = s->prompts;
    s->prompts = NULL;
    prompts_publish(s->mcp);
    refreshed(s);
}

static void take_tools(struct server *s)
{
    size_t count = chela_json_length(s->tools);
    tools_clear(s);
    s->table = need(calloc(count + 1, sizeof *s->table));
    for (size_t i = 0; i < count; i++)
        if (make_tool(s, chela_json_at(s->tools, i), &s->table[s->table_count]))
            s->table_count++;
    json_object_put(s->tools);
    s->tools = NULL;
    tools_publish(s->mcp);
    mcp_log(s->mcp, CHELA_INFO, "%s has %zu tools", s->name, s->table_count);
}

static void list_prompts(struct server *s)
{
    if (!chela_json_has(s->capabilities, "prompts")) {
        refreshed(s);
        return;
    }
    s->listing = 0;
    json_object_put(s->prompts);
    s->prompts = chela_json_new_array();
    list_page(s, "prompts/list", NULL, prompts_came);
}

static void tools_came(void *owner, json_object *result, const char *error)
{
    struct server *s = owner;
    if (error) {
        mcp_log(s->mcp, CHELA_WARN, "%s: its tools could not be listed: %s", s->name, error);
        refreshed(s);
        return;
    }
    if (more(s, result, "tools", s->tools, tools_came))
        return;
    take_tools(s);
    list_prompts(s);
}

void tools_refresh(struct server *s)
{
    if (s->refreshing) {
        s->refresh_again = true;
        return;
    }
    s->refreshing = true;
    s->refresh_again = false;
    s->listing = 0;
    json_object_put(s->tools);
    s->tools = chela_json_new_array();
    if (chela_json_has(s->capabilities, "tools"))
        list_page(s, "tools/list", NULL, tools_came);
    else
        list_prompts(s);
}

/* ---- calls ---- */

struct tool_call {
    struct mcp *mcp;
    struct server *server;
    uint64_t call;
    char *tool;
    bool structured, for_method; /* a method's answer is the result itself, as JSON */
    json_object *arguments, *source;
};

static void call_free(struct tool_call *c)
{
    json_object_put(c->arguments);
    json_object_put(c->source);
    free(c->tool);
    free(c);
}

static void call_answered(void *owner, json_object *result, const char *error)
{
    struct tool_call *c = owner;
    if (error)
        chela_end(c->mcp->in, c->call, CHELA_E_OTHER, error);
    else if (c->for_method)
        chela_end(c->mcp->in, c->call, CHELA_OK, chela_json_text(result, NULL));
    else
        result_end(c->mcp, c->call, result, c->structured);
    call_free(c);
}

static void call_start(void *owner, const char *error)
{
    struct tool_call *c = owner;
    struct server *s = c->server;
    if (error) {
        chela_end(c->mcp->in, c->call, CHELA_E_GONE, error);
        call_free(c);
        return;
    }
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "name", c->tool);
    chela_json_put(params, "arguments", json_object_get(c->arguments));
    struct request *r = rpc_request(
        s, "tools/call", params, (uint64_t)server_number(s, "request_timeout"), call_answered, c);
    r->call = c->call;
    r->source = json_object_get(c->source);
}

static struct mcp_tool *find(struct mcp *m, struct chela_str name, struct server **ret)
{
    for (size_t i = 0; i < m->count; i++)
        for (size_t k = 0; k < m->servers[i].table_count; k++)
            if (chela_str_is(name, m->servers[i].table[k].public_name)) {
                *ret = &m->servers[i];
                return &m->servers[i].table[k];
            }
    return NULL;
}

static void begin_call(struct mcp *m, struct server *s, uint64_t call, const char *tool,
                       bool structured, json_object *arguments, json_object *source)
{
    struct tool_call *c = need(calloc(1, sizeof *c));
    c->mcp = m;
    c->server = s;
    c->call = call;
    c->tool = need(strdup(tool));
    c->structured = structured;
    c->arguments = arguments;
    c->source = source;
    c->for_method = source == NULL;
    server_want(s, SERVER_IS_READY, call, call_start, c);
}

void tools_run(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct mcp *m = mcp_of(in);
    struct server *s = NULL;
    json_object *arguments = NULL, *source = NULL;
    if (resources_run(in, r))
        return;
    struct mcp_tool *t = find(m, r->name, &s);
    if (!t ||
        chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &arguments, NULL) < 0) {
        chela_end(in, r->h.call, CHELA_E_NOT_FOUND, "the server no longer has this tool");
        return;
    }
    chela_json_parse(r->source.s, (size_t)r->source.n, NULL, &source, NULL);
    if (!source)
        source = chela_json_new_object();
    begin_call(m, s, r->h.call, t->name, t->structured, arguments, source);
}

void tools_call_method(struct chela_inst *in, uint64_t call, json_object *params)
{
    struct mcp *m = mcp_of(in);
    const char *server = chela_json_string(params, "server", NULL),
               *tool = chela_json_string(params, "tool", NULL);
    struct server *s = mcp_server(m, server);
    json_object *arguments = chela_json_object(params, "arguments");
    if (!s || !tool) {
        chela_end(in, call, CHELA_E_NOT_FOUND, "there is no such server, or no tool was named");
        return;
    }
    begin_call(m, s, call, tool, false,
               arguments ? json_object_get(arguments) : chela_json_new_object(), NULL);
}

/* The call is among the requests of a server, or still waits for one. */
bool tools_cancel(struct mcp *m, uint64_t call)
{
    static const char why[] = "the call was cancelled";
    for (size_t i = 0; i < m->count; i++)
        for (struct request *r = m->servers[i].requests; r; r = r->next) {
            if (r->call != call)
                continue;
            request_fn *fn = r->fn;
            void *owner = r->owner;
            rpc_cancel(r, why);
            if (fn)
                fn(owner, NULL, why);
            return true;
        }
    for (size_t i = 0; i < m->count; i++)
        if (server_cancel(&m->servers[i], call, why))
            return true;
    return false;
}

void tools_prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct server *s = NULL;
    struct mcp_tool *t = find(mcp_of(in), r->name, &s);
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    if (t) {
        json_object *extra = chela_json_new_object();
        char *text = format("%s of the server %s: %.*s", t->name, s->name,
                            (int)(r->arguments.n > 1000 ? 1000 : r->arguments.n), r->arguments.s);
        chela_json_put_string(extra, "summary", text, strlen(text));
        chela_json_put_text(extra, "kind", t->public_name);
        d.extra = chela_s(chela_json_text(extra, NULL));
        in->host->answer->decide(in, &d);
        json_object_put(extra);
        free(text);
        return;
    }
    in->host->answer->decide(in, &d);
}
