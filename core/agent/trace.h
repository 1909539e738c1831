/*
 * What is known of a run, in one JSON object: agent_trace(). A service over the journal.
 */
#ifndef AGENT_TRACE_H
#define AGENT_TRACE_H

#include "agent/agent.h"

void trace_read(const char *run, agent_json_fn *fn, void *owner);

#endif
