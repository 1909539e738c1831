/* Become: see become.h. An exec, never a child: signals, terminal and exit status are then the
 * other program's without any work of ours. */
#include "cli/become.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/output.h"

int become(const struct common *common, const char *const *words)
{
    char *path = xprintf("%s/%s", paths_libexec_dir(), words[0]);
    fflush(stdout);
    signal(SIGPIPE, SIG_DFL); /* ours is ignored, and would stay so */
    execv(path, (char *const *)words);
    char *message = xprintf("can't run %s: %s", path, strerror(errno));
    int status = output_failure(common, "other", message, EXIT_FAILED);
    free(message);
    free(path);
    return status;
}

void become_opener(const char *url)
{
    char *const words[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
    fflush(stdout);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
}
