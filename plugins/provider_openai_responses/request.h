/*
 * Requests of the Responses API.
 */
#ifndef PROVIDER_OPENAI_RESPONSES_REQUEST_H
#define PROVIDER_OPENAI_RESPONSES_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

extern const struct chela_naming request_naming;

struct request_style {
    bool strict;    /* tools whose schemas allow it are sent in strict form */
    bool encrypted; /* reasoning comes back encrypted, to be sent again */
};

/* A chela_message_writer: items, separated by commas. A signature of thinking is a whole reasoning
 * item, or {"type":"phase","phase":P} for the text that follows. */
void request_message(FILE *out, const struct chela_message *m);
void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, const struct request_style *style);

#endif
