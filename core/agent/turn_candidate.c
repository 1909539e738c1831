/*
 * Which candidate of the plan a turn calls: the present one as long as it can, else the next that
 * may; with which of the provider's keys; whether a stated rule lifts the turn to a stronger model;
 * and whether a limit of money stops it until a person says "continue". Part of turn.c's stage.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/digest.h"
#include "agent/models/decisions.h"
#include "agent/models/modelkeys.h"
#include "agent/models/models.h"
#include "agent/models/spending.h"
#include "agent/tools/approval.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/settings.h"

/* ---- which ---- */

static void tell_moved(struct turn *t, unsigned from)
{
    if (t->candidate == from)
        return;
    decisions_say(t->run, "skip", "%s rests after failures or does not run: %s is asked",
                  t->plan->candidates[from].model, turn_model(t));
}

void turn_choose_candidate(struct turn *t)
{
    uint64_t soonest = UINT64_MAX;
    unsigned best = t->candidate, from = t->candidate;
    for (unsigned i = from; i < t->plan->count; i++) {
        const char *model = t->plan->candidates[i].model;
        if (modelkeys_usable(model)) {
            t->candidate = i;
            tell_moved(t, from);
            return;
        }
        uint64_t until = modelkeys_until(model);
        if (until < soonest) {
            soonest = until;
            best = i;
        }
    }
    t->candidate = best;
    tell_moved(t, from);
}

static bool may_change(const struct turn *t)
{
    return !t->plan->strict && t->candidate + 1 < t->plan->count &&
           strcmp(settings_text(settings_now(), "models.on_error"), "stop") != 0;
}

bool turn_next_candidate(struct turn *t)
{
    if (!may_change(t))
        return false;
    t->candidate++;
    t->retries = t->overflows = 0;
    t->room = 0;
    t->no_tools = t->whole = false;
    return true;
}

static uint64_t window_of(const char *model)
{
    struct model_info info;
    return models_info(model, &info) ? info.context : 0;
}

/* The first behind the present one that is usable and has a window of at least that; count if there
 * is none. */
static unsigned find_window(const struct turn *t, uint64_t least)
{
    const struct candidate *c = t->plan->candidates;
    unsigned i = t->candidate + 1;
    while (i < t->plan->count && (window_of(c[i].model) < least || !modelkeys_usable(c[i].model)))
        i++;
    return i;
}

bool turn_larger_candidate(struct turn *t)
{
    if (!may_change(t))
        return false;
    struct candidate *c = t->plan->candidates;
    uint64_t window = window_of(turn_model(t));
    unsigned i = find_window(t, window + 1);
    if (i == t->plan->count)
        return false;
    struct candidate larger = c[i];
    memmove(c + t->candidate + 2, c + t->candidate + 1, (i - t->candidate - 1) * sizeof *c);
    c[t->candidate + 1] = larger;
    return turn_next_candidate(t);
}

/* ---- a stated rule ---- */

void turn_escalate(struct turn *t)
{
    int64_t after = settings_number(settings_now(), "routing.escalate.after");
    const char *wanted = settings_text(settings_now(), "routing.escalate.model");
    if (t->escalated || t->plan->strict || after <= 0 || !*wanted || t->steps < (uint64_t)after)
        return;
    t->escalated = true;
    CLEANUP(freep) char *full = models_resolve(wanted);
    if (!full || strcmp(full, turn_model(t)) == 0 || !modelkeys_usable(full))
        return;
    struct plan *p = t->plan;
    p->candidates = xrealloc(p->candidates, (p->count + 1) * sizeof *p->candidates);
    memmove(p->candidates + t->candidate + 1, p->candidates + t->candidate,
            (p->count - t->candidate) * sizeof *p->candidates);
    p->count++;
    char *reason = xprintf("%u rounds of tools: routing.escalate", t->steps);
    p->candidates[t->candidate] = (struct candidate){xstrdup(full), reason, xstrdup("escalation")};
    t->no_tools = t->whole = false;
    t->retries = t->overflows = 0;
    t->room = 0;
    decisions_say(t->run, "escalate", "%s after %u rounds of tools", full, t->steps);
}

/* ---- what this one turn may take ---- */

bool turn_budget_spent(struct turn *t)
{
    struct json_object *b = chela_json_object(message_wishes(t->job->message), "budget");
    if (!b || t->closing)
        return false;
    int64_t tokens = chela_json_int(b, "tokens", 0), steps = chela_json_int(b, "steps", 0);
    double cost = chela_json_double(b, "cost", 0);
    uint64_t used = usage_in(&t->usage) + t->usage.out;
    if (!((tokens > 0 && used >= (uint64_t)tokens) || (steps > 0 && t->steps >= (uint64_t)steps) ||
          (cost > 0 && t->cost >= cost)))
        return false;
    decisions_say(t->run, "budget", "spent: %llu tokens in %u steps; the answer is asked for",
                  (unsigned long long)used, t->steps);
    return true;
}

/* ---- limits of money ---- */

static bool granted(const struct turn *t, const char *key)
{
    for (size_t i = 0; i < chela_json_length(t->granted); i++) {
        const char *had = chela_json_as_string(chela_json_at(t->granted, i), NULL);
        if (had && strcmp(had, key) == 0)
            return true;
    }
    return false;
}

static void refused(struct turn *t)
{
    if (t->limit.provider && turn_next_candidate(t)) {
        decisions_say(t->run, "limit", "not continued: %s is asked instead", turn_model(t));
        turn_call(t);
        return;
    }
    struct error e = {0};
    error_set(&e, CHELA_E_QUOTA, "%s, and nobody said to go on", t->limit.text);
    decisions_say(t->run, "limit", "not continued: %s", t->limit.text);
    turn_fail(t, &e);
}

static void answered(void *owner, const char *id, const char *decision, const struct error *e)
{
    struct turn *t = owner;
    (void)id;
    t->asking = false;
    t->run->waiting_approvals = 0;
    turn_clock(t, true);
    if (turn_stopped(t))
        return;
    if (e) {
        turn_fail(t, e);
        return;
    }
    if (strncmp(decision, "allow", 5) != 0) {
        refused(t);
        return;
    }
    if (!t->granted)
        t->granted = chela_json_new_array();
    chela_json_push(t->granted, chela_json_new_string(t->limit.key, strlen(t->limit.key)));
    decisions_say(t->run, "limit", "continued by a person: %s", t->limit.text);
    turn_call(t);
}

static void ask(struct turn *t)
{
    char hash[65];
    const char *bound[] = {t->job->run, t->limit.key};
    digest_strings(hash, bound, ARRAY_LENGTH(bound));
    struct model_info info;
    bool priced = models_info(turn_model(t), &info) && info.priced;
    CLEANUP(freep)
    char *text = xprintf("Continue with %s? (%s%s)", turn_model(t), t->limit.text,
                         priced ? "" : "; its price is not known: the dearest known one counts");
    struct approval_request q = {.session = t->job->session,
                                 .run = t->job->run,
                                 .agent = t->job->agent,
                                 .call = "",
                                 .tool = "limit",
                                 .hash = hash,
                                 .summary = text,
                                 .source = "",
                                 .risk = "cost",
                                 .arguments = "{}",
                                 .message = t->job->message};
    decisions_say(t->run, "limit", "waits for a person: %s", t->limit.text);
    t->asking = true;
    t->run->waiting_approvals = 1;
    turn_clock(t, false);
    approval_ask(t->journal, &q, answered, t);
}

bool turn_within_limits(struct turn *t)
{
    struct model_info info;
    if (settings_number(settings_now(), "models.limits") <= 0 ||
        !models_info(turn_model(t), &info) || models_free(&info))
        return true;
    struct turn_budget b = turn_budget(t);
    struct usage next = {.in = b.fixed + turn_history_tokens(t, &b)};
    CLEANUP(freep) char *provider = xmemdup(turn_model(t), strcspn(turn_model(t), "/"));
    struct spending_question q = {.agent = t->job->agent,
                                  .channel = t->job->message->channel,
                                  .sender = t->job->message->sender,
                                  .provider = provider,
                                  .next = models_cost(&info, &next)};
    spending_limit_free(&t->limit);
    if (!spending_over(&q, &t->limit) || granted(t, t->limit.key))
        return true;
    ask(t);
    return false;
}

void turn_limits_stop(struct turn *t)
{
    if (!t->asking)
        return;
    t->asking = false;
    t->run->waiting_approvals = 0;
    approval_forget(t, !t->run->suspended);
}
