/*
 * The tools that a model is offered, read once: their wire names, manifests and schemas, and the
 * text that a service wants them in. From one request to the next they are mostly the same bytes,
 * so an instance keeps the last few sets. Called by stream.c and by the providers' request writers;
 * the text forms are theirs. All functions [loop].
 */
#ifndef CHELA_SUPPORT_TOOLSET_H
#define CHELA_SUPPORT_TOOLSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <chela/chela.h>
#include <json-c/json_object.h>

#include "support/naming.h"

#pragma GCC visibility push(hidden)

/* A tool under its wire name. One whose name meets an earlier one's, or whose manifest isn't JSON,
 * is not offered. */
struct chela_offer {
    char wire[CHELA_NAME_SIZE];
    char *name; /* the host's */
    json_object *manifest;
    json_object *parameters; /* its schema; an object without members if it has none */
    bool strict;             /* sent in strict form: null members are undone (tool_schema.h) */
};

struct chela_toolset {
    unsigned holders;
    size_t count;
    struct chela_offer *offers;
    char *key; /* what it was read from */
    size_t key_length;
    char *text; /* as chela_toolset_text wrote it, or NULL */
    size_t text_length;
};

/* The sets that an instance keeps, the last used first; {0} when it is opened. */
enum { CHELA_TOOLSETS_KEPT = 4 };
struct chela_toolsets {
    const struct chela_naming *naming;
    struct chela_toolset *kept[CHELA_TOOLSETS_KEPT];
};
void chela_toolsets_close(struct chela_toolsets *sets);

/* `open` and `close` of a provider whose `self` is its toolsets and nothing else. */
int chela_toolsets_instance(struct chela_inst *in);
void chela_toolsets_instance_close(struct chela_inst *in);

/* The tools of a request, a kept set if they are those of an earlier one. The caller puts it back
 * with chela_toolset_put. */
struct chela_toolset *chela_toolset_get(struct chela_toolsets *sets,
                                        const struct chela_naming *naming,
                                        const struct chela_begin *b);
void chela_toolset_put(struct chela_toolset *set);

const char *chela_toolset_name(const struct chela_toolset *set, const char *wire); /* or NULL */
/* The tool of that name, wire or original: its place, or -1 if none is offered. */
int chela_toolset_find(const struct chela_toolset *set, const char *name, size_t length);

/* Writes one tool in a service's form; may set offer->strict. `arg` must be the same for all
 * requests of an instance. */
typedef void chela_tool_writer(FILE *out, struct chela_offer *offer, const void *arg);
/* All tools in that form with commas between, written once for the set; empty: none are offered. */
struct chela_str chela_toolset_text(struct chela_toolset *set, chela_tool_writer *write,
                                    const void *arg);
/* The same behind `before` and in front of `after`; nothing at all if there are none. */
void chela_toolset_write(FILE *out, struct chela_toolset *set, const char *before,
                         chela_tool_writer *write, const void *arg, const char *after);

#pragma GCC visibility pop
#endif
