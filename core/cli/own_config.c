/* Own config: see own_config.h. */
#include "cli/own_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"

char *own_config_path(const char *name)
{
    const char *config = getenv("CHELA_CONFIG");
    if (config && *config) {
        const char *slash = strrchr(config, '/');
        CLEANUP(freep)
        char *folder = slash ? xmemdup(config, (size_t)(slash - config)) : xstrdup(".");
        return name ? xprintf("%s/%s", folder, name) : xstrdup(config);
    }
    CLEANUP(freep) char *folder = paths_user_config(getenv("XDG_CONFIG_HOME"), getenv("HOME"));
    return xprintf("%s/chela/%s", folder, name ? name : "chela.conf");
}

int own_config_write(const char *path, const struct buf *text, bool replace, struct error *e)
{
    if (!replace && access(path, F_OK) == 0)
        return error_set(e, CHELA_E_CONFLICT,
                         "%s is there already: remove it, or name another file with --output",
                         path);
    return file_replace(path, buf_view(text), ".old", e);
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
