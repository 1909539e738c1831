/*
 * A web page as Markdown or plain text: what a reader sees of it, without scripts and styles. Any
 * bytes may come in; libxml2 makes a tree of them. Does no I/O; run on a pool thread by tool_web.c.
 */
#ifndef TOOL_WEB_HTML_H
#define TOOL_WEB_HTML_H

#include <stdbool.h>
#include <stddef.h>

/* charset: of the answer's header, or NULL. base: the page's URL, for its links. Returned text is
 * the caller's; at most `most` bytes, cut between characters, *ret_cut then true. */
char *html_render(const char *html, size_t n, const char *charset, const char *base, bool markdown,
                  size_t most, bool *ret_cut);
/* An absolute URL for a link of the page; NULL: it is none that can be fetched. */
char *html_link(const char *base, const char *href);

#endif
