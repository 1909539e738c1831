/*
 * The life of one server: started when it is wanted, greeted, kept while it is used, started anew
 * with growing pauses when it ends. One connection serves all sessions. Called by the other files;
 * calls the transports.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum {
    BACKOFF_FIRST_MS = 1000,
    BACKOFF_MOST_MS = 60000,
    STEADY_MS = 60000, /* who ran that long starts with short pauses again */
    LOGIN_MS = 300000
};

struct waiter {
    struct waiter *next;
    enum server_wish wish;
    uint64_t call;
    server_fn *fn;
    void *owner;
};

const char *server_state_name(const struct server *s)
{
    static const char *const names[] = {"off",   "starting",   "ready",
                                        "login", "restarting", "stopped"};
    return names[s->state];
}

static uint64_t timer(struct server *s, uint64_t ms, chela_callback *fn)
{
    return s->mcp->in->host->local->timer(s->mcp->in, ms, fn, s);
}

static void timer_stop(struct server *s, uint64_t *handle)
{
    s->mcp->in->host->local->timer_stop(s->mcp->in, *handle);
    *handle = 0;
}

void server_open(struct mcp *m, struct server *s, unsigned index)
{
    s->mcp = m;
    s->index = index;
    s->name = text_of(server_option(s, "name"));
    s->url = text_of(server_option(s, "url"));
    s->transport = !*s->url                                             ? TRANSPORT_STDIO
                   : chela_str_is(server_option(s, "transport"), "sse") ? TRANSPORT_SSE
                                                                        : TRANSPORT_HTTP;
}

void server_close(struct server *s)
{
    tools_clear(s);
    oauth_free(s);
    json_object_put(s->capabilities);
    json_object_put(s->tools);
    json_object_put(s->prompts);
    json_object_put(s->prompt_table);
    free(s->name);
    free(s->url);
    free(s->why);
    free(s->line);
    free(s->errors);
    free(s->session);
    free(s->endpoint);
    free(s->stream_id);
    free(s->instructions);
    free(s->title);
}

/* ---- who waits ---- */

/* Takes the waiters out whose wish is fulfilled (all, after an error), then tells them: what they
 * do may add others. */
static void tell_waiters(struct server *s, const char *error)
{
    struct waiter *told = NULL, **last = &told;
    for (struct waiter **at = &s->waiters; *at;) {
        struct waiter *w = *at;
        if (!error && w->wish == SERVER_IS_LISTED && s->refreshing) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = NULL;
        *last = w;
        last = &w->next;
    }
    while (told) {
        struct waiter *next = told->next;
        told->fn(told->owner, error);
        free(told);
        told = next;
    }
}

void server_listed(struct server *s)
{
    if (s->state == SERVER_READY)
        tell_waiters(s, NULL);
}

bool server_cancel(struct server *s, uint64_t call, const char *why)
{
    for (struct waiter **at = &s->waiters; *at; at = &(*at)->next) {
        struct waiter *w = *at;
        if (w->call != call)
            continue;
        *at = w->next;
        w->fn(w->owner, why);
        free(w);
        return true;
    }
    return false;
}

/* ---- the greeting ---- */

static void idle_over(struct chela_inst *in, void *arg)
{
    struct server *s = arg;
    (void)in;
    s->idle_timer = 0;
    if (s->state != SERVER_READY || s->requests) {
        server_used(s);
        return;
    }
    mcp_log(s->mcp, CHELA_INFO, "%s was not used for a while: it is stopped", s->name);
    server_stop(s);
    s->state = SERVER_OFF;
}

void server_used(struct server *s)
{
    int64_t ms = server_number(s, "idle");
    timer_stop(s, &s->idle_timer);
    if (ms > 0 && s->state == SERVER_READY)
        s->idle_timer = timer(s, (uint64_t)ms, idle_over);
}

static void set_level(struct server *s)
{
    if (!chela_json_has(s->capabilities, "logging"))
        return;
    json_object *params = chela_json_new_object();
    struct chela_str level = server_option(s, "log_level");
    chela_json_put_string(params, "level", level.s, (size_t)level.n);
    rpc_request(s, "logging/setLevel", params, 30000, NULL, NULL);
}

static void hello_answered(void *owner, json_object *result, const char *error)
{
    struct server *s = owner;
    const char *name = chela_json_string(result, "protocolVersion", NULL);
    const struct version *v = version_find(name);
    if (error || !v) {
        char *why = error ? format("%s", error)
                          : format("it speaks version %s of the protocol, which we don't",
                                   name ? name : "?");
        if (s->state == SERVER_STARTING) /* else it is known to be gone */
            server_lost(s, why);
        free(why);
        return;
    }
    timer_stop(s, &s->start_timer);
    s->version = v;
    json_object_put(s->capabilities);
    s->capabilities = json_object_get(chela_json_object(result, "capabilities"));
    if (!s->capabilities)
        s->capabilities = chela_json_new_object();
    s->has_resources = chela_json_has(s->capabilities, "resources");
    const char *instructions = chela_json_string(result, "instructions", NULL);
    const char *title = chela_json_string(chela_json_object(result, "serverInfo"), "name", NULL);
    free(s->instructions);
    free(s->title);
    s->instructions = instructions ? need(strdup(instructions)) : NULL;
    s->title = title ? need(strdup(title)) : NULL;
    s->state = SERVER_READY;
    s->ready_ms = s->mcp->in->host->local->ticks_ms(s->mcp->in);
    free(s->why);
    s->why = NULL;
    mcp_log(s->mcp, CHELA_INFO, "%s is ready (%s, version %s)", s->name, title ? title : "?",
            v->name);
    rpc_notify(s, "notifications/initialized", NULL);
    if (s->transport != TRANSPORT_STDIO)
        http_ready(s);
    set_level(s);
    resources_renew(s);
    tools_refresh(s);
    server_used(s);
    tell_waiters(s, NULL);
}

static void start_late(struct chela_inst *in, void *arg)
{
    struct server *s = arg;
    (void)in;
    s->start_timer = 0;
    server_lost(s, "it was not ready in time");
}

static void greet(void *owner, const char *error)
{
    struct server *s = owner;
    (void)error;
    if (s->state == SERVER_STARTING)
        rpc_request(s, "initialize", version_hello(s), 0, hello_answered, s);
}

static void start(struct server *s)
{
    timer_stop(s, &s->state_timer);
    s->state = SERVER_STARTING;
    s->version = NULL;
    json_object_put(s->capabilities);
    s->capabilities = NULL;
    s->start_timer = timer(s, (uint64_t)server_number(s, "connect_timeout"), start_late);
    if (s->transport == TRANSPORT_STDIO) {
        stdio_start(s);
        greet(s, NULL);
    } else if (s->transport == TRANSPORT_SSE) {
        http_start(s); /* which greets once it knows where to post */
    } else {
        oauth_load(s, greet, s);
    }
}

void server_greet(struct server *s)
{
    greet(s, NULL);
}

void server_want(struct server *s, enum server_wish wish, uint64_t call, server_fn *fn, void *owner)
{
    if (s->state == SERVER_STOPPED) {
        if (fn)
            fn(owner, "it is being stopped");
        return;
    }
    if (s->state == SERVER_READY)
        server_used(s);
    if (s->state == SERVER_READY && !(wish == SERVER_IS_LISTED && s->refreshing)) {
        if (fn)
            fn(owner, NULL);
        return;
    }
    if (fn) {
        struct waiter *w = need(calloc(1, sizeof *w));
        w->wish = wish;
        w->call = call;
        w->fn = fn;
        w->owner = owner;
        w->next = s->waiters;
        s->waiters = w;
    }
    if (s->state == SERVER_OFF || s->state == SERVER_BACKOFF)
        start(s);
}

/* ---- the end ---- */

static void disconnect(struct server *s)
{
    timer_stop(s, &s->start_timer);
    timer_stop(s, &s->idle_timer);
    timer_stop(s, &s->state_timer);
    if (s->transport == TRANSPORT_STDIO)
        stdio_stop(s);
    else
        http_stop(s);
    for (struct io *io = s->mcp->ios; io; io = io->next)
        if (io->server == s && !io->beyond)
            io_forget(io);
    s->listing = 0;
    s->refreshing = s->refresh_again = false;
}

void server_stop(struct server *s)
{
    s->state = SERVER_STOPPED;
    rpc_end_all(s, "the server was stopped");
    question_drop(s->mcp, s);
    disconnect(s);
    tell_waiters(s, "the server was stopped");
}

static void backoff_over(struct chela_inst *in, void *arg)
{
    struct server *s = arg;
    (void)in;
    s->state_timer = 0;
    if (s->state == SERVER_BACKOFF)
        start(s);
}

void server_lost(struct server *s, const char *why)
{
    struct mcp *m = s->mcp;
    if (s->state == SERVER_STOPPED || s->state == SERVER_OFF)
        return;
    uint64_t now = m->in->host->local->ticks_ms(m->in), wait = BACKOFF_FIRST_MS;
    if (s->state == SERVER_READY && now - s->ready_ms > STEADY_MS)
        s->failures = 0;
    for (unsigned i = 0; i < s->failures && wait < BACKOFF_MOST_MS; i++)
        wait *= 2;
    wait = wait < BACKOFF_MOST_MS ? wait : BACKOFF_MOST_MS;
    s->failures++;
    s->state = SERVER_BACKOFF;
    char *text = format("%s: %s", s->name, why);
    free(s->why);
    s->why = need(strdup(why));
    mcp_log(m, CHELA_WARN, "%s; started again in %llu s", text, (unsigned long long)wait / 1000);
    question_drop(m, s);
    disconnect(s);
    rpc_end_all(s, text);
    tell_waiters(s, text);
    free(text);
    if (s->state == SERVER_BACKOFF && !m->closing)
        s->state_timer = timer(s, wait, backoff_over);
}

void server_give_up(struct server *s, const char *why)
{
    char *text = format("%s: %s", s->name, why);
    if (s->state != SERVER_STOPPED)
        s->state = SERVER_OFF;
    free(s->why);
    s->why = need(strdup(why));
    mcp_log(s->mcp, CHELA_WARN, "%s", text);
    question_drop(s->mcp, s);
    disconnect(s);
    rpc_end_all(s, text);
    tell_waiters(s, text);
    free(text);
}

/* ---- a login in between ---- */

static void login_late(struct chela_inst *in, void *arg)
{
    struct server *s = arg;
    (void)in;
    s->state_timer = 0;
    char *text = format("%s wants a login first: chela mcp login %s", s->name, s->name);
    tell_waiters(s, text);
    rpc_end_all(s, text);
    free(text);
}

void server_needs_login(struct server *s, const char *why)
{
    timer_stop(s, &s->start_timer);
    timer_stop(s, &s->state_timer);
    free(s->why);
    s->why = need(strdup(why));
    s->state = SERVER_LOGIN;
    s->state_timer = timer(s, LOGIN_MS, login_late);
    mcp_log(s->mcp, CHELA_WARN, "%s: %s", s->name, why);
}

void server_retry_now(struct server *s)
{
    if (s->state != SERVER_LOGIN)
        return;
    timer_stop(s, &s->state_timer);
    free(s->why);
    s->why = NULL;
    if (s->capabilities) {
        s->state = SERVER_READY;
        http_resend(s);
        tell_waiters(s, NULL);
    } else if (s->requests) {
        s->state = SERVER_STARTING;
        s->start_timer = timer(s, (uint64_t)server_number(s, "connect_timeout"), start_late);
        http_resend(s);
    } else {
        start(s);
    }
}
