/*
 * The descendants of the calling process, found by /proc.
 */
#ifndef PROC_SUPERVISE_TREE_H
#define PROC_SUPERVISE_TREE_H

#include <stdbool.h>

/* Sends a signal to every descendant, or only to the children themselves. The latter can't hit a
 * stranger: nobody but us reaps them, so their numbers stay theirs. Returns how many there were. */
unsigned supervise_tree_signal(int number, bool only_children);
/* Threads of all processes of our user. */
unsigned supervise_tree_tasks(void);

#endif
