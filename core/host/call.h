/*
 * Calls: the host's asynchronous function calls into plugins, and the plugins' into the host. A
 * call is an id in one table; its states are OPEN, CANCELLING, DONE (absent and not above the last
 * id).
 *
 * Core code begins a call on an instance with call_begin() and gets its events and its one done
 * through `struct call_ops`, always from the top of the loop, never before call_begin() has
 * returned. Whether the instance lives in the daemon or in a child makes no difference here.
 *
 * Functions are named by sdk/wire/functions.h (CHELA_FN_PROVIDER_BEGIN ...), arguments are the
 * SDK's structs; head.size, head.call are filled in by call_begin().
 */
#ifndef HOST_CALL_H
#define HOST_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>

#include "host/instance.h"
#include "wire/functions.h"

struct call_ops {
    /* An event of the call: fn CHELA_FN_TEXT, _THINKING, _TOOL_CALL, _USAGE, _ROWS; args its
     * struct. May be NULL. */
    void (*event)(void *owner, uint64_t call, uint32_t fn, const void *args);
    /* The end, exactly once. A verdict arrives here too: `decide` isn't NULL then, and done is OK.
     */
    void (*done)(void *owner, uint64_t call, const struct chela_done *done,
                 const struct chela_decide *decide);
};

/*
 * Begins a call. `deadline_ms` (0 = none): cancelled then, and its done says CHELA_E_TIMEOUT (or
 * OK, if the plugin was done nevertheless). No done within 5 s of a cancel: the host ends it with
 * CHELA_E_GONE (CHELA_E_TIMEOUT if it was the deadline) and marks the instance stuck. An instance
 * that has no such slot, is stopped or gone: done comes with UNSUPPORTED or GONE; start, stop and
 * check without a slot are OK.
 * `parent`: 0, or a call whose cancel and end take this one along.
 * Returns the id, never 0.
 */
uint64_t call_begin(struct instance *in, uint32_t fn, void *args, uint64_t deadline_ms,
                    uint64_t parent, const struct call_ops *ops, void *owner);
/* Asks for the end. done still comes, once, and may say OK. Unknown and ended ids do nothing. */
void call_cancel(uint64_t id);
/* The owner goes away: events and done are dropped from now on, the call is cancelled. */
void call_forget(uint64_t id);
/* Sends something that is no call of its own (typing) to an instance. */
void call_tell(struct instance *in, uint32_t fn, void *args);

/*
 * The other direction: what plugins ask of the host, by function number. Registered once, by main
 * (the handlers live in layers above host/). `args` lives until the handler returns. For a function
 * that begins a call, the handler keeps `id` and ends it with call_answer(), at once or later;
 * events on the way with call_event(). For one that goes to a call (ws_send, write, control), `id`
 * is that call; for others (publish, receipt) it is 0.
 * `cancel`: the call `id` shall end soon (still by call_answer), or its instance has closed (then
 * call_answer does nothing). NULL: the call can't be cancelled, or is only waited for.
 */
typedef void call_handler(struct instance *in, uint64_t id, const void *args);
void call_handle(uint32_t fn, call_handler *begin,
                 void (*cancel)(struct instance *in, uint64_t id));
/* An event (CHELA_FN_HTTP_EVENT, ...) to the plugin that began `id`; dropped if that is done or
 * cancelled. head is filled in (h.flags is the caller's). */
void call_event(uint64_t id, uint32_t fn, void *args);
void call_answer(uint64_t id, struct chela_done *done); /* ends it; head is filled in */
void call_answer_error(uint64_t id, uint32_t class, const char *text);
/* The instance that a call belongs to (either direction), NULL if it is done. */
struct instance *call_instance(uint64_t id);
/* The call that it serves, 0: none, or it is done. */
uint64_t call_parent(uint64_t id);
/* Which one of the instance's keys the call and what serves it shall use; 0 until it is said. */
void call_set_key(uint64_t id, unsigned key);
unsigned call_key(uint64_t id);
/* Bytes sent to the call's instance that its process has not yet taken. Who carries a stream to a
 * plugin (HTTP, a child's output) stops reading while this is above CALL_WAITING_MAX. Of a plugin
 * in this process always 0. */
enum { CALL_WAITING_MAX = 1 << 20 };
size_t call_waiting(uint64_t id);

/* For status and tests. */
unsigned call_count(void);
/* Once at start, after loop_open(): the run queue, and the way from plugins' thunks into it. */
void call_open(void);
/* Ends the table: drops all calls without telling anyone. */
void call_close(void);

/* ---- for instance.c and isolate.c ---- */

/* Makes the instance ready for calls, once after it was allocated; undone before it is freed. */
void call_attach(struct instance *in);
void call_detach(struct instance *in);
/* The next number for an instance that is being opened. */
uint32_t call_number(void);
/* Cancels all calls to and from it. */
void call_cancel_all(struct instance *in);
/* Calls fn from the top of the loop once no call of the instance is open. One at a time. */
void call_when_idle(struct instance *in, void (*fn)(void *arg), void *arg);
/* Ends all that is open: the host's calls get `class` and `text` behind what already waits, the
 * plugin's are taken from their handlers. Returns how many there were of the plugin's. */
unsigned call_end_all(struct instance *in, uint32_t class, const char *text);
/* Told when an instance did not end a cancelled call; its state is set. */
void call_on_stuck(void (*fn)(struct instance *in));

#endif
