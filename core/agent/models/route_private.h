/*
 * What the files of the routing stage share: route.c (asks the routers, makes the plan),
 * route_facts.c (what routers are told), route_explain.c (the same shown to a person).
 */
#ifndef AGENT_ROUTE_PRIVATE_H
#define AGENT_ROUTE_PRIVATE_H

#include <chela/chela.h>

#include "agent/flow.h"
#include "agent/models/payer.h"

struct call_ops;

/* One question, from its facts to its candidates. */
struct routing {
    struct prompt *prompt; /* NULL: only explained */
    char *session, *agent, *channel, *account, *chat, *sender, *text, *prefer, *previous;
    char *attachments; /* "image file" */
    uint64_t tokens;
    unsigned tools, images, tool_calls;
    struct instance *router;
    uint64_t call;
    struct payer *payer;
    struct candidate *candidates;
    unsigned count;
    struct candidate *weak; /* of a router that has only a default to offer */
    unsigned weak_count;
    bool strict, decided;
    struct json_object *heard; /* what each router said: array */
    route_fn *fn;              /* who wants it explained */
    void *owner;
};

/* route_facts.c */
void route_facts_of_prompt(struct routing *r, struct prompt *p);
void route_facts_of_question(struct routing *r, const struct route_question *q);
/* Calls the router with the facts. */
uint64_t route_ask(struct routing *r, const struct call_ops *ops);
void route_facts_free(struct routing *r);

/* route_explain.c */
/* What a router said, for the record. v NULL: it failed. */
void route_heard(struct routing *r, const struct chela_done *d, const struct chela_decide *v);
/* The line about the decision that trace and status show. */
struct json_object *route_decision(const struct routing *r);
struct json_object *route_explanation(const struct routing *r);

#endif
