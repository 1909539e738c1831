/*
 * What every channel plugin of a service in the network needs beside the service's own words: the
 * requests that are under way, what people are told of the connection, the time to wait before the
 * next try, values that are kept. Calls of its API: api.h. One struct for each instance; all on the
 * loop thread. Nothing here tries a request again.
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

struct chela_api;
struct chela_peer;

typedef void chela_ended_fn(struct chela_peer *p, void *owner, const struct chela_done *d);

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
    const struct chela_api *api;
    struct chela_pending pending; /* the ring's head */
    bool closing, stopping;
    unsigned failures; /* tries in a row that went wrong; the plugin sets it to 0 */
    uint64_t timer, revision;
    char *said;        /* the state that was published last */
    json_object *kept; /* while they are recalled */
    /* api.c */
    json_object *until; /* route -> when it may be asked again, in ticks */
    uint64_t second;    /* of the clock, and how many requests it has seen */
    unsigned requests;
};

void chela_peer_open(struct chela_peer *p, struct chela_inst *in, const struct chela_api *api);
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

/* Publishes the state if it is another than before, and logs it. */
void chela_peer_say(struct chela_peer *p, bool ok, const char *text);
/* Calls fn later, and later each time: up to a minute, at least after `least` ms. */
void chela_peer_again(struct chela_peer *p, chela_callback *fn, void *arg, uint64_t least);

void chela_peer_keep(struct chela_peer *p, const char *key, const char *value);
/* Reads what was kept under keys with that prefix, as {key: value}; nothing comes while the
 * instance closes. chela_peer_rows is the plugin's `rows` slot. */
typedef void chela_recalled_fn(struct chela_peer *p, json_object *kept);
void chela_peer_recall(struct chela_peer *p, const char *prefix, chela_recalled_fn *fn);
void chela_peer_rows(struct chela_inst *in, const struct chela_rows *r);

/* Bytes of the text in front of UTF-16 unit `units`. */
size_t chela_utf16_bytes(const char *s, size_t n, int64_t units);
/* The same text gives the same 24 characters [0-9a-f], another one others. */
void chela_fingerprint(const char *text, char out[25]);

#pragma GCC visibility pop
#endif
