/*
 * The tools that look at conversations, write to another one, and to chats of channels: each is one
 * or two methods of the gateway, and their answer in words. Called by tool_sessions.c.
 */
#include "sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_MOST = 2000, LIST_MOST = 100 };

struct asked {
    uint64_t call;
    int kind;
    bool tools; /* history: with what tools said */
    char *agent, *session, *run;
    uint64_t timeout_ms;
};

static struct asked *asked_new(const struct chela_tool_run *r, int kind)
{
    struct asked *q = chela_need(calloc(1, sizeof *q));
    q->call = r->h.call;
    q->kind = kind;
    q->agent = chela_copy(r->agent);
    q->session = chela_copy(r->session);
    return q;
}

static void asked_free(struct asked *q)
{
    free(q->agent);
    free(q->session);
    free(q->run);
    free(q);
}

static size_t cut_of(const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most)
        return n;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* ---- answers in words ---- */

static void put_when(FILE *out, int64_t ms)
{
    time_t at = (time_t)(ms / 1000);
    struct tm t;
    char text[32] = "";
    if (gmtime_r(&at, &t))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &t);
    fputs(text, out);
}

static void put_session(FILE *out, json_object *s)
{
    const char *label = chela_member(s, "label"), *channel = chela_member(s, "channel");
    fprintf(out, "%s", chela_member(s, "key"));
    if (*label)
        fprintf(out, " \"%s\"", label);
    if (*channel)
        fprintf(out, " on %s", channel);
    fputs(", last used ", out);
    put_when(out, chela_json_int(s, "updatedAt", 0));
    fputs(chela_json_bool(s, "hasActiveRun", false) ? ", working now" : "", out);
}

static void put_list(struct sessions *s, const struct asked *q, FILE *out, json_object *payload)
{
    struct chela_tool_run r = {0};
    json_object *list = chela_json_array(payload, "sessions");
    r.session = chela_s(q->session);
    r.agent = chela_s(q->agent);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        if (hidden(s, &r, chela_member(o, "key")))
            continue;
        put_session(out, o);
        fputs(strcmp(chela_member(o, "key"), q->session) == 0 ? " (this conversation)\n" : "\n",
              out);
    }
}

static void put_text(FILE *out, const char *role, const char *text)
{
    size_t n = cut_of(text, TEXT_MOST);
    fprintf(out, "%s: %.*s%s\n", role, (int)n, text, text[n] ? " [...]" : "");
}

static void put_history(const struct asked *q, FILE *out, json_object *payload)
{
    json_object *list = chela_json_array(payload, "messages");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *m = chela_json_at(list, i), *parts = chela_json_get(m, "content");
        const char *role = chela_member(m, "role"), *text = chela_json_as_string(parts, NULL);
        if (strcmp(role, "toolResult") == 0 && !q->tools)
            continue;
        if (text)
            put_text(out, role, text);
        for (size_t k = 0; !text && k < chela_json_length(parts); k++) {
            json_object *part = chela_json_at(parts, k);
            if (strcmp(chela_member(part, "type"), "text") == 0)
                put_text(out, role, chela_member(part, "text"));
            else if (q->tools && strcmp(chela_member(part, "type"), "toolCall") == 0)
                fprintf(out, "%s calls %s %s\n", role, chela_member(part, "name"),
                        chela_json_text(chela_json_object(part, "arguments"), NULL));
        }
    }
}

static void put_status(struct sessions *s, FILE *out, json_object *payload)
{
    json_object *o = chela_json_object(payload, "session");
    fputs("Now: ", out);
    put_when(out, (int64_t)s->in->host->local->now_ms(s->in));
    fputs("\nSession: ", out);
    if (!o) {
        fputs("nothing was said in it yet", out);
        return;
    }
    put_session(out, o);
    if (*chela_member(o, "model"))
        fprintf(out, "\nModel: %s/%s", chela_member(o, "modelProvider"), chela_member(o, "model"));
    int64_t total = chela_json_int(o, "totalTokens", 0);
    if (total)
        fprintf(out, "\nTokens: %lld", (long long)total);
}

static void put_answer(FILE *out, json_object *payload)
{
    const char *status = chela_member(payload, "status");
    char *text = chela_answer_text(payload);
    if (text)
        fputs(text, out);
    else if (strcmp(status, "ok") == 0)
        fputs("(It ended without an answer.)", out);
    if (strcmp(status, "timeout") == 0)
        fputs("No answer yet; it goes on by itself. Look with sessions_history.", out);
    else if (strcmp(status, "ok") != 0)
        fprintf(out, "%s[%s: %s]", text ? "\n" : "", status, chela_member(payload, "error"));
    free(text);
}

static void answered(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    struct asked *q = owner;
    json_object *payload = chela_object_of(d->text);
    char *text = NULL;
    size_t n;
    FILE *out = chela_need(open_memstream(&text, &n));
    if (d->error != CHELA_OK)
        fprintf(out, "%.*s", (int)d->text.n, d->text.n ? d->text.s : "it failed");
    else if (q->kind == LIST)
        put_list(s, q, out, payload);
    else if (q->kind == HISTORY)
        put_history(q, out, payload);
    else if (q->kind == STATUS)
        put_status(s, out, payload);
    else if (q->kind == SEND)
        put_answer(out, payload);
    else
        fputs("Stored; it is on its way.", out);
    fclose(out);
    bool failed = d->error != CHELA_OK ||
                  (q->kind == SEND && strcmp(chela_member(payload, "status"), "error") == 0);
    if (d->error == CHELA_E_CANCELLED)
        chela_end(s->in, q->call, CHELA_E_CANCELLED, text);
    else
        say(s, q->call, n ? text : "(nothing)", failed);
    json_object_put(payload);
    free(text);
    asked_free(q);
}

/* ---- sessions_send ---- */

static void send_stored(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    struct asked *q = owner;
    if (d->error != CHELA_OK) {
        answered(in, q, d);
        return;
    }
    if (q->timeout_ms == 0) {
        say(s, q->call, "Sent; its answer is not waited for.", false);
        asked_free(q);
        return;
    }
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "runId", q->run);
    chela_json_put_int(params, "timeoutMs", (int64_t)q->timeout_ms);
    chela_ask_gateway(s->in, q->call, "agent.wait", params, answered, q);
}

/* The asking conversation's channel and sender count in the other one, too: whoever may not use a
 * tool here can't have it used there. */
static json_object *send_extra(const struct chela_tool_run *r, const char *run)
{
    json_object *extra = chela_json_new_object(),
                *request = chela_json_put_object(extra, "request"),
                *source = chela_object_of(r->source);
    chela_json_put_text(request, "runId", run);
    chela_json_put_text(request, "queueMode", "followup"); /* a turn, and an answer, of its own */
    chela_json_put_bool(request, "suppressCommandInterpretation", true);
    json_object *origin = chela_json_put_object(request, "onBehalfOf");
    chela_json_put_text(origin, "channel", chela_member(source, "channel"));
    chela_json_put_text(origin, "sender", chela_member(source, "sender"));
    json_object_put(source);
    return extra;
}

static void send(struct sessions *s, struct asked *q, const struct chela_tool_run *r,
                 json_object *a)
{
    unsigned hops = hops_of(r->run.s) + 1;
    if (hops > (unsigned)chela_option_number(s->in, "max_hops")) {
        say(s, q->call,
            "Not sent: this message came from a conversation that another one had written to; the "
            "chain is long enough (tools.sessions.max_hops).",
            true);
        asked_free(q);
        return;
    }
    int64_t ms = chela_option_number(s->in, "send_timeout");
    q->timeout_ms = (uint64_t)chela_json_int(a, "timeoutSeconds", ms / 1000) * 1000;
    q->run = chela_format("hop%u-%.*s-%llx", hops, 60, r->call_id.s,
                          (unsigned long long)s->in->host->local->now_ms(s->in));
    const char *key = chela_member(a, "sessionKey");
    char *from = chela_format("from:%s", q->session), *agent = agent_of_key(key);
    char *text = chela_format("[From your conversation %s, not from the person]\n\n%s", q->session,
                              chela_member(a, "message"));
    json_object *extra = send_extra(r, q->run);
    CHELA_ARGS(chela_submit, m, s->in->host->local->new_call(s->in));
    m.h.tag = chela_op_new(send_stored, q);
    m.h.flags = CHELA_OWNER;
    m.kind = chela_s("message");
    m.event = chela_s(q->run);
    m.chat = chela_s(from);
    m.chat_type = CHELA_DIRECT;
    m.sender = chela_s(q->session);
    m.session = chela_s(key);
    m.text = chela_s(text);
    m.extra = chela_s(chela_json_text(extra, NULL));
    s->in->host->chat->submit(s->in, &m);
    json_object_put(extra);
    free(from);
    free(agent);
    free(text);
}

/* ---- message ---- */

static void message(struct sessions *s, struct asked *q, const struct chela_tool_run *r,
                    json_object *a)
{
    static const char *const copied[][3] = {{"channel", "channel", "channel"},
                                            {"target", "chat", "to"},
                                            {"accountId", "account", "accountId"},
                                            {"threadId", "thread", "threadId"}};
    json_object *source = chela_object_of(r->source), *o = chela_json_new_object();
    bool here = !chela_json_has(a, "target") && !chela_json_has(a, "channel");
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        const char *value = chela_json_string(a, copied[i][0], NULL);
        if (!value && (here || i < 2))
            value = chela_json_string(source, copied[i][1], NULL);
        if (value && *value)
            chela_json_put_text(o, copied[i][2], value);
    }
    char *key = chela_format("%.*s-%s-%llx", 60, r->run.s, r->call_id.s,
                             (unsigned long long)s->in->host->local->now_ms(s->in));
    chela_json_put_text(o, "message", chela_member(a, "message"));
    chela_json_put_text(o, "sessionKey", q->session);
    chela_json_put_text(o, "idempotencyKey", key);
    if (!chela_json_has(o, "to"))
        chela_json_put_text(o, "to", "");
    chela_ask_gateway(s->in, q->call, "send", o, answered, q);
    json_object_put(source);
    free(key);
}

/* ---- which ---- */

void calls_run(struct sessions *s, int kind, const struct chela_tool_run *r, json_object *a)
{
    struct asked *q = asked_new(r, kind);
    json_object *o = chela_json_new_object();
    const char *key = chela_json_string(a, "sessionKey", NULL);
    int64_t limit = chela_json_int(a, "limit", 20),
            most = kind == LIST ? LIST_MOST : chela_option_number(s->in, "history_limit");
    q->tools = chela_json_bool(a, "includeTools", false);
    switch (kind) {
    case LIST:
        if (!chela_str_is(chela_option_text(s->in, "visibility"), "all"))
            chela_json_put_text(o, "agentId", q->agent);
        if (chela_json_has(a, "search"))
            chela_json_put_text(o, "search", chela_member(a, "search"));
        chela_json_put_int(o, "limit", limit > most ? most : limit);
        chela_ask_gateway(s->in, q->call, "sessions.list", o, answered, q);
        return;
    case HISTORY:
        chela_json_put_text(o, "sessionKey", key);
        chela_json_put_int(o, "limit", limit > most ? most : limit);
        chela_ask_gateway(s->in, q->call, "chat.history", o, answered, q);
        return;
    case STATUS:
        chela_json_put_text(o, "key", key ? key : q->session);
        chela_ask_gateway(s->in, q->call, "sessions.describe", o, answered, q);
        return;
    case SEND: send(s, q, r, a); break;
    default: message(s, q, r, a); break;
    }
    json_object_put(o);
}
