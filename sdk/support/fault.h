/*
 * Fault points: places before and after each write to the store or the network where a test can end
 * the process (kill -9's effect) or ask how many there were. For the core and for our own plugins.
 * Compiled in with --enable-fault-points only.
 *
 * Each object that links this counts for itself, in its own scope: the program's is "core"; a
 * plugin sets its own name by FAULT_SCOPE before it includes this.
 *
 * CHELA_FAULT=SCOPE:N in the environment: the N-th point reached in that scope calls _exit(99)
 * (without SCOPE: in any). CHELA_FAULT_LOG=FILE: a line "SCOPE NUMBER NAME" for each point reached
 * is appended there.
 */
#ifndef CHELA_SUPPORT_FAULT_H
#define CHELA_SUPPORT_FAULT_H

#ifndef FAULT_SCOPE
#define FAULT_SCOPE "core"
#endif

#ifdef CHELA_FAULT_POINTS
void chela_fault_point(const char *scope, const char *where) __attribute__((visibility("hidden")));
#define fault_point(where) chela_fault_point(FAULT_SCOPE, where)
#else
#define fault_point(where) ((void)0)
#endif

#endif
