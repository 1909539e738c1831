/*
 * A small host for one store instance, for the programs in this folder: loads the plugin's file,
 * gives it options, a clock that a test can move, and a loop; collects rows and dones. Knows no
 * engine.
 */
#ifndef TESTS_STORE_FAKE_H
#define TESTS_STORE_FAKE_H

#include <chela/chela.h>
#include <stdbool.h>

struct fake;

/* How a call ended. */
struct outcome {
    uint64_t call, tag; /* tag: the test's */
    bool done;
    uint32_t error, flags;
    char *text; /* with a NUL behind it */
    size_t length;
    struct chela_value *values; /* of all rows; they own their bytes */
    size_t count;
    uint32_t columns;
    unsigned portions; /* rows events */
    struct outcome *next;
};

/* For a program with a loop of its own: told on any thread that fake_poll has something to do;
 * answers go there instead of into outcomes. */
struct fake_hooks {
    void (*posted)(struct fake *f);
    void (*done)(const struct chela_done *d);
    void (*rows)(const struct chela_rows *r);
};
void fake_set_hooks(struct fake *f, const struct fake_hooks *hooks);
bool fake_poll(struct fake *f); /* false: there was nothing */

/* options: "name=value" ..., NULL at the end. NULL with a message on standard error on failure. */
struct fake *fake_open(const char *plugin, const char *const *options);
/* Stops the instance, closes it, frees all outcomes. */
void fake_close(struct fake *f);
struct chela_inst *fake_instance(struct fake *f);
const struct chela_store *fake_store(struct fake *f);
const struct chela_iface *fake_iface(struct fake *f);
void fake_advance(struct fake *f, uint64_t ms); /* moves both clocks on */

/* A new call: its id goes into the head of what is then given to the plugin. */
struct outcome *fake_call(struct fake *f);
/* Runs the loop until the call is done; returns its error class. */
uint32_t fake_wait(struct fake *f, struct outcome *o);
/* One pass; waits for something to happen. */
void fake_turn(struct fake *f);
void fake_forget(struct fake *f, struct outcome *o); /* done ones only: frees it */
/* Lines that the plugin logged, newest last, joined; for messages that must name something. */
const char *fake_log(struct fake *f);

#endif
