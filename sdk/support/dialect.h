/*
 * The http and done slots of a provider: events, whole answers, errors, lists of models and
 * embeddings come in, and the plugin is asked only for what its service does in its own way. Called
 * by provider plugins, with a table of their functions.
 */
#ifndef CHELA_SUPPORT_DIALECT_H
#define CHELA_SUPPORT_DIALECT_H

#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>
#include <json-c/json_object.h>

#include "support/stream.h"

#pragma GCC visibility push(hidden)

/* How a service tells what went wrong: by a code of its own, or, where it says it in words alone,
 * by a piece of those. Never matched against what a person or a model wrote. Ends with a NULL. */
enum { CHELA_IN_CODE, CHELA_IN_TEXT };
struct chela_error_rule {
    int where;
    const char *what;
    uint32_t class;
};

struct chela_dialect {
    const struct chela_error_rule *errors;
    const struct chela_error_rule *more_errors;                 /* asked first; NULL: none */
    void (*event)(struct chela_stream *s, json_object *event);  /* of a stream */
    void (*whole)(struct chela_stream *s, json_object *answer); /* asked for in one piece */
    uint64_t (*retry_after)(json_object *body); /* in an error's body, ms; NULL: headers only */
    /* The answer to a request that the plugin began itself; NULL: none came */
    void (*asked)(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer);
    /* Adds the vectors of an answer to a list */
    void (*vectors)(json_object *answer, json_object *list);
};

/* What the plugin's slots do. */
void chela_dialect_http(struct chela_inst *in, const struct chela_http_event *e,
                        const struct chela_dialect *dialect);
void chela_dialect_done(struct chela_inst *in, const struct chela_done *d,
                        const struct chela_dialect *dialect);

/* Defines them, for a plugin that adds nothing of its own. */
#define CHELA_DIALECT_SLOTS(dialect)                                                               \
    static void http(struct chela_inst *in, const struct chela_http_event *e)                      \
    {                                                                                              \
        chela_dialect_http(in, e, &(dialect));                                                     \
    }                                                                                              \
    static void done(struct chela_inst *in, const struct chela_done *d)                            \
    {                                                                                              \
        chela_dialect_done(in, d, &(dialect));                                                     \
    }

/* The sentence in an error body: error.message, error, message or detail; NULL if there is none. */
const char *chela_error_message(json_object *body);
uint32_t chela_error_class(json_object *body, const struct chela_dialect *dialect);
uint32_t chela_status_class(int64_t status);
/* An error that came as an event of a 200. */
void chela_dialect_fail(struct chela_stream *s, json_object *body,
                        const struct chela_dialect *dialect);

/* The `embed` slot: sends the request; the call ends by chela_dialect_done. */
void chela_embed_post(struct chela_inst *in, const struct chela_embed *e, const char *url,
                      const char *body, size_t length, const struct chela_headers *headers);
/* The same with {"model":M,"input":[...]}, the form that most services take. */
void chela_embed_input(struct chela_inst *in, const struct chela_embed *e, const char *url,
                       const struct chela_headers *headers);
/* {"data":[{"embedding":[...]}]}, the form that most services give. */
void chela_embed_data(json_object *answer, json_object *list);

#pragma GCC visibility pop
#endif
