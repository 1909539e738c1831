/*
 * The gateway methods behind `chela mcp`: list, probe, call, login, logout, questions, answer.
 * Called by the host.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

void methods_publish(struct mcp *m)
{
    static const struct chela_pair methods[] = {
        {CHELA_LIT("mcp.list"), CHELA_LIT("{\"scope\":\"operator.read\"}")},
        {CHELA_LIT("mcp.probe"), CHELA_LIT("{\"scope\":\"operator.admin\"}")},
        {CHELA_LIT("mcp.call"), CHELA_LIT("{\"scope\":\"operator.admin\"}")},
        {CHELA_LIT("mcp.login"), CHELA_LIT("{\"scope\":\"operator.admin\"}")},
        {CHELA_LIT("mcp.logout"), CHELA_LIT("{\"scope\":\"operator.admin\"}")},
        {CHELA_LIT("mcp.questions"), CHELA_LIT("{\"scope\":\"operator.approvals\"}")},
        {CHELA_LIT("mcp.answer"), CHELA_LIT("{\"scope\":\"operator.approvals\"}")},
    };
    chela_publish_list(m->in, CHELA_METHODS, 1, methods, sizeof methods / sizeof methods[0]);
}

static void end_json(struct chela_inst *in, uint64_t call, json_object *o)
{
    CHELA_ARGS(chela_done, d, call);
    size_t n;
    const char *text = chela_json_text(o, &n);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    json_object_put(o);
}

static json_object *describe(struct server *s, bool tools)
{
    json_object *o = chela_json_new_object();
    static const char *const transports[] = {"stdio", "http", "sse"};
    chela_json_put_text(o, "name", s->name);
    chela_json_put_text(o, "state", server_state_name(s));
    chela_json_put_text(o, "transport", transports[s->transport]);
    if (s->why)
        chela_json_put_text(o, "why", s->why);
    if (s->version)
        chela_json_put_text(o, "version", s->version->name);
    if (s->title)
        chela_json_put_text(o, "server", s->title);
    const char *login = oauth_login_url(s);
    if (login)
        chela_json_put_text(o, "login", login);
    chela_json_put_int(o, "tools", (int64_t)s->table_count);
    chela_json_put_int(o, "prompts", (int64_t)chela_json_length(s->prompt_table));
    if (!tools)
        return o;
    if (s->instructions)
        chela_json_put_text(o, "instructions", s->instructions);
    if (s->capabilities)
        chela_json_put(o, "capabilities", json_object_get(s->capabilities));
    json_object *list = chela_json_put_array(o, "toolList");
    for (size_t i = 0; i < s->table_count; i++) {
        json_object *manifest = NULL;
        if (chela_json_parse(s->table[i].manifest, strlen(s->table[i].manifest), NULL, &manifest,
                             NULL) == 0)
            chela_json_push(list, manifest);
    }
    return o;
}

static void list(struct chela_inst *in, uint64_t call)
{
    struct mcp *m = mcp_of(in);
    json_object *o = chela_json_new_object(), *servers = chela_json_put_array(o, "servers");
    for (size_t i = 0; i < m->count; i++)
        chela_json_push(servers, describe(&m->servers[i], false));
    end_json(in, call, o);
}

struct probe {
    struct server *server;
    uint64_t call;
};

static void probed(void *owner, const char *error)
{
    struct probe *p = owner;
    struct chela_inst *in = p->server->mcp->in;
    if (error)
        chela_end(in, p->call, CHELA_E_OTHER, error);
    else
        end_json(in, p->call, describe(p->server, true));
    free(p);
}

static void probe(struct server *s, uint64_t call)
{
    struct probe *p = need(calloc(1, sizeof *p));
    p->server = s;
    p->call = call;
    server_want(s, SERVER_IS_LISTED, call, probed, p);
}

static void login(struct server *s, uint64_t call)
{
    json_object *o = chela_json_new_object();
    const char *url = oauth_login_url(s);
    chela_json_put_text(o, "state", server_state_name(s));
    if (url)
        chela_json_put_text(o, "url", url);
    if (s->state == SERVER_BACKOFF || s->state == SERVER_OFF)
        server_want(s, SERVER_IS_READY, 0, NULL, NULL);
    end_json(s->mcp->in, call, o);
}

static void answer(struct chela_inst *in, uint64_t call, json_object *params)
{
    const char *id = chela_json_string(params, "id", NULL),
               *action = chela_json_string(params, "action", NULL), *error = NULL;
    if (!id || !action ||
        question_answer(mcp_of(in), id, action, chela_json_object(params, "content"), &error) < 0)
        chela_end(in, call, CHELA_E_NOT_FOUND, error ? error : "it takes an id and an action");
    else
        chela_end(in, call, CHELA_OK, "{\"ok\":true}");
}

/* A tool's result is text: as JSON for a method. */
static void call_tool(struct chela_inst *in, const struct chela_method *q, json_object *params)
{
    tools_call_method(in, q->h.call, params);
}

void methods_run(struct chela_inst *in, const struct chela_method *q)
{
    struct mcp *m = mcp_of(in);
    json_object *params = NULL;
    chela_json_parse(q->params.s, (size_t)q->params.n, NULL, &params, NULL);
    struct server *s = mcp_server(m, chela_json_string(params, "server", NULL));
    if (chela_str_is(q->name, "mcp.list")) {
        list(in, q->h.call);
    } else if (chela_str_is(q->name, "mcp.questions")) {
        json_object *o = chela_json_new_object();
        question_list(m, chela_json_put_array(o, "questions"));
        end_json(in, q->h.call, o);
    } else if (chela_str_is(q->name, "mcp.answer")) {
        answer(in, q->h.call, params);
    } else if (!s) {
        chela_end(in, q->h.call, CHELA_E_NOT_FOUND, "there is no such MCP server");
    } else if (chela_str_is(q->name, "mcp.probe")) {
        probe(s, q->h.call);
    } else if (chela_str_is(q->name, "mcp.call")) {
        call_tool(in, q, params);
    } else if (chela_str_is(q->name, "mcp.login")) {
        login(s, q->h.call);
    } else {
        oauth_logout(s);
        chela_end(in, q->h.call, CHELA_OK, "{\"ok\":true}");
    }
    json_object_put(params);
}
