/*
 * HTML to Markdown (see html.h): a walk over libxml2's tree. White space is collapsed as a browser
 * does it; blocks are kept apart by one blank line. The tree's depth is bounded, since this walks
 * by recursion.
 */
#include "html.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "xml.h"

enum { DEPTH_MOST = 200, LISTS_MOST = 12 };

struct page {
    const struct xml *xml;
    FILE *out;
    const char *base;
    bool markdown;
    bool space;             /* white space waits to be written */
    unsigned breaks;        /* line ends wait: 1 or 2 */
    bool begun;             /* something was written */
    bool line_begun;        /* ... on this line */
    unsigned pre;           /* inside <pre> */
    unsigned quotes;        /* inside <blockquote> */
    bool quoted;            /* the line before is in one */
    unsigned lists;         /* depth */
    int number[LISTS_MOST]; /* of the next item; 0: bullets */
};

static void put_prefix(struct page *p)
{
    for (unsigned i = 0; i < p->quotes; i++)
        fputs("> ", p->out);
}

static void settle(struct page *p)
{
    if (p->breaks && p->begun) {
        for (unsigned i = 0; i < p->breaks; i++) {
            fputc('\n', p->out);
            if (i + 1 < p->breaks && p->quotes && p->quoted)
                fputc('>', p->out);
        }
        p->line_begun = false;
    }
    p->breaks = 0;
    if (!p->line_begun) {
        put_prefix(p);
        p->space = false;
    }
    if (p->space)
        fputc(' ', p->out);
    p->space = false;
    p->begun = p->line_begun = true;
    p->quoted = p->quotes > 0;
}

static void put(struct page *p, const char *text)
{
    settle(p);
    fputs(text, p->out);
}

static void mark(struct page *p, const char *text)
{
    if (p->markdown)
        put(p, text);
}

static void block(struct page *p, unsigned breaks)
{
    if (p->breaks < breaks)
        p->breaks = breaks;
    p->space = false;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void put_text(struct page *p, const char *text)
{
    for (; *text; text++) {
        if (p->pre && *text == '\n') {
            settle(p);
            fputc('\n', p->out);
            p->line_begun = false;
        } else if (!p->pre && is_space(*text)) {
            p->space = p->line_begun && !p->breaks;
        } else {
            settle(p);
            fputc(*text, p->out);
        }
    }
}

/* ---- links ---- */

char *html_link(const char *base, const char *href)
{
    if (!href || !*href || *href == '#' || strncasecmp(href, "javascript:", 11) == 0 ||
        strncasecmp(href, "data:", 5) == 0)
        return NULL;
    const struct xml *xml = xml_open();
    if (!xml)
        return NULL;
    xmlChar *uri = xml->build_uri((const xmlChar *)href, (const xmlChar *)base);
    char *result = NULL;
    if (uri && (strncasecmp((char *)uri, "http://", 7) == 0 ||
                strncasecmp((char *)uri, "https://", 8) == 0 ||
                strncasecmp((char *)uri, "mailto:", 7) == 0))
        result = strdup((char *)uri);
    xml->release(uri);
    return result;
}

/* ---- elements ---- */

static void children(struct page *p, xmlNode *n, unsigned depth);

static char *attribute(const struct page *p, xmlNode *n, const char *name)
{
    xmlChar *value = p->xml->get_prop(n, (const xmlChar *)name);
    char *copy = value ? strdup((char *)value) : NULL;
    p->xml->release(value);
    return copy;
}

static void link_element(struct page *p, xmlNode *n, unsigned depth)
{
    char *href = attribute(p, n, "href"), *url = p->markdown ? html_link(p->base, href) : NULL;
    if (url)
        put(p, "[");
    children(p, n, depth);
    if (url) {
        p->space = false;
        fprintf(p->out, "](%s)", url);
    }
    free(href);
    free(url);
}

static void image(struct page *p, xmlNode *n)
{
    char *alt = attribute(p, n, "alt");
    if (alt && *alt) {
        put(p, "[image: ");
        put_text(p, alt);
        fputc(']', p->out);
    }
    free(alt);
}

static void list(struct page *p, xmlNode *n, unsigned depth, int number)
{
    if (p->lists >= LISTS_MOST) {
        children(p, n, depth);
        return;
    }
    block(p, p->lists ? 1 : 2);
    p->number[p->lists++] = number;
    children(p, n, depth);
    p->lists--;
    block(p, p->lists ? 1 : 2);
}

static void item(struct page *p, xmlNode *n, unsigned depth)
{
    block(p, 1);
    settle(p);
    for (unsigned i = 1; i < p->lists; i++)
        fputs("  ", p->out);
    if (p->lists && p->number[p->lists - 1])
        fprintf(p->out, "%d. ", p->number[p->lists - 1]++);
    else
        fputs("- ", p->out);
    children(p, n, depth);
    block(p, 1);
}

static void heading(struct page *p, xmlNode *n, unsigned depth, int level)
{
    block(p, 2);
    for (int i = 0; i < level && p->markdown; i++)
        mark(p, "#");
    p->space = p->markdown;
    children(p, n, depth);
    block(p, 2);
}

static void wrapped(struct page *p, xmlNode *n, unsigned depth, const char *with)
{
    mark(p, with);
    children(p, n, depth);
    if (p->markdown) {
        bool space = p->space;
        p->space = false;
        if (!p->breaks)
            fputs(with, p->out);
        p->space = space;
    }
}

static void preformatted(struct page *p, xmlNode *n, unsigned depth)
{
    block(p, 2);
    mark(p, "```");
    if (p->markdown)
        block(p, 1);
    p->pre++;
    children(p, n, depth);
    p->pre--;
    if (p->markdown) {
        block(p, p->line_begun ? 1 : 0);
        put(p, "```");
    }
    block(p, 2);
}

static void row(struct page *p, xmlNode *n, unsigned depth)
{
    unsigned cells = 0;
    bool heads = false;
    block(p, 1);
    for (xmlNode *c = n->children; c; c = c->next) {
        if (c->type != XML_ELEMENT_NODE)
            continue;
        heads = heads || strcasecmp((const char *)c->name, "th") == 0;
        put(p, cells++ ? " | " : "| ");
        p->space = false;
        children(p, c, depth);
        p->breaks = 0;
        p->space = false;
    }
    if (cells)
        put(p, " |");
    if (heads && p->markdown) {
        block(p, 1);
        for (unsigned i = 0; i < cells; i++)
            put(p, i ? " --- |" : "| --- |");
    }
    block(p, 1);
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcasecmp(name, *list) == 0)
            return true;
    return false;
}

static bool inline_element(struct page *p, xmlNode *n, const char *name, unsigned depth)
{
    static const char *const strong[] = {"b", "strong", NULL}, *const em[] = {"i", "em", NULL},
                             *const code[] = {"code", "kbd", "samp", NULL};
    if (strcasecmp(name, "a") == 0)
        link_element(p, n, depth);
    else if (strcasecmp(name, "br") == 0)
        block(p, 1);
    else if (strcasecmp(name, "img") == 0)
        image(p, n);
    else if (is_one_of(name, strong))
        wrapped(p, n, depth, "**");
    else if (is_one_of(name, em))
        wrapped(p, n, depth, "*");
    else if (is_one_of(name, code))
        wrapped(p, n, depth, p->pre ? "" : "`");
    else
        return false;
    return true;
}

static void element(struct page *p, xmlNode *n, unsigned depth)
{
    static const char *const hidden[] = {"script", "style",  "noscript", "template", "svg", "head",
                                         "iframe", "object", "canvas",   "select",   NULL};
    static const char *const blocks[] = {
        "p",   "div",      "section", "article", "main",    "header", "footer",
        "nav", "aside",    "figure",  "form",    "table",   "dl",     "dt",
        "dd",  "fieldset", "address", "details", "summary", "body",   NULL};
    const char *name = (const char *)n->name;
    if (is_one_of(name, hidden) || inline_element(p, n, name, depth))
        return;
    if ((name[0] == 'h' || name[0] == 'H') && name[1] >= '1' && name[1] <= '6' && !name[2]) {
        heading(p, n, depth, name[1] - '0');
    } else if (strcasecmp(name, "ul") == 0) {
        list(p, n, depth, 0);
    } else if (strcasecmp(name, "ol") == 0) {
        list(p, n, depth, 1);
    } else if (strcasecmp(name, "li") == 0) {
        item(p, n, depth);
    } else if (strcasecmp(name, "pre") == 0) {
        preformatted(p, n, depth);
    } else if (strcasecmp(name, "blockquote") == 0) {
        block(p, 2);
        p->quotes += p->markdown;
        children(p, n, depth);
        p->quotes -= p->markdown;
        block(p, 2);
    } else if (strcasecmp(name, "tr") == 0) {
        row(p, n, depth);
    } else if (strcasecmp(name, "hr") == 0) {
        block(p, 2);
        mark(p, "---");
        block(p, 2);
    } else {
        bool apart = is_one_of(name, blocks);
        if (apart)
            block(p, 2);
        children(p, n, depth);
        if (apart)
            block(p, 2);
    }
}

static void children(struct page *p, xmlNode *n, unsigned depth)
{
    if (depth >= DEPTH_MOST)
        return;
    for (xmlNode *c = n->children; c; c = c->next) {
        if (c->type == XML_TEXT_NODE || c->type == XML_CDATA_SECTION_NODE)
            put_text(p, (const char *)c->content);
        else if (c->type == XML_ELEMENT_NODE)
            element(p, c, depth + 1);
    }
}

/* ---- the page ---- */

static xmlNode *find(xmlNode *n, const char *name, unsigned depth)
{
    for (; n; n = n->next) {
        if (n->type == XML_ELEMENT_NODE && strcasecmp((const char *)n->name, name) == 0)
            return n;
        xmlNode *inside = depth < 8 ? find(n->children, name, depth + 1) : NULL;
        if (inside)
            return inside;
    }
    return NULL;
}

static void put_title(struct page *p, xmlNode *root)
{
    xmlNode *head = find(root, "head", 0), *title = head ? find(head->children, "title", 0) : NULL;
    if (!title)
        return;
    mark(p, "#");
    p->space = p->markdown;
    children(p, title, 0);
    block(p, 2);
}

char *html_render(const char *html, size_t n, const char *charset, const char *base, bool markdown,
                  size_t most, bool *ret_cut)
{
    char *text = NULL;
    size_t length = 0;
    struct page p = {.xml = xml_open(), .base = base, .markdown = markdown};
    p.out = open_memstream(&text, &length);
    if (!p.out)
        abort();
    if (!p.xml)
        fputs("[libxml2 is not installed: the page can't be read]", p.out);
    htmlDocPtr doc =
        p.xml && n <= INT32_MAX
            ? p.xml->read_memory(html, (int)n, base, charset,
                                 HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                     HTML_PARSE_NONET | HTML_PARSE_COMPACT)
            : NULL;
    xmlNode *root = doc ? p.xml->root(doc) : NULL;
    if (root) {
        put_title(&p, root);
        element(&p, root, 0);
    }
    fputc('\n', p.out);
    fclose(p.out);
    if (doc)
        p.xml->free_doc(doc);
    *ret_cut = length > most;
    if (length > most) {
        while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
            most--;
        text[most] = '\0';
    }
    return text;
}
