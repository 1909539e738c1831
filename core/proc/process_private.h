/*
 * What process.c (life), process_spawn.c (descriptors, specification, start of the supervisor) and
 * process_io.c (output, input) share.
 */
#ifndef PROC_PROCESS_PRIVATE_H
#define PROC_PROCESS_PRIVATE_H

#include <sys/types.h>

#include <chela/local.h>

#include "base/buf.h"
#include "base/lines.h"
#include "base/list.h"
#include "host/loop.h"
#include "proc/process.h"

enum {
    PROCESS_READ = 64 << 10,      /* bytes read at once */
    PROCESS_LINE = 1 << 20,       /* longer lines are cut */
    PROCESS_INPUT = 8 << 20,      /* most bytes that wait for its input */
    PROCESS_DRAIN_MS = 2 * 1000,  /* for output that somebody outside keeps open */
    PROCESS_ANSWER_MS = 10 * 1000 /* for the supervisor to do as it was told, SIGKILL included */
};

struct output {
    struct process *process;
    uint32_t stream;
    int fd; /* -1: ended */
    struct loop_watch *watch;
    uint32_t watch_events; /* while it is watched at all */
    bool ready;            /* to be read when there is room */
    struct lines lines;
};

struct process {
    uint64_t id;
    const struct process_ops *ops; /* NULL: nobody wants to know */
    void *owner;
    uint32_t flags;
    pid_t supervisor;
    int supervisor_fd; /* pidfd */
    struct loop_watch *supervisor_watch;
    int socket;
    struct loop_watch *socket_watch;
    struct output out[2];
    int input; /* -1: closed; on a terminal the same descriptor as out[0] */
    struct loop_watch *input_watch;
    struct buf waiting; /* for its input */
    bool input_last;
    bool gone;    /* the supervisor has ended */
    bool ended;   /* ENDED or FAILED has come */
    bool drained; /* what output is still open is not waited for */
    struct process_end end;
    uint64_t timeout, watchdog, drain;
    struct link link, work;
};

/* process.c */
void process_work(struct process *p); /* have process.c look at it before the next poll */
void process_ask(struct process *p, uint32_t kind, uint32_t value);

/* process_spawn.c */
int process_spawn(struct process *p, const struct process_request *r, struct error *e);

/* process_io.c */
void process_io_start(struct process *p);
/* Reads what is ready. False: there was no room. */
bool process_io_read(struct process *p);
bool process_io_ended(const struct process *p);
void process_io_close(struct process *p);
void process_io_write(struct process *p);

#endif
