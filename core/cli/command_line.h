/* Command line: the command line of one subcommand, by a table from which its help comes too.
 * Called by the cmd_*.c files. */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How `chela` ends. Documented in chela(1); never renumbered. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,     /* the turn or the request failed */
    EXIT_USAGE = 2,      /* the command line is wrong */
    EXIT_NO_GATEWAY = 3, /* none is running, or it did not let us in */
    EXIT_UNAPPROVED = 4, /* nobody approved in time */
    EXIT_ABORTED = 5,    /* the turn was aborted */
    EXIT_CONFIG = 78,    /* the configuration is wrong */
};

/* What each subcommand understands besides its own. */
struct common {
    bool json;
    const char *gateway; /* HOST:PORT, NULL: found by itself */
    const char *config;  /* for the commands that run the daemon */
};

struct option_row {
    char letter; /* '\0': long only */
    const char *name;
    const char *value; /* name of its value in the help; NULL: a flag */
    const char *help;
    bool *flag;
    const char **text;
};

struct command_line {
    const char *synopsis; /* "agent [OPTION...] [-m TEXT]", without the program's name */
    const char *summary;
    const struct option_row *rows; /* ended by a row without a name; may be NULL */
    int least, most;               /* how many arguments besides options */
    bool local;                    /* asks no gateway: --gateway isn't offered */
};

/* Reads argv (argv[0] is the subcommand). *arguments then points at the first of those that are no
 * options, *count of them. True: go on. False: *status is what to exit with; the help or the
 * mistake has been printed. */
bool command_line_read(const struct command_line *line, int argc, char **argv,
                       struct common *common, char ***arguments, int *count, int *status);

/* "90", "90s", "30m", "2h", "500ms": milliseconds; false if it is none. */
bool command_line_duration(const char *text, uint64_t *ms);

#endif
