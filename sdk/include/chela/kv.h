/*
 * chela/kv.h - what a plugin keeps: small values by key, in a space of its instance alone, and
 * blobs.
 */
#ifndef CHELA_KV_H
#define CHELA_KV_H

#include <chela/answer.h>

/*
 * Open from the plugin's start on.
 *
 *   get   done.text = value (bytes), or CHELA_E_NOT_FOUND
 *   put   done = stored; flags CHELA_DURABLE: on disk before done
 *   del   done
 *   list  key = prefix: rows (two columns: key, value), then done
 */
enum { CHELA_DURABLE = 1 };
struct chela_key {
    struct chela_head h;
    uint64_t parent;
    struct chela_str key, value;
};

/*
 * Full-text index of the instance's own documents. index replaces all parts of `document` by
 * `parts` (name = the part's name, value = its text); without parts the document is gone. At most
 * 1 MiB at once; at: the document's time, ms since 1970.
 */
struct chela_index {
    struct chela_head h;
    uint64_t parent, at;
    struct chela_str document;
    struct chela_pairs parts;
};

/* Searches it: rows (columns: document, part, at, score, text; the best first, a higher score is
 * better), then done. flags CHELA_ANY: parts with any of the words; else with all of them. */
enum { CHELA_ANY = 1 };
struct chela_search {
    struct chela_head h;
    uint64_t parent;
    uint32_t limit, zero;
    struct chela_str text;
};

/* blob_put: done.text = hash. blob_get: key = hash; done.text = bytes. */
struct chela_kv {
    uint32_t size, zero;
    void (*get)(struct chela_inst *, const struct chela_key *);
    void (*put)(struct chela_inst *, const struct chela_key *);
    void (*del)(struct chela_inst *, const struct chela_key *);
    void (*list)(struct chela_inst *, const struct chela_key *);
    void (*blob_put)(struct chela_inst *, const struct chela_key *);
    void (*blob_get)(struct chela_inst *, const struct chela_key *);
    void (*index)(struct chela_inst *, const struct chela_index *);
    void (*search)(struct chela_inst *, const struct chela_search *);
};

#endif
