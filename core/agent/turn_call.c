/*
 * One model call of a turn: which candidate, what fits into its window, and what follows when it
 * fails: again in place, the next candidate, compaction, without tools, or the end. Part of
 * turn.c's stage.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/compaction.h"
#include "agent/health.h"
#include "agent/models.h"
#include "agent/tokens.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"
#include "host/settings.h"

enum { RECOVERIES_MOST = 3, RETRY_FIRST_MS = 1000, RETRY_LONGEST_MS = 30000, WAIT_MOST_MS = 60000 };

static void send(struct turn *t);

static void note_usage(struct turn *t, const struct model_answer *a)
{
    struct transcript *x = t->transcript;
    struct model_info info;
    usage_add(&t->usage, &a->usage);
    if (models_info(turn_model(t), &info))
        t->cost += usage_cost(&a->usage, info.price_in, info.price_out);
    uint64_t prompt = a->usage.in + a->usage.cache_read + a->usage.cache_write;
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

/* ---- candidates ---- */

/* The present candidate if it may be tried, else the next that may; if all are cooling down, the
 * one that is ready first. */
static void choose_candidate(struct turn *t)
{
    uint64_t soonest = UINT64_MAX;
    unsigned best = t->candidate;
    for (unsigned i = t->candidate; i < t->plan->count; i++) {
        const char *model = t->plan->candidates[i].model;
        struct model_info info;
        if (models_info(model, &info) && models_available(info.instance) && health_usable(model)) {
            t->candidate = i;
            return;
        }
        uint64_t until = health_until(model);
        if (until < soonest) {
            soonest = until;
            best = i;
        }
    }
    t->candidate = best;
}

static bool next_candidate(struct turn *t)
{
    if (t->plan->strict || t->candidate + 1 >= t->plan->count ||
        strcmp(settings_text(settings_now(), "models.on_error"), "stop") == 0)
        return false;
    t->candidate++;
    t->retries = t->overflows = 0;
    t->room = 0;
    t->no_tools = t->whole = false;
    return true;
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

static void call_failed(struct turn *t, struct model_answer *a);

static void call_done(void *owner, struct model_answer *a)
{
    struct turn *t = owner;
    t->call = NULL;
    note_usage(t, a);
    if (!t->over)
        journal_attempt_end(t->journal, t->attempts, a->error ? error_class_name(a->error) : "ok",
                            a->total_ms, a->usage.in + a->usage.cache_read + a->usage.cache_write,
                            a->usage.out);
    if (t->run->aborted || t->run->suspended || t->ending != TURN_IDLE) {
        health_neutral(turn_model(t));
        turn_stopped(t);
        return;
    }
    if (a->error) {
        call_failed(t, a);
        return;
    }
    health_good(turn_model(t), a->first_ms ? a->first_ms : a->total_ms);
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
    bool tools = !t->no_tools && t->prompt->tools->count > 0;
    struct model_request q = {
        .model = c->model,
        .system = t->prompt->system,
        .params = params,
        .messages = {s.pairs, s.count},
        .tools = {tools ? t->prompt->tools->pairs : NULL, tools ? t->prompt->tools->count : 0},
        .blobs = blobs,
        .idle_ms = (uint64_t)agents_number(t->job->agent, "model_timeout", 0)};
    t->attempts++;
    t->pending++;
    journal_attempt(t->journal, t->attempts, c->model, c->reason, false, turn_committed, t);
    health_begin(c->model);
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
    choose_candidate(t);
    tell_model(t);
    note_no_tools(t);
    if (t->steps >= (unsigned)agents_number(t->job->agent, "max_steps", 100))
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

/* ---- failures ---- */

static void again(void *arg)
{
    struct turn *t = arg;
    t->timer = 0;
    if (turn_stopped(t))
        return;
    turn_call(t);
}

/* Back to ROUTING, then the call once more after a while. */
static void retry_in(struct turn *t, uint64_t ms)
{
    log_info("turn", "run %s: %s again in %llu ms", t->job->run, turn_model(t),
             (unsigned long long)ms);
    runs_move(t->run, TURN_ROUTING);
    t->timer = loop_timer(ms, again, t);
}

static uint64_t back_off(const struct turn *t)
{
    uint64_t ms = RETRY_FIRST_MS;
    for (unsigned i = 1; i < t->retries && ms < RETRY_LONGEST_MS; i++)
        ms *= 2;
    if (ms > RETRY_LONGEST_MS)
        ms = RETRY_LONGEST_MS;
    return ms / 2 + id_random() % (ms / 2 + 1);
}

/* In place; false if there were enough tries. */
static bool retry_here(struct turn *t, uint64_t retry_after)
{
    uint64_t now = clock_ticks_ms();
    int64_t most = settings_number_or("models.retries", 8);
    int64_t window = settings_number_or("models.retry_window", 90000);
    if (t->retries == 0)
        t->retry_since = now;
    if (retry_after > WAIT_MOST_MS || t->retries >= (unsigned)(most > 0 ? most : 0) ||
        now - t->retry_since > (uint64_t)(window > 0 ? window : 0))
        return false;
    t->retries++;
    uint64_t wait = back_off(t);
    retry_in(t, retry_after > wait ? retry_after : wait);
    return true;
}

enum remedy { REMEDY_NEXT, REMEDY_RETRY, REMEDY_COMPACT, REMEDY_SIMPLER, REMEDY_END };

static enum remedy remedy_for(const struct model_answer *a)
{
    switch (a->error) {
    case CHELA_E_RATE:
    case CHELA_E_OVERLOADED:
    case CHELA_E_QUOTA:
    case CHELA_E_AUTH:
    case CHELA_E_NOT_FOUND:
    case CHELA_E_ARGS: return REMEDY_NEXT;
    case CHELA_E_NETWORK:
    case CHELA_E_TIMEOUT:
    case CHELA_E_PROTOCOL:
    case CHELA_E_BUSY:
    case CHELA_E_GONE: return REMEDY_RETRY;
    case CHELA_E_TOO_LONG: return REMEDY_COMPACT;
    case CHELA_E_UNSUPPORTED: return REMEDY_SIMPLER;
    case CHELA_E_REFUSED:
    case CHELA_E_DENIED: return REMEDY_END;
    default: return a->detail.retry ? REMEDY_RETRY : REMEDY_NEXT;
    }
}

/* Without tools, then without streaming; false if neither is left. */
static bool simpler(struct turn *t, const struct model_answer *a)
{
    bool tools = t->prompt->tools->count > 0 && !t->no_tools;
    if (strcmp(a->unsupported, "stream") == 0 && !t->whole) {
        t->whole = true;
    } else if (tools && strcmp(a->unsupported, "stream") != 0) {
        t->no_tools = true;
        log_info("turn", "%s takes no tools: again without them", turn_model(t));
    } else if (!t->whole) {
        t->whole = true;
    } else {
        return false;
    }
    return true;
}

/* The service calls the prompt too long, whatever was estimated: what was before this turn is
 * summarised and it is sent again; if that is not enough, without the older steps of the turn
 * itself. Each once for a model. */
static bool shorten(struct turn *t)
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
    retry_in(t, 0);
    return true;
}

/* The next model with a larger window than the present one's: a smaller one would fail as well. */
static bool larger_candidate(struct turn *t)
{
    struct model_info now, other;
    if (t->plan->strict || !models_info(turn_model(t), &now) ||
        strcmp(settings_text(settings_now(), "models.on_error"), "stop") == 0)
        return false;
    for (unsigned i = t->candidate + 1; i < t->plan->count; i++) {
        if (!models_info(t->plan->candidates[i].model, &other) || other.context <= now.context)
            continue;
        t->candidate = i;
        t->retries = t->overflows = 0;
        t->room = 0;
        t->no_tools = t->whole = false;
        retry_in(t, 0);
        return true;
    }
    return false;
}

static void call_failed(struct turn *t, struct model_answer *a)
{
    struct error e = a->detail;
    if (a->error != CHELA_E_REFUSED)
        stream_rollback(&t->stream);
    log_info("turn", "run %s: %s: %s (%s)", t->job->run, turn_model(t), e.text,
             error_class_name(a->error));
    enum remedy remedy = remedy_for(a);
    bool transient = a->error == CHELA_E_RATE || a->error == CHELA_E_OVERLOADED;
    if (remedy == REMEDY_RETRY && retry_here(t, e.retry_after_ms)) {
        health_neutral(turn_model(t)); /* it counts once the tries are used up */
        return;
    }
    health_bad(turn_model(t), a->error, e.retry_after_ms);
    if (remedy == REMEDY_SIMPLER && simpler(t, a)) {
        retry_in(t, 0);
        return;
    }
    if (remedy == REMEDY_COMPACT && (shorten(t) || larger_candidate(t)))
        return;
    if (remedy != REMEDY_END && remedy != REMEDY_COMPACT && next_candidate(t)) {
        retry_in(t, 0);
        return;
    }
    /* nobody else: what will pass by itself is waited for */
    if (transient && retry_here(t, e.retry_after_ms))
        return;
    error_prefix(&e, "%s", turn_model(t));
    turn_fail(t, &e);
}

void turn_call_stop(struct turn *t)
{
    loop_timer_stop(t->timer);
    t->timer = 0;
    if (t->call) {
        health_neutral(turn_model(t));
        model_call_forget(t->call);
        t->call = NULL;
    }
    if (t->compaction)
        compaction_forget(t->compaction);
    t->compaction = 0;
    if (t->rendering)
        transcript_render_forget(t);
    t->rendering = false;
}
