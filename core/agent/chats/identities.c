/*
 * Identities and owners (see identities.h).
 */
#include "agent/chats/identities.h"

#include <string.h>

#include <chela/chat.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "base/mem.h"
#include "host/settings.h"

enum { ITEMS_MOST = 1000 };

/* "channel:sender"; senders may hold colons, channels do not. */
static bool is_sender(const struct message *m, const char *entry)
{
    const char *colon = strchr(entry, ':');
    size_t n = colon ? (size_t)(colon - entry) : 0;
    if (!colon || !*m->sender || strcmp(colon + 1, m->sender) != 0)
        return false;
    return (strlen(m->channel) == n && memcmp(m->channel, entry, n) == 0) ||
           (strlen(m->platform) == n && memcmp(m->platform, entry, n) == 0);
}

const char *identities_name(const struct message *m)
{
    int64_t n = settings_number_or("session.identities", 0);
    for (int64_t i = 0; i < n && i < ITEMS_MOST; i++) {
        CLEANUP(freep) char *is = xprintf("session.identities.%d.is", (int)i);
        CLEANUP(freep) char *name = xprintf("session.identities.%d.name", (int)i);
        for (unsigned k = 0; k < settings_list_count(is); k++) {
            if (is_sender(m, settings_list_item(is, k)))
                return settings_text(settings_now(), name);
        }
    }
    return NULL;
}

bool identities_match(const struct message *m, const char *entry, bool bare)
{
    if (strcmp(entry, "*") == 0 || is_sender(m, entry))
        return true;
    if (bare && *m->sender && strcmp(entry, m->sender) == 0)
        return true;
    const char *name = strchr(entry, ':') ? NULL : identities_name(m);
    return name && strcmp(name, entry) == 0;
}

bool identities_owner(const struct message *m)
{
    if (m->flags & CHELA_OWNER)
        return true;
    for (unsigned i = 0; i < settings_list_count("owners"); i++) {
        const char *entry = settings_list_item("owners", i);
        if (strcmp(entry, "*") != 0 && identities_match(m, entry, false))
            return true;
    }
    return false;
}
