/*
 * One call of one model: begins it at the provider, collects text, thinking and tool calls into one
 * assistant message in the SDK's form, and says how it ended. No retry, no fallback, no journal.
 * Called by turn.c (attempts) and ask.c.
 */
#ifndef AGENT_MODELCALL_H
#define AGENT_MODELCALL_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/base.h>

#include "agent/models/usage.h"
#include "base/buf.h"
#include "base/error.h"

struct json_object;

struct model_request {
    const char *model; /* full name */
    const char *system;
    struct json_object *params; /* provider.h: begin.params; borrowed */
    struct chela_pairs messages, tools, blobs;
    unsigned key;      /* of the provider's keys, counted from 0 */
    uint64_t idle_ms;  /* longest silence, 0 = by the provider's kind */
    uint64_t total_ms; /* longest call, 0 = none */
};

/* A tool call as the model sent it. */
struct model_tool_call {
    uint32_t index;
    char *id, *name; /* id "" if the model gave none */
    struct buf arguments;
    bool last; /* the provider said that they are complete */
};

struct model_answer {
    struct json_object *parts; /* array of text and thinking parts, in order; calls apart */
    struct buf text;           /* all text */
    struct model_tool_call *calls;
    unsigned call_count;
    struct usage usage;
    bool has_usage, has_output;
    char *stop;        /* "end", "tool_calls", "length", "refusal", "pause", "filter" */
    char *unsupported; /* with CHELA_E_UNSUPPORTED: "tools", "stream", or "" */
    uint32_t error;    /* class */
    struct error detail;
    uint64_t first_ms, total_ms;
};

enum model_delta { MODEL_TEXT, MODEL_THINKING, MODEL_TOOL };

struct model_call_ops {
    void (*delta)(void *owner, enum model_delta kind, struct chela_str text);
    /* Once; the answer is the callee's to keep from (it is freed after the return). */
    void (*done)(void *owner, struct model_answer *a);
};

struct model_call;
struct model_call *model_call_begin(const struct model_request *q, const struct model_call_ops *ops,
                                    void *owner);
/* Asks for the end; done still comes. */
void model_call_cancel(struct model_call *c);
/* The owner goes away: nothing more comes. */
void model_call_forget(struct model_call *c);

#endif
