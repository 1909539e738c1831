/*
 * What the files of tool_cron share: jobs as the protocol has them, their times, the instance,
 * calls of the host with what shall happen at their end.
 */
#ifndef TOOL_CRON_H
#define TOOL_CRON_H

#include <chela/chela.h>

#include "expr.h"
#include "support/op.h"

enum { NEVER = -1 };

/* When a job is due. */
struct schedule {
    enum { AT, EVERY, CRON } kind;
    int64_t at, every, anchor; /* ms */
    struct expr expr;
    struct chela_zone *zone;
};

struct job {
    struct job *next_job;
    char *id;
    json_object *o;     /* the job as cron.get gives it, without its state */
    json_object *state; /* CronJob.state */
    json_object
        *origin; /* {"channel","account","chat","sender","thread"} of who made it, or NULL */
    struct schedule schedule;
    int64_t last_slot; /* ms; no slot at or before it is run (again) */
    int64_t next;      /* ms, or NEVER */
    int64_t running;   /* slot whose run works, 0 = none */
    bool submitting, gone;
};

struct cron {
    struct chela_inst *in;
    struct job *jobs;
    struct chela_zone *zone; /* of jobs that name none */
    uint64_t timer, starting;
    bool stopped;
};

/* ---- job.c: what a job may be ---- */
/* Reads {"kind":"at"|"every"|"cron",...}. -1: *ret_why (owned by the caller) says what is wrong. */
int schedule_read(struct schedule *s, json_object *o, int64_t created, char **ret_why);
void schedule_clear(struct schedule *s);
/* The first slot behind `after`, or NEVER. */
int64_t schedule_next(const struct schedule *s, const struct chela_zone *own, int64_t after);
/* A checked job made of the parameters of cron.add; NULL: *ret_why. */
struct job *job_new(json_object *params, int64_t now, char **ret_why);
/* Changes it by a patch (the parameters of cron.update); -1: *ret_why, and nothing is changed. */
int job_patch(struct job *j, json_object *patch, int64_t now, char **ret_why);
void job_free(struct job *j);
json_object *job_view(const struct job *j); /* as cron.get gives it; owned by the caller */
json_object *job_record(const struct job *j);
struct job *job_from_record(const char *id, json_object *record); /* NULL: it can't be read */
bool job_enabled(const struct job *j);

/* ---- run.c: jobs at their time ---- */
void run_load(struct cron *c); /* reads what is kept, then ends c->starting */
struct job *run_find(struct cron *c, const char *id);
void run_add(struct cron *c, struct job *j, chela_op_fn *fn, void *owner);
void run_store(struct cron *c, struct job *j, chela_op_fn *fn, void *owner);
void run_remove(struct cron *c, struct job *j, chela_op_fn *fn, void *owner);
void run_plan(struct cron *c, struct job *j); /* computes its next slot anew */
void run_tick(struct cron *c);                /* runs what is due, sets the timer */
/* Now, whatever its times; its run's id is owned by the caller; NULL: it works already. */
char *run_now(struct cron *c, struct job *j);
void run_answer(struct cron *c, const struct chela_send *m); /* channel.send */
void run_free(struct cron *c);

/* ---- runlog.c ---- */
/* status: ok, error, skipped; summary may be NULL, error "", result (of agent.wait) NULL. */
void runlog_put(struct cron *c, struct job *j, int64_t slot, const char *status,
                const char *summary, const char *error, json_object *result);

/* ---- methods.c and tool.c ---- */
extern const struct chela_pair cron_methods[];
extern const size_t cron_method_count;
void cron_method(struct chela_inst *in, const struct chela_method *m);
extern const struct chela_pair cron_tools[];
extern const size_t cron_tool_count;
void cron_prepare(struct chela_inst *in, const struct chela_tool_run *r);
void cron_run(struct chela_inst *in, const struct chela_tool_run *r);
/* One of status, list, get, add, update, remove, run, runs; agent: only its jobs, "" = all;
 * origin: who asks, or NULL. Ends the call. */
void cron_do(struct cron *c, uint64_t call, const char *what, json_object *params,
             const char *agent, json_object *origin);

#endif
