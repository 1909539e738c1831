/*
 * tool_mcp: tools, resources and prompts of Model Context Protocol servers, as child processes or
 * by HTTP. This file owns the instance: options, start and stop, and the calls to the host, each
 * found again by its tag. What a server is, stands in server.c.
 */
#include "mcp.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct chela_option env_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "name of the variable", NULL},
    {"value", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL, "its value", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option header_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "name of the header", NULL},
    {"value", CHELA_STRING, CHELA_SECRET, NULL, "its value; goes to the server only", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option transports[] = {
    {"http", 0, 0, NULL, "streamable HTTP; falls back to sse by itself", NULL},
    {"sse", 0, 0, NULL, "HTTP with server-sent events, as before 2025-03-26", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option answers[] = {
    {"ask", 0, 0, NULL, "a person is asked each time", NULL},
    {"allow", 0, 0, NULL, "done without asking", NULL},
    {"deny", 0, 0, NULL, "not offered to the server", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option asks[] = {
    {"ask", 0, 0, NULL, "a person is asked each time", NULL},
    {"deny", 0, 0, NULL, "not offered to the server", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option levels[] = {
    {"debug", 0, 0, NULL, "", NULL},  {"info", 0, 0, NULL, "", NULL},
    {"notice", 0, 0, NULL, "", NULL}, {"warning", 0, 0, NULL, "", NULL},
    {"error", 0, 0, NULL, "", NULL},  {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option grants[] = {
    {"authorization_code", 0, 0, NULL, "a person logs in with a browser", NULL},
    {"client_credentials", 0, 0, NULL, "client_id and client_secret are the login", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option server_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "its tools are called NAME__TOOL", NULL},
    {"command", CHELA_STRING, 0, NULL, "program to start, spoken to by its standard input", NULL},
    {"args", CHELA_LIST, 0, NULL, "arguments of the program", NULL},
    {"env", CHELA_ITEMS, 0, NULL, "variables of its environment", env_items},
    {"cwd", CHELA_STRING, 0, NULL, "folder that it starts in", NULL},
    {"url", CHELA_STRING, CHELA_URL, NULL, "a server by HTTP instead of a program", NULL},
    {"transport", CHELA_STRING, 0, "http", "how a server by url is spoken to", transports},
    {"headers", CHELA_ITEMS, 0, NULL, "headers of each request", header_items},
    {"enabled", CHELA_BOOL, 0, "true", "false: it is not started", NULL},
    {"include", CHELA_LIST, 0, NULL, "only tools with these names (globs)", NULL},
    {"exclude", CHELA_LIST, 0, NULL, "no tools with these names (globs)", NULL},
    {"trusted", CHELA_BOOL, 0, "false",
     "what it says of its tools (read only, destructive) decides the risk; else all are medium",
     NULL},
    {"deferred", CHELA_BOOL, 0, "false", "its tools are found by search only", NULL},
    {"roots", CHELA_LIST, 0, NULL, "folders that it is told to work in", NULL},
    {"sampling", CHELA_STRING, 0, "ask", "it may ask a model through us", answers},
    {"elicitation", CHELA_STRING, 0, "ask", "it may ask the person", asks},
    {"log_level", CHELA_STRING, 0, "info", "what it shall log", levels},
    {"connect_timeout", CHELA_DURATION, 0, "60s", "until it is ready", NULL},
    {"request_timeout", CHELA_DURATION, 0, "120s", "without an answer or progress", NULL},
    {"idle", CHELA_DURATION, 0, "10m", "stopped after that long unused; 0: never", NULL},
    {"client_id", CHELA_STRING, 0, NULL, "OAuth: of a client that is registered there", NULL},
    {"client_secret", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL, "OAuth: its secret", NULL},
    {"client_metadata", CHELA_STRING, 0, NULL,
     "OAuth: URL of a client metadata document, for servers that take one as the client's id",
     NULL},
    {"grant", CHELA_STRING, 0, "authorization_code", "OAuth: how a token is got", grants},
    {"scope", CHELA_STRING, 0, NULL, "OAuth: scope to ask for, instead of what the server names",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"servers", CHELA_ITEMS, 0, NULL, "the servers", server_items},
    {"browser", CHELA_STRING, 0, NULL,
     "program that is started with the address of a login page, e.g. \"xdg-open\"", NULL},
    {"question_timeout", CHELA_DURATION, 0, "10m", "a question of a server waits so long", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* ---- helpers of all files ---- */

void *need(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

char *text_of(struct chela_str s)
{
    return need(strndup(s.n ? s.s : "", (size_t)s.n));
}

char *format(const char *f, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, f);
    if (vasprintf(&text, f, ap) < 0)
        abort();
    va_end(ap);
    return text;
}

void mcp_log(struct mcp *m, uint32_t level, const char *f, ...)
{
    char line[2400];
    va_list ap;
    va_start(ap, f);
    vsnprintf(line, sizeof line, f, ap);
    va_end(ap);
    chela_log(m->in, level, line);
}

struct server *mcp_server(struct mcp *m, const char *name)
{
    for (size_t i = 0; name && i < m->count; i++)
        if (strcmp(m->servers[i].name, name) == 0)
            return &m->servers[i];
    return NULL;
}

static void path_of(const struct server *s, const char *name, char path[128])
{
    snprintf(path, 128, "servers.%u.%s", s->index, name);
}

struct chela_str server_option(const struct server *s, const char *name)
{
    char path[128];
    path_of(s, name, path);
    return chela_option_text(s->mcp->in, path);
}

int64_t server_number(const struct server *s, const char *name)
{
    char path[128];
    path_of(s, name, path);
    return chela_option_number(s->mcp->in, path);
}

/* ---- calls to the host ---- */

struct io *io_new(struct mcp *m, struct server *s, void *owner)
{
    struct io *io = need(calloc(1, sizeof *io));
    io->mcp = m;
    io->server = s;
    io->owner = owner;
    io->call = m->in->host->local->new_call(m->in);
    io->next = m->ios;
    m->ios = io;
    return io;
}

void io_forget(struct io *io)
{
    io->server = NULL;
    chela_cancel(io->mcp->in, io->call);
}

static struct io *io_of(uint64_t tag)
{
    return (struct io *)(uintptr_t)tag;
}

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    struct io *io = io_of(e->h.tag);
    (void)in;
    if (io->event)
        io->event(io, e);
}

static void output(struct chela_inst *in, const struct chela_output *o)
{
    struct io *io = io_of(o->h.tag);
    (void)in;
    if (io->output)
        io->output(io, o);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct io *io = io_of(d->h.tag);
    struct mcp *m = mcp_of(in);
    struct io **at = &m->ios;
    while (*at != io)
        at = &(*at)->next;
    *at = io->next;
    if (io->done)
        io->done(io, d);
    free(io);
    mcp_check_stopped(m);
}

/* ---- the instance ---- */

static int32_t check_server(struct chela_inst *in, const struct server *s)
{
    char line[400];
    bool command = server_option(s, "command").n > 0, url = server_option(s, "url").n > 0;
    const char *bad = NULL;
    if (command == url)
        bad = "it needs either a command or a url";
    if (!*s->name || strspn(s->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-") != strlen(s->name))
        bad = "its name may hold letters, digits, '_' and '-' only";
    for (size_t i = 0; i < s->index; i++)
        if (strcmp(s->mcp->servers[i].name, s->name) == 0)
            bad = "another server has this name";
    if (!bad)
        return CHELA_OK;
    snprintf(line, sizeof line, "servers[%u] \"%.100s\": %s", s->index, s->name, bad);
    chela_log(in, CHELA_ERR, line);
    return CHELA_E_ARGS;
}

static void close_it(struct chela_inst *in)
{
    struct mcp *m = mcp_of(in);
    for (size_t i = 0; i < m->count; i++)
        server_close(&m->servers[i]);
    json_object_put(m->subscriptions);
    json_object_put(m->updates);
    free(m->base);
    free(m->servers);
    free(m);
    in->self = NULL;
}

static int32_t open_it(struct chela_inst *in)
{
    struct mcp *m = need(calloc(1, sizeof *m));
    int32_t result = CHELA_OK;
    m->in = in;
    m->subscriptions = chela_json_new_object();
    m->updates = chela_json_new_object();
    in->self = m;
    m->count = (size_t)chela_option_number(in, "servers");
    m->servers = need(calloc(m->count + 1, sizeof *m->servers));
    for (size_t i = 0; i < m->count; i++)
        server_open(m, &m->servers[i], (unsigned)i);
    for (size_t i = 0; i < m->count && result == CHELA_OK; i++)
        result = check_server(in, &m->servers[i]);
    if (result != CHELA_OK)
        close_it(in);
    return result;
}

/* The gateway's own address, for the way back from a login page. */
static void status_came(struct io *io, const struct chela_done *d)
{
    struct mcp *m = io->mcp;
    json_object *o = NULL;
    if (chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) == 0) {
        m->base = format("http://127.0.0.1:%d", (int)chela_json_int(o, "port", 18789));
        json_object_put(o);
    }
    for (size_t i = 0; i < m->count && !m->closing; i++)
        if (server_number(&m->servers[i], "enabled"))
            server_want(&m->servers[i], SERVER_IS_READY, 0, NULL, NULL);
}

static void ask_status(struct chela_inst *in, void *arg)
{
    struct mcp *m = arg;
    struct io *io = io_new(m, NULL, NULL);
    io->done = status_came;
    CHELA_ARGS(chela_invoke, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.name = chela_s("status");
    in->host->chat->invoke(in, &a);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct mcp *m = mcp_of(in);
    static const struct chela_pair route[] = {
        {CHELA_LIT("/mcp/callback"), CHELA_LIT("{\"methods\":[\"GET\"],\"auth\":\"none\"}")}};
    static const struct chela_pair section[] = {
        {CHELA_LIT("mcp_updates"), CHELA_LIT("{\"order\":50,\"volatile\":true}")}};
    chela_publish_list(in, CHELA_PROMPTS, 1, section, 1);
    methods_publish(m);
    tools_publish(m);
    prompts_publish(m);
    chela_publish_list(in, CHELA_ROUTES, 1, route, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
    ask_status(in, m);
}

void mcp_check_stopped(struct mcp *m)
{
    if (!m->stop_call || m->ios)
        return;
    uint64_t call = m->stop_call;
    m->stop_call = 0;
    chela_end(m->in, call, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct mcp *m = mcp_of(in);
    m->closing = true;
    m->stop_call = a->h.call;
    for (size_t i = 0; i < m->count; i++)
        server_stop(&m->servers[i]);
    question_drop(m, NULL);
    mcp_check_stopped(m);
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    tools_cancel(mcp_of(in), a->h.call);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = tools_prepare, .run = tools_run};

static const struct chela_service service = {
    .size = (uint32_t)sizeof(struct chela_service),
    .request = oauth_callback,
    .method = methods_run,
    .command = prompts_command,
    .prompt = prompts_section,
};

static const struct chela_iface mcp = {
    CHELA_IFACE("mcp", "servers of the Model Context Protocol", 0, options),
    .open = open_it,
    .close = close_it,
    .start = start,
    .stop = stop,
    .cancel = cancel,
    .http = http,
    .output = output,
    .done = done,
    .tool = &tool,
    .service = &service,
};

CHELA_PLUGIN(tool_mcp, "0.9.0", "tools of Model Context Protocol servers", "MIT", "", &mcp);
