/*
 * Opens a plugin (see module.h). The only user of libltdl, which by itself opens lazily, hides what
 * dlopen said and searches folders that nobody named; so it gets a loader of our own and absolute
 * paths only, and nothing is ever unloaded. What the descriptor holds is module_check.c's.
 */
#include "host/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <ltdl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/module_private.h"

static const struct module_builtin *builtins;
static char loader_text[512]; /* what dlopen said last */

/* ---- our loader ---- */

static lt_module now_open(lt_user_data data, const char *filename, lt_dladvise advise)
{
    (void)data;
    (void)advise;
    void *module = filename ? dlopen(filename, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *text = module ? "" : dlerror();
    snprintf(loader_text, sizeof loader_text, "%s", text ? text : "");
    return module;
}

static int now_close(lt_user_data data, lt_module module)
{
    (void)data;
    (void)module;
    return 0; /* never unload: threads, handlers and strings of it may still be in use */
}

static void *now_symbol(lt_user_data data, lt_module module, const char *name)
{
    (void)data;
    return dlsym(module, name);
}

static int initialise(struct error *e)
{
    static const lt_dlvtable loader = {.name = "chela_now",
                                       .module_open = now_open,
                                       .module_close = now_close,
                                       .find_sym = now_symbol,
                                       .priority = LT_DLLOADER_APPEND};
    static bool ready;
    if (ready)
        return 0;
    unsetenv("LTDL_LIBRARY_PATH"); /* folders that nobody configured */
    if (builtins)
        lt_dlpreload_default((const lt_dlsymlist *)(const void *)builtins);
    if (lt_dlinit() != 0 || lt_dlloader_add(&loader) != 0)
        return error_set(e, CHELA_E_OTHER, "libltdl can't start: %s", lt_dlerror());
    free(lt_dlloader_remove("lt_dlopen"));
    ready = true;
    return 0;
}

/* ---- built in ---- */

void module_use_builtins(const struct module_builtin *list)
{
    builtins = list;
}

const char *module_builtin_at(unsigned index)
{
    static char name[128];
    for (const struct module_builtin *b = builtins; b && b->name; b++) {
        size_t n = strlen(b->name);
        if (b->address || n < 3 || n >= sizeof name || strcmp(b->name + n - 2, ".a") != 0)
            continue;
        if (index-- == 0) {
            snprintf(name, sizeof name, "%.*s", (int)n - 2, b->name);
            return name;
        }
    }
    return NULL;
}

bool module_is_builtin(const char *name)
{
    const char *known;
    for (unsigned i = 0; (known = module_builtin_at(i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* ---- who may write ---- */

/* A group that nobody but its user is in: what distributions give each user. */
static bool is_private_group(gid_t gid, uid_t uid)
{
    const struct group *g = getgrgid(gid);
    if (gid == 0)
        return true;
    if (!g || g->gr_mem[0])
        return false;
    const struct passwd *p = getpwuid(uid);
    return p && p->pw_gid == gid && strcmp(p->pw_name, g->gr_name) == 0;
}

static bool others_may_write(const struct stat *s)
{
    return (s->st_mode & S_IWOTH) ||
           ((s->st_mode & S_IWGRP) && !is_private_group(s->st_gid, s->st_uid));
}

static bool trusted_owner(uid_t uid)
{
    struct stat own;
    return uid == 0 || uid == geteuid() || (stat("/proc/self/exe", &own) == 0 && own.st_uid == uid);
}

static int check_folders(const char *path, struct error *e)
{
    CLEANUP(freep) char *folder = xstrdup(path);
    bool nearest = true;
    struct stat s;
    for (char *slash; (slash = strrchr(folder, '/')); nearest = false) {
        *(slash == folder ? slash + 1 : slash) = '\0';
        if (stat(folder, &s) < 0)
            return error_set(e, CHELA_E_NOT_FOUND, "%s: %s", folder, strerror(errno));
        /* in a sticky folder others can't replace what is ours, but the nearest one must be ours */
        if (others_may_write(&s) && (nearest || !(s.st_mode & S_ISVTX)))
            return error_set(e, CHELA_E_DENIED,
                             "%s: wanted a folder that only its owner may write to, found %s with "
                             "mode %04o; fix: chmod go-w %s",
                             path, folder, (unsigned)s.st_mode & 07777u, folder);
        if (slash == folder)
            break;
    }
    return 0;
}

int module_check_file(const char *path, struct error *e)
{
    struct stat s;
    CLEANUP(freep) char *real = realpath(path, NULL);
    if (!real || stat(real, &s) < 0)
        return error_set(e, CHELA_E_NOT_FOUND,
                         "%s: wanted a plugin's file, found: %s; fix: install it, or correct "
                         "plugins.path",
                         path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return error_set(e, CHELA_E_ARGS,
                         "%s: wanted a plugin's file, found something that is no regular file; "
                         "fix: name the .so itself",
                         path);
    if (!trusted_owner(s.st_uid))
        return error_set(e, CHELA_E_DENIED,
                         "%s: wanted a file of root or of user %u, found one of user %u; fix: "
                         "chown it, or install it anew",
                         path, (unsigned)geteuid(), (unsigned)s.st_uid);
    if (others_may_write(&s))
        return error_set(e, CHELA_E_DENIED,
                         "%s: wanted a file that only its owner may write to, found mode %04o; "
                         "fix: chmod go-w %s",
                         path, (unsigned)s.st_mode & 07777u, real);
    return check_folders(real, e);
}

/* ---- opening ---- */

/* "tool_clock" of "/usr/lib/chela/plugins/tool_clock.so", or of "tool_clock". */
static char *name_of(const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    bool file = slash != NULL;
    if (file && (path[0] != '/' || n < 4 || strcmp(base + n - 3, ".so") != 0)) {
        error_set(e, CHELA_E_ARGS,
                  "%s: wanted an absolute path that ends in .so; fix: give the whole path", path);
        return NULL;
    }
    char *name = xmemdup(base, file ? n - 3 : n);
    if (!module_name_good(name)) {
        error_set(e, CHELA_E_ARGS,
                  "%s: wanted a file name of a-z, 0-9 and _, found \"%s\"; fix: rename the file "
                  "and the module",
                  path, name);
        free(name);
        return NULL;
    }
    return name;
}

static lt_dlhandle open_handle(const char *path, bool builtin)
{
    lt_dladvise advise;
    lt_dlhandle handle = NULL;
    loader_text[0] = '\0';
    if (lt_dladvise_init(&advise) != 0)
        return NULL;
    lt_dladvise_local(&advise);
    lt_dladvise_resident(&advise);
    if (builtin) {
        CLEANUP(freep) char *archive = xprintf("%s.a", path);
        lt_dladvise_preload(&advise);
        handle = lt_dlopenadvise(archive, advise);
    } else {
        handle = lt_dlopenadvise(path, advise);
    }
    lt_dladvise_destroy(&advise);
    return handle;
}

/* What dlopen said about the file, and what to do about it. */
static void explain_open(const char *path, struct error *e)
{
    static const struct {
        const char *text, *fix;
    } known[] = {
        {"undefined symbol", "build it with the flags of chela-sdk.pc (-Wl,-z,defs), with all its "
                             "libraries"},
        {"invalid ELF header", "it is not a shared library at all: install it anew"},
        {"file too short", "it is not a shared library at all: install it anew"},
        {"wrong ELF class", "build it for this machine"},
        {"cannot open shared object file", "install the library that it needs"},
        {"version `", "build it on this system, or install the newer library"},
        {"cannot enable executable stack", "build it with -Wl,-z,noexecstack"},
    };
    const char *text = loader_text[0] ? loader_text : lt_dlerror(), *fix = "see what dlopen says";
    if (!text)
        text = "no reason given";
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (strstr(text, known[i].text))
            fix = known[i].fix;
    size_t n = strlen(path);
    if (strncmp(text, path, n) == 0 && text[n] == ':')
        text += n + 1 + strspn(text + n + 1, " ");
    error_set(e, CHELA_E_ARGS, "%s: wanted a shared library that can be opened, found: %s; fix: %s",
              path, text, fix);
}

/* A renamed file still holds the symbol of its old name. */
static void explain_symbol(const char *path, const char *name, struct error *e)
{
    static const char suffix[] = "_LTX_chela_plugin";
    struct buf text = {0};
    char other[128] = "";
    file_read(path, 16u << 20, &text, NULL);
    for (char *at = text.p; at && (at = memmem(at, (size_t)(text.p + text.n - at), suffix,
                                               sizeof suffix)) /* with its NUL */;
         at++) {
        char *begin = at;
        while (begin > text.p && module_name_char(begin[-1]) && at - begin < 100)
            begin--;
        if (at - begin > 2)
            snprintf(other, sizeof other, "%.*s", (int)(at - begin), begin);
    }
    buf_free(&text);
    if (other[0] && strcmp(other, name) != 0)
        error_set(e, CHELA_E_ARGS,
                  "%s: wanted the symbol %s%s, found %s%s; fix: the file was renamed, call it "
                  "%s.so again",
                  path, name, suffix, other, suffix, other);
    else
        error_set(e, CHELA_E_ARGS,
                  "%s: wanted the symbol %s%s, found none; fix: it is not a plugin of Chela, or "
                  "CHELA_PLUGIN(%s, ...) is missing or hidden",
                  path, name, suffix, name);
}

struct plugin *module_open(const char *path, struct error *e)
{
    struct plugin *result = NULL;
    bool builtin = !strchr(path, '/');
    CLEANUP(freep) char *name = name_of(path, e);
    CLEANUP(freep) char *real = builtin ? NULL : realpath(path, NULL);
    if (!name || initialise(e) < 0)
        return NULL;
    if (builtin && !module_is_builtin(name)) {
        error_set(e, CHELA_E_NOT_FOUND, "%s: wanted a built-in plugin, found none of that name",
                  name);
        return NULL;
    }
    if (!builtin && module_check_file(path, e) < 0)
        return NULL;
    lt_dlhandle handle = open_handle(builtin ? name : real, builtin);
    if (!handle) {
        explain_open(path, e);
        return NULL;
    }
    CLEANUP(freep) char *symbol = xprintf("%s_LTX_chela_plugin", name);
    const struct chela_plugin *descriptor = lt_dlsym(handle, symbol);
    if (!descriptor) {
        explain_symbol(path, name, e);
        return NULL;
    }
    if (module_check(path, name, descriptor, e) < 0)
        return NULL;
    result = module_copy(name, builtin ? "" : real, descriptor);
    result->handle = handle;
    log_debug("plugins", "%s %s from %s", name, result->version, builtin ? "the program" : path);
    return result;
}
