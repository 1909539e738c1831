/*
 * The table of HTTP interfaces, who may use them, and their errors (see api.h). Called by
 * endpoints.c.
 */
#include "gateway/api.h"

#include <json-c/json_object.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/health.h"
#include "host/settings.h"
#include "support/json.h"

static const struct api_page pages[] = {
    {"POST", "/v1/chat/completions", "gateway.http.openai", API_OPENAI, false, api_chat},
    {"POST", "/v1/responses", "gateway.http.openai", API_OPENAI, false, api_responses},
    {"POST", "/v1/embeddings", "gateway.http.openai", API_OPENAI, false, api_embeddings},
    {"GET", "/v1/models", "gateway.http.openai", API_OPENAI, false, api_models},
    {"POST", "/v1/messages", "gateway.http.anthropic", API_ANTHROPIC, false, api_messages},
    {"POST", "/api/chat", "gateway.http.ollama", API_OLLAMA, false, api_ollama_chat},
    {"GET", "/api/tags", "gateway.http.ollama", API_OLLAMA, false, api_ollama_tags},
    {"GET", "/api/version", "gateway.http.ollama", API_OLLAMA, false, api_ollama_version},
    {"POST", "/tools/invoke", "gateway.http.tools", API_PLAIN, false, api_tools_invoke},
    {"POST", "/hooks/wake", "gateway.hooks.enabled", API_PLAIN, true, api_hook_wake},
    {"POST", "/hooks/agent", "gateway.hooks.enabled", API_PLAIN, true, api_hook_agent},
};

enum { SMALL_BODY = 2 << 20 };

const struct api_page *api_find(const struct server_head *head)
{
    const struct api_page *other = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(pages); i++) {
        if (strcmp(pages[i].path, head->path) != 0)
            continue;
        if (strcmp(pages[i].method, head->method) == 0)
            return &pages[i];
        other = &pages[i];
    }
    return other;
}

/* ---- errors ---- */

static const char *type_of(enum api_dialect dialect, unsigned status)
{
    bool anthropic = dialect == API_ANTHROPIC;
    switch (status) {
    case 401: return anthropic ? "authentication_error" : "invalid_api_key";
    case 403: return anthropic ? "permission_error" : "permission_denied";
    case 404: return anthropic ? "not_found_error" : "not_found";
    case 413: return anthropic ? "request_too_large" : "invalid_request_error";
    case 429: return anthropic ? "rate_limit_error" : "rate_limit_exceeded";
    case 503: return anthropic ? "overloaded_error" : "service_unavailable";
    default:
        return status < 500 ? "invalid_request_error" : anthropic ? "api_error" : "server_error";
    }
}

json_object *api_error(enum api_dialect dialect, unsigned status, const char *message)
{
    json_object *o = chela_json_new_object(), *error;
    if (dialect == API_OLLAMA) {
        chela_json_put_text(o, "error", message);
        return o;
    }
    if (dialect == API_ANTHROPIC)
        chela_json_put_text(o, "type", "error");
    if (dialect == API_PLAIN)
        chela_json_put_bool(o, "ok", false);
    error = chela_json_put_object(o, "error");
    chela_json_put_text(error, "type", type_of(dialect, status));
    chela_json_put_text(error, "message", message);
    if (dialect == API_OPENAI) {
        chela_json_put_text(error, "param", NULL);
        chela_json_put_text(error, "code", type_of(dialect, status));
    }
    return o;
}

void api_json(struct server_request *r, unsigned status, json_object *o)
{
    size_t n;
    struct chela_str body = {.s = chela_json_text(o, &n)};
    body.n = n;
    server_answer(r, status, "application/json; charset=utf-8", (struct chela_pairs){0}, body);
    json_object_put(o);
}

void api_fail(struct server_request *r, enum api_dialect dialect, unsigned status,
              const char *message)
{
    size_t n;
    json_object *o = api_error(dialect, status, message);
    struct chela_str body = {.s = chela_json_text(o, &n)};
    struct chela_pair wait = {CHELA_LIT("Retry-After"), CHELA_LIT("5")};
    bool later = status == 429 || status == 503;
    body.n = n;
    server_answer(r, status, "application/json; charset=utf-8",
                  (struct chela_pairs){&wait, later ? 1 : 0}, body);
    json_object_put(o);
}

unsigned api_status(const struct error *e)
{
    switch (e->class) {
    case CHELA_E_ARGS:
    case CHELA_E_UNSUPPORTED:
    case CHELA_E_TOO_LONG: return 400;
    case CHELA_E_DENIED: return 403;
    case CHELA_E_NOT_FOUND: return 404;
    case CHELA_E_CONFLICT: return 409;
    case CHELA_E_RATE:
    case CHELA_E_QUOTA: return 429;
    case CHELA_E_BUSY:
    case CHELA_E_OVERLOADED: return 503;
    case CHELA_E_TIMEOUT: return 504;
    default: return 500;
    }
}

void api_fail_error(struct server_request *r, enum api_dialect dialect, const struct error *e)
{
    api_fail(r, dialect, api_status(e), e->text);
}

/* ---- head and body ---- */

static int64_t refuse(struct server_request *r, const struct api_page *page, unsigned status,
                      unsigned wait, const char *message)
{
    json_object *o = api_error(page->dialect, status, message);
    server_refusal(r, wait, chela_json_text(o, NULL));
    json_object_put(o);
    return -(int64_t)status;
}

int64_t api_head(const struct api_page *page, struct server_request *r,
                 const struct server_head *head)
{
    unsigned wait = 0;
    bool small = page->hook || page->dialect == API_PLAIN;
    if (!settings_number(settings_now(), page->setting)) {
        CLEANUP(freep) char *text = xprintf("this is off: set %s = true", page->setting);
        return refuse(r, page, 404, 0, text);
    }
    if (strcmp(page->method, head->method) != 0)
        return refuse(r, page, 405, 0, "another method is wanted here");
    int status = auth_request(r, head, page->hook, &wait);
    if (status == 429)
        return refuse(r, page, 429, wait, "too many wrong secrets from this address");
    if (status)
        return refuse(r, page, (unsigned)status, 0,
                      page->hook ? "the hooks' token is wanted: Authorization: Bearer TOKEN"
                                 : "the gateway's secret is wanted: Authorization: Bearer SECRET");
    if (!health_ready())
        return refuse(r, page, 503, 1, "the gateway is starting");
    return strcmp(page->method, "GET") == 0 ? 0
           : small                          ? SMALL_BODY
                                            : settings_number(settings_now(), "gateway.body_limit");
}

void api_request(const struct api_page *page, struct server_request *r, struct chela_str body)
{
    struct chela_json_limits limits = {.size = (size_t)body.n + 1, .depth = 64};
    struct chela_json_error why;
    json_object *o = NULL;
    if (strcmp(page->method, "GET") == 0) {
        page->answer(r, NULL);
    } else if (chela_json_parse(body.s ? body.s : "", (size_t)body.n, &limits, &o, &why) < 0 ||
               !json_object_is_type(o, json_type_object)) {
        CLEANUP(freep)
        char *text =
            xprintf("the body must be a JSON object%s%s", o ? "" : ": ", o ? "" : why.text);
        json_object_put(o);
        api_fail(r, page->dialect, 400, text);
    } else {
        page->answer(r, o);
        json_object_put(o);
    }
}
