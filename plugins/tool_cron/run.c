/*
 * Jobs at their time. A slot becomes a message of this channel whose event is the job and the slot:
 * the host takes it once, however often it is handed over, so a slot that was begun before a crash
 * is not begun again; and only then the job's record moves past it. The next time is always
 * computed from the wall clock; the timer wakes at least once a minute while there are jobs, since
 * it does not see a clock that is set, or a machine that sleeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"

enum { WAKE_MS = 60000, RETRY_MS = 5000, SLOTS_MOST = 20000, LATE_MS = 300000 };

struct job *run_find(struct cron *c, const char *id)
{
    for (struct job *j = c->jobs; j; j = j->next_job)
        if (strcmp(j->id, id) == 0)
            return j;
    return NULL;
}

void run_plan(struct cron *c, struct job *j)
{
    j->next = job_enabled(j) ? schedule_next(&j->schedule, c->zone, j->last_slot) : NEVER;
}

void run_store(struct cron *c, struct job *j, chela_op_fn *fn, void *owner)
{
    char *key = chela_format("job/%s", j->id);
    json_object *record = job_record(j);
    chela_keep(c->in, key, record, fn, owner);
    json_object_put(record);
    free(key);
}

void run_add(struct cron *c, struct job *j, chela_op_fn *fn, void *owner)
{
    struct job **end = &c->jobs;
    while (*end)
        end = &(*end)->next_job;
    *end = j;
    run_plan(c, j);
    run_store(c, j, fn, owner);
}

static void unlink_job(struct cron *c, struct job *j)
{
    for (struct job **at = &c->jobs; *at; at = &(*at)->next_job) {
        if (*at != j)
            continue;
        *at = j->next_job;
        job_free(j);
        return;
    }
}

static void drop_run_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    (void)owner;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        char *key = chela_copy(r->values.v[i].s);
        chela_keep(in, key, NULL, NULL, NULL);
        free(key);
    }
}

void run_remove(struct cron *c, struct job *j, chela_op_fn *fn, void *owner)
{
    char *key = chela_format("job/%s", j->id), *runs = chela_format("run/%s/", j->id);
    CHELA_ARGS(chela_key, k, c->in->host->local->new_call(c->in));
    k.h.tag = chela_op_new_rows(NULL, drop_run_row, NULL);
    k.key = chela_s(runs);
    c->in->host->kv->list(c->in, &k);
    chela_keep(c->in, key, NULL, fn, owner);
    free(key);
    free(runs);
    unlink_job(c, j);
}

void run_free(struct cron *c)
{
    while (c->jobs)
        unlink_job(c, c->jobs);
    chela_zone_free(c->zone);
}

/* ---- the end of a run ---- */

static void ended(struct cron *c, struct job *j, int64_t slot, const char *status,
                  const char *summary, const char *error, json_object *result)
{
    int64_t now = chela_now_ms(c->in), began = chela_json_int(result, "startedAt", now),
            errors = chela_json_int(j->state, "consecutiveErrors", 0);
    bool ok = strcmp(status, "ok") == 0, skipped = strcmp(status, "skipped") == 0;
    runlog_put(c, j, slot, status, summary, error, result);
    chela_json_put_text(j->state, "lastRunStatus", status);
    chela_json_put_text(j->state, "lastStatus", status);
    if (!skipped) {
        chela_json_put_int(j->state, "lastRunAtMs", slot);
        chela_json_put_int(j->state, "lastDurationMs", now > began ? now - began : 0);
        chela_json_put_int(j->state, "consecutiveErrors", ok ? 0 : errors + 1);
        j->running = 0;
    }
    if (ok || skipped)
        json_object_object_del(j->state, "lastError");
    else
        chela_json_put_text(j->state, "lastError", error);
    if (j->schedule.kind == AT && !skipped && j->last_slot >= j->schedule.at) {
        if (ok && chela_json_bool(j->o, "deleteAfterRun", false)) {
            run_remove(c, j, NULL, NULL);
            return;
        }
        chela_json_put_bool(j->o, "enabled", false);
        j->next = NEVER;
    }
    run_store(c, j, NULL, NULL);
}

struct waiting {
    char *id;
    int64_t slot;
};

static struct waiting *waiting_new(const struct job *j, int64_t slot)
{
    struct waiting *w = chela_need(calloc(1, sizeof *w));
    w->id = chela_need(strdup(j->id));
    w->slot = slot;
    return w;
}

static void waiting_free(struct waiting *w)
{
    free(w->id);
    free(w);
}

static void run_came(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct cron *c = in->self;
    struct waiting *w = owner;
    struct job *j = run_find(c, w->id);
    json_object *result = chela_object_of(d->text);
    const char *status = chela_member(result, "status");
    if (j && d->error == CHELA_OK && *status) { /* else the gateway ends: the next start asks */
        char *text = chela_answer_text(result);
        bool ok = strcmp(status, "ok") == 0;
        ended(c, j, w->slot, ok ? "ok" : "error", text,
              ok                               ? ""
              : *chela_member(result, "error") ? chela_member(result, "error")
                                               : status,
              result);
        free(text);
        run_tick(c);
    }
    json_object_put(result);
    waiting_free(w);
}

static char *run_id(const struct job *j, int64_t slot, bool manual)
{
    return chela_format("cron-%s-%s%lld", j->id, manual ? "m" : "", (long long)slot);
}

static void await_run(struct cron *c, struct job *j, int64_t slot, const char *run)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "runId", run);
    chela_json_put_int(params, "timeoutMs", 0); /* no bound: the run has its own */
    chela_ask_gateway(c->in, 0, "agent.wait", params, run_came, waiting_new(j, slot));
}

/* ---- beginning a run ---- */

struct beginning {
    char *id, *run;
    int64_t slot;
    bool manual, event; /* event: only put down for the next heartbeat */
};

static void beginning_free(struct beginning *b)
{
    free(b->id);
    free(b->run);
    free(b);
}

static void begun(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct cron *c = in->self;
    struct beginning *b = owner;
    struct job *j = run_find(c, b->id);
    bool stored = d->error == CHELA_OK || d->error == CHELA_E_CONFLICT;
    if (!j) {
        beginning_free(b);
        return;
    }
    j->submitting = false;
    if (!stored && (d->error == CHELA_E_BUSY || d->error == CHELA_E_CANCELLED) && !b->manual) {
        beginning_free(b); /* the slot stays due */
        if (!c->stopped)
            run_tick(c);
        return;
    }
    if (!b->manual && b->slot > j->last_slot)
        j->last_slot = b->slot;
    run_plan(c, j);
    if (!stored) {
        char *error = chela_copy(d->text);
        ended(c, j, b->slot, "error", NULL, error, NULL);
        free(error);
    } else if (b->event) {
        ended(c, j, b->slot, "ok", "waits for the next heartbeat", "", NULL);
    } else {
        j->running = b->slot;
        run_store(c, j, NULL, NULL);
        await_run(c, j, b->slot, b->run);
    }
    beginning_free(b);
    run_tick(c);
}

static const char *agent_of(const struct job *j)
{
    const char *agent = chela_member(j->o, "agentId");
    return *agent ? agent : chela_member(chela_json_object(j->o, "owner"), "agentId");
}

/* The session that it runs in, owned by the caller. */
static char *session_of(const struct job *j, int64_t slot)
{
    const char *target = chela_member(j->o, "sessionTarget"), *agent = agent_of(j),
               *own = chela_member(j->o, "sessionKey");
    if (strncmp(target, "session:", 8) == 0)
        return chela_format("%s", target + 8);
    if (strcmp(target, "isolated") == 0)
        return chela_format("agent:%s:cron:%s:run:%lld", *agent ? agent : "main", j->id,
                            (long long)slot);
    return chela_format("%s", *own ? own : "main");
}

static json_object *request_of(const struct job *j, const char *run)
{
    json_object *extra = chela_json_new_object(), *q = chela_json_put_object(extra, "request"),
                *payload = chela_json_object(j->o, "payload");
    int64_t seconds = chela_json_int(payload, "timeoutSeconds", 0);
    if (*agent_of(j))
        chela_json_put_text(extra, "agent", agent_of(j));
    chela_json_put_text(q, "runId", run);
    chela_json_put_text(q, "queueMode", "followup"); /* a turn of its own */
    chela_json_put_bool(q, "suppressCommandInterpretation", true);
    if (*chela_member(payload, "model"))
        chela_json_put_text(q, "model", chela_member(payload, "model"));
    if (*chela_member(payload, "thinking"))
        chela_json_put_text(q, "thinking", chela_member(payload, "thinking"));
    if (seconds > 0)
        chela_json_put_int(q, "timeoutMs", seconds * 1000);
    if (chela_json_array(payload, "toolsAllow"))
        chela_json_put(chela_json_put_object(q, "tools"), "allow",
                       json_object_get(chela_json_array(payload, "toolsAllow")));
    if (j->origin) {
        json_object *origin = chela_json_put_object(q, "onBehalfOf");
        chela_json_put_text(origin, "channel", chela_member(j->origin, "channel"));
        chela_json_put_text(origin, "sender", chela_member(j->origin, "sender"));
    }
    return extra;
}

/* The same key again puts the same event down once. */
static void put_down(struct cron *c, struct job *j, struct beginning *b)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "mode", "next-heartbeat");
    chela_json_put_text(params, "text", chela_member(chela_json_object(j->o, "payload"), "text"));
    chela_json_put_text(params, "idempotencyKey", b->run);
    if (*agent_of(j))
        chela_json_put_text(params, "agentId", agent_of(j));
    chela_ask_gateway(c->in, 0, "wake", params, begun, b);
}

static void submit(struct cron *c, struct job *j, struct beginning *b)
{
    json_object *payload = chela_json_object(j->o, "payload"), *extra = request_of(j, b->run);
    bool event = strcmp(chela_member(payload, "kind"), "systemEvent") == 0;
    char *session = session_of(j, b->slot), *chat = chela_format("job:%s", j->id),
         *text = chela_format("[Scheduled job \"%s\"]\n%s", chela_member(j->o, "name"),
                              chela_member(payload, event ? "text" : "message"));
    CHELA_ARGS(chela_submit, m, c->in->host->local->new_call(c->in));
    m.h.tag = chela_op_new(begun, b);
    m.h.flags = CHELA_OWNER;
    m.kind = chela_s("message");
    m.event = chela_s(b->run);
    m.chat = chela_s(chat);
    m.chat_type = CHELA_DIRECT;
    m.sender = chela_s(j->id);
    m.session = chela_s(session);
    m.text = chela_s(text);
    m.extra = chela_s(chela_json_text(extra, NULL));
    c->in->host->chat->submit(c->in, &m);
    json_object_put(extra);
    free(session);
    free(chat);
    free(text);
}

static void begin(struct cron *c, struct job *j, int64_t slot, bool manual)
{
    struct beginning *b = chela_need(calloc(1, sizeof *b));
    json_object *payload = chela_json_object(j->o, "payload");
    b->id = chela_need(strdup(j->id));
    b->run = run_id(j, slot, manual);
    b->slot = slot;
    b->manual = manual;
    b->event = strcmp(chela_member(payload, "kind"), "systemEvent") == 0 &&
               strcmp(chela_member(j->o, "wakeMode"), "next-heartbeat") == 0;
    j->submitting = true;
    if (b->event)
        put_down(c, j, b);
    else
        submit(c, j, b);
}

char *run_now(struct cron *c, struct job *j)
{
    int64_t now = chela_now_ms(c->in);
    if (j->submitting || j->running)
        return NULL;
    begin(c, j, now, true);
    return run_id(j, now, true);
}

/* ---- what is due ---- */

/* The slot to run of those that are due, by the catch-up policy: what is less than `late` old runs
 * in any case. The record moves past the others. */
static int64_t choose(struct cron *c, struct job *j, int64_t now, unsigned *ret_missed)
{
    struct chela_str policy = chela_option_text(c->in, "catch_up");
    bool all = chela_str_is(policy, "all"), none = chela_str_is(policy, "skip");
    int64_t slot = j->next, oldest = now - chela_option_number(c->in, "catch_up_window");
    *ret_missed = 0;
    for (unsigned n = 0; slot != NEVER && slot <= now; n++) {
        int64_t following = schedule_next(&j->schedule, c->zone, slot);
        bool late = slot < now - LATE_MS, last = following == NEVER || following > now;
        if ((!late || (!none && slot >= oldest)) && (all || last || !late))
            return slot;
        if (n == SLOTS_MOST && !last) { /* a job of every second, after days: not one by one */
            following = schedule_next(&j->schedule, c->zone, now - LATE_MS - 1);
            n = 0;
        }
        ++*ret_missed;
        j->last_slot = slot;
        slot = following;
    }
    return NEVER;
}

static void run_due(struct cron *c, struct job *j, int64_t now)
{
    unsigned missed;
    int64_t before = j->last_slot, slot = choose(c, j, now, &missed);
    if (missed) {
        char *text = chela_format("%u missed, by catch_up", missed);
        run_plan(c, j);
        runlog_put(c, j, j->last_slot, "skipped", text, "", NULL);
        free(text);
    }
    if (slot != NEVER && j->running && slot < now - LATE_MS)
        return; /* what is made up for waits for the run before it */
    if (slot != NEVER && j->running) {
        j->last_slot = slot;
        run_plan(c, j);
        ended(c, j, slot, "skipped", "the run before it still works", "", NULL);
    } else if (slot != NEVER) {
        begin(c, j, slot, false);
    } else if (j->last_slot != before) {
        run_plan(c, j);
        run_store(c, j, NULL, NULL);
    }
}

static void woken(struct chela_inst *in, void *arg)
{
    struct cron *c = in->self;
    (void)arg;
    c->timer = 0;
    run_tick(c);
}

void run_tick(struct cron *c)
{
    int64_t now = chela_now_ms(c->in), first = NEVER;
    bool waits = false;
    if (c->stopped)
        return;
    for (struct job *j = c->jobs, *next; j; j = next) {
        next = j->next_job;
        if (j->next == NEVER)
            continue;
        if (j->submitting)
            waits = true;
        else if (j->next <= now)
            run_due(c, j, now);
    }
    for (struct job *j = c->jobs; j; j = j->next_job)
        if (j->next != NEVER && !j->submitting && !(j->running && j->next <= now) &&
            (first == NEVER || j->next < first))
            first = j->next;
    c->in->host->local->timer_stop(c->in, c->timer);
    c->timer = 0;
    if (first == NEVER && !waits)
        return; /* idle costs nothing */
    int64_t ms = first == NEVER ? RETRY_MS : first - now;
    if (ms < 1)
        ms = RETRY_MS;
    if (waits && ms > RETRY_MS)
        ms = RETRY_MS;
    c->timer =
        c->in->host->local->timer(c->in, (uint64_t)(ms < WAKE_MS ? ms : WAKE_MS), woken, NULL);
}

/* ---- answers ---- */

void run_answer(struct cron *c, const struct chela_send *m)
{
    char *chat = chela_copy(m->chat), *text = chela_copy(m->text);
    struct job *j = strncmp(chat, "job:", 4) == 0 ? run_find(c, chat + 4) : NULL;
    json_object *to = j ? chela_json_object(j->o, "delivery") : NULL;
    if (strcmp(chela_member(to, "mode"), "announce") == 0)
        chela_send_on(c->in, m, to, text, chela_member(j->o, "sessionKey"));
    else
        chela_end(c->in, m->h.call, CHELA_OK, "");
    free(chat);
    free(text);
}

/* ---- start ---- */

static void job_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct cron *c = in->self;
    (void)owner;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        struct chela_str key = r->values.v[i].s;
        json_object *record = chela_object_of(r->values.v[i + 1].s);
        char *id = chela_copy(chela_sn(key.s + 4, key.n > 4 ? (size_t)key.n - 4 : 0));
        struct job *j = record ? job_from_record(id, record) : NULL;
        if (j) {
            struct job **end = &c->jobs;
            while (*end)
                end = &(*end)->next_job;
            *end = j;
            run_plan(c, j);
        } else {
            char *line =
                chela_format("job %s can't be read (its time zone may be gone): it is left "
                             "as it is, and doesn't run",
                             id);
            chela_log(in, CHELA_WARN, line);
            free(line);
        }
        json_object_put(record);
        free(id);
    }
}

static void jobs_read(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct cron *c = in->self;
    (void)owner;
    char *error = chela_copy(d->text);
    chela_end(in, c->starting, d->error, d->error == CHELA_OK ? "" : error);
    free(error);
    for (struct job *j = c->jobs; j && d->error == CHELA_OK; j = j->next_job) {
        if (!j->running)
            continue;
        bool manual = j->running > j->last_slot;
        char *run = run_id(j, j->running, manual);
        await_run(c, j, j->running, run);
        free(run);
    }
    if (d->error == CHELA_OK)
        run_tick(c);
}

void run_load(struct cron *c)
{
    CHELA_ARGS(chela_key, k, c->in->host->local->new_call(c->in));
    k.h.tag = chela_op_new_rows(jobs_read, job_row, NULL);
    k.key = chela_s("job/");
    c->in->host->kv->list(c->in, &k);
}
