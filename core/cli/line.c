/* Line: the keys and what they do; see line.h. The bindings are Emacs's, as in other programs that
 * read lines; Alt-Enter, Shift-Enter (where the terminal tells it) and Ctrl-J begin a new line. The
 * rows are laid out in line_rows.c. */
#include "cli/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/clean.h"
#include "cli/width.h"

#define NOT_FOUND ((size_t)-1)

void line_begin(struct line *line, struct history *history, const char *prompt)
{
    memset(line, 0, sizeof *line);
    keys_init(&line->keys);
    edit_init(&line->edit);
    line->history = history;
    line->history_at = history->count;
    line->prompt = prompt;
}

void line_free(struct line *line)
{
    edit_free(&line->edit);
    buf_free(&line->draft);
    buf_free(&line->wanted);
    buf_free(&line->pasted);
    buf_free(&line->hint);
}

const char *line_text(struct line *line, size_t *length)
{
    if (length != NULL) {
        *length = line->edit.text.n;
    }
    return buf_text(&line->edit.text);
}

void line_clear(struct line *line)
{
    edit_set(&line->edit, "", 0);
    buf_clear(&line->draft);
    line->history_at = line->history->count;
    line->searching = false;
}

void line_accept(struct line *line)
{
    history_add(line->history, buf_text(&line->edit.text), line->edit.text.n);
    line_clear(line);
}

void line_set_hint(struct line *line, const char *hint)
{
    buf_clear(&line->hint);
    if (hint != NULL) {
        clean_append(&line->hint, hint, strlen(hint));
    }
}

void line_choose(struct line *line, const char *choices, const char *question)
{
    line->choices = choices;
    line->question = question;
}

bool line_waiting(const struct line *line)
{
    return keys_waiting(&line->keys);
}

static enum line_event changed(bool something)
{
    return something ? LINE_CHANGED : LINE_NOTHING;
}

/* ---- history ---- */

static void show_entry(struct line *line, size_t index)
{
    if (line->history_at == line->history->count) {
        buf_clear(&line->draft);
        buf_add(&line->draft, line->edit.text.p, line->edit.text.n);
    }
    line->history_at = index;
    if (index == line->history->count) {
        edit_set(&line->edit, buf_text(&line->draft), line->draft.n);
    } else {
        const char *entry = line->history->entries[index];
        edit_set(&line->edit, entry, strlen(entry));
    }
}

static bool history_step(struct line *line, int direction)
{
    if (direction < 0 ? line->history_at == 0 : line->history_at >= line->history->count) {
        return false;
    }
    show_entry(line, direction < 0 ? line->history_at - 1 : line->history_at + 1);
    return true;
}

/* Up and down: inside a text of several lines first, then through the history. */
static bool move_row(struct line *line, int direction)
{
    struct edit *edit = &line->edit;
    const char *text = buf_text(&edit->text);
    size_t cursor = edit->cursor, start = cursor;
    while (start > 0 && text[start - 1] != '\n') {
        start--;
    }
    unsigned column = width_columns(text + start, cursor - start);
    size_t target;
    if (direction < 0) {
        if (start == 0) {
            return history_step(line, -1);
        }
        target = start - 1;
        while (target > 0 && text[target - 1] != '\n') {
            target--;
        }
    } else {
        const char *next = memchr(text + cursor, '\n', edit->text.n - cursor);
        if (next == NULL) {
            return history_step(line, 1);
        }
        target = (size_t)(next - text) + 1;
    }
    unsigned used = 0;
    while (target < edit->text.n && text[target] != '\n') {
        unsigned wide;
        size_t bytes = width_next(text + target, edit->text.n - target, &wide);
        if (used + wide > column) {
            break;
        }
        used += wide;
        target += bytes;
    }
    edit->cursor = target;
    return true;
}

/* ---- search ---- */

static void search_again(struct line *line, size_t before)
{
    size_t found = line->wanted.n == 0
                       ? NOT_FOUND
                       : history_search(line->history, buf_text(&line->wanted), before);
    if (found != NOT_FOUND || line->wanted.n == 0) {
        line->found = found;
    } else {
        line_set_hint(line, "nothing further back");
    }
}

static void search_newer(struct line *line)
{
    for (size_t i = line->found + 1; line->found != NOT_FOUND && i < line->history->count; i++) {
        if (strstr(line->history->entries[i], buf_text(&line->wanted)) != NULL) {
            line->found = i;
            return;
        }
    }
}

static void search_take(struct line *line)
{
    line->searching = false;
    if (line->found != NOT_FOUND) {
        show_entry(line, line->found);
    }
}

static enum line_event normal_key(struct line *line, const struct key *key);

static enum line_event search_key(struct line *line, const struct key *key)
{
    char bytes[4];
    if (key->code == KEY_TEXT && !key->alt && key->character >= 0x20) {
        buf_add(&line->wanted, bytes, utf8_put(bytes, key->character));
        search_again(line, line->history->count);
        return LINE_CHANGED;
    }
    if (key->code == KEY_BACKSPACE) {
        if (line->wanted.n > 0) {
            line->wanted.n = width_previous(line->wanted.p, line->wanted.n);
            line->wanted.p[line->wanted.n] = '\0';
        }
        search_again(line, line->history->count);
        return LINE_CHANGED;
    }
    if (key->code == KEY_CONTROL && key->character == 'r') {
        search_again(line, line->found == NOT_FOUND ? line->history->count : line->found);
        return LINE_CHANGED;
    }
    if (key->code == KEY_CONTROL && key->character == 's') {
        search_newer(line);
        return LINE_CHANGED;
    }
    if (key->code == KEY_CONTROL && (key->character == 'g' || key->character == 'c')) {
        line->searching = false;
        return LINE_CHANGED;
    }
    search_take(line);
    if (key->code == KEY_ESCAPE || key->code == KEY_TAB || key->code == KEY_UNKNOWN) {
        return LINE_CHANGED;
    }
    enum line_event event = normal_key(line, key);
    return event == LINE_NOTHING ? LINE_CHANGED : event;
}

static enum line_event search_begin(struct line *line)
{
    line->searching = true;
    line->found = NOT_FOUND;
    buf_clear(&line->wanted);
    return LINE_CHANGED;
}

/* ---- completion ---- */

static size_t common_prefix(const struct buf *words)
{
    const char *first = words->p;
    size_t common = strlen(first);
    for (const char *word = first; word < words->p + words->n; word += strlen(word) + 1) {
        size_t same = 0;
        while (same < common && word[same] == first[same]) {
            same++;
        }
        common = same;
    }
    return utf8_cut(first, strlen(first), common);
}

static enum line_event complete(struct line *line)
{
    struct buf words = {0};
    struct edit *edit = &line->edit;
    bool done = false;
    if (line->complete == NULL) {
        return LINE_NOTHING;
    }
    size_t start = line->complete(line->complete_arg, buf_text(&edit->text), edit->cursor, &words);
    if (words.n > 0 && start <= edit->cursor) {
        size_t common = common_prefix(&words);
        size_t typed = edit->cursor - start;
        bool single = strlen(words.p) + 1 == words.n;
        if (common > typed) {
            done = edit_insert(edit, words.p + typed, common - typed);
        }
        if (single) {
            done = edit_insert(edit, " ", 1) || done;
        } else if (!done) {
            for (size_t i = 0; i + 1 < words.n; i++) {
                words.p[i] = words.p[i] == '\0' ? ' ' : words.p[i];
            }
            line_set_hint(line, words.p);
            done = true;
        }
    }
    buf_free(&words);
    return changed(done);
}

/* ---- keys ---- */

static enum line_event control_key(struct line *line, uint32_t letter)
{
    struct edit *edit = &line->edit;
    switch (letter) {
    case 'a': return changed(edit_line_start(edit));
    case 'b': return changed(edit_left(edit));
    case 'c': return LINE_INTERRUPT;
    case 'd': return edit->text.n == 0 ? LINE_END : changed(edit_delete_right(edit));
    case 'e': return changed(edit_line_end(edit));
    case 'f': return changed(edit_right(edit));
    case 'j': return changed(edit_insert(edit, "\n", 1));
    case 'k': return changed(edit_kill_line_right(edit));
    case 'l': return LINE_REDRAW;
    case 'n': return changed(move_row(line, 1));
    case 'p': return changed(move_row(line, -1));
    case 'r': return search_begin(line);
    case 't': return changed(edit_transpose(edit));
    case 'u': return changed(edit_kill_line_left(edit));
    case 'w': return changed(edit_kill_blank_left(edit));
    case 'y': return changed(edit_yank(edit));
    case 'z': return LINE_SUSPEND;
    case '_': return changed(edit_undo(edit));
    default: return LINE_NOTHING;
    }
}

static enum line_event alt_key(struct line *line, uint32_t letter)
{
    struct edit *edit = &line->edit;
    switch (letter) {
    case 'b': return changed(edit_word_left(edit));
    case 'f': return changed(edit_word_right(edit));
    case 'd': return changed(edit_kill_word_right(edit));
    case 'u': return changed(edit_change_case(edit, EDIT_UPPER));
    case 'l': return changed(edit_change_case(edit, EDIT_LOWER));
    case 'c': return changed(edit_change_case(edit, EDIT_CAPITAL));
    case '<': return changed(edit_start(edit));
    case '>': return changed(edit_end(edit));
    default: return LINE_NOTHING;
    }
}

static enum line_event normal_key(struct line *line, const struct key *key)
{
    struct edit *edit = &line->edit;
    bool word = key->alt || key->control;
    switch (key->code) {
    case KEY_TEXT:
        if (key->alt) {
            return alt_key(line, key->character);
        }
        return changed(edit_insert_character(edit, key->character));
    case KEY_CONTROL: return control_key(line, key->character);
    case KEY_ENTER:
        if (key->alt || key->shift) {
            return changed(edit_insert(edit, "\n", 1));
        }
        return LINE_SUBMIT;
    case KEY_TAB: return complete(line);
    case KEY_BACKSPACE: return changed(word ? edit_kill_word_left(edit) : edit_delete_left(edit));
    case KEY_DELETE: return changed(word ? edit_kill_word_right(edit) : edit_delete_right(edit));
    case KEY_LEFT: return changed(word ? edit_word_left(edit) : edit_left(edit));
    case KEY_RIGHT: return changed(word ? edit_word_right(edit) : edit_right(edit));
    case KEY_UP: return changed(word ? history_step(line, -1) : move_row(line, -1));
    case KEY_DOWN: return changed(word ? history_step(line, 1) : move_row(line, 1));
    case KEY_HOME: return changed(word ? edit_start(edit) : edit_line_start(edit));
    case KEY_END: return changed(word ? edit_end(edit) : edit_line_end(edit));
    default: return LINE_NOTHING;
    }
}

static enum line_event choice_key(struct line *line, const struct key *key)
{
    if (key->code == KEY_CONTROL) {
        switch (key->character) {
        case 'c': return LINE_INTERRUPT;
        case 'd': return LINE_END;
        case 'l': return LINE_REDRAW;
        case 'z': return LINE_SUSPEND;
        default: return LINE_NOTHING;
        }
    }
    if (key->code != KEY_TEXT || key->alt || key->pasted || key->character >= 0x80 ||
        strchr(line->choices, (int)key->character) == NULL) {
        return LINE_NOTHING;
    }
    line->choice = key->character;
    return LINE_CHOICE;
}

/* A paste is gathered and put in as a whole, so that it is one step for undo. */
static bool paste_key(struct line *line, const struct key *key, enum line_event *event)
{
    char bytes[4];
    *event = LINE_NOTHING;
    if (key->pasted) {
        if (line->pasted.n <= EDIT_LIMIT && key->character != 0) {
            buf_add(&line->pasted, bytes, utf8_put(bytes, key->character));
        }
        return true;
    }
    if (key->code == KEY_PASTE_BEGIN) {
        buf_clear(&line->pasted);
        return true;
    }
    if (key->code != KEY_PASTE_END) {
        return false;
    }
    if (line->choices == NULL && line->pasted.n > 0) {
        if (line->searching) {
            search_take(line);
        }
        if (!edit_insert(&line->edit, line->pasted.p, line->pasted.n)) {
            line_set_hint(line, "that is too long to be sent");
        }
        *event = LINE_CHANGED;
    }
    buf_free(&line->pasted);
    line->pasted = (struct buf){0};
    return true;
}

static enum line_event take_key(struct line *line, const struct key *key)
{
    enum line_event event;
    if (paste_key(line, key, &event)) {
        return event;
    }
    bool had_hint = line->hint.n > 0;
    line_set_hint(line, NULL);
    if (line->choices != NULL) {
        event = choice_key(line, key);
    } else if (line->searching) {
        event = search_key(line, key);
    } else {
        event = normal_key(line, key);
    }
    return event == LINE_NOTHING && had_hint ? LINE_CHANGED : event;
}

enum line_event line_feed(struct line *line, unsigned char byte)
{
    struct key key;
    enum line_event event = LINE_NOTHING;
    bool more = keys_feed(&line->keys, byte, &key);
    while (more) {
        enum line_event next = take_key(line, &key);
        event = next == LINE_NOTHING ? event : next;
        more = keys_pending(&line->keys, &key);
    }
    return event;
}

enum line_event line_timeout(struct line *line)
{
    struct key key;
    if (!keys_timeout(&line->keys, &key)) {
        return LINE_NOTHING;
    }
    return take_key(line, &key);
}
