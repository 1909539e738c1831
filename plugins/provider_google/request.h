/*
 * Requests of generateContent.
 */
#ifndef PROVIDER_GOOGLE_REQUEST_H
#define PROVIDER_GOOGLE_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

extern const struct chela_naming request_naming;

/* A signature goes back to where it came from, which stands in front of it: "c0 " a call's by its
 * number in the message, "p " a thought's own, "t " that of a text. */
enum { REQUEST_WHERE = 16 };

/* A chela_message_writer: parts, separated by commas. */
void request_message(FILE *out, const struct chela_message *m);
/* openapi: tools as the older `parameters`, else as parametersJsonSchema. */
void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, bool openapi);

#endif
