/*
 * The answers of mock_model in the wire form of each API (see mock_answer.h). Writes to the
 * client's socket, which blocks; reads nothing.
 */
#include "tests/fakes/mock_answer.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PIECE = 6 };

/* ---- output: a buffer that is sent at once ---- */

static void out_open(struct out *o)
{
    o->f = open_memstream(&o->p, &o->n);
    if (!o->f)
        abort();
}

bool answer_send(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Sends what was written as one piece of a chunked body. */
void answer_flush(struct answer *a)
{
    struct out *o = &a->out;
    int fd = a->fd;
    char head[32];
    fclose(o->f);
    if (o->n) {
        int k = snprintf(head, sizeof head, "%zx\r\n", o->n);
        answer_send(fd, head, (size_t)k);
        answer_send(fd, o->p, o->n);
        answer_send(fd, "\r\n", 2);
    }
    free(o->p);
    out_open(o);
}

const char *answer_quoted(const char *text)
{
    static json_object *last; /* kept until the next call */
    json_object_put(last);
    last = json_object_new_string(text);
    return json_object_to_json_string_ext(last,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* ---- answers, by API ---- */

static void head(struct answer *a, const char *type)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: "
                     "chunked\r\nX-Request-Id: mock\r\n\r\n",
                     type);
    answer_send(a->fd, text, (size_t)n);
}

void answer_event(struct answer *a, const char *name)
{
    if (a->api == MESSAGES)
        fprintf(a->out.f, "event: %s\n", name);
    if (a->api != OLLAMA)
        fputs("data: ", a->out.f);
}

void answer_event_end(struct answer *a)
{
    fputs(a->api == OLLAMA ? "\n" : "\n\n", a->out.f);
}

void answer_begin(struct answer *a)
{
    head(a, a->api == OLLAMA ? "application/x-ndjson" : "text/event-stream");
    out_open(&a->out);
    if (a->api == MESSAGES) {
        answer_event(a, "message_start");
        fputs("{\"type\":\"message_start\",\"message\":{\"id\":\"msg_mock\",\"type\":\"message\","
              "\"role\":\"assistant\",\"model\":"
              "\"mock-1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":20,"
              "\"output_tokens\":1}}}",
              a->out.f);
        answer_event_end(a);
    } else if (a->api == CHAT) {
        answer_event(a, "");
        fputs("{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
              "\"model\":\"mock-1\",\"choices\":[{\"index\":"
              "0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}",
              a->out.f);
        answer_event_end(a);
    }
}

void answer_piece(struct answer *a, const char *text, bool thinking)
{
    const char *q = answer_quoted(text);
    answer_event(a, "content_block_delta");
    if (a->api == CHAT)
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{"
                "\"index\":0,\"delta\":{\"%s\":%s},\"finish_reason\":null}]}",
                thinking ? "reasoning_content" : "content", q);
    else if (a->api == MESSAGES)
        fprintf(
            a->out.f,
            "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s\",\"%s\":%s}}",
            a->block, thinking ? "thinking_delta" : "text_delta", thinking ? "thinking" : "text",
            q);
    else
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"%s\":%s%s},"
                "\"done\":false}",
                thinking ? "thinking" : "content", q, thinking ? ",\"content\":\"\"" : "");
    answer_event_end(a);
    answer_flush(a);
}

void answer_block_start(struct answer *a, const char *about)
{
    if (a->api != MESSAGES)
        return;
    answer_event(a, "content_block_start");
    fprintf(a->out.f, "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}",
            a->block, about);
    answer_event_end(a);
}

void answer_block_stop(struct answer *a)
{
    if (a->api != MESSAGES)
        return;
    answer_event(a, "content_block_stop");
    fprintf(a->out.f, "{\"type\":\"content_block_stop\",\"index\":%d}", a->block++);
    answer_event_end(a);
}

void answer_say(struct answer *a, const char *text, bool thinking)
{
    size_t n = strlen(text);
    answer_block_start(a, thinking ? "{\"type\":\"thinking\",\"thinking\":\"\"}"
                                   : "{\"type\":\"text\",\"text\":\"\"}");
    for (size_t i = 0; i < n;) {
        char piece[PIECE + 8];
        size_t k = n - i < PIECE ? n - i : PIECE;
        while (i + k < n && ((unsigned char)text[i + k] & 0xc0) == 0x80)
            k++;
        memcpy(piece, text + i, k);
        piece[k] = '\0';
        answer_piece(a, piece, thinking);
        i += k;
    }
    if (thinking && a->api == MESSAGES) {
        answer_event(a, "content_block_delta");
        fprintf(a->out.f,
                "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"signature_"
                "delta\",\"signature\":"
                "\"c2lnbmVk\"}}",
                a->block);
        answer_event_end(a);
    }
    answer_block_stop(a);
}

void answer_call(struct answer *a, int index, const char *name, const char *arguments, bool cut)
{
    char about[300], half[4096];
    snprintf(half, sizeof half, "%.*s", cut ? (int)(strlen(arguments) / 2) : (int)sizeof half - 1,
             arguments);
    a->any_call = true;
    if (a->api == MESSAGES) {
        snprintf(about, sizeof about,
                 "{\"type\":\"tool_use\",\"id\":\"toolu_mock%d\",\"name\":\"%.100s\",\"input\":{}}",
                 index, name);
        answer_block_start(a, about);
        answer_event(a, "content_block_delta");
        fprintf(a->out.f,
                "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_"
                "delta\",\"partial_json\":%s}}",
                a->block, answer_quoted(half));
        answer_event_end(a);
        answer_block_stop(a);
    } else if (a->api == CHAT) {
        answer_event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"call_mock%d\",\"type\":"
                "\"function\",\"function\":{\"name\":\"%.100s\","
                "\"arguments\":\"\"}}]},\"finish_reason\":null}]}",
                index, index, name);
        answer_event_end(a);
        answer_event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"function\":{\"arguments\":%s}}]},"
                "\"finish_reason\":null}]}",
                index, answer_quoted(half));
        answer_event_end(a);
    } else {
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":\"\","
                "\"tool_calls\":[{\"function\":{\"name\":\"%.100s\",\"arguments\":%s}}]},\"done\":"
                "false}",
                name, arguments);
        answer_event_end(a);
    }
    answer_flush(a);
}

void answer_finish(struct answer *a, bool length)
{
    if (a->api == MESSAGES) {
        answer_event(a, "message_delta");
        fprintf(a->out.f,
                "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":"
                "null},\"usage\":{"
                "\"output_tokens\":9}}",
                length        ? "max_tokens"
                : a->any_call ? "tool_use"
                              : "end_turn");
        answer_event_end(a);
        answer_event(a, "message_stop");
        fputs("{\"type\":\"message_stop\"}", a->out.f);
        answer_event_end(a);
    } else if (a->api == CHAT) {
        answer_event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{},\"finish_reason\":\"%s\"}]}",
                length        ? "length"
                : a->any_call ? "tool_calls"
                              : "stop");
        answer_event_end(a);
        answer_event(a, "");
        fputs("{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
              "\"model\":\"mock-1\",\"choices\":[],\"usage\":{"
              "\"prompt_tokens\":20,\"completion_tokens\":9,\"total_tokens\":29}}",
              a->out.f);
        answer_event_end(a);
        fputs("data: [DONE]\n\n", a->out.f);
    } else {
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":\"\"},"
                "\"done\":true,\"done_reason\":\"%s\",\"prompt_eval_count\":20,\"eval_count\":9}",
                length ? "length" : "stop");
        answer_event_end(a);
    }
    answer_flush(a);
    answer_send(a->fd, "0\r\n\r\n", 5);
    fclose(a->out.f);
    free(a->out.p);
}

/* An answer with a length, not chunked. */
void answer_plain(int fd, int status, const char *type, const char *extra, const char *body)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %d Mock\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
                     status, type, strlen(body), extra);
    answer_send(fd, text, (size_t)n);
    answer_send(fd, body, strlen(body));
}

void answer_fail(int fd, enum api api, int status, const char *retry_after)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{400, "invalid_request_error"}, {401, "authentication_error"},
                 {403, "permission_error"},      {404, "not_found_error"},
                 {408, "timeout_error"},         {413, "request_too_large"},
                 {429, "rate_limit_error"},      {500, "api_error"},
                 {503, "overloaded_error"},      {529, "overloaded_error"}};
    const char *type = "api_error";
    char body[512], extra[64] = "";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].status == status)
            type = types[i].type;
    if (retry_after && *retry_after)
        snprintf(extra, sizeof extra, "Retry-After: %.10s\r\n", retry_after);
    if (api == OLLAMA)
        snprintf(body, sizeof body, "{\"error\":\"mock failure %d\"}", status);
    else
        snprintf(body, sizeof body,
                 "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"mock failure %d\"}}",
                 type, status);
    answer_plain(fd, status, "application/json", extra, body);
}

/* The same answer as one JSON object, for clients that do not stream. */
void answer_whole(struct answer *a, const char *text)
{
    char *body = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&body, &n);
    if (!f)
        abort();
    if (a->api == MESSAGES)
        fprintf(f,
                "{\"id\":\"msg_mock\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"mock-"
                "1\",\"content\":[{\"type\":\"text\","
                "\"text\":%s}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":20,"
                "\"output_tokens\":9}}",
                answer_quoted(text));
    else if (a->api == CHAT)
        fprintf(f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
                "\"mock-1\",\"choices\":[{\"index\":0,"
                "\"message\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":\"stop\"}],"
                "\"usage\":{\"prompt_tokens\":20,"
                "\"completion_tokens\":9,\"total_tokens\":29}}",
                answer_quoted(text));
    else
        fprintf(f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":%s},"
                "\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":20,\"eval_count\":9}",
                answer_quoted(text));
    fclose(f);
    answer_plain(a->fd, 200, "application/json", "", body);
    free(body);
}
