/*
 * One tool call and its batch, shared by the files of the stage. Nobody else sees it.
 */
#ifndef AGENT_TOOLCALL_PRIVATE_H
#define AGENT_TOOLCALL_PRIVATE_H

#include "agent/tools/toolcall.h"
#include "agent/tools/toolplan.h"
#include "agent/tools/tools.h"
#include "base/list.h"

struct chela_tool_run;

struct call {
    struct batch *batch;
    unsigned index;
    char *id, *name, *arguments, *wrong;
    enum call_state state, found;
    const struct tool *tool; /* held by the plan */
    bool begun, ended;

    /* what prepare and policy made of it */
    enum tool_risk risk;
    bool reads_only, again; /* again: prepared anew after a hook changed the arguments */
    char *summary, *binding, *kind;
    struct json_object *extra;
    char hash[65];

    uint64_t call; /* prepare or run */
    uint64_t hooks;
    bool asking; /* a person */
    char *approval;
    bool ready;             /* its EXECUTING is being written */
    uint64_t started;       /* ticks */
    uint64_t asked, waited; /* when a person was asked (ticks), and how long it took (ms) */
    uint64_t told;          /* ticks of the last progress event */

    char *text; /* result */
    struct json_object *images, *files, *details;
    bool is_error, terminate, stop_after;
    struct json_object *part;
};

struct batch {
    char *run, *session, *agent, *workspace, *source, *provider;
    const struct message *message;
    struct tool_plan **plan;
    struct journal_run *journal;
    struct call *calls;
    unsigned count, ended, waiting, writes; /* writes: journal commits under way */
    bool sequential, aborting, suspended, in_pump, failed;
    uint64_t timer;
    unsigned next; /* sequential: the first that hasn't begun */
    const struct batch_ops *ops;
    void *owner;
    void (*suspended_fn)(void *owner);
    void *suspended_owner;
};

/* toolcall_batch.c */
void batch_pump(
    struct batch *b); /* begins what may begin, writes what is ready, ends what is done */
void batch_schedule(struct batch *b);
void batch_waits(struct batch *b, int change);

/* toolcall.c */
void call_begin_flow(struct call *c);
bool call_move(struct call *c, enum call_state to); /* the one transition function */
void call_fail(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_abort(struct call *c);
void call_clear(struct call *c);

void call_fill(const struct call *c, struct chela_tool_run *a); /* for prepare and run */

/* toolcall_run.c */
void call_run(struct call *c); /* its EXECUTING is written */
void call_finish(struct call *c, enum call_state state);

#endif
