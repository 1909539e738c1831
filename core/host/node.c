/*
 * The tree of a configuration (see node.h).
 */
#include "host/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct node *node_new(enum node_kind kind, const char *name, const struct node_source *source,
                      unsigned line)
{
    struct node *n = xcalloc(1, sizeof *n);
    n->kind = kind;
    n->name = xstrdup(name);
    n->source = source;
    n->line = line;
    return n;
}

void node_free(struct node *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->count; i++)
        node_free(n->children[i]);
    if (n->text)
        explicit_bzero(n->text, strlen(n->text)); /* may be a key */
    free(n->children);
    free(n->text);
    free(n->name);
    free(n);
}

void node_append(struct node *parent, struct node *child)
{
    if ((parent->count & (parent->count - 1)) == 0) {
        size_t room = parent->count ? parent->count * 2 : 1;
        parent->children = xrealloc(parent->children, room * sizeof(struct node *));
    }
    parent->children[parent->count++] = child;
}

static size_t find(const struct node *group, const char *name)
{
    size_t i = 0;
    while (i < group->count &&
           !(group->children[i]->name && strcmp(group->children[i]->name, name) == 0))
        i++;
    return i;
}

struct node *node_member(const struct node *group, const char *name)
{
    if (!group || group->kind != NODE_GROUP)
        return NULL;
    size_t i = find(group, name);
    return i < group->count ? group->children[i] : NULL;
}

struct node *node_take(struct node *group, const char *name)
{
    size_t i = find(group, name);
    if (group->kind != NODE_GROUP || i == group->count)
        return NULL;
    struct node *taken = group->children[i];
    /* the array stays as large as it is: node_append() grows it at powers of two, so shrinking
     * past one may only ask for the room again */
    memmove(group->children + i, group->children + i + 1,
            (group->count - i - 1) * sizeof(struct node *));
    group->count--;
    return taken;
}

static bool other_type(const struct node *a, const struct node *b)
{
    const struct node *x = node_member(a, "type"), *y = node_member(b, "type");
    return x && y && x->text && y->text && strcmp(x->text, y->text) != 0;
}

void node_merge(struct node *under, struct node *over)
{
    for (size_t i = 0; i < over->count; i++) {
        struct node *upper = over->children[i];
        size_t at = find(under, upper->name);
        if (at == under->count) {
            node_append(under, upper);
        } else if (upper->kind == NODE_GROUP && under->children[at]->kind == NODE_GROUP &&
                   !other_type(under->children[at], upper)) {
            node_merge(under->children[at], upper);
        } else {
            node_free(under->children[at]);
            under->children[at] = upper;
        }
    }
    over->count = 0;
    node_free(over);
}

struct node *node_copy(const struct node *n)
{
    struct node *copy = node_new(n->kind, n->name, n->source, n->line);
    copy->text = xstrdup(n->text);
    copy->number = n->number;
    copy->real = n->real;
    for (size_t i = 0; i < n->count; i++)
        node_append(copy, node_copy(n->children[i]));
    return copy;
}

void node_place(const struct node *n, struct buf *out)
{
    buf_puts(out, n->source->name);
    if (n->line)
        buf_printf(out, ":%u", n->line);
}

void node_vcomplain(const struct node *n, struct buf *errors, const char *format, va_list ap)
{
    node_place(n, errors);
    buf_puts(errors, ": ");
    buf_vprintf(errors, format, ap);
    buf_char(errors, '\n');
}

void node_complain(const struct node *n, struct buf *errors, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    node_vcomplain(n, errors, format, ap);
    va_end(ap);
}

const char *node_kind_name(enum node_kind kind)
{
    switch (kind) {
    case NODE_GROUP: return "a group { ... }";
    case NODE_LIST: return "a list";
    case NODE_TEXT: return "a string";
    case NODE_INT: return "a number";
    case NODE_REAL: return "a number with a decimal point";
    case NODE_BOOL: return "true or false";
    }
    return "something else";
}
