/*
 * What the requests of all model services have in common (see request.h). Rendered messages go in
 * as the text that they were rendered to, so a request costs no more than its length.
 */
#include "support/request.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "support/base64.h"

/* ---- text ---- */

/* A text that grows. open_memstream would clear and copy all of it each time it doubles. */
struct growing {
    char **ret_text;
    size_t *ret_length;
    char *text;
    size_t length, room;
};

static ssize_t grow(void *cookie, const char *data, size_t n)
{
    struct growing *g = cookie;
    if (g->room - g->length <= n) {
        g->room = g->length + n + 1 > 2 * g->room ? g->length + n + 1 : 2 * g->room;
        g->text = realloc(g->text, g->room);
        if (!g->text)
            abort();
    }
    memcpy(g->text + g->length, data, n);
    g->length += n;
    return (ssize_t)n;
}

static int hand_over(void *cookie)
{
    struct growing *g = cookie;
    g->text[g->length] = '\0';
    *g->ret_text = g->text;
    *g->ret_length = g->length;
    free(g);
    return 0;
}

static FILE *open_text(char **ret_text, size_t *ret_length, size_t room)
{
    struct growing *g = calloc(1, sizeof *g);
    FILE *out =
        g ? fopencookie(g, "w", (cookie_io_functions_t){.write = grow, .close = hand_over}) : NULL;
    if (!out || !(g->text = malloc(room)))
        abort();
    *g = (struct growing){ret_text, ret_length, g->text, 0, room};
    __fsetlocking(out, FSETLOCKING_BYCALLER);
    return out;
}

FILE *chela_write_open(char **ret_text, size_t *ret_length)
{
    return open_text(ret_text, ret_length, 512);
}

FILE *chela_request_open(const struct chela_begin *b, char **ret_text, size_t *ret_length)
{
    size_t expected = 16384 + (size_t)b->system.n; /* tools, parameters */
    for (uint64_t i = 0; i < b->messages.n; i++)
        expected += (size_t)b->messages.v[i].value.n + 1;
    return open_text(ret_text, ret_length, expected);
}

void chela_write_json(FILE *out, json_object *value)
{
    size_t n;
    const char *text = chela_json_text(value, &n);
    fwrite(text, 1, n, out);
}

void chela_write_string(FILE *out, const char *text, size_t length)
{
    json_object *s = chela_json_new_string(text ? text : "", text ? length : 0);
    chela_write_json(out, s);
    json_object_put(s);
}

void chela_write_member(FILE *out, const char *before, json_object *object, const char *key)
{
    size_t n = 0;
    const char *text = chela_json_string(object, key, &n);
    fputs(before, out);
    chela_write_string(out, text, n);
}

void chela_write_base64(FILE *out, const void *data, size_t length)
{
    enum { PIECE = 3 * 1024 };
    char text[CHELA_BASE64_TEXT(PIECE)];
    for (size_t at = 0; at < length; at += PIECE) {
        size_t n = length - at < PIECE ? length - at : PIECE;
        fwrite(text, 1, chela_base64_encode((const char *)data + at, n, text), out);
    }
}

/* ---- a message ---- */

void chela_render_message(struct chela_inst *in, const struct chela_render *r,
                          const struct chela_naming *naming, const void *arg,
                          chela_message_writer *write)
{
    char *text = NULL;
    size_t n = 0;
    json_object *message = NULL;
    FILE *out = chela_write_open(&text, &n);
    if (chela_json_parse(r->message.s, (size_t)r->message.n, NULL, &message, NULL) == 0) {
        struct chela_message m = {
            .naming = naming,
            .provider = in->name,
            .model = r->model.s,
            .arg = arg,
            .role = chela_str_is(r->role, "assistant") ? CHELA_ROLE_ASSISTANT
                    : chela_str_is(r->role, "tool")    ? CHELA_ROLE_TOOL
                                                       : CHELA_ROLE_USER,
            .content = chela_json_array(message, "content"),
            .blobs = &r->blobs,
        };
        write(out, &m);
    }
    json_object_put(message);
    fclose(out);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    free(text);
}

bool chela_part_is(json_object *part, const char *type)
{
    const char *its = chela_json_string(part, "type", NULL);
    return its && strcmp(its, type) == 0;
}

static bool made_by(const struct chela_message *m, json_object *part)
{
    const char *by = chela_json_string(part, "provider", NULL);
    return by && strcmp(by, m->provider) == 0;
}

const char *chela_part_signature(const struct chela_message *m, json_object *part)
{
    const char *signature = chela_json_string(part, "signature", NULL);
    return made_by(m, part) && signature && *signature ? signature : NULL;
}

bool chela_part_blank(json_object *part)
{
    size_t n = 0;
    const char *text = chela_json_string(part, "text", &n);
    for (size_t i = 0; text && i < n; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

struct chela_str chela_part_blob(const struct chela_message *m, json_object *part)
{
    const char *hash = chela_json_string(part, "hash", NULL);
    for (uint64_t i = 0; hash && i < m->blobs->n; i++)
        if (chela_str_is(m->blobs->v[i].name, hash))
            return m->blobs->v[i].value;
    return (struct chela_str){NULL, 0};
}

const char *chela_part_mime(json_object *part, const char *fallback)
{
    const char *mime = chela_json_string(part, "mime", NULL);
    for (const char *p = mime; p && *p; p++) /* it goes into a data URL as it stands */
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+-._", *p))
            return fallback;
    return mime && *mime ? mime : fallback;
}

void chela_write_absent(FILE *out, json_object *part)
{
    char text[400];
    const char *name = chela_json_string(part, "name", NULL),
               *mime = chela_json_string(part, "mime", NULL);
    int n = snprintf(text, sizeof text, "(%s %.250s, %.80s, cannot be shown here)",
                     chela_part_is(part, "image") ? "the image" : "the file", name ? name : "",
                     mime ? mime : "of unknown kind");
    chela_write_string(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

bool chela_write_joined(FILE *out, const char *before, const struct chela_message *m,
                        const char *type, bool own)
{
    char *text = NULL;
    size_t n = 0, length;
    bool any = false;
    FILE *f = chela_write_open(&text, &n);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        const char *piece = chela_json_string(part, "text", &length);
        if (!piece || !chela_part_is(part, type) || (own && !made_by(m, part)))
            continue;
        fwrite(piece, 1, length, f);
        any = true;
    }
    fclose(f);
    if (any) {
        fputs(before, out);
        chela_write_string(out, text, n);
    }
    free(text);
    return any;
}

static void result_text(FILE *out, json_object *content)
{
    size_t n;
    const char *whole = chela_json_as_string(content, &n);
    bool first = true;
    if (whole)
        fwrite(whole, 1, n, out);
    for (size_t i = 0;
         json_object_is_type(content, json_type_array) && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *text = chela_json_string(part, "text", &n);
        if (!text && !chela_part_is(part, "image"))
            continue;
        if (!first)
            fputc('\n', out);
        if (text)
            fwrite(text, 1, n, out);
        else
            fputs("(an image, see below)", out);
        first = false;
    }
}

void chela_write_result(FILE *out, json_object *part)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = chela_write_open(&text, &n);
    result_text(f, chela_json_get(part, "content"));
    fclose(f);
    chela_write_string(out, text, n);
    free(text);
}

void chela_part_wire_name(const struct chela_message *m, json_object *part,
                          char out[CHELA_NAME_SIZE])
{
    size_t n = 0;
    const char *name = chela_json_string(part, "name", &n);
    chela_wire_name(m->naming, name ? name : "", name ? n : 0, out);
}

void chela_part_wire_id(const struct chela_message *m, json_object *part, char out[CHELA_NAME_SIZE])
{
    chela_wire_id(m->naming,
                  chela_json_string(part, chela_part_is(part, "toolCall") ? "id" : "callId", NULL),
                  out);
}

void chela_write_arguments(FILE *out, json_object *part)
{
    json_object *arguments = chela_json_object(part, "arguments");
    if (arguments)
        chela_write_json(out, arguments);
    else
        fputs("{}", out);
}

void chela_write_arguments_string(FILE *out, json_object *part)
{
    json_object *arguments = chela_json_object(part, "arguments");
    size_t n = 2;
    const char *text = arguments ? chela_json_text(arguments, &n) : "{}";
    chela_write_string(out, text, n);
}

void chela_write_by_role(FILE *out, const struct chela_message *m, chela_message_writer *user,
                         chela_message_writer *assistant, chela_message_writer *results)
{
    if (m->role == CHELA_ROLE_ASSISTANT)
        assistant(out, m);
    else if (m->role == CHELA_ROLE_TOOL)
        results(out, m);
    else
        user(out, m);
}

/* ---- the whole ---- */

void chela_params_open(struct chela_params *p, const struct chela_begin *b)
{
    *p = (struct chela_params){0};
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &p->all, NULL);
    p->stream = chela_json_bool(p->all, "stream", true);
    p->max_tokens = chela_json_int(p->all, "max_tokens", 0);
    p->temperature = chela_json_get(p->all, "temperature");
    p->schema = chela_json_object(p->all, "schema");
    p->session = chela_json_string(p->all, "session", NULL);
    p->choice = b->tools.n ? chela_json_string(p->all, "tool_choice", NULL) : NULL;
    const char *level = chela_json_string(p->all, "thinking", NULL);
    p->no_thinking = level && strcmp(level, "off") == 0;
    if (level &&
        (strcmp(level, "low") == 0 || strcmp(level, "medium") == 0 || strcmp(level, "high") == 0))
        p->thinking = level;
}

void chela_params_close(struct chela_params *p)
{
    json_object_put(p->all);
}

void chela_write_temperature(FILE *out, const struct chela_params *p)
{
    if (!p->temperature)
        return;
    fputs(",\"temperature\":", out);
    chela_write_json(out, p->temperature);
}

int chela_thinking_budget(const char *level)
{
    return !level                         ? 0
           : strcmp(level, "low") == 0    ? 2048
           : strcmp(level, "medium") == 0 ? 8192
                                          : 24576;
}

void chela_write_choice(FILE *out, const struct chela_params *p, const struct chela_naming *naming,
                        const struct chela_choice_form *form)
{
    if (!p->choice)
        return;
    char wire[CHELA_NAME_SIZE];
    bool any = strcmp(p->choice, "required") == 0,
         word = any || strcmp(p->choice, "auto") == 0 || strcmp(p->choice, "none") == 0;
    const char *const *around = word ? form->word : form->tool;
    if (!word)
        chela_wire_name(naming, p->choice, strlen(p->choice), wire);
    fprintf(out, ",\"tool_choice\":%s%s%s", around[0],
            !word ? wire
            : any ? form->any
                  : p->choice,
            around[1]);
}

bool chela_write_messages(FILE *out, const struct chela_begin *b, bool first)
{
    return chela_write_answered(out, b, first, NULL);
}

bool chela_write_answered(FILE *out, const struct chela_begin *b, bool first, const char *noted)
{
    bool any = false, after_tool = false;
    for (uint64_t i = 0; i < b->messages.n; i++) {
        struct chela_str m = b->messages.v[i].value;
        if (!m.n)
            continue;
        if (any || !first)
            fputc(',', out);
        if (noted && after_tool && chela_str_is(b->messages.v[i].name, "user"))
            fprintf(out, "%s,", noted);
        after_tool = noted && chela_str_is(b->messages.v[i].name, "tool");
        fwrite(m.s, 1, (size_t)m.n, out);
        any = true;
    }
    return any;
}

/* A part, which ends in '}', with a mark inside. */
static void write_marked(FILE *out, struct chela_str parts, const char *mark)
{
    bool can = mark && parts.s[parts.n - 1] == '}';
    fwrite(parts.s, 1, (size_t)parts.n - can, out);
    if (can)
        fprintf(out, "%s}", mark);
}

void chela_write_turns(FILE *out, const struct chela_begin *b, const struct chela_turns *t)
{
    uint64_t last_user = UINT64_MAX;
    int side = -1; /* 0 user, 1 assistant */
    for (uint64_t i = 0; i < b->messages.n; i++)
        if (!chela_str_is(b->messages.v[i].name, "assistant") && b->messages.v[i].value.n)
            last_user = i;
    for (uint64_t i = 0; i < b->messages.n; i++) {
        struct chela_str parts = b->messages.v[i].value;
        int its = chela_str_is(b->messages.v[i].name, "assistant");
        if (!parts.n)
            continue;
        if (side < 0 && its)
            fprintf(out, "%s%s%s", t->user, t->opening, t->close);
        if (its != side)
            fprintf(out, "%s%s%s", side < 0 ? "" : t->close, side < 0 && !its ? "" : ",",
                    its ? t->assistant : t->user);
        else
            fputc(',', out);
        write_marked(out, parts, i == last_user ? t->mark : NULL);
        side = its;
    }
    if (side >= 0)
        fputs(t->close, out);
}

void chela_headers_open(struct chela_headers *h)
{
    memset(h, 0, sizeof *h);
    chela_headers_add(h, "content-type", chela_s("application/json"));
}

void chela_headers_add(struct chela_headers *h, const char *name, struct chela_str value)
{
    if (value.n && h->count < CHELA_HEADERS)
        h->v[h->count++] = (struct chela_pair){chela_s(name), value};
}

void chela_headers_bearer(struct chela_headers *h, struct chela_str token)
{
    if (!token.n)
        return;
    snprintf(h->bearer, sizeof h->bearer, "Bearer %.*s", (int)token.n, token.s);
    chela_headers_add(h, "authorization", chela_s(h->bearer));
}
