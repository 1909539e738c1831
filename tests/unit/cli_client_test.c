/* The client's connection, from the port it chooses to the last frame: a thread plays the server by
 * a script of raw bytes, good ones and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/client.h"
#include "cli/handshake.h"
#include "support/json.h"

/* ---- the server ---- */

enum step_kind { END, UPGRADE, UPGRADE_WITH, RAW, TEXT, TAKE, HANG_UP };

struct step {
    enum step_kind kind;
    const char *bytes;
    size_t length; /* of RAW; 0: to the NUL */
};

struct server {
    int listener;
    unsigned port;
    const struct step *steps;
    pthread_t thread;
};

static void put(int fd, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t n = send(fd, from, length, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        from += n;
        length -= (size_t)n;
    }
}

static void append_frame(struct buf *out, const char *text)
{
    size_t length = strlen(text);
    assert_true(length < 65536);
    buf_char(out, (char)0x81);
    if (length < 126) {
        buf_char(out, (char)length);
    } else {
        buf_char(out, 126);
        buf_char(out, (char)(length >> 8));
        buf_char(out, (char)(length & 0xFF));
    }
    buf_add(out, text, length);
}

/* Answers the upgrade; `with` is sent in the same write, as a frame. */
static void upgrade(int fd, const char *with)
{
    struct buf head = {0}, answer = {0};
    char accept[HANDSHAKE_ACCEPT_SIZE], byte;
    while (strstr(buf_text(&head), "\r\n\r\n") == NULL && recv(fd, &byte, 1, 0) == 1) {
        buf_char(&head, byte);
    }
    const char *key = strstr(buf_text(&head), "Sec-WebSocket-Key: ");
    if (key != NULL) {
        char *own = xmemdup(key + 19, HANDSHAKE_KEY_SIZE - 1);
        handshake_accept(own, accept);
        free(own);
        buf_printf(&answer,
                   "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
                   "Connection: keep-alive, Upgrade\r\nsec-websocket-accept:%s\r\n\r\n",
                   accept);
        if (with != NULL) {
            append_frame(&answer, with);
        }
        put(fd, answer.p, answer.n);
    }
    buf_free(&head);
    buf_free(&answer);
}

/* Reads one frame of the client's, short enough for these tests. */
static void take_frame(int fd)
{
    unsigned char head[8];
    if (recv(fd, head, 2, MSG_WAITALL) != 2) {
        return;
    }
    size_t length = head[1] & 0x7F;
    if (length == 126 && recv(fd, head, 2, MSG_WAITALL) == 2) {
        length = (size_t)head[0] << 8 | head[1];
    }
    char *rest = xmalloc(length + 4);
    ssize_t n = recv(fd, rest, length + 4, MSG_WAITALL);
    (void)n;
    free(rest);
}

static void *serve(void *arg)
{
    struct server *server = arg;
    int fd = accept(server->listener, NULL, NULL);
    for (const struct step *step = server->steps; step->kind != END; step++) {
        struct buf frame = {0};
        switch (step->kind) {
        case UPGRADE: upgrade(fd, NULL); break;
        case UPGRADE_WITH: upgrade(fd, step->bytes); break;
        case RAW:
            put(fd, step->bytes, step->length == 0 ? strlen(step->bytes) : step->length);
            break;
        case TEXT:
            append_frame(&frame, step->bytes);
            put(fd, frame.p, frame.n);
            break;
        case TAKE: take_frame(fd); break;
        default: shutdown(fd, SHUT_RDWR); break;
        }
        buf_free(&frame);
    }
    char byte;
    while (recv(fd, &byte, 1, 0) == 1) { /* until the client has gone */
    }
    close(fd);
    return NULL;
}

static struct place start(struct server *server, const struct step *steps)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->steps = steps;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return (struct place){.host = xstrdup("127.0.0.1"), .port = server->port};
}

static void finish(struct server *server, struct place *place)
{
    pthread_join(server->thread, NULL);
    close(server->listener);
    place_free(place);
}

#define CHALLENGE                                                                                  \
    "{\"type\":\"event\",\"event\":\"connect.challenge\",\"payload\":{\"nonce\":\"n\",\"ts\":1}}"
#define HELLO                                                                                      \
    "{\"type\":\"res\",\"id\":\"1\",\"ok\":true,\"payload\":{\"type\":\"hello-ok\",\"protocol\":"  \
    "4,"                                                                                           \
    "\"features\":{\"methods\":[\"health\"]},\"policy\":{\"tickIntervalMs\":5000}}}"
#define GREETING                                                                                   \
    {UPGRADE_WITH, CHALLENGE, 0}, {TAKE, NULL, 0},                                                 \
    {                                                                                              \
        TEXT, HELLO, 0                                                                             \
    }

/* Opening against these steps must fail like this. */
static void refused(const struct step *steps, uint32_t class, const char *words)
{
    struct server server;
    struct client client;
    struct error e = {0};
    struct place place = start(&server, steps);
    assert_int_equal(client_open(&client, &place, NULL, NULL, &e), -1);
    finish(&server, &place);
    assert_int_equal(e.class, class);
    if (strstr(e.text, words) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", e.text, words);
    }
}

/* ---- tests ---- */

static void the_accept_key_is_that_of_the_rfc(void **state)
{
    (void)state;
    char accept[HANDSHAKE_ACCEPT_SIZE], key[HANDSHAKE_KEY_SIZE], other[HANDSHAKE_KEY_SIZE];
    handshake_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    handshake_key(key);
    handshake_key(other);
    assert_int_equal(strlen(key), 24);
    assert_string_not_equal(key, other);
}

static void a_gateway_is_greeted_and_asked(void **state)
{
    (void)state;
    static const struct step steps[] = {
        GREETING,
        {TAKE, NULL, 0},
        {TEXT, "{\"type\":\"event\",\"event\":\"tick\",\"payload\":{\"ts\":1}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"77\",\"ok\":true,\"payload\":{\"n\":77}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"2\",\"ok\":true,\"payload\":{\"n\":2}}", 0},
        {TAKE, NULL, 0},
        {TEXT,
         "{\"type\":\"res\",\"id\":\"3\",\"ok\":false,\"error\":{\"code\":\"INVALID_REQUEST\","
         "\"message\":\"bad \\u001b[31m\"}}",
         0},
        {END, NULL, 0},
    };
    struct server server;
    struct client client;
    struct error e = {0};
    char code[64];
    json_object *payload = NULL;
    struct place place = start(&server, steps);
    assert_int_equal(client_open(&client, &place, NULL, NULL, &e), 0);
    assert_true(client_offers(&client, "health"));
    assert_false(client_offers(&client, "wealth"));
    assert_int_equal(client_silence_ms(&client), 10000);
    assert_int_equal(client_call(&client, "health", NULL, 5000, &payload, NULL, &e), 0);
    assert_int_equal(chela_json_int(payload, "n", 0), 2);
    json_object_put(payload);
    assert_int_equal(client_call(&client, "health", NULL, 5000, &payload, code, &e), -1);
    assert_string_equal(code, "INVALID_REQUEST");
    assert_string_equal(e.text, "bad [31m");
    assert_int_equal(e.class, CHELA_E_ARGS);
    client_close(&client);
    finish(&server, &place);
}

struct heard {
    unsigned count;
    int64_t n[8];
    bool more;
};

static bool hear(void *arg, const struct client_answer *answer)
{
    struct heard *heard = arg;
    assert_true(heard->count < 8);
    heard->n[heard->count++] = answer->ok ? chela_json_int(answer->payload, "n", 0) : -1;
    return answer->ok && heard->more && heard->count < 2;
}

static void answers_come_in_any_order_and_twice_where_that_is_wanted(void **state)
{
    (void)state;
    static const struct step steps[] = {
        GREETING,
        {TAKE, NULL, 0},
        {TAKE, NULL, 0},
        {TAKE, NULL, 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"3\",\"ok\":true,\"payload\":{\"n\":31}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"2\",\"ok\":true,\"payload\":{\"n\":21}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"2\",\"ok\":true,\"payload\":{\"n\":22}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"2\",\"ok\":true,\"payload\":{\"n\":23}}", 0},
        {TEXT, "{\"type\":\"res\",\"id\":\"3\",\"ok\":true,\"payload\":{\"n\":32}}", 0},
        {RAW, "\x88\x13\x03\xf4\x1b[31mservice rest", 21},
        {HANG_UP, NULL, 0},
        {END, NULL, 0},
    };
    struct server server;
    struct client client;
    struct error e = {0};
    struct heard twice = {.more = true}, once = {0}, never = {0};
    struct place place = start(&server, steps);
    assert_int_equal(client_open(&client, &place, NULL, NULL, &e), 0);
    assert_int_equal(client_request(&client, "agent", NULL, hear, &twice, &e), 0);
    assert_int_equal(client_request(&client, "health", NULL, hear, &once, &e), 0);
    assert_int_equal(client_request(&client, "health", NULL, hear, &never, &e), 0);
    for (int turn = 0; turn < 20 && client_wait(&client, 2000, &e) == 0; turn++) {
    }
    assert_int_equal(twice.count, 2);
    assert_int_equal(twice.n[1], 22);
    assert_int_equal(once.count, 1);
    assert_int_equal(once.n[0], 31);
    assert_int_equal(e.class, CHELA_E_GONE);
    assert_string_equal(e.text, "the gateway closed the connection (1012: [31mservice rest)");
    assert_int_equal(never.count, 0);
    client_close(&client);
    assert_int_equal(never.count, 1);
    assert_int_equal(never.n[0], -1);
    finish(&server, &place);
}

static void what_is_no_gateway_is_told_as_such(void **state)
{
    (void)state;
    refused((const struct step[]){{RAW, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0}, {END, NULL, 0}},
            CHELA_E_PROTOCOL, "speaks no HTTP");
    refused(
        (const struct step[]){{RAW, "HTTP/1.1 403 For\x1b[31mbidden\r\n\r\n", 0}, {END, NULL, 0}},
        CHELA_E_PROTOCOL, "refuses a WebSocket: 403 For[31mbidden");
    refused(
        (const struct step[]){{RAW,
                               "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
                               0},
                              {END, NULL, 0}},
        CHELA_E_PROTOCOL, "answer to the WebSocket upgrade is wrong");
    refused((const struct step[]){{HANG_UP, NULL, 0}, {END, NULL, 0}}, CHELA_E_NETWORK, "at once");
    static char endless[HANDSHAKE_HEAD_LIMIT + 4096];
    memset(endless, 'x', sizeof endless);
    refused((const struct step[]){{RAW, endless, sizeof endless}, {END, NULL, 0}}, CHELA_E_PROTOCOL,
            "has no end");
}

static void nobody_listening_is_a_network_error(void **state)
{
    (void)state;
    struct error e = {0};
    struct client client;
    struct place place = {.host = xstrdup("127.0.0.1"), .port = 1};
    assert_int_equal(client_open(&client, &place, NULL, NULL, &e), -1);
    assert_int_equal(e.class, CHELA_E_NETWORK);
    place_free(&place);
}

static void a_silent_server_is_given_up(void **state)
{
    (void)state;
    struct error e = {0};
    struct server server;
    struct place place = start(&server, (const struct step[]){{END, NULL, 0}});
    assert_null(websocket_open(place.host, place.port, 50, NULL, NULL, &e));
    assert_int_equal(e.class, CHELA_E_TIMEOUT);
    finish(&server, &place);
}

static void a_gateway_that_refuses_the_token_is_told_by_class(void **state)
{
    (void)state;
    refused(
        (const struct step[]){{UPGRADE_WITH, CHALLENGE, 0},
                              {TAKE, NULL, 0},
                              {TEXT,
                               "{\"type\":\"res\",\"id\":\"1\",\"ok\":false,\"error\":{\"code\":"
                               "\"INVALID_REQUEST\",\"message\":\"no\",\"details\":{\"code\":"
                               "\"AUTH_TOKEN_MISMATCH\"}}}",
                               0},
                              {END, NULL, 0}},
        CHELA_E_AUTH, "no");
}

static void a_gateway_that_is_starting_is_asked_again(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {UPGRADE_WITH, CHALLENGE, 0},
        {TAKE, NULL, 0},
        {TEXT,
         "{\"type\":\"res\",\"id\":\"1\",\"ok\":false,\"error\":{\"code\":\"UNAVAILABLE\","
         "\"message\":\"starting\",\"retryAfterMs\":10}}",
         0},
        {TAKE, NULL, 0},
        {TEXT,
         "{\"type\":\"res\",\"id\":\"2\",\"ok\":true,\"payload\":{\"type\":\"hello-ok\","
         "\"protocol\":4}}",
         0},
        {END, NULL, 0},
    };
    struct server server;
    struct client client;
    struct error e = {0};
    struct place place = start(&server, steps);
    assert_int_equal(client_open(&client, &place, NULL, NULL, &e), 0);
    client_close(&client);
    finish(&server, &place);
}

static void hostile_frames_end_the_connection_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t class;
    } frames[] = {
        {"\x81\x03{x}", 5, CHELA_E_PROTOCOL},                                /* no JSON */
        {"\x81\x02[]", 4, CHELA_E_PROTOCOL},                                 /* no frame */
        {"\x81\x10{\"type\":\"event\"}", 18, CHELA_E_PROTOCOL},              /* no name */
        {"\x81\x7f\x00\x00\x01\x00\x00\x00\x00\x00{", 11, CHELA_E_TOO_LONG}, /* 2^40 bytes */
        {"\x81\x02\xff\xfe", 4, CHELA_E_GONE},                               /* no UTF-8 */
        {"\x81\x82mask{}", 8, CHELA_E_GONE}, /* masked by a server */
        {"\xf1\x02{}", 4, CHELA_E_GONE},     /* reserved bits */
        {"\x83\x02{}", 4, CHELA_E_GONE},     /* reserved opcode */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
        struct server server;
        struct client client;
        struct error e = {0};
        const struct step steps[] = {
            GREETING, {RAW, frames[i].bytes, frames[i].length}, {END, NULL, 0}};
        struct place place = start(&server, steps);
        assert_int_equal(client_open(&client, &place, NULL, NULL, &e), 0);
        for (int turn = 0; turn < 4 && client_wait(&client, 2000, &e) == 0; turn++) {
        }
        if (e.class != frames[i].class) {
            fail_msg("frame %zu: class %u, \"%s\"", i, e.class, e.text);
        }
        client_close(&client);
        finish(&server, &place);
    }
}

/* ---- where the gateway is ---- */

static void set(const char *name, const char *value)
{
    if (value == NULL) {
        unsetenv(name);
    } else {
        setenv(name, value, 1);
    }
}

static void write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    char *path = xprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static unsigned port_found(const char *where)
{
    struct place place;
    struct error e = {0};
    unsigned port = place_find(&place, where, &e) == 0 ? place.port : 0;
    place_free(&place);
    return port;
}

static void the_port_is_looked_for_in_this_order(void **state)
{
    (void)state;
    char folder[] = "/tmp/chela-place-XXXXXX";
    assert_non_null(mkdtemp(folder));
    set("CHELA_STATE_DIR", folder);
    set("CHELA_CONFIG", NULL);
    set("CHELA_CONF_DIR", folder);
    set("XDG_CONFIG_HOME", folder);
    set("CHELA_GATEWAY_PORT", NULL);
    set("CHELA_GATEWAY__PORT", NULL);
    assert_int_equal(port_found(NULL), 18789);
    write_file(folder, "chela.conf", "gateway : { port = 4001; };\n", 0600);
    assert_int_equal(port_found(NULL), 4001);
    char *own = xprintf("%s/chela", folder);
    assert_int_equal(mkdir(own, 0700), 0);
    write_file(own, "chela.conf", "gateway : { port = 4002; };\n", 0600);
    assert_int_equal(port_found(NULL), 4002);
    char *announced = xprintf("{\"port\":4003,\"pid\":%ld,\"version\":\"x\"}", (long)getpid());
    write_file(folder, "gateway.json", announced, 0600);
    assert_int_equal(port_found(NULL), 4003);
    write_file(folder, "gateway.json", "{\"port\":4003,\"pid\":1073741823}", 0600);
    assert_int_equal(port_found(NULL), 4002); /* that gateway has ended */
    set("CHELA_GATEWAY__PORT", "4004");
    assert_int_equal(port_found(NULL), 4004);
    set("CHELA_GATEWAY_PORT", "4005");
    assert_int_equal(port_found(NULL), 4005);
    assert_int_equal(port_found("gateway.example:4006"), 4006);
    assert_int_equal(port_found(":4007"), 4007);
    assert_int_equal(port_found("ws://[::1]:4008/"), 4008);
    assert_int_equal(port_found("::1"), 4005);
    static const char *const wrong[] = {"a:0", "a:65536", "a:x", "a b:1", "user@a:1", "http://a:1"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_int_equal(port_found(wrong[i]), 0);
    }
    set("CHELA_GATEWAY_PORT", "80x");
    assert_int_equal(port_found(NULL), 0);
    set("CHELA_GATEWAY_PORT", NULL);
    set("CHELA_GATEWAY__PORT", NULL);
    char *command = xprintf("%s/chela.conf", own);
    unlink(command);
    rmdir(own);
    free(command);
    static const char *const files[] = {"chela.conf", "gateway.json"};
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        char *path = xprintf("%s/%s", folder, files[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
    free(own);
    free(announced);
}

static void the_token_is_taken_only_from_where_it_is_safe(void **state)
{
    (void)state;
    char folder[] = "/tmp/chela-place-XXXXXX";
    struct place place;
    assert_non_null(mkdtemp(folder));
    set("CHELA_STATE_DIR", folder);
    set("CHELA_GATEWAY_TOKEN", NULL);
    assert_int_equal(place_find(&place, NULL, NULL), 0);
    assert_null(place.token);
    place_free(&place);
    write_file(folder, "gateway.token", "from-the-file\n", 0600);
    assert_int_equal(place_find(&place, NULL, NULL), 0);
    assert_string_equal(place.token, "from-the-file");
    place_free(&place);
    write_file(folder, "gateway.token", "from-the-file\n", 0640);
    assert_int_equal(place_find(&place, NULL, NULL), 0);
    assert_null(place.token);
    assert_non_null(strstr(place.token_why, "chmod 600"));
    place_free(&place);
    set("CHELA_GATEWAY_TOKEN", "from-the-environment");
    assert_int_equal(place_find(&place, NULL, NULL), 0);
    assert_string_equal(place.token, "from-the-environment");
    place_free(&place);
    set("CHELA_GATEWAY_TOKEN", NULL);
    char *path = xprintf("%s/gateway.token", folder);
    unlink(path);
    free(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_accept_key_is_that_of_the_rfc),
        cmocka_unit_test(a_gateway_is_greeted_and_asked),
        cmocka_unit_test(answers_come_in_any_order_and_twice_where_that_is_wanted),
        cmocka_unit_test(what_is_no_gateway_is_told_as_such),
        cmocka_unit_test(nobody_listening_is_a_network_error),
        cmocka_unit_test(a_silent_server_is_given_up),
        cmocka_unit_test(a_gateway_that_refuses_the_token_is_told_by_class),
        cmocka_unit_test(a_gateway_that_is_starting_is_asked_again),
        cmocka_unit_test(hostile_frames_end_the_connection_and_nothing_else),
        cmocka_unit_test(the_port_is_looked_for_in_this_order),
        cmocka_unit_test(the_token_is_taken_only_from_where_it_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
