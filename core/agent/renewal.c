/*
 * Renewal of sessions (see renewal.h).
 */
#include "agent/renewal.h"

#include <string.h>
#include <time.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "agent/session.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/log.h"
#include "host/settings.h"

enum { AT_HOUR = 4, IDLE_MS = 8 * 3600 * 1000 };

/* The last time before `now` that the local clock showed this hour, ms. */
static uint64_t last_hour(uint64_t now, int hour)
{
    time_t seconds = (time_t)(now / 1000);
    struct tm local;
    localtime_r(&seconds, &local);
    local.tm_mday -= local.tm_hour < hour;
    local.tm_hour = hour;
    local.tm_min = local.tm_sec = 0;
    local.tm_isdst = -1;
    time_t at = mktime(&local);
    return at > 0 ? (uint64_t)at * 1000 : 0;
}

const char *renewal_due(uint64_t updated, uint64_t now)
{
    const char *mode = settings_text(settings_now(), "session.reset.mode");
    if (updated == 0)
        return NULL;
    if (strcmp(mode, "daily") == 0) {
        int64_t hour = settings_number_or("session.reset.at_hour", AT_HOUR);
        return updated < last_hour(now, (int)hour) ? mode : NULL;
    }
    if (strcmp(mode, "idle") == 0) {
        int64_t idle = settings_number_or("session.reset.idle", IDLE_MS);
        return now > updated && now - updated >= (uint64_t)idle ? mode : NULL;
    }
    return NULL;
}

static void renewed(void *owner, const struct error *e)
{
    struct job *j = owner;
    if (e)
        log_warning("agent", "session %s could not begin anew: %s", j->session, e->text);
    context_build(j);
}

static void loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct job *j = owner;
    if (e) { /* who builds the prompt tells it */
        context_build(j);
        return;
    }
    bool any = t->count > 0 || *t->summary;
    const char *why = any ? renewal_due(t->updated, clock_now_ms()) : NULL;
    if (why) {
        log_info("agent", "session %s begins anew (%s)", j->session, why);
        transcript_release(t);
        session_renew(j->session, why, renewed, j);
    } else {
        context_build(j);
        transcript_release(t); /* after it: what was read is not read again */
    }
}

void renewal_pass(struct job *j)
{
    if (j->recovered)
        context_build(j);
    else
        transcript_get(j->session, loaded, j);
}
