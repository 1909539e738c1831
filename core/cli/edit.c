/* Edit: see edit.h. Undo keeps whole copies of the text, a bounded number of them, since what a
 * person types is short; runs of typed characters make one step for each word. */
#include "cli/edit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/width.h"

#define STEPS_KEPT    64
#define STEPS_LONGEST (64 * 1024) /* texts beyond this have no undo */

struct edit_step {
    char *text;
    size_t length;
    size_t cursor;
};

void edit_init(struct edit *edit)
{
    memset(edit, 0, sizeof *edit);
}

static void forget_steps(struct edit *edit)
{
    for (size_t i = 0; i < edit->step_count; i++) {
        free(edit->steps[i].text);
    }
    free(edit->steps);
    edit->steps = NULL;
    edit->step_count = 0;
}

void edit_free(struct edit *edit)
{
    forget_steps(edit);
    buf_free(&edit->text);
    buf_free(&edit->killed);
}

static void remember(struct edit *edit)
{
    if (edit->text.n > STEPS_LONGEST) {
        forget_steps(edit);
        return;
    }
    if (edit->steps == NULL) {
        edit->steps = xcalloc(STEPS_KEPT, sizeof *edit->steps);
    }
    if (edit->step_count == STEPS_KEPT) {
        free(edit->steps[0].text);
        memmove(&edit->steps[0], &edit->steps[1], (STEPS_KEPT - 1) * sizeof *edit->steps);
        edit->step_count--;
    }
    struct edit_step *step = &edit->steps[edit->step_count++];
    step->length = edit->text.n;
    step->cursor = edit->cursor;
    step->text = xmalloc(step->length + 1);
    if (step->length > 0) {
        memcpy(step->text, edit->text.p, step->length);
    }
}

void edit_set(struct edit *edit, const char *text, size_t length)
{
    if (length > EDIT_LIMIT) {
        length = EDIT_LIMIT;
    }
    forget_steps(edit);
    buf_clear(&edit->text);
    buf_add(&edit->text, text, length);
    edit->cursor = length;
    edit->kill_goes_on = false;
    edit->typing = false;
}

/* Puts `length` bytes in the place of the bytes from `from` to `to`. */
static void splice(struct edit *edit, size_t from, size_t to, const char *text, size_t length)
{
    struct buf *b = &edit->text;
    size_t tail = b->n - to;
    if (length > to - from) {
        buf_reserve(b, length - (to - from));
    }
    if (tail > 0) {
        memmove(b->p + from + length, b->p + to, tail);
    }
    if (length > 0) {
        memcpy(b->p + from, text, length);
    }
    b->n = from + length + tail;
    if (b->p != NULL) {
        b->p[b->n] = '\0';
    }
}

static bool insert(struct edit *edit, const char *text, size_t length)
{
    if (edit->text.n + length > EDIT_LIMIT) {
        return false;
    }
    splice(edit, edit->cursor, edit->cursor, text, length);
    edit->cursor += length;
    edit->kill_goes_on = false;
    return true;
}

bool edit_insert(struct edit *edit, const char *text, size_t length)
{
    remember(edit);
    edit->typing = false;
    return insert(edit, text, length);
}

bool edit_insert_character(struct edit *edit, uint32_t character)
{
    if (character == 0) {
        return false;
    }
    char bytes[4];
    size_t length = utf8_put(bytes, character);
    bool space = character == ' ' || character == '\n';
    if (!edit->typing || space) {
        remember(edit);
    }
    edit->typing = true;
    return insert(edit, bytes, length);
}

static bool move_to(struct edit *edit, size_t to)
{
    edit->kill_goes_on = false;
    edit->typing = false;
    if (to == edit->cursor) {
        return false;
    }
    edit->cursor = to;
    return true;
}

bool edit_left(struct edit *edit)
{
    size_t at = edit->cursor;
    return move_to(edit, at == 0 ? 0 : width_previous(edit->text.p, at));
}

bool edit_right(struct edit *edit)
{
    size_t at = edit->cursor;
    if (at == edit->text.n) {
        return move_to(edit, at);
    }
    return move_to(edit, at + width_next(edit->text.p + at, edit->text.n - at, NULL));
}

/* A word is letters and digits of any script, with what combines with them. */
static bool is_word(const struct edit *edit, size_t at)
{
    uint32_t character;
    width_decode(edit->text.p + at, edit->text.n - at, &character);
    return character == '_' || utf8_is_word(character);
}

static size_t word_start(const struct edit *edit)
{
    size_t at = edit->cursor;
    bool inside = false;
    while (at > 0) {
        size_t before = width_previous(edit->text.p, at);
        bool word = is_word(edit, before);
        if (inside && !word) {
            break;
        }
        inside = inside || word;
        at = before;
    }
    return at;
}

static size_t word_end(const struct edit *edit)
{
    size_t at = edit->cursor;
    bool inside = false;
    while (at < edit->text.n) {
        bool word = is_word(edit, at);
        if (inside && !word) {
            break;
        }
        inside = inside || word;
        at += width_next(edit->text.p + at, edit->text.n - at, NULL);
    }
    return at;
}

static size_t blank_start(const struct edit *edit)
{
    size_t at = edit->cursor;
    while (at > 0 && isspace((unsigned char)edit->text.p[at - 1])) {
        at--;
    }
    while (at > 0 && !isspace((unsigned char)edit->text.p[at - 1])) {
        at--;
    }
    return at;
}

static size_t line_start(const struct edit *edit)
{
    size_t at = edit->cursor;
    while (at > 0 && edit->text.p[at - 1] != '\n') {
        at--;
    }
    return at;
}

static size_t line_end(const struct edit *edit)
{
    size_t at = edit->cursor;
    while (at < edit->text.n && edit->text.p[at] != '\n') {
        at++;
    }
    return at;
}

bool edit_word_left(struct edit *edit)
{
    return move_to(edit, word_start(edit));
}

bool edit_word_right(struct edit *edit)
{
    return move_to(edit, word_end(edit));
}

bool edit_line_start(struct edit *edit)
{
    return move_to(edit, line_start(edit));
}

bool edit_line_end(struct edit *edit)
{
    return move_to(edit, line_end(edit));
}

bool edit_start(struct edit *edit)
{
    return move_to(edit, 0);
}

bool edit_end(struct edit *edit)
{
    return move_to(edit, edit->text.n);
}

static bool erase(struct edit *edit, size_t from, size_t to)
{
    if (from == to) {
        return false;
    }
    remember(edit);
    splice(edit, from, to, NULL, 0);
    edit->cursor = from;
    edit->typing = false;
    edit->kill_goes_on = false;
    return true;
}

bool edit_delete_left(struct edit *edit)
{
    size_t at = edit->cursor;
    return erase(edit, at == 0 ? 0 : width_previous(edit->text.p, at), at);
}

bool edit_delete_right(struct edit *edit)
{
    size_t at = edit->cursor;
    if (at == edit->text.n) {
        return false;
    }
    return erase(edit, at, at + width_next(edit->text.p + at, edit->text.n - at, NULL));
}

/* Erases and keeps the erased text for edit_yank; kills in a row become one text. */
static bool kill_text(struct edit *edit, size_t from, size_t to)
{
    if (from == to) {
        return false;
    }
    bool goes_on = edit->kill_goes_on;
    bool leftwards = to == edit->cursor && from != to;
    struct buf joined = {0};
    if (goes_on && !leftwards) {
        buf_add(&joined, edit->killed.p, edit->killed.n);
    }
    buf_add(&joined, edit->text.p + from, to - from);
    if (goes_on && leftwards) {
        buf_add(&joined, edit->killed.p, edit->killed.n);
    }
    buf_free(&edit->killed);
    edit->killed = joined;
    erase(edit, from, to);
    edit->kill_goes_on = true;
    return true;
}

bool edit_kill_word_left(struct edit *edit)
{
    return kill_text(edit, word_start(edit), edit->cursor);
}

bool edit_kill_blank_left(struct edit *edit)
{
    return kill_text(edit, blank_start(edit), edit->cursor);
}

bool edit_kill_word_right(struct edit *edit)
{
    return kill_text(edit, edit->cursor, word_end(edit));
}

bool edit_kill_line_left(struct edit *edit)
{
    return kill_text(edit, line_start(edit), edit->cursor);
}

bool edit_kill_line_right(struct edit *edit)
{
    size_t end = line_end(edit);
    if (end == edit->cursor && end < edit->text.n) {
        end++; /* at the end of a line: the line break itself */
    }
    return kill_text(edit, edit->cursor, end);
}

bool edit_yank(struct edit *edit)
{
    return edit->killed.n > 0 && edit_insert(edit, edit->killed.p, edit->killed.n);
}

bool edit_transpose(struct edit *edit)
{
    size_t at = edit->cursor;
    if (at == 0) {
        return false;
    }
    size_t end = at;
    if (at == edit->text.n || edit->text.p[at] == '\n') {
        at = width_previous(edit->text.p, at);
    } else {
        end += width_next(edit->text.p + at, edit->text.n - at, NULL);
    }
    if (at == 0) {
        return false;
    }
    size_t start = width_previous(edit->text.p, at);
    remember(edit);
    struct buf swapped = {0};
    buf_add(&swapped, edit->text.p + at, end - at);
    buf_add(&swapped, edit->text.p + start, at - start);
    splice(edit, start, end, swapped.p, swapped.n);
    buf_free(&swapped);
    edit->kill_goes_on = false;
    edit->typing = false;
    edit->cursor = end;
    return true;
}

bool edit_change_case(struct edit *edit, enum edit_case how)
{
    size_t end = word_end(edit);
    if (end == edit->cursor) {
        return false;
    }
    struct buf changed = {0};
    bool first = true;
    for (size_t at = edit->cursor; at < end;) {
        uint32_t character;
        at += width_decode(edit->text.p + at, end - at, &character);
        bool upper = how == EDIT_UPPER || (how == EDIT_CAPITAL && first);
        if (utf8_is_word(character)) {
            first = false;
        }
        wint_t mapped = upper ? towupper((wint_t)character) : towlower((wint_t)character);
        char bytes[4];
        buf_add(&changed, bytes, utf8_put(bytes, (uint32_t)mapped));
    }
    remember(edit);
    size_t from = edit->cursor;
    splice(edit, from, end, changed.p, changed.n);
    edit->cursor = from + changed.n;
    buf_free(&changed);
    edit->kill_goes_on = false;
    edit->typing = false;
    return true;
}

bool edit_undo(struct edit *edit)
{
    if (edit->step_count == 0) {
        return false;
    }
    struct edit_step *step = &edit->steps[--edit->step_count];
    buf_clear(&edit->text);
    buf_add(&edit->text, step->text, step->length);
    edit->cursor = step->cursor;
    free(step->text);
    edit->kill_goes_on = false;
    edit->typing = false;
    return true;
}
