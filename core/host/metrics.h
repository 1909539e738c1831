/*
 * Numbers about the running program: counters that add up and gauges that stand at a value, each
 * with labels; printed in the text form that Prometheus reads (version 0.0.4), e.g. for /metrics.
 * [any thread]
 */
#ifndef HOST_METRICS_H
#define HOST_METRICS_H

#include <stdint.h>

#include "base/buf.h"

struct instance;

/* name: letters, digits and '_'; labels: `a="b",c="d"` or "". What is not of that form, and new
 * series above the limit (2,000), are dropped. */
void metrics_count(const char *name, const char *labels, double add);
void metrics_gauge(const char *name, const char *labels, double value);
/* A number whose value is asked for when it is printed. [loop] */
void metrics_ask(const char *name, const char *labels, double (*value)(void));

/* What a plugin reports: the name gets "chela_plugin_" in front, the labels its plugin and
 * instance. For host_set_metric(). */
void metrics_from_plugin(struct instance *in, uint32_t kind, const char *name, const char *labels,
                         double value);

/* Appends all, sorted by name. [loop] */
void metrics_text(struct buf *out);
/* The value of one series, 0 if there is none. For status and tests. */
double metrics_value(const char *name, const char *labels);
void metrics_close(void); /* forgets all */

#endif
