/* Line: the line editor. A state machine: bytes of the terminal go in, what the caller has to do
 * comes out, and the prompt's rows can be asked for at any time. Puts keys, edit and history
 * together; reads and writes no descriptor, so that a test can drive it with bytes alone. */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "cli/edit.h"
#include "cli/history.h"
#include "cli/keys.h"
#include "cli/rows.h"
#include "cli/styled.h"

enum line_event {
    LINE_NOTHING,   /* no change to be seen */
    LINE_CHANGED,   /* paint again */
    LINE_SUBMIT,    /* Enter: the text is line_text(); call line_accept or line_clear afterwards */
    LINE_INTERRUPT, /* Ctrl-C */
    LINE_END,       /* Ctrl-D with nothing typed */
    LINE_SUSPEND,   /* Ctrl-Z */
    LINE_REDRAW,    /* Ctrl-L: clear the screen, then paint */
    LINE_CHOICE,    /* in choice mode: the key is line->choice */
};

/* Offers the ways in which the text before the cursor can go on: appends each whole word, ended by
 * a NUL, to `out`; returns where the word begins. */
typedef size_t line_complete_fn(void *arg, const char *text, size_t cursor, struct buf *out);

struct line {
    struct keys keys;
    struct edit edit;
    struct history *history;
    size_t history_at; /* the entry shown; history->count: the text being typed */
    struct buf draft;  /* what was being typed before going into the history */
    bool searching;
    struct buf wanted;    /* what Ctrl-R searches for */
    size_t found;         /* the entry found, (size_t)-1 none */
    struct buf pasted;    /* what a paste has brought so far */
    const char *prompt;   /* plain text, before the first row; the caller's */
    const char *choices;  /* choice mode: only these keys count; NULL: normal */
    const char *question; /* the prompt of choice mode */
    uint32_t choice;
    line_complete_fn *complete;
    void *complete_arg;
    struct buf hint; /* shown below the text until the next key */
};

void line_begin(struct line *line, struct history *history, const char *prompt);
void line_free(struct line *line);

/* Takes one byte; when it completes several keys, the last one's event counts. */
enum line_event line_feed(struct line *line, unsigned char byte);
/* A sequence has been begun and may be the Escape key: to be called when nothing more has come for
 * some tens of milliseconds. line_waiting says whether that is so. */
bool line_waiting(const struct line *line);
enum line_event line_timeout(struct line *line);

const char *line_text(struct line *line, size_t *length);
void line_accept(struct line *line); /* keeps the text in the history and clears */
void line_clear(struct line *line);
void line_set_hint(struct line *line, const char *hint); /* NULL: none */

/* Asks for one key out of `choices` (lower and upper case differ) with its own prompt; what was
 * typed is kept and comes back when choices is NULL again. A paste never chooses. Both strings are
 * the caller's. */
void line_choose(struct line *line, const char *choices, const char *question);

/* The rows as they are to be seen, and where the cursor stands in them. */
void line_rows(struct line *line, unsigned columns, enum style_level level, struct rows *rows,
               size_t *cursor_row, unsigned *cursor_column);

#endif
