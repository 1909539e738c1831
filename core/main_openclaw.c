/*
 * chela-openclaw STATE: what an OpenClaw state folder holds beside its configuration, a line each
 * (openclaw/openclaw.h). Reads both of its forms, SQLite and files, and writes to neither. Run by
 * `chela import openclaw`, which parses what it says as if a stranger said it.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "openclaw/openclaw.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: chela-openclaw STATE-FOLDER\n", stderr);
        return 2;
    }
    CLEANUP(freep) char *agents = xprintf("%s/agents", argv[1]);
    CLEANUP(freep) char *approvals = xprintf("%s/exec-approvals.json", argv[1]);
    DIR *dir = opendir(agents);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (*entry->d_name != '.') {
            file_sessions(argv[1], entry->d_name);
            database_sessions(argv[1], entry->d_name);
        }
    if (dir)
        closedir(dir);
    file_allow(argv[1]);
    file_jobs(argv[1]);
    say_approvals(parse_file(approvals));
    database_shared(argv[1]);
    return 0;
}
