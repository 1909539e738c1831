/*
 * The life of one model call (see stream.h). Called by provider plugins; calls the host's answer
 * and net groups.
 */
#include "support/stream.h"

#include <stdlib.h>
#include <string.h>

static void *take(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

static char *copy(const char *s, size_t n)
{
    char *p = take(n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

/* ---- names of tools ---- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

void chela_tool_wire_name(const char *name, size_t length, char out[CHELA_TOOL_NAME_SIZE])
{
    uint32_t hash = 2166136261u;
    bool fits = length >= 1 && length < CHELA_TOOL_NAME_SIZE;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
        fits = fits && name_char(name[i]);
    }
    size_t keep = fits ? length : length < 55 ? length : 55;
    for (size_t i = 0; i < keep; i++)
        out[i] = name_char(name[i]) ? name[i] : '_';
    out[keep] = '\0';
    if (!fits)
        snprintf(out + keep, CHELA_TOOL_NAME_SIZE - keep, "_%08x", hash);
}

static const char *original_name(const struct chela_stream *s, const char *wire)
{
    for (size_t i = 0; i < s->tool_count; i++)
        if (strcmp(s->wire[i], wire) == 0)
            return s->original[i];
    return wire;
}

/* ---- begin ---- */

struct chela_stream *chela_stream_begin(struct chela_inst *in, const struct chela_begin *begin)
{
    struct chela_stream *s = take(sizeof *s);
    s->instance = in;
    s->call = begin->h.call;
    s->tool_count = (size_t)begin->tools.n;
    s->wire = take(s->tool_count * sizeof *s->wire);
    s->original = take(s->tool_count * sizeof *s->original);
    for (size_t i = 0; i < s->tool_count; i++) {
        struct chela_str name = begin->tools.v[i].name;
        char wire[CHELA_TOOL_NAME_SIZE];
        chela_tool_wire_name(name.s, (size_t)name.n, wire);
        s->wire[i] = copy(wire, strlen(wire));
        s->original[i] = copy(name.s, (size_t)name.n);
    }
    return s;
}

static void stream_free(struct chela_stream *s)
{
    for (size_t i = 0; i < s->tool_count; i++) {
        free(s->wire[i]);
        free(s->original[i]);
    }
    free(s->wire);
    free(s->original);
    free(s->calls);
    free(s->error_text);
    free(s->stop);
    free(s->model);
    free(s->id);
    free(s->extra);
    free(s);
}

void chela_stream_post(struct chela_stream *s, uint32_t decode, const char *url, const char *body,
                       size_t length, const struct chela_pair *headers, size_t header_count)
{
    s->request = s->instance->host->local->new_call(s->instance);
    s->streaming = decode != CHELA_BODY;
    CHELA_ARGS(chela_http, a, s->request);
    a.h.tag = (uint64_t)(uintptr_t)s;
    a.parent = s->call;
    a.decode = decode;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = chela_sn(body, length);
    a.headers.v = headers;
    a.headers.n = header_count;
    s->instance->host->net->http(s->instance, &a);
}

/* ---- pieces ---- */

/* Joins a piece with what was left of the one before; the caller frees. */
static char *join(struct chela_json_utf16_carry *carry, const char *text, size_t length,
                  size_t *ret_length)
{
    char *out = take(chela_json_carry_room(length));
    *ret_length = chela_json_carry_feed(carry, text, length, out);
    return out;
}

static void send_text(struct chela_stream *s, const char *text, size_t length)
{
    if (length)
        chela_text_of(s->instance, s->call, text, length);
}

void chela_stream_text(struct chela_stream *s, const char *text, size_t length)
{
    size_t n;
    char *whole = join(&s->text, text, length, &n);
    send_text(s, whole, n);
    free(whole);
}

static void send_thinking(struct chela_stream *s, const char *text, size_t length,
                          const char *signature, uint32_t flags)
{
    CHELA_ARGS(chela_thinking, a, s->call);
    a.h.flags = flags;
    a.text = chela_sn(text, length);
    a.signature = chela_s(signature);
    s->instance->host->answer->thinking(s->instance, &a);
}

void chela_stream_thinking(struct chela_stream *s, const char *text, size_t length,
                           const char *signature)
{
    size_t n;
    char *whole = join(&s->thinking, text, length, &n);
    if (n || (signature && *signature))
        send_thinking(s, whole, n, signature, 0);
    free(whole);
}

void chela_stream_thinking_next(struct chela_stream *s)
{
    send_thinking(s, "", 0, NULL, CHELA_NEXT);
}

static struct chela_stream_call *call_at(struct chela_stream *s, size_t index)
{
    if (index >= CHELA_STREAM_CALLS) {
        chela_stream_fail(s, CHELA_E_PROTOCOL,
                          "the service used an impossible index for a tool call");
        return NULL;
    }
    if (index >= s->call_count) {
        struct chela_stream_call *grown = realloc(s->calls, (index + 1) * sizeof *grown);
        if (!grown)
            abort();
        memset(grown + s->call_count, 0, (index + 1 - s->call_count) * sizeof *grown);
        s->calls = grown;
        s->call_count = index + 1;
    }
    s->calls[index].used = true;
    return &s->calls[index];
}

static void send_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                      const char *arguments, size_t length, uint32_t flags)
{
    CHELA_ARGS(chela_tool_call, a, s->call);
    a.h.flags = flags;
    a.index = (uint32_t)index;
    a.id = chela_s(id);
    a.name = chela_s(name);
    a.arguments = chela_sn(arguments, length);
    s->instance->host->answer->tool_call(s->instance, &a);
}

void chela_stream_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                       const char *arguments, size_t length)
{
    struct chela_stream_call *c = call_at(s, index);
    size_t n;
    if (!c || (!c->named && !name))
        return;
    char *whole = join(&c->carry, arguments, length, &n);
    const char *first_name = name && !c->named ? original_name(s, name) : NULL;
    if (first_name || n) {
        send_call(s, index, c->named ? NULL : id, first_name, whole, n, 0);
        c->named = c->named || first_name;
    }
    free(whole);
}

void chela_stream_whole_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                             json_object *arguments)
{
    size_t n = 2;
    const char *text = arguments ? chela_json_text(arguments, &n) : "{}";
    struct chela_stream_call *c = call_at(s, index);
    if (!c)
        return;
    struct chela_json_utf16_carry whole = {0};
    char *out = take(chela_json_carry_room(n) + chela_json_carry_room(0));
    size_t length = chela_json_carry_feed(&whole, text, n, out);
    length += chela_json_carry_end(&whole, out + length);
    send_call(s, index, id, original_name(s, name ? name : ""), out, length, CHELA_LAST);
    c->named = true;
    free(out);
}

void chela_stream_usage(struct chela_stream *s)
{
    s->usage.h.size = (uint32_t)sizeof s->usage;
    s->usage.h.call = s->call;
    s->has_usage = true;
    s->instance->host->answer->usage(s->instance, &s->usage);
}

void chela_stream_keep(char **where, const char *text)
{
    if (!text || !*text)
        return;
    free(*where);
    *where = copy(text, strlen(text));
}

void chela_stream_fail(struct chela_stream *s, uint32_t error, const char *text)
{
    if (s->error != CHELA_OK)
        return;
    s->error = error;
    chela_stream_keep(&s->error_text, text);
}

/* ---- end ---- */

/* What was kept back of a character that never became whole. */
static void flush(struct chela_stream *s)
{
    char out[32];
    size_t n = chela_json_carry_end(&s->text, out);
    send_text(s, out, n);
    n = chela_json_carry_end(&s->thinking, out);
    if (n)
        send_thinking(s, out, n, NULL, 0);
    for (size_t i = 0; i < s->call_count; i++) {
        n = chela_json_carry_end(&s->calls[i].carry, out);
        if (s->calls[i].used && n)
            send_call(s, i, NULL, NULL, out, n, 0);
    }
}

static json_object *outcome(const struct chela_stream *s)
{
    json_object *extra = chela_json_new_object();
    chela_json_put_text(extra, "stop", s->stop ? s->stop : "end");
    if (s->model)
        chela_json_put_text(extra, "model", s->model);
    if (s->id)
        chela_json_put_text(extra, "id", s->id);
    if (s->error == CHELA_E_UNSUPPORTED || (s->streaming && !s->heard))
        chela_json_put_text(extra, "unsupported",
                            s->heard || s->error != CHELA_OK ? "tools" : "stream");
    return extra;
}

static bool transient(uint32_t error)
{
    return error == CHELA_E_RATE || error == CHELA_E_NETWORK || error == CHELA_E_TIMEOUT ||
           error == CHELA_E_OVERLOADED;
}

void chela_stream_end(struct chela_stream *s, const struct chela_done *http, uint32_t error)
{
    flush(s);
    json_object *extra = outcome(s), *body = NULL;
    size_t n;
    CHELA_ARGS(chela_done, d, s->call);
    d.http_status = http->http_status;
    d.retry_after_ms = s->retry_after_ms ? s->retry_after_ms : http->retry_after_ms;
    d.extra.s = chela_json_text(extra, &n);
    d.extra.n = n;
    if (s->error != CHELA_OK) {
        d.error = s->error;
        d.text = chela_s(s->error_text);
    } else if (http->error != CHELA_OK) {
        d.error = error != CHELA_OK ? error : http->error;
        d.text = http->text;
        if (http->http_status &&
            chela_json_parse(http->text.s, (size_t)http->text.n, NULL, &body, NULL) == 0) {
            const char *message = chela_error_message(body);
            d.text = message ? chela_s(message) : d.text;
        }
    } else if (s->streaming && !s->heard) {
        d.error = CHELA_E_UNSUPPORTED;
        d.text = chela_s("the service's answer is not a stream");
    } else if (!s->closed) {
        d.error = CHELA_E_NETWORK;
        d.text = chela_s(s->streaming ? "the service's stream broke off in the middle of an answer"
                                      : "the service's answer is not what its API promises");
    }
    if (d.error != CHELA_OK && (transient(d.error) || (http->h.flags & CHELA_RETRY)))
        d.h.flags |= CHELA_RETRY;
    s->instance->host->answer->done(s->instance, &d);
    json_object_put(extra);
    json_object_put(body);
    stream_free(s);
}

json_object *chela_stream_parse(struct chela_stream *s, struct chela_str data)
{
    static const struct chela_json_limits limits = {.flags = CHELA_JSON_KEEP_HALVES};
    struct chela_json_error why;
    json_object *o = NULL;
    s->heard = true;
    if (chela_json_parse(data.s, (size_t)data.n, &limits, &o, &why) == 0)
        return o;
    char text[300];
    snprintf(text, sizeof text, "the service sent something that is not JSON: %s", why.text);
    chela_stream_fail(s, CHELA_E_PROTOCOL, text);
    return NULL;
}

const char *chela_error_message(json_object *body)
{
    if (json_object_is_type(body, json_type_array))
        body = chela_json_at(body, 0);
    json_object *error = chela_json_get(body, "error");
    const char *text = chela_json_string(error, "message", NULL);
    if (!text)
        text = chela_json_as_string(error, NULL);
    if (!text)
        text = chela_json_string(body, "message", NULL);
    return text ? text : chela_json_string(body, "detail", NULL);
}

/* ---- writing requests ---- */

void chela_write_base64(FILE *out, const void *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0u);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                        left > 2 ? digits[v & 63] : '='};
        fwrite(four, 1, sizeof four, out);
    }
}

void chela_write_result_text(FILE *out, json_object *content)
{
    size_t n;
    const char *whole = chela_json_as_string(content, &n);
    if (whole)
        fwrite(whole, 1, n, out);
    bool first = true;
    for (size_t i = 0;
         json_object_is_type(content, json_type_array) && i < chela_json_length(content); i++) {
        const char *text = chela_json_string(chela_json_at(content, i), "text", &n);
        if (!text)
            continue;
        if (!first)
            fputc('\n', out);
        fwrite(text, 1, n, out);
        first = false;
    }
}

struct chela_str chela_blob_of(const struct chela_pairs *blobs, const char *hash)
{
    for (uint64_t i = 0; hash && i < blobs->n; i++)
        if (chela_str_is(blobs->v[i].name, hash))
            return blobs->v[i].value;
    return (struct chela_str){NULL, 0};
}

/* ---- models ---- */

const struct chela_option chela_model_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "the service's name of the model", NULL},
    {"context", CHELA_INT, 0, NULL, "tokens that fit into its context window", NULL},
    {"max_output", CHELA_INT, 0, NULL, "tokens that it can write in one answer", NULL},
    {"tools", CHELA_BOOL, 0, "true", "it can call tools", NULL},
    {"images", CHELA_BOOL, 0, "false", "it can look at images", NULL},
    {"thinking", CHELA_BOOL, 0, "false", "it can think before it answers", NULL},
    {"price_in", CHELA_REAL, 0, NULL, "price of a million tokens read", NULL},
    {"price_out", CHELA_REAL, 0, NULL, "price of a million tokens written", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static json_object *describe_model(const struct chela_model *m)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "name", m->name);
    if (m->context)
        chela_json_put_int(o, "context", (int64_t)m->context);
    if (m->max_output)
        chela_json_put_int(o, "max_output", (int64_t)m->max_output);
    chela_json_put_bool(o, "tools", true);
    chela_json_put_bool(o, "images", m->images);
    chela_json_put_bool(o, "thinking", m->thinking);
    if (m->price_in > 0 || m->price_out > 0) {
        chela_json_put_double(o, "price_in", m->price_in);
        chela_json_put_double(o, "price_out", m->price_out);
    }
    if (m->alias)
        chela_json_push(chela_json_put_array(o, "aliases"), json_object_new_string(m->alias));
    return o;
}

/* A model of the option "models", an item of the list. */
static json_object *configured_model(struct chela_inst *in, int64_t i, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "models.%lld.name", (long long)i);
    snprintf(name, size, "%s", chela_option_text(in, path).s);
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "name", name);
    static const struct {
        const char *option, *member;
    } numbers[] = {{"context", "context"}, {"max_output", "max_output"}};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        snprintf(path, sizeof path, "models.%lld.%s", (long long)i, numbers[k].option);
        if (chela_option_number(in, path) > 0)
            chela_json_put_int(o, numbers[k].member, chela_option_number(in, path));
    }
    static const char *const truths[] = {"tools", "images", "thinking"};
    for (size_t k = 0; k < sizeof truths / sizeof truths[0]; k++) {
        snprintf(path, sizeof path, "models.%lld.%s", (long long)i, truths[k]);
        chela_json_put_bool(o, truths[k], chela_option_number(in, path) != 0);
    }
    static const char *const prices[] = {"price_in", "price_out"};
    for (size_t k = 0; k < sizeof prices / sizeof prices[0]; k++) {
        snprintf(path, sizeof path, "models.%lld.%s", (long long)i, prices[k]);
        struct chela_str price = chela_option_text(in, path);
        if (price.n)
            chela_json_put_double(o, prices[k], strtod(price.s, NULL));
    }
    return o;
}

void chela_publish_models(struct chela_inst *in, const struct chela_model *table, size_t count)
{
    int64_t configured = chela_option_number(in, "models");
    size_t most = count + (configured > 0 ? (size_t)configured : 0), n = 0;
    struct chela_pair *items = take(most * sizeof *items);
    json_object **about = take(most * sizeof *about);
    char(*names)[256] = take(most * sizeof *names);
    for (int64_t i = 0; i < configured; i++) {
        about[n] = configured_model(in, i, names[n], sizeof names[n]);
        n++;
    }
    for (size_t i = 0; i < count && configured <= 0; i++) {
        snprintf(names[n], sizeof names[n], "%s", table[i].name);
        about[n++] = describe_model(&table[i]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t length;
        items[i].name = chela_s(names[i]);
        items[i].value.s = chela_json_text(about[i], &length);
        items[i].value.n = length;
    }
    chela_publish_list(in, CHELA_MODELS, in->host->local->ticks_ms(in) + 1, items, n);
    for (size_t i = 0; i < n; i++)
        json_object_put(about[i]);
    free(about);
    free(items);
    free(names);
}
