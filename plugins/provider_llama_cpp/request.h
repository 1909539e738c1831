/*
 * Requests of a llama.cpp server: messages for /apply-template, and /completion.
 */
#ifndef PROVIDER_LLAMA_CPP_REQUEST_H
#define PROVIDER_LLAMA_CPP_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "support/request.h"
#include "support/toolset.h"

extern const struct chela_naming request_naming;

/* How tools are told and called: by the model's template, whose calls come as text of its own form;
 * or in the system prompt, with an answer whose form a schema forces. */
enum request_tools { REQUEST_TEMPLATE, REQUEST_SCHEMA };

/* A chela_message_writer whose arg is an enum request_tools: one or more messages. */
void request_message(FILE *out, const struct chela_message *m);
/* The body of /apply-template. */
void request_template(FILE *out, const struct chela_begin *b, struct chela_toolset *offered,
                      const struct chela_params *params, enum request_tools tools);
/* Whether the answer has to be the object of support/forced.h. */
bool request_forced(const struct chela_toolset *offered, const struct chela_params *params,
                    enum request_tools tools);
/* The body of /completion behind its prompt. slot: -1 = any. */
void request_completion(FILE *out, const struct chela_toolset *offered,
                        const struct chela_params *params, bool forced, int slot);
/* The prompt, with the images of the messages where the template has put its marks. */
void request_prompt(FILE *out, const char *prompt, size_t length, json_object *messages);

#endif
