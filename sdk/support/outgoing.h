/*
 * A message of the host's on its way to a service: what was lent is copied, its files are read from
 * the store, and it ends with the service's id or with what went wrong. Called by channel plugins,
 * which say in `step` what comes next.
 */
#ifndef CHELA_SUPPORT_OUTGOING_H
#define CHELA_SUPPORT_OUTGOING_H

#include <chela/chela.h>

#include "support/api.h"
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
/* What was prepared is sent, and has this id: the text and the files that were read. Goes on by
 * step. */
void chela_outgoing_went(struct chela_outgoing *o, const char *id);
/* Adds the files that were read to a form; each in a field of its own: `before`, its number among
 * them, `after`. */
void chela_outgoing_files(const struct chela_outgoing *o, struct chela_form *f, const char *before,
                          const char *after);
/* Ends the call and frees it. text: why, where error is not CHELA_OK. */
void chela_outgoing_end(struct chela_outgoing *o, uint32_t error, uint32_t flags,
                        uint64_t retry_after, const char *text);
/* A 403 is CHELA_E_DENIED: it is the chat that we may not write to, not we who are unknown. */
void chela_outgoing_fail(struct chela_outgoing *o, const struct chela_reply *r);
/* An edit or a reaction: the message is `message` still, or it failed. */
void chela_outgoing_changed(struct chela_peer *p, void *owner, const struct chela_reply *r);

#pragma GCC visibility pop
#endif
