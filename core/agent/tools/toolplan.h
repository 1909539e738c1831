/*
 * The tools that a turn offers to a model: what is visible for an agent, in a fixed order, frozen
 * when the turn begins. Called by context.c (made), turn.c (sent), toolcall.c (looked up).
 */
#ifndef AGENT_TOOLPLAN_H
#define AGENT_TOOLPLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/base.h>

#include "agent/tools/policy_scope.h"
#include "agent/tools/tools.h"

struct json_object;

struct tool_plan {
    unsigned refs;
    uint64_t revision; /* rises with each change of any published list */
    const struct tool **tools;
    struct chela_pair *pairs; /* name, definition: as the provider gets them */
    unsigned count;
    uint32_t tokens;
    bool shared; /* the agent's cached one: copied before something is appended */
    char *agent, *channel, *sender, *only, *without; /* for whom: policy_scope.h */
};

/* The plan for an agent, on any channel; the same object as long as nothing changes. */
struct tool_plan *toolplan_get(const char *agent);
/* The same for a message of this channel and sender. */
struct tool_plan *toolplan_get_for(const struct policy_scope *s);
/* A plan with a client's own tools in it, in whose place ours of the same name step back. Takes
 * over p; the same p if the list is empty. */
struct tool_plan *toolplan_with_client(struct tool_plan *p, struct json_object *list);
void toolplan_release(struct tool_plan *p); /* NULL is fine */
const struct tool *toolplan_find(const struct tool_plan *p, const char *name);
/* A tool that is published but left out of the plan (policy is asked again), with
 * the plan extended by it behind the sorted ones. NULL if there is none. *plan may be replaced. */
const struct tool *toolplan_resolve(struct tool_plan **plan, const char *name);
/* What a model of this provider gets of the plan: names and definitions. Free the list, which is
 * NULL if the plan's own holds; *ret_count in both cases. */
struct chela_pair *toolplan_pairs(const struct tool_plan *p, const char *provider,
                                  unsigned *ret_count);
/* May a call of this tool be run for a model of this provider? *why if not. */
bool toolplan_allows(const struct tool_plan *p, const struct tool *t, const char *provider,
                     const char **why);
/* The tools that policy allows and the plan leaves out. */
void toolplan_each_left_out(const struct tool_plan *p, void (*fn)(void *arg, const struct tool *t),
                            void *arg);
/* Is the tool still published as it was when the plan was frozen? */
bool toolplan_current(const struct tool *t);
/* For agent_tools(): [{"name","description","source","group","risk","visible","why","approval",
 * "score"}]; text (or NULL): what the person wanted, for the score. */
struct json_object *toolplan_explain(const struct policy_scope *s, const char *text);
void toolplan_reset(void);

#endif
