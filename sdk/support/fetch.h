/*
 * A file of a service that is to be brought into the store: for a message that came, or since the
 * host asks for it by its reference. Called by channel plugins, which find its address.
 */
#ifndef CHELA_SUPPORT_FETCH_H
#define CHELA_SUPPORT_FETCH_H

#include <chela/chela.h>

#include "support/api.h"
#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_wanted {
    struct chela_peer *p;
    uint64_t parent;       /* of the requests for it */
    char *reference, *url; /* url: its address when it was named, or NULL */
    chela_ended_fn *fn;    /* d->text: the blob's hash; extra: {"size","mime"} */
    void *owner;
};

/* Ends by chela_wanted_get() or by chela_wanted_fail(), at once or later. */
typedef void chela_bring_fn(struct chela_wanted *w);

/* Brings a file; fn is told. */
void chela_wanted_begin(struct chela_peer *p, uint64_t parent, const char *reference,
                        const char *url, chela_bring_fn *bring, chela_ended_fn *fn, void *owner);
/* The plugin's `fetch` slot. */
void chela_wanted_slot(struct chela_inst *in, const struct chela_fetch *f, chela_bring_fn *bring);

/* From there, without headers, and no more than the option media_limit. */
void chela_wanted_get(struct chela_wanted *w, const char *url);
/* The answer that should have named its place (NULL: none was asked for) names none. */
void chela_wanted_fail(struct chela_wanted *w, const struct chela_reply *r);

#pragma GCC visibility pop
#endif
