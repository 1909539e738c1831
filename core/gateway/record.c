/*
 * The record of frames (see record.h). A line is {"start", "connection", "from", ...} with "text",
 * the frame, from "gateway", or "method" and "id" from "client": never what a client said of
 * itself, for its secret stands in there. Lines are appended by single writes.
 */
#include "gateway/record.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json_object.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "host/settings.h"
#include "support/json.h"

static int file = -1;
static uint64_t started; /* tells the connections of one run of the gateway from another's */

int record_open(struct error *e)
{
    const char *path = settings_text(settings_now(), "gateway.record");
    if (!*path)
        return 0;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return error_set(e, CHELA_E_ARGS, "gateway.record: \"%.200s\" cannot be written: %s", path,
                         strerror(errno));
    started = clock_now_ms();
    log_warning("gateway", "all that clients are sent is written to %s (gateway.record)", path);
    return 0;
}

void record_close(void)
{
    if (file >= 0)
        close(file);
    file = -1;
}

static json_object *line_of(uint64_t connection, const char *from)
{
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "start", (int64_t)started);
    chela_json_put_int(o, "connection", (int64_t)connection);
    chela_json_put_text(o, "from", from);
    return o;
}

static void append(json_object *o)
{
    struct buf line = {0};
    size_t n;
    const char *text = chela_json_text(o, &n);
    buf_str(&line, (struct chela_str){text, n});
    buf_char(&line, '\n');
    if (write(file, line.p, line.n) != (ssize_t)line.n) {
        log_warning("gateway", "gateway.record ends here: %s", strerror(errno));
        record_close();
    }
    buf_free(&line);
    json_object_put(o);
}

void record_sent(uint64_t connection, struct chela_str frame)
{
    if (file < 0)
        return;
    json_object *o = line_of(connection, "gateway");
    chela_json_put(o, "text", chela_json_new_string(frame.s, (size_t)frame.n));
    append(o);
}

void record_asked(uint64_t connection, const char *method, const char *id)
{
    if (file < 0)
        return;
    json_object *o = line_of(connection, "client");
    chela_json_put_text(o, "method", method);
    chela_json_put_text(o, "id", id);
    append(o);
}
