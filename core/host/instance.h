/*
 * The registry: plugins, their types, and the configured instances with what they publish.
 */
#ifndef HOST_INSTANCE_H
#define HOST_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "base/error.h"

/* An instance's role; in this order they are started, and stopped in the opposite one. */
enum role {
    ROLE_STORE,
    ROLE_HOOK,
    ROLE_PROVIDER,
    ROLE_ROUTER,
    ROLE_TOOL,
    ROLE_SERVICE,
    ROLE_CHANNEL,
    ROLE_COUNT
};

enum instance_state {
    INSTANCE_CLOSED,
    INSTANCE_OPEN,
    INSTANCE_STARTING,
    INSTANCE_RUNNING,
    INSTANCE_STOPPING,
    INSTANCE_FAILED, /* could not start, or its child ended; `why` says it */
    INSTANCE_STUCK   /* did not end a cancelled call */
};

struct instance; /* private to host/; these are what others may ask */

const char *instance_name(const struct instance *in);   /* as configured: "groq" */
const char *instance_type(const struct instance *in);   /* "openai" */
const char *instance_plugin(const struct instance *in); /* "provider_openai" */
enum instance_state instance_state(const struct instance *in);
const char *instance_why(const struct instance *in); /* "" or a sentence */
/* The interface as the host sees it: zeroed where the plugin has nothing. Never NULL. */
const struct chela_iface *instance_iface(const struct instance *in);
/* An option of the instance as text (never a secret's value), "" if absent. */
const char *instance_option(const struct instance *in, const char *path);
int64_t instance_number(const struct instance *in, const char *path);

/* How many keys it may take turns with (options_keys); 1 or more. */
unsigned instance_keys(const struct instance *in);
/* Its service runs on this machine, by its URLs. */
bool instance_is_local(const struct instance *in);

/* The snapshot itself, for the secrets that core/net fills in; NULL before the instance is opened.
 */
struct options;
const struct options *instance_options(const struct instance *in);

/* The instance of that name that has the role and is running or could be; NULL if none. */
struct instance *instance_find(enum role role, const char *name);
/* An instance stays a valid pointer until the program ends, also when it was taken out of the
 * configuration; its state is INSTANCE_CLOSED then, and calls to it end with CHELA_E_GONE. */
/* All instances with a role, in the order of the configuration: for (in = NULL; (in =
 * instance_next(role, in));) */
struct instance *instance_next(enum role role, struct instance *before);

/* Each instance once, whatever roles it has; and its roles, bits 1 << enum role. */
void instance_each(void (*fn)(void *arg, struct instance *in), void *arg);
unsigned instance_roles(const struct instance *in);

/* What an instance published last (CHELA_TOOLS ...). The list lives until published_release(): a
 * turn keeps the revision that it began with. NULL if nothing was published. */
struct published {
    uint64_t revision;
    struct instance *instance;
    const struct chela_pair *items;
    size_t count;
};
const struct published *published_get(struct instance *in, uint32_t what);
void published_release(const struct published *p);
/* Told whenever some instance publishes or changes state; registered once by main. [loop] */
void instance_on_change(void (*fn)(struct instance *in, uint32_t what)); /* what 0: its state */

const char *instance_state_name(enum instance_state s);
/* What was given up or left behind: contract errors of the instance so far. */
uint64_t instance_broken_rules(const struct instance *in);

#endif
