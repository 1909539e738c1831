/*
 * The built-in lines of the risk table; risk_table.c has their syntax.
 */
#ifndef TOOL_EXEC_RISK_PROGRAMS_H
#define TOOL_EXEC_RISK_PROGRAMS_H

extern const char *const risk_programs[] __attribute__((visibility("hidden"))); /* ends with NULL */

#endif
