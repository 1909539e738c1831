/*
 * Decisions about models (see decisions.h). Bounded: so many for a run, so many sessions.
 */
#include "agent/models/decisions.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/journal/journal.h"
#include "agent/runs.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

enum { OF_A_RUN = 200, SESSIONS = 512 };

static struct map last; /* session -> array of its last turn */

static void put_array(void *p)
{
    json_object_put(p);
}

void decisions_write(struct run *r)
{
    size_t n = chela_json_length(r->decisions);
    for (; r->journal && r->decisions_written < n; r->decisions_written++) {
        struct json_object *o = chela_json_at(r->decisions, r->decisions_written);
        journal_decision(r->journal, chela_json_text(o, NULL),
                         (uint64_t)chela_json_int(o, "at", 0));
    }
}

void decisions_note(struct run *r, const char *kind, struct json_object *o)
{
    const char *text = chela_json_string(o, "text", NULL);
    log_info("route", "run %s: %s: %s", r->id, kind, text ? text : "");
    if (!r->decisions)
        r->decisions = chela_json_new_array();
    if (chela_json_length(r->decisions) >= OF_A_RUN) {
        json_object_put(o);
        return;
    }
    chela_json_put_text(o, "kind", kind);
    chela_json_put_int(o, "at", (int64_t)clock_now_ms());
    chela_json_push(r->decisions, o);
    decisions_write(r);
}

void decisions_say(struct run *r, const char *kind, const char *format, ...)
{
    struct buf text = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "text", buf_text(&text));
    buf_free(&text);
    decisions_note(r, kind, o);
}

struct json_object *decisions_of(const char *session)
{
    const struct run *r = runs_of_session(session);
    return r && r->decisions ? r->decisions : map_get(&last, session);
}

void decisions_keep(struct run *r)
{
    if (!r->decisions)
        return;
    if (last.count >= SESSIONS)
        decisions_reset();
    json_object_put(map_set(&last, r->session, json_object_get(r->decisions)));
}

void decisions_reset(void)
{
    map_free(&last, put_array);
    memset(&last, 0, sizeof last);
}
