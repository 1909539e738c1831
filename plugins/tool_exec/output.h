/*
 * What a command prints, as a model and a person can read it.
 */
#ifndef TOOL_EXEC_OUTPUT_H
#define TOOL_EXEC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "support/json.h"

/* Keeps the beginning and the end; what stands between is counted. Terminal control sequences are
 * left out, a line that was written over keeps its last state, all is whole UTF-8. Zero-initialise,
 * then output_open. */
struct output {
    size_t half; /* bytes kept of the beginning, and of the end */
    char *head, *tail;
    size_t head_length, tail_at, tail_length;
    unsigned long long dropped;
    enum {
        OUTPUT_TEXT,
        OUTPUT_ESCAPE,
        OUTPUT_CSI,
        OUTPUT_STRING,
        OUTPUT_STRING_ESCAPE,
        OUTPUT_CHARSET
    } state;
    char *line; /* the line being written, since a carriage return may overwrite it */
    size_t line_length, line_size, column;
};

void output_open(struct output *o, size_t limit);
void output_add(struct output *o, const char *bytes, size_t n);
/* All of it (free it); ends the output. */
char *output_take(struct output *o, size_t *ret_length);
void output_free(struct output *o);

#endif
