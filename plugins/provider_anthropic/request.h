/*
 * Requests of the Messages API.
 */
#ifndef PROVIDER_ANTHROPIC_REQUEST_H
#define PROVIDER_ANTHROPIC_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <chela/chela.h>

/* The wire form of one message; provider is the instance whose thinking may go back. */
void request_message(FILE *out, const char *provider, const struct chela_render *r);
/* cache: mark the last tool, the system prompt and the last user message for the prompt cache. */
void request_write(FILE *out, const struct chela_begin *b, int64_t max_tokens, bool cache,
                   bool stream);

#endif
