/* What the parts of the test kit share. */
#ifndef CHELA_TESTKIT_KIT_PRIVATE_H
#define CHELA_TESTKIT_KIT_PRIVATE_H

#include <stdio.h>

#include "kit.h"
#include "wire/frame.h"

enum {
    KIT_CALLS = 256,
    KIT_TIMERS = 64,
    KIT_WORK = 64,
    KIT_TOOL_CALLS = 64,
    KIT_KINDS = CHELA_STATE + 1
};

struct kit_text {
    char *p;
    size_t n;
};

/* A call of either maker. */
struct kit_call {
    uint64_t id, tag, parent;
    uint32_t fn;
    bool by_plugin, done, cancelled;
    unsigned shown; /* its number in the trace */
    void *frame;    /* by_plugin: the request as it was said */
    struct wire_decoder decoder;
};

struct kit_timer {
    uint64_t handle, due;
    chela_callback *fn;
    void *arg;
};

struct kit_work {
    chela_callback *job, *done;
    void *arg;
};

struct kit {
    struct chela_inst inst; /* first */
    struct chela_host host;
    const struct chela_iface *iface;
    struct kit_setup setup;
    char *name;
    uint64_t now_ms, last_host_call, last_plugin_call, last_handle;
    struct kit_call calls[KIT_CALLS];
    size_t call_count;
    unsigned shown, errors;
    struct kit_timer timers[KIT_TIMERS];
    struct kit_work work[KIT_WORK];
    size_t work_count, watch_count;
    void **said; /* frames that wait to be read */
    size_t said_count;
    struct kit_text trace, text, thinking, tool_arguments[KIT_TOOL_CALLS],
        tool_name[KIT_TOOL_CALLS], tool_id[KIT_TOOL_CALLS];
    void *done_frame, *usage_frame, *published[KIT_KINDS];
    struct wire_decoder done, usage, lists[KIT_KINDS];
    bool draining;
};

static inline struct kit *kit_of(struct chela_inst *in)
{
    return (struct kit *)(void *)in;
}

/* kit_host.c: the host's table */
void kit_host_fill(struct kit *k);
void kit_say(struct chela_inst *in, uint32_t fn, const void *args);

/* kit_trace.c */
void kit_print(struct kit *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kit_text_add(struct kit_text *t, const char *p, size_t n);
void kit_trace_args(struct kit *k, const struct wire_function *f, const void *args, unsigned call);
void kit_contract(struct kit *k, const char *what, const struct wire_function *f);

/* kit.c */
struct kit_call *kit_find(struct kit *k, uint64_t id, bool by_plugin);
void kit_drain(struct kit *k);

#endif
