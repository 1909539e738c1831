/*
 * Which notes may have changed since the last look: the kernel keeps a row of what happened in the
 * folders, which is read when the index is asked for, so that a search over many notes looks at no
 * file that stayed as it was. Where that can't be (no descriptors left, too many folders, the row
 * ran over) all is looked at, as without it. Called by index.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <json-c/linkhash.h>

#include "memory.h"

enum { PENDING_MOST = 10000 };

void watch_open(struct memory *m)
{
    m->watch.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    m->watch.folders = chela_json_new_object();
    m->watch.changed = chela_json_new_object();
    m->watch.whole = true;
}

void watch_close(struct memory *m)
{
    if (m->watch.fd >= 0)
        close(m->watch.fd);
    json_object_put(m->watch.folders);
    json_object_put(m->watch.changed);
}

void watch_learn(struct memory *m, const struct note_list *l)
{
    for (size_t i = 0; i < l->folder_count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", l->folders[i].number);
        chela_json_put_text(m->watch.folders, number, l->folders[i].path);
    }
    if (l->unwatched)
        m->watch.whole = true;
}

static void happened(struct memory *m, const struct inotify_event *e)
{
    char number[16];
    snprintf(number, sizeof number, "%d", e->wd);
    const char *folder = chela_json_string(m->watch.folders, number, NULL);
    if (e->mask & IN_IGNORED) {
        json_object_object_del(m->watch.folders, number);
    } else if (e->len && e->name[0] == '.') {
        return; /* hidden ones are no notes */
    } else if (!folder || !e->len || (e->mask & (IN_Q_OVERFLOW | IN_ISDIR))) {
        m->watch.whole = true;
    } else if ((size_t)json_object_object_length(m->watch.changed) < PENDING_MOST) {
        char *path = index_path(folder, e->name);
        chela_json_put_bool(m->watch.changed, path, true);
        free(path);
    } else {
        m->watch.whole = true;
    }
}

static void read_events(struct memory *m)
{
    char bytes[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    while ((n = read(m->watch.fd, bytes, sizeof bytes)) > 0)
        for (char *p = bytes; p < bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)p;
            happened(m, e);
            p += sizeof *e + e->len;
        }
    if (n < 0 && errno != EAGAIN)
        m->watch.whole = true;
}

bool watch_take(struct memory *m, json_object **ret_changed)
{
    read_events(m);
    bool whole = m->watch.whole || m->watch.fd < 0;
    *ret_changed = m->watch.changed;
    m->watch.changed = chela_json_new_object();
    m->watch.whole = false;
    return whole;
}

bool watch_knows(struct memory *m, const char *folder)
{
    json_object_object_foreach(m->watch.folders, number, path)
    {
        (void)number;
        if (strcmp(chela_json_as_string(path, NULL), folder) == 0)
            return true;
    }
    return false;
}
