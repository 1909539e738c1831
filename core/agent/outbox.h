/*
 * The outbox beside what flow.h says of it: what a crash left, notices. The pieces of a
 * reply go out one at a time for each chat, in order.
 */
#ifndef AGENT_OUTBOX_H
#define AGENT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

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
unsigned outbox_waiting(void);
void outbox_reset(void);

#endif
