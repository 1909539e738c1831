/* What the files of tool_memory share: the instance, its index of notes, searches under way. */
#ifndef TOOL_MEMORY_MEMORY_H
#define TOOL_MEMORY_MEMORY_H

#define CHELA_MINOR_NEED 10u
#include <chela/chela.h>

#include "notes.h"
#include "support/json.h"

struct memory;
struct hit {
    char *path, *part, *text;
    uint64_t at;
    double score;
};

/* A call of ours to the host, found again by its tag. */
struct op {
    void (*rows)(struct memory *m, void *owner, const struct chela_rows *r);
    void (*done)(struct memory *m, void *owner, const struct chela_done *d);
    void *owner;
};

struct memory {
    struct chela_inst *in;
    json_object *known;      /* path -> stamp, as text: what is in the index */
    json_object *workspaces; /* array */
    bool loaded, running, again;
    struct waiter *waiters;
    uint64_t scanned_ms;
};

struct op *op_new(void (*done)(struct memory *, void *, const struct chela_done *), void *owner);

/* index.c */
typedef void index_fn(struct memory *m, void *owner);
/* Brings the index up to date with the disk; fn (may be NULL) when it is. */
void index_refresh(struct memory *m, index_fn *fn, void *owner);
void index_load(struct memory *m);
void index_learn(struct memory *m, struct chela_str workspace);
/* Whether a note belongs to that workspace or to a folder of the configuration. */
bool index_visible(struct memory *m, const char *path, const char *workspace);
char *index_path(const char *workspace, const char *name); /* absolute */

/* find.c */
typedef void find_fn(struct memory *m, void *owner, struct hit *hits, size_t n, const char *error);
/* The best notes; hits are freed when fn returns. any: one word is enough from the start. */
void find_notes(struct memory *m, const char *workspace, const char *words, size_t limit, bool any,
                find_fn *fn, void *owner);

#endif
