/*
 * What the files of the options share: the entries of a snapshot, and the conversion of one value.
 */
#ifndef HOST_OPTIONS_PRIVATE_H
#define HOST_OPTIONS_PRIVATE_H

#include "base/map.h"
#include "host/node.h"
#include "host/options.h"

struct option_entry {
    char *path;
    uint32_t type, flags;
    char *text; /* what a plugin reads */
    int64_t number;
    double real;
    char *secret; /* the value behind "${secret:...}" */
    size_t secret_length;
    struct option_entry *more; /* further keys of a list, only their secrets; see options_keys() */
    size_t more_count;
    char *url; /* of a CHELA_URL option: where secrets may go */
    char *origin;
    char *wire; /* as it crosses to a child, made when first asked for */
    bool given;
    bool broken; /* there was a value, but a wrong one: a mistake has been noted */
};

struct option_member {
    char *group, *name;
};

struct options {
    unsigned references;
    struct map by_path;
    struct option_entry **entries;
    size_t count;
    struct option_member *members;
    size_t member_count;
};

struct option_entry *options_find(const struct options *o, const char *path);
/* Adds an empty entry; the path is copied and must be new. */
struct option_entry *options_add(struct options *o, const char *path,
                                 const struct chela_option *option);
void options_add_member(struct options *o, const char *group, const char *name);

/* What became of a value. */
enum option_outcome { OPTION_READ, OPTION_ABSENT, OPTION_WRONG };

/* Converts one scalar into `entry` (text, number, real, secret, url). A mistake is added to
 * `errors`, with `name` in it. */
enum option_outcome option_convert(const struct chela_option *option, uint32_t stride,
                                   const struct node *n, const char *name, char **environment,
                                   struct option_entry *entry, struct buf *errors);
/* ${NAME} and ${NAME:-text} in text; "$${" is "${". OPTION_ABSENT: a variable isn't set, *ret_name
 * is it (free it). */
enum option_outcome option_expand(const char *text, char **environment, struct buf *out,
                                  char **ret_name);
/* The value of a variable, NULL if it isn't set. */
const char *option_variable(char **environment, const char *name);
/* "10s" as milliseconds, "64k" as bytes; false if it can't be read. */
bool option_duration(const char *text, int64_t *ret);
bool option_size(const char *text, int64_t *ret);
/* Reads a secret's text: "file:PATH", "credential:NAME" or itself. 0 or -1. */
int option_read_secret(const struct node *n, const char *text, char **environment, char **ret,
                       size_t *ret_length, struct error *e);

#endif
