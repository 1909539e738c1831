/*
 * Markdown into the dialects of channels, by one walk of md4c. Called by outbox.c and the plugins'
 * chat.markup. Pure: text in, text out.
 */
#ifndef AGENT_MARKUP_H
#define AGENT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "html", "telegram-html", "mrkdwn", "discord", "whatsapp", "ansi", "plain". NULL or "" (Markdown
 * as it is) counts as known. */
bool markup_known(const char *dialect);
/* Free it. An unknown dialect gives the text as it is. */
char *markup_render(const char *text, size_t n, const char *dialect);

/*
 * The text in pieces of at most `limit` units (CHELA_UNIT_*, 0 limit: one piece), each rendered.
 * Cut between paragraphs, lines, sentences or words, never inside a character; a code fence that
 * has to be cut is closed and opened again. Returns the count; *ret is an array of strings, both to
 * be freed by pieces_free().
 */
unsigned pieces_make(const char *text, const char *dialect, uint64_t limit, uint32_t unit,
                     char ***ret);
void pieces_free(char **pieces, unsigned count);
uint64_t pieces_units(const char *text, size_t n, uint32_t unit);

void markup_register(void); /* the handler of the plugins' chat.markup */

#endif
