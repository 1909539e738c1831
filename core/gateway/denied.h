/*
 * Tools that are never run from outside a turn.
 */
#ifndef GATEWAY_DENIED_H
#define GATEWAY_DENIED_H

#include <stdbool.h>

bool denied_tool(const char *name);

#endif
