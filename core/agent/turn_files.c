/*
 * Files that tools made for the person: they go out with the turn's reply. Part of turn.h.
 */
#include <string.h>
#include <support/json.h>

#include "agent/turn.h"

enum { FILES_MOST = 32 };

static bool have(const struct turn *t, const struct json_object *file)
{
    const char *hash = chela_json_string(file, "hash", NULL),
               *name = chela_json_string(file, "name", NULL);
    for (size_t i = 0; i < chela_json_length(t->media); i++) {
        struct json_object *o = chela_json_at(t->media, i);
        const char *other = chela_json_string(o, "name", NULL);
        if (strcmp(chela_json_string(o, "hash", NULL), hash) == 0 && name && other &&
            strcmp(name, other) == 0)
            return true;
    }
    return false;
}

void turn_keep_files(struct turn *t, const struct json_object *parts)
{
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        struct json_object *files = chela_json_array(chela_json_at(parts, i), "files");
        for (size_t k = 0; k < chela_json_length(files); k++) {
            struct json_object *f = chela_json_at(files, k);
            if (!chela_json_string(f, "hash", NULL) || have(t, f))
                continue;
            if (!t->media)
                t->media = chela_json_new_array();
            if (chela_json_length(t->media) < FILES_MOST)
                chela_json_push(t->media, json_object_get(f));
        }
    }
}

void turn_recover_files(struct turn *t)
{
    const struct transcript *x = t->transcript;
    if (!t->job->recovered || !x)
        return;
    unsigned from = x->count;
    while (from > 0 && x->entries[from - 1].role != ENTRY_USER)
        from--;
    for (unsigned i = from; i < x->count; i++) {
        struct json_object *parts = NULL;
        const struct entry *e = &x->entries[i];
        if (e->role == ENTRY_TOOL && strstr(e->body, "\"files\"") &&
            chela_json_parse(e->body, e->body_n, NULL, &parts, NULL) == 0)
            turn_keep_files(t, parts);
        json_object_put(parts);
    }
}
