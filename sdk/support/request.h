/*
 * What the requests of all model services have in common: text that is written piece by piece, the
 * frame of `render`, the parameters of a call and its messages (its tools: toolset.h). A provider
 * adds its service's form. Needs json-c, libc and the SDK; all functions [loop].
 */
#ifndef CHELA_SUPPORT_REQUEST_H
#define CHELA_SUPPORT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <chela/chela.h>
#include <json-c/json_object.h>

#include "support/json.h"
#include "support/naming.h"

#pragma GCC visibility push(hidden)

/* ---- text ---- */

/* Opens a text to write into; after fclose *ret_text is *ret_length bytes, the caller frees. */
FILE *chela_write_open(char **ret_text, size_t *ret_length);
/* The same for the body of a request, with room for its messages and system prompt from the start.
 */
FILE *chela_request_open(const struct chela_begin *b, char **ret_text, size_t *ret_length);
void chela_write_json(FILE *out, json_object *value);
/* A JSON string. */
void chela_write_string(FILE *out, const char *text, size_t length);
/* `before`, then the JSON string of a member; "" if it is none. */
void chela_write_member(FILE *out, const char *before, json_object *object, const char *key);
void chela_write_base64(FILE *out, const void *data, size_t length);

/* ---- a message ---- */

enum chela_role { CHELA_ROLE_USER, CHELA_ROLE_ASSISTANT, CHELA_ROLE_TOOL };

struct chela_message {
    const struct chela_naming *naming;
    const char *provider; /* the instance, whose own thinking may go back */
    const char *model;
    const void *arg;
    enum chela_role role;
    json_object *content; /* array of parts */
    const struct chela_pairs *blobs;
};

/* Writes the wire form of one message. */
typedef void chela_message_writer(FILE *out, const struct chela_message *m);
/* The `render` slot of a provider: parses, writes and ends the call. */
void chela_render_message(struct chela_inst *in, const struct chela_render *r,
                          const struct chela_naming *naming, const void *arg,
                          chela_message_writer *write);

bool chela_part_is(json_object *part, const char *type);
/* The signature of thinking that this provider made; NULL: it is somebody else's and is dropped. */
const char *chela_part_signature(const struct chela_message *m, json_object *part);
bool chela_part_blank(json_object *part); /* a text of nothing but white space */
struct chela_str chela_part_blob(const struct chela_message *m, json_object *part);
const char *chela_part_mime(json_object *part, const char *fallback);
/* The text that stands for an image or a file that can't be sent. */
void chela_write_absent(FILE *out, json_object *part);
/* The texts of all parts of a type, joined, as a string behind `before`; false if there are none.
 * own: only those that this provider made. */
bool chela_write_joined(FILE *out, const char *before, const struct chela_message *m,
                        const char *type, bool own);
/* The content of a toolResult as one JSON string; images in it are named. */
void chela_write_result(FILE *out, json_object *part);
/* Wire name and wire id of a toolCall or toolResult. */
void chela_part_wire_name(const struct chela_message *m, json_object *part,
                          char out[CHELA_NAME_SIZE]);
void chela_part_wire_id(const struct chela_message *m, json_object *part,
                        char out[CHELA_NAME_SIZE]);
/* The arguments of a toolCall: as an object, and as a string that holds it. */
void chela_write_arguments(FILE *out, json_object *part);
void chela_write_arguments_string(FILE *out, json_object *part);
/* One of the three, by the message's role. */
void chela_write_by_role(FILE *out, const struct chela_message *m, chela_message_writer *user,
                         chela_message_writer *assistant, chela_message_writer *results);

/* ---- the whole ---- */

struct chela_params {
    json_object *all;
    bool stream;
    bool no_thinking;                  /* it was said that the model shall not think */
    int64_t max_tokens;                /* 0: not said */
    const char *thinking;              /* "low", "medium", "high", or NULL */
    const char *choice;                /* tool_choice; NULL: not said, or no tools */
    const char *session;               /* or NULL */
    json_object *temperature, *schema; /* or NULL */
};
void chela_params_open(struct chela_params *p, const struct chela_begin *b);
void chela_params_close(struct chela_params *p);

/* "temperature" behind a comma; nothing where none is wished. */
void chela_write_temperature(FILE *out, const struct chela_params *p);
/* Tokens to think with at a level, where a service counts them; 0 for NULL. */
int chela_thinking_budget(const char *level);

/* How a service has it said which tools may be called: what stands around a word ("auto", "none")
 * and around a tool's name, and its word for "some tool". */
struct chela_choice_form {
    const char *word[2], *tool[2], *any;
};
/* "tool_choice" behind a comma; nothing where none is wished. */
void chela_write_choice(FILE *out, const struct chela_params *p, const struct chela_naming *naming,
                        const struct chela_choice_form *form);

/* Rendered messages, separated by commas; false if there are none. first: no comma in front. */
bool chela_write_messages(FILE *out, const struct chela_begin *b, bool first);

/* The same for services that want a word of the assistant between a tool's result and a person's
 * message: `noted` is that message. */
bool chela_write_answered(FILE *out, const struct chela_begin *b, bool first, const char *noted);
#define CHELA_NOTED "{\"role\":\"assistant\",\"content\":\"(noted)\"}"

/* For services whose roles must alternate: what was rendered are the parts of messages, and all
 * parts of neighbours of the same side go into one. Tools' results are the user's side. */
struct chela_turns {
    const char *user, *assistant; /* what begins a turn of that side, up to its first part */
    const char *close;
    const char *opening; /* a part for a conversation that doesn't begin with the user */
    const char *mark;    /* put into the last part of the last user's turn, or NULL */
};
void chela_write_turns(FILE *out, const struct chela_begin *b, const struct chela_turns *t);

/* Headers of a request: content-type and a bearer token, where there is one. */
enum { CHELA_HEADERS = 8 };
struct chela_headers {
    struct chela_pair v[CHELA_HEADERS];
    size_t count;
    char bearer[512];
};
void chela_headers_open(struct chela_headers *h);
void chela_headers_add(struct chela_headers *h, const char *name, struct chela_str value);
void chela_headers_bearer(struct chela_headers *h, struct chela_str token);

#pragma GCC visibility pop
#endif
