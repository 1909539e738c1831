/*
 * The test kit: a host in a box for one instance of a plugin. A test links the plugin's sources and
 * this, calls what the host would call, plays the part of the network, and reads what the plugin
 * said as lines of text. Time stands still until the test moves it. With `encoded` every call goes
 * through the encoder in both directions, as it does for a plugin in a process of its own: a test
 * that runs both ways and compares the traces has shown that the plugin keeps no pointer that it
 * was only lent.
 *
 * A mistake in the plugin's use of the SDK (an event after done, done twice, a timer left at close
 * ...) is a line "contract: ..." in the trace, and counted.
 */
#ifndef CHELA_TESTKIT_KIT_H
#define CHELA_TESTKIT_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>
#include <wire/functions.h>

struct kit;

struct kit_setup {
    const struct chela_plugin *plugin; /* &provider_x_LTX_chela_plugin */
    const char *type;                  /* of its interfaces; NULL: the first */
    const char *name;                  /* of the instance; NULL: "test" */
    const struct chela_pair
        *options; /* as local->option reads them: lists as "models" = length, "models.0.name" */
    size_t option_count;
    bool encoded;
};

/* Opens the instance (not started). NULL: open said no; the trace of why is printed. */
struct kit *kit_open(const struct kit_setup *setup);
/* Closes it and frees all. Returns how many contract errors there were. */
unsigned kit_close(struct kit *k);
struct chela_inst *kit_instance(struct kit *k);

/* Calls a slot of the plugin; returns the call's id. What it says is in the trace when this
 * returns. */
uint64_t kit_call(struct kit *k, uint32_t fn, void *args);
void kit_cancel(struct kit *k, uint64_t call);
/* Calls start and checks that it went well. */
void kit_start(struct kit *k);

/* What the plugin said since the last kit_clear: a line each, "text call=1 text=\"Hello\"". Fields
 * that are zero are left out; ids count from 1 in the order of their appearance. */
const char *kit_trace(struct kit *k);
void kit_clear(struct kit *k);
/* All text, thinking, and the done of the trace so far, joined: for tests that only look at the
 * outcome. */
const char *kit_text(struct kit *k);
const char *kit_thinking(struct kit *k);
/* The arguments of the tool call with that index, joined; NULL if none came. ret: its name and id.
 */
const char *kit_tool_call(struct kit *k, unsigned index, const char **ret_name,
                          const char **ret_id);
/* The last done of a call that the host began; NULL if none came. Valid until the next. */
const struct chela_done *kit_done(struct kit *k);
const struct chela_usage *kit_usage(struct kit *k);
/* Last published list of a kind. */
const struct chela_publish *kit_published(struct kit *k, uint32_t what);

/* A call that the plugin began and that is open: the newest of that function; NULL if there is
 * none. Its arguments are valid until it is answered. */
const void *kit_request(struct kit *k, uint32_t fn);
unsigned kit_open_requests(struct kit *k);
/* Events and the end of a request of the plugin. call: of the request's head. */
void kit_http_event(struct kit *k, uint64_t call, const char *name, const char *data,
                    size_t length);
void kit_tell(struct kit *k, uint64_t call, uint32_t fn, void *args); /* any other event */
void kit_answer(struct kit *k, uint64_t call, struct chela_done *done);
void kit_answer_ok(struct kit *k, uint64_t call, const char *text, size_t length);
void kit_answer_error(struct kit *k, uint64_t call, uint32_t error, uint32_t http_status,
                      const char *text);

/* Moves the clock and fires what is due, timers, posted and finished work. */
void kit_advance(struct kit *k, uint64_t ms);

/* A cmocka test twice, for the table of tests: directly and, with *state not NULL in set_up,
 * through the encoder. */
#define KIT_TWICE(test, set_up, tear_down)                                                         \
    {#test, test, set_up, tear_down, NULL},                                                        \
    {                                                                                              \
#test " (encoded)", test, set_up, tear_down, (void *)(uintptr_t)1                          \
    }

#endif
