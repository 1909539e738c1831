/*
 * A command line as the exec tool takes it: what it is, how risky, what an approval of it binds.
 */
#ifndef TOOL_EXEC_COMMAND_H
#define TOOL_EXEC_COMMAND_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>

#include "risk.h"

struct command {
    const char *line, *directory; /* directory: absolute, below the workspace */
    bool pty, background;
    long long timeout_s, yield_ms; /* yield_ms -1: as configured */
    json_object *environment;      /* {"NAME": "value"} or NULL */
    char *folder;                  /* memory of directory */
};

/* Reads the tool's arguments; 0, or -1 with a sentence in `error`. Borrows from `arguments`. */
int command_read(json_object *arguments, const char *workspace, struct command *ret, char *error,
                 size_t size);
void command_free(struct command *c);

/* Where PATH leads for a program, or NULL; memory of `table` (free with command_paths_free). */
struct command_paths;
struct command_paths *command_paths_new(void);
void command_paths_free(struct command_paths *p);
const char *command_resolve(void *paths, const char *name);

/* PATH of commands. */
extern const char command_path[];

/*
 * What an approval of this command holds on to: the line, the folder, the environment, and each
 * program and script that it names with the file that it is now (inode, size, times, and its bytes
 * where it could be written). `more` is what else must be the same. Equal texts: the same will run.
 * Free it.
 */
char *command_binding(const struct command *c, const struct risk_result *risk, const char *more);
/* What "always" would cover: each simple command on a line, its resolved program and its words.
 * NULL where it may not be offered: high risk, interpreters, redirections, lines of which not every
 * word is known. Free it. */
char *command_kind(const struct risk_result *risk);
/* What exactly will run, for the person who is asked. Free it. */
char *command_summary(const struct command *c);

#endif
