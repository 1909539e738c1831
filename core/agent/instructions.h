/*
 * What stands in a system prompt: the base text, the user's instruction files of the workspace, the
 * agent's and the session's instructions. The same bytes from turn to turn as long as nothing
 * changes. Called by context.c.
 */
#ifndef AGENT_INSTRUCTIONS_H
#define AGENT_INSTRUCTIONS_H

#include "base/buf.h"

struct instructions_request {
    const char *agent, *workspace, *channel, *platform;
    const char *session_text; /* the session's own instructions, or "" */
    const char *extra;        /* for this turn alone (a client's wish), or "" */
    unsigned chat_type;       /* CHELA_DIRECT ... */
};

void instructions_base(struct buf *out, const struct instructions_request *q);
/* Files of the workspace, each at most 20,000 bytes, 60,000 in all; what was cut is marked. */
void instructions_files(struct buf *out, const char *agent, const char *workspace);
void instructions_rest(struct buf *out, const struct instructions_request *q);
void instructions_reset(void);

#endif
