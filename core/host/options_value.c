/*
 * One value of an option: what a node of the configuration holds, checked against the option's type
 * and converted. Called by options.c only; knows nothing of groups, lists and defaults.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "host/options_private.h"

#define LONGEST_DURATION ((int64_t)100 * 366 * 86400000)
enum { LONGEST_TEXT = 1 << 20, LONGEST_SECRET = 64 << 10 };

const char *option_variable(char **environment, const char *name)
{
    size_t n = strlen(name);
    for (char **v = environment; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

/* Appends what stands between "${" and "}"; `name` is its text. */
static enum option_outcome expand_one(char *name, char **environment, struct buf *out,
                                      char **ret_name)
{
    if (strncmp(name, "secret:", 7) == 0) { /* the host fills it in when it is sent */
        buf_printf(out, "${%s}", name);
        return OPTION_READ;
    }
    char *fallback = strstr(name, ":-");
    if (fallback)
        *fallback = '\0';
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (length == 0 || name[length] || isdigit((unsigned char)name[0])) {
        *ret_name = xstrdup(name);
        return OPTION_WRONG;
    }
    const char *value = option_variable(environment, name);
    if (!value || (fallback && !*value))
        value = fallback ? fallback + 2 : NULL;
    if (!value) {
        *ret_name = xstrdup(name);
        return OPTION_ABSENT;
    }
    buf_puts(out, value);
    return OPTION_READ;
}

enum option_outcome option_expand(const char *text, char **environment, struct buf *out,
                                  char **ret_name)
{
    for (const char *p = text; *p;) {
        if (strncmp(p, "$${", 3) == 0) {
            buf_puts(out, "${");
            p += 3;
        } else if (strncmp(p, "${", 2) == 0) {
            const char *end = strchr(p, '}');
            CLEANUP(freep) char *name = end ? xmemdup(p + 2, (size_t)(end - p) - 2) : xstrdup(p);
            enum option_outcome result = expand_one(name, environment, out, ret_name);
            if (result != OPTION_READ)
                return result;
            p = end ? end + 1 : p + strlen(p);
        } else {
            buf_char(out, *p++);
        }
    }
    return OPTION_READ;
}

bool option_duration(const char *text, int64_t *ret)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                 {"h", 3600000}, {"d", 86400000}, {"w", 604800000}};
    int64_t total = 0;
    const char *p = text;
    do {
        int64_t n = 0, unit = 0;
        if (!isdigit((unsigned char)*p))
            return false;
        for (; isdigit((unsigned char)*p) && n <= LONGEST_DURATION; p++)
            n = n * 10 + (*p - '0');
        if (!*p && total == 0)
            unit = 1000;
        for (size_t i = 0; i < ARRAY_LENGTH(units) && !unit; i++) {
            size_t length = strlen(units[i].unit);
            if (strncmp(p, units[i].unit, length) == 0 && !isalpha((unsigned char)p[length])) {
                unit = units[i].ms;
                p += length;
            }
        }
        if (!unit || n > LONGEST_DURATION / unit)
            return false;
        total += n * unit;
    } while (*p && total <= LONGEST_DURATION);
    *ret = total;
    return total <= LONGEST_DURATION;
}

bool option_size(const char *text, int64_t *ret)
{
    static const char units[] = "kMGT";
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    int64_t unit = 1;
    if (errno)
        return false;
    if (*end && *end != 'B') {
        const char *at = strchr(units, *end == 'K' ? 'k' : *end);
        if (!at)
            return false;
        unit = (int64_t)1 << (10 * (at - units + 1));
        end++;
        if (end[0] == 'i' && end[1] == 'B')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end || n > INT64_MAX / unit)
        return false;
    *ret = n * unit;
    return true;
}

static int read_file(const char *path, char **ret, size_t *ret_length, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    struct buf text = {0};
    int result = -1;
    if (fd < 0) {
        error_set(e, CHELA_E_ARGS, "can't read the secret's file %s: %s", path, strerror(errno));
        goto out;
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        error_set(e, CHELA_E_ARGS, "the secret's file %s is not a regular file", path);
        goto out;
    }
    buf_reserve(&text, LONGEST_SECRET + 1);
    ssize_t n;
    while (text.n <= LONGEST_SECRET &&
           (n = read(fd, text.p + text.n, LONGEST_SECRET + 1 - text.n)) > 0)
        text.n += (size_t)n;
    if (text.n > LONGEST_SECRET) {
        error_set(e, CHELA_E_ARGS, "the secret's file %s is larger than 64 KiB", path);
        goto out;
    }
    while (text.n && isspace((unsigned char)text.p[text.n - 1]))
        text.n--;
    *ret = xmemdup(text.p, text.n);
    *ret_length = text.n;
    result = 0;
out:
    if (fd >= 0)
        close(fd);
    if (text.p)
        explicit_bzero(text.p, text.size);
    buf_free(&text);
    return result;
}

int option_read_secret(const struct node *n, const char *text, char **environment, char **ret,
                       size_t *ret_length, struct error *e)
{
    CLEANUP(freep) char *path = NULL;
    if (strncmp(text, "credential:", 11) == 0) {
        const char *folder = option_variable(environment, "CREDENTIALS_DIRECTORY");
        if (!folder || !*folder)
            return error_set(e, CHELA_E_ARGS,
                             "there are no credentials here: CREDENTIALS_DIRECTORY is not set "
                             "(LoadCredential= in the systemd unit sets it)");
        if (strchr(text + 11, '/') || !text[11])
            return error_set(e, CHELA_E_ARGS, "\"%s\" is not a credential's name", text + 11);
        path = xprintf("%s/%s", folder, text + 11);
    } else if (strncmp(text, "file:", 5) == 0) {
        const char *home = option_variable(environment, "HOME");
        const char *slash = n->source->name[0] == '/' ? strrchr(n->source->name, '/') : NULL;
        if (text[5] == '~' && text[6] == '/' && home)
            path = xprintf("%s%s", home, text + 6);
        else if (text[5] != '/' && slash) /* beside the file that names it */
            path = xprintf("%.*s/%s", (int)(slash - n->source->name), n->source->name, text + 5);
        else
            path = xstrdup(text + 5);
    }
    if (path) {
        if (read_file(path, ret, ret_length, e) < 0)
            return -1;
    } else {
        *ret_length = strlen(text);
        *ret = xmemdup(text, *ret_length);
    }
    if (memchr(*ret, 0, *ret_length) || !utf8_valid(*ret, *ret_length)) {
        explicit_bzero(*ret, *ret_length);
        free(*ret);
        *ret = NULL;
        return error_set(e, CHELA_E_ARGS, "the secret is not text (UTF-8)");
    }
    return 0;
}

/* ---- one type each; `text` is the expanded string, or what the environment says ---- */

static bool wrong(const struct node *n, struct buf *errors, const char *name, const char *wanted)
{
    node_complain(n, errors, "%s: wants %s, found %s%s%s%s", name, wanted, node_kind_name(n->kind),
                  n->text ? " \"" : "", n->text ? n->text : "", n->text ? "\"" : "");
    return false;
}

static bool read_integer(const struct node *n, const char *text, const char *name,
                         struct option_entry *entry, struct buf *errors)
{
    bool loose = n->source->environment || n->source->builtin;
    char *end = NULL;
    errno = 0;
    if (n->kind == NODE_INT)
        entry->number = n->number;
    else if (n->kind == NODE_TEXT && loose && *text)
        entry->number = strtoll(text, &end, 10);
    else
        return wrong(n, errors, name, "a whole number, without quotes");
    if (errno || (end && *end))
        return wrong(n, errors, name, "a whole number");
    return true;
}

static bool read_bool(const struct node *n, const char *text, const char *name,
                      struct option_entry *entry, struct buf *errors)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    if (n->kind == NODE_BOOL) {
        entry->number = n->number;
        return true;
    }
    if (n->kind == NODE_TEXT && (n->source->environment || n->source->builtin))
        for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
            if (strcasecmp(text, words[i]) == 0) {
                entry->number = i & 1;
                return true;
            }
    return wrong(n, errors, name, "true or false, without quotes");
}

/* llround() without the mathematics library, which nothing else in the programs needs */
static int64_t rounded(double x)
{
    return x > 9e18 ? INT64_MAX : x < -9e18 ? INT64_MIN : (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

static bool read_real(const struct node *n, const char *text, const char *name,
                      struct option_entry *entry, struct buf *errors)
{
    char *end = NULL;
    if (n->kind == NODE_INT)
        entry->real = (double)n->number;
    else if (n->kind == NODE_REAL)
        entry->real = n->real;
    else if (n->kind == NODE_TEXT && (n->source->environment || n->source->builtin) && *text)
        entry->real = strtod(text, &end);
    else
        return wrong(n, errors, name, "a number");
    if (!isfinite(entry->real) || (end && *end))
        return wrong(n, errors, name, "a number");
    entry->number = rounded(entry->real * 1e6);
    return true;
}

static bool read_duration(const struct node *n, const char *text, const char *name,
                          struct option_entry *entry, struct buf *errors)
{
    double ms = n->kind == NODE_INT ? (double)n->number * 1000 : n->real * 1000;
    if ((n->kind == NODE_INT || n->kind == NODE_REAL) && ms >= 0 && ms < (double)LONGEST_DURATION)
        entry->number = rounded(ms);
    else if (n->kind != NODE_TEXT || !option_duration(text, &entry->number))
        return wrong(n, errors, name,
                     "a time such as \"250ms\", \"10s\", \"5m\", \"2h\", \"1d\" "
                     "or a number of seconds");
    return true;
}

static bool read_size(const struct node *n, const char *text, const char *name,
                      struct option_entry *entry, struct buf *errors)
{
    if (n->kind == NODE_INT && n->number >= 0)
        entry->number = n->number;
    else if (n->kind != NODE_TEXT || !option_size(text, &entry->number))
        return wrong(n, errors, name,
                     "a size such as \"64k\", \"10M\", \"1G\" or a number of bytes");
    return true;
}

const char *options_choice(const struct chela_option *option, uint32_t stride, const char *name)
{
    const struct chela_option *item;
    for (size_t i = 0; (item = options_entry(option->items, stride, i)); i++)
        if (strcmp(item->name, name) == 0)
            return item->fallback ? item->fallback : "";
    return NULL;
}

static bool check_choice(const struct chela_option *option, uint32_t stride, const struct node *n,
                         const char *text, const char *name, struct buf *errors)
{
    struct nearest near = {.wanted = text};
    struct buf known = {0};
    const struct chela_option *item;
    if (options_choice(option, stride, text))
        return true;
    for (size_t i = 0; (item = options_entry(option->items, stride, i)); i++) {
        buf_printf(&known, "%s%s", i ? ", " : "", item->name);
        nearest_offer(&near, item->name);
    }
    if (near.name)
        node_complain(n, errors, "%s: \"%s\" is none of its values (did you mean \"%s\"?)", name,
                      text, near.name);
    else
        node_complain(n, errors, "%s: \"%s\" is none of its values: %s", name, text,
                      buf_text(&known));
    buf_free(&known);
    return false;
}

static bool is_url(const char *text)
{
    static const char *const schemes[] = {"http://", "https://", "ws://", "wss://"};
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '\\' || *p == 0x7f)
            return false;
    for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (strncasecmp(text, schemes[i], n) == 0)
            return text[n] && !strchr("/:?#", text[n]);
    }
    return false;
}

static bool read_text(const struct chela_option *option, uint32_t stride, const struct node *n,
                      const char *text, const char *name, struct option_entry *entry,
                      struct buf *errors)
{
    if (n->kind != NODE_TEXT)
        return wrong(n, errors, name, "a string, in quotes");
    if (strlen(text) > LONGEST_TEXT || !utf8_valid(text, strlen(text))) {
        node_complain(n, errors, "%s: the text is too long or not UTF-8", name);
        return false;
    }
    if (option->items && *text && option->type == CHELA_STRING &&
        !check_choice(option, stride, n, text, name, errors))
        return false;
    if ((option->flags & CHELA_URL) && !option->items && *text && !is_url(text)) {
        node_complain(n, errors, "%s: wants a URL such as \"https://host/path\", found \"%s\"",
                      name, text);
        return false;
    }
    entry->text = xstrdup(text);
    if (option->flags & CHELA_URL)
        entry->url = xstrdup(option->items ? options_choice(option, stride, text) : text);
    return true;
}

static bool read_secret(const struct chela_option *option, const struct node *n, const char *text,
                        const char *name, char **environment, struct option_entry *entry,
                        struct buf *errors)
{
    struct error e;
    if (n->kind != NODE_TEXT) {
        node_complain(n, errors, "%s: wants a string, in quotes", name); /* never its value */
        return false;
    }
    if (option_read_secret(n, text, environment, &entry->secret, &entry->secret_length, &e) < 0) {
        node_complain(n, errors, "%s: %s", name, e.text);
        return false;
    }
    redact_secret(entry->secret, entry->secret_length);
    if (option->flags & CHELA_REVEAL || !entry->secret_length)
        entry->text = xstrdup(entry->secret);
    else
        entry->text = xprintf("${secret:%s}", entry->path);
    return true;
}

static char *real_text(double real)
{
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
    return xstrdup(text);
}

static bool read_one(const struct chela_option *option, uint32_t stride, const struct node *n,
                     const char *text, const char *name, char **environment,
                     struct option_entry *entry, struct buf *errors)
{
    switch (option->type) {
    case CHELA_INT: return read_integer(n, text, name, entry, errors);
    case CHELA_BOOL: return read_bool(n, text, name, entry, errors);
    case CHELA_DURATION: return read_duration(n, text, name, entry, errors);
    case CHELA_SIZE: return read_size(n, text, name, entry, errors);
    case CHELA_REAL: return read_real(n, text, name, entry, errors);
    default:
        if (option->flags & CHELA_SECRET)
            return read_secret(option, n, text, name, environment, entry, errors);
        return read_text(option, stride, n, text, name, entry, errors);
    }
}

enum option_outcome option_convert(const struct chela_option *option, uint32_t stride,
                                   const struct node *n, const char *name, char **environment,
                                   struct option_entry *entry, struct buf *errors)
{
    struct buf text = {0};
    CLEANUP(freep) char *variable = NULL;
    enum option_outcome result = OPTION_READ;
    if (n->kind == NODE_TEXT && (n->source->environment || n->source->untrusted))
        buf_puts(&text, n->text);
    else if (n->kind == NODE_TEXT)
        result = option_expand(n->text, environment, &text, &variable);
    if (result == OPTION_ABSENT && !n->source->builtin) {
        node_complain(n, errors, "%s: the environment variable %s is not set", name, variable);
        result = OPTION_WRONG;
    } else if (result == OPTION_WRONG) {
        node_complain(n, errors, "%s: \"${%s}\" names no variable (write $${ for a plain ${)", name,
                      variable);
    } else if (result == OPTION_READ &&
               !read_one(option, stride, n, buf_text(&text), name, environment, entry, errors)) {
        result = OPTION_WRONG;
    }
    if (result == OPTION_READ && !entry->text)
        entry->text = option->type == CHELA_REAL ? real_text(entry->real)
                                                 : xprintf("%lld", (long long)entry->number);
    if (text.p)
        explicit_bzero(text.p, text.size);
    buf_free(&text);
    return result;
}
