/*
 * Writes and reads frames (see frame.h). Whatever is read may come from a hostile process: every
 * length is checked against what is left before it is used.
 */
#include "wire/frame.h"

#include <stdlib.h>

static size_t padded(uint64_t n) /* of a string's bytes with their NUL; n <= WIRE_FRAME_MAX */
{
    return ((size_t)n + 8) & ~(size_t)7;
}

/* ---- size ---- */

static bool str_size(struct chela_str s, size_t *n)
{
    if (s.n > WIRE_FRAME_MAX || (s.n && !s.s))
        return false;
    *n += 8 + padded(s.n);
    return *n <= WIRE_FRAME_MAX;
}

static bool pairs_size(struct chela_pairs p, size_t *n)
{
    *n += 8;
    if (p.n && !p.v)
        return false;
    for (uint64_t i = 0; i < p.n; i++)
        if (!str_size(p.v[i].name, n) || !str_size(p.v[i].value, n))
            return false;
    return true;
}

static bool values_size(struct chela_values p, size_t *n)
{
    *n += 8;
    if (p.n && !p.v)
        return false;
    for (uint64_t i = 0; i < p.n; i++) {
        *n += 24;
        if (!str_size(p.v[i].s, n))
            return false;
    }
    return true;
}

static bool field_size(const struct wire_field *f, const char *args, size_t *n)
{
    const void *p = args + f->offset;
    switch (f->type) {
    case WIRE_U32:
    case WIRE_U64: *n += 8; return true;
    case WIRE_STR: return str_size(*(const struct chela_str *)p, n);
    case WIRE_PAIRS: return pairs_size(*(const struct chela_pairs *)p, n);
    case WIRE_VALUES: return values_size(*(const struct chela_values *)p, n);
    case WIRE_ZERO: return true;
    }
    return false;
}

/* Fields that the sender knew: minors append, so they are the first ones. */
static unsigned known_fields(const struct wire_args *a, const void *args)
{
    uint32_t size = ((const struct chela_head *)args)->size;
    unsigned n = 0;
    while (n < a->count && (size_t)a->fields[n].offset + a->fields[n].size <= size)
        n++;
    return n;
}

size_t wire_size(const struct wire_args *a, const void *args)
{
    size_t n = sizeof(struct wire_frame);
    unsigned count = known_fields(a, args);
    for (unsigned i = 0; i < count; i++)
        if (!field_size(&a->fields[i], args, &n) || n > WIRE_FRAME_MAX)
            return 0;
    return n;
}

/* ---- write ---- */

static char *put_number(char *to, uint64_t n)
{
    memcpy(to, &n, 8);
    return to + 8;
}

static char *put_str(char *to, struct chela_str s)
{
    to = put_number(to, s.n);
    size_t room = padded(s.n);
    memset(to + room - 8, 0, 8); /* the NUL and the padding */
    if (s.n)
        memcpy(to, s.s, (size_t)s.n);
    return to + room;
}

static char *put_pairs(char *to, struct chela_pairs p)
{
    to = put_number(to, p.n);
    for (uint64_t i = 0; i < p.n; i++) {
        to = put_str(to, p.v[i].name);
        to = put_str(to, p.v[i].value);
    }
    return to;
}

static char *put_values(char *to, struct chela_values p)
{
    to = put_number(to, p.n);
    for (uint64_t i = 0; i < p.n; i++) {
        const struct chela_value *v = &p.v[i];
        to = put_number(to, v->type);
        memcpy(to, &v->i, 8);
        memcpy(to + 8, &v->d, 8);
        to = put_str(to + 16, v->s);
    }
    return to;
}

static char *put_field(char *to, const struct wire_field *f, const char *args)
{
    const void *p = args + f->offset;
    switch (f->type) {
    case WIRE_U32: return put_number(to, *(const uint32_t *)p);
    case WIRE_U64: return put_number(to, *(const uint64_t *)p);
    case WIRE_STR: return put_str(to, *(const struct chela_str *)p);
    case WIRE_PAIRS: return put_pairs(to, *(const struct chela_pairs *)p);
    case WIRE_VALUES: return put_values(to, *(const struct chela_values *)p);
    case WIRE_ZERO: break;
    }
    return to;
}

void wire_write(void *to, uint32_t function, uint32_t instance, const struct wire_args *a,
                const void *args)
{
    const struct chela_head *h = args;
    struct wire_frame f = {0, (uint16_t)function, 0, instance, h->flags, h->call, h->tag};
    char *p = (char *)to + sizeof f;
    unsigned count = known_fields(a, args);
    for (unsigned i = 0; i < count; i++)
        p = put_field(p, &a->fields[i], args);
    f.length = (uint32_t)(p - (char *)to);
    memcpy(to, &f, sizeof f);
}

/* ---- read ---- */

int wire_look(const void *p, size_t n)
{
    struct wire_frame f;
    if (n < sizeof f)
        return 0;
    memcpy(&f, p, sizeof f);
    if (f.length < sizeof f || f.length > WIRE_FRAME_MAX || f.length % 8)
        return -1;
    return n >= f.length;
}

enum { KEEP = 1 << 20 }; /* a decoder's memory above this is given back */

struct cursor {
    const char *p, *end; /* multiples of 8 apart */
    size_t length;       /* of the frame */
    struct wire_decoder *d;
    size_t used; /* of d->arrays */
};

static size_t left(const struct cursor *c)
{
    return (size_t)(c->end - c->p);
}

static bool get_number(struct cursor *c, uint64_t *ret)
{
    if (left(c) < 8)
        return false;
    memcpy(ret, c->p, 8);
    c->p += 8;
    return true;
}

static bool get_str(struct cursor *c, struct chela_str *ret)
{
    uint64_t n;
    if (!get_number(c, &n) || n >= left(c) || padded(n) > left(c) || c->p[n] != '\0')
        return false;
    *ret = (struct chela_str){c->p, n};
    c->p += padded(n);
    return true;
}

/* Room for an array of which each element takes at least `size` bytes in the frame too; so all
 * arrays of a frame together never exceed its length, which the first one reserves. */
static bool get_array(struct cursor *c, size_t size, uint64_t *ret_count, void **ret)
{
    *ret = NULL;
    if (!get_number(c, ret_count) || *ret_count > left(c) / size)
        return false;
    if (*ret_count == 0)
        return true;
    struct wire_decoder *d = c->d;
    if (c->used == 0 && d->room < c->length) {
        wire_decoder_free(d);
        d->arrays = malloc(c->length);
        if (!d->arrays)
            return false;
        d->room = c->length;
    }
    *ret = (char *)d->arrays + c->used;
    c->used += (size_t)*ret_count * size;
    return true;
}

static bool get_pairs(struct cursor *c, struct chela_pairs *ret)
{
    void *array;
    if (!get_array(c, sizeof(struct chela_pair), &ret->n, &array))
        return false;
    struct chela_pair *v = array;
    ret->v = v;
    for (uint64_t i = 0; i < ret->n; i++)
        if (!get_str(c, &v[i].name) || !get_str(c, &v[i].value))
            return false;
    return true;
}

static bool get_value(struct cursor *c, struct chela_value *v)
{
    uint64_t type;
    if (left(c) < 24 || !get_number(c, &type) || type > UINT32_MAX)
        return false;
    v->type = (uint32_t)type;
    v->zero = 0;
    memcpy(&v->i, c->p, 8);
    memcpy(&v->d, c->p + 8, 8);
    c->p += 16;
    return get_str(c, &v->s);
}

static bool get_values(struct cursor *c, struct chela_values *ret)
{
    void *array;
    if (!get_array(c, sizeof(struct chela_value), &ret->n, &array))
        return false;
    struct chela_value *v = array;
    ret->v = v;
    for (uint64_t i = 0; i < ret->n; i++)
        if (!get_value(c, &v[i]))
            return false;
    return true;
}

static bool get_u32(struct cursor *c, uint32_t *ret)
{
    uint64_t n;
    if (!get_number(c, &n) || n > UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return true;
}

static bool get_field(struct cursor *c, const struct wire_field *f, void *args)
{
    void *p = (char *)args + f->offset;
    switch (f->type) {
    case WIRE_U32: return get_u32(c, p);
    case WIRE_U64: return get_number(c, p);
    case WIRE_STR: return get_str(c, p);
    case WIRE_PAIRS: return get_pairs(c, p);
    case WIRE_VALUES: return get_values(c, p);
    case WIRE_ZERO: return true;
    }
    return false;
}

_Static_assert(sizeof(struct wire_frame) == 32, "the header has no padding");
_Static_assert(sizeof(struct chela_pair) == 32, "a pair takes 32 bytes or more in a frame");
_Static_assert(sizeof(struct chela_value) == 40, "a value takes 40 bytes or more in a frame");

int wire_read(struct wire_decoder *d, const struct wire_args *a, const struct wire_frame *f)
{
    struct cursor c = {(const char *)(f + 1), (const char *)f + f->length, f->length, d, 0};
    if (d->room > KEEP && f->length <= KEEP)
        wire_decoder_free(d);
    memset(&d->args, 0, sizeof d->args);
    for (unsigned i = 0; i < a->count && c.p < c.end; i++)
        if (!get_field(&c, &a->fields[i], d->args.bytes))
            return -1;
    d->args.head = (struct chela_head){(uint32_t)a->size, f->flags, f->call, f->tag};
    return 0;
}

void wire_decoder_free(struct wire_decoder *d)
{
    free(d->arrays);
    d->arrays = NULL;
    d->room = 0;
}
