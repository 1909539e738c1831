/*
 * The walk over Markdown, and a table of dialects. What a dialect can't show is shown as text;
 * nothing of the source is lost but its marks.
 */
#include "agent/chats/markup.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/entity.h"
#include "base/mem.h"
#include "base/utf8.h"

enum escape { ESCAPE_NONE, ESCAPE_HTML, ESCAPE_ANSI };

struct pair {
    const char *open, *close;
};

struct dialect {
    const char *name;
    enum escape escape;
    bool tags; /* blocks are elements of HTML */
    struct pair strong, em, del, code, pre, heading, quote;
    const char *bullet, *rule;
    enum { LINK_TEXT, LINK_HTML, LINK_SLACK, LINK_PLAIN } link;
};

static const struct dialect dialects[] = {
    {"html",
     ESCAPE_HTML,
     true,
     {"<strong>", "</strong>"},
     {"<em>", "</em>"},
     {"<del>", "</del>"},
     {"<code>", "</code>"},
     {"<pre><code>", "</code></pre>"},
     {"", ""},
     {"<blockquote>", "</blockquote>"},
     "",
     "<hr>",
     LINK_HTML},
    {"telegram-html",
     ESCAPE_HTML,
     false,
     {"<b>", "</b>"},
     {"<i>", "</i>"},
     {"<s>", "</s>"},
     {"<code>", "</code>"},
     {"<pre>", "</pre>"},
     {"<b>", "</b>"},
     {"<blockquote>", "</blockquote>"},
     "\xe2\x80\xa2 ",
     "\xe2\x80\x94\xe2\x80\x94\xe2\x80\x94",
     LINK_HTML},
    {"mrkdwn",
     ESCAPE_HTML,
     false,
     {"*", "*"},
     {"_", "_"},
     {"~", "~"},
     {"`", "`"},
     {"```\n", "```"},
     {"*", "*"},
     {NULL, NULL},
     "\xe2\x80\xa2 ",
     "---",
     LINK_SLACK},
    {"whatsapp",
     ESCAPE_NONE,
     false,
     {"*", "*"},
     {"_", "_"},
     {"~", "~"},
     {"`", "`"},
     {"```", "```"},
     {"*", "*"},
     {NULL, NULL},
     "- ",
     "---",
     LINK_PLAIN},
    {"ansi",
     ESCAPE_ANSI,
     false,
     {"\033[1m", "\033[22m"},
     {"\033[3m", "\033[23m"},
     {"\033[9m", "\033[29m"},
     {"\033[36m", "\033[39m"},
     {"\033[36m", "\033[39m"},
     {"\033[1m", "\033[22m"},
     {NULL, NULL},
     "\xe2\x80\xa2 ",
     "----------",
     LINK_PLAIN},
    {"plain",
     ESCAPE_ANSI,
     false,
     {"", ""},
     {"", ""},
     {"", ""},
     {"", ""},
     {"", ""},
     {"", ""},
     {NULL, NULL},
     "- ",
     "----------",
     LINK_PLAIN},
};

enum { DEPTH = 32 };

struct list {
    bool ordered;
    unsigned next;
};

struct walk {
    const struct dialect *d;
    struct buf out;
    struct buf indent; /* what begins each line: quotes and lists */
    size_t indents[DEPTH];
    unsigned depth;
    struct list lists[DEPTH];
    unsigned list_depth;
    bool fresh;  /* at the begin of a line */
    bool parted; /* a blank line must come before the next block */
    bool in_code, head, tight;
    char *link;
    unsigned link_depth, cell;
};

static void escape(struct walk *w, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (w->d->escape == ESCAPE_HTML && (c == '&' || c == '<' || c == '>' || c == '"'))
            buf_puts(&w->out, c == '&'   ? "&amp;"
                              : c == '<' ? "&lt;"
                              : c == '>' ? "&gt;"
                                         : "&quot;");
        else if (w->d->escape == ESCAPE_ANSI && (unsigned char)c < 0x20 && c != '\n' && c != '\t')
            continue; /* no control sequence of the model's reaches a terminal */
        else
            buf_char(&w->out, c);
    }
}

static void line_begin(struct walk *w)
{
    if (!w->fresh)
        return;
    buf_add(&w->out, w->indent.p ? w->indent.p : "", w->indent.n);
    w->fresh = false;
}

static void newline(struct walk *w)
{
    buf_char(&w->out, '\n');
    w->fresh = true;
}

static void text(struct walk *w, const char *p, size_t n)
{
    while (n) {
        const char *end = memchr(p, '\n', n);
        size_t part = end ? (size_t)(end - p) : n;
        line_begin(w);
        escape(w, p, part);
        if (!end)
            return;
        newline(w);
        p += part + 1;
        n -= part + 1;
    }
}

static void mark(struct walk *w, const char *s)
{
    if (!*s)
        return;
    line_begin(w);
    buf_puts(&w->out, s);
}

static void block_begin(struct walk *w)
{
    if (!w->fresh)
        newline(w);
    if (w->parted && w->out.n) {
        /* a blank line carries the quotes' marks, but no list's blanks */
        size_t n = w->indent.n;
        while (n && w->indent.p[n - 1] == ' ')
            n--;
        buf_add(&w->out, w->indent.p ? w->indent.p : "", n);
        buf_char(&w->out, '\n');
    }
    w->parted = false;
    w->fresh = true;
}

static void block_end(struct walk *w)
{
    if (!w->fresh)
        newline(w);
    w->parted = true;
}

static void push(struct walk *w, const char *more)
{
    if (w->depth < DEPTH)
        w->indents[w->depth] = w->indent.n;
    w->depth++;
    buf_puts(&w->indent, more);
}

static void pop(struct walk *w)
{
    if (--w->depth < DEPTH) {
        w->indent.n = w->indents[w->depth];
        if (w->indent.p)
            w->indent.p[w->indent.n] = '\0';
    }
}

static void item_begin(struct walk *w)
{
    char number[24];
    struct list *l = &w->lists[w->list_depth ? (w->list_depth - 1) % DEPTH : 0];
    const char *bullet = w->d->bullet;
    if (l->ordered) {
        struct buf b = {0};
        buf_printf(&b, "%u. ", l->next++);
        strncpy(number, buf_text(&b), sizeof number - 1);
        number[sizeof number - 1] = '\0';
        buf_free(&b);
        bullet = number;
    }
    block_begin(w);
    mark(w, bullet);
    size_t width = utf8_count(bullet, strlen(bullet));
    char blanks[24];
    memset(blanks, ' ', sizeof blanks);
    blanks[width < sizeof blanks ? width : sizeof blanks - 1] = '\0';
    push(w, blanks);
    w->parted = false;
}

static void tag(struct walk *w, const char *name, bool open)
{
    buf_printf(&w->out, open ? "<%s>" : "</%s>", name);
    if (!open)
        buf_char(&w->out, '\n');
    w->fresh = false;
}

static const char *tag_of(MD_BLOCKTYPE type)
{
    switch (type) {
    case MD_BLOCK_UL: return "ul";
    case MD_BLOCK_OL: return "ol";
    case MD_BLOCK_LI: return "li";
    case MD_BLOCK_P: return "p";
    case MD_BLOCK_TABLE: return "table";
    case MD_BLOCK_THEAD: return "thead";
    case MD_BLOCK_TBODY: return "tbody";
    case MD_BLOCK_TR: return "tr";
    case MD_BLOCK_TH: return "th";
    case MD_BLOCK_TD: return "td";
    case MD_BLOCK_QUOTE: return "blockquote";
    default: return NULL;
    }
}

static void html_block(struct walk *w, MD_BLOCKTYPE type, void *detail, bool open)
{
    static const char *const headings[] = {"h1", "h2", "h3", "h4", "h5", "h6"};
    const char *name = tag_of(type);
    if (name) {
        tag(w, name, open);
    } else if (type == MD_BLOCK_H) {
        unsigned level = ((MD_BLOCK_H_DETAIL *)detail)->level;
        tag(w, headings[level ? (level - 1) % 6 : 0], open);
    } else if (type == MD_BLOCK_CODE) {
        buf_puts(&w->out, open ? w->d->pre.open : w->d->pre.close);
        if (!open)
            buf_char(&w->out, '\n');
    } else if (type == MD_BLOCK_HR && open) {
        buf_puts(&w->out, "<hr>\n");
    }
    w->in_code = type == MD_BLOCK_CODE && open;
    w->fresh = false;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct walk *w = arg;
    if (w->d->tags) {
        html_block(w, type, detail, true);
        return 0;
    }
    switch (type) {
    case MD_BLOCK_QUOTE:
        block_begin(w);
        if (w->d->quote.open)
            mark(w, w->d->quote.open);
        else
            push(w, "> ");
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        if (w->list_depth)
            w->parted = false;
        else
            block_begin(w);
        w->lists[w->list_depth++ % DEPTH] = (struct list){
            type == MD_BLOCK_OL, type == MD_BLOCK_OL ? ((MD_BLOCK_OL_DETAIL *)detail)->start : 0};
        break;
    case MD_BLOCK_LI:
        w->parted = false;
        item_begin(w);
        break;
    case MD_BLOCK_HR:
        block_begin(w);
        mark(w, w->d->rule);
        block_end(w);
        break;
    case MD_BLOCK_H:
        block_begin(w);
        mark(w, w->d->heading.open);
        break;
    case MD_BLOCK_CODE:
        block_begin(w);
        mark(w, w->d->pre.open);
        w->in_code = true;
        if (w->out.n && w->out.p[w->out.n - 1] == '\n')
            w->fresh = true;
        break;
    case MD_BLOCK_P:
        if (w->fresh || w->parted)
            block_begin(w);
        break;
    case MD_BLOCK_TABLE: block_begin(w); break;
    case MD_BLOCK_TR:
        if (!w->fresh)
            newline(w);
        w->cell = 0;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        if (w->cell++)
            mark(w, " | ");
        break;
    default: break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct walk *w = arg;
    if (w->d->tags) {
        html_block(w, type, detail, false);
        return 0;
    }
    switch (type) {
    case MD_BLOCK_QUOTE:
        if (w->d->quote.open) {
            while (w->out.n && w->out.p[w->out.n - 1] == '\n')
                w->out.n--;
            buf_puts(&w->out, w->d->quote.close);
            w->fresh = false;
        } else {
            pop(w);
        }
        block_end(w);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        w->list_depth--;
        w->parted = w->list_depth == 0;
        break;
    case MD_BLOCK_LI:
        pop(w);
        if (!w->fresh)
            newline(w);
        w->parted = false;
        break;
    case MD_BLOCK_H:
        mark(w, w->d->heading.close);
        block_end(w);
        break;
    case MD_BLOCK_CODE:
        w->in_code = false;
        mark(w, w->d->pre.close);
        block_end(w);
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_TABLE:
    case MD_BLOCK_HTML: block_end(w); break;
    default: break;
    }
    return 0;
}

static const struct pair *pair_of(const struct dialect *d, MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM: return &d->em;
    case MD_SPAN_STRONG: return &d->strong;
    case MD_SPAN_DEL: return &d->del;
    case MD_SPAN_CODE: return &d->code;
    default: return NULL;
    }
}

/* javascript: and the like are shown, never linked. */
static bool link_ok(const char *href)
{
    return strncmp(href, "http://", 7) == 0 || strncmp(href, "https://", 8) == 0 ||
           strncmp(href, "mailto:", 7) == 0;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct walk *w = arg;
    const struct pair *p = pair_of(w->d, type);
    if (p)
        mark(w, p->open);
    if (type != MD_SPAN_A || w->link_depth++)
        return 0;
    const MD_ATTRIBUTE *href = &((MD_SPAN_A_DETAIL *)detail)->href;
    w->link = xmemdup(href->text ? href->text : "", href->size);
    if (!link_ok(w->link))
        return 0;
    if (w->d->link == LINK_HTML) {
        mark(w, "<a href=\"");
        escape(w, w->link, strlen(w->link));
        buf_puts(&w->out, "\">");
    } else if (w->d->link == LINK_SLACK) {
        mark(w, "<");
        for (const char *c = w->link; *c; c++)
            if (!strchr("<>|\n", *c))
                buf_char(&w->out, *c);
        buf_char(&w->out, '|');
    }
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct walk *w = arg;
    const struct pair *p = pair_of(w->d, type);
    (void)detail;
    if (p)
        mark(w, p->close);
    if (type != MD_SPAN_A || --w->link_depth)
        return 0;
    if (link_ok(w->link) && w->d->link == LINK_HTML) {
        buf_puts(&w->out, "</a>");
    } else if (link_ok(w->link) && w->d->link == LINK_SLACK) {
        buf_puts(&w->out, ">");
    } else {
        size_t n = strlen(w->link);
        bool same = w->out.n >= n && memcmp(w->out.p + w->out.n - n, w->link, n) == 0;
        if (!same && n) {
            buf_puts(&w->out, " (");
            escape(w, w->link, n);
            buf_char(&w->out, ')');
        }
    }
    free(w->link);
    w->link = NULL;
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE size, void *arg)
{
    struct walk *w = arg;
    char character[4];
    size_t length;
    switch (type) {
    case MD_TEXT_NULLCHAR: text(w, "\xef\xbf\xbd", 3); break;
    case MD_TEXT_BR:
        if (w->d->tags)
            buf_puts(&w->out, "<br>\n");
        else
            newline(w);
        break;
    case MD_TEXT_SOFTBR:
        if (w->d->tags)
            buf_char(&w->out, '\n');
        else
            newline(w);
        break;
    case MD_TEXT_ENTITY:
        length = entity_decode(p, size, character);
        if (length) {
            text(w, character, length);
            return 0;
        }
        text(w, p, size);
        break;
    default:
        if (w->d->tags)
            escape(w, p, size);
        else
            text(w, p, size);
    }
    return 0;
}

static const struct dialect *find(const char *name)
{
    for (unsigned i = 0; name && i < ARRAY_LENGTH(dialects); i++) {
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    }
    return NULL;
}

bool markup_known(const char *dialect)
{
    /* Discord's is Markdown itself */
    return !dialect || !*dialect || strcmp(dialect, "discord") == 0 || find(dialect) != NULL;
}

char *markup_render(const char *source, size_t n, const char *dialect)
{
    const struct dialect *d = find(dialect);
    if (!d || n > UINT32_MAX)
        return xmemdup(source, n);
    struct walk w = {.d = d, .fresh = true};
    MD_PARSER parser = {.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_NOHTML |
                                 MD_FLAG_PERMISSIVEURLAUTOLINKS,
                        .enter_block = enter_block,
                        .leave_block = leave_block,
                        .enter_span = enter_span,
                        .leave_span = leave_span,
                        .text = on_text};
    int failed = md_parse(source, (MD_SIZE)n, &parser, &w);
    free(w.link);
    buf_free(&w.indent);
    if (failed) {
        buf_free(&w.out);
        return xmemdup(source, n);
    }
    while (w.out.n && w.out.p[w.out.n - 1] == '\n')
        w.out.p[--w.out.n] = '\0';
    buf_text(&w.out);
    return buf_take(&w.out);
}
