/*
 * Requests of Ollama's /api/chat.
 */
#ifndef PROVIDER_OLLAMA_REQUEST_H
#define PROVIDER_OLLAMA_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <chela/chela.h>

void request_message(FILE *out, const struct chela_render *r);
/* context: num_ctx, 0 = the model's own. */
void request_write(FILE *out, const struct chela_begin *b, int64_t context, const char *keep_alive,
                   bool stream);

#endif
