/*
 * Stored things in the shape of the protocol: messages of a transcript, rows of the session list.
 */
#ifndef GATEWAY_VIEW_H
#define GATEWAY_VIEW_H

#include <stdint.h>

#include "agent/journal/journal.h"

struct json_object;

/* Appends the message of a history row (journal_history's columns) to `list`: one entry, or one for
 * each result of a "tool" message. Texts are cut at max_chars (0: not). */
void view_message(const struct journal_row *row, const char *session, size_t max_chars,
                  struct json_object *list);
/* A `session.message` of the agent (events.h) as entries of chat.history: array, the caller's. */
struct json_object *view_live_message(struct json_object *payload);
/* A session's row (journal_session_get's columns). */
struct json_object *view_session(const struct journal_row *row);
/* Columns of a row by position, calm about types. */
const char *view_text(const struct journal_row *row, unsigned column);
int64_t view_int(const struct journal_row *row, unsigned column);

#endif
