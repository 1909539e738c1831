/*
 * POST /v1/responses: OpenAI's newer interface, with its typed events. Called by api.c.
 *
 * A response's id leads back to its session, so that previous_response_id goes on there; the last
 * ones are remembered in memory only.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "gateway/api_turn.h"
#include "support/json.h"

enum { REMEMBERED = 1000 };

struct response {
    bool stream, begun, message;
    int64_t created, sequence;
    unsigned outputs;
    char model[200];
    struct buf text;
};

/* session by "resp_<run>"; the oldest slot is used again */
static struct {
    struct map sessions;
    char *ids[REMEMBERED];
    unsigned next;
} past;

static void remember(const char *id, const char *session)
{
    char **slot = &past.ids[past.next++ % REMEMBERED];
    if (*slot)
        free(map_remove(&past.sessions, *slot));
    free(*slot);
    *slot = xstrdup(id);
    free(map_set(&past.sessions, id, xstrdup(session)));
}

/* ---- the request ---- */

static void read_content(struct api_input *in, json_object *parts, json_object *content)
{
    size_t n = 0;
    const char *text = chela_json_as_string(content, &n);
    if (text)
        api_input_text(parts, text, n);
    for (size_t i = 0; !text && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *type = chela_json_string(part, "type", NULL),
                   *said = chela_json_string(part, "text", &n);
        if (type && strcmp(type, "input_image") == 0)
            api_input_image_url(in, parts, chela_json_string(part, "image_url", NULL));
        else
            api_input_text(parts, said, n);
    }
}

static void read_said(struct api_input *in, json_object *item)
{
    const char *role = chela_json_string(item, "role", NULL);
    json_object *content = chela_json_get(item, "content");
    if (!role) {
        error_set(&in->error, CHELA_E_ARGS, "an input message has no role");
    } else if (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0) {
        json_object *parts = chela_json_new_array();
        read_content(in, parts, content);
        for (size_t i = 0; i < chela_json_length(parts); i++)
            api_input_system(in, chela_json_string(chela_json_at(parts, i), "text", NULL));
        json_object_put(parts);
    } else {
        read_content(in, api_input_message(in, strcmp(role, "assistant") == 0 ? role : "user"),
                     content);
    }
}

/* Calls that stand one after the other are one message's. */
static json_object *assistant_parts(struct api_input *in)
{
    size_t n = chela_json_length(in->messages);
    json_object *last = n ? chela_json_at(in->messages, n - 1) : NULL;
    const char *role = chela_json_string(last, "role", NULL);
    return role && strcmp(role, "assistant") == 0 ? chela_json_array(last, "content")
                                                  : api_input_message(in, "assistant");
}

static void read_item(struct api_input *in, json_object *item)
{
    const char *type = chela_json_string(item, "type", NULL);
    if (!type || strcmp(type, "message") == 0) {
        read_said(in, item);
    } else if (strcmp(type, "function_call") == 0) {
        api_input_call(in, assistant_parts(in), chela_json_string(item, "call_id", NULL),
                       chela_json_string(item, "name", NULL),
                       chela_json_string(item, "arguments", NULL));
    } else if (strcmp(type, "function_call_output") == 0) {
        json_object *output = chela_json_get(item, "output");
        const char *text = chela_json_as_string(output, NULL);
        api_input_result(in, chela_json_string(item, "call_id", NULL),
                         text ? text : chela_json_text(output, NULL), false);
    } else if (strcmp(type, "reasoning") != 0) {
        error_set(&in->error, CHELA_E_ARGS, "input of type \"%.50s\" is not known", type);
    }
}

static void read_tools(struct api_input *in, json_object *body)
{
    json_object *tools = chela_json_array(body, "tools"),
                *choice = chela_json_get(body, "tool_choice");
    const char *word = chela_json_as_string(choice, NULL),
               *name = chela_json_string(choice, "name", NULL);
    if (word && strcmp(word, "none") == 0)
        return;
    if (name || (word && strcmp(word, "required") == 0))
        chela_json_put_text(in->wishes, "toolChoice", name ? name : word);
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *f = chela_json_at(tools, i);
        const char *type = chela_json_string(f, "type", NULL);
        if (!type || strcmp(type, "function") != 0) {
            error_set(&in->error, CHELA_E_ARGS, "only tools of type \"function\" are taken");
            return;
        }
        api_input_tool(in, chela_json_string(f, "name", NULL),
                       chela_json_string(f, "description", NULL),
                       chela_json_object(f, "parameters"));
    }
}

static void read_body(struct api_input *in, json_object *body)
{
    json_object *input = chela_json_get(body, "input");
    size_t n = 0;
    const char *text = chela_json_as_string(input, &n),
               *effort = chela_json_string(chela_json_object(body, "reasoning"), "effort", NULL);
    json_object *temperature = chela_json_get(body, "temperature");
    int64_t most = chela_json_int(body, "max_output_tokens", 0);
    api_input_system(in, chela_json_string(body, "instructions", NULL));
    if (text)
        api_input_text(api_input_message(in, "user"), text, n);
    for (size_t i = 0; !text && i < chela_json_length(input) && !in->error.class; i++)
        read_item(in, chela_json_at(input, i));
    if (most > 0)
        chela_json_put_int(in->wishes, "maxTokens", most);
    if (temperature)
        chela_json_put(in->wishes, "temperature", json_object_get(temperature));
    if (effort)
        chela_json_put_text(in->wishes, "thinking", effort);
    read_tools(in, body);
}

/* ---- the answer ---- */

static json_object *text_part(const struct buf *text)
{
    json_object *part = chela_json_new_object();
    chela_json_put_text(part, "type", "output_text");
    chela_json_put_string(part, "text", text && text->p ? text->p : "", text ? text->n : 0);
    chela_json_put_array(part, "annotations");
    return part;
}

/* The message; text NULL: as it begins. */
static json_object *message_item(const struct api_turn *t, const struct buf *text)
{
    json_object *o = chela_json_new_object(), *content;
    CLEANUP(freep) char *id = xprintf("msg_%s", api_turn_run(t));
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "type", "message");
    chela_json_put_text(o, "role", "assistant");
    chela_json_put_text(o, "status", text ? "completed" : "in_progress");
    content = chela_json_put_array(o, "content");
    if (text)
        chela_json_push(content, text_part(text));
    return o;
}

static json_object *call_item(json_object *from, bool whole)
{
    json_object *o = chela_json_new_object();
    const char *call = chela_json_string(from, "id", NULL);
    CLEANUP(freep) char *id = xprintf("fc_%s", call ? call : "");
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "type", "function_call");
    chela_json_put_text(o, "call_id", call);
    chela_json_put_text(o, "name", chela_json_string(from, "name", NULL));
    chela_json_put_text(o, "arguments", whole ? chela_json_string(from, "arguments", NULL) : "");
    chela_json_put_text(o, "status", whole ? "completed" : "in_progress");
    return o;
}

static void put_usage(json_object *o, const struct api_turn *t)
{
    struct api_usage u = api_turn_usage(t);
    json_object *usage = chela_json_put_object(o, "usage");
    int64_t in = u.in + u.cached + u.written;
    chela_json_put_int(usage, "input_tokens", in);
    chela_json_put_int(chela_json_put_object(usage, "input_tokens_details"), "cached_tokens",
                       u.cached);
    chela_json_put_int(usage, "output_tokens", u.out);
    chela_json_put_int(chela_json_put_object(usage, "output_tokens_details"), "reasoning_tokens",
                       0);
    chela_json_put_int(usage, "total_tokens", in + u.out);
}

/* The response object: at the begin (status in_progress) or at the end. */
static json_object *response(const struct api_turn *t, const char *status)
{
    const struct response *p = api_turn_data(t);
    json_object *o = chela_json_new_object(), *output, *calls;
    bool over = strcmp(status, "in_progress") != 0;
    CLEANUP(freep) char *id = xprintf("resp_%s", api_turn_run(t));
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "object", "response");
    chela_json_put_int(o, "created_at", p->created);
    chela_json_put_text(o, "status", status);
    chela_json_put_text(o, "model", p->model);
    chela_json_put_text(o, "error", NULL);
    chela_json_put_text(o, "incomplete_details", NULL);
    chela_json_put_bool(o, "parallel_tool_calls", true);
    chela_json_put_text(o, "tool_choice", "auto");
    chela_json_put_array(o, "tools");
    output = chela_json_put_array(o, "output");
    if (!over)
        return o;
    calls = api_turn_calls(t);
    if (p->text.n || !calls)
        chela_json_push(output, message_item(t, &p->text));
    for (size_t i = 0; i < chela_json_length(calls); i++)
        chela_json_push(output, call_item(chela_json_at(calls, i), true));
    put_usage(o, t);
    return o;
}

static void send(struct api_turn *t, const char *type, json_object *o)
{
    struct response *p = api_turn_data(t);
    chela_json_put_text(o, "type", type);
    chela_json_put_int(o, "sequence_number", p->sequence++);
    api_send_event(api_turn_request(t), type, o);
}

static void send_response(struct api_turn *t, const char *type, const char *status)
{
    json_object *o = chela_json_new_object();
    chela_json_put(o, "response", response(t, status));
    send(t, type, o);
}

static void send_item(struct api_turn *t, const char *type, unsigned index, json_object *item)
{
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "output_index", index);
    chela_json_put(o, "item", item);
    send(t, type, o);
}

/* An event about the message's only part. */
static json_object *about_part(const struct api_turn *t)
{
    json_object *o = chela_json_new_object();
    CLEANUP(freep) char *id = xprintf("msg_%s", api_turn_run(t));
    chela_json_put_text(o, "item_id", id);
    chela_json_put_int(o, "output_index", 0);
    chela_json_put_int(o, "content_index", 0);
    return o;
}

static void begin_stream(struct api_turn *t)
{
    struct response *p = api_turn_data(t);
    if (p->begun)
        return;
    p->begun = true;
    server_stream(api_turn_request(t), 200, "text/event-stream", (struct chela_pairs){0}, true);
    send_response(t, "response.created", "in_progress");
    send_response(t, "response.in_progress", "in_progress");
}

static void begin_message(struct api_turn *t)
{
    struct response *p = api_turn_data(t);
    json_object *o;
    if (p->message)
        return;
    p->message = true;
    p->outputs = 1;
    send_item(t, "response.output_item.added", 0, message_item(t, NULL));
    o = about_part(t);
    chela_json_put(o, "part", text_part(NULL));
    send(t, "response.content_part.added", o);
}

static void on_text(struct api_turn *t, struct chela_str piece)
{
    struct response *p = api_turn_data(t);
    begin_stream(t);
    begin_message(t);
    buf_str(&p->text, piece);
    json_object *o = about_part(t);
    chela_json_put_string(o, "delta", piece.s, (size_t)piece.n);
    chela_json_put_array(o, "logprobs");
    send(t, "response.output_text.delta", o);
}

static void end_message(struct api_turn *t)
{
    struct response *p = api_turn_data(t);
    json_object *o = about_part(t);
    chela_json_put_string(o, "text", p->text.p ? p->text.p : "", p->text.n);
    chela_json_put_array(o, "logprobs");
    send(t, "response.output_text.done", o);
    o = about_part(t);
    chela_json_put(o, "part", text_part(&p->text));
    send(t, "response.content_part.done", o);
    send_item(t, "response.output_item.done", 0, message_item(t, &p->text));
}

static void send_call(struct api_turn *t, json_object *call)
{
    struct response *p = api_turn_data(t);
    unsigned index = p->outputs++;
    const char *arguments = chela_json_string(call, "arguments", NULL);
    json_object *item = call_item(call, true), *o;
    const char *id = chela_json_string(item, "id", NULL);
    send_item(t, "response.output_item.added", index, call_item(call, false));
    for (unsigned done = 0; done < 2; done++) {
        o = chela_json_new_object();
        chela_json_put_text(o, "item_id", id);
        chela_json_put_int(o, "output_index", index);
        chela_json_put_text(o, done ? "arguments" : "delta", arguments);
        if (done)
            chela_json_put_text(o, "name", chela_json_string(call, "name", NULL));
        send(t,
             done ? "response.function_call_arguments.done"
                  : "response.function_call_arguments.delta",
             o);
    }
    send_item(t, "response.output_item.done", index, item);
}

static void freed(void *data)
{
    struct response *p = data;
    buf_free(&p->text);
}

static void on_done(struct api_turn *t)
{
    struct response *p = api_turn_data(t);
    struct server_request *r = api_turn_request(t);
    json_object *calls = api_turn_calls(t);
    const char *status = api_turn_cut(t) ? "incomplete" : "completed";
    CLEANUP(freep) char *id = xprintf("resp_%s", api_turn_run(t));
    remember(id, api_turn_session(t));
    if (!p->stream) {
        struct chela_str text = api_turn_text(t);
        buf_str(&p->text, text);
        api_json(r, 200, response(t, status));
        return;
    }
    begin_stream(t);
    if (!calls)
        begin_message(t);
    if (p->message)
        end_message(t);
    for (size_t i = 0; i < chela_json_length(calls); i++)
        send_call(t, chela_json_at(calls, i));
    send_response(t, api_turn_cut(t) ? "response.incomplete" : "response.completed", status);
    server_stream_end(r);
}

static void on_failed(struct api_turn *t, unsigned status, const char *message)
{
    const struct response *p = api_turn_data(t);
    struct server_request *r = api_turn_request(t);
    if (!p->begun) {
        api_fail(r, API_OPENAI, status, message);
        return;
    }
    json_object *o = chela_json_new_object(), *failed = response(t, "failed"), *error;
    error = chela_json_put_object(failed, "error");
    chela_json_put_text(error, "code", "server_error");
    chela_json_put_text(error, "message", message);
    chela_json_put(o, "response", failed);
    send(t, "response.failed", o);
    server_stream_end(r);
}

static const struct api_turn_ops streamed = {on_text, NULL, on_done, on_failed, freed},
                                 whole = {NULL, NULL, on_done, on_failed, freed};

void api_responses(struct server_request *r, json_object *body)
{
    struct api_target target;
    struct api_input in;
    struct error e = {0};
    const char *model = chela_json_string(body, "model", NULL),
               *before = chela_json_string(body, "previous_response_id", NULL),
               *session = before ? map_get(&past.sessions, before) : NULL;
    if (before && !session) {
        api_fail(r, API_OPENAI, 404, "that previous_response_id is not known any more");
        return;
    }
    if (api_target(r, model, chela_json_string(body, "user", NULL), &target, &e) < 0) {
        api_fail_error(r, API_OPENAI, &e);
        return;
    }
    if (session) {
        free(target.session);
        target.session = xstrdup(session);
        target.kept = true;
    }
    api_input_open(&in);
    read_body(&in, body);
    struct response *p = xcalloc(1, sizeof *p);
    p->stream = chela_json_bool(body, "stream", false);
    p->created = (int64_t)(clock_now_ms() / 1000);
    strncpy(p->model, model ? model : "chela", sizeof p->model - 1);
    api_turn_begin(r, API_OPENAI, &in, &target, p->stream ? &streamed : &whole, p);
}
