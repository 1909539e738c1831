/*
 * The operations on files (see files.h). Called by tool_files.c on a pool thread; everything goes
 * through beneath.c, and only regular files and folders are touched.
 */
#include "files_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "edit.h"
#include "support/json.h"
#include "undo.h"

enum { LINES = 2000, ENTRIES = 1000, LARGEST = 64 * 1024 * 1024, LARGEST_IMAGE = 10 * 1024 * 1024 };

void files_fail(struct job *j, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(j->out, format, ap);
    va_end(ap);
    j->failed = true;
}

void files_fail_errno(struct job *j, const char *what)
{
    files_fail(j, "%s cannot be %s: %s", j->path, what, beneath_reason(errno));
}

/* Opens a regular file; a FIFO or device is never waited for or read. */
static int open_file(struct job *j, struct stat *st)
{
    int fd = beneath_open(&j->below, j->relative, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) {
        files_fail_errno(j, "read");
        return -1;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    files_fail(j, S_ISDIR(st->st_mode) ? "%s is a folder; use list" : "%s is not a regular file",
               j->path);
    close(fd);
    return -1;
}

char *files_slurp(struct job *j, size_t *ret_length, mode_t *ret_mode)
{
    struct stat st;
    int fd = open_file(j, &st);
    if (fd < 0)
        return NULL;
    if (st.st_size > LARGEST) {
        files_fail(j, "%s is too large (%lld bytes, at most %d)", j->path, (long long)st.st_size,
                   LARGEST);
        close(fd);
        return NULL;
    }
    size_t size = (size_t)st.st_size + 1, n = 0;
    char *text = malloc(size + 1);
    if (!text)
        abort();
    ssize_t got = 0;
    while (n < size && (got = read(fd, text + n, size - n)) > 0)
        n += (size_t)got;
    close(fd);
    if (got < 0) {
        files_fail_errno(j, "read");
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *ret_length = n;
    *ret_mode = st.st_mode & 07777;
    return text;
}

bool files_is_text(const char *text, size_t n)
{
    json_object *s =
        chela_json_new_string(text, n); /* invalid bytes become U+FFFD: longer or different */
    size_t length = 0;
    const char *clean = chela_json_as_string(s, &length);
    bool same = clean && length == n && memcmp(clean, text, n) == 0 && !memchr(text, '\0', n);
    json_object_put(s);
    return same;
}

/* ---- read and list ---- */

void files_read_lines(struct job *j, const char *text, size_t length)
{
    int64_t from = chela_json_int(j->arguments, "offset", 1),
            most = chela_json_int(j->arguments, "limit", LINES);
    int64_t line = 1, shown = 0;
    size_t written = 0;
    const char *p = text, *end = text + length;
    while (p < end && shown < most) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = stop ? (size_t)(stop - p) + 1 : (size_t)(end - p);
        if (line >= from) {
            if (written + n > j->limit) {
                if (shown == 0 && n > j->limit) { /* one line that is longer than all we may show */
                    size_t cut = j->limit;
                    while (cut && ((unsigned char)p[cut] & 0xc0) == 0x80)
                        cut--;
                    fwrite(p, 1, cut, j->out);
                    fprintf(j->out, "\n[line %lld is %zu bytes long; the first %zu are shown]\n",
                            (long long)line, n, cut);
                    return;
                }
                break;
            }
            fwrite(p, 1, n, j->out);
            written += n;
            shown++;
        }
        p += n;
        line++;
    }
    if (p < end)
        fprintf(j->out, "%s[more follows: read on with offset %lld]\n",
                written && p[-1] != '\n' ? "\n" : "", (long long)line);
    else if (shown == 0 && length)
        fprintf(j->out, "[the file has %lld lines]\n", (long long)line - 1);
}

/* What kind of image the bytes are, by their beginning; NULL: none that models know. */
static const char *image_mime(const char *p, size_t n)
{
    static const struct {
        const char *magic, *mime;
        size_t length;
    } kinds[] = {{"\x89PNG\r\n\x1a\n", "image/png", 8},
                 {"\xff\xd8\xff", "image/jpeg", 3},
                 {"GIF87a", "image/gif", 6},
                 {"GIF89a", "image/gif", 6}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (n > kinds[i].length && memcmp(p, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].mime;
    return n > 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0 ? "image/webp"
                                                                                : NULL;
}

static void run_read(struct job *j)
{
    size_t length;
    mode_t mode;
    char *text = files_slurp(j, &length, &mode);
    if (!text)
        return;
    const char *mime = image_mime(text, length);
    if (mime && length <= LARGEST_IMAGE) {
        fprintf(j->out, "%s is an image (%s, %zu bytes)", j->path, mime, length);
        j->image = text;
        j->image_length = length;
        j->mime = mime;
        return;
    }
    if (files_is_text(text, length))
        files_read_lines(j, text, length);
    else
        files_fail(j, "%s is no UTF-8 text (%zu bytes)", j->path, length);
    free(text);
}

static void run_send(struct job *j)
{
    size_t length;
    mode_t mode;
    char *text = files_slurp(j, &length, &mode);
    if (!text)
        return;
    const char *mime = image_mime(text, length);
    j->image = text;
    j->image_length = length;
    j->mime = mime                                         ? mime
              : length > 4 && memcmp(text, "%PDF", 4) == 0 ? "application/pdf"
              : files_is_text(text, length)                ? "text/plain"
                                                           : "application/octet-stream";
    fprintf(j->out, "%s (%s, %zu bytes) goes to the person with your answer", j->path, j->mime,
            length);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_list(struct job *j)
{
    int fd = beneath_open(&j->below, j->relative, O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    char **names = NULL;
    size_t n = 0;
    if (!dir) {
        files_fail_errno(j, "listed");
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        bool folder =
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
        char **grown = realloc(names, (n + 1) * sizeof *names), *name = NULL;
        if (!grown || asprintf(&name, "%s%s", e->d_name, folder ? "/" : "") < 0)
            abort();
        names = grown;
        names[n++] = name;
    }
    closedir(dir);
    if (n)
        qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        if (i < ENTRIES)
            fprintf(j->out, "%s\n", names[i]);
        free(names[i]);
    }
    free(names);
    if (n > ENTRIES)
        fprintf(j->out, "[%zu more entries]\n", n - ENTRIES);
}

/* ---- write, edit, delete ---- */

static bool write_all(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return fsync(fd) == 0;
}

void files_put(struct job *j, const char *text, size_t length, mode_t mode)
{
    const char *leaf;
    char temporary[64];
    uint64_t random = 0;
    struct stat st;
    int parent = beneath_parent(&j->below, j->relative, true, &leaf);
    if (parent < 0) {
        files_fail_errno(j, "written");
        return;
    }
    if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
        files_fail(j, "%s is not a regular file (a folder or a link?), so it is left alone",
                   j->path);
        close(parent);
        return;
    }
    if (!undo_keep(j)) {
        close(parent);
        return;
    }
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint64_t)(uintptr_t)j;
    snprintf(temporary, sizeof temporary, ".chela-%016llx", (unsigned long long)random);
    int fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    mode ? mode : 0666);
    bool ok = fd >= 0 && write_all(fd, text, length) && (!mode || fchmod(fd, mode) == 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (ok && renameat(parent, temporary, parent, leaf) == 0) {
        fsync(parent);
        undo_done(j);
        fprintf(j->out, "%s: %zu bytes written", j->path, length);
    } else {
        errno = ok ? errno : error;
        files_fail_errno(j, "written");
        if (fd >= 0)
            unlinkat(parent, temporary, 0);
    }
    close(parent);
}

mode_t files_mode(struct job *j)
{
    struct stat st;
    int fd = beneath_open(&j->below, j->relative, O_PATH | O_NOFOLLOW, 0);
    bool known = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return known ? st.st_mode & 07777 : 0;
}

static void run_write(struct job *j)
{
    size_t n = 0;
    const char *content = chela_json_string(j->arguments, "content", &n);
    if (content)
        files_put(j, content, n, files_mode(j));
    else
        files_fail(j, "write needs content");
}

static void run_edit(struct job *j)
{
    size_t length, n;
    mode_t mode;
    char why[512], *text = files_slurp(j, &length, &mode);
    if (!text)
        return;
    char *changed =
        edit_apply(text, length, chela_json_array(j->arguments, "edits"), &n, why, sizeof why);
    if (changed)
        files_put(j, changed, n, mode);
    else
        files_fail(j, "%s: %s", j->path, why);
    free(changed);
    free(text);
}

void files_delete(struct job *j)
{
    const char *leaf;
    struct stat st;
    int parent = beneath_parent(&j->below, j->relative, false, &leaf);
    if (parent < 0) {
        files_fail_errno(j, "deleted");
        return;
    }
    bool folder = fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    if (!folder && !undo_keep(j)) {
        close(parent);
        return;
    }
    if (unlinkat(parent, leaf, folder ? AT_REMOVEDIR : 0) == 0) {
        if (!folder)
            undo_done(j);
        fprintf(j->out, "%s is deleted", j->path);
    } else if (errno == ENOTEMPTY || errno == EEXIST)
        files_fail(j, "%s is a folder that is not empty; delete what is in it first", j->path);
    else
        files_fail_errno(j, "deleted");
    close(parent);
}

bool files_aim(struct job *j, const char *path)
{
    j->path = path && *path ? path : ".";
    j->relative = beneath_relative(j->workspace, j->path);
    if (!j->relative)
        files_fail(j, "%s is outside of the workspace %s", j->path, j->workspace);
    return j->relative != NULL;
}

struct files_result files_run(const struct files_request *q)
{
    static void (*const runs[])(struct job *) = {
        [FILES_READ] = run_read,       [FILES_WRITE] = run_write, [FILES_EDIT] = run_edit,
        [FILES_DELETE] = files_delete, [FILES_LIST] = run_list,   [FILES_SEARCH] = search_run,
        [FILES_PATCH] = patch_run,     [FILES_SEND] = run_send,
    };
    struct files_result r = {0};
    struct job j = {.arguments = q->arguments,
                    .limit = q->limit,
                    .workspace = q->workspace,
                    .checkpoint = q->checkpoint,
                    .below = {-1, q->mounts}};
    j.out = open_memstream(&r.text, &r.length);
    if (!j.out)
        abort();
    if (files_aim(&j, chela_json_string(q->arguments, "path", NULL))) {
        if ((j.below.root = open(q->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
            files_fail(&j, "the workspace %s cannot be opened: %s", q->workspace, strerror(errno));
        else
            runs[q->kind](&j);
    }
    if (j.below.root >= 0)
        close(j.below.root);
    fclose(j.out);
    r.failed = j.failed;
    r.image = j.image;
    r.image_length = j.image_length;
    r.mime = j.mime;
    return r;
}

struct files_result files_show(json_object *arguments, const char *path, const char *text,
                               size_t length, size_t limit)
{
    struct files_result r = {0};
    struct job j = {.arguments = arguments, .limit = limit, .path = path};
    j.out = open_memstream(&r.text, &r.length);
    if (!j.out)
        abort();
    if (files_is_text(text, length))
        files_read_lines(&j, text, length);
    else
        files_fail(&j, "%s is no UTF-8 text (%zu bytes)", path, length);
    fclose(j.out);
    r.failed = j.failed;
    return r;
}
