/* Own config: see own_config.h. */
#include "cli/own_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

char *own_config_path(const char *name)
{
    const char *config = getenv("CHELA_CONFIG"), *base = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    if (config && *config) {
        const char *slash = strrchr(config, '/');
        CLEANUP(freep)
        char *folder = slash ? xmemdup(config, (size_t)(slash - config)) : xstrdup(".");
        return name ? xprintf("%s/%s", folder, name) : xstrdup(config);
    }
    if (base && *base == '/')
        return xprintf("%s/chela/%s", base, name ? name : "chela.conf");
    return xprintf("%s/.config/chela/%s", home ? home : "", name ? name : "chela.conf");
}

static int make_folders(const char *file)
{
    CLEANUP(freep) char *path = xstrdup(file);
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return -1;
            *c = '/';
        }
    return 0;
}

int own_config_write(const char *path, const struct buf *text, bool replace, struct error *e)
{
    CLEANUP(freep) char *fresh = xprintf("%s.new", path), *old = xprintf("%s.old", path);
    bool there = access(path, F_OK) == 0;
    if (there && !replace)
        return error_set(e, CHELA_E_CONFLICT,
                         "%s is there already: remove it, or name another file with --output",
                         path);
    int fd = make_folders(path) < 0
                 ? -1
                 : open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, CHELA_E_OTHER, "%s cannot be written: %s", path, strerror(errno));
    bool ok = write(fd, text->p, text->n) == (ssize_t)text->n && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    if (ok && there)
        ok = rename(path, old) == 0;
    if (ok && rename(fresh, path) == 0)
        return 0;
    unlink(fresh);
    return error_set(e, CHELA_E_OTHER, "%s cannot be written", path);
}

void own_config_string(const char *s, struct buf *out)
{
    buf_char(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c < 0x20)
            buf_printf(out, "\\x%02x", c);
        else
            buf_char(out, *s);
    }
    buf_char(out, '"');
}
