/*
 * The allow-list: a set of source and kind. A service over the journal.
 */
#include "agent/tools/allow.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

static struct map entries; /* "source\nkind" */

static char *key_of(const char *source, const char *kind)
{
    return xprintf("%s\n%s", source, kind);
}

static void put(const char *source, const char *kind)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    map_set(&entries, key, &entries);
}

static void load_row(void *owner, const struct journal_row *row)
{
    (void)owner;
    if (row->columns < 2)
        return;
    CLEANUP(freep) char *source = xmemdup(row->values[0].s.s, row->values[0].s.n);
    CLEANUP(freep) char *kind = xmemdup(row->values[1].s.s, row->values[1].s.n);
    put(source, kind);
}

void allow_load(journal_fn *fn, void *owner)
{
    allow_reset();
    journal_allow_list(load_row, fn, owner);
}

static bool exact(const char *source, const char *kind)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    return map_get(&entries, key) != NULL;
}

/* Source and kind of an entry; both point into a copy that the caller frees. */
static char *split(const char *key, const char **ret_kind)
{
    char *source = xstrdup(key), *newline = strchr(source, '\n');
    *newline = '\0';
    *ret_kind = newline + 1;
    return source;
}

/* Does some pattern cover this one line? `tool`: what stands before the first '|'. */
static bool line_has(const char *source, const char *line)
{
    size_t position = 0;
    const struct map_slot *slot;
    bool found = false;
    while (!found && map_next(&entries, &position, &slot)) {
        const char *kind;
        CLEANUP(freep) char *from = split(slot->key, &kind);
        found = *kind == '~' && fnmatch(from + (*from == '~'), source, FNM_NOESCAPE) == 0 &&
                fnmatch(kind + 1, line, FNM_NOESCAPE) == 0;
    }
    return found;
}

bool allow_has(const char *source, const char *kind)
{
    if (exact(source, kind))
        return true;
    size_t tool = strcspn(kind, "|");
    for (const char *p = kind; *p;) { /* "exec|/bin/a x\n/bin/b y": a, then b */
        size_t n = strcspn(p, "\n");
        CLEANUP(freep)
        char *line = p == kind ? xmemdup(p, n) : xprintf("%.*s|%.*s", (int)tool, kind, (int)n, p);
        if (!line_has(source, line))
            return false;
        p += n + (p[n] == '\n');
    }
    return *kind != '\0';
}

/* The program has to stand there in full, so that no other is let in with it. Programs that run
 * what they are given never come here with a kind (the tool offers none), so that a pattern for one
 * would be without effect: that is said instead. */
int allow_check(const char *kind, struct error *e)
{
    static const char *const runners[] = {"sh",   "bash", "dash", "zsh", "python", "python3",
                                          "perl", "ruby", "node", "php", "env",    "xargs",
                                          "sudo", "find", "make", "git", "ssh",    "npx"};
    size_t tool = strcspn(kind, "|");
    if (tool == 0 || strchr(kind, '\n'))
        return error_set(e, CHELA_E_ARGS, "a kind is one line: \"tool\" or \"tool|what\"");
    if (strncmp(kind, "exec", tool) != 0 || tool != 4)
        return 0;
    const char *program = kind[tool] ? kind + tool + 1 : "";
    size_t n = strcspn(program, " ");
    if (program[0] != '/' || memchr(program, '*', n) || memchr(program, '?', n))
        return error_set(e, CHELA_E_ARGS,
                         "for exec the program's whole path is needed, as in \"exec|/usr/bin/npm "
                         "install *\"");
    const char *name = program + n;
    while (name > program && name[-1] != '/')
        name--;
    for (unsigned i = 0; i < ARRAY_LENGTH(runners); i++)
        if (strlen(runners[i]) == (size_t)(program + n - name) &&
            memcmp(runners[i], name, (size_t)(program + n - name)) == 0)
            return error_set(e, CHELA_E_ARGS,
                             "%s runs what it is given, so it is never allowed for always",
                             runners[i]);
    return 0;
}

struct json_object *allow_entries(void)
{
    struct json_object *list = chela_json_new_array();
    size_t position = 0;
    const struct map_slot *slot;
    while (map_next(&entries, &position, &slot)) {
        const char *kind;
        CLEANUP(freep) char *source = split(slot->key, &kind);
        struct json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "source", source);
        chela_json_put_text(o, "kind", kind);
    }
    return list;
}

static void stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("agent", "the allow-list could not be stored: %s", e->text);
}

void allow_add(const char *source, const char *kind, const char *by)
{
    if (exact(source, kind))
        return;
    put(source, kind);
    journal_allow(source, kind, by, clock_now_ms(), stored, NULL);
}

void allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    map_remove(&entries, key);
    journal_allow_remove(source, kind, fn, owner);
}

void allow_reset(void)
{
    map_free(&entries, NULL);
    memset(&entries, 0, sizeof entries);
}
