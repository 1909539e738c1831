/*
 * channel_discord's parts: channel_discord.c (options, life), rest.c (calls of the HTTP API),
 * gateway.c (the WebSocket and its session), inbound.c (events become messages, gaps are filled),
 * outbound.c (messages, edits, typing, files).
 */
#ifndef CHANNEL_DISCORD_H
#define CHANNEL_DISCORD_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "support/history.h"
#include "support/incoming.h"
#include "support/json.h"
#include "support/outgoing.h"
#include "support/peer.h"

struct discord {
    struct chela_peer peer;
    char *me, *application; /* ids of the bot's user and of its application */
    /* gateway.c */
    uint64_t socket, beat, interval; /* a call, a timer, ms */
    uint64_t stop_call;
    char *session, *resume_url; /* NULL: a new session is begun */
    int64_t seq;
    unsigned close_code;
    bool acked, refused; /* refused: for good, until somebody changes something */
    /* inbound.c */
    json_object *events; /* that wait for the one before them */
    size_t at;           /* the first of them that was not taken yet */
    bool busy, scanning;
    json_object *threads; /* id -> its channel */
    struct chela_history history;
    /* rest.c */
    uint64_t second; /* of the clock, and how many requests it has seen */
    unsigned requests;
};

void discord_read(struct chela_reply *r);
/* path: behind base_url. Takes over body (NULL: none). Returns the host's call. */
uint64_t rest_call(struct discord *d, uint64_t parent, const char *method, const char *path,
                   json_object *body, chela_reply_fn *fn, void *owner);
/* The same with a body that was made already. */
uint64_t rest_post(struct discord *d, uint64_t parent, const char *path, const char *type,
                   struct chela_str body, chela_reply_fn *fn, void *owner);
/* An attachment; false: its address is not the service's, and nothing was begun. */
bool rest_file(struct discord *d, uint64_t parent, const char *url, chela_ended_fn *fn,
               void *owner);

void gateway_open(struct chela_inst *in, void *d);
void gateway_event(struct chela_inst *in, const struct chela_ws_event *e);
/* Says good-bye; `call` (stop) ends when the connection has. */
void gateway_close(struct discord *d, uint64_t call);

void inbound_event(struct discord *d, const char *type, json_object *data, int64_t seq);
/* Asks for the messages of a channel behind one of them. */
void inbound_ask(struct chela_peer *p, const char *channel, const char *after);

void outbound_send(struct chela_inst *in, const struct chela_send *s);
void outbound_edit(struct chela_inst *in, const struct chela_send *s);
void outbound_typing(struct chela_inst *in, const struct chela_send *s);
void outbound_fetch(struct chela_inst *in, const struct chela_fetch *f);

#endif
