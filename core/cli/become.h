/* Become: turns this process into one of the other programs, which then does the work and answers
 * for it. Used by the subcommands that need the daemon's code and not a running gateway. */
#ifndef CLI_BECOME_H
#define CLI_BECOME_H

#include "cli/command_line.h"

/* words[0] names the program in libexec; NULL ends them. Returns, with the status to exit with and
 * after having told why, only if that was impossible. */
int become(const struct common *common, const char *const *words);

/* Becomes the desktop's program for links; returns if there is none. */
void become_opener(const char *url);

#endif
