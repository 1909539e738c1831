/*
 * Reads tool calls out of text (see textcall_read.h). The text is a model's and may be anything:
 * each reader either takes a whole call whose name is a tool, or nothing.
 */
#include "support/textcall_read.h"

#include <string.h>

#include "support/json.h"

struct reader {
    const char *at, *end;
    const struct chela_toolset *tools;
    json_object *calls;
    bool whole;
};

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at))
        r->at++;
}

static bool skip(struct reader *r, const char *wanted)
{
    size_t n = strlen(wanted);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, wanted, n) != 0)
        return false;
    r->at += n;
    return true;
}

static const char *find(const char *at, const char *end, const char *wanted)
{
    return memmem(at, (size_t)(end - at), wanted, strlen(wanted));
}

static void add(struct reader *r, int tool, json_object *arguments)
{
    json_object *call = chela_json_push_object(r->calls);
    chela_json_put_text(call, "name", r->tools->offers[tool].name);
    chela_json_put(call, "arguments", arguments);
}

/* ---- JSON ---- */

/* Where the JSON value at the cursor ends; NULL: it doesn't. */
static const char *value_end(const struct reader *r)
{
    unsigned depth = 0;
    bool quoted = false;
    for (const char *p = r->at; p < r->end; p++) {
        if (quoted) {
            if (*p == '\\')
                p++;
            else if (*p == '"')
                quoted = false;
        } else if (*p == '"') {
            quoted = true;
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if ((*p == '}' || *p == ']') && --depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

static json_object *parse(const char *text, size_t n)
{
    json_object *o = NULL;
    chela_json_parse(text, n, NULL, &o, NULL);
    return o;
}

static json_object *first_of(json_object *o, const char *const *keys)
{
    for (; *keys; keys++)
        if (chela_json_get(o, *keys))
            return chela_json_get(o, *keys);
    return NULL;
}

/* The arguments of a call, a new reference: an object, or a string that holds one. */
static json_object *arguments_of(json_object *value)
{
    size_t n = 0;
    const char *text = chela_json_as_string(value, &n);
    json_object *o = text ? parse(text, n) : json_object_get(value);
    if (json_object_is_type(o, json_type_object))
        return o;
    json_object_put(o);
    return NULL;
}

static bool take_object(struct reader *r, json_object *o, bool marked);

static bool take_list(struct reader *r, json_object *list)
{
    size_t n = chela_json_length(list);
    for (size_t i = 0; i < n; i++)
        if (!take_object(r, chela_json_at(list, i), true))
            return false;
    return n > 0;
}

/* marked: a tag around it says that it is a call, so it may come without arguments. */
static bool take_object(struct reader *r, json_object *o, bool marked)
{
    static const char *const tools[] = {"name", "tool_name", "tool", "function", NULL};
    static const char *const arguments[] = {"arguments", "parameters", "args", "input", NULL};
    if (chela_json_array(o, "tool_calls"))
        return take_list(r, chela_json_array(o, "tool_calls"));
    if (chela_json_object(o, "tool_call"))
        return take_object(r, chela_json_object(o, "tool_call"), true);
    if (chela_json_object(o, "function"))
        return take_object(r, chela_json_object(o, "function"), marked);
    size_t n = 0;
    const char *name = chela_json_as_string(first_of(o, tools), &n);
    int tool = name ? chela_toolset_find(r->tools, name, n) : -1;
    json_object *given = first_of(o, arguments), *taken = given    ? arguments_of(given)
                                                          : marked ? chela_json_new_object()
                                                                   : NULL;
    if (tool < 0 || !taken) {
        json_object_put(taken);
        return false;
    }
    add(r, tool, taken);
    return true;
}

static bool read_json(struct reader *r, bool marked)
{
    const char *end = value_end(r);
    json_object *o = end ? parse(r->at, (size_t)(end - r->at)) : NULL;
    bool took =
        json_object_is_type(o, json_type_array) ? take_list(r, o) : take_object(r, o, marked);
    json_object_put(o);
    if (took)
        r->at = end;
    return took;
}

/* ---- tags ---- */

/* What a parameter's text is by the tool's schema: a string as it stands, or JSON. */
static json_object *typed(const struct reader *r, int tool, const char *key, const char *text,
                          size_t n)
{
    json_object *property = chela_json_object(
                    chela_json_object(r->tools->offers[tool].parameters, "properties"), key),
                *value = NULL;
    const char *type = chela_json_string(property, "type", NULL);
    if (!type || strcmp(type, "string") != 0)
        value = parse(text, n);
    /* a string that was written as JSON although nothing says that it is one stays as it is */
    if (!value || (!type && json_object_is_type(value, json_type_string))) {
        json_object_put(value);
        value = chela_json_new_string(text, n);
    }
    return value;
}

/* A name, up to one of `ends`, without quotes. */
static bool read_name(struct reader *r, const char *ends, char *out, size_t size)
{
    size_t n = 0;
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        r->at++;
    while (r->at < r->end && n + 1 < size && !strchr(ends, *r->at) && !strchr("\"'", *r->at))
        out[n++] = *r->at++;
    out[n] = '\0';
    while (r->at < r->end && strchr("\"' ", *r->at))
        r->at++;
    return n > 0 && r->at < r->end;
}

static void trim_line(const char **begin, const char **end)
{
    if (*begin < *end && **begin == '\n')
        (*begin)++;
    if (*begin < *end && (*end)[-1] == '\n')
        (*end)--;
}

/* One parameter: <OPEN K>V</CLOSE>; with an empty `open`, <K>V</K>. */
static bool read_parameter(struct reader *r, int tool, const char *open, const char *close,
                           json_object *arguments)
{
    char key[128], end_tag[136];
    if (!skip(r, open) || !read_name(r, ">", key, sizeof key) || !skip(r, ">"))
        return false;
    if (close)
        snprintf(end_tag, sizeof end_tag, "%s", close);
    else
        snprintf(end_tag, sizeof end_tag, "</%s>", key);
    const char *end = find(r->at, r->end, end_tag);
    if (!end)
        return false;
    const char *begin = r->at, *last = end;
    trim_line(&begin, &last);
    chela_json_put(arguments, key, typed(r, tool, key, begin, (size_t)(last - begin)));
    r->at = end + strlen(end_tag);
    return true;
}

/* The inside of a call and its end tag, which may lack only at the end of a whole answer. */
static bool read_parameters(struct reader *r, int tool, const char *open, const char *close,
                            const char *end_tag)
{
    json_object *arguments = chela_json_new_object();
    for (;;) {
        skip_blanks(r);
        if (skip(r, end_tag) || (r->at == r->end && r->whole && chela_json_length(arguments) > 0)) {
            add(r, tool, arguments);
            return true;
        }
        if (!read_parameter(r, tool, open, close, arguments))
            break;
    }
    json_object_put(arguments);
    return false;
}

static int tool_named(const struct reader *r, const char *name)
{
    return chela_toolset_find(r->tools, name, strlen(name));
}

static bool read_function(struct reader *r)
{
    char name[CHELA_NAME_SIZE + 64];
    int tool = read_name(r, ">", name, sizeof name) && skip(r, ">") ? tool_named(r, name) : -1;
    return tool >= 0 && read_parameters(r, tool, "<parameter=", "</parameter>", "</function>");
}

static bool read_invoke(struct reader *r)
{
    char name[CHELA_NAME_SIZE + 64];
    int tool = read_name(r, ">", name, sizeof name) && skip(r, ">") ? tool_named(r, name) : -1;
    return tool >= 0 && read_parameters(r, tool, "<parameter name=", "</parameter>", "</invoke>");
}

/* <T><K>V</K></T> */
static bool read_plain(struct reader *r)
{
    char name[CHELA_NAME_SIZE + 64], end_tag[sizeof name + 4];
    int tool = skip(r, "<") && read_name(r, ">", name, sizeof name) && skip(r, ">")
                   ? tool_named(r, name)
                   : -1;
    snprintf(end_tag, sizeof end_tag, "</%s>", name);
    return tool >= 0 && read_parameters(r, tool, "<", NULL, end_tag);
}

/* T{...}, behind a mark */
static bool read_named_json(struct reader *r)
{
    char name[CHELA_NAME_SIZE + 64];
    const char *end;
    int tool = read_name(r, "{", name, sizeof name) ? tool_named(r, name) : -1;
    if (tool < 0 || *r->at != '{' || !(end = value_end(r)))
        return false;
    json_object *arguments = parse(r->at, (size_t)(end - r->at));
    if (!json_object_is_type(arguments, json_type_object)) {
        json_object_put(arguments);
        return false;
    }
    add(r, tool, arguments);
    r->at = end;
    return true;
}

static bool read_tagged(struct reader *r)
{
    skip_blanks(r);
    bool took = r->at < r->end && (*r->at == '{' || *r->at == '[') ? read_json(r, true)
                : skip(r, "<function=")                            ? read_function(r)
                                                                   : false;
    skip_blanks(r);
    return took && (skip(r, "</tool_call>") || (r->whole && r->at == r->end));
}

/* One call, or several in a list. */
static bool read_one(struct reader *r)
{
    if (r->at == r->end)
        return false;
    if (skip(r, "<tool_call>"))
        return read_tagged(r);
    if (skip(r, "<function="))
        return read_function(r);
    if (skip(r, "<invoke name="))
        return read_invoke(r);
    if (skip(r, "[TOOL_CALLS]")) {
        skip_blanks(r);
        return r->at < r->end && (*r->at == '[' || *r->at == '{') ? read_json(r, true)
                                                                  : read_named_json(r);
    }
    if (*r->at == '{' || *r->at == '[')
        return read_json(r, false);
    return *r->at == '<' && read_plain(r);
}

/* What stands between and around calls. */
static void skip_frame(struct reader *r)
{
    static const char *const frames[] = {"<function_calls>",
                                         "</function_calls>",
                                         "```json",
                                         "```tool_call",
                                         "```xml",
                                         "```",
                                         ",",
                                         ";",
                                         NULL};
    for (bool any = true; any;) {
        any = false;
        skip_blanks(r);
        for (size_t i = 0; frames[i] && !any; i++)
            any = skip(r, frames[i]);
    }
}

json_object *chela_textcall_read(const char *text, size_t length, const struct chela_toolset *tools,
                                 bool whole, size_t *ret_used)
{
    struct reader r = {text, text + length, tools, chela_json_new_array(), whole};
    const char *used = text;
    size_t count = 0;
    for (;;) {
        skip_frame(&r);
        if (count)
            used = r.at;
        if (!read_one(&r))
            break;
        count = chela_json_length(r.calls);
        used = r.at;
    }
    if (count == 0) {
        json_object_put(r.calls);
        return NULL;
    }
    if (chela_json_length(r.calls) > count) /* a list that broke off in its middle */
        json_object_array_del_idx(r.calls, count, chela_json_length(r.calls) - count);
    *ret_used = (size_t)(used - text);
    return r.calls;
}
