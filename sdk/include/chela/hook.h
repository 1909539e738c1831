/*
 * chela/hook.h - a hook looks at, changes or blocks what passes at fixed points, in the order in
 * which the configuration lists the hooks.
 */
#ifndef CHELA_HOOK_H
#define CHELA_HOOK_H

#include <chela/plugin.h>

/* Points. In chela_hook.points as bits (1 << point). */
enum {
    CHELA_BEFORE_TOOL =
        1, /* json: {"callId","arguments",...}; CHANGE: text = new arguments; NO: text = why */
    CHELA_AFTER_TOOL =
        2, /* json: {"callId","content","isError",...}; CHANGE: text = JSON of what
              replaces content, isError, details; STOP_AFTER ends the run after the batch */
    CHELA_BEFORE_PROMPT =
        3, /* json: {"system","text"}; CHANGE: text = addition to the system prompt */
    CHELA_MESSAGE_IN = 4,    /* json: the one message form; NO drops it, CHANGE: text = new text */
    CHELA_MESSAGE_OUT = 5,   /* json: {"text",...}; NO suppresses it, CHANGE: text = new text */
    CHELA_SESSION_START = 6, /* json: {"session","agent"}; the verdict is ignored */
    CHELA_SESSION_END = 7
};

/* name = tool's or channel's name. The call is ended by decide; one that fails or is late (5 s)
 * blocks before a tool and is only logged elsewhere. */
struct chela_hook_event {
    struct chela_head h;
    uint32_t point, zero;
    struct chela_str name, session, json;
};

struct chela_hook {
    uint32_t size, points;
    void (*event)(struct chela_inst *,
                  const struct chela_hook_event *); /* [loop] call, ended by decide */
};

#endif
