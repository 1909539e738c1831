/*
 * For tests of calls: a plugin, mostly tests/plugin/contract, in this process or in a child, and a
 * trace of all that happens. Host calls are named h1, h2 ... and those of the plugin p1, p2 ... in
 * the order in which they were seen first, so that traces of both places can be compared.
 */
#ifndef TESTS_HOST_KIT_H
#define TESTS_HOST_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "host/call.h"
#include "host/instance_private.h"

enum kit_place { KIT_HERE, KIT_CHILD };

struct kit {
    struct plugin *plugin;
    struct instance *in; /* kit_open's */
    enum kit_place place;
    struct buf trace;   /* a line for each thing that happened */
    bool answer_cancel; /* the handler ends a request as soon as it is cancelled */
    bool quiet_text;    /* texts are counted, not traced */
    uint64_t texts, text_bytes;
    unsigned ended; /* what isolate_on_end said */
};

extern struct kit kit;

void kit_open(enum kit_place place); /* loop, queue, plugin, one running instance */
/* The same with another plugin of tests/plugin, and no instance yet (kit.in is the caller's). */
void kit_open_plugin(enum kit_place place, const char *name);
void kit_close(void);
/* Another instance of the same plugin; `options`: pairs of path and value, ends with NULL. */
struct instance *kit_instance(const char *name, const char *const *options);
struct instance *kit_instance_of(const char *type, const char *name, const char *const *options);
void kit_free(struct instance *in);

/* Runs the loop until the plugin has done all it was told, and all it said was heard. */
void kit_sync(void);
/* Runs it until the trace has the line. */
void kit_wait(const char *line);
/* One command of the contract plugin's script, executed at once. */
void kit_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Begins a call of the tool; returns its id. */
uint64_t kit_run(const char *script, uint64_t deadline_ms, uint64_t parent);
uint64_t kit_prepare(const char *script);
extern const struct call_ops kit_ops;

/* The trace so far, and an empty one from now on. */
char *kit_trace(void);
void kit_expect(const char *trace);
void kit_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Short name of a call ("h3"), and the id of the n-th one of a kind ('h', 'p'). */
const char *kit_name(uint64_t id);
uint64_t kit_id(char kind, unsigned n);

#endif
