/*
 * channel_telegram's parts: channel_telegram.c (options, life, polling, webhook), api.c (calls of
 * the Bot API), inbound.c (updates become messages), outbound.c (messages, edits, reactions).
 */
#ifndef CHANNEL_TELEGRAM_H
#define CHANNEL_TELEGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>

#include <json-c/linkhash.h>

#include "support/json.h"

struct telegram;

/* How a call of the Bot API ended. result and parameters are borrowed, NULL if there are none. */
struct reply {
    uint32_t error, flags, status;
    uint64_t retry_after_ms;
    const char *text; /* what the service said is wrong, or the host */
    json_object *result, *parameters;
};
typedef void reply_fn(struct telegram *t, void *owner, const struct reply *r);
typedef void ended_fn(struct telegram *t, void *owner, const struct chela_done *d);

/* A request of ours that the host has not ended yet. */
struct pending {
    struct pending *next, *before;
    struct telegram *t;
    ended_fn *fn;
    void *owner;
};

struct telegram {
    struct chela_inst *in;
    struct pending pending; /* the ring's head */
    bool closing, stopping, webhook;
    int64_t me, album, offset; /* offset: the first update that was not stored yet */
    char *username;
    uint64_t poll, timer, revision;
    unsigned failures;
    char *said;            /* the state that was published last */
    json_object *migrated; /* chat that became a supergroup -> its id now */
};

void *tg_need(void *p); /* aborts where there is no memory */
char *tg_format(const char *f, ...) __attribute__((format(printf, 1, 2)));
/* Ends a call of the host's; nothing while the instance closes. */
void tg_end(struct telegram *t, uint64_t call, const struct chela_done *d);

/* A tag whose `fn` is called once, by tg_ended(). */
uint64_t tg_pending(struct telegram *t, ended_fn *fn, void *owner);
void tg_ended(struct telegram *t, const struct chela_done *d);
/* At close: all that still wait are told CHELA_E_CANCELLED. */
void tg_pending_close(struct telegram *t);

/* Takes over body (NULL: none). timeout_ms 0: the host's. Returns the host's call. */
uint64_t api_call(struct telegram *t, uint64_t parent, const char *method, json_object *body,
                  uint32_t timeout_ms, reply_fn *fn, void *owner);
/* The same with a body that was made already (multipart). */
uint64_t api_post(struct telegram *t, uint64_t parent, const char *method, const char *type,
                  struct chela_str body, uint32_t timeout_ms, reply_fn *fn, void *owner);
/* A file that getFile named; d->text is the blob's hash, extra its size. */
void api_file(struct telegram *t, uint64_t parent, const char *path, ended_fn *fn, void *owner);

/* Updates, in order; fn when all of them are stored or refused for good. next: the first one that
 * is not. error: CHELA_OK, or why that one could not be stored. */
struct batch;
typedef void batch_fn(struct telegram *t, uint64_t call, int64_t next, const struct chela_done *d);
void inbound_take(struct telegram *t, json_object *updates, uint64_t call, batch_fn *fn);
/* Bytes of the text in front of UTF-16 unit `units`. */
size_t inbound_utf16(const char *s, size_t n, int64_t units);

/* Chats keep the name that they had when they began. */
const char *migrated_id(const struct telegram *t, const char *chat);
void migrated_set(struct telegram *t, const char *chat, int64_t id);

void outbound_send(struct chela_inst *in, const struct chela_send *s);
void outbound_edit(struct chela_inst *in, const struct chela_send *s);
void outbound_react(struct chela_inst *in, const struct chela_send *s);
void outbound_typing(struct chela_inst *in, const struct chela_send *s);
void outbound_fetch(struct chela_inst *in, const struct chela_fetch *f);

#endif
