/*
 * chela/local.h - what a plugin asks of its own process, answered at once. Of an isolated plugin
 * that is the child: these functions and their callbacks never cross.
 */
#ifndef CHELA_LOCAL_H
#define CHELA_LOCAL_H

#include <chela/plugin.h>

enum { CHELA_ERR = 3, CHELA_WARN = 4, CHELA_INFO = 6, CHELA_DEBUG = 7 };
enum { CHELA_READABLE = 1, CHELA_WRITABLE = 2 };
enum { CHELA_COUNTER = 1, CHELA_GAUGE = 2 };

typedef void chela_callback(struct chela_inst *, void *arg);
typedef void chela_fd_callback(struct chela_inst *, uint32_t events, void *arg);

/*
 *   log         [any thread] one line, without a newline at its end; secrets are redacted
 *   option      [loop] text of an option: "url", "rules.0.model" (list elements by index); of an
 * absent one without fallback "". "$state" = the folder where the host keeps its state. Durations
 * and sizes as digits (ms, bytes). A secret reads as
 *               "${secret:PATH}", which the host fills in in URLs, headers and sign, for the hosts
 * of the instance's CHELA_URL options only; with CHELA_REVEAL it reads as itself. Valid until the
 * instance is closed (during check/apply: until they return). number      [loop] int; bool 0/1; ms;
 * bytes; of a list its length; 0 where absent new_call    [loop] an id for a call that I begin
 *   now_ms      [any thread] wall clock, milliseconds since 1970
 *   ticks_ms    [any thread] monotonic clock, for durations
 *   timer       [loop] calls fn once after `ms`; returns a handle, never 0
 *   timer_stop  [loop] forgets a handle; 0 and handles that have fired are fine
 *   watch       [loop] calls fn while fd is ready for `events`, CHELA_READABLE | CHELA_WRITABLE;
 *               returns a handle, 0 = not possible. The fd stays the plugin's: unwatch, then close.
 *   unwatch     [loop] the same
 *   post        [any thread] calls fn on the loop, soon
 *   work        [loop] runs `job` on a pool thread, without host access (log excepted), then `done`
 *               on the loop
 *   metric      [any thread] kind CHELA_COUNTER adds, CHELA_GAUGE sets; labels = `a="b",c="d"` or
 * "" Handles that are left at close are ended by the host, which names the instance in its log.
 */
struct chela_local {
    uint32_t size, zero;
    void (*log)(struct chela_inst *, uint32_t level, const char *line);
    struct chela_str (*option)(struct chela_inst *, const char *path);
    int64_t (*number)(struct chela_inst *, const char *path);
    uint64_t (*new_call)(struct chela_inst *);
    uint64_t (*now_ms)(struct chela_inst *);
    uint64_t (*ticks_ms)(struct chela_inst *);
    uint64_t (*timer)(struct chela_inst *, uint64_t ms, chela_callback *fn, void *arg);
    void (*timer_stop)(struct chela_inst *, uint64_t handle);
    uint64_t (*watch)(struct chela_inst *, int fd, uint32_t events, chela_fd_callback *fn,
                      void *arg);
    void (*unwatch)(struct chela_inst *, uint64_t handle);
    void (*post)(struct chela_inst *, chela_callback *fn, void *arg);
    void (*work)(struct chela_inst *, chela_callback *job, chela_callback *done, void *arg);
    void (*metric)(struct chela_inst *, uint32_t kind, const char *name, const char *labels,
                   double value);
};

#endif
