/*
 * chela/plugin.h - the descriptor that a plugin exports, its interfaces and their options.
 *
 * A plugin is a shared object that exports one constant, <module>_LTX_chela_plugin, where <module>
 * is the file's name without ".so". The host reads it before it calls anything, copies the tables
 * into zeroed structs of its own size, and calls a slot only where it is not NULL.
 */
#ifndef CHELA_PLUGIN_H
#define CHELA_PLUGIN_H

#include <chela/base.h>

/* Types of an option. What libconfig holds is checked against them when the configuration is read.
 */
enum {
    CHELA_STRING = 1,
    CHELA_INT = 2,  /* 64 bits */
    CHELA_BOOL = 3, /* reads as 0 or 1 */
    CHELA_DURATION =
        4, /* "250ms", "10s", "5m", "2h", "1d", or a number of seconds; reads as milliseconds */
    CHELA_SIZE = 5,  /* "64k", "10M", "1G" or a number of bytes; reads as bytes */
    CHELA_LIST = 6,  /* list of strings */
    CHELA_ITEMS = 7, /* list of groups, each with the options of `items` */
    CHELA_REF = 8,   /* name of another instance or "instance/model"; its existence is checked */
    CHELA_REAL = 9   /* floating point; reads as text, or through number() in millionths */
};

/* Flags of an option. */
enum {
    CHELA_REQUIRED = 1,
    CHELA_SECRET = 2,      /* never shown; reads as "${secret:PATH}", see local->option */
    CHELA_RELOAD = 4,      /* may change while the instance runs; see chela_iface.check */
    CHELA_DEPRECATED = 8,  /* accepted with a warning */
    CHELA_REVEAL = 16,     /* with CHELA_SECRET: the plugin reads the secret itself */
    CHELA_URL = 32,        /* a string that is a URL; secrets may go to its host */
    CHELA_FOR_DEFAULT = 64 /* the fallback counts only for the instance that exists without
                              configuration, and that exists only if this has a value: its key */
};

/* One option. Tables end with an entry whose name is NULL; chela_iface.option_size is the stride,
 * so that entries can grow.
 *   name      a dot in it is a group in the file: "limits.time" is limits : { time = ...; }
 *   fallback  the default, as it would stand in the file but without quotes ("10s", "true",
 *             "a, b"), NULL = none. "${NAME}" in it is a variable of the environment; where that
 *             isn't set, the option is absent.
 *   items     of CHELA_ITEMS: the options of each group. Of CHELA_STRING: the values that it may
 *             have, each with its help; their `fallback` is what a value stands for, and with
 *             CHELA_URL that is the URL to which the instance's secrets may go (preset = "groq").
 */
struct chela_option {
    const char *name;
    uint32_t type, flags;
    const char *fallback, *help;
    const struct chela_option *items;
};

struct chela_host;

/* One configured instance. `name` is its name in the configuration; `self` belongs to the plugin.
 */
struct chela_inst {
    const struct chela_host *host;
    const char *name;
    void *self;
};

struct chela_http_event;
struct chela_ws_event;
struct chela_output;
struct chela_rows;
struct chela_channel;
struct chela_provider;
struct chela_router;
struct chela_tool;
struct chela_store;
struct chela_hook;
struct chela_service;

/*
 * One type of instance. Roles are the pointers at the end: an instance may have several (a channel
 * with a tool on the same connection). Every function runs on the loop thread [loop] and returns at
 * once. All but `open` are void: how a call went is said by host->answer->done, once.
 *
 *   open    [loop] local: check the options, allocate `self`, start nothing. Returns CHELA_OK or an
 *           error class; the reason goes to local->log at CHELA_ERR. Never a call.
 *   close   [loop] local: free `self`. No host function of the instance may be called after it.
 *   start   [loop] call, ends by done within 30 s: connect, publish lists. NULL: nothing to do.
 *   stop    [loop] call, ends by done within 10 s: no new calls come, all running ones have ended.
 *   check   [loop] call: the options read now are those of a new configuration; done says whether
 *           they can be used. Must not change anything.
 *   apply   [loop] call: use them. Comes only after every instance's check said CHELA_OK.
 *           An instance without apply is stopped, closed, opened and started anew.
 *   cancel  [loop] the call h.call shall end soon; it still ends by done (any error class, or OK if
 * it came that far). Mostly NULL: the requests whose `parent` is the call are cancelled anyway.
 *   http    [loop] event of a request of mine (net.h)
 *   ws      [loop] event of a WebSocket of mine (net.h)
 *   output  [loop] bytes of a process of mine (process.h)
 *   rows    [loop] rows of a query of mine (kv.h)
 *   done    [loop] end of a call that I began: request, submit, process ...; told apart by h.tag
 */
struct chela_iface {
    uint32_t size, option_size;
    const char *type;    /* what the configuration says in `type`, e.g. "telegram" */
    const char *summary; /* one line for people */
    uint64_t caps;       /* bits CHELA_CAP_* */
    const struct chela_option *options;
    int32_t (*open)(struct chela_inst *);
    void (*close)(struct chela_inst *);
    void (*start)(struct chela_inst *, const struct chela_arg *);
    void (*stop)(struct chela_inst *, const struct chela_arg *);
    void (*check)(struct chela_inst *, const struct chela_arg *);
    void (*apply)(struct chela_inst *, const struct chela_arg *);
    void (*cancel)(struct chela_inst *, const struct chela_arg *);
    void (*http)(struct chela_inst *, const struct chela_http_event *);
    void (*ws)(struct chela_inst *, const struct chela_ws_event *);
    void (*output)(struct chela_inst *, const struct chela_output *);
    void (*rows)(struct chela_inst *, const struct chela_rows *);
    void (*done)(struct chela_inst *, const struct chela_done *);
    const struct chela_channel *channel;
    const struct chela_provider *provider;
    const struct chela_router *router;
    const struct chela_tool *tool;
    const struct chela_store *store;
    const struct chela_hook *hook;
    const struct chela_service *service;
};

/* chela_iface.caps:
 *   CHELA_CAP_DEFAULT  an instance named like its type exists without configuration
 *   CHELA_CAP_LOCAL    provider: runs on this machine, costs nothing per token
 */
#define CHELA_CAP_DEFAULT ((uint64_t)1)
#define CHELA_CAP_LOCAL   ((uint64_t)2)

/* The descriptor. `name` is the module's name; `license` an SPDX expression; `origin` a URL or "".
 */
struct chela_plugin {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t size;
    uint16_t minor_need, zero;
    const char *name, *version, *summary, *license, *origin;
    const struct chela_iface *const *ifaces; /* ends with NULL */
};

#ifdef __cplusplus
#define CHELA_EXTERN extern "C" __attribute__((visibility("default")))
#else
#define CHELA_EXTERN extern __attribute__((visibility("default")))
#endif

/* Defines the descriptor: CHELA_PLUGIN(tool_clock, "1.0", "tells the time", "MIT", "",
 * &clock_iface) */
#define CHELA_PLUGIN(mod, ver, sum, lic, org, ...)                                                 \
    static const struct chela_iface *const mod##_ifaces[] = {__VA_ARGS__, NULL};                   \
    CHELA_EXTERN const struct chela_plugin mod##_LTX_chela_plugin;                                 \
    const struct chela_plugin mod##_LTX_chela_plugin = {CHELA_MAGIC,                               \
                                                        (uint16_t)CHELA_MAJOR,                     \
                                                        (uint16_t)CHELA_MINOR,                     \
                                                        (uint32_t)sizeof(struct chela_plugin),     \
                                                        (uint16_t)CHELA_MINOR_NEED,                \
                                                        0,                                         \
                                                        #mod,                                      \
                                                        ver,                                       \
                                                        sum,                                       \
                                                        lic,                                       \
                                                        org,                                       \
                                                        mod##_ifaces}

/* The first members of an interface table in C: CHELA_IFACE("clock", "tells the time", 0, options),
 */
#define CHELA_IFACE(type_, summary_, caps_, options_)                                              \
    .size = (uint32_t)sizeof(struct chela_iface),                                                  \
    .option_size = (uint32_t)sizeof(struct chela_option), .type = type_, .summary = summary_,      \
    .caps = caps_, .options = options_

#endif
