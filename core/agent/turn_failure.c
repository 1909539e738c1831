/*
 * What follows when a model call fails, by the class of the failure alone: again in place after a
 * while, with another key, the next candidate, compaction, without tools, or the end. Part of
 * turn.c's stage.
 */
#include <string.h>

#include "agent/agents.h"
#include "agent/models/decisions.h"
#include "agent/models/health.h"
#include "agent/models/modelkeys.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "host/loop.h"
#include "host/settings.h"

enum { RETRY_FIRST_MS = 1000, RETRY_LONGEST_MS = 30000, WAIT_MOST_MS = 60000 };

static void again(void *arg)
{
    struct turn *t = arg;
    t->timer = 0;
    if (turn_stopped(t))
        return;
    turn_call(t);
}

/* Back to ROUTING, then the call once more after a while. */
void turn_retry(struct turn *t, uint64_t ms)
{
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
static bool retry_here(struct turn *t, const struct error *e)
{
    uint64_t now = clock_ticks_ms();
    int64_t most = settings_number_or("models.retries", 8);
    int64_t window = settings_number_or("models.retry_window", 90000);
    if (t->retries == 0)
        t->retry_since = now;
    if (e->retry_after_ms > WAIT_MOST_MS || t->retries >= (unsigned)(most > 0 ? most : 0) ||
        now - t->retry_since > (uint64_t)(window > 0 ? window : 0))
        return false;
    t->retries++;
    uint64_t wait = back_off(t);
    if (e->retry_after_ms > wait)
        wait = e->retry_after_ms;
    decisions_say(t->run, "retry", "%s (%s): again in %llu ms, try %u of %lld", turn_model(t),
                  error_class_name(e->class), (unsigned long long)wait, t->retries,
                  (long long)most);
    turn_retry(t, wait);
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
    } else if (!t->whole) {
        t->whole = true;
    } else {
        return false;
    }
    decisions_say(t->run, "simpler", "%s %s: again without", turn_model(t),
                  t->whole ? "does not stream" : "takes no tools");
    return true;
}

/* The failure speaks of the key, and the provider has another. */
static bool next_key(struct turn *t, const struct error *e)
{
    const char *model = turn_model(t);
    if (!modelkeys_bad(model, t->key, e->class, e->retry_after_ms))
        return false;
    t->key_failed = true;
    health_neutral(model);
    if (!modelkeys_usable(model))
        return false;
    unsigned key = modelkeys_choose(model, t->job->session);
    if (key == t->key)
        return false;
    decisions_say(t->run, "key", "%s (%s) with key %u: again with key %u", model,
                  error_class_name(e->class), t->key + 1, key + 1);
    t->retries = 0;
    return true;
}

static bool next(struct turn *t, const struct error *e, bool larger)
{
    const char *before = turn_model(t);
    if (larger ? !turn_larger_candidate(t) : !turn_next_candidate(t))
        return false;
    decisions_say(t->run, "next", "%s failed (%s: %s): %s is asked%s", before,
                  error_class_name(e->class), e->text, turn_model(t),
                  larger ? ", for its window" : "");
    return true;
}

void turn_call_failed(struct turn *t, struct model_answer *a)
{
    struct error e = a->detail;
    if (a->error != CHELA_E_REFUSED)
        stream_rollback(&t->stream);
    log_info("turn", "run %s: %s: %s (%s)", t->job->run, turn_model(t), e.text,
             error_class_name(a->error));
    enum remedy remedy = remedy_for(a);
    bool transient = a->error == CHELA_E_RATE || a->error == CHELA_E_OVERLOADED;
    t->key_failed = false;
    if (remedy == REMEDY_RETRY && retry_here(t, &e)) {
        health_neutral(turn_model(t)); /* it counts once the tries are used up */
        modelkeys_neutral(turn_model(t), t->key);
        return;
    }
    if (next_key(t, &e)) {
        turn_retry(t, 0);
        return;
    }
    if (!t->key_failed)
        health_bad(turn_model(t), a->error, e.retry_after_ms);
    if (remedy == REMEDY_SIMPLER && simpler(t, a)) {
        turn_retry(t, 0);
        return;
    }
    if (remedy == REMEDY_COMPACT && turn_shorten(t))
        return;
    if (remedy != REMEDY_END && next(t, &e, remedy == REMEDY_COMPACT)) {
        turn_retry(t, 0);
        return;
    }
    /* nobody else: what will pass by itself is waited for */
    if (transient && retry_here(t, &e))
        return;
    error_prefix(&e, "%s", turn_model(t));
    turn_fail(t, &e);
}
