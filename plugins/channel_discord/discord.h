/*
 * channel_discord's parts: channel_discord.c (options, life), rest.c (calls of the HTTP API),
 * gateway.c (the session by the WebSocket), inbound.c (events become messages, gaps are filled),
 * said.c (what a message says), outbound.c (messages, edits, reactions, typing, files).
 */
#ifndef CHANNEL_DISCORD_H
#define CHANNEL_DISCORD_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "support/api.h"
#include "support/history.h"
#include "support/incoming.h"
#include "support/json.h"
#include "support/outgoing.h"
#include "support/peer.h"
#include "support/socket.h"

struct discord {
    struct chela_peer peer;
    char *me, *application; /* ids of the bot's user and of its application */
    /* gateway.c */
    struct chela_socket socket;
    uint64_t interval;          /* of the heartbeat, ms */
    char *session, *resume_url; /* NULL: a new session is begun */
    int64_t seq;
    bool acked;
    /* inbound.c */
    struct chela_queue queue;
    json_object *threads; /* id -> its channel */
    struct chela_history history;
};

extern const struct chela_api api;
/* c.path: behind base_url. Returns the host's call. */
uint64_t rest_send(struct discord *d, struct chela_api_call c, chela_reply_fn *fn, void *owner);
/* The same with a body alone, which is taken over (NULL: none). */
uint64_t rest_call(struct discord *d, uint64_t parent, const char *method, const char *path,
                   json_object *body, chela_reply_fn *fn, void *owner);
/* An attachment: from where it was named, else by "channel/message/attachment", whose address is
 * asked for anew. */
void rest_bring(struct chela_wanted *w);

void gateway_start(struct discord *d);
void gateway_open(struct chela_inst *in, void *d);

void inbound_start(struct discord *d);
void inbound_event(struct discord *d, const char *type, json_object *data, int64_t seq);

/* Text with names for the people in it, and without the mention of us in front. Free it. */
char *said_text(const struct discord *d, json_object *message);
bool said_to_us(const struct discord *d, json_object *message);
void said_files(struct chela_arrival *a, json_object *message);

void outbound_send(struct chela_inst *in, const struct chela_send *s);
void outbound_edit(struct chela_inst *in, const struct chela_send *s);
void outbound_typing(struct chela_inst *in, const struct chela_send *s);

#endif
