/* Render: see render.h. md4c walks the text and calls back; what it says is gathered into styled
 * text for each paragraph, heading or cell, and laid out when that ends. Lists and quotations give
 * the rows inside them a prefix, kept in a stack. Tables are in table.c. */
#include "cli/render.h"

#include <md4c.h>
#include <stdbool.h>
#include <string.h>

#include "base/entity.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/clean.h"
#include "cli/table.h"
#include "cli/width.h"

#define DEEPEST      12 /* containers beyond this add no further prefix */
#define RULE_COLUMNS 40
#define FLAGS        (MD_DIALECT_GITHUB | MD_FLAG_NOHTML)

enum container { CONTAINER_QUOTE, CONTAINER_BULLETS, CONTAINER_NUMBERS, CONTAINER_ITEM };

struct level {
    enum container kind;
    bool tight;
    unsigned number;      /* of the next item */
    char delimiter;       /* behind the number */
    struct styled marker; /* of an item: shown once, then as many spaces */
    bool marker_shown;
};

struct render {
    struct rows *rows;
    unsigned width;
    enum style_level style_level;
    struct level levels[DEEPEST];
    unsigned depth;
    bool blank_wanted;    /* an empty row goes before the next block */
    unsigned blank_depth; /* inside this many containers */
    struct styled text;
    unsigned style;
    bool code_block;
    struct buf link; /* target of the link that is open */
    size_t link_start;
    struct table table;
    bool in_table;
};

/* What stands before each row inside the open containers; `first`: with the markers that are still
 * to be shown. */
static void prefix(struct render *r, bool first, struct styled *out)
{
    unsigned depth = r->depth < DEEPEST ? r->depth : DEEPEST;
    for (unsigned i = 0; i < depth; i++) {
        struct level *level = &r->levels[i];
        if (level->kind == CONTAINER_QUOTE) {
            styled_add(out, "\xE2\x94\x82 ", 4, STYLE_DIM);
        } else if (level->kind == CONTAINER_ITEM) {
            if (first && !level->marker_shown) {
                styled_join(out, &level->marker);
            } else {
                unsigned columns = width_columns(level->marker.text.p, level->marker.text.n);
                for (unsigned n = 0; n < columns; n++) {
                    styled_add(out, " ", 1, STYLE_PLAIN);
                }
            }
        }
    }
    for (unsigned i = 0; first && i < depth; i++) {
        r->levels[i].marker_shown = true;
    }
}

static bool is_tight(const struct render *r)
{
    for (unsigned i = r->depth < DEEPEST ? r->depth : DEEPEST; i > 0; i--) {
        enum container kind = r->levels[i - 1].kind;
        if (kind == CONTAINER_BULLETS || kind == CONTAINER_NUMBERS) {
            return r->levels[i - 1].tight;
        }
    }
    return false;
}

/* Before the first row of a block: the empty row that parts it from the one above. */
static void begin_block(struct render *r)
{
    if (r->blank_wanted) {
        struct styled empty = {0};
        unsigned depth = r->blank_depth < DEEPEST ? r->blank_depth : DEEPEST;
        unsigned quotes = 0;
        for (unsigned i = 0; i < depth; i++) {
            quotes = r->levels[i].kind == CONTAINER_QUOTE ? i + 1 : quotes;
        }
        for (unsigned i = 0; i < quotes; i++) {
            if (r->levels[i].kind == CONTAINER_QUOTE) {
                styled_add(&empty, "\xE2\x94\x82 ", 4, STYLE_DIM);
            } else if (r->levels[i].kind == CONTAINER_ITEM) {
                styled_add(&empty, "  ", 2, STYLE_PLAIN);
            }
        }
        styled_emit(&r->rows->bytes, &empty, 0, empty.text.n, r->style_level);
        rows_end(r->rows, width_columns(empty.text.p, empty.text.n));
        styled_free(&empty);
    }
    r->blank_wanted = false;
}

static void lay_out(struct render *r, const struct styled *text, int hard)
{
    begin_block(r);
    struct styled first = {0}, next = {0};
    prefix(r, true, &first);
    prefix(r, false, &next);
    struct wrap wrap = {r->width, r->style_level, &first, &next, hard};
    styled_wrap(text, &wrap, r->rows);
    styled_free(&first);
    styled_free(&next);
}

/* Ends the text gathered so far, if there is any. */
static void flush(struct render *r)
{
    if (r->text.text.n > 0) {
        lay_out(r, &r->text, 0);
        styled_clear(&r->text);
    }
}

static void push(struct render *r, enum container kind, struct level level)
{
    level.kind = kind;
    if (r->depth < DEEPEST) {
        r->levels[r->depth] = level;
    }
    r->depth++;
}

static void pop(struct render *r)
{
    r->depth--;
    if (r->depth < DEEPEST) {
        styled_free(&r->levels[r->depth].marker);
    }
}

static void enter_item(struct render *r, const MD_BLOCK_LI_DETAIL *detail)
{
    struct level *list = &r->levels[r->depth - 1 < DEEPEST ? r->depth - 1 : DEEPEST - 1];
    struct level item = {0};
    struct buf marker = {0};
    if (list->kind == CONTAINER_NUMBERS) {
        buf_printf(&marker, "%u%c ", list->number++, list->delimiter);
    } else {
        static const char *const bullets[] = {"\xE2\x80\xA2 ", "\xE2\x97\xA6 ", "\xE2\x96\xAA "};
        unsigned nested = 0;
        for (unsigned i = 0; i + 1 < r->depth && i < DEEPEST; i++) {
            nested += r->levels[i].kind == CONTAINER_BULLETS;
        }
        buf_puts(&marker, bullets[nested < 3 ? nested : 2]);
    }
    if (detail->is_task) {
        buf_puts(&marker, detail->task_mark == ' ' ? "[ ] " : "[x] ");
    }
    styled_add(&item.marker, marker.p, marker.n, STYLE_PLAIN);
    buf_free(&marker);
    push(r, CONTAINER_ITEM, item);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    struct render *r = data;
    if (type != MD_BLOCK_DOC) {
        flush(r);
    }
    switch (type) {
    case MD_BLOCK_QUOTE: push(r, CONTAINER_QUOTE, (struct level){0}); break;
    case MD_BLOCK_UL: {
        const MD_BLOCK_UL_DETAIL *list = detail;
        push(r, CONTAINER_BULLETS, (struct level){.tight = list->is_tight != 0});
        break;
    }
    case MD_BLOCK_OL: {
        const MD_BLOCK_OL_DETAIL *list = detail;
        push(r, CONTAINER_NUMBERS,
             (struct level){.tight = list->is_tight != 0,
                            .number = list->start,
                            .delimiter = list->mark_delimiter});
        break;
    }
    case MD_BLOCK_LI: enter_item(r, detail); break;
    case MD_BLOCK_H: {
        const MD_BLOCK_H_DETAIL *heading = detail;
        r->style = STYLE_TITLE | (heading->level == 1 ? STYLE_UNDERLINE : 0);
        break;
    }
    case MD_BLOCK_CODE: r->code_block = true; break;
    case MD_BLOCK_TABLE: {
        const MD_BLOCK_TABLE_DETAIL *table = detail;
        table_begin(&r->table, table->col_count);
        r->in_table = true;
        break;
    }
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: r->style = type == MD_BLOCK_TH ? STYLE_BOLD : STYLE_PLAIN; break;
    default: break;
    }
    return 0;
}

static void leave_code(struct render *r)
{
    struct styled *text = &r->text;
    if (text->text.n > 0 && text->text.p[text->text.n - 1] == '\n') {
        text->text.n--;
        text->style.n--;
    }
    struct styled indent = {0};
    styled_add(&indent, "  ", 2, STYLE_PLAIN);
    struct level level = {.marker = indent, .marker_shown = true};
    begin_block(r);
    push(r, CONTAINER_ITEM, level);
    lay_out(r, text, 1);
    pop(r);
    if (r->depth >= DEEPEST) {
        styled_free(&indent);
    }
    styled_clear(text);
    r->code_block = false;
}

static void leave_table(struct render *r)
{
    begin_block(r);
    struct styled first = {0}, next = {0};
    prefix(r, true, &first);
    prefix(r, false, &next);
    struct wrap wrap = {r->width, r->style_level, &first, &next, 0};
    table_end(&r->table, &wrap, r->rows);
    styled_free(&first);
    styled_free(&next);
    r->in_table = false;
}

static void leave_rule(struct render *r)
{
    unsigned columns = r->width < RULE_COLUMNS ? r->width : RULE_COLUMNS;
    struct styled rule = {0};
    for (unsigned i = 0; i < columns; i++) {
        styled_add(&rule, "\xE2\x94\x80", 3, STYLE_DIM);
    }
    lay_out(r, &rule, 0);
    styled_free(&rule);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    struct render *r = data;
    (void)detail;
    switch (type) {
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        table_cell(&r->table, &r->text, (int)((const MD_BLOCK_TD_DETAIL *)detail)->align);
        styled_clear(&r->text);
        r->style = STYLE_PLAIN;
        return 0;
    case MD_BLOCK_TR:
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
    case MD_BLOCK_DOC: return 0;
    case MD_BLOCK_CODE: leave_code(r); break;
    case MD_BLOCK_TABLE: leave_table(r); break;
    case MD_BLOCK_HR: leave_rule(r); break;
    case MD_BLOCK_LI:
        if (r->text.text.n == 0 && r->depth <= DEEPEST && !r->levels[r->depth - 1].marker_shown) {
            lay_out(r, &r->text, 0); /* an empty item is still an item */
        }
        flush(r);
        pop(r);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
    case MD_BLOCK_QUOTE:
        flush(r);
        pop(r);
        break;
    default: flush(r); break;
    }
    r->style = STYLE_PLAIN;
    r->blank_wanted = !is_tight(r);
    r->blank_depth = r->depth;
    return 0;
}

static unsigned span_style(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM: return STYLE_ITALIC;
    case MD_SPAN_STRONG: return STYLE_BOLD;
    case MD_SPAN_DEL: return STYLE_STRIKE;
    case MD_SPAN_CODE: return STYLE_CODE;
    case MD_SPAN_A: return STYLE_UNDERLINE;
    default: return STYLE_PLAIN;
    }
}

static void take_target(struct render *r, const MD_ATTRIBUTE *target)
{
    buf_clear(&r->link);
    clean_append(&r->link, target->text, target->size);
    r->link_start = r->text.text.n;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *data)
{
    struct render *r = data;
    r->style |= span_style(type);
    if (type == MD_SPAN_A) {
        take_target(r, &((const MD_SPAN_A_DETAIL *)detail)->href);
    } else if (type == MD_SPAN_IMG) {
        take_target(r, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
        styled_add(&r->text, "[image: ", 8, r->style);
    }
    return 0;
}

/* The target is shown behind the text unless the text says it already: what a link hides is what
 * deceives. */
static void show_target(struct render *r)
{
    const char *text = r->text.text.p + r->link_start;
    size_t length = r->text.text.n - r->link_start;
    size_t n = r->link.n;
    const char *target = buf_text(&r->link);
    size_t mailto = n > 7 && memcmp(target, "mailto:", 7) == 0 ? 7 : 0;
    bool same = length == n - mailto && memcmp(text, target + mailto, length) == 0;
    if (!same && n > 0) {
        styled_add(&r->text, " (", 2, STYLE_DIM);
        styled_add(&r->text, target, n, STYLE_DIM);
        styled_add(&r->text, ")", 1, STYLE_DIM);
    }
    buf_clear(&r->link);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *data)
{
    struct render *r = data;
    (void)detail;
    r->style &= ~span_style(type);
    if (type == MD_SPAN_IMG) {
        styled_add(&r->text, "]", 1, r->style);
        r->link_start = r->text.text.n;
        show_target(r);
    } else if (type == MD_SPAN_A) {
        show_target(r);
    }
    return 0;
}

static void add_clean(struct render *r, const char *text, size_t length, unsigned style)
{
    struct buf clean = {0};
    for (size_t at = 0; at < length;) {
        uint32_t character;
        size_t bytes = width_decode(text + at, length - at, &character);
        if (character == '\t') {
            buf_puts(&clean, "    ");
        } else if (character == '\n' && !r->code_block) {
            buf_char(&clean, ' ');
        } else {
            clean_append(&clean, text + at, bytes);
        }
        at += bytes;
    }
    styled_add(&r->text, clean.p, clean.n, style);
    buf_free(&clean);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *data)
{
    struct render *r = data;
    switch (type) {
    case MD_TEXT_NULLCHAR: styled_add(&r->text, "\xEF\xBF\xBD", 3, r->style); break;
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR:
        /* Both break: in a conversation a line break is meant, and cells have only one line. */
        styled_add(&r->text, r->in_table ? " " : "\n", 1, r->style);
        break;
    case MD_TEXT_ENTITY: {
        char decoded[8];
        size_t length = entity_decode(text, size, decoded);
        if (length == 0) {
            add_clean(r, text, size, r->style);
        } else {
            add_clean(r, decoded, length, r->style);
        }
        break;
    }
    case MD_TEXT_CODE: add_clean(r, text, size, r->code_block ? STYLE_CODE : r->style); break;
    default: add_clean(r, text, size, r->style); break;
    }
    return 0;
}

void render_markdown(const char *text, size_t length, unsigned width, enum style_level level,
                     struct rows *rows)
{
    static const MD_PARSER parser = {
        .flags = FLAGS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = add_text,
    };
    struct render r = {.rows = rows, .width = width, .style_level = level};
    md_parse(text, (MD_SIZE)length, &parser, &r);
    styled_free(&r.text);
    buf_free(&r.link);
    table_free(&r.table);
}

void render_code_line(const char *text, size_t length, unsigned width, enum style_level level,
                      struct rows *rows)
{
    struct render r = {.rows = rows, .width = width, .style_level = level, .code_block = true};
    struct styled indent = {0};
    styled_add(&indent, "  ", 2, STYLE_PLAIN);
    add_clean(&r, text, length, STYLE_CODE);
    struct wrap wrap = {width, level, &indent, &indent, 1};
    styled_wrap(&r.text, &wrap, rows);
    styled_free(&indent);
    styled_free(&r.text);
}
