/*
 * A message of a service on its way to the host: its files are fetched first, one after the other,
 * then it is submitted. Called by channel plugins, which fill in the facts and say how a file is
 * fetched. Never decides whether the service may be told that we have it: `over` does.
 */
#ifndef CHELA_SUPPORT_INCOMING_H
#define CHELA_SUPPORT_INCOMING_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>

#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_arrival;
typedef void chela_arrival_fn(struct chela_arrival *a);
typedef void chela_arrival_over(struct chela_arrival *a, const struct chela_done *d);

/* The first member of the plugin's own struct. */
struct chela_arrival {
    struct chela_peer *p;
    json_object *facts; /* strings, as in struct chela_submit: "kind", "event", "chat", "thread",
                           "sender", "sender_name", "text", "reply_to", "quote"; "extra": object */
    json_object *files; /* {"name","mime","size","reference"}, "hash" when one was fetched */
    size_t at;          /* the file whose turn it is */
    uint64_t version, time;
    uint32_t flags, chat_type;
    chela_arrival_fn *fetch;  /* begins to fetch files[at]; then chela_arrival_file() */
    chela_arrival_fn *next;   /* it was handed over: the next one may come */
    chela_arrival_over *over; /* the end: frees it; without `handed` nothing was handed over */
    bool handed;
};

void *chela_arrival_open(struct chela_peer *p, size_t size);
void chela_arrival_free(struct chela_arrival *a);
/* At most 32 of a message; without a reference: not at all. */
void chela_arrival_add(struct chela_arrival *a, const char *reference, const char *name,
                       const char *mime, int64_t size);
/* Fetches and submits; ends by next, then over, or by over alone. */
void chela_arrival_go(struct chela_arrival *a);
/* files[at] came (d->text: the blob's hash) or did not. A failure that passes is the message's end;
 * others leave the file named only. */
void chela_arrival_file(struct chela_arrival *a, const struct chela_done *d);
void chela_arrival_no_file(struct chela_arrival *a, const struct chela_reply *r);
/* Whether it is stored, or refused for good: the service may forget it. */
bool chela_arrival_settled(const struct chela_done *d);

#pragma GCC visibility pop
#endif
