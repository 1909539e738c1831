/*
 * Requests of the chat completions API, and the services that speak it with small differences.
 */
#ifndef PROVIDER_OPENAI_REQUEST_H
#define PROVIDER_OPENAI_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include <chela/chela.h>

/* What one service does differently. Options of the same names override it. */
struct preset {
    const char *name, *base_url;
    const char *max_tokens; /* name of the field */
    bool developer;         /* the system prompt has role "developer" for thinking models */
    bool effort;            /* takes reasoning_effort */
    bool usage_in_stream;   /* takes stream_options.include_usage */
    bool replay_reasoning;  /* wants reasoning_content back with the assistant's message */
    bool null_content;      /* an assistant message with calls only has content null, else "" */
    bool local;
};

/* The values of option "preset", each with its URL. */
extern const struct chela_option preset_values[];
struct preset
preset_of(struct chela_inst *in); /* the row of option "preset", with the options put over it */

/* The wire form of one message: one or more JSON objects, separated by commas. */
void request_message(FILE *out, const struct preset *p, const char *provider,
                     const struct chela_render *r);
void request_write(FILE *out, const struct preset *p, const struct chela_begin *b, bool stream);

#endif
