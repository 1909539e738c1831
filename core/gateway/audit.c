/*
 * The audit log (see audit.h). Lines are appended by single writes; at LARGEST bytes the file
 * becomes "audit.jsonl.1" and a new one begins. Secrets are redacted before they are written.
 */
#include "gateway/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json_object.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "host/settings.h"
#include "support/json.h"

enum { LARGEST = 8 << 20, READ_MOST = 1 << 20 };

static char *path_of(const char *ending)
{
    return xprintf("%s/audit.jsonl%s", settings_state_dir(), ending);
}

/* The file, open for appending and not too large; -1. */
static int open_log(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < LARGEST)
        return fd;
    CLEANUP(freep) char *old = path_of(".1");
    close(fd);
    return rename(path, old) < 0
               ? -1
               : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void audit_note(const char *action, const char *by, json_object *what)
{
    CLEANUP(freep) char *path = path_of("");
    struct buf line = {0};
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put_text(o, "action", action);
    chela_json_put_text(o, "by", by ? by : "");
    if (what)
        chela_json_put(o, "what", what);
    size_t n;
    const char *text = chela_json_text(o, &n);
    redact(&line, text, n);
    buf_char(&line, '\n');
    int fd = open_log(path);
    if (fd < 0 || write(fd, line.p, line.n) != (ssize_t)line.n)
        log_warning("gateway", "%s cannot be written (%s); not noted: %s by %s", path,
                    strerror(errno), action, by ? by : "");
    if (fd >= 0)
        close(fd);
    buf_free(&line);
    json_object_put(o);
}

/* The end of the file in memory, from the beginning of a line. */
static void read_end(const char *path, struct buf *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0) {
        off_t from = st.st_size > READ_MOST ? st.st_size - READ_MOST : 0;
        buf_reserve(out, READ_MOST);
        ssize_t n = pread(fd, out->p, READ_MOST, from);
        out->n = n > 0 ? (size_t)n : 0;
        const char *first = from && out->n ? memchr(out->p, '\n', out->n) : NULL;
        if (first)
            buf_consume(out, (size_t)(first + 1 - out->p));
    }
    close(fd);
}

json_object *audit_read(unsigned limit)
{
    CLEANUP(freep) char *path = path_of("");
    json_object *o = chela_json_new_object(), *entries;
    struct buf text = {0};
    chela_json_put_text(o, "path", path);
    entries = chela_json_put_array(o, "entries");
    read_end(path, &text);
    size_t begin = text.n;
    for (unsigned lines = 0; begin > 0; begin--)
        if (text.p[begin - 1] == '\n' && begin < text.n && ++lines == limit)
            break;
    while (begin < text.n) {
        const char *end = memchr(text.p + begin, '\n', text.n - begin);
        size_t n = end ? (size_t)(end - text.p) - begin : text.n - begin;
        json_object *entry = NULL;
        if (chela_json_parse(text.p + begin, n, NULL, &entry, NULL) == 0)
            chela_json_push(entries, entry);
        begin += n + 1;
    }
    buf_free(&text);
    return o;
}
