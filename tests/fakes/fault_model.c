/*
 * A model service of any wire form that fails in the way that the person's message asks for,
 * "fault: NAME". Streams that it begins are our own recordings. For tests/e2e/fault_matrix_test.sh.
 *
 *   fault_model OWN BOMB
 *
 * OWN: the folder of recordings (tests/streams/own). BOMB: a file that is sent as a gzip body.
 * Prints "ready port=N" on file descriptor 3.
 *
 * NAME: a status ("429", "429-after"), html, empty, truncated, garbage, reset, stall, error-event,
 * endless, bomb, or ok.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/fakes/mock_answer.h"
#include "tests/fakes/mock_http.h"

struct form {
    const char *path, *own, *type;
    const char *delta; /* what goes on and on: printf of a text */
};

static const struct form forms[] = {
    {"/v1/messages", "anthropic", "text/event-stream",
     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
     "\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n"},
    {"/mistral/chat/completions", "mistral", "text/event-stream",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n"},
    {"/chat/completions", "openai-chat", "text/event-stream",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n"},
    {"/responses", "openai-responses", "text/event-stream",
     "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"%s\"}\n\n"},
    {"GenerateContent", "google", "text/event-stream",
     "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"%s\"}]}}]}\n\n"},
    {"/api/chat", "ollama", "application/x-ndjson",
     "{\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"done\":false}\n"},
    {"/completion", "llamacpp", "text/event-stream",
     "data: {\"content\":\"%s\",\"stop\":false}\n\n"},
};

static const char *own, *bomb;

static char *slurp(const char *path, size_t *ret_length)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    *ret_length = 0;
    if (!f)
        return NULL;
    FILE *out = open_memstream(&text, ret_length);
    for (int c; (c = fgetc(f)) != EOF;)
        fputc(c, out);
    fclose(out);
    fclose(f);
    return text;
}

static void send_head(int fd, const char *type, const char *more)
{
    char text[256];
    int n =
        snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%sConnection: close\r\n\r\n", type, more);
    answer_send(fd, text, (size_t)n);
}

/* The first `part` of a recording's bytes in a hundred. */
static void send_recording(int fd, const struct form *f, const char *name, size_t part)
{
    char path[1024];
    size_t n;
    snprintf(path, sizeof path, "%s/%s/%s.body", own, f->own, name);
    char *text = slurp(path, &n);
    if (text)
        answer_send(fd, text, n * part / 100);
    free(text);
}

/* Until the other side has had enough. */
static void send_endless(int fd, const struct form *f)
{
    enum { PIECE = 32768 };
    char *text = malloc(PIECE + 1), *event = NULL;
    size_t n;
    if (!text)
        abort();
    memset(text, 'a', PIECE);
    text[PIECE] = '\0';
    FILE *out = open_memstream(&event, &n);
    const char *mark = strstr(f->delta, "%s");
    fprintf(out, "%.*s%s%s", (int)(mark - f->delta), f->delta, text, mark + 2);
    fclose(out);
    while (answer_send(fd, event, n))
        continue;
    free(event);
    free(text);
}

static bool fail_by_status(int fd, const struct form *f, const char *fault)
{
    char *rest;
    long status = strtol(fault, &rest, 10);
    enum api api = strcmp(f->own, "ollama") == 0 ? OLLAMA : MESSAGES;
    if (rest == fault)
        return false;
    answer_fail(fd, api, (int)status, strncmp(rest, "-after", 6) == 0 ? "2" : NULL);
    return true;
}

static bool is(const char *fault, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncmp(fault, wanted, n) == 0 && !strchr("abcdefghijklmnopqrstuvwxyz-", fault[n]);
}

static void send_bomb(int fd, const struct form *f)
{
    size_t n;
    char *text = slurp(bomb, &n);
    send_head(fd, f->type, "Content-Encoding: gzip\r\n");
    if (text)
        answer_send(fd, text, n);
    free(text);
}

/* False: the connection is over. */
static bool play(int fd, const struct form *f, const char *fault)
{
    struct linger hard = {1, 0};
    if (fail_by_status(fd, f, fault))
        return true;
    if (is(fault, "html")) {
        answer_plain(fd, 502, "text/html", "", "<html><body><h1>Bad gateway</h1></body></html>");
        return true;
    }
    if (is(fault, "bomb")) {
        send_bomb(fd, f);
        return false;
    }
    send_head(fd, f->type, "");
    if (is(fault, "garbage")) {
        answer_send(fd,
                    strcmp(f->own, "ollama") == 0 ? "\x01\x02{not json\n" : "data: {not json\n\n",
                    strcmp(f->own, "ollama") == 0 ? 12 : 17);
    } else if (is(fault, "truncated")) {
        send_recording(fd, f, "text", 60);
    } else if (is(fault, "reset")) {
        send_recording(fd, f, "text", 60);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    } else if (is(fault, "stall")) {
        send_recording(fd, f, "text", 60);
        return true;
    } else if (is(fault, "error-event")) {
        send_recording(fd, f, "error", 100);
    } else if (is(fault, "endless")) {
        send_endless(fd, f);
    } else if (is(fault, "ok")) {
        send_recording(fd, f, "text", 100);
    }
    return false; /* also: empty */
}

static bool serve(int fd, char *head, char *body)
{
    const char *fault = NULL;
    char prompt[256];
    for (const char *p = body; (p = strstr(p, "fault: ")); p++)
        fault = p + 7;
    for (size_t i = 0; fault && i < sizeof forms / sizeof forms[0]; i++) {
        const char *end = strstr(head, " HTTP/");
        const char *at = strstr(head, forms[i].path);
        if (at && at < end)
            return play(fd, &forms[i], fault);
    }
    if (strstr(head, "/apply-template ") && fault) {
        snprintf(prompt, sizeof prompt, "{\"prompt\":\"fault: %.*s\"}",
                 (int)strspn(fault, "abcdefghijklmnopqrstuvwxyz0123456789-"), fault);
        answer_plain(fd, 200, "application/json", "", prompt);
        return true;
    }
    answer_fail(fd, MESSAGES, 404, NULL);
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: fault_model OWN BOMB\n", stderr);
        return 2;
    }
    own = argv[1];
    bomb = argv[2];
    signal(SIGPIPE, SIG_IGN);
    dprintf(3, "ready port=%u\n", http_listen(0));
    http_serve(serve);
}
