/*
 * Sees when a model goes round in circles: the same call with the same result again and again,
 * waiting that brings nothing new, two calls in turn. Owned by a turn; called by turn_answer.c.
 * Only looks and counts.
 */
#ifndef AGENT_LOOPGUARD_H
#define AGENT_LOOPGUARD_H

#include <stdint.h>

struct json_object;

enum { LOOPGUARD_KEPT = 40 };

struct loopguard {
    struct loopguard_call {
        uint64_t call, result; /* of name and arguments; of the result without its numbers */
        uint64_t exact;        /* of the whole result */
    } calls[LOOPGUARD_KEPT];   /* the newest at count - 1 */
    unsigned count;
};

enum loop_state { LOOP_NONE, LOOP_WARN, LOOP_END };

/*
 * A batch has ended. names, arguments: of its calls; parts: its results in the same order (array of
 * toolResult), to whose text a note is added when it is time to warn. reason: a sentence, unless
 * LOOP_NONE. How often is too often: tools.loop.warn and tools.loop.end, 0 = never.
 */
enum loop_state loopguard_batch(struct loopguard *g, char *const *names, char *const *arguments,
                                unsigned count, struct json_object *parts, char reason[300]);

#endif
