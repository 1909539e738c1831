/* Edit: the text that is being typed, with its cursor, the killed text and the steps that can be
 * undone. Called by line.c; knows no keys, no terminal and no rows. All positions are byte offsets
 * that lie between two visible characters. */
#ifndef CLI_EDIT_H
#define CLI_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The longest text that can be typed or pasted; what goes beyond is refused. */
#define EDIT_LIMIT (1024 * 1024)

struct edit_step; /* one state that undo returns to */

struct edit {
    struct buf text;
    size_t cursor;
    struct buf killed;
    bool kill_goes_on; /* the next kill joins the last one */
    struct edit_step *steps;
    size_t step_count;
    bool typing; /* the last change was a typed character: undo takes the whole word */
};

enum edit_case { EDIT_UPPER, EDIT_LOWER, EDIT_CAPITAL };

void edit_init(struct edit *edit);
void edit_free(struct edit *edit);

/* Replaces everything, cursor at the end; forgets what could be undone. */
void edit_set(struct edit *edit, const char *text, size_t length);

/* False: the text would grow past EDIT_LIMIT, nothing changed. */
bool edit_insert(struct edit *edit, const char *text, size_t length);
bool edit_insert_character(struct edit *edit, uint32_t character);

/* Movements and changes; false: there was nowhere to go or nothing to do. */
bool edit_left(struct edit *edit);
bool edit_right(struct edit *edit);
bool edit_word_left(struct edit *edit);
bool edit_word_right(struct edit *edit);
bool edit_line_start(struct edit *edit);
bool edit_line_end(struct edit *edit);
bool edit_start(struct edit *edit);
bool edit_end(struct edit *edit);
bool edit_delete_left(struct edit *edit);
bool edit_delete_right(struct edit *edit);
bool edit_kill_word_left(struct edit *edit);  /* a word of letters and digits */
bool edit_kill_blank_left(struct edit *edit); /* up to white space, as Ctrl-W does */
bool edit_kill_word_right(struct edit *edit);
bool edit_kill_line_left(struct edit *edit);
bool edit_kill_line_right(struct edit *edit);
bool edit_yank(struct edit *edit);
bool edit_transpose(struct edit *edit);
bool edit_change_case(struct edit *edit, enum edit_case how);
bool edit_undo(struct edit *edit);

#endif
