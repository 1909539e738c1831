/*
 * Which tools an agent may see, and which calls a person must allow. Reads the configuration; pure
 * decisions, no effect. Called by toolplan.c and toolcall.c.
 */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include <stdbool.h>

#include "agent/tools/policy_scope.h"
#include "agent/tools/tools.h"

/* By profile, by the allow and deny lists (deny wins), and by those of tools.rules that fit. *why:
 * a sentence if not. */
bool policy_visible(const struct policy_scope *s, const struct tool *t, const char **why);
/* Which of tools.rules fit, as text: equal texts, equal decisions. Free it. */
char *policy_rules_key(const struct policy_scope *s);
/* Appends the names of the profiles that offer this tool. */
void policy_profiles(const struct tool *t, struct json_object *list);

enum policy_answer {
    POLICY_FREE,     /* runs */
    POLICY_ASK,      /* a person must allow it; or the allow-list, if `always` */
    POLICY_LISTED,   /* only if the allow-list has it; nobody is asked */
    POLICY_FORBIDDEN /* nobody is asked */
};

struct policy_verdict {
    enum policy_answer answer;
    bool always; /* "always" may be offered, and the allow-list counts */
    const char *why;
};

/* `risk`: of this very call, as the tool's prepare judged it, else the manifest's. */
struct policy_verdict policy_call(const char *agent, const struct tool *t, enum tool_risk risk);
/* confirm_before_run names this tool (shell, file_write, file_delete are aliases). */
bool policy_confirms(const char *agent, const char *tool);
/* A name against a pattern with '*' and '?', without regard to case. */
bool policy_matches(const char *pattern, const char *name);

#endif
