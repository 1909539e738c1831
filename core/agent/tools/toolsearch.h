/*
 * The tool that finds others: tool_search, offered where a plan leaves tools out (deferred ones, or
 * too many). What it finds is appended to the turn's plan, so that the model may call it. Called by
 * toolplan.c (offered) and toolcall_run.c (run).
 */
#ifndef AGENT_TOOLSEARCH_H
#define AGENT_TOOLSEARCH_H

#include "agent/tools/toolplan.h"

const struct tool *toolsearch_tool(void);
/* How well a tool's name and description fit the words; 0: not at all. */
unsigned toolsearch_score(const struct tool *t, const char *words);
/* Runs it: the answer for the model. Free it. */
char *toolsearch_run(struct tool_plan **plan, const char *arguments);
void toolsearch_reset(void);

#endif
