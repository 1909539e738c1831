/*
 * Text of plugins is UTF-8: what isn't is mended here, once, so that nobody behind the call table
 * has to ask. Bytes (blobs, bodies, a process's input) go by as they are. Called by call_say.c.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call_private.h"

/* The mended copies of one frame, until the next one. */
static struct {
    char **v;
    size_t count, room;
} copies;

static void drop_copies(void)
{
    while (copies.count)
        free(copies.v[--copies.count]);
}

/* Functions whose strings are all text. */
static bool is_text(const struct wire_function *f, const struct call *c)
{
    switch (f->number) {
    case CHELA_FN_TEXT:
    case CHELA_FN_THINKING:
    case CHELA_FN_TOOL_CALL:
    case CHELA_FN_DECIDE:
    case CHELA_FN_PUBLISH:
    case CHELA_FN_SUBMIT:
    case CHELA_FN_RECEIPT:
    case CHELA_FN_ASK:
    case CHELA_FN_MARKUP: return true;
    case CHELA_FN_DONE: break;
    default: return false;
    }
    if (!c)
        return false;
    switch (c->function->number) { /* whose answer may be bytes */
    case CHELA_FN_CHANNEL_FETCH:
    case CHELA_FN_STORE_BLOB_GET:
    case CHELA_FN_SERVICE_REQUEST: return false;
    default: return true;
    }
}

static bool mend(struct chela_str *s)
{
    if (utf8_valid(s->s ? s->s : "", s->n))
        return false;
    struct buf b = {0};
    utf8_repair(&b, s->s, s->n);
    buf_text(&b);
    s->n = b.n;
    if (copies.count == copies.room) {
        copies.room = copies.room ? copies.room * 2 : 8;
        copies.v = xrealloc(copies.v, copies.room * sizeof *copies.v);
    }
    s->s = copies.v[copies.count++] = buf_take(&b);
    return true;
}

bool say_mend(const struct wire_function *f, const struct call *c, void *args)
{
    bool mended = false;
    drop_copies();
    if (!is_text(f, c))
        return false;
    for (unsigned i = 0; i < f->args->count; i++) {
        void *at = (char *)args + f->args->fields[i].offset;
        if (f->args->fields[i].type == WIRE_STR) {
            mended = mend(at) || mended;
        } else if (f->args->fields[i].type == WIRE_PAIRS) {
            struct chela_pairs *pairs = at;
            struct chela_pair *v = (struct chela_pair *)(uintptr_t)pairs->v; /* the decoder's */
            for (uint64_t k = 0; k < pairs->n; k++) {
                mended = mend(&v[k].name) || mended;
                mended = mend(&v[k].value) || mended;
            }
        }
    }
    return mended;
}

void say_mend_close(void)
{
    drop_copies();
    free(copies.v);
    copies.v = NULL;
    copies.room = 0;
}
