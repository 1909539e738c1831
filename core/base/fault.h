/*
 * Fault points: places before and after each write to the store or the network where a test can end
 * the process (kill -9's effect) or ask how many there were. Compiled in with --enable-fault-points
 * only.
 *
 * CHELA_FAULT=N in the environment: the N-th point reached calls _exit(99). CHELA_FAULT_LOG=FILE:
 * the number and name of each point reached is appended there.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#ifdef CHELA_FAULT_POINTS
void fault_point(const char *where);
#else
#define fault_point(where) ((void)0)
#endif

#endif
