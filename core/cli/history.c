/* History: see history.h. Appends are single writes to a descriptor opened with O_APPEND, so that
 * two clients don't tear each other's lines; the file is rewritten, through a temporary file and a
 * rename, when it has grown to twice its bound. */
#include "cli/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define FILE_LIMIT (4 * 1024 * 1024) /* beyond this only the file's end is read */

static void keep(struct history *history, char *entry)
{
    if (history->entries == NULL) {
        history->entries = xcalloc(HISTORY_ENTRIES, sizeof *history->entries);
    }
    if (history->count == HISTORY_ENTRIES) {
        free(history->entries[0]);
        memmove(&history->entries[0], &history->entries[1],
                (HISTORY_ENTRIES - 1) * sizeof *history->entries);
        history->count--;
    }
    history->entries[history->count++] = entry;
}

static char *unescape(const char *line, size_t length)
{
    char *text = xmalloc(length + 1);
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        char c = line[i];
        if (c == '\\' && i + 1 < length) {
            c = line[++i] == 'n' ? '\n' : line[i];
        }
        text[out++] = c;
    }
    text[out] = '\0';
    return text;
}

static void escape(struct buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\n') {
            buf_add(out, "\\n", 2);
        } else if (*c == '\\') {
            buf_add(out, "\\\\", 2);
        } else {
            buf_add(out, c, 1);
        }
    }
    buf_add(out, "\n", 1);
}

/* Reads a descriptor whole; a regular file of no more than FILE_LIMIT bytes. */
static bool read_file(int fd, struct buf *out)
{
    for (;;) {
        buf_reserve(out, 65536);
        ssize_t n = read(fd, out->p + out->n, 65536);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0;
        }
        out->n += (size_t)n;
        if (out->n > FILE_LIMIT + 65536) {
            return true;
        }
    }
}

static void write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        data += n;
        length -= (size_t)n;
    }
}

static void rewrite(const struct history *history)
{
    struct buf text = {0}, path = {0};
    buf_printf(&path, "%s.%ld", history->path, (long)getpid());
    int fd = open(buf_text(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        for (size_t i = 0; i < history->count; i++) {
            escape(&text, history->entries[i]);
        }
        write_all(fd, text.p, text.n);
        close(fd);
        if (rename(buf_text(&path), history->path) != 0) {
            unlink(buf_text(&path));
        }
    }
    buf_free(&text);
    buf_free(&path);
}

static size_t take_lines(struct history *history, const struct buf *text)
{
    size_t lines = 0;
    for (size_t at = 0; at < text->n;) {
        const char *end = memchr(text->p + at, '\n', text->n - at);
        size_t length = end == NULL ? text->n - at : (size_t)(end - (text->p + at));
        if (length > 0 && length <= 2 * HISTORY_LONGEST &&
            memchr(text->p + at, '\0', length) == NULL) {
            keep(history, unescape(text->p + at, length));
        }
        lines++;
        at += length + 1;
    }
    return lines;
}

void history_open(struct history *history, const char *path)
{
    memset(history, 0, sizeof *history);
    if (path == NULL) {
        return;
    }
    history->path = xstrdup(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0) {
        return;
    }
    struct buf text = {0};
    size_t lines = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        if (status.st_size > FILE_LIMIT) {
            lseek(fd, -FILE_LIMIT, SEEK_END);
        }
        if (read_file(fd, &text)) {
            lines = take_lines(history, &text);
        }
    }
    close(fd);
    bool large = text.n > FILE_LIMIT / 2;
    buf_free(&text);
    if (lines >= 2 * HISTORY_ENTRIES || large) {
        rewrite(history);
    }
}

void history_close(struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        free(history->entries[i]);
    }
    free(history->entries);
    free(history->path);
    memset(history, 0, sizeof *history);
}

void history_add(struct history *history, const char *text, size_t length)
{
    if (length == 0 || length > HISTORY_LONGEST || text[0] == ' ' ||
        memchr(text, '\0', length) != NULL) {
        return;
    }
    const char *last = history->count == 0 ? "" : history->entries[history->count - 1];
    if (strlen(last) == length && memcmp(last, text, length) == 0) {
        return;
    }
    char *entry = xmalloc(length + 1);
    memcpy(entry, text, length);
    entry[length] = '\0';
    keep(history, entry);
    if (history->path == NULL) {
        return;
    }
    int fd = open(history->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return; /* the history is a comfort: no reason to disturb a conversation */
    }
    struct buf line = {0};
    escape(&line, entry);
    write_all(fd, line.p, line.n);
    buf_free(&line);
    close(fd);
}

size_t history_search(const struct history *history, const char *text, size_t before)
{
    for (size_t i = before < history->count ? before : history->count; i > 0; i--) {
        if (strstr(history->entries[i - 1], text) != NULL) {
            return i - 1;
        }
    }
    return (size_t)-1;
}
