/*
 * chela/answer.h - how a plugin answers the calls that the host began, and what it publishes.
 *
 * All functions are [loop], return at once and run nothing of the plugin or the host before they
 * return: what they say is copied into the run queue. Events of one call keep their order, done is
 * last; an event after done is a contract error that the log names. An instance that has more than
 * 4 MiB waiting loses events, and the call's done then says so (CHELA_E_PROTOCOL).
 */
#ifndef CHELA_ANSWER_H
#define CHELA_ANSWER_H

#include <chela/plugin.h>

/* A piece of text (provider: of the answer; tool: progress). Pieces add up; each is whole UTF-8. */
struct chela_text {
    struct chela_head h;
    struct chela_str text;
};

/* A piece of thinking; `signature` may come with any piece and replaces the one before. flags
 * CHELA_NEXT: this piece begins another thinking part. */
enum { CHELA_NEXT = 1 };
struct chela_thinking {
    struct chela_head h;
    struct chela_str text, signature;
};

/* A tool call: the first piece with an index names id and name ("" id: the host makes one); pieces
 * of arguments add up to a JSON object ("" = {}). flags CHELA_LAST: the arguments are complete. */
enum { CHELA_LAST = 1 };
struct chela_tool_call {
    struct chela_head h;
    uint32_t index, zero;
    struct chela_str id, name, arguments;
};

/* Tokens so far in this call; a later one replaces an earlier one. */
struct chela_usage {
    struct chela_head h;
    uint64_t in, out, cache_read, cache_write, reasoning;
};

/* The verdict that ends a route, prepare or hook call. Meaning of text, extra and candidates: where
 * the call is described. */
enum { CHELA_YES = 1, CHELA_NO = 2, CHELA_CHANGE = 3, CHELA_STOP_AFTER = 4 };
struct chela_decide {
    struct chela_head h;
    uint32_t verdict, zero;
    struct chela_str text, extra;
    struct chela_pairs candidates;
};

/* Rows of a store's query: `columns` values for each. */
struct chela_rows {
    struct chela_head h;
    uint32_t columns, zero;
    struct chela_values values;
};

/* A list that replaces the instance's last one of the same kind. `revision` rises. */
enum {
    CHELA_MODELS = 1,   /* name, JSON {"name","context","max_output","tools","images","thinking",
                           "price_in","price_out","price_cache_read","price_cache_write","local",
                           "aliases":[],"long_over","long_price_in","long_price_out",
                           "long_price_cache_read"}; prices per million tokens, those of long
                           requests from more than long_over tokens on */
    CHELA_TOOLS = 2,    /* tool.h */
    CHELA_COMMANDS = 3, /* service.h, likewise methods, routes, prompts */
    CHELA_METHODS = 4,
    CHELA_ROUTES = 5,
    CHELA_PROMPTS = 6,
    CHELA_STATE = 7 /* name "state": value = JSON {"ok": bool, "text": what a person should know};
                       name "accounts": JSON array of a channel's accounts */
};
struct chela_publish {
    struct chela_head h;
    uint32_t what, zero;
    uint64_t revision;
    struct chela_pairs items;
};

struct chela_answer {
    uint32_t size, zero;
    void (*done)(struct chela_inst *, const struct chela_done *);
    void (*text)(struct chela_inst *, const struct chela_text *);
    void (*thinking)(struct chela_inst *, const struct chela_thinking *);
    void (*tool_call)(struct chela_inst *, const struct chela_tool_call *);
    void (*usage)(struct chela_inst *, const struct chela_usage *);
    void (*decide)(struct chela_inst *, const struct chela_decide *);
    void (*rows)(struct chela_inst *, const struct chela_rows *);
    void (*publish)(struct chela_inst *, const struct chela_publish *);
};

#endif
