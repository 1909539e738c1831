/*
 * What is known of a provider's models (see models.h).
 */
#include "support/models.h"

#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { ASK_MS = 10000 };

const struct chela_option chela_model_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "the service's name of the model", NULL},
    {"context", CHELA_INT, 0, NULL, "tokens that fit into its context window", NULL},
    {"max_output", CHELA_INT, 0, NULL, "tokens that it can write in one answer", NULL},
    {"tools", CHELA_BOOL, 0, NULL, "it can call tools; yes if nobody says otherwise", NULL},
    {"images", CHELA_BOOL, 0, NULL, "it can look at images", NULL},
    {"thinking", CHELA_BOOL, 0, NULL, "it can think before it answers", NULL},
    {"price_in", CHELA_REAL, 0, NULL, "price of a million tokens read", NULL},
    {"price_out", CHELA_REAL, 0, NULL, "price of a million tokens written", NULL},
    {"price_cache_read", CHELA_REAL, 0, NULL,
     "price of a million tokens that the service had in its cache; price_in if absent", NULL},
    {"price_cache_write", CHELA_REAL, 0, NULL,
     "price of a million tokens that it put into its cache; price_in if absent", NULL},
    {"long_over", CHELA_INT, 0, NULL,
     "tokens of a request from which on the service asks its prices for long ones", NULL},
    {"long_price_in", CHELA_REAL, 0, NULL, "price_in of a long request; the usual one if absent",
     NULL},
    {"long_price_out", CHELA_REAL, 0, NULL, "price_out of a long request; the usual one if absent",
     NULL},
    {"long_price_cache_read", CHELA_REAL, 0, NULL,
     "price_cache_read of a long request; the usual one if absent", NULL},
    {"local", CHELA_BOOL, 0, NULL,
     "it runs on this machine and costs nothing; by default so where the service does", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* The row that says what a model can: of its name or alias, or of the longest name in the table
 * that its own begins with. */
static const struct chela_model *row_of(const struct chela_model_table *table, const char *name)
{
    const struct chela_model *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; table && i < table->n; i++) {
        const char *const names[] = {table->v[i].name, table->v[i].alias};
        for (size_t k = 0; k < 2; k++) {
            size_t n = names[k] ? strlen(names[k]) : 0;
            bool fits = n > longest && strncmp(name, names[k], n) == 0 &&
                        (name[n] == '\0' || name[n] == '-' || name[n] == ':' || name[n] == '@');
            if (fits) {
                best = &table->v[i];
                longest = n;
            }
        }
    }
    return best;
}

/* Whether what stands behind a row's name leaves it the same model: nothing, a tag, or a date or
 * number of its edition ("-20250929", "-2025-08-07", "-0709", "-001"). A single digit may be
 * another model ("grok-4-1"). */
static bool same_model(const char *rest)
{
    if (*rest == '\0' || *rest == ':' || *rest == '@')
        return true;
    return *rest == '-' && strspn(rest + 1, "0123456789") >= 3 &&
           rest[strspn(rest, "-0123456789")] == '\0';
}

/* Whether a model costs what the row says. */
static bool has_price_of(const struct chela_model *row, const char *name)
{
    const char *const names[] = {row->name, row->alias};
    for (size_t k = 0; k < 2; k++) {
        size_t n = names[k] ? strlen(names[k]) : 0;
        if (n && strncmp(name, names[k], n) == 0 && same_model(name + n))
            return true;
    }
    return false;
}

static void fill_int(json_object *o, const char *key, uint64_t number)
{
    if (number && !chela_json_has(o, key))
        chela_json_put_int(o, key, (int64_t)number);
}

static void fill_bool(json_object *o, const char *key, bool truth)
{
    if (!chela_json_has(o, key))
        chela_json_put_bool(o, key, truth);
}

/* All or none: an option that names one of the two has other prices in mind than the table's. */
static void fill_prices(json_object *o, const struct chela_model *row)
{
    if (chela_json_has(o, "price_in") || chela_json_has(o, "price_out"))
        return;
    const struct {
        const char *key;
        double price;
    } prices[] = {{"price_in", row->price_in},
                  {"price_out", row->price_out},
                  {"price_cache_read", row->price_cache_read},
                  {"price_cache_write", row->price_cache_write},
                  {"long_price_in", row->long_in},
                  {"long_price_out", row->long_out},
                  {"long_price_cache_read", row->long_cache_read}};
    fill_int(o, "long_over", row->long_over);
    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++)
        if (prices[i].price > 0 && !chela_json_has(o, prices[i].key))
            chela_json_put_double(o, prices[i].key, prices[i].price);
}

/* Fills in what a model's object lacks from the table's row (NULL: there is none). */
static void fill_in(json_object *o, const struct chela_model *row)
{
    fill_bool(o, "tools", true);
    fill_bool(o, "images", row && row->images);
    fill_bool(o, "thinking", row && row->thinking);
    if (!row)
        return;
    fill_int(o, "context", row->context);
    fill_int(o, "max_output", row->max_output);
    const char *name = chela_json_string(o, "name", NULL);
    if (name && has_price_of(row, name))
        fill_prices(o, row);
    if (row->alias && name && strcmp(name, row->name) == 0)
        chela_json_push(chela_json_put_array(o, "aliases"), json_object_new_string(row->alias));
}

/* A model of the option "models", an item of the list: what it says of itself, its name first. */
static json_object *configured_model(struct chela_inst *in, int64_t i)
{
    char path[64];
    json_object *o = chela_json_new_object();
    snprintf(path, sizeof path, "models.%lld.name", (long long)i);
    chela_json_put_text(o, "name", chela_option_text(in, path).s);
    for (const struct chela_option *item = chela_model_items + 1; item->name; item++) {
        snprintf(path, sizeof path, "models.%lld.%s", (long long)i, item->name);
        struct chela_str text = chela_option_text(in, path);
        if (text.n == 0)
            continue;
        if (item->type == CHELA_INT)
            chela_json_put_int(o, item->name, chela_option_number(in, path));
        else if (item->type == CHELA_BOOL)
            chela_json_put_bool(o, item->name, chela_option_number(in, path) != 0);
        else
            chela_json_put_double(o, item->name, strtod(text.s, NULL));
    }
    return o;
}

static json_object *configured_models(struct chela_inst *in)
{
    json_object *list = chela_json_new_array();
    int64_t n = chela_option_number(in, "models");
    for (int64_t i = 0; i < n; i++)
        chela_json_push(list, configured_model(in, i));
    return list;
}

/* Adds to a configured model what the service says of the one of the same name. */
static void fill_from(json_object *o, json_object *found)
{
    const char *name = chela_json_string(o, "name", NULL);
    for (size_t i = 0; name && i < chela_json_length(found); i++) {
        json_object *other = chela_json_at(found, i);
        const char *its = chela_json_string(other, "name", NULL);
        if (!its || strcmp(its, name) != 0)
            continue;
        json_object_object_foreach(other, key, value)
        {
            if (!chela_json_has(o, key))
                chela_json_put(o, key, json_object_get(value));
        }
    }
}

/* By the clock, so that it rises over the restart of an isolated plugin; and within a millisecond.
 */
static uint64_t next_revision(struct chela_inst *in)
{
    static uint64_t last;
    uint64_t now = in->host->local->ticks_ms(in) + 1;
    last = now > last ? now : last + 1;
    return last;
}

static void publish(struct chela_inst *in, json_object *list, const struct chela_model_table *table)
{
    size_t n = chela_json_length(list);
    struct chela_pair *items = calloc(n ? n : 1, sizeof *items);
    if (!items)
        abort();
    for (size_t i = 0; i < n; i++) {
        size_t length;
        json_object *o = chela_json_at(list, i);
        const char *name = chela_json_string(o, "name", NULL);
        fill_in(o, row_of(table, name ? name : ""));
        items[i].name = chela_s(name);
        items[i].value.s = chela_json_text(o, &length);
        items[i].value.n = length;
    }
    chela_publish_list(in, CHELA_MODELS, next_revision(in), items, n);
    free(items);
}

void chela_publish_models(struct chela_inst *in, const struct chela_model_table *table)
{
    json_object *list = configured_models(in);
    for (size_t i = 0, empty = chela_json_length(list) == 0; empty && table && i < table->n; i++)
        chela_json_put_text(chela_json_push_object(list), "name", table->v[i].name);
    publish(in, list, table);
    json_object_put(list);
}

void chela_publish_found(struct chela_inst *in, json_object *found,
                         const struct chela_model_table *table)
{
    json_object *list = configured_models(in);
    for (size_t i = 0; i < chela_json_length(list); i++)
        fill_from(chela_json_at(list, i), found);
    publish(in, chela_json_length(list) ? list : found, table);
    json_object_put(list);
}

void chela_publish_state(struct chela_inst *in, bool ok, const char *text)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", ok);
    chela_json_put_text(o, "text", text);
    struct chela_pair state = {CHELA_LIT("state"), chela_s(chela_json_text(o, NULL))};
    chela_publish_list(in, CHELA_STATE, next_revision(in), &state, 1);
    json_object_put(o);
}

void chela_ask(struct chela_inst *in, uint64_t tag, const char *method, const char *url,
               const char *body, const struct chela_pair *headers, size_t header_count)
{
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = tag;
    a.method = chela_s(method);
    a.url = chela_s(url);
    a.body = chela_s(body);
    a.headers.v = headers;
    a.headers.n = header_count;
    a.timeout_ms = ASK_MS;
    in->host->net->http(in, &a);
}
