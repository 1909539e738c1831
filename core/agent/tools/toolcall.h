/*
 * Tool calls of one answer of a model: each goes PENDING, APPROVAL_REQUIRED, EXECUTING, COMPLETED
 * or FAILED; together they are a batch that ends with one result for each, in the order of the
 * calls. Called by turn.c. toolcall_batch.c orders the calls of a batch, toolcall.c leads one call
 * through its states, toolcall_run.c executes it.
 */
#ifndef AGENT_TOOLCALL_H
#define AGENT_TOOLCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

struct json_object;
struct journal_run;
struct message;
struct tool_plan;

enum call_state {
    CALL_PENDING,
    CALL_APPROVAL,
    CALL_EXECUTING,
    CALL_COMPLETED,
    CALL_FAILED,
    CALL_STATES
};
const char *call_state_name(enum call_state s); /* "APPROVAL_REQUIRED" */
bool call_state_follows(enum call_state from, enum call_state to);

/* A call as the model made it, or as a restart found it. */
struct batch_call {
    const char *id, *name;
    const char *arguments;      /* JSON object as text */
    const char *wrong;          /* why it can't run at all (cut off, no JSON ...), or NULL */
    enum call_state found;      /* CALL_PENDING; after a restart what the journal has */
    struct json_object *result; /* found COMPLETED or FAILED: its toolResult part */
};

struct batch_request {
    const char *run, *session, *agent;
    const char *provider;          /* of the model that made the calls, "" = not known */
    const struct message *message; /* where the turn came from; must outlive the batch */
    struct tool_plan **plan;       /* may be extended by deferred tools */
    struct journal_run *journal;
    const struct batch_call *calls;
    unsigned count;
};

struct batch_result {
    struct json_object *parts; /* array of toolResult parts in order; borrowed */
    bool terminate;            /* all said so */
    bool stop_after;           /* a hook said so */
};

struct batch_ops {
    /* Once; not before batch_begin() has returned. */
    void (*done)(void *owner, const struct batch_result *r);
    /* A journal write failed: the run can't go on. Comes before done. */
    void (*broken)(void *owner, const struct error *e);
    /* The number of calls that wait for a person has changed. */
    void (*waiting)(void *owner, unsigned count);
    /* Asked before each start of a sequential batch, once before a parallel one: a message came
     * that shall be answered first, so what hasn't begun is skipped. */
    bool (*interrupted)(void *owner);
};

struct batch;
struct batch *batch_begin(const struct batch_request *q, const struct batch_ops *ops, void *owner);
/* Ends what runs (with all its processes), answers what waits; done follows. */
void batch_abort(struct batch *b);
/* The program ends: what runs is cancelled, nothing is written, nothing more is said. fn once all
 * tools have ended. */
void batch_suspend(struct batch *b, void (*fn)(void *owner), void *owner);

#endif
