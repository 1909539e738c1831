/*
 * chela/service.h - things that any plugin may add to the gateway: HTTP routes, gateway methods,
 * slash commands, sections of the system prompt. Each kind is published as a list first (answer.h).
 */
#ifndef CHELA_SERVICE_H
#define CHELA_SERVICE_H

#include <chela/plugin.h>

/* A request on a published path (CHELA_ROUTES: name = path, value = JSON {"methods":["POST"],
 * "body_limit": bytes, "auth": "token" | "none"}). body is the raw bytes. done: http_status, text =
 * body, headers. */
struct chela_request {
    struct chela_head h;
    struct chela_str method, path, query, remote, body;
    struct chela_pairs headers; /* names in lower case */
};

/* A gateway method (CHELA_METHODS: name, JSON {"scope": "operator.read"}). done.text = payload
 * JSON. */
struct chela_method {
    struct chela_head h;
    struct chela_str name, params, client;
};

/* A slash command (CHELA_COMMANDS: name without slash, JSON {"description","args","rights"}).
 * done.text = the answer as Markdown. */
struct chela_command {
    struct chela_head h;
    struct chela_str name, arguments, session, agent, sender, channel;
};

/* A section of the system prompt (CHELA_PROMPTS: name, JSON {"order": n, "volatile": bool,
 * "place": "memory"}). done.text = its text, "" = none this time. A volatile one stands behind the
 * history, just before the question; one with place "memory" in a message of its own before it. */
struct chela_prompt {
    struct chela_head h;
    struct chela_str name, session, agent, workspace, text;
};

struct chela_service {
    uint32_t size, zero;
    void (*request)(struct chela_inst *, const struct chela_request *); /* [loop] call */
    void (*method)(struct chela_inst *, const struct chela_method *);   /* [loop] call */
    void (*command)(struct chela_inst *, const struct chela_command *); /* [loop] call */
    void (*prompt)(struct chela_inst *, const struct chela_prompt *);   /* [loop] call */
};

#endif
