/*
 * The frame around each call into a plugin's code (see host_table.h), and the instance's name as
 * the log shows it.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/host_table.h"

enum { SLOW_US = 50000 };

const char *instance_label(const struct instance *in)
{
    static _Thread_local char label[256]; /* local->log may come from any thread */
    const struct plugin *p = in->type ? in->type->plugin : NULL;
    snprintf(label, sizeof label, "%s/%s", p && p->name ? p->name : "plugin",
             in->name ? in->name : "?");
    return label;
}

const struct options *instance_options(const struct instance *in)
{
    return in->options;
}

uint64_t callback_enter(void)
{
    return clock_ticks_us();
}

void callback_leave(const struct instance *in, const char *what, uint64_t entered)
{
    uint64_t took = clock_ticks_us() - entered;
    if (took > SLOW_US)
        log_warning(instance_label(in), "%s took %u ms; the loop stood still meanwhile", what,
                    (unsigned)(took / 1000u));
}
