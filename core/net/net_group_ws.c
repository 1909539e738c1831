/*
 * The SDK's `net` group: WebSockets of plugins, as calls. Called by net_group.c.
 */
#include "net/net_group_private.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "net/ws_client.h"

struct carried {
    uint64_t call, ws;
};

static struct map by_call;

static void ws_event(void *owner, uint64_t id, const struct chela_ws_event *e)
{
    struct carried *c = owner;
    struct chela_ws_event copy = *e;
    (void)id;
    call_event(c->call, CHELA_FN_WS_EVENT, &copy);
}

static void ws_done(void *owner, uint64_t id, const struct chela_done *d)
{
    struct carried *c = owner;
    struct chela_done copy = *d;
    (void)id;
    map_remove_number(&by_call, c->call);
    call_answer(c->call, &copy);
    free(c);
}

static bool ws_room(void *owner)
{
    struct carried *c = owner;
    return call_waiting(c->call) <= CALL_WAITING_MAX;
}

static void connect_begin(struct instance *in, uint64_t id, const void *args)
{
    static const struct ws_ops ops = {ws_event, ws_done, ws_room};
    const struct chela_ws_connect *a = args;
    struct carried *c = xcalloc(1, sizeof *c);
    CLEANUP(freep) char *url = xmemdup(a->url.s, a->url.n);
    CLEANUP(freep) char *protocols = xmemdup(a->protocols.s, a->protocols.n);
    struct ws_request r = {.url = url,
                           .protocols = protocols,
                           .headers = a->headers,
                           .limit = a->limit,
                           .timeout_ms = a->timeout_ms,
                           .ping_ms = a->ping_ms,
                           .fill = net_group_fill,
                           .fill_arg = &c->call};
    (void)in;
    c->call = id;
    c->ws = ws_connect(&r, &ops, c);
    map_set_number(&by_call, id, c);
}

static void connect_end(struct instance *in, uint64_t id)
{
    struct carried *c = map_get_number(&by_call, id);
    (void)in;
    if (c)
        ws_cancel(c->ws);
}

static void send_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ws_send *a = args;
    struct carried *c = map_get_number(&by_call, id);
    (void)in;
    if (c)
        ws_send(c->ws, a->kind, a->code, a->data);
}

void net_group_ws_open(void)
{
    call_handle(CHELA_FN_WS_CONNECT, connect_begin, connect_end);
    call_handle(CHELA_FN_WS_SEND, send_begin, NULL);
}

void net_group_ws_close(void)
{
    size_t position = 0;
    const struct map_slot *slot;
    while (map_next(&by_call, &position, &slot)) {
        struct carried *c = slot->value;
        ws_forget(c->ws);
        free(c);
    }
    map_free(&by_call, NULL);
    by_call = (struct map){0};
}
