/*
 * Session keys: which session a message belongs to. Part of session.h; reads settings only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela/chat.h>

#include "agent/agents.h"
#include "agent/chats/identities.h"
#include "agent/digest.h"
#include "agent/flow.h"
#include "agent/session.h"
#include "base/mem.h"
#include "host/settings.h"

enum { KEY_BYTES = 255 };

/* A service's id as a part of a key: no blanks, no control characters, no end of the world. */
static char *part(const char *id)
{
    char *s = xstrdup(*id ? id : "-");
    for (char *p = s; *p; p++) {
        if ((unsigned char)*p <= 0x20 || *p == 0x7f)
            *p = '_';
    }
    return s;
}

/* Takes over the key; one that is too long keeps its front and ends in a hash of the whole. */
static char *bounded(char *key)
{
    if (strlen(key) <= KEY_BYTES)
        return key;
    char hash[65];
    digest_hex(key, strlen(key), hash);
    hash[32] = '\0';
    size_t n = KEY_BYTES - 33;
    while (n && ((unsigned char)key[n] & 0xc0) == 0x80)
        n--;
    key[n] = '\0';
    char *shorter = xprintf("%s~%s", key, hash);
    free(key);
    return shorter;
}

/* The person behind "channel:sender" where the configuration says so, else the sender. Free it. */
static char *peer_of(const struct message *m)
{
    const char *name = identities_name(m);
    if (name)
        return part(name);
    return part(*m->sender ? m->sender : m->chat);
}

static char *direct_key(const struct message *m, const char *agent)
{
    const char *scope = settings_text(settings_now(), "session.dm_scope");
    CLEANUP(freep) char *peer = peer_of(m);
    if (strcmp(scope, "per-peer") == 0)
        return xprintf("agent:%s:direct:%s", agent, peer);
    if (strcmp(scope, "per-channel-peer") == 0)
        return xprintf("agent:%s:%s:direct:%s", agent, m->channel, peer);
    if (strcmp(scope, "per-account-channel-peer") == 0) {
        CLEANUP(freep) char *account = part(*m->account ? m->account : "default");
        return xprintf("agent:%s:%s:%s:direct:%s", agent, m->channel, account, peer);
    }
    return xprintf("agent:%s:main", agent);
}

char *session_key(const struct message *m, const char *agent)
{
    if (m->chat_type == CHELA_DIRECT)
        return bounded(direct_key(m, agent));
    bool group = m->chat_type == CHELA_GROUP;
    CLEANUP(freep) char *chat = part(m->chat);
    char *key = xprintf("agent:%s:%s:%s:%s", agent, m->channel, group ? "group" : "channel", chat);
    if (*m->thread) {
        CLEANUP(freep) char *thread = part(m->thread);
        char *longer = xprintf("%s:%s:%s", key, group ? "topic" : "thread", thread);
        free(key);
        key = longer;
    }
    return bounded(key);
}

char *session_key_full(const char *agent, const char *wanted)
{
    static const char *const whole[] = {"agent:", "cron:", "hook:"};
    if (!agent || !*agent)
        agent = agents_default();
    if (!wanted || !*wanted)
        wanted = "main";
    for (unsigned i = 0; i < ARRAY_LENGTH(whole); i++) {
        if (strncmp(wanted, whole[i], strlen(whole[i])) == 0)
            return bounded(part(wanted));
    }
    if (strcmp(wanted, "global") == 0)
        return xstrdup("global");
    CLEANUP(freep) char *name = part(wanted);
    return bounded(xprintf("agent:%s:%s", agent, name));
}

char *session_key_agent(const char *key)
{
    if (strncmp(key, "agent:", 6) != 0)
        return xstrdup(agents_default());
    const char *name = key + 6;
    return xmemdup(name, strcspn(name, ":"));
}
