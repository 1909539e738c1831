/* Markdown: see markdown.h. Blocks are told apart line by line: an empty line ends a paragraph,
 * table or quotation; a list ends when, after an empty line, something comes that is neither
 * indented nor an item; lines of a fenced block are finished as soon as they are whole. What is
 * decided depends on whole lines only, so it never depends on how the stream was cut. */
#include "cli/markdown.h"

#include <string.h>

#include "base/utf8.h"
#include "cli/render.h"

#define OPEN_LONGEST (64 * 1024) /* a block that doesn't end by then is cut */

struct line {
    const char *text;
    size_t length;   /* without the line break */
    size_t start;    /* of what isn't indentation */
    unsigned indent; /* columns */
};

void markdown_begin(struct markdown *markdown, unsigned width, enum style_level level)
{
    memset(markdown, 0, sizeof *markdown);
    markdown->width = width;
    markdown->level = level;
}

void markdown_free(struct markdown *markdown)
{
    buf_free(&markdown->open);
}

static struct line look_at(const char *text, size_t length)
{
    if (length > 0 && text[length - 1] == '\r') {
        length--;
    }
    struct line line = {text, length, 0, 0};
    while (line.start < length && (text[line.start] == ' ' || text[line.start] == '\t')) {
        line.indent = text[line.start] == '\t' ? (line.indent / 4 + 1) * 4 : line.indent + 1;
        line.start++;
    }
    return line;
}

static bool is_blank(const struct line *line)
{
    return line->start == line->length;
}

/* Reads a fence's opening; info strings of backtick fences hold no backtick. */
static bool opens_fence(const struct line *line, size_t from, struct markdown_fence *fence)
{
    const char *text = line->text + from;
    size_t length = line->length - from;
    if (length < 3 || (text[0] != '`' && text[0] != '~')) {
        return false;
    }
    size_t count = 1;
    while (count < length && text[count] == text[0]) {
        count++;
    }
    if (count < 3 || (text[0] == '`' && memchr(text + count, '`', length - count) != NULL)) {
        return false;
    }
    *fence = (struct markdown_fence){text[0], (unsigned)count, line->indent};
    return true;
}

static bool closes_fence(const struct line *line, const struct markdown_fence *fence)
{
    size_t at = line->start;
    while (at < line->length && line->text[at] == fence->character) {
        at++;
    }
    if (at - line->start < fence->count) {
        return false;
    }
    while (at < line->length && (line->text[at] == ' ' || line->text[at] == '\t')) {
        at++;
    }
    return at == line->length;
}

static bool is_heading(const struct line *line)
{
    size_t at = line->start;
    while (at < line->length && line->text[at] == '#') {
        at++;
    }
    size_t count = at - line->start;
    return line->indent < 4 && count >= 1 && count <= 6 &&
           (at == line->length || line->text[at] == ' ' || line->text[at] == '\t');
}

/* A thematic break would read as items: "* * *". */
static bool is_rule(const struct line *line)
{
    char c = line->start < line->length ? line->text[line->start] : '\0';
    unsigned count = 0;
    if (c != '-' && c != '*' && c != '_') {
        return false;
    }
    for (size_t at = line->start; at < line->length; at++) {
        if (line->text[at] == c) {
            count++;
        } else if (line->text[at] != ' ' && line->text[at] != '\t') {
            return false;
        }
    }
    return count >= 3;
}

/* The place behind a list marker and its space, or 0. */
static size_t behind_marker(const struct line *line)
{
    size_t at = line->start;
    if (at == line->length || is_rule(line)) {
        return 0;
    }
    if (strchr("-*+", line->text[at]) != NULL) {
        at++;
    } else {
        size_t digits = at;
        while (at < line->length && at - digits < 9 && line->text[at] >= '0' &&
               line->text[at] <= '9') {
            at++;
        }
        if (at == digits || at == line->length ||
            (line->text[at] != '.' && line->text[at] != ')')) {
            return 0;
        }
        at++;
    }
    if (at < line->length && line->text[at] != ' ' && line->text[at] != '\t') {
        return 0;
    }
    while (at < line->length && (line->text[at] == ' ' || line->text[at] == '\t')) {
        at++;
    }
    return at;
}

static void empty_row(struct markdown *md, struct rows *rows)
{
    if (md->begun) {
        rows_add(rows, "", 0, 0);
    }
}

static void render_block(const struct markdown *md, size_t length, struct rows *rows)
{
    struct rows block = {0};
    render_markdown(md->open.p, length, md->width, md->level, &block);
    if (block.count > 0 && md->begun) {
        rows_add(rows, "", 0, 0);
    }
    rows_join(rows, &block);
    rows_free(&block);
}

/* Gives out the first `length` bytes of the open text as one finished block. */
static void finish_block(struct markdown *md, size_t length, struct rows *rows)
{
    if (length > 0) {
        size_t before = rows->count;
        render_block(md, length, rows);
        md->begun = md->begun || rows->count > before;
        buf_consume(&md->open, length);
    }
    md->seen = 0;
    md->state = MARKDOWN_BETWEEN;
    md->list_blank = false;
    md->fence.count = 0;
}

static void code_line(struct markdown *md, const struct line *line, struct rows *rows)
{
    size_t from = line->start < md->fence.indent ? line->start : md->fence.indent;
    if (md->blank_wanted) {
        empty_row(md, rows);
    }
    md->blank_wanted = false;
    md->begun = true;
    render_code_line(line->text + from, line->length - from, md->width, md->level, rows);
}

/* Begins a block with the line that stands at the front of the open text. */
static void begin_block(struct markdown *md, const struct line *line, size_t whole,
                        struct rows *rows)
{
    if (is_blank(line)) {
        buf_consume(&md->open, whole);
        md->seen = 0;
        return;
    }
    if (line->indent < 4 && opens_fence(line, line->start, &md->fence)) {
        md->state = MARKDOWN_FENCE;
        md->blank_wanted = true;
        buf_consume(&md->open, whole);
        md->seen = 0;
        return;
    }
    if (is_heading(line)) {
        finish_block(md, whole, rows);
        return;
    }
    size_t item = line->indent < 4 ? behind_marker(line) : 0;
    md->state = item > 0 ? MARKDOWN_LIST : MARKDOWN_TEXT;
    md->seen = whole;
    if (item > 0 && !opens_fence(line, item, &md->fence)) {
        md->fence.count = 0;
    }
}

/* True: the line belongs to the open text. */
static bool goes_on_text(const struct line *line)
{
    struct markdown_fence fence;
    if (is_blank(line) || is_heading(line)) {
        return false;
    }
    if (line->indent >= 4) {
        return true;
    }
    size_t item = behind_marker(line);
    bool bullet_or_one =
        item > 0 && item < line->length &&
        (strchr("-*+", line->text[line->start]) != NULL ||
         (line->text[line->start] == '1' && strchr(".)", line->text[line->start + 1]) != NULL));
    return !opens_fence(line, line->start, &fence) && !bullet_or_one;
}

static bool goes_on_list(struct markdown *md, const struct line *line)
{
    if (md->fence.count > 0) {
        if (closes_fence(line, &md->fence)) {
            md->fence.count = 0;
        }
        return true;
    }
    bool after_blank = md->list_blank;
    md->list_blank = is_blank(line);
    if (md->list_blank) {
        return true;
    }
    size_t item = behind_marker(line);
    if (line->indent < 2 && item == 0) {
        struct markdown_fence fence;
        return !after_blank && !is_heading(line) && !is_rule(line) &&
               !opens_fence(line, line->start, &fence);
    }
    if (!opens_fence(line, item > 0 ? item : line->start, &md->fence)) {
        md->fence.count = 0;
    }
    return true;
}

/* Judges one more whole line; `at` is where it begins in the open text, whole its bytes with the
 * line break. */
static void take_line(struct markdown *md, size_t at, size_t whole, struct rows *rows)
{
    const char *text = md->open.p + at;
    size_t length = whole > 0 && text[whole - 1] == '\n' ? whole - 1 : whole;
    struct line line = look_at(text, length);
    switch (md->state) {
    case MARKDOWN_FENCE:
        if (line.indent < 4 && closes_fence(&line, &md->fence)) {
            md->state = MARKDOWN_BETWEEN;
            md->fence.count = 0;
        } else {
            code_line(md, &line, rows);
        }
        buf_consume(&md->open, whole);
        md->seen = 0;
        return;
    case MARKDOWN_BETWEEN: begin_block(md, &line, whole, rows); return;
    case MARKDOWN_TEXT:
    case MARKDOWN_LIST: break;
    }
    bool on = md->state == MARKDOWN_TEXT ? goes_on_text(&line) : goes_on_list(md, &line);
    if (on) {
        md->seen = at + whole;
        return;
    }
    finish_block(md, at, rows);
    line = look_at(md->open.p, length);
    begin_block(md, &line, whole, rows);
}

void markdown_feed(struct markdown *md, const char *text, size_t length, struct rows *rows)
{
    buf_add(&md->open, text, length);
    for (;;) {
        const char *from = md->open.p + md->seen;
        size_t left = md->open.n - md->seen;
        const char *end = left == 0 ? NULL : memchr(from, '\n', left);
        if (end == NULL) {
            break;
        }
        take_line(md, md->seen, (size_t)(end - from) + 1, rows);
        if (md->seen > OPEN_LONGEST) {
            finish_block(md, md->seen, rows);
        }
    }
    while (md->open.n - md->seen > OPEN_LONGEST) { /* one line without an end */
        size_t cut =
            md->seen + utf8_cut(md->open.p + md->seen, md->open.n - md->seen, OPEN_LONGEST);
        if (md->state == MARKDOWN_FENCE) {
            take_line(md, md->seen, cut - md->seen, rows);
        } else {
            finish_block(md, cut, rows);
        }
    }
}

void markdown_open(const struct markdown *md, struct rows *rows)
{
    size_t length = md->open.n;
    /* A character that is cut off isn't shown before its rest has come. */
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)md->open.p[length - back];
        if ((c & 0xC0) != 0x80) {
            size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
            length = need > back ? length - back : length;
            break;
        }
    }
    if (length == 0) {
        return;
    }
    if (md->state != MARKDOWN_FENCE) {
        render_block(md, length, rows);
        return;
    }
    struct line line = look_at(md->open.p, length);
    size_t at = line.start;
    while (at < line.length && line.text[at] == md->fence.character) {
        at++;
    }
    if (at == line.length && at > line.start) {
        return; /* it may become the fence's end */
    }
    size_t from = line.start < md->fence.indent ? line.start : md->fence.indent;
    if (md->blank_wanted && md->begun) {
        rows_add(rows, "", 0, 0);
    }
    render_code_line(line.text + from, line.length - from, md->width, md->level, rows);
}

void markdown_finish(struct markdown *md, struct rows *rows)
{
    if (md->open.n > md->seen) {
        take_line(md, md->seen, md->open.n - md->seen, rows);
    }
    finish_block(md, md->open.n, rows);
    md->begun = false;
}
