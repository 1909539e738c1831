/* Files of notes (see notes.h). */
#include "notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/text.h"
#include "support/zone.h"

enum {
    DEPTH_MOST = 8,
    FILES_MOST = 200000,
    FILE_MOST = 1 << 20,
    PART_BYTES = 1200,
    PART_MOST = 2400
};

uint64_t notes_date(const char *path)
{
    const char *name = strrchr(path, '/');
    int y, m, d, n = 0;
    name = name ? name + 1 : path;
    if (sscanf(name, "%4d-%2d-%2d%n", &y, &m, &d, &n) != 3 || n != 10 || y < 1970 || m < 1 ||
        m > 12 || d < 1 || d > 31)
        return 0;
    return (uint64_t)chela_zone_days(y, (unsigned)m, (unsigned)d) * 86400000u;
}

static bool is_note(const char *name)
{
    size_t n = strlen(name);
    return (n > 3 && strcmp(name + n - 3, ".md") == 0) ||
           (n > 4 && strcmp(name + n - 4, ".txt") == 0);
}

static uint64_t stamp_of(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000007u + (uint64_t)st->st_mtim.tv_nsec * 31u +
           (uint64_t)st->st_size;
}

static void add(struct note_list *l, const char *path, const struct stat *st)
{
    if (l->n >= FILES_MOST)
        return;
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->v = chela_need(realloc(l->v, l->room * sizeof *l->v));
    }
    uint64_t date = notes_date(path);
    struct note *f = &l->v[l->n++];
    f->path = chela_need(strdup(path));
    f->stamp = stamp_of(st);
    f->dated = date != 0;
    f->time_ms = date ? date : (uint64_t)st->st_mtim.tv_sec * 1000u;
}

/* Before it is read, so that nothing is missed in between. */
static void watch(struct note_list *l, const char *path)
{
    static const uint32_t events = IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE |
                                   IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                                   IN_ONLYDIR | IN_DONT_FOLLOW;
    int number = l->watch < 0 ? -1 : inotify_add_watch(l->watch, path, events);
    if (number < 0) {
        l->unwatched = true;
        return;
    }
    l->folders = chela_need(realloc(l->folders, (l->folder_count + 1) * sizeof *l->folders));
    l->folders[l->folder_count++] = (struct note_folder){number, chela_need(strdup(path))};
}

static void scan(struct note_list *l, const char *path, unsigned depth)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISREG(st.st_mode) && is_note(path)) {
        add(l, path, &st);
        return;
    }
    if (S_ISDIR(st.st_mode) && depth)
        watch(l, path);
    DIR *d = S_ISDIR(st.st_mode) && depth ? opendir(path) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        char *inside = NULL;
        if (e->d_name[0] == '.')
            continue;
        if (asprintf(&inside, "%s/%s", path, e->d_name) < 0)
            abort();
        scan(l, inside, depth - 1);
        free(inside);
    }
    if (d)
        closedir(d);
}

bool notes_stamp(const char *path, uint64_t *ret)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *ret = stamp_of(&st);
    return true;
}

void notes_scan(struct note_list *l, const char *path)
{
    scan(l, path, DEPTH_MOST);
}

void notes_free(struct note_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    for (size_t i = 0; i < l->folder_count; i++)
        free(l->folders[i].path);
    free(l->folders);
    free(l->v);
    memset(l, 0, sizeof *l);
}

static char *read_whole(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    char *text = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        size_t want = st.st_size > FILE_MOST ? FILE_MOST : (size_t)st.st_size, n = 0;
        ssize_t got;
        text = chela_need(malloc(want + 1));
        while (n < want && (got = read(fd, text + n, want - n)) > 0)
            n += (size_t)got;
        text[n] = '\0';
        if (memchr(text, 0, n)) { /* no text */
            free(text);
            text = NULL;
        }
    }
    close(fd);
    return text;
}

/* ---- parts ---- */

static void put_part(struct note_parts *p, const char *text, size_t n, size_t first, size_t last)
{
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    if (!n)
        return;
    p->v = chela_need(realloc(p->v, (p->n + 1) * sizeof *p->v));
    struct note_part *part = &p->v[p->n++];
    snprintf(part->name, sizeof part->name, "%zu-%zu", first, last);
    part->text = chela_need(strndup(text, n));
}

struct note_parts notes_parts(const char *path)
{
    struct note_parts p = {0};
    char *text = read_whole(path);
    size_t line = 1, first = 1, begin = 0, at = 0;
    while (text && text[at]) {
        size_t n = strcspn(text + at, "\n");
        bool heading = text[at] == '#', blank = n == 0;
        size_t have = at - begin;
        if (have && ((heading && have > 200) || (blank && have > PART_BYTES) || have > PART_MOST)) {
            put_part(&p, text + begin, have, first, line - 1);
            begin = at;
            first = line;
        }
        at += n + (text[at + n] == '\n');
        line++;
    }
    if (text)
        put_part(&p, text + begin, at - begin, first, line > first ? line - 1 : first);
    free(text);
    return p;
}

void notes_parts_free(struct note_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].text);
    free(p->v);
}

char *notes_text(const char *path, int64_t from, int64_t lines, size_t most)
{
    char *text = read_whole(path), *p = text;
    if (!text)
        return NULL;
    for (int64_t i = 1; i < from && *p; i++) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    char *end = p;
    for (int64_t i = 0; (lines <= 0 || i < lines) && *end; i++) {
        end += strcspn(end, "\n");
        end += *end == '\n';
    }
    size_t n = (size_t)(end - p);
    if (n > most)
        for (n = most; n && ((unsigned char)p[n] & 0xc0) == 0x80;)
            n--;
    char *part = chela_need(strndup(p, n));
    free(text);
    return part;
}

int notes_append(const char *path, const char *text)
{
    char *line = NULL;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    int n = asprintf(&line, "%s%s\n", st.st_size ? "\n" : "", text);
    if (n < 0)
        abort();
    ssize_t done = write(fd, line, (size_t)n);
    free(line);
    int result = close(fd);
    return done == n ? result : -1;
}
