/*
 * The agents of the configuration: which there are, which one a channel is bound to, and their
 * options with what they inherit (agents.NAME.x, else agents.defaults.x). Reads settings only.
 */
#ifndef AGENT_AGENTS_H
#define AGENT_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

const char *agents_default(void); /* "main" unless another one is marked or stands alone */
bool agents_known(const char *agent);
/* The n-th agent's name, NULL after the last. There is always one. */
const char *agents_at(unsigned index);
/* The agent whose `channels` names this channel, else the default one. */
const char *agents_for_channel(const char *channel);

/* An option, "" or the fallback if it is set nowhere. */
const char *agents_text(const char *agent, const char *key);
int64_t agents_number(const char *agent, const char *key, int64_t fallback);
double agents_real(const char *agent, const char *key, double fallback);
bool agents_has(const char *agent, const char *key);
/* An option that is a list of strings, or one string. */
unsigned agents_count(const char *agent, const char *key);
const char *agents_item(const char *agent, const char *key, unsigned index);
/* Absolute folder of the agent's files; made if it isn't there. Free it. */
char *agents_workspace(const char *agent);

/* A list at any path of the settings, or one string there. */
unsigned settings_list_count(const char *path);
const char *settings_list_item(const char *path, unsigned index);
int64_t settings_number_or(const char *path, int64_t fallback);

#endif
