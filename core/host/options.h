/*
 * Option tables turned into values: what a configuration says is checked against a table of struct
 * chela_option and kept as an immutable snapshot of flat paths ("rules.0.model" -> text). The
 * core's own settings and each instance's options are such snapshots; the same one answers
 * local->option() in the daemon and, sent as pairs, in a child.
 *
 * Beyond chela/plugin.h, tables may say: a dot in a name is a group in the file ("auth.mode"); "*"
 * stands for any name ("agents.*.model"), where a member called "defaults" gives the others what
 * they don't say; a string option with `items` takes one of their names, see
 * options_choice().
 *
 * Thread: loop; a snapshot is never changed, so reading is fine anywhere while it is held.
 */
#ifndef HOST_OPTIONS_H
#define HOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/plugin.h>

#include "base/buf.h"
#include "base/error.h"

struct node;
struct options;

/* Flags that only the core's own tables use. */
enum {
    OPTION_PROJECT = 1 << 16, /* an untrusted project may set it */
    OPTION_REF = 1 << 17      /* names a model: of each element, in a list */
};

/*
 * Checks `group` (NULL: nothing is set) against the table and converts it. Mistakes are added to
 * `errors`, a line each ("FILE:LINE: providers.groq.tpye: unknown option (did you mean type?)"),
 * warnings to `warnings` (may be NULL). `prefix` ("providers.groq", or "") stands before names in
 * messages. `environment` serves ${NAME}, NULL: none. `skip`: members of the top group that are
 * somebody else's, a list that ends with NULL; may be NULL.
 * Always returns a snapshot, even a poor one; who sees errors must not use it.
 */
struct options_request {
    const struct chela_option *table;
    uint32_t stride;
    const struct node *group;
    const char *prefix;
    char **environment;
    const char *const *skip;
    bool embedded; /* of an instance that exists without configuration */
};
struct options *options_read(const struct options_request *request, struct buf *errors,
                             struct buf *warnings);
struct options *options_hold(struct options *o);
void options_release(struct options *o); /* NULL is fine */

/* As local->option and local->number say. NULL snapshot: as if empty. */
const char *options_text(const struct options *o, const char *path);
int64_t options_number(const struct options *o, const char *path);
double options_real(const struct options *o, const char *path);
bool options_has(const struct options *o, const char *path);   /* has a value, default or not */
bool options_given(const struct options *o, const char *path); /* was set, not by default */
const char *options_origin(const struct options *o, const char *path); /* "" if absent */
/* Names of the members of a group, in their order; NULL after the last. */
const char *options_member(const struct options *o, const char *group, unsigned index);

/* All values in order, for showing: returns false after the last. A secret's text is "***". */
struct options_value {
    const char *path, *text, *origin;
    uint32_t type, flags;
    bool given;
};
bool options_next(const struct options *o, size_t *position, struct options_value *ret);
/* Paths whose values differ, as a list of names with commas between; "" if none does. `reloadable`
 * is set to whether all of them carry CHELA_RELOAD. */
void options_compare(const struct options *a, const struct options *b, struct buf *changed,
                     bool *reloadable);

/* ---- secrets (daemon only; a child has none) ---- */

/* The value of a secret option, NULL if it has none. Never print it. */
const char *options_secret(const struct options *o, const char *path, size_t *length);
/* Appends text with each ${secret:PATH} replaced; an unknown one is an error. key: which one of a
 * secret that has several, counted from 0. */
int options_fill(const struct options *o, struct chela_str text, unsigned key, struct buf *out,
                 struct error *e);
/* How many keys the secret with the most of them has (`api_key = ["a", "b"]`); 1 if none has
 * several. */
unsigned options_keys(const struct options *o);
/* Whether all its URLs lead to this machine, and there is one. */
bool options_local(const struct options *o);
/* Whether text holds a ${secret:...} at all. */
bool options_wants_secret(struct chela_str text);
/* Whether secrets may go to this URL: its scheme, host and port are those of one of the CHELA_URL
 * options of the snapshot (or of the choice that one of them names). */
bool options_url_allowed(const struct options *o, const char *url);

/* ---- crossing to a child ---- */

/* The snapshot as pairs (name = path, value for options_from_pairs only). Secrets aren't in it but
 * for those with CHELA_REVEAL. Memory: free *ret, the strings live as long as the snapshot. */
size_t options_pairs(const struct options *o, struct chela_pair **ret);
struct options *options_from_pairs(const struct chela_pair *v, size_t n);

/* ---- tables ---- */

/* The entry at an index of a table with a stride, NULL at its end. */
const struct chela_option *options_entry(const struct chela_option *table, uint32_t stride,
                                         size_t index);
/* Whether the path is an option of the table, or a group on the way to one; *ret (may be NULL) is
 * then the option, or NULL for a group. */
bool options_known(const struct chela_option *table, uint32_t stride, const char *path,
                   const struct chela_option **ret);
/* What a choice stands for: the `fallback` of the item called `name`, NULL if there is no such
 * item. With CHELA_URL on the option it is a URL (`preset = "groq"`). */
const char *options_choice(const struct chela_option *option, uint32_t stride, const char *name);
const char *options_type_name(uint32_t type); /* "string", "duration" ... */

#endif
