/*
 * What every provider plugin does alike: the life of one model call between the service's stream
 * and the host's events. It owns joining of split characters, projection of tool names, the
 * collected outcome, and the one done; it knows no service. Plugins and their tests use it; it
 * needs json-c, libc and the SDK.
 *
 * All functions [loop]. A stream is made by begin and ends with chela_stream_end, which frees it.
 */
#ifndef CHELA_SUPPORT_STREAM_H
#define CHELA_SUPPORT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <chela/chela.h>
#include <json-c/json_object.h>

#include "support/json.h"

#pragma GCC visibility push(hidden)

enum { CHELA_TOOL_NAME_SIZE = 65 };

/* The name that goes over the wire: the tool's own if it is 1 to 64 of [A-Za-z0-9_-], else those
 * characters with the rest as '_' and a hash behind, so that two tools never meet. Depends on the
 * name alone. */
void chela_tool_wire_name(const char *name, size_t length, char out[CHELA_TOOL_NAME_SIZE]);

struct chela_stream_call {
    struct chela_json_utf16_carry carry;
    bool named, used;
};

struct chela_stream {
    struct chela_inst *instance;
    uint64_t call;    /* the host's */
    uint64_t request; /* the http call */
    bool streaming;   /* SSE or lines were asked for, not a whole answer */
    bool closed;      /* the service said that the answer is complete */
    bool heard;       /* some event came */
    uint32_t error;   /* what an event in the stream said, CHELA_OK if none did */
    uint64_t retry_after_ms;
    char *error_text, *stop, *model, *id;
    struct chela_usage usage;
    bool has_usage;
    char **wire, **original; /* names of the tools that were offered */
    size_t tool_count;
    struct chela_json_utf16_carry text, thinking;
    struct chela_stream_call *calls; /* by index */
    size_t call_count;
    void *extra; /* the plugin's own, freed with the stream */
};

/* Longest index of a parallel call that a service may use. */
enum { CHELA_STREAM_CALLS = 128 };

struct chela_stream *chela_stream_begin(struct chela_inst *in, const struct chela_begin *begin);
/* Sends the request: POST url with a JSON body and headers, as a child of the call. The stream is
 * the tag. */
void chela_stream_post(struct chela_stream *s, uint32_t decode, const char *url, const char *body,
                       size_t length, const struct chela_pair *headers, size_t header_count);
static inline struct chela_stream *chela_stream_of(uint64_t tag)
{
    return (struct chela_stream *)(uintptr_t)tag;
}

/* Pieces, as they come; texts may end in half a character (CHELA_JSON_KEEP_HALVES). */
void chela_stream_text(struct chela_stream *s, const char *text, size_t length);
void chela_stream_thinking(struct chela_stream *s, const char *text, size_t length,
                           const char *signature);
void chela_stream_thinking_next(struct chela_stream *s); /* the next piece begins another part */
/* name is the wire's; NULL on pieces that only bring arguments (ignored for an index that was never
 * named: a tool of the service's own). */
void chela_stream_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                       const char *arguments, size_t length);
/* A whole call whose arguments came as an object (or NULL). */
void chela_stream_whole_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                             json_object *arguments);
void chela_stream_usage(struct chela_stream *s); /* sends s->usage */
/* Keep one of the strings s->stop, s->model, s->id, s->error_text. */
void chela_stream_keep(char **where, const char *text);
/* The service reported an error inside the stream. */
void chela_stream_fail(struct chela_stream *s, uint32_t error, const char *text);

/*
 * The http call has ended: ends the host's call and frees the stream. An answer that broke off
 * before the service said it was complete is CHELA_E_NETWORK with CHELA_RETRY. `error`: the class
 * to use for the service's failure (from its body; CHELA_OK: the one of `http`).
 */
void chela_stream_end(struct chela_stream *s, const struct chela_done *http, uint32_t error);

/* Parses an event's JSON with halves kept; NULL if it isn't JSON: the stream then has failed. */
json_object *chela_stream_parse(struct chela_stream *s, struct chela_str data);
/* The sentence in an error body: error.message, error, message or detail; NULL if there is none. */
const char *chela_error_message(json_object *body);

/* Requests are written as text, so that rendered messages go in as they are. */
void chela_write_base64(FILE *out, const void *data, size_t length);
/* A part's text joined with those of its kind: the content of a toolResult as one string. */
void chela_write_result_text(FILE *out, json_object *content);
struct chela_str chela_blob_of(const struct chela_pairs *blobs,
                               const char *hash); /* {NULL,0} if absent */
/* Models of option "models" (a list of names) and, if there is a default, that; published as
 * CHELA_MODELS. */
struct chela_model {
    const char *name;
    uint64_t context, max_output;
    bool images, thinking;
    double price_in, price_out;
    const char *alias; /* short name, or NULL */
};
/* Items of the option "models", for the provider's option table. */
extern const struct chela_option chela_model_items[];
void chela_publish_models(struct chela_inst *in, const struct chela_model *table, size_t count);

#pragma GCC visibility pop
#endif
