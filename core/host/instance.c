/*
 * What others may ask about instances (see instance.h), and the list of them. Who opens and closes
 * them is registry.c.
 */
#include "host/instance.h"

#include <string.h>

#include "host/options.h"
#include "host/registry_private.h"

struct link registry_list = {&registry_list, &registry_list};

const char *instance_name(const struct instance *in)
{
    return in->name;
}

const char *instance_type(const struct instance *in)
{
    return in->type->iface.type;
}

const char *instance_plugin(const struct instance *in)
{
    return in->type->plugin->name;
}

enum instance_state instance_state(const struct instance *in)
{
    return in->state;
}

const char *instance_why(const struct instance *in)
{
    return in->why ? in->why : "";
}

const struct chela_iface *instance_iface(const struct instance *in)
{
    return &in->type->iface;
}

const char *instance_option(const struct instance *in, const char *path)
{
    return options_text(in->options, path);
}

int64_t instance_number(const struct instance *in, const char *path)
{
    return options_number(in->options, path);
}

unsigned instance_keys(const struct instance *in)
{
    return options_keys(in->options);
}

bool instance_is_local(const struct instance *in)
{
    return options_local(in->options);
}

uint64_t instance_broken_rules(const struct instance *in)
{
    return in->broken_rules;
}

static bool could_run(const struct instance *in)
{
    return in->state != INSTANCE_CLOSED && in->state != INSTANCE_STOPPING;
}

struct instance *instance_next(enum role role, struct instance *before)
{
    struct link *l = before ? before->link.next : registry_list.next;
    if (before && l == &before->link) /* it was taken out meanwhile: no more */
        return NULL;
    for (; l != &registry_list; l = l->next) {
        struct instance *in = CONTAINER_OF(l, struct instance, link);
        if (in->type->roles & (1u << role))
            return in;
    }
    return NULL;
}

void instance_each(void (*fn)(void *arg, struct instance *in), void *arg)
{
    LIST_EACH(l, &registry_list)
    {
        fn(arg, CONTAINER_OF(l, struct instance, link));
    }
}

unsigned instance_roles(const struct instance *in)
{
    return in->type->roles;
}

struct instance *instance_find(enum role role, const char *name)
{
    for (struct instance *in = NULL; (in = instance_next(role, in));)
        if (strcmp(in->name, name) == 0 && could_run(in))
            return in;
    return NULL;
}

const char *instance_state_name(enum instance_state s)
{
    switch (s) {
    case INSTANCE_CLOSED: return "closed";
    case INSTANCE_OPEN: return "open";
    case INSTANCE_STARTING: return "starting";
    case INSTANCE_RUNNING: return "running";
    case INSTANCE_STOPPING: return "stopping";
    case INSTANCE_FAILED: return "failed";
    case INSTANCE_STUCK: return "stuck";
    }
    return "unknown";
}
