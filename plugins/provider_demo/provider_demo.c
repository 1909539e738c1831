/*
 * provider_demo: answers without a model and without a network, so that a newcomer sees the real
 * chain, tools and approvals included. It says that it is a demo and never pretends to more.
 */
#include <chela/chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "intent.h"
#include "support/json.h"

static const struct chela_option options[] = {
    {"pace", CHELA_DURATION, CHELA_RELOAD, "12ms",
     "pause between two pieces of an answer; 0 = none", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { PIECE = 12, LONGEST_MS = 3000 };

/* An answer on its way out. */
struct speaking {
    struct speaking *next;
    uint64_t call, timer, pace_ms;
    char *text;
    size_t length, at, piece;
    json_object *tool; /* the call that follows the text, or NULL: {"name","arguments"} */
};

struct demo {
    struct speaking *speaking;
};

static int32_t open(struct chela_inst *in)
{
    in->self = calloc(1, sizeof(struct demo));
    return in->self ? CHELA_OK : CHELA_E_OTHER;
}

static void close(struct chela_inst *in)
{
    free(in->self);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair model = {
        CHELA_LIT("demo"),
        CHELA_LIT("{\"name\":\"demo\",\"context\":32000,\"tools\":true,\"images\":false}")};
    chela_publish_list(in, CHELA_MODELS, 1, &model, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- speaking ---- */

static void forget(struct chela_inst *in, struct speaking *s)
{
    struct demo *d = in->self;
    for (struct speaking **p = &d->speaking; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    in->host->local->timer_stop(in, s->timer);
    json_object_put(s->tool);
    free(s->text);
    free(s);
}

static void finish(struct chela_inst *in, struct speaking *s)
{
    if (s->tool) {
        CHELA_ARGS(chela_tool_call, call, s->call);
        call.h.flags = CHELA_LAST;
        call.name = chela_s(chela_json_string(s->tool, "name", NULL));
        call.arguments = chela_s(chela_json_text(chela_json_object(s->tool, "arguments"), NULL));
        in->host->answer->tool_call(in, &call);
    }
    CHELA_ARGS(chela_usage, usage, s->call);
    usage.out = s->length / 4;
    in->host->answer->usage(in, &usage);
    CHELA_ARGS(chela_done, done, s->call);
    done.extra = chela_s(s->tool ? "{\"stop\":\"tool_calls\",\"model\":\"demo\"}"
                                 : "{\"stop\":\"end\",\"model\":\"demo\"}");
    in->host->answer->done(in, &done);
    forget(in, s);
}

static void speak(struct chela_inst *in, void *arg)
{
    struct speaking *s = arg;
    s->timer = 0;
    do {
        size_t end = s->at + s->piece < s->length ? s->at + s->piece : s->length;
        while (end < s->length && ((unsigned char)s->text[end] & 0xc0) == 0x80)
            end++;
        chela_text_of(in, s->call, s->text + s->at, end - s->at);
        s->at = end;
    } while (s->pace_ms == 0 && s->at < s->length);
    if (s->at < s->length)
        s->timer = in->host->local->timer(in, s->pace_ms, speak, s);
    else
        finish(in, s);
}

static void say(struct chela_inst *in, uint64_t call, char *text, size_t length, json_object *tool)
{
    struct demo *d = in->self;
    struct speaking *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->call = call;
    s->text = text;
    s->length = length;
    s->tool = tool;
    s->pace_ms = (uint64_t)chela_option_number(in, "pace");
    s->piece = PIECE;
    if (s->pace_ms && length / PIECE > LONGEST_MS / s->pace_ms)
        s->piece = (size_t)(length * s->pace_ms / LONGEST_MS) +
                   1; /* a long answer takes no longer than that */
    s->next = d->speaking;
    d->speaking = s;
    if (length == 0)
        finish(in, s);
    else
        speak(in, s);
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    struct demo *d = in->self;
    for (struct speaking *s = d->speaking; s; s = s->next)
        if (s->call == a->h.call) {
            forget(in, s);
            chela_end(in, a->h.call, CHELA_E_CANCELLED, "cancelled");
            return;
        }
}

/* ---- thinking ---- */

/* What the messages hold: the person's last text, the results behind it, whether anything was
 * answered before. */
struct situation {
    json_object *last, *user; /* messages, owned */
    bool answered;
};

static void look(const struct chela_begin *b, struct situation *s)
{
    memset(s, 0, sizeof *s);
    for (uint64_t i = b->messages.n; i-- > 0;) {
        struct chela_str role = b->messages.v[i].name, text = b->messages.v[i].value;
        json_object *o = NULL;
        if (chela_str_is(role, "assistant") && s->user)
            s->answered = true;
        bool wanted = !s->last || (!s->user && chela_str_is(role, "user"));
        if (!wanted || chela_json_parse(text.s, (size_t)text.n, NULL, &o, NULL) < 0)
            continue;
        if (!s->last)
            s->last = json_object_get(o);
        if (!s->user && chela_str_is(role, "user"))
            s->user = json_object_get(o);
        json_object_put(o);
    }
}

static const char *first_text(json_object *message, size_t *n)
{
    json_object *content = chela_json_array(message, "content");
    for (size_t i = 0; i < chela_json_length(content); i++) {
        const char *text = chela_json_string(chela_json_at(content, i), "text", n);
        if (text)
            return text;
    }
    *n = 0;
    return "";
}

static bool offered(const struct chela_begin *b, const char *tool)
{
    for (uint64_t i = 0; i < b->tools.n; i++)
        if (chela_str_is(b->tools.v[i].name, tool))
            return true;
    return false;
}

/* text between single quotes for a shell */
static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

/* The call for an intent, {"name","arguments"}; NULL if it needs none. */
static json_object *call_for(const struct intent *i)
{
    json_object *call = chela_json_new_object(), *arguments = chela_json_new_object();
    const char *name = NULL;
    if (i->kind == INTENT_LIST) {
        name = "list";
        chela_json_put_text(arguments, "path", i->path[0] ? i->path : ".");
    } else if (i->kind == INTENT_READ) {
        name = "read";
        chela_json_put_text(arguments, "path", i->path);
    } else if (i->kind == INTENT_WRITE) {
        name = "write";
        chela_json_put_text(arguments, "path", i->path);
        chela_json_put_text(arguments, "content", i->text);
    } else if (i->kind == INTENT_RUN) {
        name = "exec";
        chela_json_put_text(arguments, "command", i->text);
    } else if (i->kind == INTENT_SEARCH) {
        char *command = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&command, &n);
        if (!out)
            abort();
        fputs("grep -rnI --exclude-dir=.git -e ", out);
        put_quoted(out, i->text);
        fputs(" .", out);
        fclose(out);
        name = "exec";
        chela_json_put_string(arguments, "command", command, n);
        free(command);
    }
    if (!name) {
        json_object_put(call);
        json_object_put(arguments);
        return NULL;
    }
    chela_json_put_text(call, "name", name);
    chela_json_put(call, "arguments", arguments);
    return call;
}

static void answer_after_tools(FILE *out, const struct intent *i, json_object *results)
{
    json_object *content = chela_json_array(results, "content");
    for (size_t k = 0; k < chela_json_length(content); k++) {
        json_object *part = chela_json_at(content, k), *inner = chela_json_get(part, "content");
        size_t n = 0;
        const char *text = chela_json_as_string(inner, &n);
        if (!text)
            text = chela_json_string(chela_json_at(inner, 0), "text", &n);
        answer_result(out, i, text ? text : "", text ? n : 0,
                      chela_json_bool(part, "isError", false));
    }
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct situation now;
    struct intent intent;
    char *text = NULL;
    size_t n = 0, length = 0;
    json_object *call = NULL;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    look(b, &now);
    const char *wish = first_text(now.user, &length),
               *role = chela_json_string(now.last, "role", NULL);
    intent_read(wish, length, &intent);
    if (role && strcmp(role, "tool") == 0) {
        answer_after_tools(out, &intent, now.last);
    } else {
        if (!now.answered)
            answer_introduction(out, intent.chinese);
        call = call_for(&intent);
        const char *tool = chela_json_string(call, "name", NULL);
        if (tool && !offered(b, tool)) {
            answer_no_tool(out, tool, intent.chinese);
            json_object_put(call);
            call = NULL;
        } else if (intent.kind == INTENT_WEATHER) {
            answer_weather(out, &intent);
        } else if (intent.kind == INTENT_HELP) {
            answer_help(out, intent.chinese);
        } else if (!call) {
            answer_other(out, intent.chinese);
        }
    }
    fclose(out);
    json_object_put(now.last);
    json_object_put(now.user);
    say(in, b->h.call, text, n, call);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
};

static const struct chela_iface demo = {
    CHELA_IFACE("demo", "offline demo without a model", CHELA_CAP_DEFAULT | CHELA_CAP_LOCAL,
                options),
    .open = open,
    .close = close,
    .start = start,
    .cancel = cancel,
    .provider = &provider,
};

CHELA_PLUGIN(provider_demo, "0.9.0", "offline demo without a model", "MIT", "", &demo);
