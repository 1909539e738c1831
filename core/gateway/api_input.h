/*
 * A conversation as an HTTP client sends it (OpenAI, Anthropic, Ollama), put into the agent's form.
 * Such a client keeps the conversation itself and sends all of it each time: what came before the
 * last message becomes the history of a session made for this request. With a session that is kept
 * (the client named a user) only what is new is taken. Pure; the api_*.c files fill it.
 */
#ifndef GATEWAY_API_INPUT_H
#define GATEWAY_API_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct json_object;

struct api_input {
    struct buf system;
    struct json_object *messages; /* [{"role","content": parts}] */
    struct json_object *tools;    /* the client's own: [{"name","description","parameters"}] */
    struct json_object *wishes;   /* flow.h: message.extra.request */
    struct error error;           /* the first thing that was wrong; class 0: nothing */

    /* made by api_input_finish() */
    char *text;
    struct json_object *media;
};

void api_input_open(struct api_input *in);
void api_input_free(struct api_input *in);
void api_input_system(struct api_input *in, const char *text);
/* A new message; the parts that the functions below append to. */
struct json_object *api_input_message(struct api_input *in, const char *role);
void api_input_text(struct json_object *parts, const char *text, size_t n);
void api_input_image(struct json_object *parts, const char *mime, const char *base64);
/* "data:image/png;base64,..."; anything else is an error, since nothing is fetched. */
void api_input_image_url(struct api_input *in, struct json_object *parts, const char *url);
/* arguments: JSON text or NULL; what is no object is an error. */
void api_input_call(struct api_input *in, struct json_object *parts, const char *id,
                    const char *name, const char *arguments);
void api_input_result(struct api_input *in, const char *call, const char *text, bool is_error);
void api_input_tool(struct api_input *in, const char *name, const char *description,
                    struct json_object *parameters);
/* kept: the session has the earlier messages already. -1: in->error says why. */
int api_input_finish(struct api_input *in, bool kept);

#endif
