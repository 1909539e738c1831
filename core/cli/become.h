/* Become: turns this process into one of the other programs, which then does the work and answers
 * for it; or runs one and waits. Used by the subcommands that need the daemon's code and not a
 * running gateway, and by onboard. */
#ifndef CLI_BECOME_H
#define CLI_BECOME_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/command_line.h"

/* words[0] names the program in libexec; NULL ends them. Returns, with the status to exit with and
 * after having told why, only if that was impossible. */
int become(const struct common *common, const char *const *words);

/* Runs another program and waits: words[0] without a slash is looked for in PATH. What it prints on
 * standard output and standard error goes into `out` (NULL: to where ours goes). Its exit status,
 * or -1 if it could not be run. */
int become_child(const char *const *words, struct buf *out);

/* A gateway of our own, for a while: the daemon with the environment's configuration, on a port
 * that the kernel chooses, its log into the file. Waits until it listens; its port, or 0 with the
 * reason in `e`. */
struct become_gateway {
    pid_t pid;
    unsigned port;
};
int become_gateway(const char *log, struct become_gateway *ret, struct error *e);
void become_gateway_end(struct become_gateway *gateway);

/* Becomes the desktop's program for links; returns if there is none. */
void become_opener(const char *url);

#endif
