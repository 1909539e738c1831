/*
 * Tool calls that a model has written as text, since its server has no form for them: JSON, or the
 * tags that model families were trained on. Only what tools a tool that is offered is a call; all
 * else stays text, and so does what stands in a code fence of a longer answer. Called by stream.c,
 * for services that say they need it.
 *
 * Forms: {"name": T, "arguments": {}} alone, in an array or in a code fence (also "parameters",
 * "input", "args", {"function": {...}}, {"tool_calls": [...]}); <tool_call>JSON</tool_call>;
 * <function=T><parameter=K>V</parameter></function>; <invoke name="T"><parameter
 * name="K">V</parameter></invoke>; [TOOL_CALLS][JSON] and [TOOL_CALLS]T{...}; <T><K>V</K></T>.
 */
#ifndef CHELA_SUPPORT_TEXTCALL_H
#define CHELA_SUPPORT_TEXTCALL_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json_object.h>

#include "support/toolset.h"

#pragma GCC visibility push(hidden)

struct chela_textcall {
    char *text;               /* what has not gone out: it may be calls */
    size_t length, size, out; /* out: bytes at its begin that went out by the last feed */
    unsigned ticks;           /* backquotes in a row at the end of what went out */
    bool open;                /* all that comes is held back */
    bool fenced;              /* inside a code fence of an answer */
    bool started;             /* something other than white space went out */
};

/* Takes a piece; *ret_text (until the next call) and *ret_length are what may go out as text. */
void chela_textcall_feed(struct chela_textcall *t, const struct chela_toolset *tools,
                         const char *piece, size_t length, const char **ret_text,
                         size_t *ret_length);
/*
 * At the end of the answer: an array of {"name": the original, "arguments": {}} in the order of the
 * text, or NULL. *ret_text and *ret_length: what is text after all. whole: the answer was not cut
 * off, so a last call whose end tag is missing counts.
 */
json_object *chela_textcall_end(struct chela_textcall *t, const struct chela_toolset *tools,
                                bool whole, const char **ret_text, size_t *ret_length);
void chela_textcall_free(struct chela_textcall *t);

#pragma GCC visibility pop
#endif
