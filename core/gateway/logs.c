/*
 * A ring of the last log lines (see logs.h). A cursor is the number of bytes ever logged, so that a
 * reader sees where it had stopped. Filled on any thread, hence the lock.
 */
#include "gateway/logs.h"

#include <json-c/json_object.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "support/json.h"

enum { LINES = 1024 };

static struct {
    pthread_mutex_t lock;
    char *lines[LINES];
    int64_t ends[LINES]; /* cursor behind the line */
    uint64_t count;      /* lines ever added */
    int64_t size;
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

void logs_add(const char *line)
{
    pthread_mutex_lock(&ring.lock);
    size_t at = ring.count++ % LINES;
    free(ring.lines[at]);
    ring.lines[at] = xstrdup(line);
    ring.size += (int64_t)strlen(line) + 1;
    ring.ends[at] = ring.size;
    pthread_mutex_unlock(&ring.lock);
}

json_object *logs_read(int64_t cursor, unsigned limit, unsigned max_bytes)
{
    json_object *o = chela_json_new_object(), *lines = chela_json_put_array(o, "lines");
    pthread_mutex_lock(&ring.lock);
    uint64_t oldest = ring.count > LINES ? ring.count - LINES : 0, first = ring.count;
    size_t bytes = 0;
    while (first > oldest && ring.count - first < limit) {
        const char *line = ring.lines[(first - 1) % LINES];
        bytes += strlen(line);
        if (ring.ends[(first - 1) % LINES] <= cursor || bytes > max_bytes)
            break;
        first--;
    }
    bool truncated = first > oldest && ring.ends[(first - 1) % LINES] > cursor && cursor >= 0;
    for (uint64_t i = first; i < ring.count; i++)
        chela_json_push(
            lines, chela_json_new_string(ring.lines[i % LINES], strlen(ring.lines[i % LINES])));
    chela_json_put_text(o, "file", "(memory)"); /* clients want a name */
    chela_json_put_int(o, "cursor", ring.size);
    chela_json_put_int(o, "size", ring.size);
    if (truncated)
        chela_json_put_bool(o, "truncated", true);
    if (cursor > ring.size)
        chela_json_put_bool(o, "reset", true);
    pthread_mutex_unlock(&ring.lock);
    return o;
}
