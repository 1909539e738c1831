/*
 * Messages of a service on their way to the host: events wait in a queue, one is read at a time,
 * its files are fetched, one after the other, then it is submitted and the next one is read. Called
 * by channel plugins, which read an event's facts and say how a file is fetched. Never decides
 * whether the service may be told that we have it: `over` does.
 */
#ifndef CHELA_SUPPORT_INCOMING_H
#define CHELA_SUPPORT_INCOMING_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>

#include "support/fetch.h"
#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_queue;

struct chela_arrival {
    struct chela_peer *p;
    struct chela_queue *queue;
    json_object *event; /* that it is read from */
    json_object *facts; /* strings, as in struct chela_submit: "kind", "event", "chat", "thread",
                           "sender", "sender_name", "text", "reply_to", "quote"; "extra": object */
    json_object *files; /* {"name","mime","size","reference"}, "hash" when one was fetched */
    size_t at;          /* the file whose turn it is */
    uint64_t version, time;
    uint32_t flags, chat_type;
    bool handed; /* to the host; without it the next one was not read yet when it ended */
};

/* What the plugin does with an event. */
struct chela_reading {
    /* Fills in a; false: there is nothing in it for us, and nothing ends. */
    bool (*read)(struct chela_arrival *a);
    chela_bring_fn *bring; /* its files */
    /* Its end; before it is freed. */
    void (*over)(struct chela_arrival *a, const struct chela_done *d);
    /* All that was pushed is read, and over; may free the queue. NULL: nothing. */
    void (*empty)(struct chela_queue *q);
};

struct chela_queue {
    struct chela_peer *p;
    const struct chela_reading *how;
    json_object *events;
    size_t at;        /* the first of them that was not read yet */
    unsigned waiting; /* that were read and are not over */
    bool running, busy;
};

void chela_queue_open(struct chela_queue *q, struct chela_peer *p, const struct chela_reading *how);
/* After chela_peer_close(). */
void chela_queue_close(struct chela_queue *q);
/* Takes the event over. */
void chela_queue_push(struct chela_queue *q, json_object *event);
/* Reads until one has to wait for its files, or all are read. */
void chela_queue_run(struct chela_queue *q);
/* Those that were not read yet: how many, the first of them (NULL: none), and without it, or
 * without all. */
size_t chela_queue_length(const struct chela_queue *q);
json_object *chela_queue_first(const struct chela_queue *q);
void chela_queue_skip(struct chela_queue *q);
void chela_queue_drop(struct chela_queue *q);

/* ---- what a plugin fills in ---- */

/* text NULL: "". */
void chela_arrival_put(struct chela_arrival *a, const char *fact, const char *text);
void chela_arrival_put_number(struct chela_arrival *a, const char *fact, int64_t number);
/* A fact of the service's own; NULL: none. */
void chela_arrival_extra(struct chela_arrival *a, const char *name, const char *text);
void chela_arrival_from(struct chela_arrival *a, const char *id, const char *name,
                        const char *username);
/* Where it was written; direct: nobody else is there. thread NULL: in none. */
void chela_arrival_place(struct chela_arrival *a, bool direct, const char *chat,
                         const char *thread);
/* A file, at most 32 of a message. reference: what `bring` needs, NULL: it is left out. url: its
 * address at the moment, or NULL. */
void chela_arrival_add(struct chela_arrival *a, const char *reference, const char *url,
                       const char *name, const char *mime, int64_t size);

/* Whether it is stored, or refused for good: the service may forget it. */
bool chela_arrival_settled(const struct chela_done *d);

#pragma GCC visibility pop
#endif
