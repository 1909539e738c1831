/*
 * Tool calls written as text (see textcall.h): this file decides what of a stream is held back;
 * textcall_read.c reads it.
 */
#include "support/textcall.h"

#include <stdlib.h>
#include <string.h>

#include "support/textcall_read.h"

enum verdict { NO, MAYBE, YES };

/* More than this is no call of a model that writes them as text. */
enum { HELD_MOST = 1 << 20 };

/* Whether the text begins with `wanted`; MAYBE: it is too short to say. */
static enum verdict begins(const char *text, size_t n, const char *wanted)
{
    size_t k = strlen(wanted);
    return memcmp(text, wanted, n < k ? n : k) != 0 ? NO : n < k ? MAYBE : YES;
}

static enum verdict any_of(const char *text, size_t n, const char *const *list)
{
    enum verdict best = NO;
    for (; *list; list++) {
        enum verdict v = begins(text, n, *list);
        if (v > best)
            best = v;
    }
    return best;
}

static size_t blanks(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", text[i]))
        i++;
    return i;
}

/* A tag or mark that begins a call, anywhere in an answer. */
static enum verdict tag(const struct chela_toolset *tools, const char *text, size_t n)
{
    static const char *const tags[] = {
        "<tool_call>", "<function=", "<invoke name=", "<function_calls>", "[TOOL_CALLS]", NULL};
    enum verdict v = any_of(text, n, tags);
    for (size_t i = 0; i < tools->count && v != YES && text[0] == '<'; i++) {
        size_t k = strlen(tools->offers[i].wire), have = n - 1 < k ? n - 1 : k;
        if (k == 0 || memcmp(text + 1, tools->offers[i].wire, have) != 0)
            continue;
        if (n < k + 2)
            v = MAYBE;
        else if (text[k + 1] == '>')
            v = YES;
    }
    return v;
}

/* A JSON object whose first key is one of a call's. */
static enum verdict object(const char *text, size_t n)
{
    static const char *const keys[] = {"\"name\"",       "\"tool\"",      "\"tool_name\"",
                                       "\"function\"",   "\"tool_call\"", "\"type\"",
                                       "\"tool_calls\"", "\"arguments\"", "\"parameters\"",
                                       "\"id\"",         "\"input\"",     NULL};
    size_t at = 1 + blanks(text + 1, n - 1);
    return at == n ? MAYBE : any_of(text + at, n - at, keys);
}

static enum verdict list(const char *text, size_t n)
{
    size_t at = 1 + blanks(text + 1, n - 1);
    return at == n ? MAYBE : text[at] == '{' ? object(text + at, n - at) : NO;
}

/* What an answer begins with, behind white space. */
static enum verdict first(const struct chela_toolset *tools, const char *text, size_t n)
{
    static const char *const fences[] = {"```json\n", "```tool_call\n", "```xml\n", "```\n", NULL};
    enum verdict v = any_of(text, n, fences);
    if (v == MAYBE)
        return MAYBE;
    if (v == YES) {
        size_t at = (size_t)((const char *)memchr(text, '\n', n) - text);
        at += blanks(text + at, n - at);
        return at == n ? MAYBE : text[at] == '`' ? NO : first(tools, text + at, n - at);
    }
    v = tag(tools, text, n);
    if (v != NO)
        return v;
    return text[0] == '{' ? object(text, n) : text[0] == '[' ? list(text, n) : NO;
}

/* Notes what goes out: whether it is more than white space, and whether a code fence is open. */
static void went(struct chela_textcall *t, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        t->ticks = text[i] == '`' ? t->ticks + 1 : 0;
        if (t->ticks == 3)
            t->fenced = !t->fenced;
        t->started = t->started || !strchr(" \t\r\n", text[i]);
    }
}

/* How much of what is held may go out. */
static size_t free_part(struct chela_textcall *t, const struct chela_toolset *tools)
{
    size_t i = 0;
    while (i < t->length) {
        const char *rest = t->text + i;
        size_t n = t->length - i;
        enum verdict v = NO;
        if (!t->started && !strchr(" \t\r\n", *rest))
            v = first(tools, rest, n);
        else if (!t->fenced && (*rest == '<' || *rest == '['))
            v = tag(tools, rest, n);
        if (v != NO) {
            t->open = v == YES;
            return i;
        }
        size_t k = 1; /* on to what may begin a call */
        while (t->started && k < n && !strchr("<[`", rest[k]))
            k++;
        went(t, rest, k);
        i += k;
    }
    return i;
}

static void append(struct chela_textcall *t, const char *piece, size_t length)
{
    if (t->length + length + 1 > t->size) {
        t->size = (t->length + length + 1) * 2;
        t->text = realloc(t->text, t->size);
        if (!t->text)
            abort();
    }
    if (length)
        memcpy(t->text + t->length, piece, length);
    t->length += length;
    t->text[t->length] = '\0';
}

static void drop_out(struct chela_textcall *t)
{
    if (t->out == 0)
        return;
    t->length -= t->out;
    memmove(t->text, t->text + t->out, t->length);
    t->out = 0;
}

void chela_textcall_feed(struct chela_textcall *t, const struct chela_toolset *tools,
                         const char *piece, size_t length, const char **ret_text,
                         size_t *ret_length)
{
    drop_out(t);
    append(t, piece, length);
    if (t->open && t->length > HELD_MOST) {
        t->open = false;
        t->fenced = true; /* nothing in it counts any more */
        t->started = true;
    }
    t->out = t->open ? 0 : free_part(t, tools);
    *ret_text = t->text;
    *ret_length = t->out;
}

json_object *chela_textcall_end(struct chela_textcall *t, const struct chela_toolset *tools,
                                bool whole, const char **ret_text, size_t *ret_length)
{
    size_t used = 0;
    drop_out(t);
    json_object *calls =
        t->open && t->length ? chela_textcall_read(t->text, t->length, tools, whole, &used) : NULL;
    *ret_text = t->text ? t->text + used : "";
    *ret_length = t->length - used;
    t->open = false;
    t->out = t->length;
    return calls;
}

void chela_textcall_free(struct chela_textcall *t)
{
    free(t->text);
    *t = (struct chela_textcall){0};
}
