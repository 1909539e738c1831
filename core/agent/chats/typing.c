/*
 * Typing indicators (see typing.h).
 */
#include "agent/chats/typing.h"

#include <stdint.h>
#include <stdlib.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"

/* The shortest that a service shows it is 5 s (Telegram). */
enum { REFRESH_MS = 4000 };

struct typing {
    struct message *m;
    uint64_t timer;
    bool on;
};

static struct instance *channel_of(const struct message *m)
{
    struct instance *in = instance_find(ROLE_CHANNEL, m->channel);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    return c && c->typing && (c->can & CHELA_CAN_TYPING) && instance_state(in) == INSTANCE_RUNNING
               ? in
               : NULL;
}

static void tell(const struct typing *t, const char *what)
{
    struct instance *in = channel_of(t->m);
    if (!in)
        return;
    CHELA_ARGS(chela_send, a, 0);
    a.account = chela_s(t->m->account);
    a.chat = chela_s(t->m->chat);
    a.thread = chela_s(t->m->thread);
    a.text = chela_s(what);
    call_tell(in, CHELA_FN_CHANNEL_TYPING, &a);
}

static void refresh(void *arg)
{
    struct typing *t = arg;
    t->timer = loop_timer(REFRESH_MS, refresh, t);
    tell(t, "on");
}

struct typing *typing_begin(const struct message *m)
{
    if (!channel_of(m) || !settings_number_or("messages.typing", 1))
        return NULL;
    struct typing *t = xcalloc(1, sizeof *t);
    t->m = message_copy(m);
    typing_show(t, true);
    return t;
}

void typing_show(struct typing *t, bool on)
{
    if (!t || t->on == on)
        return;
    t->on = on;
    loop_timer_stop(t->timer);
    t->timer = 0;
    if (on)
        refresh(t);
    else
        tell(t, "off");
}

void typing_end(struct typing *t)
{
    if (!t)
        return;
    typing_show(t, false);
    message_free(t->m);
    free(t);
}
