/*
 * The outbox beside what flow.h says of it: what a crash left, notices. The pieces of a
 * reply go out one at a time for each chat, in order.
 */
#ifndef AGENT_OUTBOX_H
#define AGENT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct message;
struct json_object;

/* A piece found SENDING at start: sent again, asked for, or held, by its send class. */
struct outbox_left {
    const char *run, *session, *key, *body;
    uint32_t send_class;
    uint64_t at; /* ms */
};
void outbox_resume(const struct outbox_left *l);

/* A text that is no turn's reply (a command's answer, a question for permission); not stored.
 * buttons: [{"label","value"}] or NULL. Nothing if the channel sends nothing. */
void outbox_notice(const struct message *m, const char *text, struct json_object *buttons);
/* The same, stored before the first byte goes out, so that it survives a crash; m->event: its key,
 * and what was posted under it is not posted again. fn once it is stored. UNSUPPORTED: the channel
 * isn't there or sends nothing. */
typedef void outbox_post_fn(void *owner, const struct error *e);
void outbox_post(const char *session, const struct message *m, const char *text,
                 struct json_object *buttons, outbox_post_fn *fn, void *owner);
unsigned outbox_waiting(void);
void outbox_reset(void);

#endif
