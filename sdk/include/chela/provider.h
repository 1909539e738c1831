/*
 * chela/provider.h - a provider: translates one model call to a service and its stream back.
 *
 * The provider builds a request and interprets what comes; HTTP, SSE and line decoding, TLS,
 * proxies, deadlines and retries are the host's (net.h).
 *
 * A message is a JSON object {"role", "content"}: role is "user", "assistant" or "tool"; content an
 * array of parts:
 *   {"type":"text","text"}
 *   {"type":"thinking","text","signature","provider"}    signature: opaque, sent back unchanged to
 * the provider instance that made it, else dropped
 *   {"type":"image"|"file","hash","mime","name","size"}  bytes come in `blobs`
 *   {"type":"toolCall","id","name","arguments":{}}
 *   {"type":"toolResult","callId","name","content":[text and image parts],"isError"}
 * A "tool" message holds the results of one batch, in the order of the calls, directly after the
 * assistant message with those calls. Each call has exactly one result.
 */
#ifndef CHELA_PROVIDER_H
#define CHELA_PROVIDER_H

#include <chela/plugin.h>

/*
 * One model call. Events until done: text, thinking, tool_call, usage (answer.h).
 *   model     the service's name, without the instance's
 *   system    system prompt, or ""
 *   params    JSON object, all optional: temperature, max_tokens, thinking ("off" "low" "medium"
 *             "high"), tool_choice ("auto" "none" "required" or a name), schema (the answer must
 *             fit), session (stable id, for caches), stream (false: ask for a whole answer)
 *   messages  name = role; value = what `render` gave, or the message's JSON without `render`
 *   tools     name = tool's name; value = JSON {"name","description","parameters"}; in the order in
 *             which they must be sent, the same bytes from turn to turn
 *   blobs     name = hash, value = bytes; only for messages that were not rendered
 * done: error class; extra = {"stop": "end" | "tool_calls" | "length" | "refusal" | "pause" |
 * "filter", "model", "id"}. CHELA_E_UNSUPPORTED: extra.unsupported = "tools" (asked again without
 * them) or "stream" (asked again for a whole answer).
 */
struct chela_begin {
    struct chela_head h;
    struct chela_str model, system, params;
    struct chela_pairs messages, tools, blobs;
};

/* The wire form of one message; done.text = the bytes, which the host keeps and hands back in begin
 * as long as `model` and the instance stay the same. Must be a pure function of its arguments. */
struct chela_render {
    struct chela_head h;
    struct chela_str model, role, message;
    struct chela_pairs blobs;
};

/* Embeddings: value of each pair is a text; done.text = JSON array of arrays of numbers. */
struct chela_embed {
    struct chela_head h;
    struct chela_str model;
    struct chela_pairs texts;
};

struct chela_provider {
    uint32_t size, zero;
    void (*begin)(struct chela_inst *, const struct chela_begin *); /* [loop] call */
    void (*render)(struct chela_inst *,
                   const struct chela_render *); /* [loop] call, ends before it returns */
    void (*embed)(struct chela_inst *, const struct chela_embed *); /* [loop] call */
};

#endif
