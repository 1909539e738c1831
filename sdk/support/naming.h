/*
 * Names of tools and ids of calls as a service wants them. Each service allows other characters and
 * lengths; the transcript keeps the originals. All functions depend on their arguments alone, so a
 * message can be rendered without knowing the others. Called by request.c, stream.c and providers.
 */
#ifndef CHELA_SUPPORT_NAMING_H
#define CHELA_SUPPORT_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { CHELA_NAME_SIZE = 65 };

/* What a service demands; the lists end with NULL and may be NULL. */
struct chela_naming {
    const char *const *reserved; /* names that it keeps for tools of its own */
    const char *const
        *spelling;    /* names that it wants in this spelling, whatever the tool's case */
    uint32_t id_most; /* longest id of a call, at most 64 */
    bool id_exact;    /* an id has exactly id_most letters and digits */
};

/* The tool's own name if it is 1 to 64 of [A-Za-z0-9_-], begins with a letter or '_' and is not
 * reserved; else those characters with the rest as '_' and a hash behind. A name that already looks
 * like one with a hash gets one as well, so two tools don't meet unless their hashes do. */
void chela_wire_name(const struct chela_naming *naming, const char *name, size_t length,
                     char out[CHELA_NAME_SIZE]);

/* The id itself if the service takes it, else its beginning and a hash. */
void chela_wire_id(const struct chela_naming *naming, const char *id, char out[CHELA_NAME_SIZE]);

#pragma GCC visibility pop
#endif
