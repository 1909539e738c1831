/*
 * Requests of the chat completions API.
 */
#ifndef PROVIDER_OPENAI_REQUEST_H
#define PROVIDER_OPENAI_REQUEST_H

#include <stdio.h>

#include "preset.h"

extern const struct chela_naming request_naming;

/* A chela_message_writer whose arg is the preset: one or more JSON objects, separated by commas. */
void request_message(FILE *out, const struct chela_message *m);
void request_write(FILE *out, const struct preset *p, const struct chela_begin *b,
                   struct chela_toolset *tools, const struct chela_params *params);

#endif
