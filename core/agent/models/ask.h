/*
 * A model's opinion outside of any turn's conversation: for routers (chat.ask) and for compaction.
 * The model is the one that the configuration names for it, never a router's choice. Called by
 * compaction.c and by the plugins' handler.
 */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include <stdint.h>

#include "agent/models/usage.h"
#include "base/error.h"

struct payer;

struct ask_request {
    const char *model; /* full name or alias; "" = models.classifier, else the first local one */
    const char *system, *text;
    const char *schema; /* JSON Schema of the answer, or "" */
    uint32_t max_tokens;
    uint64_t timeout_ms;
    const char *purpose;
    struct payer *payer; /* who is booked, else the turn that for_call serves; taken over. NULL and
                            no call: the main session */
    uint64_t for_call;   /* 0, or the call that it serves: a model that failed lately is not waited
                            for,   and none is asked beyond a limit of money (payer.h, health.h) */
};

/* text: the answer; error: NULL if all went well. */
typedef void ask_fn(void *owner, const char *text, const struct usage *u, double cost,
                    const struct error *e);

/* Returns a handle for ask_forget(); fn comes later, once. */
uint64_t ask_model(const struct ask_request *q, ask_fn *fn, void *owner);
void ask_forget(uint64_t handle);
/* Registers the handler of the plugins' chat.ask. */
void ask_register(void);

#endif
