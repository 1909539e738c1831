/*
 * One configuration file: read whole, scanned, parsed by libconfig, and turned into nodes that
 * remember their place. The only user of libconfig. Called by settings_layers.c; never looks at
 * what a name means.
 */
#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "host/settings_private.h"

enum { LARGEST = 4 << 20, DEEPEST = 32 };

struct node_source *settings_source(struct settings *s, const char *name,
                                    const struct node_source *like)
{
    for (size_t i = 0; i < s->source_count; i++)
        if (strcmp(s->sources[i]->name, name) == 0)
            return s->sources[i];
    struct node_source *source = xcalloc(1, sizeof *source);
    if (like)
        *source = *like;
    source->name = xstrdup(name);
    s->sources = xrealloc(s->sources, (s->source_count + 1) * sizeof(struct node_source *));
    s->sources[s->source_count++] = source;
    return source;
}

/* The text of a file; NULL with a mistake noted. */
static char *read_text(const char *path, const struct node_source *source, struct buf *errors)
{
    struct node whole = {.source = source};
    struct stat status;
    struct buf text = {0};
    char *result = NULL;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) < 0) {
        node_complain(&whole, errors, "can't be read: %s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > LARGEST) {
        node_complain(&whole, errors, "is not a regular file of at most 4 MiB");
        goto out;
    }
    buf_reserve(&text, LARGEST + 1);
    while (text.n <= LARGEST && (n = read(fd, text.p + text.n, LARGEST + 1 - text.n)) > 0)
        text.n += (size_t)n;
    if (text.n > LARGEST || memchr(text.p, 0, text.n) || !utf8_valid(text.p, text.n)) {
        node_complain(&whole, errors, "is not text in UTF-8 of at most 4 MiB");
        goto out;
    }
    result = xmemdup(text.p, text.n);
out:
    if (fd >= 0)
        close(fd);
    if (text.p)
        explicit_bzero(text.p, text.n);
    buf_free(&text);
    return result;
}

static void text_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text)); /* keys may stand in it */
    free(text);
}

/* "inc.conf" as an included file is called, relative to the folder of the one that includes it. */
static char *included_path(const struct node_source *main_file, const char *name)
{
    const char *slash = strrchr(main_file->name, '/');
    if (name[0] == '/' || !slash)
        return xstrdup(name);
    return xprintf("%.*s/%s", (int)(slash - main_file->name), main_file->name, name);
}

struct conversion {
    struct settings *settings;
    struct node_source *file;
    struct buf *errors;
    unsigned mistakes;
};

/* The source of a setting; a file that is met for the first time is scanned too. */
static const struct node_source *source_of(struct conversion *c, const config_setting_t *setting)
{
    const char *name = config_setting_source_file(setting);
    if (!name)
        return c->file;
    CLEANUP(freep) char *path = included_path(c->file, name);
    size_t known = c->settings->source_count;
    const struct node_source *source = settings_source(c->settings, path, c->file);
    if (c->settings->source_count > known) {
        char *text = read_text(path, source, c->errors);
        c->mistakes += text ? settings_scan(text, source, false, c->errors) : 1;
        text_free(text);
    }
    return source;
}

static enum node_kind kind_of(const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_GROUP: return NODE_GROUP;
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST: return NODE_LIST;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64: return NODE_INT;
    case CONFIG_TYPE_FLOAT: return NODE_REAL;
    case CONFIG_TYPE_BOOL: return NODE_BOOL;
    default: return NODE_TEXT;
    }
}

static struct node *convert(struct conversion *c, const config_setting_t *setting, unsigned depth)
{
    struct node *n = node_new(kind_of(setting), config_setting_name(setting), source_of(c, setting),
                              config_setting_source_line(setting));
    int count = n->kind == NODE_GROUP || n->kind == NODE_LIST ? config_setting_length(setting) : 0;
    if (depth > DEEPEST) {
        node_complain(n, c->errors, "is nested deeper than %d levels", DEEPEST);
        c->mistakes++;
        return n;
    }
    if (n->kind == NODE_TEXT)
        n->text = xstrdup(config_setting_get_string(setting));
    else if (n->kind == NODE_REAL)
        n->real = config_setting_get_float(setting);
    else if (n->kind == NODE_BOOL)
        n->number = config_setting_get_bool(setting) != 0;
    else if (n->kind == NODE_INT)
        n->number = config_setting_type(setting) == CONFIG_TYPE_INT64
                        ? config_setting_get_int64(setting)
                        : config_setting_get_int(setting);
    for (int i = 0; i < count; i++)
        node_append(n, convert(c, config_setting_get_elem(setting, (unsigned)i), depth + 1));
    return n;
}

static void complain_parse(const config_t *config, struct settings *s,
                           const struct node_source *source, struct buf *errors)
{
    const char *text = config_error_text(config), *file = config_error_file(config);
    int line = config_error_line(config);
    CLEANUP(freep) char *path = file ? included_path(source, file) : NULL;
    struct node at = {.source = path ? settings_source(s, path, source) : source,
                      .line = line > 0 ? (unsigned)line : 0};
    if (text && strstr(text, "include"))
        node_complain(&at, errors,
                      "%s (the name is relative to this file's folder; for all files "
                      "of a folder use conf.d/)",
                      text);
    else if (text && strstr(text, "mismatched"))
        node_complain(&at, errors, "%s (all values in [ ] have one type; use ( ) to mix)", text);
    else if (text && strstr(text, "syntax"))
        node_complain(&at, errors, "syntax error in this line, or a missing ';' or '}' before it");
    else
        node_complain(&at, errors, "%s", text ? text : "can't be parsed");
}

struct node *settings_parse_text(struct settings *s, const char *text, struct node_source *source,
                                 struct buf *errors)
{
    struct conversion c = {s, source, errors, 0};
    struct node *result = NULL;
    config_t config;
    const char *slash = strrchr(source->name, '/');
    CLEANUP(freep)
    char *folder = slash ? xmemdup(source->name, (size_t)(slash - source->name)) : NULL;
    if (settings_scan(text, source, true, errors))
        return NULL;
    config_init(&config);
    if (folder)
        config_set_include_dir(&config, *folder ? folder : "/");
    if (config_read_string(&config, text) == CONFIG_TRUE) {
        result = convert(&c, config_root_setting(&config), 0);
        if (c.mistakes) {
            node_free(result);
            result = NULL;
        }
    } else {
        complain_parse(&config, s, source, errors);
    }
    config_destroy(&config);
    return result;
}

struct node *settings_parse_file(struct settings *s, struct node_source *source, struct buf *errors)
{
    char *text = read_text(source->name, source, errors);
    struct node *result = text ? settings_parse_text(s, text, source, errors) : NULL;
    text_free(text);
    return result;
}
