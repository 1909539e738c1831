/*
 * What every channel plugin of a service in the network needs beside the service's own words: the
 * requests that are under way, calls of a JSON API, what people are told of the connection, the
 * time to wait before the next try, values that are kept, refusals for a while. One struct for each
 * instance; all on the loop thread. Nothing here tries a request again.
 */
#ifndef CHELA_SUPPORT_PEER_H
#define CHELA_SUPPORT_PEER_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/text.h"

#pragma GCC visibility push(hidden)

struct chela_peer;

typedef void chela_ended_fn(struct chela_peer *p, void *owner, const struct chela_done *d);

/* How a call of the service's API ended. body is borrowed, NULL if it is no JSON. */
struct chela_reply {
    uint32_t error, flags, status;
    uint64_t retry_after_ms;
    const char *text; /* what the service said is wrong, or the host; "" if nothing is */
    json_object *body;
    const struct chela_done *done;
};
typedef void chela_reply_fn(struct chela_peer *p, void *owner, const struct chela_reply *r);
/* Reads the service's own way to say what is wrong into r. */
typedef void chela_reply_reader(struct chela_reply *r);

/* A request of ours that the host has not ended yet. */
struct chela_pending {
    struct chela_pending *next, *before;
    struct chela_peer *p;
    chela_ended_fn *fn;
    void *owner;
};

/* The first member of what the instance's `self` points to. */
struct chela_peer {
    struct chela_inst *in;
    chela_reply_reader *reader;
    struct chela_pending pending; /* the ring's head */
    bool closing, stopping;
    unsigned failures; /* tries in a row that went wrong; the plugin sets it to 0 */
    uint64_t timer, revision;
    char *said;         /* the state that was published last */
    json_object *until; /* route -> when it may be asked again, in ticks */
};

void chela_peer_open(struct chela_peer *p, struct chela_inst *in, chela_reply_reader *reader);
/* All that still wait are told CHELA_E_CANCELLED. */
void chela_peer_close(struct chela_peer *p);

/* A tag whose `fn` is called once, by chela_peer_done(). */
uint64_t chela_peer_tag(struct chela_peer *p, chela_ended_fn *fn, void *owner);
/* The plugin's `done` slot, where `self` is a chela_peer. */
void chela_peer_done(struct chela_inst *in, const struct chela_done *d);
/* Ends a call of the host's; nothing while the instance closes. */
void chela_peer_end(struct chela_peer *p, uint64_t call, const struct chela_done *d);

/* Fills in call and tag and begins the request; returns its call, 0 while the instance closes (fn
 * has been told then). */
uint64_t chela_peer_http(struct chela_peer *p, struct chela_http *a, chela_ended_fn *fn,
                         void *owner);
/* The same; the answer is read as JSON. */
uint64_t chela_peer_call(struct chela_peer *p, struct chela_http *a, chela_reply_fn *fn,
                         void *owner);

/* Publishes the state if it is another than before, and logs it. */
void chela_peer_say(struct chela_peer *p, bool ok, const char *text);
/* Calls fn later, and later each time: up to a minute, at least after `least` ms. */
void chela_peer_again(struct chela_peer *p, chela_callback *fn, void *arg, uint64_t least);

void chela_peer_keep(struct chela_peer *p, const char *key, const char *value);
void chela_peer_recall(struct chela_peer *p, const char *key, chela_ended_fn *fn, void *owner);

/* The commands that people may give: done.text = {"commands":[{"name","description"}]}. */
void chela_peer_commands(struct chela_peer *p, chela_ended_fn *fn, void *owner);
/* Pushes to `list` an object for each: {name_member: name, "description": at most `most` units}. */
void chela_commands_list(const struct chela_done *d, json_object *list, const char *name_member,
                         size_t count, int64_t units);

/* The service wants no request of this route for `ms`; its name "": of none. */
void chela_peer_block(struct chela_peer *p, const char *route, uint64_t ms);
/* How long it is to wait still, 0: not at all. */
uint64_t chela_peer_blocked(struct chela_peer *p, const char *route);

/* Bytes of the text in front of UTF-16 unit `units`. */
size_t chela_utf16_bytes(const char *s, size_t n, int64_t units);
/* The same text gives the same 24 characters [0-9a-f], another one others. */
void chela_fingerprint(const char *text, char out[25]);

#pragma GCC visibility pop
#endif
