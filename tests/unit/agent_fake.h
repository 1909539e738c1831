/*
 * A world for tests of the agent: fakes, at link level, of the loop (on the fake clock), calls,
 * instances, settings and the journal. Plugins are functions of the test; what they say is
 * delivered from the top of the fake loop, as the host does it. The journal keeps its rows over a
 * fake crash.
 */
#ifndef TESTS_AGENT_FAKE_H
#define TESTS_AGENT_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "host/instance.h"

struct json_object;

/* ---- the world ---- */
void fake_open(void);           /* empty; clock at a fixed time; the agent not started */
void fake_close(void);          /* everything freed; the agent reset */
void fake_run(void);            /* until nothing is due at this time */
void fake_advance(uint64_t ms); /* moves the clock, timers fire in order */
void fake_start_agent(void);    /* agent_start(), waits until it is ready */
/* The process is gone: calls, timers, memory; the journal's rows stay. Then start again. */
void fake_crash(void);

/* ---- settings ---- */
void fake_set(const char *path, const char *value); /* numbers as digits */

/* ---- instances ---- */
struct instance *fake_instance(const char *name, enum role role, const struct chela_iface *iface);
void fake_publish(struct instance *in, uint32_t what, const char *name, const char *json);
void fake_unpublish(struct instance *in, uint32_t what);
void fake_state(struct instance *in, enum instance_state s);

/* ---- plugins' side of calls ---- */
/* Called inside call_begin(), as a plugin's slot is; says things by the functions below. */
typedef void fake_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args);
void fake_on(uint32_t fn, fake_slot *slot);
void fake_text(uint64_t call, const char *text);
void fake_thinking(uint64_t call, const char *text, const char *signature);
void fake_tool_call(uint64_t call, uint32_t index, const char *id, const char *name,
                    const char *arguments, bool last);
void fake_usage(uint64_t call, uint64_t in, uint64_t out);
void fake_done(uint64_t call, uint32_t error, const char *text, const char *extra, uint32_t flags,
               uint64_t retry_after);
void fake_decide(uint64_t call, uint32_t verdict, const char *text, const char *extra,
                 const struct chela_pair *candidates, uint64_t count);
bool fake_is_open(uint64_t call);
unsigned fake_open_calls(void);
/* A cancelled call ends by itself with CANCELLED unless this is false. */
extern bool fake_cancel_ends;
/* The key that the n-th call of a model was told to use, from 0. */
unsigned fake_key(unsigned n);

/* A plugin submits a message; returns a number for fake_answer(). */
uint64_t fake_submit(struct instance *in, const struct chela_submit *args);
/* How a call of a plugin was answered: NULL while it is open, else "OK text" or "class text". */
const char *fake_answer(uint64_t id);

/* ---- the journal ---- */
/* Names of all commits so far, a '!' behind barriers: "inbound! start attempt final!". */
const char *fake_journal_log(void);
void fake_journal_log_clear(void);
/* The next commit of this name ends with this class. */
void fake_journal_fail(const char *name, uint32_t class);
unsigned fake_messages(const char *session);
/* role and body of the n-th message of a session, from 0. */
const char *fake_message_role(const char *session, unsigned n);
const char *fake_message_body(const char *session, unsigned n);
const char *fake_run_state(const char *run);
const char *fake_call_state(const char *call);
const char *fake_chunk_state(const char *key);
const char *fake_inbox_state(const char *id); /* "waiting", "consumed", "dropped" */
/* A session with n messages back and forth, as if they had been. */
void fake_fill(const char *session, unsigned messages, unsigned bytes);

/* ---- events ---- */
/* All EVENT_CHAT and EVENT_AGENT payloads so far, one JSON a line, with "chat " or "agent " in
 * front. */
const char *fake_events(void);
void fake_events_clear(void);

#endif
