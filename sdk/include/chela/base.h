/*
 * chela/base.h - the few types that cross between the host and a plugin.
 *
 * Everything that crosses is one of five shapes: u32, u64, a string (pointer and length), an array
 * of pairs, an array of values. So one table describes every function (sdk/wire/), and one encoder
 * serves them all, in the daemon or across a socket to another process.
 *
 * Pointers that come with a call are borrowed until the call returns; who wants to keep something
 * copies it. Nothing that crosses is ever freed by the other side.
 */
#ifndef CHELA_BASE_H
#define CHELA_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHELA_MAGIC 0x414c4843u /* "CHLA" read as a little-endian number */
#define CHELA_MAJOR 0u /* one major.minor for the whole SDK; major 0: not yet declared stable */
#define CHELA_MINOR 10u
#ifndef CHELA_MINOR_NEED
#define CHELA_MINOR_NEED 9u /* the oldest host minor that this plugin can live with */
#endif

/* A string: n bytes of UTF-8 unless a field says "bytes". From the host it is also NUL-terminated
 * (the NUL is not counted). {NULL, 0} means "". */
struct chela_str {
    const char *s;
    uint64_t n;
};

/* Frozen: arrays of it cross, so its layout never changes within a major. */
struct chela_pair {
    struct chela_str name, value;
};

struct chela_pairs {
    const struct chela_pair *v;
    uint64_t n;
};

/* Types of a value. CHELA_V_OP appears only in a batch (store.h): it begins a statement. */
enum {
    CHELA_V_NULL = 0,
    CHELA_V_INT = 1,   /* i */
    CHELA_V_REAL = 2,  /* d */
    CHELA_V_TEXT = 3,  /* s, UTF-8 without NUL */
    CHELA_V_BYTES = 4, /* s, any bytes */
    CHELA_V_OP = 5 /* i = number of a statement; the values up to the next one are its parameters */
};

/* Frozen, like chela_pair. */
struct chela_value {
    uint32_t type, zero;
    int64_t i;
    double d;
    struct chela_str s;
};

struct chela_values {
    const struct chela_value *v;
    uint64_t n;
};

/*
 * The first member of every argument struct.
 *   size   sizeof the struct as its sender knew it. Minors append fields at the end; what a sender
 *          didn't know reads as zero. The host always passes at least 512 readable, zeroed bytes.
 *   flags  bits of the function, 0 unless its doc line says otherwise
 *   call   id of the call that this begins, belongs to or ends; 0 = none. Ids are made by who
 * starts the call (the host, or a plugin by local->new_call), only rise, and are never used twice.
 *   tag    a number of who starts a call; it comes back with each event and with done
 */
struct chela_head {
    uint32_t size, flags;
    uint64_t call, tag;
};

/* Arguments of functions that need none: start, stop, check, apply, cancel. */
struct chela_arg {
    struct chela_head h;
};

/* Error classes, in chela_done.error and as the result of `open`. Append only; a receiver treats an
 * unknown one as CHELA_E_OTHER. */
enum {
    CHELA_OK = 0,
    CHELA_E_ARGS = 1,  /* the caller's mistake: bad argument, bad option, bad request (HTTP 400) */
    CHELA_E_AUTH = 2,  /* key or login refused (401, 403) */
    CHELA_E_RATE = 3,  /* too many requests (429); see retry_after_ms */
    CHELA_E_QUOTA = 4, /* no money or quota left (402) */
    CHELA_E_TOO_LONG = 5,     /* more than the other side takes: context window, text limit, 413 */
    CHELA_E_REFUSED = 6,      /* the service or a person said no for the content's sake */
    CHELA_E_NETWORK = 7,      /* could not connect, connection lost, 5xx */
    CHELA_E_TIMEOUT = 8,      /* a deadline passed */
    CHELA_E_CANCELLED = 9,    /* ended because it was cancelled */
    CHELA_E_GONE = 10,        /* the plugin, child or peer has ended */
    CHELA_E_PROTOCOL = 11,    /* the other side broke the format or this contract */
    CHELA_E_OTHER = 12,       /* none of the others */
    CHELA_E_OVERLOADED = 13,  /* the service is busy (503, 529) */
    CHELA_E_NOT_FOUND = 14,   /* no such model, chat, file, row, method */
    CHELA_E_UNSUPPORTED = 15, /* not something that this instance does */
    CHELA_E_DENIED = 16,      /* policy or a person forbade it */
    CHELA_E_CONFLICT =
        17,             /* store: a row that must be new exists, or one that must be there is not */
    CHELA_E_STALE = 18, /* store: the fence token is not the newest */
    CHELA_E_SKIPPED = 19, /* store: the batch named in `after` has not committed */
    CHELA_E_FULL = 20,    /* no space left */
    CHELA_E_BUSY = 21,    /* try again later */
    CHELA_E_UNKNOWN = 22  /* the outcome can't be known (yet) */
};

/* chela_done.h.flags */
enum {
    CHELA_RETRY = 1,     /* the same call may succeed later */
    CHELA_IS_ERROR = 2,  /* tool: the content tells of a failure */
    CHELA_TERMINATE = 4, /* tool: no further model call is wanted after this batch */
    CHELA_EFFECT = 8,    /* the call may have had an effect outside although it failed */
    CHELA_BLOB =
        16 /* text holds the hash of a blob instead of the content (it was above a limit) */
};

/*
 * Ends a call, exactly once, whether it went well or not. It never arrives before the function that
 * began the call has returned.
 *   error           CHELA_OK or a class
 *   http_status     status of the service's answer, 0 = none
 *   retry_after_ms  how long the service asked to wait, 0 = it didn't say
 *   text            on success the result (what it is, is said where the call is described), on
 *                   failure a sentence for a person: what, where, how to mend it
 *   extra           JSON object with details, or ""
 *   headers         of an HTTP answer, names in lower case
 */
struct chela_done {
    struct chela_head h;
    uint32_t error, http_status;
    uint64_t retry_after_ms;
    struct chela_str text, extra;
    struct chela_pairs headers;
};

/* A string literal as struct chela_str, for static tables. */
#define CHELA_LIT(text)                                                                            \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static inline struct chela_str chela_s(const char *s)
{
    struct chela_str r;
    r.s = s ? s : "";
    r.n = s ? (uint64_t)strlen(s) : 0;
    return r;
}

static inline struct chela_str chela_sn(const char *s, size_t n)
{
    struct chela_str r;
    r.s = n ? s : "";
    r.n = (uint64_t)n;
    return r;
}

static inline int chela_str_is(struct chela_str a, const char *b)
{
    size_t n = strlen(b);
    return a.n == n && (n == 0 || memcmp(a.s, b, n) == 0);
}

#endif
