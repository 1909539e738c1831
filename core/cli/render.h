/* Render: one piece of Markdown, as rows for a terminal. Called by markdown.c, which cuts a stream
 * of text into such pieces. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stddef.h>

#include "cli/styled.h"

/* Appends the rows of a whole piece. The text may hold anything: what could harm a terminal is
 * taken out, also where it was written as an entity. */
void render_markdown(const char *text, size_t length, unsigned width, enum style_level level,
                     struct rows *rows);

/* Appends one line of code, as it stands inside a fenced block. */
void render_code_line(const char *text, size_t length, unsigned width, enum style_level level,
                      struct rows *rows);

#endif
