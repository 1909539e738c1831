/*
 * The states of a turn and which follow which, as one table. Asked by runs.c, the only one that
 * moves a run from one state to the next.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include <stdbool.h>

enum turn_state {
    TURN_IDLE,
    TURN_RECEIVED,
    TURN_CONTEXT_ASSEMBLY,
    TURN_ROUTING,
    TURN_CALLING,
    TURN_STREAMING,
    TURN_TOOL_DETECTED,
    TURN_TOOL_EXECUTION,
    TURN_DONE,
    TURN_FAILED,
    TURN_ABORTED,
    TURN_STATES
};

const char *turn_state_name(enum turn_state s); /* "CONTEXT_ASSEMBLY" */
/* TURN_STATES if it is no name of one. */
enum turn_state turn_state_of(const char *name);
bool turn_state_follows(enum turn_state from, enum turn_state to);
bool turn_state_final(enum turn_state s);

#endif
