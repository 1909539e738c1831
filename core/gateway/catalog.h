/*
 * Lists of what there is, in the shape of the protocol: models, commands, tools. Called by
 * methods_system.c.
 */
#ifndef GATEWAY_CATALOG_H
#define GATEWAY_CATALOG_H

#include <stdbool.h>

struct json_object;

/* Each takes over what the agent gave (agent_models, agent_commands, agent_tools). */
struct json_object *catalog_models(struct json_object *models);
struct json_object *catalog_commands(struct json_object *commands, bool with_args);
struct json_object *catalog_tools(struct json_object *tools, const char *agent);
/* Of those that the model sees: {"agentId","profile","groups"}. Takes over tools. */
struct json_object *catalog_effective(struct json_object *tools, const char *agent,
                                      const char *profile);

#endif
