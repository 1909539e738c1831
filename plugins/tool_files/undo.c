/*
 * Checkpoints of file changes (see undo.h). Called by files.c and tool_files.c on a pool thread.
 */
#include "undo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "files_internal.h"
#include "support/json.h"

enum { KEPT = 20, LONGEST_KEY = 200 };

/* ---- folders ---- */

/* A session's key as a file name. */
static void put_name(FILE *out, const char *text)
{
    uint64_t hash = 14695981039346656037u;
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '-' || *p == '_';
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
        if (n < LONGEST_KEY)
            n += (size_t)fprintf(out, plain ? "%c" : "%%%02x", (unsigned char)*p);
    }
    if (n >= LONGEST_KEY)
        fprintf(out, "-%016" PRIx64, hash);
}

static char *session_folder(const char *state, const char *session)
{
    char *path = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&path, &n);
    if (!out)
        abort();
    fprintf(out, "%s/undo/", state);
    put_name(out, session);
    fclose(out);
    return path;
}

static int is_turn(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

/* The turns' folders, newest first; free each and the list. Their number; none where there is no
 * such folder. */
static int turns(const char *folder, struct dirent ***ret)
{
    *ret = NULL;
    int n = scandir(folder, ret, is_turn, newest_first);
    return n > 0 ? n : 0;
}

static void remove_turn(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(fd, e->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

char *undo_folder(const char *state, const char *session, const char *run,
                  unsigned long long now_ms)
{
    char *path = NULL, *suffix = NULL, *folder = session_folder(state, session);
    size_t length = 0;
    struct dirent **kept;
    FILE *out = open_memstream(&suffix, &length);
    if (!out)
        abort();
    put_name(out, run);
    fclose(out);
    int n = turns(folder, &kept);
    for (int i = 0; i < n; i++) {
        const char *name = kept[i]->d_name, *dash = strchr(name, '-');
        if (!path && dash && strcmp(dash + 1, suffix) == 0 &&
            asprintf(&path, "%s/%s", folder, name) < 0)
            abort();
        if (i >= KEPT)
            remove_turn(folder, name);
        free(kept[i]);
    }
    free(kept);
    if (!path && asprintf(&path, "%s/%015llu-%s", folder, now_ms, suffix) < 0)
        abort();
    free(suffix);
    free(folder);
    return path;
}

static bool make_folders(const char *path)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof part)
        return false;
    memcpy(part, path, n + 1);
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

/* ---- keeping ---- */

static int open_in(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The list as an array of objects; owned by the caller. */
static json_object *read_list(const char *folder)
{
    json_object *list = chela_json_new_array();
    int fd = open_in(folder, "list", O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    while (file && (n = getline(&line, &size, file)) > 0) {
        json_object *o = NULL;
        if (chela_json_parse(line, (size_t)n, NULL, &o, NULL) == 0)
            chela_json_push(list, o);
    }
    free(line);
    if (file)
        fclose(file);
    return list;
}

static bool add_line(const char *folder, json_object *o)
{
    char *line = NULL;
    int n = asprintf(&line, "%s\n", chela_json_text(o, NULL));
    int fd = open_in(folder, "list", O_WRONLY | O_CREAT | O_APPEND);
    bool fine = n > 0 && fd >= 0 && write(fd, line, (size_t)n) == n && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    free(line);
    return fine;
}

static bool is_of(json_object *o, const struct job *j)
{
    const char *workspace = chela_json_string(o, "workspace", NULL);
    const char *path = chela_json_string(o, "path", NULL);
    return workspace && path && strcmp(workspace, j->workspace) == 0 &&
           strcmp(path, j->relative) == 0;
}

static bool is_kept(const struct job *j)
{
    json_object *list = read_list(j->checkpoint);
    bool found = false;
    for (size_t i = 0; i < chela_json_length(list) && !found; i++)
        found = is_of(chela_json_at(list, i), j);
    json_object_put(list);
    return found;
}

/* Copies a file into one of its own, whose name goes into ret_name; calls may run side by side. */
static bool copy_to(const char *folder, char *ret_name, size_t size, int from)
{
    char piece[65536];
    ssize_t n = 0;
    int to = -1;
    for (unsigned number = 0; to < 0 && (number == 0 || errno == EEXIST); number++) {
        snprintf(ret_name, size, "%u", number);
        to = open_in(folder, ret_name, O_WRONLY | O_CREAT | O_EXCL);
    }
    while (to >= 0 && (n = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)n) != n) {
            n = -1;
            break;
        }
    bool fine = to >= 0 && n == 0 && fsync(to) == 0;
    if (to >= 0)
        close(to);
    return fine;
}

static json_object *entry_of(const struct job *j)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "workspace", j->workspace);
    chela_json_put_text(o, "path", j->relative);
    return o;
}

bool undo_keep(struct job *j)
{
    struct stat st;
    char name[64] = "";
    if (!j->checkpoint || is_kept(j))
        return true;
    if (!make_folders(j->checkpoint)) {
        files_fail(j, "%s was not changed: its checkpoint cannot be kept: %s", j->path,
                   strerror(errno));
        return false;
    }
    json_object *o = entry_of(j);
    int fd = beneath_open(&j->below, j->relative, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    bool fine = true;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        fine = copy_to(j->checkpoint, name, sizeof name, fd);
        chela_json_put_text(o, "copy", name);
        chela_json_put_int(o, "mode", st.st_mode & 07777);
    }
    if (fd >= 0)
        close(fd);
    fine = fine && add_line(j->checkpoint, o);
    json_object_put(o);
    if (!fine)
        files_fail(j, "%s was not changed: its checkpoint cannot be kept: %s", j->path,
                   strerror(errno));
    return fine;
}

/* What stands there: its size and a sum of its bytes; of nothing it is "". */
static void stamp(const struct beneath *b, const char *relative, char *text, size_t size)
{
    unsigned char piece[65536];
    uint64_t hash = 14695981039346656037u;
    unsigned long long total = 0;
    ssize_t n;
    struct stat st;
    int fd = beneath_open(b, relative, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    text[0] = '\0';
    if (fd < 0)
        return;
    while (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (n = read(fd, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ piece[i]) * 1099511628211u;
        total += (unsigned long long)n;
    }
    close(fd);
    snprintf(text, size, "%llu %016" PRIx64, total, hash);
}

void undo_done(struct job *j)
{
    char text[128];
    if (!j->checkpoint)
        return;
    json_object *o = entry_of(j);
    stamp(&j->below, j->relative, text, sizeof text);
    chela_json_put_text(o, "after", text);
    add_line(j->checkpoint, o);
    json_object_put(o);
}

/* ---- taking back ---- */

/* What we made of it last; NULL: nothing (it was deleted, or the change didn't happen). */
static const char *after_of(json_object *list, const struct job *j)
{
    const char *after = NULL;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        if (is_of(o, j) && chela_json_has(o, "after"))
            after = chela_json_string(o, "after", NULL);
    }
    return after;
}

static bool put_back(struct job *j, const char *folder, json_object *o)
{
    const char *name = chela_json_string(o, "copy", NULL);
    struct stat st;
    if (!name) {
        if (files_mode(j) != 0)
            files_delete(j);
        return !j->failed;
    }
    int fd = strchr(name, '/') ? -1 : open_in(folder, name, O_RDONLY);
    size_t n = 0, size = fd >= 0 && fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    char *text = malloc(size + 1);
    ssize_t got = 0;
    if (!text)
        abort();
    while (fd >= 0 && n < size && (got = read(fd, text + n, size - n)) > 0)
        n += (size_t)got;
    if (fd < 0 || n != size)
        files_fail(j, "the copy cannot be read");
    else
        files_put(j, text, n, (mode_t)chela_json_int(o, "mode", 0644));
    if (fd >= 0)
        close(fd);
    free(text);
    return !j->failed;
}

/* Returns false if it had to be left alone. */
static bool undo_one(json_object *list, json_object *o, const char *folder, bool force, FILE *out)
{
    char now[128], *said = NULL;
    size_t n = 0;
    struct job j = {.workspace = chela_json_string(o, "workspace", NULL),
                    .below = {-1, true}}; /* it could be changed, so it can be put back */
    const char *path = chela_json_string(o, "path", NULL);
    if (!j.workspace || !path)
        return true;
    j.out = open_memstream(&said, &n);
    if (!j.out)
        abort();
    bool fine = files_aim(&j, path) &&
                (j.below.root = open(j.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0;
    const char *after = fine ? after_of(list, &j) : NULL;
    if (fine)
        stamp(&j.below, j.relative, now, sizeof now);
    if (fine && !force && strcmp(now, after ? after : "") != 0) {
        fprintf(out, "- `%s`: left alone, it was changed since (`/undo force` overwrites it)\n",
                path);
        fine = false;
    } else if (fine) {
        fine = put_back(&j, folder, o);
        fflush(j.out);
        if (fine)
            fprintf(out, "- `%s`: %s\n", path,
                    chela_json_has(o, "copy") ? "as it was before" : "removed, it was new");
        else
            fprintf(out, "- `%s`: %s\n", path, said);
    } else {
        fprintf(out, "- `%s`: the workspace cannot be opened\n", path);
    }
    fclose(j.out);
    if (j.below.root >= 0)
        close(j.below.root);
    free(said);
    return fine;
}

static bool is_first(json_object *list, size_t at)
{
    json_object *o = chela_json_at(list, at);
    struct job j = {.workspace = chela_json_string(o, "workspace", NULL),
                    .relative = chela_json_string(o, "path", NULL)};
    for (size_t i = 0; i < at; i++)
        if (j.workspace && j.relative && is_of(chela_json_at(list, i), &j))
            return false;
    return true;
}

char *undo_run(const char *state, const char *session, bool force)
{
    char *text = NULL, *folder = session_folder(state, session), path[PATH_MAX];
    size_t n = 0;
    struct dirent **kept;
    int count = turns(folder, &kept);
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    if (count == 0) {
        fputs("There is nothing to take back: no file tool has changed a file in this "
              "conversation.",
              out);
    } else {
        bool all = true;
        snprintf(path, sizeof path, "%s/%s", folder, kept[0]->d_name);
        json_object *list = read_list(path);
        fputs("Taken back, the changes of the last turn that changed files:\n", out);
        for (size_t i = chela_json_length(list); i-- > 0;)
            if (is_first(list, i))
                all = undo_one(list, chela_json_at(list, i), path, force, out) && all;
        json_object_put(list);
        if (all)
            remove_turn(folder, kept[0]->d_name);
    }
    fclose(out);
    for (int i = 0; i < count; i++)
        free(kept[i]);
    free(kept);
    free(folder);
    return text;
}
