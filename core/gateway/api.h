/*
 * HTTP interfaces that programs written for others know: OpenAI, Anthropic, Ollama, single tools,
 * hooks. One table of paths; each is off until the configuration turns it on. endpoints.c asks here
 * before it looks for routes of plugins.
 */
#ifndef GATEWAY_API_H
#define GATEWAY_API_H

#include <stdbool.h>

#include "base/error.h"
#include "net/server.h"

struct json_object;

/* Whose shape errors have. */
enum api_dialect { API_PLAIN, API_OPENAI, API_ANTHROPIC, API_OLLAMA };

struct api_page {
    const char *method, *path;
    const char *setting; /* bool that turns it on */
    enum api_dialect dialect;
    bool hook; /* its own token */
    void (*answer)(struct server_request *r, struct json_object *body);
};

/* NULL: not one of these paths. */
const struct api_page *api_find(const struct server_head *head);
/* For server_handlers.head: bytes of body, or a refusal. */
int64_t api_head(const struct api_page *page, struct server_request *r,
                 const struct server_head *head);
void api_request(const struct api_page *page, struct server_request *r, struct chela_str body);

/* Answers that several of them need. api_json takes over o. */
void api_json(struct server_request *r, unsigned status, struct json_object *o);
void api_fail(struct server_request *r, enum api_dialect dialect, unsigned status,
              const char *message);
void api_fail_error(struct server_request *r, enum api_dialect dialect, const struct error *e);
/* The error object alone, for streams that have begun; owned by the caller. */
struct json_object *api_error(enum api_dialect dialect, unsigned status, const char *message);
unsigned api_status(const struct error *e);

/* auth.c: the secret of a request. 0, or the status to refuse with; *ret_wait: seconds until the
 * next try makes sense. */
int auth_request(struct server_request *r, const struct server_head *head, bool hook,
                 unsigned *ret_wait);

/* The pages, each in its api_*.c. */
void api_chat(struct server_request *r, struct json_object *body);
void api_responses(struct server_request *r, struct json_object *body);
void api_embeddings(struct server_request *r, struct json_object *body);
void api_models(struct server_request *r, struct json_object *body);
void api_messages(struct server_request *r, struct json_object *body);
void api_ollama_chat(struct server_request *r, struct json_object *body);
void api_ollama_tags(struct server_request *r, struct json_object *body);
void api_ollama_version(struct server_request *r, struct json_object *body);
void api_tools_invoke(struct server_request *r, struct json_object *body);
void api_hook_wake(struct server_request *r, struct json_object *body);
void api_hook_agent(struct server_request *r, struct json_object *body);

#endif
