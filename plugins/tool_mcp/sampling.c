/*
 * sampling/createMessage: a server wants a model's answer. A person is asked first, unless the
 * configuration says otherwise; then the model that the configuration names for such questions
 * answers, without tools. Called by incoming.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { REFUSED = -1, TEXT_MOST = 100000, TIMEOUT_MS = 120000 };

struct sampling {
    struct server *server;
    json_object *id;
    char *system, *text;
    uint32_t max_tokens;
};

static void sampling_free(struct sampling *x)
{
    json_object_put(x->id);
    free(x->system);
    free(x->text);
    free(x);
}

static void answered(struct io *io, const struct chela_done *d)
{
    struct sampling *x = io->owner;
    if (io->server && d->error == CHELA_OK) {
        json_object *o = chela_json_new_object(), *content = chela_json_put_object(o, "content");
        chela_json_put_text(o, "role", "assistant");
        chela_json_put_text(content, "type", "text");
        chela_json_put_string(content, "text", d->text.s, (size_t)d->text.n);
        chela_json_put_text(o, "model", "chela");
        chela_json_put_text(o, "stopReason", "endTurn");
        rpc_answer(io->server, x->id, o, 0, NULL);
    } else if (io->server) {
        char *why = text_of(d->text);
        rpc_answer(io->server, x->id, NULL, REFUSED, *why ? why : "no model answered");
        free(why);
    }
    sampling_free(x);
}

static void decided(void *owner, const char *action, json_object *content)
{
    struct sampling *x = owner;
    struct server *s = x->server;
    struct chela_inst *in = s->mcp->in;
    (void)content;
    if (strcmp(action, "accept") != 0) {
        rpc_answer(s, x->id, NULL, REFUSED, "The person rejected the sampling request");
        sampling_free(x);
        return;
    }
    struct io *io = io_new(s->mcp, s, x);
    io->done = answered;
    CHELA_ARGS(chela_ask, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.timeout_ms = TIMEOUT_MS;
    a.max_tokens = x->max_tokens;
    a.purpose = chela_s("mcp sampling");
    a.system = chela_s(x->system);
    a.text = chela_s(x->text);
    in->host->chat->ask(in, &a);
}

static void put_content(FILE *out, json_object *content)
{
    const char *text = chela_json_string(content, "text", NULL);
    for (size_t i = 0;
         i < chela_json_length(content) && json_object_is_type(content, json_type_array); i++)
        put_content(out, chela_json_at(content, i));
    if (text)
        fprintf(out, "%s\n", text);
    else if (json_object_is_type(content, json_type_object))
        fputs("[content that is no text was left out]\n", out);
}

void sampling_create(struct server *s, json_object *id, json_object *params)
{
    struct sampling *x = need(calloc(1, sizeof *x));
    const char *system = chela_json_string(params, "systemPrompt", NULL);
    json_object *messages = chela_json_array(params, "messages");
    size_t n, count = chela_json_length(messages);
    int64_t most = chela_json_int(params, "maxTokens", 1024);
    x->server = s;
    x->id = json_object_get(id);
    x->system = need(strdup(system ? system : ""));
    x->max_tokens = most > 0 && most < 32768 ? (uint32_t)most : 1024;
    FILE *out = need(open_memstream(&x->text, &n));
    for (size_t i = 0; i < count; i++) {
        json_object *m = chela_json_at(messages, i);
        const char *role = chela_json_string(m, "role", NULL);
        if (count > 1)
            fprintf(out, "%s: ", role ? role : "user");
        put_content(out, chela_json_get(m, "content"));
    }
    fclose(out);
    if (n > TEXT_MOST) {
        rpc_answer(s, id, NULL, REFUSED, "the messages are too long");
        sampling_free(x);
    } else if (chela_str_is(server_option(s, "sampling"), "allow")) {
        decided(x, "accept", NULL);
    } else {
        struct request *cause = incoming_cause(s);
        char *text = format("The MCP server %s wants to ask a model:\n\n%.1500s", s->name, x->text);
        question_ask(s, "sampling", text, NULL, cause ? cause->source : NULL, decided, x);
        free(text);
    }
}
