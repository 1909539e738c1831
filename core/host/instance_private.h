/*
 * What plugins and instances are made of; seen by core/host alone. The same structs serve in the
 * daemon and in a plugin's own process, where the one child holds its plugin's instances.
 *
 * Who owns what: module.c makes the plugins of this process, isolate.c those that live in a child
 * (in the daemon: a description without a handle); instance.c makes, opens and closes instances;
 * call.c and queue.c use `inbox` and the counters; local.c the live handles.
 */
#ifndef HOST_INSTANCE_PRIVATE_H
#define HOST_INSTANCE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>

#include "base/error.h"
#include "base/list.h"
#include "host/instance.h"
#include "host/queue.h"

struct child;   /* isolate.h */
struct options; /* options.h: the immutable snapshot of one instance's options */
struct plugin;

enum { PUBLISHED_KINDS = CHELA_STATE + 1 };

/* A type as the host sees it. The tables are copies in zeroed structs of the host's size, so code
 * tests a slot for NULL and never a size. Of an isolated type the slots that the plugin has hold a
 * pointer that must not be called; call.c sends a frame instead. */
struct plugin_type {
    struct plugin *plugin;
    struct chela_iface iface; /* its role pointers are NULL or lead to the tables below */
    struct chela_channel channel;
    struct chela_provider provider;
    struct chela_router router;
    struct chela_tool tool;
    struct chela_store store;
    struct chela_hook hook;
    struct chela_service service;
    unsigned roles; /* bits 1 << enum role */
};

/* A plugin's file. Never unloaded. */
struct plugin {
    struct link link;
    char *name, *path; /* module name; absolute path, or "" if built in */
    char *version, *summary, *license, *origin;
    uint16_t major, minor, minor_need;
    struct plugin_type *types;
    size_t type_count;
    void *handle;        /* lt_dlhandle, NULL if isolated */
    struct child *child; /* NULL: lives in this process */
};

struct instance {
    struct chela_inst inst; /* first: what the plugin sees leads back to the whole (instance_of) */
    struct link link;       /* in the registry */

    /* Given anew at each opening by call_number(), never used twice: names the instance in frames
     * and stands on top of the ids of the calls that it begins. 0: not open. */
    uint32_t number;
    char *name;
    struct plugin_type *type;
    enum instance_state state;
    char *why;               /* NULL or a sentence */
    struct options *options; /* what local->option reads now */

    /* queue.c, call.c */
    struct inbox inbox;    /* of an isolated instance unused: the child has one for all */
    struct link calls;     /* open calls, of both makers */
    unsigned call_count;   /* how many */
    uint64_t last_call;    /* counter of new_call, here where the plugin runs */
    uint64_t last_begun;   /* highest id that the host has seen begun */
    uint64_t broken_rules; /* contract errors so far */
    void (*idle)(void *);  /* call_when_idle */
    void *idle_arg;

    /* local.c: handles that are alive, to be counted and ended at close */
    struct link timers, watches;
    unsigned timer_count, watch_count, work_count;
    void (*workless)(void *in); /* NULL, or told when the last job on a pool thread has ended */
    bool released;              /* closed; freed when the last work on a pool thread has ended */

    /* instance.c, life.c, registry.c */
    struct published *published[PUBLISHED_KINDS];
    const char *section;   /* "providers" */
    char *origin;          /* "FILE:LINE" or "default" */
    bool embedded;         /* exists without configuration */
    char *said;            /* its last error line in the log: the reason when `open` fails */
    struct options **kept; /* snapshots that were replaced; their texts are good until close */
    size_t kept_count;
    void (*after)(struct instance *in, const struct error *e);   /* the step that is under way */
    void (*brought)(struct instance *in, const struct error *e); /* registry_bring_up's end */
    bool awaited;        /* the others' start waits for it */
    unsigned attempts;   /* starts that failed, one after the other */
    uint64_t retry;      /* timer of the next one */
    uint64_t work_limit; /* timer: how long its close waits for jobs that still run */
};

static inline struct instance *instance_of(struct chela_inst *in)
{
    return CONTAINER_OF(in, struct instance, inst);
}

/* "provider_openai/groq": for the log. The text lives until the next call. callback.c */
const char *instance_label(const struct instance *in);

#endif
