/*
 * A router that asks a model which model shall answer, and decides by a rule if that comes too late
 * or is no answer. Several questions may be open at once; the tag leads back to each.
 */
#include "sketch.h"

static void route(struct chela_inst *in, const struct chela_facts *f)
{
    CHELA_ARGS(chela_ask, a, in->host->local->new_call(in));
    a.h.tag = f->h.call; /* comes back with done: no table needed */
    a.parent = f->h.call;
    a.timeout_ms = 800;
    a.max_tokens = 5;
    a.purpose = chela_s("route");
    a.system = chela_s("Answer with small or large.");
    a.text = f->text;
    in->host->chat->ask(in, &a);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_pair candidates[2] = {
        {CHELA_LIT("local/small"), CHELA_LIT("the rule")},
        {CHELA_LIT("cloud/large"), CHELA_LIT("in case the first fails")},
    };
    if (d->error == CHELA_E_CANCELLED) { /* nobody waits for the verdict any more */
        chela_end(in, d->h.tag, CHELA_E_CANCELLED, "");
        return;
    }
    if (d->error == CHELA_OK && chela_str_is(d->text, "large")) {
        candidates[0] = (struct chela_pair){CHELA_LIT("cloud/large"), CHELA_LIT("a model said so")};
        candidates[1] = (struct chela_pair){CHELA_LIT("local/small"), CHELA_LIT("in case")};
    }
    CHELA_ARGS(chela_decide, a, d->h.tag);
    a.verdict = CHELA_YES;
    a.candidates.v = candidates;
    a.candidates.n = 2;
    in->host->answer->decide(in, &a);
}

static const struct chela_router router = {
    .size = sizeof router,
    .route = route,
};

const struct chela_iface asking_iface = {
    CHELA_IFACE("asking", "asks a model", 0, NULL),
    .done = done,
    .router = &router,
};
