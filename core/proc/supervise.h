/*
 * What the daemon and chela-supervise say to each other. The daemon starts chela-supervise with the
 * child's standard descriptors on 0, 1 and 2, a socket on 3, and on 4 a file in memory: struct
 * supervise_spec, then strings that each end in NUL: the directory, the arguments, the environment.
 *
 * The supervisor answers STARTED or FAILED, later ENDED, and then exits. It ends the child with all
 * its descendants, those that left the process group included, when it is told to, when the child
 * itself has ended, and when the socket closes, which is what happens if the daemon is killed.
 */
#ifndef PROC_SUPERVISE_H
#define PROC_SUPERVISE_H

#include <stdint.h>

enum {
    SUPERVISE_SOCKET = 3,
    SUPERVISE_SPEC = 4,
    SUPERVISE_SPEC_MAX = 4 << 20,
    SUPERVISE_GRACE_MS = 2000 /* between SIGTERM and SIGKILL, when told to end */
};

struct supervise_limits {
    uint64_t cpu_s, memory, processes, files, file_size; /* 0 = none */
};

struct supervise_spec {
    uint32_t magic, terminal, confine, argument_count, environment_count;
    uint32_t landlock_most; /* use no newer version of Landlock than this, 0 = the kernel's */
    struct supervise_limits limits;
};
#define SUPERVISE_MAGIC 0x70757363u

enum { SUPERVISE_SIGNAL = 1, SUPERVISE_END = 2, SUPERVISE_KILL = 3 };
struct supervise_request {
    uint32_t kind, value;
};

enum { SUPERVISE_STARTED = 1, SUPERVISE_FAILED = 2, SUPERVISE_ENDED = 3 };
/* STARTED: pid, missing (bits CONFINE_MISSING_*). FAILED: stage, errno. ENDED: exit code, signal.
 */
struct supervise_reply {
    uint32_t kind, first, second;
};

/* What could not be done, in the order of the doing. */
enum supervise_stage {
    STAGE_NONE,
    STAGE_SPEC,
    STAGE_FORK,
    STAGE_SESSION,
    STAGE_LIMITS,
    STAGE_DIRECTORY,
    STAGE_CONFINE,
    STAGE_PROGRAM
};

#endif
