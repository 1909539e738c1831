/*
 * Messages and tools in the form of OpenAI's chat completions, which several services take with
 * variations of their own. Called by the request writers of provider plugins.
 *
 * Format: https://platform.openai.com/docs/api-reference/chat/create
 */
#ifndef CHELA_SUPPORT_CHAT_H
#define CHELA_SUPPORT_CHAT_H

#include "support/request.h"
#include "support/toolset.h"

#pragma GCC visibility push(hidden)

/* A part of type "text". */
void chela_chat_text(FILE *out, json_object *part);
/* One that stands for an image or a file that can't be sent. */
void chela_chat_absent(FILE *out, json_object *part);

/* A part of a user's message. */
typedef void chela_part_writer(FILE *out, const struct chela_message *m, json_object *part);
/* A user's message: one text alone as a string, else `content` writes the value; NULL: an array of
 * all parts, each by `part`. */
void chela_chat_user(FILE *out, const struct chela_message *m, chela_message_writer *content,
                     chela_part_writer *part);

/* "tool_calls" behind a comma; nothing if there are none. objects: arguments stand as the object
 * that they are, else as a string that holds it. */
void chela_chat_calls(FILE *out, const struct chela_message *m, bool objects);

/* "tools" behind a comma, in their plain form; nothing if none is offered. */
void chela_chat_tools(FILE *out, struct chela_toolset *tools);

#pragma GCC visibility pop
#endif
