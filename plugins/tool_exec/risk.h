/*
 * The risk of a command line, before it runs: low (reads and queries), medium (writes and changes
 * of the environment) or high (changes of the system, destroyers, and all that isn't fully
 * understood). Called by tool_exec.c for each call, and by tests; it parses the line as bash and
 * POSIX sh would, opens nothing, runs nothing and keeps nothing.
 *
 * How to read the result: level is for the policy (low runs, medium asks, high always asks and
 * warns), reason for the person who is asked, commands for whoever matches an allow-list or binds
 * an approval. A level is the highest of all commands in the line, those in substitutions, pipes,
 * here-documents, and behind wrappers (env, timeout, xargs, find -exec, sh -c ...) included. What
 * can't be known (a variable as the command's name, an unknown program, syntax that isn't parsed:
 * functions, case, arithmetic with names) is high. The guarantee: appending "; rm -rf x" to a line
 * never gives a lower level than the line had.
 *
 * The level says nothing about confinement, and a program may do more than its table line says when
 * its own configuration was changed before; a writer of such files is high here for that reason
 * (.git/, dot files of the home).
 */
#ifndef TOOL_EXEC_RISK_H
#define TOOL_EXEC_RISK_H

#include <stdbool.h>
#include <stddef.h>

enum risk_level { RISK_LOW, RISK_MEDIUM, RISK_HIGH };

struct risk_table; /* what is known about programs; risk_table_new */

struct risk_options {
    /* Where PATH leads for a name without a slash, or NULL; borrowed by the result until it is
     * freed, so the caller keeps it. With it, a program outside the trusted folders counts as
     * unknown, whatever its name. May be NULL. */
    const char *(*resolve)(void *context, const char *name);
    void *context;
    /* Folders whose programs are what they are called, without a '/' at the end, ended by NULL.
     * NULL: /bin, /usr/bin, /sbin, /usr/sbin, /usr/local/bin, /usr/local/sbin. */
    const char *const *trusted;
    const struct risk_table *table; /* NULL: the built-in one */
};

/* A word of a command. */
struct risk_word {
    const char *text;   /* its value, if it is known before the line runs; else NULL */
    const char *source; /* as it is written */
};

struct risk_redirection {
    int descriptor;       /* -1: the operator's own (0 or 1) */
    const char *operator; /* "<" ">" ">>" ">|" "<>" "<&" ">&" "&>" "&>>" "<<" "<<-" "<<<" */
    struct risk_word target;
};

struct risk_command {
    const struct risk_word *words; /* name and arguments, assignments left out */
    size_t count;
    const struct risk_redirection *redirections;
    size_t redirection_count, assignment_count;
    const char *name; /* the program as the table knows it ("ls" for /bin/ls); NULL: not known */
    const char
        *path; /* what the resolve function said, or the name if it has a slash; may be NULL */
    enum risk_level level;
    const char *reason; /* "" for low */
};

struct risk_result {
    enum risk_level level;
    /* In the order of the line; what a wrapper or a substitution runs comes right before or behind
     * it, as an entry of its own. Not complete where the line isn't understood. */
    const struct risk_command *commands;
    size_t count;
    bool understood;  /* false: the line couldn't be parsed to its end (level is high then) */
    char reason[400]; /* for a person: "rm -rf x: deletes without asking"; "" for low; printable
                         UTF-8 */
    void *memory;     /* of risk_result_free */
};

/*
 * Classifies length bytes of a command line (as for `sh -c`). options may be NULL. It always
 * succeeds: what can't be judged is high. Allocation failure aborts. Any thread. Free the result
 * with risk_result_free.
 */
void risk_classify(const char *line, size_t length, const struct risk_options *options,
                   struct risk_result *result);
void risk_result_free(struct risk_result *result);

const char *risk_level_name(enum risk_level level); /* "low", "medium", "high" */

/*
 * The table: one program (or "program/subcommand") a line; risk_table.c has the built-in lines and
 * the syntax. An admin's lines (length may be 0) replace the built-in ones of the same name. NULL,
 * and a message in error, if a line makes no sense.
 */
struct risk_table *risk_table_new(const char *lines, size_t length, char *error, size_t error_size);
/* More lines, over those that it has. 0, or -1 and a message. */
int risk_table_add(struct risk_table *table, const char *lines, size_t length, char *error,
                   size_t error_size);
void risk_table_free(struct risk_table *table);

#endif
