/*
 * Slash commands: answered here, without a model. Called by ingress.c once the message is stored.
 */
#ifndef AGENT_COMMANDS_H
#define AGENT_COMMANDS_H

#include <stdbool.h>

struct message;
struct json_object;

/* false: it is no command that anybody knows, so it goes to the model. The answer comes as the
 * `final` chat event of `run`, and to the channel. */
bool commands_run(const struct message *m, const char *session, const char *agent, const char *run);
/* For agent_commands(): [{"name","description","acceptsArgs","source","category"}] */
struct json_object *commands_list(void);

#endif
