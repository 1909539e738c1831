/*
 * Secrets of a snapshot: filled in where the host sends something for an instance, and only for the
 * hosts that the instance's own configuration names. Called by core/net and by sign(); a plugin
 * never gets here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/options_private.h"

const char *options_secret(const struct options *o, const char *path, size_t *length)
{
    const struct option_entry *entry = options_find(o, path);
    if (!entry || !entry->secret || !entry->secret_length)
        return NULL;
    if (length)
        *length = entry->secret_length;
    return entry->secret;
}

static const char *find_mark(struct chela_str text, size_t from)
{
    return from < text.n ? memmem(text.s + from, text.n - from, "${secret:", 9) : NULL;
}

bool options_wants_secret(struct chela_str text)
{
    return find_mark(text, 0) != NULL;
}

/* The key of that number, the first where there are fewer. */
static const char *key_of(const struct options *o, const char *path, unsigned key, size_t *length)
{
    const struct option_entry *entry = options_find(o, path);
    if (key == 0 || !entry || key > entry->more_count)
        return options_secret(o, path, length);
    *length = entry->more[key - 1].secret_length;
    return entry->more[key - 1].secret;
}

unsigned options_keys(const struct options *o)
{
    size_t most = 0;
    for (size_t i = 0; o && i < o->count; i++)
        most = o->entries[i]->more_count > most ? o->entries[i]->more_count : most;
    return (unsigned)most + 1;
}

int options_fill(const struct options *o, struct chela_str text, unsigned key, struct buf *out,
                 struct error *e)
{
    size_t at = 0;
    const char *mark;
    while ((mark = find_mark(text, at))) {
        size_t begin = (size_t)(mark - text.s), name = begin + 9, length;
        const char *end = memchr(text.s + name, '}', text.n - name);
        if (!end)
            return error_set(e, CHELA_E_ARGS, "\"${secret:\" without its \"}\"");
        CLEANUP(freep) char *path = xmemdup(text.s + name, (size_t)(end - text.s) - name);
        const char *value = key_of(o, path, key, &length);
        if (!value)
            return error_set(e, CHELA_E_ARGS, "there is no secret option \"%.100s\"", path);
        buf_add(out, text.s + at, begin - at);
        buf_add(out, value, length);
        at = (size_t)(end - text.s) + 1;
    }
    if (at < text.n)
        buf_add(out, text.s + at, text.n - at);
    return 0;
}

struct origin {
    bool tls;
    const char *host;
    size_t length;
    unsigned long port;
};

static bool parse_origin(const char *url, struct origin *ret)
{
    static const struct {
        const char *scheme;
        bool tls;
    } schemes[] = {{"http://", false}, {"ws://", false}, {"https://", true}, {"wss://", true}};
    const char *p = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(schemes) && !p; i++)
        if (strncasecmp(url, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
            p = url + strlen(schemes[i].scheme);
            ret->tls = schemes[i].tls;
        }
    if (!p)
        return false;
    size_t whole = strcspn(p, "/?#");
    for (size_t i = 0; i < whole; i++) /* "https://good@evil/" and whatever parsers differ on */
        if (p[i] == '@' || p[i] == '\\' || p[i] == '%' || (unsigned char)p[i] <= ' ')
            return false;
    const char *end = p + whole, *bracket = p[0] == '[' ? memchr(p, ']', whole) : NULL;
    const char *colon = memchr(bracket ? bracket : p, ':', (size_t)(end - (bracket ? bracket : p)));
    ret->host = p;
    ret->length = (size_t)((colon ? colon : end) - p);
    ret->port = ret->tls ? 443 : 80;
    if (colon && colon + 1 < end) {
        ret->port = 0;
        for (const char *d = colon + 1; d < end; d++) {
            if (!isdigit((unsigned char)*d) || ret->port > 65535)
                return false;
            ret->port = ret->port * 10 + (unsigned long)(*d - '0');
        }
    }
    return ret->length > 0;
}

bool options_url_allowed(const struct options *o, const char *url)
{
    struct origin wanted, known;
    if (!o || !parse_origin(url, &wanted))
        return false;
    for (size_t i = 0; i < o->count; i++) {
        const struct option_entry *entry = o->entries[i];
        if (entry->url && parse_origin(entry->url, &known) && known.tls == wanted.tls &&
            known.port == wanted.port && known.length == wanted.length &&
            strncasecmp(known.host, wanted.host, known.length) == 0)
            return true;
    }
    return false;
}

static bool is_here(const struct origin *at)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (at->length == strlen(names[i]) && strncasecmp(at->host, names[i], at->length) == 0)
            return true;
    return false;
}

bool options_local(const struct options *o)
{
    bool any = false;
    struct origin at;
    for (size_t i = 0; o && i < o->count; i++) {
        const char *url = o->entries[i]->url;
        /* where base_url is given, the preset only says how it is spoken to */
        if (!url || !*url || !o->entries[i]->given)
            continue;
        if (!parse_origin(url, &at))
            return false;
        any = true;
        if (!is_here(&at))
            return false;
    }
    return any;
}
