/*
 * One piece into the lane of its chat (see outbox_lane.c). For outbox.c and draft.c.
 */
#ifndef AGENT_OUTBOX_LANE_H
#define AGENT_OUTBOX_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct instance;
struct json_object;

typedef void lane_fn(void *owner, const struct error *e, const char *external);

struct lane_piece {
    const char *run, *session, *key; /* run "": nothing is stored */
    struct json_object *body;        /* {channel, account, chat, thread, text ...}, taken over;
                                        "edits": id of the message that it replaces */
    uint32_t send_class;
    bool query; /* ask first whether it was sent */
    bool doubt; /* it may have been sent before a crash, and nobody can tell */
    bool draft; /* one try, not stored, its end told to fn (may be NULL) */
    lane_fn *fn;
    void *owner;
};
void lane_enqueue(const struct lane_piece *p);
/* Drafts of this owner that wait are dropped; one that is under way is told to nobody. */
void lane_forget(const void *owner);

/* The channel if it is there and sends, or NULL. */
struct instance *lane_channel(const char *name);

#endif
