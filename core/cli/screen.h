/* Screen: what chat and agent write to: rows that are printed for good, and below them, on a real
 * terminal, the region that changes (an answer as it grows, running tools, the prompt). On anything
 * else only what is finished is written, as plain lines. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "cli/line.h"
#include "cli/rows.h"
#include "cli/styled.h"
#include "cli/view.h"

struct screen {
    bool live;              /* a terminal whose cursor can be moved */
    enum style_level level; /* of what is written */
    struct view view;
    struct line *line; /* whose prompt stands at the bottom; may be NULL */
    struct rows above; /* what changes, above the prompt: filled by the owner before screen_paint */
    struct buf out;    /* bytes that wait for screen_flush */
};

/* `line` may be NULL. */
void screen_begin(struct screen *screen, struct line *line);
/* Takes the region away and leaves the cursor at the begin of a line. */
void screen_end(struct screen *screen);

unsigned screen_width(const struct screen *screen);
/* The terminal has another size. */
void screen_resize(struct screen *screen);

/* Prints for good. The region is gone until the next screen_paint. */
void screen_print(struct screen *screen, const struct rows *rows);
/* One line, wrapped. */
void screen_say(struct screen *screen, const char *text, unsigned style);
void screen_blank(struct screen *screen);

/* Shows `above` and the prompt. */
void screen_paint(struct screen *screen);
void screen_clear(struct screen *screen); /* the whole terminal */
void screen_flush(struct screen *screen);

#endif
