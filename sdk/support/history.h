/*
 * What a channel may have missed, for services that keep a history: the newest message of each chat
 * that is stored is kept, and where others may be missing (a new session, a message that could not
 * be stored) the chat has a hole, from which on it is read anew; until then nothing of that chat
 * may overtake. Ids are decimal numbers; what isn't one must not come here, since no order is known
 * for it. Called by channel plugins, which ask the service.
 */
#ifndef CHELA_SUPPORT_HISTORY_H
#define CHELA_SUPPORT_HISTORY_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_history;

/* Asks for what is behind `after`, the oldest first missing; ends by chela_history_page() or
 * chela_history_failed(). */
typedef void chela_history_ask(struct chela_peer *p, const char *chat, const char *after);

struct chela_history {
    struct chela_peer *p;
    chela_history_ask *ask;
    json_object *chats; /* id -> {"seen": id, "kind": text, "hole": bool, "asked": id} */
    json_object *holes; /* ids of chats to ask for, in order */
    bool asking;
    uint64_t timer;
};

/* A number of at most 20 digits. */
bool chela_history_id(const char *id);

void chela_history_open(struct chela_history *h, struct chela_peer *p, chela_history_ask *ask);
void chela_history_close(struct chela_history *h);
/* At start: what chela_peer_recall() finds under the prefix. */
#define CHELA_HISTORY_PREFIX "seen:"
void chela_history_recall(struct chela_history *h, json_object *kept);

/* A message is stored; kind: a word that the plugin wants to know of the chat later. */
void chela_history_stored(struct chela_history *h, const char *chat, const char *id,
                          const char *kind);
/* One could not be stored: it is asked for again, after `wait` ms at least. */
void chela_history_lost(struct chela_history *h, const char *chat, const char *id, const char *kind,
                        uint64_t wait);
/* The end of a message that was submitted: the one or the other, or neither where it is refused for
 * good. */
void chela_history_over(struct chela_history *h, const char *chat, const char *id, const char *kind,
                        const struct chela_done *d);
/* True: what came now comes again with what is before it, and is not to be submitted. */
bool chela_history_waits(struct chela_history *h, const char *chat);

/* A new session: all chats have a hole; those of this kind are asked for at once, of the others the
 * service says what is the newest. */
void chela_history_restart(struct chela_history *h, const char *kind);
void chela_history_newest(struct chela_history *h, const char *chat, const char *id);

/* The chat that was asked for, and its kind. */
const char *chela_history_asked(const struct chela_history *h, const char **ret_kind);
/* What it brought is handed on. newest: the last of it, where there may be more behind it. */
void chela_history_page(struct chela_history *h, const char *newest);
/* gone: it may not be read any more. */
void chela_history_failed(struct chela_history *h, bool gone, uint64_t wait);

#pragma GCC visibility pop
#endif
