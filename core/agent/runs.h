/*
 * The running turns: one record each, found by the run's id or its session. Made by session.c when
 * a job starts, moved through its states by the stages, ended by turn.c. What concerns a run from
 * outside (abort, a steered message, waiting for its end) goes through here, so that no stage calls
 * backwards. Ended runs leave their result behind for a while.
 */
#ifndef AGENT_RUNS_H
#define AGENT_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/models/usage.h"
#include "agent/state.h"
#include "base/buf.h"
#include "base/list.h"

struct job;
struct json_object;
struct journal_run;

struct run_step {
    enum turn_state state;
    uint64_t at; /* ms */
};

struct run {
    struct link link;
    char *id, *session, *agent;
    enum turn_state state;
    struct run_step *steps; /* all states so far */
    unsigned step_count, steps_written;
    struct journal_run *journal; /* turn.c's; NULL before it began: states wait in `steps` */
    uint64_t started_ms;         /* wall clock */
    char *model;                 /* the one that answers, or NULL */
    char *reason;                /* why it was chosen */
    struct buf text;             /* the answer so far */
    struct json_object *message; /* the one form */
    uint64_t chat_seq, agent_seq;
    bool aborted, closing, suspended;
    char *aborted_by;
    unsigned waiting_approvals;
    struct link steered; /* of struct job */
    void (*abort)(void *owner);
    void *owner;
    struct link stop_waiters;
    struct json_object *decisions; /* decisions.c's: all so far */
    size_t decisions_written;
    struct usage asked; /* what routers asked models, and what it cost */
    double asked_cost;
    struct spent *spent; /* of that, what the journal hasn't yet */
    unsigned spent_count;
};

struct run *runs_open(const char *id, const char *session, const char *agent);
struct run *runs_find(const char *id);            /* NULL if it isn't running */
struct run *runs_of_session(const char *session); /* likewise */
unsigned runs_count(void);
void runs_each(const char *session, void (*each)(void *arg, struct run *r), void *arg);

/* The one transition function: checks the table, logs at debug level, hands it to the journal. A
 * transition that the table doesn't allow is a mistake in the code: logged, and not made. */
bool runs_move(struct run *r, enum turn_state to);
/* The run's journal is there: states that waited go to it. */
void runs_set_journal(struct run *r, struct journal_run *j);
/* Spent on the run's behalf: joins its next commit. */
void runs_spend(struct run *r, const struct spent *s);
/* Names who is to be told of an abort; NULL: nobody at the moment (the next boundary sees it). */
void runs_set_owner(struct run *r, void (*abort)(void *owner), void *owner);

/* Steering: false if the run takes no more; it owns the job else. */
bool runs_steer(struct run *r, struct job *j);
struct job *runs_take_steered(struct run *r); /* oldest first, NULL if there is none */

typedef void runs_stopped_fn(void *owner);
/* fn (may be NULL) once the run has ended. */
void runs_abort(struct run *r, const char *by, runs_stopped_fn *fn, void *owner);

/* The program ends: the run stops where it is and is found again at the next start. */
void runs_suspend(struct run *r);

/* The run has ended: tells who waits, keeps `result` (takes it over), frees the record. */
void runs_end(struct run *r, struct json_object *result);
/* Told after each end; registered once. Jobs that were steered but not taken come back here. */
void runs_on_end(void (*fn)(const char *session, const char *run, struct link *left));

/* agent_wait. */
typedef void runs_wait_fn(void *owner, struct json_object *result);
void runs_wait(const char *id, uint64_t timeout_ms, runs_wait_fn *fn, void *owner);
void runs_wait_forget(void *owner);
/* The result of a run that ended not long ago, borrowed, or NULL. */
struct json_object *runs_result(const char *id);
/* A result without a run (a command's, a steered message's): tells who waits and keeps it. */
void runs_keep_result(const char *id, struct json_object *result);
void runs_reset(void); /* at the end of the program, and for tests */

#endif
