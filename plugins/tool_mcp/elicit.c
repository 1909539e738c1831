/*
 * elicitation/create: a server wants a person to fill in a form, or to open a page. What is left
 * out takes the form's defaults; what doesn't fit it is not sent. Called by incoming.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { INVALID_PARAMS = -32602 };

struct elicitation {
    struct server *server;
    json_object *id, *schema;
    bool url;
};

static bool fits(json_object *value, json_object *property)
{
    const char *type = chela_json_string(property, "type", NULL);
    if (!type)
        return true;
    if (strcmp(type, "string") == 0)
        return chela_json_as_string(value, NULL) != NULL;
    if (strcmp(type, "boolean") == 0)
        return json_object_is_type(value, json_type_boolean);
    if (strcmp(type, "integer") == 0)
        return json_object_is_type(value, json_type_int);
    if (strcmp(type, "number") == 0)
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
    if (strcmp(type, "array") == 0)
        return json_object_is_type(value, json_type_array);
    return false;
}

/* What is sent: the person's values, then defaults; NULL if something required is missing. */
static json_object *fill(json_object *schema, json_object *given)
{
    json_object *o = chela_json_new_object(), *properties = chela_json_object(schema, "properties"),
                *required = chela_json_array(schema, "required");
    if (properties) {
        json_object_object_foreach(properties, name, property)
        {
            json_object *value = chela_json_get(given, name);
            if (!value || !fits(value, property))
                value = chela_json_get(property, "default");
            if (value)
                chela_json_put(o, name, json_object_get(value));
        }
    }
    for (size_t i = 0; i < chela_json_length(required); i++) {
        const char *name = chela_json_as_string(chela_json_at(required, i), NULL);
        if (name && !chela_json_has(o, name)) {
            json_object_put(o);
            return NULL;
        }
    }
    return o;
}

static void decided(void *owner, const char *action, json_object *given)
{
    struct elicitation *x = owner;
    json_object *o = chela_json_new_object(), *content = NULL;
    if (strcmp(action, "accept") == 0 && !x->url) {
        content = fill(x->schema, given);
        if (!content)
            action = "cancel";
    }
    chela_json_put_text(o, "action", action);
    if (content)
        chela_json_put(o, "content", content);
    rpc_answer(x->server, x->id, o, 0, NULL);
    json_object_put(x->id);
    json_object_put(x->schema);
    free(x);
}

static void put_fields(FILE *out, json_object *schema)
{
    json_object *properties = chela_json_object(schema, "properties");
    if (!properties)
        return;
    json_object_object_foreach(properties, name, property)
    {
        const char *about = chela_json_string(property, "description", NULL),
                   *type = chela_json_string(property, "type", NULL);
        json_object *fallback = chela_json_get(property, "default"),
                    *choices = chela_json_array(property, "enum");
        fprintf(out, "\n- %s (%s)%s%s", name, type ? type : "any", about ? ": " : "",
                about ? about : "");
        if (choices)
            fprintf(out, " one of %s", chela_json_text(choices, NULL));
        if (fallback)
            fprintf(out, " [%s]", chela_json_text(fallback, NULL));
    }
    fputs("\n\nValues go behind the answer, as JSON.", out);
}

void elicit_create(struct server *s, json_object *id, json_object *params)
{
    const char *mode = chela_json_string(params, "mode", NULL),
               *message = chela_json_string(params, "message", NULL),
               *url = chela_json_string(params, "url", NULL);
    bool page = mode && strcmp(mode, "url") == 0;
    if ((page && (!url || strncmp(url, "https://", 8) != 0) &&
         (!url || strncmp(url, "http://", 7) != 0)) ||
        (mode && !page && strcmp(mode, "form") != 0)) {
        rpc_answer(s, id, NULL, INVALID_PARAMS, "no such mode of elicitation, or no url");
        return;
    }
    struct elicitation *x = need(calloc(1, sizeof *x));
    x->server = s;
    x->id = json_object_get(id);
    x->schema = json_object_get(chela_json_object(params, "requestedSchema"));
    x->url = page;
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    fprintf(out, "The MCP server %s asks: %.1500s", s->name, message ? message : "");
    if (page)
        fprintf(out, "\n\nIt wants you to open %.1000s", url);
    else
        put_fields(out, x->schema);
    fclose(out);
    struct request *cause = incoming_cause(s);
    question_ask(s, page ? "url" : "form", text, json_object_get(x->schema),
                 cause ? cause->source : NULL, decided, x);
    free(text);
}
