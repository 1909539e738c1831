/*
 * Policies of channels (see access.h). A channel whose instance exists without configuration has
 * the defaults: pairing in direct chats, no group.
 */
#include "agent/chats/access.h"

#include <stdint.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <chela/chat.h>

#include "agent/agents.h"
#include "agent/chats/identities.h"
#include "agent/chats/pairing.h"
#include "agent/flow.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/settings.h"

enum { GROUPS_MOST = 10000, CONTEXT = 50, MATCH_LIMIT = 100000 };

static char *path_of(const struct message *m, const char *name)
{
    return xprintf("channels.%s.%s", m->channel, name);
}

static const char *text_of(const struct message *m, const char *name)
{
    CLEANUP(freep) char *path = path_of(m, name);
    return settings_text(settings_now(), path);
}

static bool listed(const struct message *m, const char *name)
{
    CLEANUP(freep) char *path = path_of(m, name);
    for (unsigned i = 0; i < settings_list_count(path); i++) {
        if (identities_match(m, settings_list_item(path, i), true))
            return true;
    }
    return false;
}

static bool has(const struct message *m, const char *name)
{
    CLEANUP(freep) char *path = path_of(m, name);
    return settings_list_count(path) > 0;
}

/* ---- direct chats ---- */

static enum access direct(const struct message *m)
{
    const char *policy = text_of(m, "dm_policy");
    if (strcmp(policy, "disabled") == 0)
        return ACCESS_NO;
    if (listed(m, "allow_from") || pairing_has(m->channel, m->sender))
        return ACCESS_YES;
    if (strcmp(policy, "allowlist") == 0 || strcmp(policy, "open") == 0)
        return ACCESS_NO;
    return ACCESS_PAIR;
}

/* ---- groups ---- */

/* The group's own entry: its index in channels.NAME.groups, or that of "*", or -1. */
static int group_index(const struct message *m)
{
    CLEANUP(freep) char *list = path_of(m, "groups");
    int64_t n = settings_number_or(list, 0);
    int any = -1;
    for (int i = 0; i < n && i < GROUPS_MOST; i++) {
        CLEANUP(freep) char *path = xprintf("%s.%d.chat", list, i);
        const char *chat = settings_text(settings_now(), path);
        if (strcmp(chat, m->chat) == 0)
            return i;
        if (strcmp(chat, "*") == 0 && any < 0)
            any = i;
    }
    return any;
}

static bool group_open(const struct message *m, int index)
{
    const char *policy = text_of(m, "group_policy");
    if (strcmp(policy, "disabled") == 0)
        return false;
    CLEANUP(freep) char *own = index < 0 ? NULL : xprintf("groups.%d.allow_from", index);
    if (own && has(m, own))
        return listed(m, own);
    if (has(m, "group_allow_from") && !listed(m, "group_allow_from"))
        return false;
    if (strcmp(policy, "open") == 0)
        return true;
    /* the list of groups, the list of people, or both; who was paired is paired for direct chats */
    return has(m, "groups") ? index >= 0 : has(m, "group_allow_from");
}

/* Compiled anew for each message of a group: these are few and short. */
static bool matches(const char *pattern, const char *text)
{
    int code;
    PCRE2_SIZE at;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_CASELESS, &code, &at, NULL);
    if (!re) {
        log_warning("ingress", "mention_patterns: \"%s\" is no regular expression", pattern);
        return false;
    }
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(re, NULL);
    pcre2_set_match_limit(context, MATCH_LIMIT);
    bool found =
        pcre2_match(re, (PCRE2_SPTR)text, strlen(text), 0, PCRE2_NO_UTF_CHECK, data, context) >= 0;
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_code_free(re);
    return found;
}

static bool mentioned(const struct message *m, int index)
{
    CLEANUP(freep) char *own = index < 0 ? NULL : xprintf("groups.%d.require_mention", index);
    CLEANUP(freep) char *own_path = own ? path_of(m, own) : NULL;
    CLEANUP(freep) char *path = path_of(m, "require_mention");
    const char *asked = own_path && settings_has(settings_now(), own_path) ? own_path : path;
    if (!settings_number_or(asked, 1))
        return true;
    CLEANUP(freep) char *patterns = path_of(m, "mention_patterns");
    for (unsigned i = 0; i < settings_list_count(patterns); i++) {
        if (matches(settings_list_item(patterns, i), m->text))
            return true;
    }
    return false;
}

enum access access_check(struct message *m)
{
    bool vouched = (m->flags & CHELA_OWNER) != 0;
    if (identities_owner(m))
        m->flags |= CHELA_OWNER;
    if (m->chat_type == CHELA_DIRECT)
        return vouched || (m->flags & CHELA_OWNER) ? ACCESS_YES : direct(m);
    int index = group_index(m);
    if (!vouched && !group_open(m, index))
        return ACCESS_NO;
    if (!(m->flags & CHELA_MENTIONED) && mentioned(m, index))
        m->flags |= CHELA_MENTIONED;
    return ACCESS_YES;
}

unsigned access_context(const struct message *m)
{
    CLEANUP(freep) char *path = path_of(m, "context_messages");
    int64_t n = settings_number_or(path, CONTEXT);
    return n > 0 ? (unsigned)n : 0;
}
