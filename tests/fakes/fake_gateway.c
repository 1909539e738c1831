/* A gateway for tests of the client: speaks protocol 4 as far as the client needs it, holds one
 * session in memory, and plays a scene for each text that it is sent (see scenes[]). One thread, no
 * clock: whatever waits, waits for the client. Writes "ready 127.0.0.1:PORT" to descriptor 3, and
 * each request that it gets, one a line, to standard output. Arguments: [--port N] [--token T]. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "support/json.h"
#include "tests/fakes/fake_peer.h"

#define SESSION "agent:main:main"

static const char *token;
static json_object *history; /* messages, in the protocol's form */
static int64_t last_seq;
static char *running, *running_text; /* the run that waits for chat.abort or for an approval */
static char *running_answer_id;      /* of method agent: answered at the run's end */
static struct peer *running_peer;
static json_object *approval;
static bool hold_answers; /* scene "vanish": the connection ends instead */

/* ---- sending ---- */

static void send_json(struct peer *peer, json_object *frame)
{
    size_t length;
    const char *text = chela_json_text(frame, &length);
    peer_send(peer, text, length);
    json_object_put(frame);
}

static void answer(struct peer *peer, const char *id, json_object *payload)
{
    json_object *frame = chela_json_new_object();
    chela_json_put_text(frame, "type", "res");
    chela_json_put_text(frame, "id", id);
    chela_json_put_bool(frame, "ok", true);
    chela_json_put(frame, "payload", payload);
    send_json(peer, frame);
}

static void refuse(struct peer *peer, const char *id, const char *code, const char *message,
                   const char *detail)
{
    json_object *frame = chela_json_new_object();
    chela_json_put_text(frame, "type", "res");
    chela_json_put_text(frame, "id", id);
    chela_json_put_bool(frame, "ok", false);
    json_object *error = chela_json_put_object(frame, "error");
    chela_json_put_text(error, "code", code);
    chela_json_put_text(error, "message", message);
    if (detail != NULL) {
        chela_json_put_text(chela_json_put_object(error, "details"), "code", detail);
    }
    send_json(peer, frame);
}

static void event(const char *name, json_object *payload)
{
    for (size_t i = 0; i < PEERS_MOST; i++) {
        if (peers[i].fd >= 0 && peers[i].greeted) {
            json_object *frame = chela_json_new_object();
            chela_json_put_text(frame, "type", "event");
            chela_json_put_text(frame, "event", name);
            chela_json_put(frame, "payload", json_object_get(payload));
            send_json(&peers[i], frame);
        }
    }
    json_object_put(payload);
}

static json_object *run_payload(const char *run)
{
    json_object *payload = chela_json_new_object();
    chela_json_put_text(payload, "runId", run);
    chela_json_put_text(payload, "sessionKey", SESSION);
    return payload;
}

static void agent_event(const char *run, const char *stream, json_object *data)
{
    json_object *payload = run_payload(run);
    chela_json_put_text(payload, "stream", stream);
    chela_json_put(payload, "data", data);
    event("agent", payload);
}

static json_object *text_message(const char *role, const char *text)
{
    json_object *message = chela_json_new_object();
    chela_json_put_text(message, "role", role);
    json_object *part = chela_json_push_object(chela_json_put_array(message, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    return message;
}

static void chat_event(const char *run, const char *state, const char *text)
{
    json_object *payload = run_payload(run);
    chela_json_put_text(payload, "state", state);
    if (strcmp(state, "error") == 0) {
        chela_json_put_text(payload, "errorMessage", text);
    } else {
        chela_json_put(payload, "message", text_message("assistant", text));
    }
    event("chat", payload);
}

/* Both kinds of event, in this order, as the gateway sends them. */
static void delta(const char *run, const char *text)
{
    json_object *data = chela_json_new_object(), *payload = run_payload(run);
    chela_json_put_text(payload, "state", "delta");
    chela_json_put_text(payload, "deltaText", text);
    event("chat", payload);
    chela_json_put_text(data, "delta", text);
    agent_event(run, "assistant", data);
}

static void remember(const char *role, const char *text, const char *run)
{
    json_object *message = text_message(role, text);
    json_object *extra = chela_json_put_object(message, "__openclaw");
    chela_json_put_int(extra, "seq", ++last_seq);
    chela_json_put_text(extra, "runId", run);
    if (strcmp(role, "user") == 0) {
        char *key = xprintf("%s:user", run);
        chela_json_put_text(message, "idempotencyKey", key);
        free(key);
    }
    chela_json_push(history, message);
}

/* ---- ends of runs ---- */

static void answer_agent(const char *run, const char *status, const char *text)
{
    if (running_answer_id == NULL) {
        return;
    }
    json_object *payload = chela_json_new_object();
    chela_json_put_text(payload, "runId", run);
    chela_json_put_text(payload, "status", status);
    if (strcmp(status, "ok") == 0) {
        json_object *payloads =
            chela_json_put_array(chela_json_put_object(payload, "result"), "payloads");
        chela_json_put_text(chela_json_push_object(payloads), "text", text);
    } else {
        chela_json_put_text(payload, "summary", text);
    }
    answer(running_peer, running_answer_id, payload);
    free(running_answer_id);
    running_answer_id = NULL;
}

static void end_run(const char *run, const char *state, const char *text)
{
    bool done = strcmp(state, "final") == 0;
    if (done) {
        remember("assistant", text, run);
    }
    chat_event(run, state, text);
    answer_agent(run, done ? "ok" : strcmp(state, "aborted") == 0 ? "aborted" : "error", text);
    if (running != NULL && strcmp(running, run) == 0) {
        free(running);
        free(running_text);
        running = running_text = NULL;
    }
}

/* ---- scenes ---- */

static void play_hello(const char *run)
{
    delta(run, "Hello, **wor");
    delta(run, "ld**. 中文 works.\n\n- one\n- two\n");
    end_run(run, "final", "Hello, **world**. 中文 works.\n\n- one\n- two\n");
}

static void play_tool(const char *run)
{
    delta(run, "I look.");
    json_object *data = chela_json_new_object();
    chela_json_put_text(data, "phase", "start");
    chela_json_put_text(data, "name", "files_list");
    chela_json_put_text(data, "toolCallId", "call-1");
    chela_json_put_text(chela_json_put_object(data, "args"), "path", "some/where");
    agent_event(run, "tool", json_object_get(data));
    chela_json_put_text(data, "phase", "result");
    json_object *result = chela_json_put_object(data, "result");
    json_object *part = chela_json_push_object(chela_json_put_array(result, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", "a.txt\nb.txt");
    chela_json_put_int(chela_json_put_object(result, "details"), "durationMs", 12);
    agent_event(run, "tool", data);
    delta(run, "Two files.");
    end_run(run, "final", "Two files.");
}

static void play_hostile(const char *run)
{
    delta(run, "x\x1b]0;owned\x07\x1b[2Jy\xc2\x9b"
               "31mz");
    end_run(run, "final",
            "x\x1b]0;owned\x07\x1b[2Jy\xc2\x9b"
            "31mz");
}

/* A call of the model breaks off and is made anew. */
static void play_retry(const char *run)
{
    delta(run, "Good start.\n\nBad mid");
    for (int agent = 0; agent < 2; agent++) {
        json_object *whole = agent ? chela_json_new_object() : run_payload(run);
        chela_json_put_bool(whole, "replace", true);
        if (agent) {
            chela_json_put_text(whole, "text", "");
            agent_event(run, "assistant", whole);
        } else {
            chela_json_put_text(whole, "state", "delta");
            chela_json_put_text(whole, "deltaText", "");
            event("chat", whole);
        }
    }
    delta(run, "A better answer.");
    end_run(run, "final", "A better answer.");
}

static void play_slow(const char *run)
{
    delta(run, "It has begun\n\nand goes on");
    running = xstrdup(run);
    running_text = xstrdup("It has begun\n\nand goes on");
}

static void play_fail(const char *run)
{
    end_run(run, "error", "the model is out of order");
}

static void play_ask(const char *run)
{
    running = xstrdup(run);
    running_text = xstrdup("");
    json_object_put(approval);
    approval = chela_json_new_object();
    chela_json_put_text(approval, "id", "a1b2-approval");
    json_object *request = chela_json_put_object(approval, "request");
    chela_json_put_text(request, "command", "rm -rf 'build'\x1b[2K");
    chela_json_put_text(request, "toolName", "exec");
    chela_json_put_text(request, "risk", "high");
    chela_json_put_text(request, "cwd", "/srv/project");
    chela_json_put_text(request, "runId", run);
    chela_json_put_text(request, "sessionKey", SESSION);
    event("exec.approval.requested", json_object_get(approval));
}

/* The answer is there, but the connection ends before it is told. */
static void play_drop(const char *run)
{
    delta(run, "The first half");
    peer_hang_up_all();
    remember("assistant", "The first half and the second.", run);
}

static const struct {
    const char *text;
    void (*play)(const char *run);
} scenes[] = {
    {"hello", play_hello}, {"tool", play_tool},   {"hostile", play_hostile}, {"slow", play_slow},
    {"fail", play_fail},   {"retry", play_retry}, {"ask", play_ask},         {"drop", play_drop},
};

static void play(const char *run, const char *text)
{
    if (text[0] == '/') { /* a command: one final event, nothing in the history */
        char *said = xprintf("command %s was run", text);
        chat_event(run, "final", said);
        answer_agent(run, "ok", said);
        free(said);
        return;
    }
    remember("user", text, run);
    for (size_t i = 0; i < ARRAY_LENGTH(scenes); i++) {
        if (strcmp(scenes[i].text, text) == 0) {
            scenes[i].play(run);
            return;
        }
    }
    char *said = xprintf("You said: %s", text);
    delta(run, said);
    end_run(run, "final", said);
    free(said);
}

/* ---- methods ---- */

static void chat_send(struct peer *peer, const char *id, json_object *params)
{
    const char *key = chela_json_string(params, "idempotencyKey", NULL);
    const char *text = chela_json_string(params, "message", NULL);
    if (text != NULL && strcmp(text, "vanish") == 0 && !hold_answers) {
        hold_answers = true; /* the first time it is lost on the way */
        peer->closing = true;
        return;
    }
    json_object *payload = chela_json_new_object();
    chela_json_put_text(payload, "runId", key);
    chela_json_put_text(payload, "status", "started");
    answer(peer, id, payload);
    play(key, text == NULL ? "" : text);
}

static void agent(struct peer *peer, const char *id, json_object *params)
{
    const char *key = chela_json_string(params, "idempotencyKey", NULL);
    const char *text = chela_json_string(params, "message", NULL);
    json_object *payload = run_payload(key);
    chela_json_put_text(payload, "status", "accepted");
    answer(peer, id, payload);
    running_answer_id = xstrdup(id);
    running_peer = peer;
    play(key, text == NULL ? "" : text);
}

static void chat_history(struct peer *peer, const char *id, json_object *params)
{
    json_object *payload = chela_json_new_object();
    (void)params;
    chela_json_put_text(payload, "sessionKey", SESSION);
    chela_json_put(payload, "messages", json_object_get(history));
    if (running != NULL) {
        json_object *run = chela_json_put_object(payload, "inFlightRun");
        chela_json_put_text(run, "runId", running);
        chela_json_put_text(run, "text", running_text);
    }
    answer(peer, id, payload);
}

static void chat_abort(struct peer *peer, const char *id, json_object *params)
{
    json_object *payload = chela_json_new_object();
    (void)params;
    chela_json_put_bool(payload, "ok", true);
    chela_json_put_bool(payload, "aborted", running != NULL);
    if (running != NULL) {
        char *run = xstrdup(running), *text = xstrdup(running_text);
        end_run(run, "aborted", text);
        free(run);
        free(text);
    }
    answer(peer, id, payload);
}

static void approval_list(struct peer *peer, const char *id, json_object *params)
{
    json_object *list = chela_json_new_array();
    (void)params;
    if (approval != NULL) {
        chela_json_push(list, json_object_get(approval));
    }
    answer(peer, id, list);
}

static void approval_resolve(struct peer *peer, const char *id, json_object *params)
{
    const char *which = chela_json_string(params, "id", NULL);
    const char *decision = chela_json_string(params, "decision", NULL);
    if (approval == NULL || which == NULL ||
        strcmp(which, chela_json_string(approval, "id", NULL)) != 0) {
        refuse(peer, id, "INVALID_REQUEST", "unknown or expired approval id", NULL);
        return;
    }
    json_object_put(approval);
    approval = NULL;
    json_object *payload = chela_json_new_object();
    chela_json_put_bool(payload, "ok", true);
    answer(peer, id, payload);
    json_object *resolved = chela_json_new_object();
    chela_json_put_text(resolved, "id", which);
    chela_json_put_text(resolved, "decision", decision);
    event("exec.approval.resolved", resolved);
    if (running != NULL) {
        char *run = xstrdup(running), *said = xprintf("The decision was %s.", decision);
        end_run(run, "final", said);
        free(run);
        free(said);
    }
}

static void commands_list(struct peer *peer, const char *id, json_object *params)
{
    json_object *payload = chela_json_new_object();
    json_object *list = chela_json_put_array(payload, "commands");
    (void)params;
    chela_json_put_text(chela_json_push_object(list), "name", "status");
    chela_json_put_text(chela_json_push_object(list), "name", "reset");
    answer(peer, id, payload);
}

static void export(struct peer *peer, const char *id, json_object *params)
{
    int64_t cursor = chela_json_int(params, "cursor", 0);
    json_object *payload = chela_json_new_object();
    json_object *lines = chela_json_put_array(payload, "lines");
    chela_json_put_int(chela_json_push_object(lines), "seq", cursor + 1);
    chela_json_put_int(chela_json_push_object(lines), "seq", cursor + 2);
    if (cursor < 4) {
        chela_json_put_int(payload, "cursor", cursor + 2);
    }
    answer(peer, id, payload);
}

static void echo_ok(struct peer *peer, const char *id, json_object *params)
{
    json_object *payload = chela_json_new_object();
    (void)params;
    chela_json_put_bool(payload, "ok", true);
    answer(peer, id, payload);
}

static const struct {
    const char *name;
    void (*run)(struct peer *peer, const char *id, json_object *params);
} methods[] = {
    {"chat.send", chat_send},
    {"agent", agent},
    {"chat.history", chat_history},
    {"chat.abort", chat_abort},
    {"exec.approval.list", approval_list},
    {"exec.approval.resolve", approval_resolve},
    {"commands.list", commands_list},
    {"chela.sessions.export", export},
    {"health", echo_ok},
    {"sessions.messages.subscribe", echo_ok},
};

static void connect_method(struct peer *peer, const char *id, json_object *params)
{
    const char *given = chela_json_string(chela_json_object(params, "auth"), "token", NULL);
    if (token != NULL && (given == NULL || strcmp(given, token) != 0)) {
        refuse(peer, id, "INVALID_REQUEST", "unauthorized: gateway token mismatch",
               given == NULL ? "AUTH_TOKEN_MISSING" : "AUTH_TOKEN_MISMATCH");
        return;
    }
    peer->greeted = true;
    json_object *hello = chela_json_new_object();
    chela_json_put_text(hello, "type", "hello-ok");
    chela_json_put_int(hello, "protocol", 4);
    chela_json_put_text(chela_json_put_object(hello, "server"), "version", "fake");
    json_object *names = chela_json_put_array(chela_json_put_object(hello, "features"), "methods");
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        chela_json_push(names, chela_json_new_string(methods[i].name, strlen(methods[i].name)));
    }
    chela_json_put_int(chela_json_put_object(hello, "policy"), "tickIntervalMs", 30000);
    answer(peer, id, hello);
}

static void on_message(struct peer *peer, const char *text, size_t length)
{
    json_object *frame = NULL;
    printf("%.*s\n", (int)length, text);
    fflush(stdout);
    if (chela_json_parse(text, length, NULL, &frame, NULL) != 0) {
        peer->closing = true;
        return;
    }
    const char *method = chela_json_string(frame, "method", NULL);
    const char *id = chela_json_string(frame, "id", NULL);
    json_object *params = chela_json_object(frame, "params");
    bool known = false;
    if (method != NULL && strcmp(method, "connect") == 0) {
        connect_method(peer, id, params);
        known = true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(methods) && method != NULL && peer->greeted; i++) {
        if (strcmp(methods[i].name, method) == 0) {
            methods[i].run(peer, id, params);
            known = true;
        }
    }
    if (!known) {
        char *message = xprintf("unknown method: %s", method == NULL ? "?" : method);
        refuse(peer, id, "INVALID_REQUEST", message, NULL);
        free(message);
    }
    json_object_put(frame);
}

static void on_open(struct peer *peer)
{
    json_object *challenge = chela_json_new_object();
    chela_json_put_text(challenge, "type", "event");
    chela_json_put_text(challenge, "event", "connect.challenge");
    json_object *payload = chela_json_put_object(challenge, "payload");
    chela_json_put_text(payload, "nonce", "0123456789abcdef");
    chela_json_put_int(payload, "ts", 1);
    send_json(peer, challenge);
}

static void on_close(struct peer *peer)
{
    if (running_peer == peer) {
        free(running_answer_id);
        running_answer_id = NULL;
        running_peer = NULL;
    }
}

int main(int argc, char **argv)
{
    static const struct peer_handlers handlers = {on_open, on_message, on_close};
    unsigned port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0) {
            port = (unsigned)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--token") == 0) {
            token = argv[i + 1];
        }
    }
    signal(SIGPIPE, SIG_IGN);
    history = chela_json_new_array();
    peer_serve(port, &handlers);
}
