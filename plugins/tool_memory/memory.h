/* What the files of tool_memory share: the instance, its index of notes, searches under way. */
#ifndef TOOL_MEMORY_MEMORY_H
#define TOOL_MEMORY_MEMORY_H

#define CHELA_MINOR_NEED 10u
#include <chela/chela.h>

#include "notes.h"
#include "support/json.h"
#include "support/op.h"
#include "vectors.h"

struct memory;
struct hit {
    char *path, *part, *text;
    double rank, likeness; /* by words, by meaning; 0: not found so */
    double score;
};

struct memory {
    struct chela_inst *in;
    json_object *known;      /* path -> stamp, as text: what is in the index */
    json_object *workspaces; /* array */
    bool loaded, running, again;
    struct waiter *waiters;
    uint64_t scanned_ms;
    size_t left; /* notes that the pass has not looked at */
    struct {
        int fd;
        json_object *folders; /* inotify's number -> path */
        json_object *changed; /* paths */
        bool whole;           /* all must be looked at */
    } watch;
    struct meaning {
        uint64_t hash;    /* of the model's name; 0: there is none */
        uint64_t next_ms; /* when the configuration is asked again */
        bool loaded;
        struct vectors table;
    } meaning;
};

/* index.c */
typedef void index_fn(struct memory *m, void *owner);
/* Brings the index up to date with the disk; fn (may be NULL) when it is. */
void index_refresh(struct memory *m, index_fn *fn, void *owner);
void index_forget(struct memory *m, void *owner); /* waits no longer */
void index_load(struct memory *m);
void index_learn(struct memory *m, struct chela_str workspace);
/* Whether a note belongs to that workspace or to a folder of the configuration. */
bool index_visible(struct memory *m, const char *path, const char *workspace);
char *index_path(const char *workspace, const char *name); /* absolute */

/* watch.c */
void watch_open(struct memory *m);
void watch_close(struct memory *m);
/* What a scan has begun to watch. */
void watch_learn(struct memory *m, const struct note_list *l);
/* True: all must be looked at; else what is in *ret_changed (path -> true), the caller's. */
bool watch_take(struct memory *m, json_object **ret_changed);
bool watch_knows(struct memory *m, const char *folder);

/* meaning.c */
typedef void meaning_fn(struct memory *m, void *owner);
struct embedding;
/* Finds out, once in a while, whether there is a model for embeddings, and which. */
void meaning_look(struct memory *m);
bool meaning_wants(struct memory *m, const char *document);
void meaning_drop(struct memory *m, const char *document);
/* Vectors for notes: begin, add (the parts must live until the end), send; fn at the end. */
struct embedding *meaning_begin(struct memory *m, meaning_fn *fn, void *owner);
void meaning_add(struct embedding *e, const char *document, const struct note_parts *parts);
void meaning_send(struct embedding *e);
void meaning_close(struct memory *m);

/* alike.c */
struct alike {
    char *document, *part;
    double likeness; /* cosine */
};
typedef void alike_fn(struct memory *m, void *owner, const struct alike *v, size_t n);
/* False: nothing has vectors, and fn is not called. */
bool alike_ask(struct memory *m, const char *workspace, const char *text, size_t limit,
               uint64_t patience_ms, alike_fn *fn, void *owner);

/* find.c */
typedef void find_fn(struct memory *m, void *owner, struct hit *hits, size_t n, const char *error);
/* The best notes; hits are freed when fn returns. any: one word is enough from the start. */
void find_notes(struct memory *m, const char *workspace, const char *words, size_t limit, bool any,
                find_fn *fn, void *owner);

#endif
