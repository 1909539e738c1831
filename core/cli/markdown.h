/* Markdown: text that streams in, as rows for a terminal. Cuts the stream into blocks: a finished
 * block is given out once and never again, the open one can be asked for as it stands. Called by
 * the parts of the client that show answers (turn_view.c); prints nothing itself. */
#ifndef CLI_MARKDOWN_H
#define CLI_MARKDOWN_H

#include <stdbool.h>

#include "cli/rows.h"
#include "cli/styled.h"

enum markdown_state { MARKDOWN_BETWEEN, MARKDOWN_TEXT, MARKDOWN_LIST, MARKDOWN_FENCE };

struct markdown_fence {
    char character;
    unsigned count, indent;
};

struct markdown {
    unsigned width;
    enum style_level level;
    struct buf open; /* what isn't finished yet */
    size_t seen;     /* bytes of it that are whole lines which have been judged */
    enum markdown_state state;
    struct markdown_fence fence; /* that is open, also inside a list; count 0: none */
    bool list_blank;             /* the last line of the list was empty */
    bool begun;                  /* something was given out: an empty row goes before the next */
    bool blank_wanted;           /* before the first line of the open fence */
};

void markdown_begin(struct markdown *markdown, unsigned width, enum style_level level);
void markdown_free(struct markdown *markdown);

/* Takes more text, cut anywhere; appends the rows of what became finished. */
void markdown_feed(struct markdown *markdown, const char *text, size_t length, struct rows *rows);

/* Appends the rows of the open block as far as it has come. */
void markdown_open(const struct markdown *markdown, struct rows *rows);

/* The text is over: appends what is left. The next text begins anew. */
void markdown_finish(struct markdown *markdown, struct rows *rows);

#endif
