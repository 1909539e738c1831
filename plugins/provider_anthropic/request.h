/*
 * Requests of the Messages API.
 */
#ifndef PROVIDER_ANTHROPIC_REQUEST_H
#define PROVIDER_ANTHROPIC_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

/* With a plain key no tool is renamed but for what the API takes; a login's clients have names of
 * their own for tools, which are mapped to and back. */
extern const struct chela_naming request_key_naming, request_login_naming;

/* What stands in front of the data of redacted thinking, to tell it from thinking that is empty. */
#define REQUEST_REDACTED "redacted:"

struct request_style {
    const struct chela_naming *naming;
    int64_t max_tokens;    /* where the turn names none */
    bool cache;            /* mark the last tool, the system prompt and the last user's turn */
    bool fine_grained;     /* arguments of calls come as they are written */
    bool temperature;      /* the model takes one */
    bool adaptive;         /* it decides itself how long to think; else by a budget */
    struct chela_str lead; /* a first block of the system prompt, or "" */
};

/* A chela_message_writer: content blocks, separated by commas. */
void request_message(FILE *out, const struct chela_message *m);
void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, const struct request_style *style);

#endif
