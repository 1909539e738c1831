/*
 * A message of the host's on its way to a service: what was lent is copied, its files are read from
 * the store, and it ends with the service's id or with what went wrong. Called by channel plugins,
 * which say in `step` what comes next; also the fetching of media that came by reference.
 */
#ifndef CHELA_SUPPORT_OUTGOING_H
#define CHELA_SUPPORT_OUTGOING_H

#include <chela/chela.h>

#include "support/form.h"
#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_outgoing;
typedef void chela_step_fn(struct chela_outgoing *o);

/* The first member of the plugin's own struct. */
struct chela_outgoing {
    struct chela_peer *p;
    uint64_t call;
    chela_step_fn *step;
    char *chat, *thread, *reply_to, *message, *text, *key;
    char *id;              /* the service's id of the first part that went out, or NULL */
    json_object *keyboard; /* the plugin's form of the buttons, or NULL */
    struct chela_file *files;
    size_t count, at, loaded; /* [at, loaded) have their bytes */
};

/* size: of the plugin's struct, zeroed but for this. */
void *chela_outgoing_open(struct chela_inst *in, const struct chela_send *s, size_t size,
                          chela_step_fn *step);
/* Reads the next file; then step, or the end. */
void chela_outgoing_read(struct chela_outgoing *o);
/* Those that were read are sent: their bytes are freed. */
void chela_outgoing_sent_files(struct chela_outgoing *o);
/* Ends the call and frees it. text: why, where error is not CHELA_OK. */
void chela_outgoing_end(struct chela_outgoing *o, uint32_t error, uint32_t flags,
                        uint64_t retry_after, const char *text);
void chela_outgoing_fail(struct chela_outgoing *o, const struct chela_reply *r);

/* The end of a `fetch`: d->text is the hash of the blob. owner: its call, allocated; freed. */
void chela_fetch_end(struct chela_peer *p, void *owner, const struct chela_done *d);
void chela_fetch_fail(struct chela_peer *p, void *owner, const struct chela_reply *r);
uint64_t *chela_fetch_open(const struct chela_fetch *f);

#pragma GCC visibility pop
#endif
