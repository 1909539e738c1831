/*
 * channel_telegram's parts: channel_telegram.c (options, life, who the bot is), poll.c (the long
 * poll and the webhook), api.c (calls of the Bot API), inbound.c (updates become messages), said.c
 * (what a message says), outbound.c (messages, edits, reactions).
 */
#ifndef CHANNEL_TELEGRAM_H
#define CHANNEL_TELEGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>

#include <json-c/linkhash.h>

#include "support/api.h"
#include "support/incoming.h"
#include "support/json.h"
#include "support/outgoing.h"
#include "support/peer.h"

struct telegram {
    struct chela_peer peer;
    bool webhook, no_previews; /* it was refused to show one */
    int64_t me, album, offset; /* offset: the first update that was not stored yet */
    char *username, *path;     /* path: of the bot's methods, its token in it */
    uint64_t poll, polled_at;
    json_object *migrated; /* chat that became a supergroup -> its id now */
};

/* r->result of what follows: "result". */
extern const struct chela_api api;
json_object *api_parameters(const struct chela_reply *r); /* of a refusal, or NULL */
/* c: all but method, path and headers. Returns the host's call. */
uint64_t api_post(struct telegram *t, const char *method, struct chela_api_call c,
                  chela_reply_fn *fn, void *owner);
/* The same with a body alone, which is taken over (NULL: none). */
uint64_t api_call(struct telegram *t, uint64_t parent, const char *method, json_object *body,
                  chela_reply_fn *fn, void *owner);
void api_bring(struct chela_wanted *w);

/* Says why the service can't be used, and tries again. */
void telegram_failed(struct telegram *t, const struct chela_reply *r, chela_callback *again);
void poll_begin(struct chela_inst *in, void *t);
/* Sets the webhook, or takes it away and polls; tries again. */
void hook_begin(struct chela_inst *in, void *t);
void hook_request(struct chela_inst *in, const struct chela_request *r);

/* Updates, in order; fn when all of them are stored or refused for good. next: the first one that
 * is not. error: CHELA_OK, or why that one could not be stored. */
struct batch;
typedef void batch_fn(struct telegram *t, uint64_t call, int64_t next, const struct chela_done *d);
void inbound_take(struct telegram *t, json_object *updates, uint64_t call, batch_fn *fn);

bool said_to_us(const struct telegram *t, json_object *message);
/* Without "@bot" behind a command; NULL: the command is another bot's. Free it. */
char *said_text(const struct telegram *t, json_object *message);
const char *said_quote(json_object *message);
/* Its files, to be fetched. */
void said_files(struct chela_arrival *a, json_object *message);

/* Chats keep the name that they had when they began. */
const char *migrated_id(const struct telegram *t, const char *chat);
void migrated_set(struct telegram *t, const char *chat, int64_t id);

void outbound_send(struct chela_inst *in, const struct chela_send *s);
void outbound_edit(struct chela_inst *in, const struct chela_send *s);
void outbound_react(struct chela_inst *in, const struct chela_send *s);
void outbound_typing(struct chela_inst *in, const struct chela_send *s);

#endif
