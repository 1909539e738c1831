/* An HTTP server that misbehaves, for tests of providers and of the gateway: the first segment of
 * the path says how, so that a base URL of "http://127.0.0.1:PORT/stall" makes every request stall.
 * Writes "ready port=N" to descriptor 3. One thread for each connection, raw sockets, no clock.
 *
 *   reset      reads the request, then RST             close      reads it, then closes in silence
 *   garbage    answers with what is no HTTP            stall      never answers
 *   head       half a head, then nothing more          truncate   fewer bytes than Content-Length
 *   chunk      a chunk that is cut, then closed        drip       an event stream, a byte at a time
 *   silent     an event stream of which nothing comes  endless    an event stream without end
 *   line       one event without end                   compressed an event stream in gzip, unasked
 *   redirect   to itself, for ever                     NNN        that status; NNN-S: retry-after S
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAM                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

static bool say(int fd, const char *text)
{
    size_t n = strlen(text);
    return send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Reads the head and as much body as it announces; false if the client went. */
static bool read_request(int fd, char *text, size_t size)
{
    size_t n = 0;
    char *end = NULL;
    while (!end && n < size - 1) {
        ssize_t got = recv(fd, text + n, size - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        text[n] = 0;
        end = strstr(text, "\r\n\r\n");
    }
    const char *length = strcasestr(text, "\r\ncontent-length:");
    size_t body = end && length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    size_t have = end ? n - (size_t)(end + 4 - text) : 0;
    char rest[4096];
    while (have < body) {
        ssize_t got = recv(fd, rest, sizeof rest, 0);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return end != NULL;
}

static void wait_for_end(int fd)
{
    char rest[4096];
    while (recv(fd, rest, sizeof rest, 0) > 0)
        ;
}

static void reset(int fd)
{
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void answer_status(int fd, const char *how)
{
    char *after = NULL;
    unsigned long status = strtoul(how, &after, 10);
    char text[512], retry[64] = "";
    if (*after == '-')
        snprintf(retry, sizeof retry, "Retry-After: %lu\r\n", strtoul(after + 1, NULL, 10));
    static const char body[] =
        "{\"error\":{\"type\":\"test\",\"message\":\"as the test wants it\"}}";
    snprintf(text, sizeof text,
             "HTTP/1.1 %lu X\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
             status, retry, sizeof body - 1, body);
    say(fd, text);
}

static void answer_forever(int fd, const char *piece)
{
    if (say(fd, STREAM))
        while (say(fd, piece))
            ;
}

static void drip(int fd)
{
    static const char event[] = "data: {}\n\n";
    char chunk[] = "1\r\nx\r\n";
    bool there = say(fd, STREAM);
    for (size_t i = 0; there && i < sizeof event - 1; i++) {
        chunk[3] = event[i];
        there = say(fd, chunk);
    }
    say(fd, "0\r\n\r\n");
}

static void misbehave(int fd, const char *how)
{
    if (isdigit((unsigned char)*how)) {
        answer_status(fd, how);
    } else if (strcmp(how, "reset") == 0) {
        reset(fd);
    } else if (strcmp(how, "garbage") == 0) {
        say(fd, "\x16\x03\x01 this is no HTTP\r\n\r\n");
    } else if (strcmp(how, "stall") == 0) {
        wait_for_end(fd);
    } else if (strcmp(how, "head") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Ty");
        wait_for_end(fd);
    } else if (strcmp(how, "truncate") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"cut\":");
    } else if (strcmp(how, "chunk") == 0) {
        say(fd, STREAM "40\r\ndata: {\"cut\":");
    } else if (strcmp(how, "drip") == 0) {
        drip(fd);
    } else if (strcmp(how, "silent") == 0) {
        say(fd, STREAM);
        wait_for_end(fd);
    } else if (strcmp(how, "endless") == 0) {
        answer_forever(fd, "a\r\ndata: {}\n\n\r\n");
    } else if (strcmp(how, "line") == 0) {
        answer_forever(fd, "a\r\n0123456789\r\n");
    } else if (strcmp(how, "compressed") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
                "Content-Length: 2\r\n\r\n\x1f\x8b");
    } else if (strcmp(how, "redirect") == 0) {
        say(fd, "HTTP/1.1 307 X\r\nLocation: /redirect/again\r\nContent-Length: 0\r\n\r\n");
    } else if (strcmp(how, "close") != 0) {
        answer_status(fd, "404");
    }
}

static void *serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char text[65536], how[64] = "";
    if (read_request(fd, text, sizeof text) && sscanf(text, "%*s /%63[^/? ]", how) == 1)
        misbehave(fd, how);
    close(fd);
    return NULL;
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    pthread_t thread;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    signal(SIGPIPE, SIG_IGN);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &n) != 0 ||
        dprintf(3, "ready port=%u\n", ntohs(at.sin_port)) < 0)
        return 1;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
        else if (fd >= 0)
            close(fd);
    }
}
