/*
 * The log of runs: one entry for each slot that was run or left out, as cron.runs gives it; the
 * newest of each job stay. Called by run.c; methods.c reads it.
 */
#include <stdlib.h>
#include <string.h>

#include "cron.h"

enum { SUMMARY = 300 };

/* Only the newest stay: keys end in the slot, so they come in order. */
struct pruning {
    char **keys;
    size_t n;
};

static void prune_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct pruning *p = owner;
    (void)in;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        p->keys = chela_need(realloc(p->keys, (p->n + 1) * sizeof *p->keys));
        p->keys[p->n++] = chela_copy(r->values.v[i].s);
    }
}

static void pruned(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct pruning *p = owner;
    size_t most = (size_t)chela_option_number(in, "keep_runs");
    for (size_t i = 0; i < p->n; i++) {
        if (d->error == CHELA_OK && i + most < p->n)
            chela_keep(in, p->keys[i], NULL, NULL, NULL);
        free(p->keys[i]);
    }
    free(p->keys);
    free(p);
}

static void prune(struct chela_inst *in, const char *id)
{
    char *prefix = chela_format("run/%s/", id);
    CHELA_ARGS(chela_key, k, in->host->local->new_call(in));
    k.h.tag = chela_op_new_rows(pruned, prune_row, chela_need(calloc(1, sizeof(struct pruning))));
    k.key = chela_s(prefix);
    in->host->kv->list(in, &k);
    free(prefix);
}

void runlog_put(struct cron *c, struct job *j, int64_t slot, const char *status,
                const char *summary, const char *error, json_object *result)
{
    json_object *o = chela_json_new_object();
    int64_t now = chela_now_ms(c->in), began = chela_json_int(result, "startedAt", now);
    chela_json_put_int(o, "ts", now);
    chela_json_put_text(o, "jobId", j->id);
    chela_json_put_text(o, "jobName", chela_member(j->o, "name"));
    chela_json_put_text(o, "action", "finished");
    chela_json_put_text(o, "status", status);
    if (summary)
        chela_json_put_string(o, "summary", summary, strnlen(summary, SUMMARY));
    if (*error)
        chela_json_put_text(o, "error", error);
    if (*chela_member(result, "runId"))
        chela_json_put_text(o, "runId", chela_member(result, "runId"));
    if (*chela_member(result, "sessionKey"))
        chela_json_put_text(o, "sessionKey", chela_member(result, "sessionKey"));
    chela_json_put_int(o, "runAtMs", slot);
    chela_json_put_int(o, "durationMs", now > began ? now - began : 0);
    if (j->next != NEVER)
        chela_json_put_int(o, "nextRunAtMs", j->next);
    char *key = chela_format("run/%s/%014lld", j->id, (long long)slot);
    chela_keep(c->in, key, o, NULL, NULL);
    prune(c->in, j->id);
    json_object_put(o);
    free(key);
}
