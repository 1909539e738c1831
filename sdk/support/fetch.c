/*
 * Files of a service (see fetch.h).
 */
#include "support/fetch.h"

#include <stdlib.h>
#include <string.h>

static void end(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_wanted *w = owner;
    w->fn(p, w->owner, d);
    free(w->reference);
    free(w->url);
    free(w);
}

void chela_wanted_begin(struct chela_peer *p, uint64_t parent, const char *reference,
                        const char *url, chela_bring_fn *bring, chela_ended_fn *fn, void *owner)
{
    struct chela_wanted *w = chela_need(malloc(sizeof *w));
    *w = (struct chela_wanted){.p = p,
                               .parent = parent,
                               .reference = chela_need(strdup(reference)),
                               .url = url ? chela_need(strdup(url)) : NULL,
                               .fn = fn,
                               .owner = owner};
    bring(w);
}

void chela_wanted_get(struct chela_wanted *w, const char *url)
{
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = w->parent;
    a.decode = CHELA_FILE;
    a.limit = w->p->closing ? 0 : (uint64_t)chela_option_number(w->p->in, "media_limit");
    a.method = chela_s("GET");
    a.url = chela_s(url);
    chela_peer_http(w->p, &a, end, w);
}

void chela_wanted_fail(struct chela_wanted *w, const struct chela_reply *r)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = r && r->error ? r->error : CHELA_E_PROTOCOL;
    d.retry_after_ms = r ? r->retry_after_ms : 0;
    d.text =
        chela_s(r && *r->text ? r->text : "the service names no place for it that may be used");
    end(w->p, w, &d);
}

/* ---- by the host's wish ---- */

static void fetched(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    uint64_t *call = owner;
    CHELA_ARGS(chela_done, answer, 0);
    answer.error = d->error;
    answer.h.flags = d->error ? 0 : (uint32_t)CHELA_BLOB;
    answer.text = d->text;
    chela_peer_end(p, *call, &answer);
    free(call);
}

void chela_wanted_slot(struct chela_inst *in, const struct chela_fetch *f, chela_bring_fn *bring)
{
    uint64_t *call = chela_need(malloc(sizeof *call));
    char *reference = chela_copy(f->reference);
    *call = f->h.call;
    chela_wanted_begin(in->self, f->h.call, reference, NULL, bring, fetched, call);
    free(reference);
}
