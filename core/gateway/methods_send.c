/*
 * The method `send`: a text to a chat of a channel, outside of any turn. Called by method.c.
 */
#include "agent/agent.h"
#include "gateway/method.h"
#include "support/json.h"

static void send_text(struct rpc *rpc, json_object *params)
{
    struct agent_notice n = {
        .channel = chela_json_string(params, "channel", NULL),
        .account = chela_json_string(params, "accountId", NULL),
        .chat = chela_json_string(params, "to", NULL),
        .thread = chela_json_string(params, "threadId", NULL),
        .text = chela_json_string(params, "message", NULL),
        .key = chela_json_string(params, "idempotencyKey", NULL),
        .buttons = chela_json_array(params, "buttons"),
    };
    if (!n.channel || !n.text || !agent_notice(&n)) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "there is no channel \"%s\"",
                 n.channel ? n.channel : "");
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", true);
    chela_json_put_text(o, "status", "queued");
    chela_json_put_text(o, "channel", n.channel);
    rpc_answer(rpc, o);
}

const struct method methods_send[] = {
    {"send", SCOPE_WRITE,
     "to:s! message:s! channel:s! accountId:s threadId:s buttons:a replyToId:s agentId:s silent:b "
     "sessionKey:s idempotencyKey:s",
     send_text},
    {0},
};
