/*
 * The tools that instances publish: manifests parsed and their schemas compiled once for each
 * revision. A revision lives as long as somebody holds it, so a turn keeps the one that it began
 * with. Called by toolplan.c and toolcall.c; asks the registry only.
 */
#ifndef AGENT_TOOLS_H
#define AGENT_TOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/instance.h"

struct json_object;
struct schema;

enum tool_risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH };

struct tool {
    struct toolset *set;
    struct instance *instance; /* NULL: the client's own (toolset_of_client) */
    const char *name, *description, *sort_key, *group;
    char *definition; /* JSON {"name","description","parameters"}: what a model sees */
    char hash[65];    /* of the manifest's bytes */
    struct schema *parameters, *returns; /* returns may be NULL */
    enum tool_risk risk;
    bool requires_approval, sequential, repeatable, reads_only, deferred;
    bool core; /* run by the core itself (toolsearch.c); else without an instance: the client's */
    uint32_t tokens;
    struct json_object *manifest;
    char *broken; /* why it can't be offered (its schema ...), or NULL */
};

struct toolset {
    unsigned refs;
    uint64_t revision;
    struct instance *instance;
    struct tool *tools;
    unsigned count;
};

/* The newest set of an instance, with a reference for the caller; NULL if it publishes none. */
struct toolset *toolset_get(struct instance *in);
void toolset_ref(struct toolset *s);
void toolset_release(struct toolset *s);
/* Tools that a client of the gateway runs itself, for one turn: their instance is NULL. list:
 * [{"name","description","parameters"}]; never NULL. */
struct toolset *toolset_of_client(struct json_object *list);
/* Tool of that name in a set, or NULL. */
const struct tool *toolset_find(const struct toolset *s, const char *name);

enum tool_risk tool_risk_of(const char *name, enum tool_risk fallback);
const char *tool_risk_name(enum tool_risk r);
void toolset_reset(void);

#endif
