/*
 * Tool policy: profiles by the manifest's group, allow and deny lists with globs, what needs a
 * person. Order as in the reference: profile, then allow and deny, global and the agent's; deny
 * wins. Security levels: deny, allowlist, ask, full.
 */
#include "agent/tools/policy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/agents.h"
#include "base/buf.h"
#include "base/mem.h"
#include "host/settings.h"
#include "support/json.h"

struct profile {
    const char *name;
    const char *groups[12]; /* "*": all */
};

static const struct profile profiles[] = {
    {"minimal", {"session", NULL}},
    {"coding",
     {"session", "sessions", "fs", "runtime", "web", "memory", "automation", "media", "plugins",
      NULL}},
    {"messaging", {"session", "sessions", "messaging", "web", "memory", NULL}},
    {"full", {"*", NULL}},
};

static const struct {
    const char *alias, *tools[4];
} aliases[] = {
    {"shell", {"exec", NULL}},
    {"file_write", {"write", "edit", "apply_patch", NULL}},
    {"file_delete", {"delete", NULL}},
    {"file_read", {"read", NULL}},
};

bool policy_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == '?' || (*pattern && strncasecmp(pattern, name, 1) == 0)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* A word of a list: a name, a glob, an alias, or "group:fs". */
static bool word_names(const char *word, const char *tool, const char *group)
{
    if (strncmp(word, "group:", 6) == 0)
        return group && *group && policy_matches(word + 6, group);
    for (unsigned i = 0; i < ARRAY_LENGTH(aliases); i++) {
        if (strcmp(aliases[i].alias, word) != 0)
            continue;
        for (unsigned k = 0; aliases[i].tools[k]; k++) {
            if (strcmp(aliases[i].tools[k], tool) == 0)
                return true;
        }
    }
    return policy_matches(word, tool);
}

static bool agent_lists(const char *agent, const char *key, const struct tool *t)
{
    for (unsigned i = 0; i < agents_count(agent, key); i++) {
        if (word_names(agents_item(agent, key, i), t->name, t->group))
            return true;
    }
    return false;
}

static bool global_lists(const char *path, const struct tool *t)
{
    for (unsigned i = 0; i < settings_list_count(path); i++) {
        if (word_names(settings_list_item(path, i), t->name, t->group))
            return true;
    }
    return false;
}

static bool in_profile(const char *profile, const struct tool *t)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(profiles); i++) {
        if (strcmp(profiles[i].name, profile) != 0)
            continue;
        for (unsigned k = 0; profiles[i].groups[k]; k++) {
            if (policy_matches(profiles[i].groups[k], t->group))
                return true;
        }
        return false;
    }
    return false; /* an unknown profile offers nothing */
}

void policy_profiles(const struct tool *t, struct json_object *list)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(profiles); i++) {
        if (in_profile(profiles[i].name, t))
            chela_json_push(list,
                            chela_json_new_string(profiles[i].name, strlen(profiles[i].name)));
    }
}

/* ---- tools.rules: for some channels, senders, providers, agents ---- */

static bool rule_text_fits(int rule, const char *key, const char *value)
{
    CLEANUP(freep) char *path = xprintf("tools.rules.%d.%s", rule, key);
    const char *pattern = settings_text(settings_now(), path);
    return !*pattern || (value && *value && policy_matches(pattern, value));
}

static bool rule_fits(int rule, const struct policy_scope *s)
{
    return rule_text_fits(rule, "agent", s->agent) && rule_text_fits(rule, "channel", s->channel) &&
           rule_text_fits(rule, "sender", s->sender) &&
           rule_text_fits(rule, "provider", s->provider);
}

char *policy_rules_key(const struct policy_scope *s)
{
    struct buf b = {0};
    for (int i = 0; i < settings_number_or("tools.rules", 0); i++)
        if (rule_fits(i, s))
            buf_printf(&b, "%d,", i);
    return buf_take(&b);
}

/* A rule only takes away: what the others left out doesn't come back. */
static bool rules_allow(const struct policy_scope *s, const struct tool *t, const char **why)
{
    for (int i = 0; i < settings_number_or("tools.rules", 0); i++) {
        if (!rule_fits(i, s))
            continue;
        CLEANUP(freep) char *deny = xprintf("tools.rules.%d.deny", i);
        CLEANUP(freep) char *allow = xprintf("tools.rules.%d.allow", i);
        CLEANUP(freep) char *profile = xprintf("tools.rules.%d.profile", i);
        const char *name = settings_text(settings_now(), profile);
        if (global_lists(deny, t))
            *why = "a rule of tools.rules denies it here";
        else if (settings_list_count(allow) && !global_lists(allow, t))
            *why = "a rule of tools.rules doesn't allow it here";
        else if (*name && !in_profile(name, t))
            *why = "the profile of a rule of tools.rules leaves its group out here";
        else
            continue;
        return false;
    }
    return true;
}

/* A list of the turn's own, parted by blanks. */
static bool words_name(const char *words, const struct tool *t)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");
        CLEANUP(freep) char *word = xmemdup(words, n);
        if (n && word_names(word, t->name, t->group))
            return true;
        words += n + strspn(words + n, " ");
    }
    return false;
}

bool policy_visible(const struct policy_scope *s, const struct tool *t, const char **why)
{
    const char *agent = s->agent;
    const char *profile = agents_text(agent, "tools.profile");
    if (!*profile)
        profile = settings_text(settings_now(), "tools.profile");
    bool listed = !*profile || in_profile(profile, t) ||
                  agent_lists(agent, "tools.also_allow", t) || global_lists("tools.also_allow", t);
    if (!listed)
        *why = "the profile leaves its group out";
    else if (words_name(s->without, t) || (s->only && *s->only && !words_name(s->only, t)))
        *why = "who began this turn left it out";
    else if (global_lists("tools.deny", t))
        *why = "tools.deny names it";
    else if (agent_lists(agent, "tools.deny", t))
        *why = "the agent's tools.deny names it";
    else if (settings_list_count("tools.allow") && !global_lists("tools.allow", t))
        *why = "tools.allow doesn't name it";
    else if (agents_count(agent, "tools.allow") && !agent_lists(agent, "tools.allow", t))
        *why = "the agent's tools.allow doesn't name it";
    else
        return rules_allow(s, t, why);
    return false;
}

bool policy_confirms(const char *agent, const char *tool)
{
    static const char key[] = "tools.confirm_before_run";
    for (unsigned i = 0; i < agents_count(agent, key); i++) {
        if (word_names(agents_item(agent, key, i), tool, NULL))
            return true;
    }
    for (unsigned i = 0; i < settings_list_count(key); i++) {
        if (word_names(settings_list_item(key, i), tool, NULL))
            return true;
    }
    return false;
}

struct policy_verdict policy_call(const char *agent, const struct tool *t, enum tool_risk risk)
{
    const char *level = agents_text(agent, "tools.security");
    if (!*level)
        level = settings_text(settings_now(), "tools.security");
    bool confirms = policy_confirms(agent, t->name);
    bool wanted = risk != RISK_LOW || confirms || t->requires_approval;
    if (!wanted)
        return (struct policy_verdict){POLICY_FREE, true, "low risk"};
    if (strcmp(level, "deny") == 0)
        return (struct policy_verdict){POLICY_FORBIDDEN, false,
                                       "the security level \"deny\" forbids it"};
    if (risk == RISK_HIGH && !agents_number(agent, "tools.high_risk_free", 0)) {
        if (strcmp(level, "allowlist") == 0)
            return (struct policy_verdict){
                POLICY_FORBIDDEN, false,
                "the security level \"allowlist\" forbids what is of high risk"};
        return (struct policy_verdict){POLICY_ASK, false, "high risk"};
    }
    if (strcmp(level, "full") == 0 && !confirms)
        return (struct policy_verdict){POLICY_FREE, true, "the security level is \"full\""};
    if (strcmp(level, "allowlist") == 0)
        return (struct policy_verdict){POLICY_LISTED, true,
                                       "the security level is \"allowlist\" and it isn't listed"};
    return (struct policy_verdict){POLICY_ASK, risk != RISK_HIGH,
                                   confirms               ? "confirm_before_run names it"
                                   : t->requires_approval ? "its manifest requires approval"
                                                          : "it changes something"};
}
