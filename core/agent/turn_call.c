/*
 * One model call of a turn: what fits into the candidate's window, the call, what it used. Which
 * candidate is turn_candidate.c's, what follows a failure turn_failure.c's. Part of turn.c's stage.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/compaction.h"
#include "agent/models/health.h"
#include "agent/models/modelkeys.h"
#include "agent/models/models.h"
#include "agent/models/spending.h"
#include "agent/models/tokens.h"
#include "agent/turn.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"
#include "host/settings.h"

enum { RECOVERIES_MOST = 3 };

static void send(struct turn *t);

static void note_usage(struct turn *t, const struct model_answer *a)
{
    struct transcript *x = t->transcript;
    usage_add(&t->usage, &a->usage);
    t->spent = turn_spent(t, &a->usage);
    t->cost += t->spent.cost;
    spending_add(&t->spent);
    if (a->error && !t->over && usage_in(&a->usage) + a->usage.out > 0)
        journal_run_spent(t->journal, &t->spent);
    uint64_t prompt = usage_in(&a->usage);
    if (!a->has_usage || prompt == 0 || t->from != 0)
        return;
    if (!x->known_model || strcmp(x->known_model, turn_model(t)) != 0) {
        free(x->known_model);
        x->known_model = xstrdup(turn_model(t));
    }
    x->known_tokens = prompt;
    x->known_count = x->count;
}

static void compacted(void *owner, unsigned removed, const struct error *e)
{
    struct turn *t = owner;
    t->compaction = 0;
    if (removed == 0) /* it can't get shorter: cut instead */
        t->recoveries = RECOVERIES_MOST;
    if (e)
        log_warning("turn", "session %s could not be compacted: %s", t->job->session, e->text);
    t->prompt->first = t->prompt->first > removed ? t->prompt->first - removed : 0;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "phase", "end");
    chela_json_put_int(o, "removed", removed);
    stream_agent(t->job->run, "compaction", o);
    if (turn_stopped(t))
        return;
    runs_move(t->run, TURN_ROUTING);
    turn_call(t);
}

/* keep: tokens of the end that stay. The state is CALLING. */
static void compact(struct turn *t, uint64_t keep)
{
    struct compaction_request q = {.transcript = t->transcript,
                                   .before = t->prompt->first,
                                   .keep = keep,
                                   .model = turn_model(t),
                                   .instructions = ""};
    t->recoveries++;
    runs_move(t->run, TURN_CONTEXT_ASSEMBLY);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "phase", "start");
    stream_agent(t->job->run, "compaction", o);
    uint64_t handle = compaction_run(&q, compacted, t);
    if (handle)
        t->compaction = handle;
}

static uint64_t keep_tokens(const struct turn_budget *b)
{
    int64_t set = settings_number_or("session.compaction.keep_recent_tokens", 20000);
    uint64_t keep = set > 0 ? (uint64_t)set : 0;
    return keep < b->room / 2 ? keep : b->room / 2;
}

/* ---- the call ---- */

static void delta(void *owner, enum model_delta kind, struct chela_str text)
{
    struct turn *t = owner;
    if (t->run->state == TURN_CALLING)
        runs_move(t->run, TURN_STREAMING);
    if (t->run->aborted)
        return;
    if (kind == MODEL_TEXT)
        stream_text(&t->stream, text);
    else if (kind == MODEL_THINKING)
        stream_thinking(&t->stream, text);
}

static void call_done(void *owner, struct model_answer *a)
{
    struct turn *t = owner;
    t->call = NULL;
    note_usage(t, a);
    if (!t->over)
        journal_attempt_end(t->journal, t->attempts, a->error ? error_class_name(a->error) : "ok",
                            a->total_ms, usage_in(&a->usage), a->usage.out);
    if (t->run->aborted || t->run->suspended || t->ending != TURN_IDLE) {
        health_neutral(turn_model(t));
        modelkeys_neutral(turn_model(t), t->key);
        turn_stopped(t);
        return;
    }
    if (a->error) {
        turn_call_failed(t, a);
        return;
    }
    health_good(turn_model(t), a->first_ms ? a->first_ms : a->total_ms);
    modelkeys_good(turn_model(t), t->key);
    if (t->run->state == TURN_CALLING)
        runs_move(t->run, TURN_STREAMING);
    t->steps++;
    t->retries = 0;
    turn_answer(t, a);
}

static const struct model_call_ops call_ops = {delta, call_done};

static void begin_call(struct turn *t, struct chela_pairs blobs)
{
    const struct candidate *c = &t->plan->candidates[t->candidate];
    struct turn_messages s = turn_messages(t);
    struct json_object *params = turn_params(t);
    struct model_info info;
    models_info(c->model, &info);
    unsigned offered;
    CLEANUP(freep) char *provider = xmemdup(c->model, strcspn(c->model, "/"));
    CLEANUP(freep) struct chela_pair *fewer = toolplan_pairs(t->prompt->tools, provider, &offered);
    bool tools = !t->no_tools && offered > 0;
    struct model_request q = {.model = c->model,
                              .system = t->prompt->system,
                              .params = params,
                              .messages = {s.pairs, s.count},
                              .tools = {!tools  ? NULL
                                        : fewer ? fewer
                                                : t->prompt->tools->pairs,
                                        tools ? offered : 0},
                              .blobs = blobs,
                              .key = t->key,
                              .idle_ms =
                                  (uint64_t)agents_number(t->job->agent, "model_timeout", 0)};
    t->attempts++;
    t->pending++;
    journal_attempt(t->journal, t->attempts, c->model, c->reason, false, turn_committed, t);
    health_begin(c->model);
    modelkeys_begin(c->model, t->key);
    stream_round(&t->stream);
    t->call = model_call_begin(&q, &call_ops, t);
    json_object_put(params);
    turn_messages_free(&s);
}

/* ---- blobs, for a provider that doesn't render ---- */

struct blob_load {
    struct turn *t; /* held by its count of what is pending */
    unsigned next, count;
    struct json_object *hashes;
    struct chela_pair *pairs;
};

static void load_next(struct blob_load *l);

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    struct blob_load *l = owner;
    if (!e) {
        const char *hash = chela_json_as_string(chela_json_at(l->hashes, l->next - 1), NULL);
        l->pairs[l->count++] = (struct chela_pair){
            chela_s(hash), chela_sn(xmemdup(data.s ? data.s : "", data.n), data.n)};
    }
    load_next(l);
}

static void load_next(struct blob_load *l)
{
    if (!turn_stopped(l->t) && l->next < chela_json_length(l->hashes)) {
        journal_blob_get(chela_json_as_string(chela_json_at(l->hashes, l->next++), NULL), blob_came,
                         l);
        return;
    }
    struct turn *t = l->t;
    if (!t->over && t->ending == TURN_IDLE)
        begin_call(t, (struct chela_pairs){l->pairs, l->count});
    for (unsigned i = 0; i < l->count; i++)
        free((char *)(uintptr_t)l->pairs[i].value.s);
    free(l->pairs);
    json_object_put(l->hashes);
    free(l);
    t->pending--;
    turn_release(t);
}

static void rendered(void *owner, const struct error *e)
{
    struct turn *t = owner;
    t->rendering = false;
    if (turn_stopped(t))
        return;
    if (e) {
        turn_fail(t, e);
        return;
    }
    struct model_info info;
    const struct chela_provider *p =
        models_info(turn_model(t), &info) ? instance_iface(info.instance)->provider : NULL;
    struct json_object *hashes = NULL;
    if (p && !p->render)
        hashes = transcript_blobs(t->transcript, t->from);
    if (chela_json_length(hashes) == 0) {
        json_object_put(hashes);
        begin_call(t, (struct chela_pairs){NULL, 0});
        return;
    }
    struct blob_load *l = xcalloc(1, sizeof *l);
    l->t = t;
    t->pending++;
    l->hashes = hashes;
    l->pairs = xcalloc(chela_json_length(hashes), sizeof *l->pairs);
    load_next(l);
}

static void send(struct turn *t)
{
    struct transcript *x = t->transcript;
    unsigned from = t->from, user = transcript_last_user(x);
    if (from > t->prompt->first && user < from)
        from = user;
    t->rendering = true;
    transcript_render(x, turn_model(t), from, rendered, t);
}

static void tell_model(struct turn *t)
{
    const struct candidate *c = &t->plan->candidates[t->candidate];
    if (t->run->model && strcmp(t->run->model, c->model) == 0)
        return;
    free(t->run->model);
    free(t->run->reason);
    t->run->model = xstrdup(c->model);
    t->run->reason = xstrdup(c->reason);
    free(t->model);
    t->model = xstrdup(c->model);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "model", c->model);
    chela_json_put_text(o, "reason", c->reason);
    chela_json_put_text(o, "by", c->by);
    stream_lifecycle(t->job->run, "model", o);
}

static void note_no_tools(struct turn *t)
{
    struct model_info info;
    if (models_info(turn_model(t), &info) && info.listed && !info.tools)
        t->no_tools = true;
}

/* The state is ROUTING. */
void turn_call(struct turn *t)
{
    if (turn_stopped(t))
        return;
    turn_escalate(t);
    turn_choose_candidate(t);
    if (!turn_within_limits(t))
        return;
    t->key = modelkeys_choose(turn_model(t), t->job->session);
    tell_model(t);
    note_no_tools(t);
    if (t->steps >= (unsigned)agents_number(t->job->agent, "max_steps", 100) ||
        turn_budget_spent(t))
        t->closing = true;
    runs_move(t->run, TURN_CALLING);
    struct turn_budget b = turn_budget(t);
    bool enabled = settings_number_or("session.compaction.enabled", 1) != 0;
    if (turn_history_tokens(t, &b) > b.room && enabled && t->recoveries < RECOVERIES_MOST &&
        t->prompt->first > 0) {
        compact(t, keep_tokens(&b));
        return;
    }
    t->from = turn_history_tokens(t, &b) > b.room ? transcript_cut(t->transcript, b.room) : 0;
    send(t);
}

/* The service calls the prompt too long, whatever was estimated: what was before this turn is
 * summarised and it is sent again; if that is not enough, without the older steps of the turn
 * itself. Each once for a model. */
bool turn_shorten(struct turn *t)
{
    if (t->overflows == 0 && t->recoveries < RECOVERIES_MOST && t->prompt->first > 0) {
        struct turn_budget b = turn_budget(t);
        t->overflows = 1;
        compact(t, keep_tokens(&b) / (t->recoveries + 1));
        return true;
    }
    uint64_t tokens = transcript_tokens(t->transcript, t->from);
    unsigned cut = transcript_cut(t->transcript, tokens / 2);
    if (t->overflows > 1 || cut <= t->from || cut >= t->transcript->count)
        return false;
    t->overflows = 2;
    t->room = tokens / 2;
    turn_retry(t, 0);
    return true;
}

void turn_call_stop(struct turn *t)
{
    loop_timer_stop(t->timer);
    t->timer = 0;
    if (t->call) {
        health_neutral(turn_model(t));
        modelkeys_neutral(turn_model(t), t->key);
        model_call_forget(t->call);
        t->call = NULL;
    }
    turn_limits_stop(t);
    if (t->compaction)
        compaction_forget(t->compaction);
    t->compaction = 0;
    if (t->rendering)
        transcript_render_forget(t);
    t->rendering = false;
}
