/*
 * Requests of Mistral's chat completions.
 */
#ifndef PROVIDER_MISTRAL_REQUEST_H
#define PROVIDER_MISTRAL_REQUEST_H

#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

/* Ids of calls have exactly nine letters and digits. */
extern const struct chela_naming request_naming;

/* A chela_message_writer: one or more JSON objects, separated by commas. */
void request_message(FILE *out, const struct chela_message *m);
void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params);

#endif
