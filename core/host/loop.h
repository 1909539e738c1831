/*
 * The event loop: one thread on which everything runs. Hides libuv; nobody else in the program but
 * core/host, core/net and core/proc includes <uv.h>.
 *
 * Timers follow base/clock.h: under a fake clock they fire when loop_turn() runs after
 * clock_fake_advance().
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Only the other end is gone, or has shut down its side; to be watched for beside, or without,
 * CHELA_READABLE. */
enum { LOOP_HANGUP = 4 };

typedef void loop_fn(void *arg);
typedef void
loop_fd_fn(uint32_t events,
           void *arg); /* CHELA_READABLE | CHELA_WRITABLE; HUP and errors as readable */

void loop_open(void); /* open already is fine */
/* Closes all handles and waits for their close callbacks. Returns how many timers and watches were
 * left, which it also logs. */
unsigned loop_close(void);
/* Runs until loop_stop(). */
void loop_run(void);
void loop_stop(void);
/* One pass: due timers, ready descriptors, deferred work. `wait`: block until something happens. */
void loop_turn(bool wait);

/* Calls fn once after ms. A handle is never 0 and never reused; stopping a fired or stopped one is
 * fine. */
uint64_t loop_timer(uint64_t ms, loop_fn *fn, void *arg);
void loop_timer_stop(uint64_t handle);

/* Watches a descriptor, one watch per descriptor at a time; NULL if it can't be watched (a regular
 * file, or watched already). Stop the watch before you close it. */
struct loop_watch;
struct loop_watch *loop_watch(int fd, uint32_t events, loop_fd_fn *fn, void *arg);
void loop_watch_change(struct loop_watch *w, uint32_t events); /* no system call if unchanged */
void loop_unwatch(struct loop_watch *w);                       /* NULL is fine */

/* Runs fn from the top of the loop, in this pass if called on the loop before its end. [loop] */
void loop_defer(loop_fn *fn, void *arg);
/* The same from any thread; wakes the loop. [any thread] */
void loop_post(loop_fn *fn, void *arg);
/* Runs job on a pool thread, then done on the loop. */
void loop_work(loop_fn *job, loop_fn *done, void *arg);
/* Calls fn on the loop when the process gets the signal; NULL fn: no longer. */
void loop_signal(int signal, loop_fn *fn, void *arg);

/* Called before each poll, as the last thing of a pass (the run queue, the HTTP server): registered
 * once at start, called in the order of registration. Returns true if more work is left, which
 * then waits for the next pass only until the descriptors were looked at. */
void loop_before_poll(bool (*fn)(void));
/* Work for one of these functions has come up: all are called (again) in this pass. */
void loop_again(void);
/* Number of the pass, to count what may be done in one. */
uint64_t loop_pass(void);

bool loop_on_thread(void); /* [any thread] */

struct uv_loop_s;
struct uv_loop_s *loop_uv(void); /* for core/net and core/proc */

#endif
