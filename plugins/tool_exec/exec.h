/*
 * What the files of the tool share: the instance's state, a running command, and who calls whom:
 * tool_exec.c (the plugin) -> judge.c (what a call is), launch.c (starts it), session.c (leads it
 * to its end), process.c (the `process` tool).
 */
#ifndef TOOL_EXEC_EXEC_H
#define TOOL_EXEC_EXEC_H

#include <chela/chela.h>

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "output.h"
#include "risk.h"
#include "screen.h"
#include "support/json.h"

enum { EXEC_ROWS = 40, EXEC_COLUMNS = 120 };

/* ---- the instance ---- */

struct session;

struct exec {
    struct risk_table *table; /* built in and the admin's lines */
    struct session *sessions; /* newest first */
    unsigned last;            /* number of the newest */
    uint64_t stopping;        /* call of stop, while commands still end */
    enum { BWRAP_UNKNOWN, BWRAP_ASKED, BWRAP_WORKS, BWRAP_ABSENT } bwrap;
};

static inline struct exec *exec_of(struct chela_inst *in)
{
    return in->self;
}

void *exec_allocate(size_t size); /* zeroed; aborts if there is none */

/* ---- judge.c: what a call is; used by prepare and again by run, so that both judge alike ---- */

struct judged {
    json_object *arguments;
    struct command command;
    struct command_paths *paths;
    struct risk_result risk;
    char *binding;
};

/* NULL with a sentence in `error` if the arguments can't be used. */
struct judged *judge(struct chela_inst *in, const struct chela_tool_run *r, char *error,
                     size_t size);
void judged_free(struct judged *j);
/* The admin's lines (options rules, rules_file) over the built-in ones; NULL with a sentence. */
struct risk_table *judge_table(struct chela_inst *in, char *error, size_t size);

/* ---- session.c: a command that was started ---- */

struct waiter;

struct session {
    struct session *next;
    struct chela_inst *in;
    char id[16];
    char *owner; /* session key of the conversation; nobody else sees it */
    char *line, *directory, *kind, *agent;
    struct judged *judged; /* until it is launched */
    enum risk_level risk;
    bool pty, kept; /* kept: it went to the background, so its end is told by poll only */
    bool ended, killed;
    uint64_t process;       /* the host's call; 0: not launched, or ended */
    uint64_t call;          /* exec's call that waits for it; 0: none */
    uint64_t yield, expiry; /* timers */
    uint64_t yield_ms;
    uint64_t started_ms, ended_ms;
    struct output output;                /* until the call that waits has it */
    struct chela_json_utf16_carry carry; /* of the progress */
    struct screen *screen;               /* made when it goes to the background */
    struct raw {
        char *p; /* a ring */
        size_t size, at, n;
        uint64_t total, seen; /* seen: when its screen was last shown */
    } raw;
    struct waiter *waiters;
    json_object *about; /* how it ended */
    uint32_t error;
    char *why;
};

struct session *session_new(struct chela_inst *in, const struct chela_tool_run *r,
                            struct judged *j);
void session_output(struct session *s, const char *bytes, size_t n);
void session_end(struct session *s, const struct chela_done *d);
void session_free(struct session *s); /* also takes it off the list */
/* By id, or the newest ("" or NULL), among those of a conversation. */
struct session *session_find(struct exec *e, struct chela_str owner, const char *id);
struct session *session_of_call(struct exec *e, uint64_t call);
/* From now on it runs beside: the call that waits is answered. */
void session_yield(struct session *s);
void session_kill(struct session *s);
struct screen *session_screen(struct session *s);
/* "running for 3 s", "exit code 1", "ended by signal 9" */
void session_state(const struct session *s, char *text, size_t size);
json_object *session_details(const struct session *s);

/* ---- launch.c ---- */

/* Starts its process, as soon as it is known whether bubblewrap works. */
void launch(struct session *s);
/* done of a call of our own that has no session: the look for bubblewrap. */
void launch_probed(struct chela_inst *in, const struct chela_done *d);

/* ---- process.c ---- */

extern const char process_manifest[];
void process_prepare(struct chela_inst *in, const struct chela_tool_run *r);
void process_run(struct chela_inst *in, const struct chela_tool_run *r);
/* New output, or the end, for those that wait for it. */
void process_tell(struct session *s);
/* True if the call was one that waits. */
bool process_cancel(struct chela_inst *in, uint64_t call);

#endif
