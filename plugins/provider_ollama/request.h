/*
 * Requests of Ollama's /api/chat.
 */
#ifndef PROVIDER_OLLAMA_REQUEST_H
#define PROVIDER_OLLAMA_REQUEST_H

#include <stdint.h>
#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

extern const struct chela_naming request_naming;

struct request_style {
    int64_t context;             /* num_ctx, 0 = the model's own */
    struct chela_str keep_alive; /* or "" */
    bool thinks;                 /* the model can think, as far as is known */
};

/* A chela_message_writer: one or more JSON objects, separated by commas. */
void request_message(FILE *out, const struct chela_message *m);
void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *offered,
                   const struct chela_params *params, const struct request_style *style);

#endif
