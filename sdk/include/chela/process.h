/*
 * chela/process.h - child processes: in their own process group, ended whole, never with the
 * daemon's environment or descriptors.
 */
#ifndef CHELA_PROCESS_H
#define CHELA_PROCESS_H

#include <chela/plugin.h>

/* chela_spawn.h.flags */
enum {
    CHELA_PTY = 1,   /* on a terminal of rows x columns; else pipes */
    CHELA_LINED = 2, /* output events are whole lines (a longer one than 1 MiB is cut) */
    CHELA_STDIN = 4  /* pipes: keep standard input open for write; else it is empty */
};

/* Confinement. WORKSPACE: writes only below `directory` and temporary folders; READ_ONLY: nowhere.
 * NO_NET as a bit beside them. What the kernel lacks is said in done.extra "unconfined". */
enum {
    CHELA_CONFINE_NONE = 0,
    CHELA_CONFINE_WORKSPACE = 1,
    CHELA_CONFINE_READ_ONLY = 2,
    CHELA_CONFINE_NO_NET = 16
};

/*
 * Starts a process. arguments: value = one argument each (names empty); the first is the program,
 * an absolute path or looked up in the given PATH. environment: the whole of it (a PATH, HOME,
 * LANG, TERM, USER are added where they lack). limits: JSON
 * {"cpu_s","memory","processes","files","file_size"}, all optional. timeout_ms: the whole group is
 * ended then, 0 = none. Events: output. done: extra = {"exit": code} or {"signal": number},
 * "timed_out", "pid".
 */
struct chela_spawn {
    struct chela_head h;
    uint64_t parent, timeout_ms;
    uint32_t confine, rows, columns, zero;
    struct chela_str directory, limits;
    struct chela_pairs arguments, environment;
};

/* stream 1 = standard output or the terminal, 2 = standard error */
struct chela_output {
    struct chela_head h;
    uint32_t stream, zero;
    struct chela_str data;
};

/* Writes to the process h.call. flags CHELA_LAST: then closes its standard input. */
struct chela_write {
    struct chela_head h;
    struct chela_str data;
};

/* Window size (rows, columns > 0) and/or a signal to the whole group (signal > 0). */
struct chela_control {
    struct chela_head h;
    uint32_t rows, columns, signal, zero;
};

struct chela_process {
    uint32_t size, zero;
    void (*spawn)(struct chela_inst *, const struct chela_spawn *);
    void (*write)(struct chela_inst *, const struct chela_write *);
    void (*control)(struct chela_inst *, const struct chela_control *);
};

#endif
