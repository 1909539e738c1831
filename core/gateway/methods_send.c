/*
 * The method `send`: a text to a chat of a channel, outside of any turn. Called by method.c.
 */
#include <stdlib.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "support/json.h"

struct sending {
    struct rpc *rpc;
    char *channel;
};

static void stored(void *owner, const struct error *e)
{
    struct sending *s = owner;
    if (e) {
        rpc_fail_error(s->rpc, e);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_bool(o, "ok", true);
        chela_json_put_text(o, "status", "queued");
        chela_json_put_text(o, "channel", s->channel);
        rpc_answer(s->rpc, o);
    }
    free(s->channel);
    free(s);
}

static void send_text(struct rpc *rpc, json_object *params)
{
    struct agent_post n = {
        .session = chela_json_string(params, "sessionKey", NULL),
        .channel = chela_json_string(params, "channel", NULL),
        .account = chela_json_string(params, "accountId", NULL),
        .chat = chela_json_string(params, "to", NULL),
        .thread = chela_json_string(params, "threadId", NULL),
        .text = chela_json_string(params, "message", NULL),
        .key = chela_json_string(params, "idempotencyKey", NULL),
        .buttons = chela_json_array(params, "buttons"),
    };
    if (!n.channel || !n.text) { /* a NUL in it */
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "channel and message must be text");
        return;
    }
    struct sending *s = xcalloc(1, sizeof *s);
    s->rpc = rpc;
    s->channel = xstrdup(n.channel);
    agent_post(&n, stored, s);
}

const struct method methods_send[] = {
    {"send", SCOPE_WRITE,
     "to:s! message:s! channel:s! accountId:s threadId:s buttons:a replyToId:s agentId:s silent:b "
     "sessionKey:s idempotencyKey:s",
     send_text},
    {0},
};
