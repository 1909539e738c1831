/* Chat: one conversation in a terminal, as its parts share it: chat.c (loop and keyboard),
 * chat_link.c (the gateway: sending, events), chat_history.c (taking up the session), chat_ask.c
 * (approvals). */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/approval.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/line.h"
#include "cli/screen.h"
#include "cli/turn_view.h"

#define CHAT_RECENT 64

/* A message that the gateway hasn't acknowledged yet: sent again, under the same key, after a lost
 * connection. */
struct chat_sent {
    struct chat_sent *next;
    struct chat *chat;
    char *key, *text;
};

struct chat {
    const struct common *common;
    struct place place;
    struct client client;
    bool connected;
    uint64_t retry_at_ms; /* when the next attempt to connect is due */
    unsigned retries;
    struct error lost; /* why there is no connection */

    struct screen screen;
    struct history history;
    struct line line;
    bool raw;   /* keys come one by one; else lines */
    bool dirty; /* paint again */
    bool leaving;
    bool armed; /* one more Ctrl-C leaves */
    bool end_of_input;
    uint64_t key_ms;  /* when the last key was pressed */
    struct buf input; /* lines that were read, in line mode */
    int status;

    const char *asked_session; /* as on the command line */
    char *session;             /* the full key */
    bool verbose, synced;
    int64_t seen_seq; /* the newest message of the history that was shown */
    struct turn_view reply;
    bool replying;
    char *awaited; /* in line mode: the run that must end before the next line is read */
    char *recent[CHAT_RECENT]; /* runs and messages that were shown */
    unsigned recent_next;
    struct chat_sent *unsent;
    json_object *commands; /* of commands.list */

    struct approval *approvals;
    size_t approval_count;
    bool asking;
    char choices[4];
    struct buf question;
};

/* ---- chat_link.c ---- */

/* Connects and takes up the session where it was. */
int chat_connect(struct chat *chat, struct error *e);
void chat_lost(struct chat *chat, const struct error *e);
void chat_send(struct chat *chat, const char *text);
void chat_abort(struct chat *chat);
void chat_link_free(struct chat *chat);
/* Was shown already, so that it is not shown again; remembers it. */
bool chat_seen(struct chat *chat, const char *id);

bool chat_is_recent(const struct chat *chat, const char *id);
void chat_begin_reply(struct chat *chat, const char *run);
void chat_end_reply(struct chat *chat); /* if it has ended */
void chat_show_user(struct chat *chat, json_object *message);
void chat_no_longer_awaited(struct chat *chat, const char *run);

/* ---- chat_history.c ---- */

/* Asks for all that is needed to go on in the session. -1: the connection has ended. */
int chat_take_up_session(struct chat *chat, struct error *e);

/* ---- chat_ask.c ---- */

void chat_ask_add(struct chat *chat, json_object *record);
void chat_ask_resolved(struct chat *chat, json_object *payload);
/* All that wait now: those that no longer do are taken away. */
void chat_ask_list(struct chat *chat, json_object *records);
/* Begins to ask when the keyboard has been quiet long enough that no key was meant for the text. */
void chat_ask_begin(struct chat *chat);
/* Milliseconds until chat_ask_begin should be called, -1: nothing to ask. */
int chat_ask_wait(const struct chat *chat);
/* The key that was chosen; true if it was one of the answers. */
bool chat_ask_answer(struct chat *chat, uint32_t key);
void chat_ask_free(struct chat *chat);

#endif
