/*
 * Resolving of URI references by the algorithm of RFC 3986, section 5.2. The parts of a URI are
 * views into its text.
 */
#include "agent/schema/schema_uri.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *text;
    size_t length;
    bool present;
};

struct uri {
    struct part scheme, authority, path, query;
};

static struct part take(const char **at, const char *stops)
{
    struct part part = {*at, strcspn(*at, stops), true};
    *at += part.length;
    return part;
}

static struct uri split(const char *text)
{
    struct uri uri = {0};
    const char *at = text;
    size_t scheme = 0;
    while (isalnum((unsigned char)text[scheme]) || (text[scheme] && strchr("+-.", text[scheme])))
        scheme++;
    if (scheme > 0 && text[scheme] == ':' && isalpha((unsigned char)text[0])) {
        uri.scheme = (struct part){text, scheme, true};
        at = text + scheme + 1;
    }
    if (at[0] == '/' && at[1] == '/') {
        at += 2;
        uri.authority = take(&at, "/?#");
    }
    uri.path = take(&at, "?#");
    if (*at == '?') {
        at++;
        uri.query = take(&at, "#");
    }
    return uri;
}

/* Section 5.2.4: "/a/./b/../c" is "/a/c". Works on whole segments of path, whose text may be
 * relative. */
static void add_without_dots(struct buf *out, const char *path)
{
    size_t start = out->n;
    while (*path) {
        size_t length = strcspn(*path == '/' ? path + 1 : path, "/") + (*path == '/');
        const char *name = path + (*path == '/');
        size_t count = length - (size_t)(name - path);
        bool last = path[length] == '\0';
        bool one = count == 1 && name[0] == '.', two = count == 2 && memcmp(name, "..", 2) == 0;
        if (two) {
            while (out->n > start && out->p[out->n - 1] != '/')
                out->p[--out->n] = '\0';
            if (out->n > start)
                out->p[--out->n] = '\0';
        }
        if ((one || two) && last && *path == '/')
            buf_char(out, '/');
        if (!one && !two)
            buf_add(out, path, length);
        path += length;
        if ((one || two) && name == path - length && *path == '/')
            path++; /* "./a" is "a" */
    }
}

static void add_path(struct buf *out, const struct uri *base, const struct uri *reference)
{
    struct buf merged = {0};
    if (reference->path.length > 0 && reference->path.text[0] != '/') {
        size_t folder = base->path.length;
        while (folder > 0 && base->path.text[folder - 1] != '/')
            folder--;
        if (base->authority.present && base->path.length == 0)
            buf_char(&merged, '/');
        buf_add(&merged, base->path.text, folder);
    }
    buf_add(&merged, reference->path.text, reference->path.length);
    add_without_dots(out, buf_text(&merged));
    buf_free(&merged);
}

char *schema_uri_resolve(const char *base, const char *reference)
{
    struct uri b = split(base), r = split(reference);
    struct buf out = {0};
    struct part scheme = r.scheme.present ? r.scheme : b.scheme;
    bool own = r.scheme.present || r.authority.present;
    struct part authority = own ? r.authority : b.authority;
    if (scheme.present) {
        buf_add(&out, scheme.text, scheme.length);
        buf_char(&out, ':');
    }
    if (authority.present) {
        buf_puts(&out, "//");
        buf_add(&out, authority.text, authority.length);
    }
    struct part query = r.query;
    if (own) {
        char *path = xmemdup(r.path.text, r.path.length);
        add_without_dots(&out, path);
        free(path);
    } else if (r.path.length == 0) {
        buf_add(&out, b.path.text, b.path.length);
        if (!r.query.present)
            query = b.query;
    } else {
        add_path(&out, &b, &r);
    }
    if (query.present) {
        buf_char(&out, '?');
        buf_add(&out, query.text, query.length);
    }
    buf_text(&out);
    return buf_take(&out);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *schema_uri_fragment(const char *reference)
{
    const char *in = strchr(reference, '#');
    char *fragment = xstrdup(in ? in + 1 : ""), *out = fragment;
    for (in = fragment; *in; in++) {
        if (*in != '%') {
            *out++ = *in;
            continue;
        }
        int high = hex(in[1]), low = high < 0 ? -1 : hex(in[2]);
        if (low < 0 || (high == 0 && low == 0)) {
            free(fragment);
            return NULL;
        }
        *out++ = (char)(high << 4 | low);
        in += 2;
    }
    *out = '\0';
    return fragment;
}
