/*
 * The one door to json-c, for the core and for plugins. It owns strict parsing (json-c's own strict
 * mode lets single quotes, NaN, raw control characters, duplicate keys and saturated numbers
 * through), getters that answer calmly whatever the value is, builders that can't make invalid
 * text, and the joining of surrogate halves that a stream has cut apart. It is a static convenience
 * library with hidden symbols and no globals; it needs json-c and libc only.
 *
 * Thread: any, but one tree of json_objects belongs to one thread (json-c's counts aren't atomic).
 * A JSON null is the C NULL, in every argument and result. Allocation failure aborts.
 */
#ifndef CHELA_SUPPORT_JSON_H
#define CHELA_SUPPORT_JSON_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

/* ---- parsing ---- */

#define CHELA_JSON_DEPTH     128u               /* defaults, for a limit that is 0 */
#define CHELA_JSON_MAX_DEPTH 1024u              /* json-c prints and frees by recursion */
#define CHELA_JSON_SIZE      ((size_t)16 << 20) /* bytes of text */
#define CHELA_JSON_MEMORY                                                                          \
    ((size_t)256 << 20) /* bytes of the tree, estimated: "[{},{}," grows 250-fold */

/* Keep a lone \ud83d as three bytes (ED A0 BD), for struct chela_json_utf16_carry, instead of
 * refusing the text. The tree then holds what isn't UTF-8 until the carry has seen it, so print
 * none of it before. */
#define CHELA_JSON_KEEP_HALVES 1u

struct chela_json_limits {
    size_t size;
    size_t memory;
    unsigned depth; /* containers inside each other; "[[]]" is 2; above CHELA_JSON_MAX_DEPTH counts
                       as that */
    unsigned flags;
};

struct chela_json_error {
    size_t offset;   /* bytes from the start of the text */
    unsigned line;   /* from 1 */
    unsigned column; /* in bytes, from 1 */
    char text[200];  /* "line 1, column 9: key "a" appears twice"; printable UTF-8 */
};

/*
 * Parses one JSON text (RFC 8259; white space around it is fine, anything else isn't). 0 and
 * *ret_value, which the caller owns (json_object_put), or -1 and *error; *ret_value is then
 * untouched. error and limits may be NULL.
 *
 * Refused beside syntax errors: a key that appears twice, a NUL inside a key (json-c's keys are C
 * strings), invalid UTF-8, a byte order mark, lone surrogates, a number beyond the range of double,
 * and what is over a limit. An integer that fits int64 or uint64 is one. Every other number is a
 * double that prints as it was written, "-0" and integers beyond uint64 included.
 */
int chela_json_parse(const char *text, size_t length, const struct chela_json_limits *limits,
                     json_object **ret_value, struct chela_json_error *error);

/* ---- values ---- */

/* Each takes any value, NULL included. A string that holds a NUL counts as absent when length is
 * NULL. */
const char *chela_json_as_string(const json_object *value, size_t *length); /* NULL if it is none */
bool chela_json_as_int(const json_object *value,
                       int64_t *ret); /* 5 and 5.0; never rounds or saturates */
int64_t chela_json_int_or(const json_object *value, int64_t fallback);
double chela_json_double_or(const json_object *value, double fallback); /* any number */
bool chela_json_bool_or(const json_object *value, bool fallback);
size_t chela_json_length(
    const json_object *value); /* elements of an array, members of an object; else 0 */

/* ---- members of an object ---- */

bool chela_json_has(const json_object *object, const char *key); /* true also for a null */
json_object *chela_json_get(const json_object *object,
                            const char *key); /* borrowed; NULL: none, null, no object */
const char *chela_json_string(const json_object *object, const char *key, size_t *length);
const char *chela_member(const json_object *object, const char *key); /* a string; "": none */
int64_t chela_json_int(const json_object *object, const char *key, int64_t fallback);
double chela_json_double(const json_object *object, const char *key, double fallback);
bool chela_json_bool(const json_object *object, const char *key, bool fallback);
json_object *chela_json_object(const json_object *object,
                               const char *key); /* NULL unless it is one */
json_object *chela_json_array(const json_object *object,
                              const char *key); /* NULL unless it is one */

/* Element of an array; NULL beyond its end, or where value is no array. */
json_object *chela_json_at(const json_object *value, size_t index);

/* By JSON pointer (RFC 6901): chela_json_path(event, "/choices/0/delta/content"). NULL where it
 * leads nowhere. */
json_object *chela_json_path(const json_object *value, const char *pointer);

/* ---- building ---- */

/* Sets a member of an object that the caller owns; an older one of that key is replaced.
 * chela_json_put takes over the caller's reference to value. Bytes that aren't UTF-8 become U+FFFD,
 * so that what is built can always be sent. */
void chela_json_put(json_object *object, const char *key, json_object *value);
void chela_json_put_string(json_object *object, const char *key, const char *text, size_t length);
void chela_json_put_text(json_object *object, const char *key, const char *text); /* NULL: null */
void chela_json_put_int(json_object *object, const char *key, int64_t number);
void chela_json_put_double(json_object *object, const char *key,
                           double number); /* not finite: null */
void chela_json_put_bool(json_object *object, const char *key, bool truth);
json_object *chela_json_put_object(json_object *object,
                                   const char *key); /* a new empty one, borrowed */
json_object *chela_json_put_array(json_object *object, const char *key);

/* Appends to an array; takes over the caller's reference. */
void chela_json_push(json_object *array, json_object *value);
json_object *chela_json_push_object(json_object *array); /* a new empty one, borrowed */

/* New values, owned by the caller. */
json_object *chela_json_new_object(void);
json_object *chela_json_new_array(void);
json_object *chela_json_new_string(const char *text, size_t length);
json_object *chela_json_new_double(
    double number); /* shortest digits that read back the same; NULL: not finite */

/* ---- printing ---- */

/*
 * Compact text: no blanks, slashes bare, members in the order in which they were put, so the same
 * tree always gives the same bytes. Borrowed from the value: good until it is changed, printed
 * again or put. length may be NULL.
 */
const char *chela_json_text(json_object *value, size_t *length);

/* ---- strings that a stream has cut ---- */

/*
 * Some providers cut a reply between the two halves of a surrogate pair ("\ud83d" ends one delta,
 * "\ude00" begins the next) or inside a UTF-8 sequence. Feed the strings in order, each as
 * chela_json_parse with CHELA_JSON_KEEP_HALVES gave it; what comes back is whole UTF-8. A half
 * whose partner never comes becomes U+FFFD. Begin with a zeroed struct, one for each text that
 * grows. Both return the bytes written (no NUL); output must have room for
 * chela_json_carry_room(length) bytes, and for chela_json_carry_room(0) at the end.
 */
struct chela_json_utf16_carry {
    unsigned char pending[6]; /* a high surrogate's three bytes and the begin of its partner, or
                                 part of a sequence */
    unsigned char used;
};

size_t chela_json_carry_room(size_t length);
size_t chela_json_carry_feed(struct chela_json_utf16_carry *carry, const char *text, size_t length,
                             char *output);
size_t chela_json_carry_end(struct chela_json_utf16_carry *carry,
                            char *output); /* at the stream's end */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
