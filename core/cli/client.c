/* Client: see client.h. Frames and their fields are those of the reference's protocol 4; what the
 * other side sends is checked for its shape here, so that others get NULL or a value of the right
 * kind. */
#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "config.h"
#include "support/json.h"

#define PROTOCOL 4

struct client_request {
    struct client_request *next;
    uint64_t id;
    client_answer_fn *answer;
    void *arg;
};

/* ---- errors ---- */

static uint32_t class_of(const char *code, const char *detail)
{
    static const struct {
        const char *code;
        uint32_t class;
    } classes[] = {
        {"INVALID_REQUEST", CHELA_E_ARGS},
        {"UNAVAILABLE", CHELA_E_BUSY},
        {"FORBIDDEN", CHELA_E_DENIED},
        {"NOT_PAIRED", CHELA_E_AUTH},
        {"APPROVAL_NOT_FOUND", CHELA_E_NOT_FOUND},
        {"NOT_FOUND", CHELA_E_NOT_FOUND},
        {"UNAUTHORIZED", CHELA_E_AUTH},
        {"CONFLICT", CHELA_E_CONFLICT},
    };
    if (detail != NULL &&
        (strncmp(detail, "AUTH_", 5) == 0 || strcmp(detail, "PAIRING_REQUIRED") == 0 ||
         strncmp(detail, "DEVICE_", 7) == 0)) {
        return CHELA_E_AUTH;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(classes); i++) {
        if (strcmp(classes[i].code, code) == 0) {
            return classes[i].class;
        }
    }
    return CHELA_E_OTHER;
}

static void read_failure(json_object *frame, struct client_answer *answer)
{
    json_object *error = chela_json_object(frame, "error");
    const char *message = chela_json_string(error, "message", NULL);
    const char *code = chela_json_string(error, "code", NULL);
    answer->code = code == NULL ? "UNKNOWN" : code;
    answer->details = chela_json_object(error, "details");
    const char *detail = chela_json_string(answer->details, "code", NULL);
    struct buf clean = {0};
    clean_append(&clean, message == NULL ? answer->code : message,
                 strlen(message == NULL ? answer->code : message));
    error_set(&answer->error, class_of(answer->code, detail), "%s", buf_text(&clean));
    answer->error.retry = chela_json_bool(error, "retryable", false);
    int64_t after = chela_json_int(error, "retryAfterMs", 0);
    answer->error.retry_after_ms = after > 0 ? (uint64_t)after : 0;
    buf_free(&clean);
}

/* ---- frames ---- */

static void break_off(struct client *client, const char *what)
{
    if (!client->is_broken) {
        client->is_broken = true;
        error_set(&client->broken, CHELA_E_PROTOCOL, "the gateway sent %s", what);
    }
}

static struct client_request *take_request(struct client *client, const char *id)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = id == NULL ? 0 : strtoull(id, &end, 10);
    if (id == NULL || end == id || *end != '\0' || errno != 0) {
        return NULL;
    }
    for (struct client_request **at = &client->requests; *at != NULL; at = &(*at)->next) {
        if ((*at)->id == number) {
            struct client_request *request = *at;
            *at = request->next;
            return request;
        }
    }
    return NULL;
}

static void put_back(struct client *client, struct client_request *request)
{
    request->next = client->requests;
    client->requests = request;
}

static void on_answer(struct client *client, json_object *frame)
{
    struct client_request *request = take_request(client, chela_json_string(frame, "id", NULL));
    if (request == NULL) {
        return; /* of one that is no longer waited for */
    }
    struct client_answer answer = {.ok = chela_json_bool(frame, "ok", false)};
    if (answer.ok) {
        answer.payload = chela_json_get(frame, "payload");
    } else {
        read_failure(frame, &answer);
    }
    if (request->answer(request->arg, &answer)) {
        put_back(client, request);
    } else {
        free(request);
    }
}

static void on_event(struct client *client, json_object *frame)
{
    const char *name = chela_json_string(frame, "event", NULL);
    json_object *payload = chela_json_get(frame, "payload");
    if (name == NULL) {
        break_off(client, "an event without a name");
    } else if (strcmp(name, "connect.challenge") == 0) {
        json_object_put(client->challenge);
        client->challenge = json_object_get(payload);
        if (client->challenge == NULL) {
            client->challenge = chela_json_new_object();
        }
    } else if (client->event != NULL) {
        client->event(client->event_arg, name, payload);
    }
}

static void on_message(void *arg, const char *text, size_t length)
{
    static const struct chela_json_limits limits = {.size = WEBSOCKET_MESSAGE_LIMIT};
    struct client *client = arg;
    struct chela_json_error wrong;
    json_object *frame = NULL;
    client->heard_ms = clock_ticks_ms();
    if (client->is_broken) {
        return;
    }
    if (chela_json_parse(text, length, &limits, &frame, &wrong) != 0) {
        break_off(client, "what isn't JSON");
        return;
    }
    const char *type = chela_json_string(frame, "type", NULL);
    if (type != NULL && strcmp(type, "res") == 0) {
        on_answer(client, frame);
    } else if (type != NULL && strcmp(type, "event") == 0) {
        on_event(client, frame);
    } else if (type == NULL) {
        break_off(client, "a frame without a type");
    }
    json_object_put(frame);
}

/* ---- requests ---- */

int client_request(struct client *client, const char *method, json_object *params,
                   client_answer_fn *answer, void *arg, struct error *e)
{
    json_object *frame = chela_json_new_object();
    char id[24];
    client->last_id++;
    snprintf(id, sizeof id, "%llu", (unsigned long long)client->last_id);
    chela_json_put_text(frame, "type", "req");
    chela_json_put_text(frame, "id", id);
    chela_json_put_text(frame, "method", method);
    chela_json_put(frame, "params", params == NULL ? chela_json_new_object() : params);
    size_t length;
    const char *text = chela_json_text(frame, &length);
    int sent = client->ws == NULL
                   ? error_set(e, CHELA_E_GONE, "there is no connection to the gateway")
                   : websocket_send(client->ws, text, length, e);
    json_object_put(frame);
    if (sent != 0) {
        return -1;
    }
    struct client_request *request = xcalloc(1, sizeof *request);
    request->id = client->last_id;
    request->answer = answer;
    request->arg = arg;
    struct client_request **at = &client->requests;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = request;
    return 0;
}

int client_service(struct client *client, struct error *e)
{
    int result = websocket_service(client->ws, e);
    if (client->is_broken) {
        if (e != NULL) {
            *e = client->broken;
        }
        return -1;
    }
    return result;
}

int client_wait(struct client *client, int timeout_ms, struct error *e)
{
    struct pollfd fd = {websocket_fd(client->ws), websocket_poll_events(client->ws), 0};
    int n = poll(&fd, 1, timeout_ms);
    if (n < 0 && errno != EINTR) {
        return error_set(e, CHELA_E_OTHER, "poll: %s", strerror(errno));
    }
    return n > 0 ? client_service(client, e) : 0;
}

struct call {
    bool done, ok;
    json_object *payload;
    char code[64];
    struct error error;
};

static bool call_answered(void *arg, const struct client_answer *answer)
{
    struct call *call = arg;
    call->done = true;
    call->ok = answer->ok;
    if (answer->ok) {
        call->payload = json_object_get(answer->payload);
    } else {
        call->error = answer->error;
        snprintf(call->code, sizeof call->code, "%s", answer->code);
    }
    return false;
}

/* Nobody waits any longer: an answer that comes later is dropped. */
static void forget(struct client *client, const void *arg)
{
    for (struct client_request **at = &client->requests; *at != NULL;) {
        struct client_request *request = *at;
        if (request->arg == arg) {
            *at = request->next;
            free(request);
        } else {
            at = &request->next;
        }
    }
}

int client_call(struct client *client, const char *method, json_object *params, unsigned timeout_ms,
                json_object **payload, char *code, struct error *e)
{
    struct call call = {0};
    if (code != NULL) {
        code[0] = '\0';
    }
    if (client_request(client, method, params, call_answered, &call, e) != 0) {
        return -1;
    }
    uint64_t deadline = clock_ticks_ms() + timeout_ms;
    while (!call.done) {
        uint64_t now = clock_ticks_ms();
        int result = 0;
        if (now >= deadline) {
            result = error_set(e, CHELA_E_TIMEOUT, "the gateway did not answer %s within %u s",
                               method, timeout_ms / 1000);
        } else {
            result = client_wait(client, (int)(deadline - now), e);
        }
        if (result != 0 && !call.done) {
            forget(client, &call);
            return -1;
        }
    }
    if (!call.ok) {
        if (e != NULL) {
            *e = call.error;
        }
        if (code != NULL) {
            memcpy(code, call.code, sizeof call.code);
        }
        return -1;
    }
    if (payload != NULL) {
        *payload = call.payload;
    } else {
        json_object_put(call.payload);
    }
    return 0;
}

/* ---- the greeting ---- */

static json_object *greeting(const struct place *place)
{
    json_object *params = chela_json_new_object();
    chela_json_put_int(params, "minProtocol", PROTOCOL);
    chela_json_put_int(params, "maxProtocol", PROTOCOL);
    json_object *us = chela_json_put_object(params, "client");
    struct utsname system;
    chela_json_put_text(us, "id", "cli");
    chela_json_put_text(us, "displayName", "chela");
    chela_json_put_text(us, "version", PACKAGE_VERSION);
    chela_json_put_text(us, "platform", uname(&system) == 0 ? system.sysname : "unknown");
    chela_json_put_text(us, "mode", "cli");
    chela_json_put_text(params, "role", "operator");
    chela_json_push(chela_json_put_array(params, "scopes"),
                    chela_json_new_string("operator.admin", 14));
    chela_json_push(chela_json_put_array(params, "caps"), chela_json_new_string("tool-events", 11));
    if (place->token != NULL) {
        chela_json_put_text(chela_json_put_object(params, "auth"), "token", place->token);
    }
    return params;
}

static int wait_challenge(struct client *client, uint64_t deadline, struct error *e)
{
    while (client->challenge == NULL) {
        uint64_t now = clock_ticks_ms();
        if (now >= deadline) {
            return error_set(e, CHELA_E_TIMEOUT,
                             "what listens there did not greet as a gateway does");
        }
        if (client_wait(client, (int)(deadline - now), e) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A gateway that is still starting says so and how long to wait. */
static int greet(struct client *client, const struct place *place, uint64_t deadline,
                 struct error *e)
{
    for (;;) {
        char code[64];
        uint64_t now = clock_ticks_ms();
        if (client_call(client, "connect", greeting(place),
                        now < deadline ? (unsigned)(deadline - now) : 0, &client->hello, code,
                        e) == 0) {
            return 0;
        }
        uint64_t pause = e->retry_after_ms;
        if (strcmp(code, "UNAVAILABLE") != 0 || pause == 0 ||
            clock_ticks_ms() + pause >= deadline) {
            return -1;
        }
        uint64_t until = clock_ticks_ms() + pause;
        while (clock_ticks_ms() < until) {
            if (client_wait(client, (int)(until - clock_ticks_ms()), e) != 0) {
                return -1;
            }
        }
    }
}

int client_open(struct client *client, const struct place *place, client_event_fn *event, void *arg,
                struct error *e)
{
    memset(client, 0, sizeof *client);
    client->event = event;
    client->event_arg = arg;
    client->heard_ms = clock_ticks_ms();
    uint64_t deadline = client->heard_ms + CLIENT_HANDSHAKE_MS;
    client->ws =
        websocket_open(place->host, place->port, CLIENT_HANDSHAKE_MS, on_message, client, e);
    if (client->ws == NULL) {
        return -1;
    }
    /* The challenge may have come together with the upgrade: no poll would tell of it. */
    if (client_service(client, e) != 0 || wait_challenge(client, deadline, e) != 0 ||
        greet(client, place, deadline, e) != 0) {
        client_close(client);
        return -1;
    }
    if (chela_json_int(client->hello, "protocol", 0) != PROTOCOL) {
        error_set(e, CHELA_E_PROTOCOL, "the gateway speaks another version of the protocol than %d",
                  PROTOCOL);
        client_close(client);
        return -1;
    }
    return 0;
}

void client_close(struct client *client)
{
    struct client_answer gone = {.code = "UNAVAILABLE"};
    error_set(&gone.error, CHELA_E_GONE, "the connection to the gateway has ended");
    while (client->requests != NULL) {
        struct client_request *request = client->requests;
        client->requests = request->next;
        request->answer(request->arg, &gone);
        free(request);
    }
    websocket_close(client->ws);
    json_object_put(client->hello);
    json_object_put(client->challenge);
    client->ws = NULL;
    client->hello = NULL;
    client->challenge = NULL;
}

uint64_t client_silence_ms(const struct client *client)
{
    int64_t tick =
        chela_json_int(chela_json_object(client->hello, "policy"), "tickIntervalMs", 30000);
    return 2 * (uint64_t)(tick < 1000 ? 1000 : tick > 600000 ? 600000 : tick);
}

bool client_offers(const struct client *client, const char *method)
{
    json_object *methods =
        chela_json_array(chela_json_object(client->hello, "features"), "methods");
    for (size_t i = 0; i < chela_json_length(methods); i++) {
        const char *name = chela_json_as_string(chela_json_at(methods, i), NULL);
        if (name != NULL && strcmp(name, method) == 0) {
            return true;
        }
    }
    return false;
}
