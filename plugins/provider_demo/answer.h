/*
 * What the demo says.
 */
#ifndef PROVIDER_DEMO_ANSWER_H
#define PROVIDER_DEMO_ANSWER_H

#include <stdio.h>

#include "intent.h"

/* That this is the demo, and how to get a real model; at the head of a session's first answer. */
void answer_introduction(FILE *out, bool chinese);
void answer_help(FILE *out, bool chinese);
/* Nothing that it understands. */
void answer_other(FILE *out, bool chinese);
void answer_weather(FILE *out, const struct intent *i);
/* The tool that would be needed is not among those offered. */
void answer_no_tool(FILE *out, const char *tool, bool chinese);
/* After the tool has run. */
void answer_result(FILE *out, const struct intent *i, const char *result, size_t length,
                   bool failed);

#endif
