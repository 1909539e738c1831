/*
 * chela/channel.h - a channel: where messages of people come from and go to.
 *
 * In: the channel submits each message to the host (chat.h) and may acknowledge it to its service
 * only once that call's done said it is stored. Out: the host calls the functions below, one at a
 * time per chat, in order.
 */
#ifndef CHELA_CHANNEL_H
#define CHELA_CHANNEL_H

#include <chela/plugin.h>

/* How a send can be repeated after a crash in its middle. */
enum {
    CHELA_SEND_IDEMPOTENT =
        1,                 /* the service drops a second one with the same key (key_window_ms) */
    CHELA_SEND_QUERY = 2,  /* `find` can tell afterwards whether the key was sent */
    CHELA_SEND_NEITHER = 3 /* nobody can tell */
};

/* Unit of text_limit. */
enum { CHELA_UNIT_BYTES = 1, CHELA_UNIT_CHARACTERS = 2, CHELA_UNIT_UTF16 = 3 };

/* Bits of chela_channel.can */
enum {
    CHELA_CAN_EDIT = 1,
    CHELA_CAN_THREAD = 2,
    CHELA_CAN_MEDIA = 4,
    CHELA_CAN_REACT = 8,
    CHELA_CAN_TYPING = 16,
    CHELA_CAN_BUTTONS = 32,
    CHELA_CAN_DRAFT = 64,   /* shows a growing answer: extra.draft is true in the first send and in
                               each edit of it (at most one in edit_ms); the final is an edit, too */
    CHELA_CAN_PREVIEW = 128 /* and in a direct chat as something that passes by itself: a send whose
                               extra.preview is true, again with each step under the same key, and
                               the final is a send of its own. done without an id; UNSUPPORTED: not
                               in this chat, which has drafts then */
};

/*
 * A message to a chat. text is Markdown if dialect is NULL, else already in the channel's dialect,
 * and never longer than text_limit.
 *   account      which of the channel's accounts, "" = its only one
 *   chat thread  as the channel named them when it submitted
 *   reply_to     id of the message that is answered, or ""
 *   key          unique for this piece; the same piece sent again has the same key
 *   message      edit, react: id of the message that is changed
 *   media        name = file name, value = JSON {"hash","mime","size"} of a blob (kv.h: blob_get)
 *   buttons      name = label, value = the text that pressing it shall submit
 *   extra        JSON object: run, session, approval ...
 * done.text = the service's id of the message.
 */
struct chela_send {
    struct chela_head h;
    struct chela_str account, chat, thread, reply_to, key, message, text, extra;
    struct chela_pairs media, buttons;
};

/* Media that came by reference only: done.text = the bytes (or a blob, CHELA_BLOB). */
struct chela_fetch {
    struct chela_head h;
    struct chela_str account, reference;
};

/*
 * A message that a client of the gateway typed for this channel (terminal, page). The channel makes
 * a submit of it, or ends the call with an error. done.text = id of the submitted event.
 *   client      JSON {"id","mode","platform","connection"} of who is connected
 *   session     session key that the client asks for, or ""
 *   key         the client's idempotency key
 */
struct chela_client_message {
    struct chela_head h;
    struct chela_str client, session, key, text, extra;
    struct chela_pairs media;
};

struct chela_channel {
    uint32_t size, send_class;
    uint32_t can, unit;
    uint64_t text_limit;    /* longest text of one message in `unit`, 0 = no limit */
    uint64_t key_window_ms; /* CHELA_SEND_IDEMPOTENT: how long the service remembers a key */
    const char *dialect;    /* NULL: Markdown as the model wrote it; else a name of markup.h */
    const char *platform;   /* metadata.platform of the one message form, e.g. "telegram" */
    void (*send)(struct chela_inst *, const struct chela_send *); /* [loop] call */
    void (*edit)(struct chela_inst *, const struct chela_send *); /* [loop] call */
    void (*react)(struct chela_inst *,
                  const struct chela_send *); /* [loop] call; text = emoji, "" removes */
    void (*typing)(struct chela_inst *,
                   const struct chela_send *); /* [loop] no call; text = "on" or "off" */
    void (*find)(struct chela_inst *,
                 const struct chela_send *); /* [loop] call; done.text = id, or NOT_FOUND */
    void (*fetch)(struct chela_inst *, const struct chela_fetch *);           /* [loop] call */
    void (*client)(struct chela_inst *, const struct chela_client_message *); /* [loop] call */
    uint64_t edit_ms; /* CHELA_CAN_DRAFT: least time between two drafts in a chat, 0 = 1 s */
};

#endif
