/*
 * Verbose mode: in a chat whose session has it on (/verbose, or agents.NAME.verbose), what the
 * model thinks and each tool call with its arguments, risk, state and times are said beside the
 * answer. Clients of the gateway see all of it by events and need none of this. Called by
 * turn_answer.c and toolcall_run.c.
 */
#ifndef AGENT_VERBOSE_H
#define AGENT_VERBOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;
struct message;

bool verbose_on(const char *session, const char *agent);
/* parts: of an answer; those that are thinking are shown. */
void verbose_thinking(const struct message *m, struct json_object *parts);

struct verbose_call {
    const char *name, *arguments, *risk, *state, *text;
    uint64_t waited_ms; /* for a person */
    uint64_t ran_ms;
};
void verbose_call(const struct message *m, const struct verbose_call *c);

#endif
