/*
 * Methods on the configuration: config.get, config.schema, config.patch, and our own forms and
 * search. Called by method.c. What is written goes into the gateway's own file alone, and is taken
 * back when the whole doesn't fit any more.
 */
#include "config.h"

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/gateway.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "host/own_file.h"
#include "host/settings.h"
#include "support/json.h"

enum { HITS = 20, HITS_MOST = 100, HASH = 65 };

/* ---- config.get ---- */

/* Puts a value at "a.b.0.c": groups are objects, a list was put before its elements. */
static void put_path(json_object *root, const char *path, json_object *value)
{
    json_object *at = root;
    for (;;) {
        size_t n = strcspn(path, ".");
        CLEANUP(freep) char *name = xmemdup(path, n);
        bool last = !path[n], list = json_object_is_type(at, json_type_array);
        size_t index = list ? (size_t)strtoul(name, NULL, 10) : 0;
        json_object *next = list ? chela_json_at(at, index) : chela_json_get(at, name);
        if (last) {
            if (list)
                chela_json_push(at, json_object_get(value));
            else
                chela_json_put(at, name, json_object_get(value));
            return;
        }
        if (!next)
            next = list ? chela_json_push_object(at) : chela_json_put_object(at, name);
        at = next;
        path += n + 1;
    }
}

static json_object *config_tree(void)
{
    struct buf text = {0};
    json_object *list = NULL, *root = chela_json_new_object();
    settings_show(settings_now(), true, &text);
    if (chela_json_parse(text.p, text.n, NULL, &list, NULL) == 0)
        for (size_t i = 0; i < chela_json_length(list); i++) {
            json_object *o = chela_json_at(list, i);
            const char *path = chela_json_string(o, "path", NULL);
            if (path)
                put_path(root, path, chela_json_get(o, "value"));
        }
    json_object_put(list);
    buf_free(&text);
    return root;
}

static void config_get(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object(), *tree = config_tree();
    const char *path = settings_own_file(settings_now());
    char hash[HASH];
    struct stat st;
    (void)params;
    own_file_hash(path, hash);
    chela_json_put_text(o, "path", path);
    chela_json_put_bool(o, "exists", stat(path, &st) == 0);
    chela_json_put_text(o, "raw", chela_json_text(tree, NULL));
    chela_json_put(o, "parsed", json_object_get(tree));
    chela_json_put(o, "config", tree);
    chela_json_put_bool(o, "valid", true); /* one that isn't never becomes the running one */
    chela_json_put_array(o, "issues");
    chela_json_put_text(o, "hash", hash);
    rpc_answer(rpc, o);
}

/* ---- config.schema ---- */

static json_object *group_at(json_object *schema, const char *name, size_t n)
{
    CLEANUP(freep) char *key = xmemdup(name, n);
    json_object *properties = chela_json_object(schema, "properties");
    if (!properties)
        properties = chela_json_put_object(schema, "properties");
    json_object *next = chela_json_object(properties, key);
    if (!next)
        next = chela_json_put_object(properties, key);
    return next;
}

static void add_to_schema(json_object *schema, json_object *hints, json_object *option)
{
    const char *path = chela_json_string(option, "path", NULL),
               *type = chela_json_string(option, "type", NULL), *at = path;
    json_object *node = schema, *hint = chela_json_put_object(hints, path);
    for (size_t n; (n = strcspn(at, ".")), at[n]; at += n + 1) {
        node = group_at(node, at, n);
        chela_json_put_text(node, "type", "object");
    }
    node = group_at(node, at, strlen(at));
    chela_json_put_text(node, "type",
                        strcmp(type, "bool") == 0   ? "boolean"
                        : strcmp(type, "int") == 0  ? "integer"
                        : strcmp(type, "real") == 0 ? "number"
                        : strcmp(type, "list") == 0 ? "array"
                                                    : "string");
    if (strcmp(type, "list") == 0)
        chela_json_put_text(chela_json_put_object(node, "items"), "type", "string");
    json_object *choices = chela_json_array(option, "choices"),
                *fallback = chela_json_get(option, "default");
    if (choices)
        chela_json_put(node, "enum", json_object_get(choices));
    if (fallback)
        chela_json_put(node, "default", json_object_get(fallback));
    chela_json_put_text(hint, "label", chela_json_string(option, "name", NULL));
    chela_json_put_text(hint, "help", chela_json_string(option, "help", NULL));
    if (chela_json_bool(option, "secret", false))
        chela_json_put_bool(hint, "sensitive", true);
}

static void make_schema(json_object *schema, json_object *hints)
{
    json_object *sections = settings_form(settings_now());
    chela_json_put_text(schema, "type", "object");
    for (size_t i = 0; i < chela_json_length(sections); i++) {
        json_object *options = chela_json_array(chela_json_at(sections, i), "options");
        for (size_t k = 0; k < chela_json_length(options); k++)
            add_to_schema(schema, hints, chela_json_at(options, k));
    }
    json_object_put(sections);
}

static void add_child(json_object *children, json_object *hints, const char *path, const char *key,
                      json_object *schema)
{
    json_object *o = chela_json_push_object(children);
    CLEANUP(freep) char *full = *path ? xprintf("%s.%s", path, key) : xstrdup(key);
    const char *type = chela_json_string(schema, "type", NULL);
    chela_json_put_text(o, "key", key);
    chela_json_put_text(o, "path", full);
    if (type)
        chela_json_put_text(o, "type", type);
    chela_json_put_bool(o, "required", false);
    chela_json_put_bool(o, "hasChildren", chela_json_object(schema, "properties") != NULL);
    if (chela_json_object(hints, full)) {
        chela_json_put(o, "hint", json_object_get(chela_json_object(hints, full)));
        chela_json_put_text(o, "hintPath", full);
    }
}

/* One place of the schema, with what lies below it. */
static void schema_lookup(struct rpc *rpc, json_object *params)
{
    const char *path = chela_json_string(params, "path", NULL);
    json_object *schema = chela_json_new_object(), *hints = chela_json_new_object(), *at = schema;
    make_schema(schema, hints);
    for (const char *part = path; at && *part;) {
        size_t n = strcspn(part, ".");
        CLEANUP(freep) char *name = xmemdup(part, n);
        at = chela_json_object(chela_json_object(at, "properties"), name);
        part += n + (part[n] == '.');
    }
    if (!at) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "there is no option \"%.200s\"", path);
    } else {
        json_object *o = chela_json_new_object(), *own = chela_json_new_object(), *children,
                    *below = chela_json_object(at, "properties");
        json_object_object_foreach(at, name, value) if (strcmp(name, "properties") != 0)
            chela_json_put(own, name, json_object_get(value));
        chela_json_put_text(o, "path", path);
        chela_json_put(o, "schema", own);
        if (chela_json_object(hints, path)) {
            chela_json_put(o, "hint", json_object_get(chela_json_object(hints, path)));
            chela_json_put_text(o, "hintPath", path);
        }
        children = chela_json_put_array(o, "children");
        if (below) {
            json_object_object_foreach(below, key, child)
                add_child(children, hints, path, key, child);
        }
        rpc_answer(rpc, o);
    }
    json_object_put(schema);
    json_object_put(hints);
}

static void config_schema(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object(), *schema = chela_json_put_object(o, "schema"),
                *hints = chela_json_put_object(o, "uiHints");
    char made[32];
    time_t now = (time_t)(clock_now_ms() / 1000);
    struct tm tm;
    (void)params;
    make_schema(schema, hints);
    gmtime_r(&now, &tm);
    strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", &tm);
    chela_json_put_text(o, "version", PACKAGE_VERSION);
    chela_json_put_text(o, "generatedAt", made);
    rpc_answer(rpc, o);
}

static void config_options(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "sections", settings_form(settings_now()));
    rpc_answer(rpc, o);
}

/* ---- config.patch ---- */

struct change {
    struct rpc *rpc;
    config_changed_fn *answer;
};

static void answer_patched(struct rpc *rpc)
{
    json_object *o = chela_json_new_object();
    const char *path = settings_own_file(settings_now());
    char hash[HASH];
    own_file_hash(path, hash);
    chela_json_put_bool(o, "ok", true);
    chela_json_put_text(o, "path", path);
    chela_json_put_text(o, "hash", hash);
    chela_json_put(o, "config", config_tree());
    rpc_answer(rpc, o);
}

static void announce(void)
{
    json_object *changed = chela_json_new_object();
    const char *path = settings_own_file(settings_now());
    char hash[HASH];
    own_file_hash(path, hash);
    chela_json_put_text(changed, "path", path);
    chela_json_put_text(changed, "hash", hash);
    connection_broadcast("config.changed", changed, SCOPE_READ, 0);
    json_object_put(changed);
}

static void applied(void *arg, const struct error *e)
{
    struct change *c = arg;
    struct rpc *rpc = c->rpc;
    config_changed_fn *answer = c->answer;
    free(c);
    if (!e) {
        announce();
        answer(rpc);
        return;
    }
    own_file_revert(settings_own_file(settings_now()));
    rpc_fail(rpc, "INVALID_REQUEST", NULL, "the change was not kept: %s", e->text);
}

/* {"changed": the names, not the values: some are secrets}. */
static json_object *patch_names(json_object *patch)
{
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "changed");
    json_object_object_foreach(patch, group, values)
    {
        if (!json_object_is_type(values, json_type_object)) {
            chela_json_push(list, json_object_new_string(group));
            continue;
        }
        json_object_object_foreach(values, name, value)
        {
            CLEANUP(freep) char *path = xprintf("%s.%s", group, name);
            (void)value;
            chela_json_push(list, json_object_new_string(path));
        }
    }
    return o;
}

void config_change(struct rpc *rpc, json_object *patch, config_changed_fn *answer)
{
    const char *path = settings_own_file(settings_now());
    const struct connection *by = connection_find(rpc->connection);
    struct buf text = {0};
    struct error e;
    if (own_file_merge(path, patch, &text, &e) < 0 || own_file_write(path, &text, &e) < 0) {
        rpc_fail_error(rpc, &e);
    } else {
        struct change *c = xcalloc(1, sizeof *c);
        c->rpc = rpc;
        c->answer = answer;
        log_info("config", "%s was changed by %s", path, by ? by->client_id : "a plugin");
        CLEANUP(freep) char *person = by ? connection_person(by) : NULL;
        audit_note("config.patch", person, patch_names(patch));
        gateway_reload(applied, c);
    }
    buf_free(&text);
}

static void config_patch(struct rpc *rpc, json_object *params)
{
    const char *base = chela_json_string(params, "baseHash", NULL);
    size_t n = 0;
    const char *raw = chela_json_string(params, "raw", &n);
    struct chela_json_error why;
    json_object *patch = NULL;
    char hash[HASH];
    own_file_hash(settings_own_file(settings_now()), hash);
    if (base && strcmp(base, hash) != 0)
        rpc_fail(rpc, "INVALID_REQUEST", NULL,
                 "the configuration has changed since it was read (baseHash): get it again");
    else if (chela_json_parse(raw, n, NULL, &patch, &why) < 0 ||
             !json_object_is_type(patch, json_type_object))
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "raw must be a JSON object: %s",
                 patch ? "it is another value" : why.text);
    else
        config_change(rpc, patch, answer_patched);
    json_object_put(patch);
}

/* ---- chela.search ---- */

struct search {
    struct rpc *rpc;
    json_object *hits;
};

static void search_row(void *owner, const struct journal_row *row)
{
    struct search *s = owner;
    json_object *o = chela_json_push_object(s->hits);
    chela_json_put_text(o, "session", view_text(row, 0));
    chela_json_put_int(o, "seq", view_int(row, 1));
    chela_json_put_text(o, "role", view_text(row, 2));
    chela_json_put_text(o, "snippet", view_text(row, 3));
    chela_json_put_int(o, "at", view_int(row, 4));
}

static void search_done(void *owner, const struct error *e)
{
    struct search *s = owner;
    if (e) {
        rpc_fail_error(s->rpc, e);
        json_object_put(s->hits);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put(o, "hits", s->hits);
        rpc_answer(s->rpc, o);
    }
    free(s);
}

static void search(struct rpc *rpc, json_object *params)
{
    struct search *s = xcalloc(1, sizeof *s);
    int64_t limit = chela_json_int(params, "limit", HITS);
    s->rpc = rpc;
    s->hits = chela_json_new_array();
    journal_search(chela_json_string(params, "text", NULL),
                   limit < 1           ? 1
                   : limit > HITS_MOST ? HITS_MOST
                                       : (unsigned)limit,
                   search_row, search_done, s);
}

const struct method methods_config[] = {
    {"config.get", SCOPE_READ, "", config_get},
    {"config.schema", SCOPE_READ, "", config_schema},
    {"config.schema.lookup", SCOPE_READ, "path:s!", schema_lookup},
    {"config.patch", SCOPE_ADMIN,
     "raw:s! baseHash:s sessionKey:s deliveryContext:o note:s restartDelayMs:i replacePaths:a",
     config_patch},
    {"chela.config.options", SCOPE_READ, "", config_options},
    {"chela.search", SCOPE_READ, "text:s! limit:i", search},
    {NULL, 0, NULL, NULL},
};
