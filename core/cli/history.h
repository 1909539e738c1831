/* History: what was entered before, in memory and in a file that only its owner can read. Called
 * by line.c. The file has one entry a line, with "\n" and "\\" for line break and backslash;
 * several clients may append to it at once. */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#define HISTORY_ENTRIES 1000        /* kept in memory and, after a rewrite, in the file */
#define HISTORY_LONGEST (16 * 1024) /* an entry beyond this isn't kept */

struct history {
    char *path; /* NULL: nothing is written */
    char **entries;
    size_t count;
};

/* Reads the file if there is one. What can't be read is no error: the history then starts empty. */
void history_open(struct history *history, const char *path);
void history_close(struct history *history);

/* Adds at the end and to the file. Empty texts, repetitions of the last entry and texts that begin
 * with a space are not kept. */
void history_add(struct history *history, const char *text, size_t length);

/* The newest entry before index `before` that contains the text; (size_t)-1: none. */
size_t history_search(const struct history *history, const char *text, size_t before);

#endif
