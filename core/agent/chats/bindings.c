/*
 * Bindings (see bindings.h).
 */
#include "agent/chats/bindings.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "base/mem.h"
#include "host/settings.h"

enum { BINDINGS_MOST = 1000, BY_CHANNEL = 1, BY_ACCOUNT = 2, BY_PEER = 4 };

static const char *field(int64_t index, const char *name)
{
    CLEANUP(freep) char *path = xprintf("bindings.%d.%s", (int)index, name);
    return settings_text(settings_now(), path);
}

/* How much the binding says about the message; -1: it speaks of another. */
static int weight(const struct message *m, int64_t index)
{
    const char *channel = field(index, "channel"), *account = field(index, "account"),
               *peer = field(index, "peer");
    int w = 0;
    if (*channel && strcmp(channel, m->channel) != 0 && strcmp(channel, m->platform) != 0)
        return -1;
    if (*account && strcmp(account, m->account) != 0)
        return -1;
    if (*peer && strcmp(peer, m->sender) != 0 && strcmp(peer, m->chat) != 0)
        return -1;
    w += *channel ? BY_CHANNEL : 0;
    w += *account ? BY_ACCOUNT : 0;
    w += *peer ? BY_PEER : 0;
    return w;
}

struct binding bindings_find(const struct message *m)
{
    int64_t n = settings_number_or("bindings", 0), found = -1;
    int best = -1;
    for (int64_t i = 0; i < n && i < BINDINGS_MOST; i++) {
        int w = weight(m, i);
        if (w > best) {
            best = w;
            found = i;
        }
    }
    if (found < 0)
        return (struct binding){"", ""};
    return (struct binding){field(found, "agent"), field(found, "session")};
}
