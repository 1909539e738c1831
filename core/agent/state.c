/*
 * The table of a turn's states. Knows nothing but itself.
 */
#include "agent/state.h"

#include <string.h>

#define TO(state) (1u << TURN_##state)
/* a turn can fail or be aborted at each boundary */
#define ENDS (TO(FAILED) | TO(ABORTED))

static const struct {
    const char *name;
    unsigned next;
} table[TURN_STATES] = {
    [TURN_IDLE] = {"IDLE", TO(RECEIVED)},
    [TURN_RECEIVED] = {"RECEIVED", TO(CONTEXT_ASSEMBLY) | ENDS},
    [TURN_CONTEXT_ASSEMBLY] = {"CONTEXT_ASSEMBLY", TO(ROUTING) | ENDS},
    /* TOOL_EXECUTION: a run found again after a crash goes on with the calls that were open */
    [TURN_ROUTING] = {"ROUTING", TO(CALLING) | TO(TOOL_EXECUTION) | ENDS},
    /* an answer that comes whole still passes STREAMING; CONTEXT_ASSEMBLY: the context was too
     * long and is compacted; ROUTING: the next candidate */
    [TURN_CALLING] = {"CALLING", TO(STREAMING) | TO(CONTEXT_ASSEMBLY) | TO(ROUTING) | ENDS},
    /* CONTEXT_ASSEMBLY: a message was steered in behind an answer without calls */
    [TURN_STREAMING] = {"STREAMING",
                        TO(TOOL_DETECTED) | TO(CONTEXT_ASSEMBLY) | TO(ROUTING) | TO(DONE) | ENDS},
    [TURN_TOOL_DETECTED] = {"TOOL_DETECTED", TO(TOOL_EXECUTION) | ENDS},
    [TURN_TOOL_EXECUTION] = {"TOOL_EXECUTION", TO(CONTEXT_ASSEMBLY) | TO(DONE) | ENDS},
    [TURN_DONE] = {"DONE", 0},
    [TURN_FAILED] = {"FAILED", 0},
    [TURN_ABORTED] = {"ABORTED", 0},
};

const char *turn_state_name(enum turn_state s)
{
    return s < TURN_STATES ? table[s].name : "?";
}

enum turn_state turn_state_of(const char *name)
{
    for (unsigned i = 0; i < TURN_STATES; i++) {
        if (strcmp(table[i].name, name) == 0)
            return (enum turn_state)i;
    }
    return TURN_STATES;
}

bool turn_state_follows(enum turn_state from, enum turn_state to)
{
    return from < TURN_STATES && to < TURN_STATES && (table[from].next & 1u << to) != 0;
}

bool turn_state_final(enum turn_state s)
{
    return s < TURN_STATES && table[s].next == 0;
}
