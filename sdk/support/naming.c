/*
 * Names of tools and ids of calls (see naming.h). Pure text work; knows no service by name.
 */
#include "support/naming.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HASH_DIGITS = 8, MOST = CHELA_NAME_SIZE - 1 };

static bool alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool name_char(char c)
{
    return alphanumeric(c) || c == '_' || c == '-';
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    h ^= h >> 32; /* the low half alone is used: let the high one count */
    return h * 0x9e3779b97f4a7c15u;
}

static bool all_name_chars(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!name_char(text[i]))
            return false;
    return true;
}

static bool looks_hashed(const char *name, size_t length)
{
    if (length <= HASH_DIGITS || name[length - HASH_DIGITS - 1] != '_')
        return false;
    for (size_t i = length - HASH_DIGITS; i < length; i++)
        if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f')))
            return false;
    return true;
}

/* The entry of a list that is the name, in its letters' case or in any. */
static const char *listed(const char *const *list, const char *name, size_t length, bool any_case)
{
    for (; list && *list; list++)
        if (strlen(*list) == length &&
            (any_case ? strncasecmp(*list, name, length) == 0 : memcmp(*list, name, length) == 0))
            return *list;
    return NULL;
}

static bool lower_case(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] >= 'A' && name[i] <= 'Z')
            return false;
    return true;
}

static void put_hashed(const char *text, size_t length, size_t most, char *out)
{
    size_t room = most - HASH_DIGITS - 1, keep = length < room ? length : room;
    for (size_t i = 0; i < keep; i++)
        out[i] = name_char(text[i]) ? text[i] : '_';
    if (keep && !((out[0] >= 'a' && out[0] <= 'z') || (out[0] >= 'A' && out[0] <= 'Z')))
        out[0] = '_';
    snprintf(out + keep, CHELA_NAME_SIZE - keep, "_%08x", (uint32_t)(hash_of(text, length) >> 32));
}

void chela_wire_name(const struct chela_naming *naming, const char *name, size_t length,
                     char out[CHELA_NAME_SIZE])
{
    const char *spelled = listed(naming->spelling, name, length, true);
    if (spelled && lower_case(name, length)) {
        memcpy(out, spelled, length + 1);
        return;
    }
    bool first = length > 0 && !(name[0] >= '0' && name[0] <= '9') && name[0] != '-';
    if (first && length <= MOST && all_name_chars(name, length) && !looks_hashed(name, length) &&
        !spelled && !listed(naming->reserved, name, length, false)) {
        memcpy(out, name, length);
        out[length] = '\0';
        return;
    }
    put_hashed(name, length, MOST, out);
}

/* Letters and digits of a hash, for a service that wants just so many. */
static void put_digits(const char *id, size_t length, size_t count, char *out)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t h = hash_of(id, length);
    for (size_t i = 0; i < count; i++) {
        if (i == 10) /* as many as 64 bits fill */
            h = hash_of(out, i);
        out[i] = digits[h % 62];
        h /= 62;
    }
    out[count] = '\0';
}

void chela_wire_id(const struct chela_naming *naming, const char *id, char out[CHELA_NAME_SIZE])
{
    size_t n = id ? strlen(id) : 0, most = naming->id_most ? naming->id_most : MOST;
    bool fits = n > 0 && n <= most && (!naming->id_exact || n == most);
    for (size_t i = 0; fits && i < n; i++)
        fits = alphanumeric(id[i]) || (!naming->id_exact && name_char(id[i]));
    if (fits)
        memcpy(out, id, n + 1);
    else if (naming->id_exact)
        put_digits(id ? id : "", n, most, out);
    else
        put_hashed(id ? id : "", n, most, out);
}
