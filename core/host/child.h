/*
 * A plugin's own process: main_child.c's three verbs.
 */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

/* Opens the file, describes it on `fd`, and serves its instances until the other end is closed.
 * Returns the exit status. */
int child_run(const char *file, int fd);
/* Prints one JSON object on standard output: what the file is, or why it can't be loaded (then the
 * status is 1). For `chela plugin list|options|info|check`. */
int child_describe(const char *file);
/* The same in words for a person: what is good on standard output, what is wrong on standard error.
 * For `chela plugin check`. */
int child_check(const char *file);

#endif
