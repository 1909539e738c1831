/*
 * A session's history as a model gets it: read from the journal once, then kept up to date by the
 * running turn, each message in the form that the provider rendered. Sessions that were used lately
 * stay in memory within one limit of bytes (an LRU); a turn on such a session costs the same
 * whatever its length. Called by context.c, turn.c, compaction.c, commands.c.
 */
#ifndef AGENT_TRANSCRIPT_H
#define AGENT_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/base.h>

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"
#include "host/instance.h"

struct json_object;

enum entry_role { ENTRY_USER, ENTRY_ASSISTANT, ENTRY_TOOL, ENTRY_NONE };

struct entry {
    uint64_t seq;
    uint64_t sum; /* tokens up to this one and with it, since the first entry */
    enum entry_role role;
    bool calls, media;
    uint32_t tokens;
    char *body, *rendered; /* body: JSON array of parts */
    size_t body_n, rendered_n;
};

struct transcript {
    struct link lru;
    unsigned refs;
    bool loaded, gap,
        stale; /* gap: in seq, found while reading; stale: read again at the next use */
    char *session, *id, *agent;
    struct json_object *fields; /* journal_session_patch's */
    uint64_t created, updated;  /* 0: the session is not in the store yet */
    uint64_t epoch, first, last;
    char *summary;
    uint64_t summary_seq;
    struct entry *entries;
    unsigned count, room;
    struct chela_pair *pairs; /* role, rendered: for each entry */
    char *rendered_for;       /* full name of the model, or NULL */
    unsigned rendered;        /* entries from `rendered_from` up to here have their form */
    unsigned rendered_from;
    size_t bytes;
    struct map call_ids; /* ids of the tool calls in it */
    unsigned tool_calls;
    /* what a model reported for the prompt up to entry `known_count` */
    uint64_t known_tokens;
    unsigned known_count;
    char *known_model;
    struct link waiters;
};

typedef void transcript_fn(void *owner, struct transcript *t, const struct error *e);
/* With a reference for the caller; fn at once if it is in memory. */
void transcript_get(const char *session, transcript_fn *fn, void *owner);
/* The one in memory, without reading and without a reference; NULL if there is none. */
struct transcript *transcript_hot(const char *session);
struct transcript *transcript_ref(struct transcript *t);
void transcript_release(struct transcript *t); /* NULL is fine */
/* It was changed in the store by somebody else than the running turn. */
void transcript_forget(const char *session);

/* A new message behind the last; a gap in seq is an error. */
int transcript_append(struct transcript *t, uint64_t seq, const char *role, const char *body,
                      struct error *e);
/* All up to `seq` are now told by the summary. */
void transcript_compacted(struct transcript *t, uint64_t seq, const char *summary);
const char *transcript_field(const struct transcript *t, const char *key); /* "" if unset */

/* Calls of the last assistant message that have no results: array of toolCall parts, or NULL. */
struct json_object *transcript_open_calls(const struct transcript *t);
/* Index of the last message of a user, count if there is none. */
unsigned transcript_last_user(const struct transcript *t);
/* Tokens of the entries [from, count). */
uint64_t transcript_tokens(const struct transcript *t, unsigned from);
/* The smallest `from` at which what is kept fits into `budget` tokens, never between a call and its
 * result. If even the newest turn doesn't fit, its question is sent apart: see context.h. */
unsigned transcript_cut(const struct transcript *t, uint64_t budget);

typedef void transcript_ready_fn(void *owner, const struct error *e);
/* Sees to it that all entries from `from` have the form of this model. fn at once if they have. */
void transcript_render(struct transcript *t, const char *model, unsigned from,
                       transcript_ready_fn *fn, void *owner);
void transcript_render_forget(void *owner);
/* Blobs that the entries from `from` name, for a provider without `render`; array of hashes. */
struct json_object *transcript_blobs(const struct transcript *t, unsigned from);

/* render.c tells what a message's form takes now and took before. */
void transcript_charge(struct transcript *t, size_t before, size_t now);
const char *entry_role_name(enum entry_role r);
size_t transcript_bytes(void); /* of all that is in memory */
void transcript_reset(void);

#endif
