/*
 * Who pays (see payer.h). What is booked on a run waits there until its turn has a journal; without
 * a run it is a commit of its own.
 */
#include "agent/models/payer.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/journal/journal.h"
#include "agent/models/decisions.h"
#include "agent/models/models.h"
#include "agent/models/spending.h"
#include "agent/runs.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

struct payer {
    struct link link;
    unsigned refs;
    uint64_t call;
    char *session, *run, *channel, *sender;
};

static struct link all = {&all, &all};

struct payer *payer_open(const char *session, const char *run, const char *channel,
                         const char *sender)
{
    struct payer *p = xcalloc(1, sizeof *p);
    p->refs = 1;
    p->session = xstrdup(session);
    p->run = xstrdup(run);
    p->channel = xstrdup(channel);
    p->sender = xstrdup(sender);
    list_append(&all, &p->link);
    return p;
}

void payer_for(struct payer *p, uint64_t call)
{
    p->call = call;
}

struct payer *payer_of(uint64_t call)
{
    LIST_EACH(l, &all)
    {
        struct payer *p = CONTAINER_OF(l, struct payer, link);
        if (call && p->call == call) {
            p->refs++;
            return p;
        }
    }
    return NULL;
}

void payer_release(struct payer *p)
{
    if (!p || --p->refs > 0)
        return;
    list_remove(&p->link);
    free(p->session);
    free(p->run);
    free(p->channel);
    free(p->sender);
    free(p);
}

bool payer_may(const struct payer *p, const char *model, uint64_t tokens, struct error *e)
{
    CLEANUP(freep) char *agent = spending_agent(p->session);
    CLEANUP(freep) char *provider = xmemdup(model, strcspn(model, "/"));
    struct spending_limit limit;
    struct model_info info;
    struct usage next = {.in = tokens};
    if (!models_info(model, &info))
        return true;
    struct spending_question q = {.agent = agent,
                                  .channel = p->channel,
                                  .sender = p->sender,
                                  .provider = provider,
                                  .next = models_cost(&info, &next)};
    if (models_free(&info) || !spending_over(&q, &limit))
        return true;
    error_set(e, CHELA_E_QUOTA, "%s", limit.text);
    spending_limit_free(&limit);
    return false;
}

static void stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("route", "what a classification cost could not be stored: %s", e->text);
}

void payer_book(struct payer *p, const struct payer_bill *bill)
{
    struct model_info info;
    bool known = models_info(bill->model, &info);
    struct spent s = {.session = p->session,
                      .channel = p->channel,
                      .sender = p->sender,
                      .model = bill->model,
                      .usage = bill->usage,
                      .cost = bill->cost,
                      .local = known && info.local,
                      .unpriced = known && !info.priced,
                      .at = clock_now_ms()};
    spending_add(&s);
    struct run *r = *p->run ? runs_find(p->run) : NULL;
    if (!r) {
        journal_spent(&s, stored, NULL);
        return;
    }
    usage_add(&r->asked, &bill->usage);
    r->asked_cost += bill->cost;
    struct json_object *o = chela_json_new_object();
    CLEANUP(freep)
    char *text =
        xprintf("%s asked %s: %s, %llu ms, %llu tokens in, %llu out", bill->purpose, bill->model,
                bill->outcome, (unsigned long long)bill->ms,
                (unsigned long long)usage_in(&bill->usage), (unsigned long long)bill->usage.out);
    chela_json_put_text(o, "text", text);
    chela_json_put_text(o, "model", bill->model);
    chela_json_put_text(o, "outcome", bill->outcome);
    chela_json_put_int(o, "ms", (int64_t)bill->ms);
    chela_json_put(o, "usage", usage_json(&bill->usage, bill->cost));
    decisions_note(r, "asked", o);
    runs_spend(r, &s);
}
