/*
 * A turn's own struct, shared by the files of the stage: turn.c (begin, assembly, end), turn_call.c
 * (one model call), turn_candidate.c (of which candidate), turn_failure.c
 * (retries and fail-over), turn_request.c (what it is sent), turn_answer.c (what
 * came, tools), turn_end.c. Nobody else sees it.
 */
#ifndef AGENT_TURN_H
#define AGENT_TURN_H

#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/models/modelcall.h"
#include "agent/models/spending.h"
#include "agent/runs.h"
#include "agent/stream.h"
#include "agent/tools/loopguard.h"
#include "agent/tools/toolcall.h"
#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/buf.h"

struct turn {
    struct plan *plan;
    struct prompt *prompt; /* the plan's */
    struct job *job;       /* the prompt's */
    struct transcript *transcript;
    struct run *run;
    struct journal_run *journal;
    struct stream stream;
    struct typing *typing; /* NULL: the channel shows none, as the draft */
    struct draft *draft;
    unsigned pending; /* journal commits under way */
    bool over;        /* nothing more happens but their end */
    bool failed_store;
    struct error store_error;

    unsigned steps;     /* model calls that were answered */
    unsigned candidate; /* index in the plan */
    unsigned attempts;  /* model calls that were begun */
    unsigned key;       /* of the candidate's provider, see modelkeys.h */
    unsigned retries;   /* in place, of the present call */
    uint64_t retry_since;
    unsigned recoveries;  /* from a context that was too long */
    unsigned overflows;   /* the present model has called it too long; 1: compacted, 2: cut */
    uint64_t room;        /* most tokens of the history since then, 0 = by the window */
    bool no_tools, whole; /* the model takes no tools; it doesn't stream */
    bool said_no_tools;
    bool escalated;  /* routing.escalate has had its say */
    bool key_failed; /* the last failure spoke of the key */
    bool asking;     /* a person is asked whether to go on */
    struct spending_limit limit;
    struct json_object *granted; /* keys of the limits that a person has lifted for this turn */
    bool closing;                /* the last call: an answer without tools is wanted */
    bool finalised;              /* the one pass after tools without an answer was made */
    bool had_tools;
    uint64_t retry_after_best;

    struct model_call *call;
    uint64_t timer; /* back-off */
    uint64_t compaction;
    bool rendering;
    unsigned from; /* first entry that is sent */
    struct batch *batch;
    struct loopguard guard;
    struct {
        char **names, **arguments;
        unsigned count;
    } guarded; /* the calls of the batch that runs */
    struct json_object *blobs_wanted;

    struct usage usage;
    double cost;
    char *model, *stop;
    uint64_t clock_timer, clock_left, clock_began;

    struct reply *reply;
    struct outbox_chunks *chunks;
    enum turn_state ending; /* DONE or FAILED, once the end is being written */
    struct error failure;
    struct json_object *batch_parts; /* results of a batch that was aborted */
    struct json_object *media;       /* files that tools gave for the person, or NULL */
    struct json_object *content;     /* of the final answer */
    struct json_object *handed;      /* calls for the client to run, [{"id","name","arguments"}] */
    struct spent spent;              /* of the last model call */
};

/* turn.c */
void turn_assemble(struct turn *t); /* CONTEXT_ASSEMBLY, ROUTING, then turn_call() */
void turn_committed(void *owner, const struct error *e); /* journal_fn of all commits */
bool turn_stopped(struct turn *t); /* aborted or suspended: it is being ended, return at once */
void turn_fail(struct turn *t, const struct error *e);
void turn_release(struct turn *t);
void turn_clock(struct turn *t, bool runs);
void turn_append(struct turn *t, const char *role, const char *body, struct journal_message *ret);
void turn_tell_message(struct turn *t, const struct journal_message *m);

/* turn_request.c */
struct turn_budget {
    uint64_t window, fixed; /* fixed: system, tools, summary, volatile text */
    uint64_t room;          /* for the history */
};
struct turn_messages {
    struct chela_pair *pairs;
    unsigned count;
    char *made[5];
    unsigned made_count;
};
const char *turn_model(const struct turn *t); /* the present candidate */
/* What a call of it has cost. */
struct spent turn_spent(const struct turn *t, const struct usage *u);
struct turn_budget turn_budget(const struct turn *t);
/* Tokens of the history, by what a model has reported where that is known, else estimated. */
uint64_t turn_history_tokens(const struct turn *t, const struct turn_budget *b);
struct json_object *turn_params(const struct turn *t); /* owned by the caller */
struct turn_messages turn_messages(const struct turn *t);
void turn_messages_free(struct turn_messages *m);

/* turn_candidate.c */
/* The present candidate if it may be tried, else the next that may; if all are resting, the one
 * that is ready first. */
void turn_choose_candidate(struct turn *t);
bool turn_next_candidate(struct turn *t); /* false: there is none, or none may take its place */
/* The next whose window is larger than the present one's: a smaller one would fail as well. */
bool turn_larger_candidate(struct turn *t);
void turn_escalate(struct turn *t);
/* False: a person is asked whether to go on, then turn_call() comes again, or the end. */
bool turn_within_limits(struct turn *t);
void turn_limits_stop(struct turn *t);
/* What the message's budget leaves has been used: the next call is the last. */
bool turn_budget_spent(struct turn *t);

/* turn_failure.c */
void turn_call_failed(struct turn *t, struct model_answer *a);
void turn_retry(struct turn *t, uint64_t ms); /* back to ROUTING, then the call once more */

/* turn_call.c */
void turn_call(struct turn *t);
/* The service says that it is too long; false if it can't get shorter any more. */
bool turn_shorten(struct turn *t);
void turn_call_stop(struct turn *t); /* ends what is under way; true: something was */

/* turn_answer.c */
/* answer: it ends the turn */
void turn_fill_usage(struct turn *t, struct journal_message *row, bool answer);
void turn_answer(struct turn *t, struct model_answer *a);
void turn_run_batch(struct turn *t, const struct batch_call *calls, unsigned count);

void turn_forget_calls(struct turn *t);

/* turn_end.c */
/* Files in the results of tools go to the person with the reply. */
void turn_keep_files(struct turn *t, const struct json_object *parts);
/* Those of a turn that goes on after a restart: what it had before stands in the transcript. */
void turn_recover_files(struct turn *t);
/* DONE with t->content, or FAILED with t->failure. parts: results to be written before. */
void turn_finish(struct turn *t, struct json_object *parts);
void turn_end(struct turn *t, enum turn_state s);

#endif
