/*
 * The tree of a configuration as it was written, before anything is checked: what stands in the
 * files, the environment and a plugin's table of defaults, in one form, each value with the place
 * that it came from. Private to the settings and the options.
 */
#ifndef HOST_NODE_H
#define HOST_NODE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum node_kind { NODE_GROUP, NODE_LIST, NODE_TEXT, NODE_INT, NODE_REAL, NODE_BOOL };

/* Where a value came from. One for each file; kept until the settings are freed. */
struct node_source {
    char *name;       /* "/etc/chela/chela.conf", "environment CHELA_GATEWAY__PORT", "default" */
    bool environment; /* text that may stand for any type; nothing is expanded in it */
    bool builtin;     /* a fallback of an option table: a variable that isn't set is "absent" */
    bool untrusted;   /* a project that nobody has trusted */
    bool plugins;     /* of plugins-enabled: two of them may not define the same instance */
};

struct node {
    enum node_kind kind;
    char *name; /* NULL in a list and for the root */
    char *text;
    int64_t number; /* also 0 and 1 of NODE_BOOL */
    double real;
    const struct node_source *source;
    unsigned line; /* 0: has none */
    struct node **children;
    size_t count;
};

struct node *node_new(enum node_kind kind, const char *name, const struct node_source *source,
                      unsigned line);
void node_free(struct node *n); /* with its children; NULL is fine */
/* Appends; the parent owns the child. */
void node_append(struct node *parent, struct node *child);
/* The member of a group, NULL if there is none. */
struct node *node_member(const struct node *group, const char *name);
/* The same, taken out of the group. */
struct node *node_take(struct node *group, const char *name);
/* Puts `over` (consumed) on top of `under`: groups are joined, anything else is replaced. Groups
 * whose `type` differs are two different things, so the upper one replaces the lower. */
void node_merge(struct node *under, struct node *over);
struct node *node_copy(const struct node *n);

/* "FILE:LINE", "environment NAME" or "default". */
void node_place(const struct node *n, struct buf *out);
/* Adds the line "PLACE: text" to the mistakes. */
void node_complain(const struct node *n, struct buf *errors, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void node_vcomplain(const struct node *n, struct buf *errors, const char *format, va_list ap)
    __attribute__((format(printf, 3, 0)));
const char *node_kind_name(enum node_kind kind); /* "a group", "a string" ... */

#endif
