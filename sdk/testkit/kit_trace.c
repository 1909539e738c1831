/*
 * What the plugin said, as text (see kit.h). Called by kit.c for each frame.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kit_private.h"

void kit_text_add(struct kit_text *t, const char *p, size_t n)
{
    char *grown = realloc(t->p, t->n + n + 1);
    if (!grown)
        abort();
    t->p = grown;
    if (n)
        memcpy(t->p + t->n, p, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void kit_print(struct kit *k, const char *format, ...)
{
    char *line = NULL;
    va_list ap;
    va_start(ap, format);
    int n = vasprintf(&line, format, ap);
    va_end(ap);
    if (n < 0)
        abort();
    kit_text_add(&k->trace, line, (size_t)n);
    free(line);
}

void kit_contract(struct kit *k, const char *what, const struct wire_function *f)
{
    k->errors++;
    kit_print(k, "contract: %s: %s\n", f ? f->name : "", what);
}

static void print_str(struct kit *k, struct chela_str s)
{
    kit_print(k, "\"");
    for (uint64_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c == '"' || c == '\\')
            kit_print(k, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            kit_print(k, "\\x%02x", c);
        else
            kit_text_add(&k->trace, (const char *)&c, 1);
    }
    kit_print(k, "\"");
}

static void print_pairs(struct kit *k, const struct chela_pairs *p)
{
    kit_print(k, "{");
    for (uint64_t i = 0; i < p->n; i++) {
        kit_print(k, i ? ", " : "");
        print_str(k, p->v[i].name);
        kit_print(k, ": ");
        print_str(k, p->v[i].value);
    }
    kit_print(k, "}");
}

static void print_field(struct kit *k, const struct wire_field *f, const void *args)
{
    const void *at = (const char *)args + f->offset;
    uint32_t u32;
    uint64_t u64;
    struct chela_str s;
    struct chela_pairs p;
    struct chela_values v;
    switch (f->type) {
    case WIRE_U32:
        memcpy(&u32, at, sizeof u32);
        if (u32)
            kit_print(k, " %s=%" PRIu32, f->name, u32);
        break;
    case WIRE_U64:
        memcpy(&u64, at, sizeof u64);
        if (u64 && strcmp(f->name, "parent") != 0 && strcmp(f->name, "revision") != 0)
            kit_print(k, " %s=%" PRIu64, f->name, u64);
        break;
    case WIRE_STR:
        memcpy(&s, at, sizeof s);
        if (s.n) {
            kit_print(k, " %s=", f->name);
            print_str(k, s);
        }
        break;
    case WIRE_PAIRS:
        memcpy(&p, at, sizeof p);
        if (p.n) {
            kit_print(k, " %s=", f->name);
            print_pairs(k, &p);
        }
        break;
    case WIRE_VALUES:
        memcpy(&v, at, sizeof v);
        if (v.n)
            kit_print(k, " %s=%" PRIu64 " values", f->name, v.n);
        break;
    case WIRE_ZERO: break;
    }
}

void kit_trace_args(struct kit *k, const struct wire_function *f, const void *args, unsigned call)
{
    const struct chela_head *head = args;
    kit_print(k, "%s", f->name);
    if (call)
        kit_print(k, " call=%u", call);
    if (head->flags)
        kit_print(k, " flags=%" PRIu32, head->flags);
    for (unsigned i = 0; i < f->args->count; i++)
        print_field(k, &f->args->fields[i], args);
    kit_print(k, "\n");
}
