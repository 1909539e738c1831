/*
 * A plugin's process as isolate.c (its bytes, instances, end) and isolate_start.c (its start and
 * description) share it.
 */
#ifndef HOST_ISOLATE_PRIVATE_H
#define HOST_ISOLATE_PRIVATE_H

#include <uv.h>

#include "base/map.h"
#include "host/instance_private.h"
#include "host/isolate.h"
#include "host/loop.h"

struct child {
    struct link link;
    struct plugin *plugin;
    char *path;
    int fd; /* -1: it has ended */
    struct loop_watch *watch;
    uv_process_t *process; /* NULL: it has been waited for */
    struct inbox inbox;
    struct buf out;
    struct map remotes;     /* by instance number */
    struct buf description; /* its first frames; a restarted one must send the same */
    size_t described;       /* bytes of them that the present process has sent */
    size_t whole;           /* bytes of the description that were looked at */
    bool describing;        /* the loop waits for the description */
    bool unclaimed; /* it has come (or `failed` says why not); who opens the plugin takes it */
    struct error failed;
    uint64_t timer;
    bool is_described, exited;
    bool broken;   /* broke the protocol: what is left of it isn't looked at */
    bool attached; /* was opened well */
    char why[256]; /* how it ended */
};

/* isolate_start.c: starts the process; its socket is in `fd` then. */
int child_spawn(struct child *c, struct error *e);
/* What has come of the description: 1 it is whole, 0 not yet, -1. */
int child_collect(struct child *c, struct error *e);
/* Waits until it is whole; before the loop runs. */
int child_wait_description(struct child *c, struct error *e);
/* Makes the plugin of it. */
int child_parse_description(struct child *c, struct error *e);
enum { CHILD_DESCRIBE_MS = 10000 };
/* isolate.c: told by libuv */
void child_exited(uv_process_t *process, int64_t status, int signal);

#endif
