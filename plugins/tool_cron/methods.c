/*
 * cron.* as gateway methods, and what the tool `cron` does: the same few verbs, for all jobs or for
 * those of one agent. Called by tool_cron.c and tool.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"

enum { LIST_MOST = 200, LIST_DEFAULT = 50 };

#define READ  CHELA_LIT("{\"scope\":\"operator.read\"}")
#define ADMIN CHELA_LIT("{\"scope\":\"operator.admin\"}")

const struct chela_pair cron_methods[] = {
    {CHELA_LIT("cron.list"), READ},    {CHELA_LIT("cron.get"), READ},
    {CHELA_LIT("cron.status"), READ},  {CHELA_LIT("cron.runs"), READ},
    {CHELA_LIT("cron.add"), ADMIN},    {CHELA_LIT("cron.update"), ADMIN},
    {CHELA_LIT("cron.remove"), ADMIN}, {CHELA_LIT("cron.run"), ADMIN},
};
const size_t cron_method_count = sizeof cron_methods / sizeof cron_methods[0];

/* ---- answers that wait for the store ---- */

struct answer {
    uint64_t call;
    json_object *o;
};

static struct answer *answer_new(uint64_t call, json_object *o)
{
    struct answer *a = chela_need(calloc(1, sizeof *a));
    a->call = call;
    a->o = o;
    return a;
}

static void stored(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct answer *a = owner;
    char *error = chela_copy(d->text);
    if (d->error == CHELA_OK) {
        chela_answer_json(in, a->call, a->o);
    } else {
        chela_end(in, a->call, d->error, error);
        json_object_put(a->o);
    }
    free(error);
    free(a);
}

static void refuse(struct cron *c, uint64_t call, char *why)
{
    chela_end(c->in, call, CHELA_E_ARGS, why);
    free(why);
}

/* ---- reading ---- */

static bool visible(const struct job *j, const char *agent)
{
    const char *own = chela_member(j->o, "agentId");
    if (!*own)
        own = chela_member(chela_json_object(j->o, "owner"), "agentId");
    return !*agent || strcmp(own, agent) == 0;
}

static const char *kind_of(const struct job *j)
{
    return chela_member(chela_json_object(j->o, "schedule"), "kind");
}

static bool wanted(const struct job *j, json_object *p, const char *agent)
{
    const char *enabled = chela_member(p, "enabled"), *kind = chela_member(p, "scheduleKind"),
               *status = chela_member(p, "lastRunStatus"), *query = chela_member(p, "query"),
               *last = chela_member(j->state, "lastRunStatus");
    bool all = chela_json_bool(p, "includeDisabled", false) || strcmp(enabled, "all") == 0 ||
               strcmp(enabled, "disabled") == 0;
    if (!visible(j, agent) || !visible(j, chela_member(p, "agentId")) ||
        (!all && !job_enabled(j)) || (strcmp(enabled, "disabled") == 0 && job_enabled(j)))
        return false;
    if (*kind && strcmp(kind, "all") != 0 && strcmp(kind, kind_of(j)) != 0)
        return false;
    if (*status && strcmp(status, "all") != 0 && strcmp(status, *last ? last : "unknown") != 0)
        return false;
    return !*query || strcasestr(chela_member(j->o, "name"), query) != NULL;
}

static const char *sort_by; /* of the list that is being made; sort's callback has no owner */

static int by_wish(const void *x, const void *y)
{
    const struct job *a = *(struct job *const *)x, *b = *(struct job *const *)y;
    int64_t left = a->next, right = b->next;
    if (strcmp(sort_by, "name") == 0)
        return strcmp(chela_member(a->o, "name"), chela_member(b->o, "name"));
    if (strcmp(sort_by, "updatedAtMs") == 0) {
        left = chela_json_int(a->o, sort_by, 0);
        right = chela_json_int(b->o, sort_by, 0);
    } else { /* those that are never due stand at the end */
        left = left == NEVER ? INT64_MAX : left;
        right = right == NEVER ? INT64_MAX : right;
    }
    return left < right ? -1 : left > right;
}

static void put_page(json_object *o, json_object *p, const char *name, json_object *all)
{
    int64_t limit = chela_json_int(p, "limit", LIST_DEFAULT),
            offset = chela_json_int(p, "offset", 0), total = (int64_t)chela_json_length(all);
    json_object *page = chela_json_put_array(o, name);
    limit = limit < 1 ? 1 : limit > LIST_MOST ? LIST_MOST : limit;
    offset = offset < 0 ? 0 : offset;
    for (int64_t i = offset; i < total && i < offset + limit; i++)
        chela_json_push(page, json_object_get(chela_json_at(all, (size_t)i)));
    chela_json_put_int(o, "total", total);
    chela_json_put_int(o, "offset", offset);
    chela_json_put_int(o, "limit", limit);
    chela_json_put_bool(o, "hasMore", offset + limit < total);
    if (offset + limit < total)
        chela_json_put_int(o, "nextOffset", offset + limit);
    else
        chela_json_put(o, "nextOffset", NULL);
}

static void list(struct cron *c, uint64_t call, json_object *p, const char *agent)
{
    json_object *o = chela_json_new_object(), *all = chela_json_new_array();
    size_t n = 0, count = 0;
    for (struct job *j = c->jobs; j; j = j->next_job)
        count++;
    struct job **sorted = chela_need(calloc(count + 1, sizeof *sorted));
    for (struct job *j = c->jobs; j; j = j->next_job)
        if (wanted(j, p, agent))
            sorted[n++] = j;
    sort_by = chela_member(p, "sortBy");
    qsort(sorted, n, sizeof(struct job *), by_wish);
    bool down = strcmp(chela_member(p, "sortDir"), "desc") == 0;
    for (size_t i = 0; i < n; i++)
        chela_json_push(all, job_view(sorted[down ? n - 1 - i : i]));
    put_page(o, p, "jobs", all);
    json_object_put(all);
    free(sorted);
    chela_answer_json(c->in, call, o);
}

static void status(struct cron *c, uint64_t call, const char *agent)
{
    json_object *o = chela_json_new_object();
    int64_t jobs = 0, first = NEVER;
    for (struct job *j = c->jobs; j; j = j->next_job) {
        if (!visible(j, agent))
            continue;
        jobs++;
        if (j->next != NEVER && (first == NEVER || j->next < first))
            first = j->next;
    }
    chela_json_put_bool(o, "enabled", true);
    chela_json_put_int(o, "jobs", jobs);
    if (first != NEVER)
        chela_json_put_int(o, "nextWakeAtMs", first);
    chela_answer_json(c->in, call, o);
}

/* ---- the log of runs ---- */

struct reading {
    uint64_t call;
    json_object *params, *entries;
    char *agent;
};

static void run_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct reading *w = owner;
    const char *status_wanted = chela_member(w->params, "status"),
               *run = chela_member(w->params, "runId");
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        json_object *o = chela_object_of(r->values.v[i + 1].s);
        const struct job *j = run_find(in->self, chela_member(o, "jobId"));
        bool fits = o && j && visible(j, w->agent) &&
                    (!*status_wanted || strcmp(status_wanted, "all") == 0 ||
                     strcmp(status_wanted, chela_member(o, "status")) == 0) &&
                    (!*run || strcmp(run, chela_member(o, "runId")) == 0);
        if (fits)
            chela_json_push(w->entries, json_object_get(o));
        json_object_put(o);
    }
}

static int newest_first(const void *x, const void *y)
{
    json_object *a = *(json_object *const *)x, *b = *(json_object *const *)y;
    int64_t left = chela_json_int(a, "runAtMs", 0), right = chela_json_int(b, "runAtMs", 0);
    return left > right ? -1 : left < right;
}

static void runs_read(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct reading *w = owner;
    if (d->error == CHELA_OK) {
        json_object *o = chela_json_new_object();
        json_object_array_sort(w->entries, newest_first);
        put_page(o, w->params, "entries", w->entries);
        chela_answer_json(in, w->call, o);
    } else {
        char *error = chela_copy(d->text);
        chela_end(in, w->call, d->error, error);
        free(error);
    }
    json_object_put(w->params);
    json_object_put(w->entries);
    free(w->agent);
    free(w);
}

static void runs(struct cron *c, uint64_t call, json_object *p, const char *agent)
{
    const char *id = *chela_member(p, "id") ? chela_member(p, "id") : chela_member(p, "jobId");
    struct reading *w = chela_need(calloc(1, sizeof *w));
    char *prefix = *id ? chela_format("run/%s/", id) : chela_format("run/");
    w->call = call;
    w->params = json_object_get(p);
    w->entries = chela_json_new_array();
    w->agent = chela_need(strdup(agent));
    CHELA_ARGS(chela_key, k, c->in->host->local->new_call(c->in));
    k.h.tag = chela_op_new_rows(runs_read, run_row, w);
    k.key = chela_s(prefix);
    c->in->host->kv->list(c->in, &k);
    free(prefix);
}

/* ---- changing ---- */

static void add(struct cron *c, uint64_t call, json_object *p, json_object *origin)
{
    char *why = NULL;
    struct job *j = job_new(p, chela_now_ms(c->in), &why);
    if (!j) {
        refuse(c, call, why);
        return;
    }
    int64_t most = chela_option_number(c->in, "jobs"), n = 0;
    for (struct job *other = c->jobs; other; other = other->next_job)
        n++;
    if (n >= most || schedule_next(&j->schedule, c->zone, j->last_slot) == NEVER) {
        why = n >= most
                  ? chela_format("there are %lld jobs already (tools.cron.jobs)", (long long)n)
                  : chela_format("this is never due");
        job_free(j);
        refuse(c, call, why);
        return;
    }
    j->origin = json_object_get(origin);
    run_plan(c, j);
    struct answer *a = answer_new(call, NULL);
    run_add(c, j, stored, a);
    a->o = job_view(j);
    run_tick(c);
}

static void update(struct cron *c, uint64_t call, struct job *j, json_object *p)
{
    char *why = NULL;
    json_object *patch = chela_json_object(p, "patch");
    if (!patch)
        why = chela_format("patch is an object with what shall change");
    if (why || job_patch(j, patch, chela_now_ms(c->in), &why) != 0) {
        refuse(c, call, why);
        return;
    }
    run_plan(c, j);
    run_store(c, j, stored, answer_new(call, job_view(j)));
    run_tick(c);
}

static void remove_job(struct cron *c, uint64_t call, struct job *j)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", true);
    chela_json_put_bool(o, "removed", true);
    run_remove(c, j, stored, answer_new(call, o));
    run_tick(c);
}

static void run_job(struct cron *c, uint64_t call, struct job *j, json_object *p)
{
    json_object *o = chela_json_new_object();
    const char *mode = chela_member(p, "mode");
    bool due = j->next != NEVER && j->next <= chela_now_ms(c->in);
    const char *no = strcmp(mode, "due") == 0 && !due                     ? "not-due"
                     : strcmp(mode, "if-enabled") == 0 && !job_enabled(j) ? "disabled"
                                                                          : NULL;
    char *run = no ? NULL : run_now(c, j);
    if (!no && !run)
        no = "already-running";
    chela_json_put_bool(o, "ok", true);
    chela_json_put_bool(o, "ran", run != NULL);
    if (run)
        chela_json_put_text(o, "runId", run);
    else
        chela_json_put_text(o, "reason", no);
    free(run);
    chela_answer_json(c->in, call, o);
}

/* ---- which ---- */

static void of_job(struct cron *c, uint64_t call, const char *what, struct job *j, json_object *p)
{
    if (strcmp(what, "get") == 0)
        chela_answer_json(c->in, call, job_view(j));
    else if (strcmp(what, "update") == 0)
        update(c, call, j, p);
    else if (strcmp(what, "remove") == 0)
        remove_job(c, call, j);
    else
        run_job(c, call, j, p);
}

void cron_do(struct cron *c, uint64_t call, const char *what, json_object *p, const char *agent,
             json_object *origin)
{
    const char *id = *chela_member(p, "id") ? chela_member(p, "id") : chela_member(p, "jobId");
    struct job *j = run_find(c, id);
    if (strcmp(what, "list") == 0)
        list(c, call, p, agent);
    else if (strcmp(what, "status") == 0)
        status(c, call, agent);
    else if (strcmp(what, "runs") == 0)
        runs(c, call, p, agent);
    else if (strcmp(what, "add") == 0)
        add(c, call, p, origin);
    else if (!j || !visible(j, agent))
        refuse(c, call, chela_format("there is no job \"%.100s\"", id));
    else
        of_job(c, call, what, j, p);
}

void cron_method(struct chela_inst *in, const struct chela_method *m)
{
    char *name = chela_copy(m->name);
    json_object *p = chela_object_of(m->params);
    if (!p)
        p = chela_json_new_object();
    cron_do(in->self, m->h.call, name + 5, p, "", NULL);
    json_object_put(p);
    free(name);
}
