/*
 * What waits in a session: order, modes, cap and drop policy, merging. Part of session.c's stage.
 */
#ifndef AGENT_QUEUE_H
#define AGENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/session.h"
#include "base/list.h"

struct job;
struct run;

struct lane {
    char *session, *run; /* run: id of the one that runs, or NULL */
    struct link jobs, works, ready;
    uint64_t timer; /* "collect" waits for quiet */
    bool working;   /* exclusive work is under way */
    char *dropped;  /* a line for each message that the cap has dropped, for the next turn */
};

/* Request, session's /queue, the channel's, the global one. */
enum queue_mode queue_mode_for(const struct job *j);
uint64_t queue_debounce(void);
/* How long the first message of what may be a burst waits for more, ms; 0: not at all. */
uint64_t queue_burst(const struct job *j);
void queue_add(struct lane *l, struct job *j); /* by cap and drop policy */
/* The next job, with those that were collected merged into it. */
struct job *queue_take(struct lane *l);
/* Steered but not taken: to the front. */
void queue_return(struct lane *l, struct link *left);
unsigned queue_count(const struct lane *l);
/* Drops a job by its run's id (NULL: all); returns how many. */
unsigned queue_drop(struct lane *l, const char *run, const char *why);
void queue_drop_all(struct lane *l, const char *why);
unsigned queue_drop_steered(struct run *r, const char *run);

#endif
