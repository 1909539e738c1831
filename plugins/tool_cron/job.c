/*
 * A job: what it may be (the protocol's form, closed: what isn't known is refused by name), when it
 * is due, and how it is kept. Pure but for the zone files; called by run.c, methods.c.
 */
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"

enum { NAME_MOST = 200, TEXT_MOST = 100000, MINUTE_MS = 60000 };
#define LAST_MS INT64_C(8640000000000000)

/* ---- words of an object ---- */

/* A key that none of `known` (parted by blanks) names, or NULL. */
static const char *unknown_key(json_object *o, const char *known)
{
    json_object_object_foreach(o, key, value)
    {
        (void)value;
        size_t n = strlen(key);
        bool found = false;
        for (const char *p = known; *p && !found;) {
            size_t word = strcspn(p, " ");
            found = word == n && strncmp(p, key, n) == 0;
            p += word + strspn(p + word, " ");
        }
        if (!found)
            return key;
    }
    return NULL;
}

static int closed(json_object *o, const char *what, const char *known, char **ret_why)
{
    const char *key = o ? unknown_key(o, known) : NULL;
    if (!o)
        *ret_why = chela_format("%s is no object", what);
    else if (key)
        *ret_why = chela_format("%s: \"%.100s\" is not known, or not supported here", what, key);
    return o && !key ? 0 : -1;
}

/* ---- schedules ---- */

/* "2026-12-24T18:00:00+01:00", "...Z", without a zone UTC; or milliseconds. */
static bool read_instant(const char *text, int64_t *ret)
{
    int y, mo, d, h = 0, mi = 0, s = 0, n = 0, zh, zm;
    const char *p = text;
    if (*p && p[strspn(p, "0123456789")] == '\0' && strlen(p) > 8) {
        *ret = strtoll(p, NULL, 10);
        return *ret <= LAST_MS;
    }
    if (sscanf(p, "%4d-%2d-%2d%n", &y, &mo, &d, &n) != 3)
        return false;
    p += n;
    if (*p == 'T' || *p == ' ') {
        if (sscanf(++p, "%2d:%2d%n", &h, &mi, &n) != 2)
            return false;
        p += n;
        if (*p == ':' && sscanf(p, ":%2d%n", &s, &n) == 1)
            p += n;
        if (*p == '.')
            p += 1 + strspn(p + 1, "0123456789");
    }
    int64_t offset = 0;
    if (*p == '+' || *p == '-') {
        if (sscanf(p + 1, "%2d:%2d%n", &zh, &zm, &n) != 2 || p[1 + n])
            return false;
        offset = (*p == '-' ? -1 : 1) * (zh * 3600 + zm * 60);
        p += 1 + n;
    } else if (*p == 'Z') {
        p++;
    }
    if (*p || y < 1970 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 ||
        mi < 0 || mi > 59 || s < 0 || s > 60)
        return false;
    *ret =
        (chela_zone_days(y, (unsigned)mo, (unsigned)d) * 86400 + h * 3600 + mi * 60 + s - offset) *
        1000;
    return *ret >= 0;
}

static int read_at(struct schedule *s, json_object *o, char **ret_why)
{
    s->kind = AT;
    if (closed(o, "schedule", "kind at", ret_why) != 0)
        return -1;
    if (read_instant(chela_member(o, "at"), &s->at))
        return 0;
    *ret_why = chela_format("schedule.at is a time such as 2026-12-24T18:00:00+01:00");
    return -1;
}

static int read_every(struct schedule *s, json_object *o, int64_t created, char **ret_why)
{
    s->kind = EVERY;
    if (closed(o, "schedule", "kind everyMs anchorMs", ret_why) != 0)
        return -1;
    s->every = chela_json_int(o, "everyMs", 0);
    s->anchor = chela_json_int(o, "anchorMs", created);
    if (s->every >= 1000 && s->every <= LAST_MS && s->anchor >= 0 && s->anchor <= LAST_MS)
        return 0;
    *ret_why = chela_format("schedule.everyMs is at least 1000, anchorMs a time");
    return -1;
}

static int read_cron(struct schedule *s, json_object *o, char **ret_why)
{
    const char *why = "", *zone = chela_member(o, "tz");
    s->kind = CRON;
    if (closed(o, "schedule", "kind expr tz staggerMs", ret_why) != 0)
        return -1;
    if (expr_parse(chela_member(o, "expr"), &s->expr, &why) != 0) {
        *ret_why =
            chela_format("\"%.100s\" is no cron expression: %s", chela_member(o, "expr"), why);
        return -1;
    }
    if (chela_json_int(o, "staggerMs", 0) != 0) {
        *ret_why = chela_format("schedule.staggerMs is not supported: jobs run at their time");
        return -1;
    }
    if (!*zone)
        return 0;
    s->zone = chela_zone_open(zone);
    if (s->zone)
        return 0;
    *ret_why =
        chela_format("there is no time zone \"%.100s\" on this machine (package tzdata)", zone);
    return -1;
}

int schedule_read(struct schedule *s, json_object *o, int64_t created, char **ret_why)
{
    const char *kind = chela_member(o, "kind");
    memset(s, 0, sizeof *s);
    if (strcmp(kind, "at") == 0)
        return read_at(s, o, ret_why);
    if (strcmp(kind, "every") == 0)
        return read_every(s, o, created, ret_why);
    if (strcmp(kind, "cron") == 0)
        return read_cron(s, o, ret_why);
    *ret_why = chela_format("schedule.kind is one of at, every, cron");
    return -1;
}

void schedule_clear(struct schedule *s)
{
    chela_zone_free(s->zone);
    s->zone = NULL;
}

int64_t schedule_next(const struct schedule *s, const struct chela_zone *own, int64_t after)
{
    if (s->kind == AT)
        return s->at > after ? s->at : NEVER;
    if (s->kind == EVERY) {
        if (after < s->anchor)
            return s->anchor;
        return s->anchor + ((after - s->anchor) / s->every + 1) * s->every;
    }
    int64_t next = expr_next(&s->expr, s->zone ? s->zone : own, after / 1000);
    return next < 0 ? NEVER : next * 1000;
}

/* ---- the rest of a job ---- */

static int check_target(const char *target, const char *kind, char **ret_why)
{
    bool main = strcmp(target, "main") == 0;
    if (!main && strcmp(target, "isolated") != 0 && strcmp(target, "current") != 0 &&
        (strncmp(target, "session:", 8) != 0 || !target[8]))
        *ret_why = chela_format("sessionTarget is one of main, isolated, current, session:KEY");
    else if (main != (strcmp(kind, "systemEvent") == 0))
        *ret_why =
            chela_format("sessionTarget main goes with payload.kind systemEvent, the others with "
                         "agentTurn");
    else
        return 0;
    return -1;
}

static int check_payload(json_object *p, char **ret_why)
{
    const char *kind = chela_member(p, "kind"), *text;
    if (strcmp(kind, "systemEvent") == 0) {
        if (closed(p, "payload", "kind text toolsAllow", ret_why) != 0)
            return -1;
        text = chela_member(p, "text");
    } else if (strcmp(kind, "agentTurn") == 0) {
        if (closed(p, "payload", "kind message model thinking timeoutSeconds toolsAllow",
                   ret_why) != 0)
            return -1;
        text = chela_member(p, "message");
    } else {
        *ret_why = chela_format("payload.kind is one of systemEvent, agentTurn");
        return -1;
    }
    if (*text && strlen(text) <= TEXT_MOST)
        return 0;
    *ret_why = chela_format("payload's text has 1 to %d bytes", TEXT_MOST);
    return -1;
}

static int check_delivery(json_object *d, char **ret_why)
{
    const char *mode = chela_member(d, "mode");
    if (closed(d, "delivery", "mode channel to accountId threadId bestEffort", ret_why) != 0)
        return -1;
    if (strcmp(mode, "none") != 0 && strcmp(mode, "announce") != 0)
        *ret_why = chela_format("delivery.mode is one of none, announce");
    else if (strcmp(mode, "announce") == 0 &&
             (!*chela_member(d, "channel") || strcmp(chela_member(d, "channel"), "last") == 0 ||
              !*chela_member(d, "to")))
        *ret_why = chela_format("delivery needs channel (an instance) and to (a chat)");
    else
        return 0;
    return -1;
}

static int check(json_object *o, char **ret_why)
{
    static const char known[] = "id name description displayName enabled deleteAfterRun agentId "
                                "sessionKey owner schedule sessionTarget wakeMode payload delivery "
                                "createdAtMs updatedAtMs";
    json_object *payload = chela_json_object(o, "payload"),
                *delivery = chela_json_get(o, "delivery");
    const char *wake = chela_member(o, "wakeMode"), *name = chela_member(o, "name");
    if (closed(o, "job", known, ret_why) != 0 || check_payload(payload, ret_why) != 0 ||
        check_target(chela_member(o, "sessionTarget"), chela_member(payload, "kind"), ret_why) !=
            0 ||
        (delivery && check_delivery(chela_json_object(o, "delivery"), ret_why) != 0))
        return -1;
    if (!*name || strlen(name) > NAME_MOST)
        *ret_why = chela_format("name has 1 to %d bytes", NAME_MOST);
    else if (strcmp(wake, "now") != 0 && strcmp(wake, "next-heartbeat") != 0)
        *ret_why = chela_format("wakeMode is one of now, next-heartbeat");
    else
        return 0;
    return -1;
}

/* ---- making, changing ---- */

static json_object *copy_of(json_object *o)
{
    json_object *copy = NULL;
    size_t n;
    const char *text = chela_json_text(o, &n);
    chela_json_parse(text, n, NULL, &copy, NULL);
    return copy;
}

/* Takes over o; the old schedule stays if the new one is none. */
static int take(struct job *j, json_object *o, int64_t now, char **ret_why)
{
    struct schedule s;
    int64_t created = chela_json_int(o, "createdAtMs", now);
    if (check(o, ret_why) != 0 ||
        schedule_read(&s, chela_json_object(o, "schedule"), created, ret_why) != 0) {
        json_object_put(o);
        return -1;
    }
    schedule_clear(&j->schedule);
    json_object_put(j->o);
    j->schedule = s;
    j->o = o;
    return 0;
}

static void put_default(json_object *o, const char *key, const char *value)
{
    if (!chela_json_has(o, key))
        chela_json_put_text(o, key, value);
}

struct job *job_new(json_object *params, int64_t now, char **ret_why)
{
    static uint64_t serial;
    struct job *j = chela_need(calloc(1, sizeof *j));
    json_object *o = copy_of(params);
    bool event = strcmp(chela_member(chela_json_object(o, "payload"), "kind"), "systemEvent") == 0;
    j->id = chela_format("%llx-%llx", (unsigned long long)now, (unsigned long long)++serial);
    chela_json_put_text(o, "id", j->id);
    chela_json_put_int(o, "createdAtMs", now);
    chela_json_put_int(o, "updatedAtMs", now);
    chela_json_put_bool(o, "enabled", chela_json_bool(o, "enabled", true));
    put_default(o, "sessionTarget", event ? "main" : "isolated");
    put_default(o, "wakeMode", "now");
    j->state = chela_json_new_object();
    j->last_slot = now;
    if (take(j, o, now, ret_why) == 0) {
        if (j->schedule.kind != AT || j->schedule.at > now)
            return j;
        *ret_why = chela_format("schedule.at has passed");
    }
    job_free(j);
    return NULL;
}

int job_patch(struct job *j, json_object *patch, int64_t now, char **ret_why)
{
    json_object *o = copy_of(j->o);
    if (chela_json_has(patch, "id") || chela_json_has(patch, "createdAtMs")) {
        *ret_why = chela_format("id and createdAtMs stay as they are");
        json_object_put(o);
        return -1;
    }
    json_object_object_foreach(patch, key, value)
    {
        if (value)
            chela_json_put(o, key, json_object_get(value));
        else
            json_object_object_del(o, key);
    }
    chela_json_put_int(o, "updatedAtMs", now);
    bool again = chela_json_has(patch, "schedule") || chela_json_bool(patch, "enabled", false);
    if (take(j, o, now, ret_why) != 0)
        return -1;
    if (again) /* what was missed before it was changed or switched on is none of it */
        j->last_slot = now;
    return 0;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    schedule_clear(&j->schedule);
    json_object_put(j->o);
    json_object_put(j->state);
    json_object_put(j->origin);
    free(j->id);
    free(j);
}

bool job_enabled(const struct job *j)
{
    return chela_json_bool(j->o, "enabled", false);
}

json_object *job_view(const struct job *j)
{
    json_object *o = copy_of(j->o), *state = copy_of(j->state);
    if (job_enabled(j) && j->next != NEVER)
        chela_json_put_int(state, "nextRunAtMs", j->next);
    else
        json_object_object_del(state, "nextRunAtMs");
    if (j->running)
        chela_json_put_int(state, "runningAtMs", j->running);
    else
        json_object_object_del(state, "runningAtMs");
    chela_json_put(o, "state", state);
    return o;
}

json_object *job_record(const struct job *j)
{
    json_object *o = chela_json_new_object();
    chela_json_put(o, "job", json_object_get(j->o));
    chela_json_put(o, "state", json_object_get(j->state));
    chela_json_put(o, "origin", json_object_get(j->origin));
    chela_json_put_int(o, "lastSlot", j->last_slot);
    chela_json_put_int(o, "running", j->running);
    return o;
}

struct job *job_from_record(const char *id, json_object *record)
{
    struct job *j = chela_need(calloc(1, sizeof *j));
    char *why = NULL;
    j->id = chela_need(strdup(id));
    j->state = json_object_get(chela_json_object(record, "state"));
    if (!j->state)
        j->state = chela_json_new_object();
    j->origin = json_object_get(chela_json_object(record, "origin"));
    j->last_slot = chela_json_int(record, "lastSlot", 0);
    j->running = chela_json_int(record, "running", 0);
    if (take(j, json_object_get(chela_json_object(record, "job")), 0, &why) == 0)
        return j;
    free(why);
    job_free(j);
    return NULL;
}
