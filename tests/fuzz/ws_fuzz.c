/*
 * Feeds a WebSocket of the server any bytes after the upgrade, through a real loop and a real
 * connection, and any bytes to the reader of a server's answer to our own handshake. Nothing may be
 * told that is too long or, as text, not UTF-8.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/utf8.h"
#include "host/loop.h"
#include "net/server.h"
#include "net/ws_handshake.h"

enum { LIMIT = 300 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server *server;
static unsigned closed;

static void must(bool truth)
{
    if (!truth)
        abort();
}

static void on_message(void *arg, struct server_socket *s, struct chela_str text, bool binary)
{
    (void)arg;
    must(text.n <= LIMIT && (binary || utf8_valid(text.s, text.n)));
    server_socket_send(s, text);
}

static void on_closed(void *arg, struct server_socket *s, unsigned code)
{
    (void)arg;
    (void)s;
    must(code >= 1000 && code < 5000);
    closed++;
}

static int64_t on_head(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return -404;
}

static int on_upgrade(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return 0;
}

static void on_opened(void *arg, struct server_socket *s, const struct server_head *head)
{
    static const struct server_socket_handlers handlers = {on_message, on_closed, NULL};
    (void)arg;
    (void)head;
    server_socket_attach(s, &handlers, NULL);
    server_socket_limits(s, LIMIT, 1 << 20, 0);
}

static void open_server(void)
{
    static const struct server_handlers handlers = {on_head, NULL, on_upgrade, on_opened};
    struct server_limits limits = {.connections = 100, .head_bytes = 4096};
    struct error e;
    loop_open();
    server = server_open("127.0.0.1", 0, &limits, &handlers, NULL, &e);
    must(server != NULL);
}

static void frames(const uint8_t *data, size_t size)
{
    static const char head[] =
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(server))};
    struct linger now = {1, 0};
    unsigned before = closed;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); /* no TIME_WAIT for each input */
    must(send(fd, head, sizeof head - 1, MSG_NOSIGNAL) == (ssize_t)sizeof head - 1);
    for (int i = 0; i < 4; i++)
        loop_turn(false);
    size_t half = size / 2;
    send(fd, data, half, MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++)
        loop_turn(false);
    send(fd, data + half, size - half, MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++)
        loop_turn(false);
    close(fd);
    for (int i = 0; i < 1000 && closed == before; i++)
        loop_turn(false);
    must(closed == before + 1);
}

static void answer(const char *p, size_t n)
{
    struct ws_answer a;
    struct error e = {0};
    char *copy = malloc(n ? n : 1); /* exact, so that a read beyond it is seen */
    must(copy != NULL);
    memcpy(copy, p, n);
    int result =
        n ? ws_handshake_answer(chela_sn(copy, n), "dGhlIHNhbXBsZSBub25jZQ==", "a, b", &a, &e) : 0;
    must(result != 1 || (a.head_length <= n && a.status >= 100 && a.status < 1000));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!server)
        open_server();
    answer((const char *)data, size);
    if (size <= 4096)
        frames(data, size);
    return 0;
}
