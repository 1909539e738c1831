/*
 * Projects and the trust in them. A project's .chela/chela.conf is anybody's file (it comes with a
 * checkout), so until `chela trust` it may set only what can't hurt: options that the core's table
 * marks. The folders that are trusted stand in the state folder, one a line. Also the state folder
 * itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "host/options_private.h"
#include "host/settings_private.h"

extern char **environ;

char *settings_project(const char *directory)
{
    CLEANUP(freep) char *at = realpath(directory, NULL);
    while (at && *at) {
        CLEANUP(freep) char *file = xprintf("%s/.chela/chela.conf", at);
        CLEANUP(freep) char *folder = xprintf("%s/.chela/conf.d", at);
        if (access(file, F_OK) == 0 || access(folder, F_OK) == 0)
            return xstrdup(at);
        char *slash = strrchr(at, '/');
        *slash = '\0';
    }
    return NULL;
}

/* ---- the state folder ---- */

static char *state_folder(char **environment)
{
    const char *set = option_variable(environment, "CHELA_STATE_DIR");
    if (set && *set)
        return xstrdup(set);
    set = option_variable(environment, "STATE_DIRECTORY"); /* systemd; several with colons */
    if (set && *set)
        return xmemdup(set, strcspn(set, ":"));
    set = option_variable(environment, "XDG_STATE_HOME");
    if (set && set[0] == '/')
        return xprintf("%s/chela", set);
    set = option_variable(environment, "HOME");
    return xprintf("%s/.local/state/chela", set && set[0] == '/' ? set : "");
}

const char *settings_state_dir(void)
{
    static char made[PATH_MAX];
    CLEANUP(freep) char *folder = state_folder(environ);
    if (strcmp(folder, made) != 0 || access(folder, F_OK) < 0) {
        /* who uses the folder finds out what is wrong with it, with the path in its error */
        (void)file_make_folder(folder);
        snprintf(made, sizeof made, "%s", folder);
    }
    return made;
}

/* ---- trust ---- */

static char *read_list(const char *path)
{
    struct buf text = {0};
    file_read(path, 1 << 20, &text, NULL);
    if (!text.p)
        buf_puts(&text, "");
    return buf_take(&text);
}

/* Where the line stands in the list, NULL if it doesn't. */
static char *find_line(char *list, const char *line)
{
    size_t n = strlen(line);
    for (char *p = list; *p;) {
        size_t length = strcspn(p, "\n");
        if (length == n && memcmp(p, line, n) == 0)
            return p;
        p += length + (p[length] == '\n');
    }
    return NULL;
}

bool settings_is_trusted(const char *project, char **environment)
{
    CLEANUP(freep) char *folder = state_folder(environment);
    CLEANUP(freep) char *path = xprintf("%s/trusted", folder);
    CLEANUP(freep) char *list = read_list(path);
    return find_line(list, project) != NULL;
}

int settings_trust(const char *directory, bool trust, struct error *e)
{
    CLEANUP(freep) char *folder = realpath(directory, NULL);
    if (!folder)
        return error_set(e, CHELA_E_NOT_FOUND, "%s: %s", directory, strerror(errno));
    if (strchr(folder, '\n'))
        return error_set(e, CHELA_E_ARGS, "a folder with a line break in its name");
    CLEANUP(freep) char *path = xprintf("%s/trusted", settings_state_dir());
    CLEANUP(freep) char *list = read_list(path);
    char *at = find_line(list, folder);
    if ((at != NULL) == trust)
        return 0;
    struct buf text = {0};
    if (trust) {
        buf_printf(&text, "%s%s\n", list, folder);
    } else {
        const char *rest = at + strlen(folder);
        buf_add(&text, list, (size_t)(at - list));
        buf_puts(&text, rest + (*rest == '\n'));
    }
    int result = file_replace(path, buf_view(&text), NULL, e);
    buf_free(&text);
    return result;
}

/* ---- what an untrusted project may set ---- */

static void confine(struct node *group, const char *path, const char *project, struct buf *warnings)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct node *n = group->children[i];
        CLEANUP(freep) char *at = xprintf("%s%s%s", path, *path ? "." : "", n->name);
        const struct chela_option *option;
        bool known = options_known(settings_core_table, sizeof(struct chela_option), at, &option);
        if (known && !option && n->kind == NODE_GROUP) {
            confine(n, at, project, warnings);
            group->children[kept++] = n;
        } else if (known && option && (option->flags & OPTION_PROJECT)) {
            group->children[kept++] = n;
        } else {
            node_complain(n, warnings, "%s is ignored: the project isn't trusted (chela trust %s)",
                          at, project);
            node_free(n);
        }
    }
    group->count = kept;
}

void settings_confine(struct node *root, const char *project, struct buf *warnings)
{
    confine(root, "", project, warnings);
}
