/*
 * chela/router.h - a router decides which model answers. It does no I/O of its own; one that wants
 * a model's opinion asks by host->model->ask.
 */
#ifndef CHELA_ROUTER_H
#define CHELA_ROUTER_H

#include <chela/plugin.h>

/*
 * What is known when a turn looks for its model.
 *   text            of the person's message
 *   prefer          model that a person chose, or ""
 *   channel account chat sender agent session   where it came from
 *   context_tokens  estimated size of the prompt
 *   tool_calls      made so far in this session
 *   images          count of images in the prompt
 *   tools           count of tools offered
 *   at              local time, seconds since 1970
 *   attachments     kinds of what came with the message: any of "image", "audio", "video", "file",
 *                   with blanks between
 *   previous        the end of what the assistant said before, at most 1,000 bytes: what a "yes,
 *                   do that" answers
 *   models          name = "instance/model"; value = JSON {"available","latency_ms","context",
 *                   "tools","images","local","price_in","price_out"}
 * The call is ended by host->answer->decide: verdict CHELA_YES with candidates (name =
 * "instance/model", value = reason for people) in the order to try, or CHELA_NO = no opinion; text
 * = why, for people. With h.flags CHELA_WEAK the candidates are only a default: routers behind this
 * one are asked as well, and what one of them decides comes first.
 */
enum { CHELA_WEAK = 1 };
struct chela_facts {
    struct chela_head h;
    uint32_t tool_calls, images, tools, zero;
    uint64_t context_tokens, at;
    struct chela_str text, prefer, channel, account, chat, sender, agent, session;
    struct chela_pairs models;
    struct chela_str attachments, previous;
};

struct chela_router {
    uint32_t size, zero;
    void (*route)(struct chela_inst *,
                  const struct chela_facts *); /* [loop] call, ended by decide */
};

#endif
