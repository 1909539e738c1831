/*
 * What every provider plugin does alike: the life of one model call between the service's stream
 * and the host's events. It owns joining of split characters, the way back from wire names, pieces
 * that repeat the whole, calls written as text, the collected outcome, and the one done; it knows
 * no service. Plugins and their tests use it; it needs json-c, libc and the SDK.
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

#include "support/cumulative.h"
#include "support/json.h"
#include "support/request.h"
#include "support/textcall.h"
#include "support/toolset.h"

#pragma GCC visibility push(hidden)

/* The first member of what a request's tag points to. Plugins may use kinds from CHELA_TASK_OWN. */
enum chela_task_kind {
    CHELA_TASK_STREAM = 1,
    CHELA_TASK_EMBED = 2,
    CHELA_TASK_LOGIN = 3,
    CHELA_TASK_OWN = 16
};
struct chela_task {
    uint32_t kind, zero;
};

struct chela_stream_call {
    struct chela_json_utf16_carry carry;
    struct chela_cumulative cumulative;
    bool named;
    size_t sent;     /* bytes of arguments */
    int strict;      /* its tool's place, if that was sent in strict form; else -1 */
    char *collected; /* its arguments then, until they are complete */
    size_t length;
};

struct chela_stream {
    struct chela_task task;
    struct chela_inst *instance;
    uint64_t call;     /* the host's */
    uint64_t request;  /* the http call */
    bool streaming;    /* SSE or lines were asked for, not a whole answer */
    bool closed;       /* the service said that the answer is complete */
    bool heard;        /* some event came */
    bool repeats;      /* pieces may hold the whole text so far (cumulative.h) */
    bool writes_calls; /* the model may write calls as text (textcall.h) */
    uint32_t error;    /* what an event in the stream said, CHELA_OK if none did */
    uint64_t retry_after_ms;
    char *error_text, *stop, *model, *id;
    struct chela_usage usage;
    bool has_usage;
    struct chela_toolset *tools; /* that are offered */
    struct chela_json_utf16_carry text, thinking;
    struct chela_cumulative text_growth, thinking_growth;
    struct chela_textcall written;
    struct chela_stream_call *calls; /* by index */
    size_t call_count;
    void *extra;                     /* the plugin's own, freed with the stream */
    void (*extra_free)(void *extra); /* how; NULL: free() */
};

/* Longest index of a parallel call that a service may use. */
enum { CHELA_STREAM_CALLS = 128 };

struct chela_stream *chela_stream_begin(struct chela_inst *in, const struct chela_begin *begin,
                                        const struct chela_naming *naming,
                                        struct chela_toolsets *tools);
/* Sends the request: POST url with a JSON body and headers, as a child of the call. The stream is
 * the tag. */
void chela_stream_post(struct chela_stream *s, uint32_t decode, const char *url, const char *body,
                       size_t length, const struct chela_headers *headers);
static inline struct chela_task *chela_task_of(uint64_t tag)
{
    return (struct chela_task *)(uintptr_t)tag;
}
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
/* The service said that the call's arguments are complete. */
void chela_stream_call_last(struct chela_stream *s, size_t index);
/* A whole call whose arguments came as an object (or NULL). */
void chela_stream_whole_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                             json_object *arguments);
bool chela_stream_called(const struct chela_stream *s); /* some call came */
void chela_stream_usage(struct chela_stream *s);        /* sends s->usage */
/* Keep one of the strings s->stop, s->model, s->id, s->error_text. */
void chela_stream_keep(char **where, const char *text);
/* s->stop by a table of the service's reasons; one that is not in it is "end". */
struct chela_stop {
    const char *reason, *stop;
};
void chela_stream_stop(struct chela_stream *s, const struct chela_stop *table, const char *reason);
/* The service reported an error inside the stream. */
void chela_stream_fail(struct chela_stream *s, uint32_t error, const char *text);

/*
 * The http call has ended: ends the host's call and frees the stream. An answer that broke off
 * before the service said it was complete is CHELA_E_NETWORK with CHELA_RETRY. `error`: the class
 * to use for the service's failure (from its body; CHELA_OK: the one of `http`); `text`: what the
 * service said about it, or NULL.
 */
void chela_stream_end(struct chela_stream *s, const struct chela_done *http, uint32_t error,
                      const char *text);

/* Parses an event's JSON with halves kept; NULL if it isn't JSON: the stream then has failed. */
json_object *chela_stream_parse(struct chela_stream *s, struct chela_str data);

#pragma GCC visibility pop
#endif
