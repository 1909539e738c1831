/*
 * What is known about programs: the table's syntax, look-up, and an admin's lines over the built-in
 * ones, which stand in risk_programs.c. A table is immutable once made and may be shared.
 *
 * A line:  NAMES LEVEL [KIND] [KEY=LIST ...] [-- WHY]
 *
 * '#' begins a comment; lists are separated by commas.
 *
 *   NAMES    programs, or "program/subcommand", separated by commas
 *   LEVEL    low, medium or high: without any of the options below
 *   KIND     sub (has subcommands; those without a line of their own have this line's level),
 *            wrap or wrap:N (runs its operands, behind N of them), shell, find, xargs, env, sed,
 *            awk, test, names, command; absent: plain
 *   low=     first words that make it low
 *   high=    options that raise it, medium= likewise; "-x" is found in clusters, "--name" also
 *            abbreviated, "x*" and "x=" as a begin
 *   value=   options that take the next word
 *   free=    options known to be harmless (for kinds that refuse others)
 *   paths=   last or all: these operands are written, so their place counts
 *   alone=   like low=, when nothing follows
 *   bundled  "tar xf": a cluster without its dash comes first
 *   most=N   more operands than N are high
 *   builtin  of the shell, no file
 *   strict   an option that isn't listed is high
 *   bare     of a sub: counts without words
 */
#include "risk_internal.h"
#include "risk_programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 512u

struct risk_table {
    struct program *buckets[BUCKETS];
};

static void *allocated(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

static unsigned bucket_of(const char *name)
{
    unsigned hash = 5381;
    for (; *name; name++)
        hash = hash * 33 ^ (unsigned char)*name;
    return hash % BUCKETS;
}

const struct program *risk_table_find(const struct risk_table *table, const char *name)
{
    for (struct program *p = table->buckets[bucket_of(name)]; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* ---- reading a line ---- */

/* Items and their text in one block, so that the hundreds of lists are made quickly at start. */
static void list_read(struct list *list, const char *text, size_t length)
{
    size_t most = list->count + 1, old = 0;
    for (size_t i = 0; i < length; i++)
        most += text[i] == ',';
    for (size_t i = 0; i < list->count; i++)
        old += strlen(list->items[i]) + 1;
    char **items = allocated(malloc(most * sizeof *items + old + length + 1));
    char *at = (char *)(items + most);
    for (size_t i = 0; i < list->count; i++) { /* a key may come twice */
        items[i] = at;
        at = stpcpy(at, list->items[i]) + 1;
    }
    free(list->items);
    list->items = items;
    while (length > 0) {
        const char *comma = memchr(text, ',', length);
        size_t part = comma ? (size_t)(comma - text) : length;
        if (part > 0) {
            items[list->count++] = at;
            at = mempcpy(at, text, part);
            *at++ = '\0';
        }
        part += comma != NULL;
        text += part;
        length -= part;
    }
}

static void list_free(struct list *list)
{
    free(list->items);
    *list = (struct list){0};
}

static void program_free(struct program *program)
{
    list_free(&program->low);
    list_free(&program->alone);
    list_free(&program->medium);
    list_free(&program->high);
    list_free(&program->values);
    list_free(&program->free);
    free(program->name);
    free(program->why);
    free(program);
}

static bool read_kind(struct program *program, const char *text, size_t length)
{
    static const char *const kinds[] = {"plain", "sub", "wrap", "shell", "find",  "xargs",
                                        "env",   "sed", "awk",  "test",  "names", "command"};
    const char *colon = memchr(text, ':', length);
    size_t name = colon ? (size_t)(colon - text) : length;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i]) != name || memcmp(kinds[i], text, name) != 0)
            continue;
        program->kind = (enum program_kind)i;
        if (colon)
            program->skip = (unsigned)(colon[1] - '0');
        return !colon || (length == name + 2 && program->skip < 10);
    }
    return false;
}

static bool read_word(struct program *program, const char *text, size_t length)
{
    struct {
        const char *key;
        struct list *list;
    } keys[] = {{"low=", &program->low},       {"alone=", &program->alone},
                {"medium=", &program->medium}, {"high=", &program->high},
                {"value=", &program->values},  {"free=", &program->free}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t key = strlen(keys[i].key);
        if (length > key && memcmp(text, keys[i].key, key) == 0) {
            list_read(keys[i].list, text + key, length - key);
            return true;
        }
    }
    static const char *const flags[] = {"builtin",    "strict",    "bare",
                                        "paths=last", "paths=all", "bundled"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strlen(flags[i]) != length || memcmp(flags[i], text, length) != 0)
            continue;
        program->builtin = program->builtin || i == 0;
        program->strict = program->strict || i == 1;
        program->bundled = program->bundled || i == 5;
        program->skip = i == 2 ? 1 : program->skip;
        program->paths = i == 3 ? PATHS_LAST : i == 4 ? PATHS_ALL : program->paths;
        return true;
    }
    if (length == 6 && memcmp(text, "most=", 5) == 0) {
        program->most = (unsigned)(text[5] - '0') + 1;
        return program->most > 0 && program->most <= 10;
    }
    return read_kind(program, text, length);
}

static bool read_level(struct program *program, const char *text, size_t length)
{
    for (int level = RISK_LOW; level <= RISK_HIGH; level++) {
        const char *name = risk_level_name((enum risk_level)level);
        program->level = (enum risk_level)level;
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return true;
    }
    return false;
}

/* One name's entry from the rest of a line; NULL if that makes no sense. */
static struct program *read_program(const char *text, size_t length)
{
    struct program *program = allocated(calloc(1, sizeof *program));
    bool fine = true, level = false;
    while (length > 0 && fine) {
        size_t blanks = strspn(text, " \t");
        blanks = blanks < length ? blanks : length;
        text += blanks;
        length -= blanks;
        size_t word = strcspn(text, " \t");
        word = word < length ? word : length;
        if (word == 0)
            break;
        if (word == 2 && memcmp(text, "--", 2) == 0) {
            size_t skip = length > 3 ? 3 : length;
            program->why = allocated(strndup(text + skip, length - skip));
            break;
        }
        fine = level ? read_word(program, text, word) : read_level(program, text, word);
        level = true;
        text += word;
        length -= word;
    }
    if (fine && level)
        return program;
    program_free(program);
    return NULL;
}

static void set(struct risk_table *table, struct program *program)
{
    struct program **place = &table->buckets[bucket_of(program->name)];
    while (*place && strcmp((*place)->name, program->name) != 0)
        place = &(*place)->next;
    struct program *old = *place;
    if (old) {
        program->next = old->next;
        program_free(old);
    }
    *place = program;
}

/* False if the line makes no sense. */
static bool read_line(struct risk_table *table, const char *line, size_t length)
{
    size_t names = 0;
    while (names < length && line[names] != ' ' && line[names] != '\t')
        names++;
    if (length == 0 || line[0] == '#')
        return true;
    struct list list = {0};
    list_read(&list, line, names);
    bool fine = list.count > 0;
    char *rest = allocated(strndup(line + names, length - names));
    for (size_t i = 0; i < list.count && fine; i++) {
        struct program *program = read_program(rest, strlen(rest));
        fine = program != NULL;
        if (program) {
            program->name = allocated(strdup(list.items[i]));
            set(table, program);
        }
    }
    free(rest);
    list_free(&list);
    return fine;
}

/* ---- tables ---- */

int risk_table_add(struct risk_table *table, const char *lines, size_t length, char *error,
                   size_t error_size)
{
    for (unsigned number = 1; length > 0; number++) {
        const char *stop = memchr(lines, '\n', length);
        size_t line = stop ? (size_t)(stop - lines) : length;
        size_t blanks = 0;
        while (blanks < line && (lines[blanks] == ' ' || lines[blanks] == '\t'))
            blanks++;
        if (!read_line(table, lines + blanks, line - blanks)) {
            snprintf(error, error_size,
                     "line %u: expected \"NAMES low|medium|high [KIND] [KEY=LIST ...] [-- WHY]\"",
                     number);
            return -1;
        }
        line += stop != NULL;
        lines += line;
        length -= line;
    }
    return 0;
}

struct risk_table *risk_table_new(const char *lines, size_t length, char *error, size_t error_size)
{
    struct risk_table *table = allocated(calloc(1, sizeof *table));
    for (const char *const *line = risk_programs; *line; line++)
        if (!read_line(table, *line, strlen(*line)))
            abort(); /* a test reads them all */
    if (risk_table_add(table, lines, length, error, error_size) < 0) {
        risk_table_free(table);
        return NULL;
    }
    return table;
}

const struct risk_table *risk_table_of(const struct risk_options *options,
                                       struct risk_table **ret_own)
{
    if (options->table)
        return options->table;
    return *ret_own = risk_table_new(NULL, 0, NULL, 0);
}

void risk_table_free(struct risk_table *table)
{
    for (unsigned i = 0; table && i < BUCKETS; i++) {
        for (struct program *p = table->buckets[i], *next; p; p = next) {
            next = p->next;
            program_free(p);
        }
    }
    free(table);
}
