/*
 * Child processes of the daemon, each under a supervisor of its own (supervise.h): started in its
 * own session, with the environment and descriptors that it was given and no others, and ended with
 * all its descendants. For the core; plugins come through process_group.c. Everything on the loop
 * thread; `output` and `done` come from the top of the loop, done once, last, and never before
 * process_start() has returned.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/process.h>

#include "base/error.h"
#include "proc/supervise.h"

/* As struct chela_spawn. What is pointed to is copied. */
struct process_request {
    struct chela_pairs arguments, environment;
    const char *directory;
    uint32_t flags;         /* CHELA_PTY, CHELA_LINED, CHELA_STDIN */
    uint32_t confine;       /* CHELA_CONFINE_* */
    uint32_t landlock_most; /* for tests: as on an older kernel; 0 = what this one has */
    uint32_t rows, columns;
    uint64_t timeout_ms;
    struct supervise_limits limits;
};

struct process_end {
    struct error error; /* class 0: it ran; else it could not be started, or the supervisor died */
    uint32_t pid;       /* 0: not started */
    uint32_t exit, signal; /* signal 0: it ended with `exit` */
    bool timed_out, ended; /* ended: by process_stop() */
    uint32_t missing;      /* CONFINE_MISSING_* */
};

struct process_ops {
    void (*output)(void *owner, uint64_t id, uint32_t stream, struct chela_str data);
    void (*done)(void *owner, uint64_t id, const struct process_end *end);
    bool (*room)(void *owner); /* may more output come? NULL: always */
};

void process_open(void);  /* after loop_open */
void process_close(void); /* before loop_close; kills what is left, without done */

uint64_t process_start(const struct process_request *r, const struct process_ops *ops, void *owner);
/* To its standard input; with `last`, then closed. Ends it with CHELA_E_TOO_LONG if more than 8 MiB
 * wait. */
void process_write(uint64_t id, struct chela_str data, bool last);
void process_resize(uint64_t id, uint32_t rows, uint32_t columns);
void process_signal(uint64_t id, uint32_t number); /* to the group */
/* Ends it: SIGTERM to all, SIGKILL 2 s later. done comes. */
void process_stop(uint64_t id);
/* The owner goes away: killed, and nothing is called any more. */
void process_forget(uint64_t id);
unsigned process_count(void);

#endif
