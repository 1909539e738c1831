/*
 * What the files of tool_sessions share: the instance, its sub-agents, and who sees what.
 */
#ifndef TOOL_SESSIONS_H
#define TOOL_SESSIONS_H

#include <chela/chela.h>

#include "support/json.h"
#include "support/op.h"

/* A sub-agent, as it is kept: one record a session. */
struct child {
    struct child *next;
    char *session;  /* its key */
    json_object *o; /* {"run","parent","agent","label","task","depth","state","status","startedAt",
                       "endedAt","origin":{"channel",...},"request":{wishes}} */
};

struct sessions {
    struct chela_inst *in;
    struct child *children;
    bool loaded;
    uint64_t starting; /* the start call, until the children are known */
};

/* ---- tool_sessions.c ---- */
/* Ends a call with text for the model; is_error: it tells of a failure. */
void say(struct sessions *s, uint64_t call, const char *text, bool is_error);
/* Why this agent may not see that session, or NULL. */
const char *hidden(struct sessions *s, const struct chela_tool_run *r, const char *key);
/* "agent:NAME:..." -> NAME, owned by the caller. */
char *agent_of_key(const char *key);

/* ---- manifest.c ---- */
enum { LIST, HISTORY, STATUS, SEND, SPAWN, SUBAGENTS, MESSAGE, TOOLS };
extern const struct chela_pair manifests[TOOLS];
extern const struct chela_option option_table[];
int tool_find(struct chela_str name); /* -1 */

/* ---- calls.c ---- */
void calls_run(struct sessions *s, int kind, const struct chela_tool_run *r, json_object *a);

/* ---- spawn.c ---- */
void spawn_run(struct sessions *s, const struct chela_tool_run *r, json_object *a);
void subagents_run(struct sessions *s, const struct chela_tool_run *r, json_object *a);
unsigned hops_of(const char *run); /* how many sessions_send led to this run */

/* ---- children.c ---- */
struct child *child_find(struct sessions *s, const char *session);
struct child *child_add(struct sessions *s, const char *session, json_object *o); /* takes o over */
const char *child_text(const struct child *c, const char *member); /* "" if there is none */
bool child_running(const struct child *c);
/* Stores it; fn may be NULL. */
void child_put(struct sessions *s, struct child *c, chela_op_fn *fn, void *owner);
/* Submits its task (again: the host knows it by its run) and waits for its end. fn (may be NULL)
 * when the task is stored. */
void child_start(struct sessions *s, struct child *c, chela_op_fn *fn, void *owner);
void children_load(struct sessions *s);
void children_free(struct sessions *s);
/* channel.send: an answer of a sub-agent, or one to its result. */
void children_answer(struct sessions *s, const struct chela_send *m);

#endif
