/*
 * chela/chat.h - messages in, a model's opinion, Markdown rendered.
 */
#ifndef CHELA_CHAT_H
#define CHELA_CHAT_H

#include <chela/plugin.h>

enum { CHELA_DIRECT = 0, CHELA_GROUP = 1, CHELA_ROOM = 2 };

/* chela_submit.h.flags */
enum {
    CHELA_MENTIONED = 1, /* group: the message addresses the assistant */
    CHELA_OWNER = 2, /* the channel itself vouches that the sender is the owner (local terminal) */
    CHELA_BUTTON = 4 /* text comes from a button that we sent */
};

/*
 * A message came in. The host removes duplicates by (instance, account, chat, kind, event,
 * version), looks whether the sender may talk to it, and stores it. What decides that is configured
 * for every channel alike (dm_policy, allow_from, group_policy, groups, require_mention ...): a
 * channel hands over all that it hears, says who and where, and sets CHELA_MENTIONED where its
 * service says that the assistant is meant: its name, a reply to it, a command for it.
 *
 *   event version    the service's id of the event, and of its edit (0 at first)
 *
 *   kind             "message", "edit", "reaction"
 *
 *   account          which of the instance's accounts, "" = its only one
 *
 *   chat thread      where; chat_type CHELA_DIRECT ...
 *
 *   sender           the service's id of who wrote it; sender_name: for people
 *
 *   session          session key that the sender may choose (terminal, page), else ""
 *
 *   text             what they wrote; reply_to: id of the message that they answer, quote: its text
 *
 *   at               when, seconds since 1970
 *
 *   media            name = file name, value = JSON {"hash","mime","size"} or {"reference",...}
 *
 *   extra            JSON object: "agent", and "request", what a plugin that begins turns by itself
 *                    wishes: {"runId", "model", "thinking", "timeoutMs", "extraSystemPrompt",
 *                    "queueMode", "suppressCommandInterpretation": the text is no command,
 *                    "tools": {"allow": [names, globs, "group:fs"], "deny": [...]},
 *                    "budget": {"tokens", "steps", "cost"}: the last call then asks for the answer,
 *                    "onBehalfOf": {"channel", "sender"}: whose rules for tools hold}
 *
 * done: OK = stored (text = run id, "" if it only went into the history), CHELA_E_CONFLICT = seen
 * before, CHELA_E_DENIED = the sender may not (who asks to be paired has been told how): only after
 * one of these may the channel acknowledge. Any other error: the same message again later.
 */
struct chela_submit {
    struct chela_head h;
    uint64_t version, at;
    uint32_t chat_type, zero;
    struct chela_str kind, event, account, chat, thread, sender, sender_name, session, text,
        reply_to, quote, extra;
    struct chela_pairs media;
};

/* What became of a sent message, told later: state "delivered", "read" or "failed". No call. */
struct chela_receipt {
    struct chela_head h;
    struct chela_str account, chat, message, state, text;
};

/* Asks the model that the configuration names for this (never by way of a router). text = question;
 * schema = JSON Schema of the answer or "". Cost is booked on the parent call's turn. done.text =
 * answer. */
struct chela_ask {
    struct chela_head h;
    uint64_t parent;
    uint32_t timeout_ms, max_tokens;
    struct chela_str purpose, system, text, schema;
};

/* Renders Markdown into a dialect ("html", "telegram-html", "mrkdwn", "discord", "whatsapp",
 * "ansi", "plain"), cut into pieces of at most `limit` units. done.extra = JSON array of strings.
 */
struct chela_markup {
    struct chela_head h;
    uint64_t limit;
    uint32_t unit, zero;
    struct chela_str text, dialect;
};

/*
 * Calls a method of the gateway (doc/protocol.md) with the rights operator.read and operator.write;
 * params: a JSON object. done.text = its payload; of a method that answers twice, the second. On
 * failure extra = {"code","details"}.
 */
struct chela_invoke {
    struct chela_head h;
    uint64_t parent;
    struct chela_str name, params;
};

/* Embeddings: value of each pair is a text. model "" = the one that models.embedding names; if it
 * names none, CHELA_E_UNSUPPORTED. done.text = JSON array of arrays of numbers. Without texts
 * nobody is asked: done.extra = {"model": its whole name}. */
struct chela_embedding {
    struct chela_head h;
    uint64_t parent;
    struct chela_str model;
    struct chela_pairs texts;
};

struct chela_chat {
    uint32_t size, zero;
    void (*submit)(struct chela_inst *, const struct chela_submit *);
    void (*receipt)(struct chela_inst *, const struct chela_receipt *);
    void (*ask)(struct chela_inst *, const struct chela_ask *);
    void (*markup)(struct chela_inst *, const struct chela_markup *);
    void (*invoke)(struct chela_inst *, const struct chela_invoke *);
    void (*embed)(struct chela_inst *, const struct chela_embedding *);
};

#endif
