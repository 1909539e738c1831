/* WebSockets of the server: upgrade, messages, limits, pings, and the ways of ending. */
#include "net_peer.h"
#include "net_ws_frames.h"

#include "base/clock.h"
#include "net/server.h"

static struct {
    struct server *server;
    unsigned opened, messages, closed, code, drained, socket_drained;
    bool binary, close_in_message, echo;
    struct buf text;
    struct server_socket *socket;
    char path[64], auth[64];
} t;

static void on_message(void *arg, struct server_socket *s, struct chela_str text, bool binary)
{
    (void)arg;
    t.messages++;
    t.binary = binary;
    buf_clear(&t.text);
    buf_str(&t.text, text);
    if (t.echo)
        server_socket_send(s, text);
    if (t.close_in_message)
        server_socket_close(s, 4001, "enough");
}

static void on_closed(void *arg, struct server_socket *s, unsigned code)
{
    (void)arg;
    if (t.socket == s)
        t.socket = NULL;
    t.closed++;
    t.code = code;
}

static void on_socket_drained(void *arg, struct server_socket *s)
{
    (void)arg;
    (void)s;
    t.socket_drained++;
}

static const struct server_socket_handlers socket_handlers = {on_message, on_closed,
                                                              on_socket_drained};

static int64_t on_head(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return -404;
}

static void on_request(void *arg, struct server_request *r, const struct server_head *head,
                       struct chela_str body)
{
    (void)arg;
    (void)r;
    (void)head;
    (void)body;
    fail();
}

static int on_upgrade(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    const char *auth = server_header(r, "authorization");
    snprintf(t.auth, sizeof t.auth, "%s", auth ? auth : "");
    return strcmp(head->path, "/no") == 0 ? 403 : 0;
}

static void on_opened(void *arg, struct server_socket *s, const struct server_head *head)
{
    (void)arg;
    t.opened++;
    t.socket = s;
    snprintf(t.path, sizeof t.path, "%s", head->path);
    server_socket_attach(s, &socket_handlers, NULL);
    server_socket_limits(s, 4096, 1 << 20, 30000);
}

static const struct server_handlers handlers = {on_head, on_request, on_upgrade, on_opened};

static void on_drained(void *arg)
{
    (void)arg;
    t.drained++;
}

static int start(void **state)
{
    struct error e;
    struct server_limits limits = {.connections = 64,
                                   .header_ms = 10000,
                                   .body_ms = 20000,
                                   .idle_ms = 30000,
                                   .head_bytes = 8192};
    (void)state;
    memset(&t, 0, sizeof t);
    clock_fake(1000000000);
    loop_open();
    t.server = server_open("127.0.0.1", 0, &limits, &handlers, NULL, &e);
    return t.server ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    if (t.server) {
        server_close(t.server, 0, on_drained, NULL);
        WAIT_FOR((clock_fake_advance(1), t.drained));
    }
    assert_int_equal(loop_close(), 0);
    buf_free(&t.text);
    clock_fake_end();
    return 0;
}

#define UPGRADE(path)                                                                              \
    "GET " path                                                                                    \
    " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"            \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                 \
    "Authorization: x\r\n\r\n"

static void say_frame(struct peer *p, unsigned first, const char *text, size_t n)
{
    struct buf out = {0};
    frame_add(&out, first, text, n, true);
    peer_send(p, out.p, out.n);
    buf_free(&out);
}

static void skip_head(struct peer *p)
{
    char *end = strstr(buf_text(&p->in), "\r\n\r\n");
    assert_non_null(end);
    buf_consume(&p->in, (size_t)(end + 4 - p->in.p));
}

static void open_socket(struct peer *p)
{
    unsigned before = t.opened;
    peer_connect(p, server_port(t.server));
    peer_say(p, UPGRADE("/ws"));
    WAIT_FOR(t.opened == before + 1 && peer_has(p, "\r\n\r\n"));
    skip_head(p);
}

/* Waits for a frame and takes it away; its payload is in `text`. */
static struct frame next_frame(struct peer *p, char *text, size_t size)
{
    struct frame f = {0};
    size_t n = 0;
    WAIT_FOR(p->eof || (n = frame_read(p->in.p, p->in.n, &f)) > 0);
    assert_true(n > 0);
    assert_false(f.masked);
    snprintf(text, size, "%.*s", (int)f.n, f.p);
    buf_consume(&p->in, n);
    return f;
}

static void upgrades_with_the_key_of_the_standard(void **state)
{
    static struct peer p;
    (void)state;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, UPGRADE("/ws"));
    WAIT_FOR(t.opened == 1);
    WAIT_FOR(peer_has(&p, "\r\n\r\n"));
    assert_true(peer_has(&p, "HTTP/1.1 101"));
    assert_true(peer_has(&p, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_string_equal(t.path, "/ws");
    assert_string_equal(t.auth, "x");
    peer_close(&p);
    WAIT_FOR(t.closed == 1);
    assert_int_equal(t.code, 1006);
}

static void refused(const char *request, const char *status)
{
    static struct peer p;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, request);
    WAIT_FOR(p.eof);
    if (!peer_has(&p, status))
        fail_msg("%.100s: wanted %s, got %s", request, status, buf_text(&p.in));
    peer_close(&p);
    assert_int_equal(t.opened, 0);
}

static void bad_upgrades_are_refused(void **state)
{
    (void)state;
#define HEAD(method, connection, version, key)                                                     \
    method " / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: " connection               \
           "\r\nSec-WebSocket-Version: " version "\r\nSec-WebSocket-Key: " key "\r\n\r\n"
    refused(UPGRADE("/no"), "HTTP/1.1 403");
    refused(HEAD("GET", "Upgrade", "12", "dGhlIHNhbXBsZSBub25jZQ=="), "HTTP/1.1 426");
    refused(HEAD("GET", "Upgrade", "13", "dGhlIHNhbXBsZSBub25jZ==="), "HTTP/1.1 400");
    refused(HEAD("GET", "Upgrade", "13", "short"), "HTTP/1.1 400");
    refused(HEAD("GET", "close", "13", "dGhlIHNhbXBsZSBub25jZQ=="), "HTTP/1.1 400");
    refused(HEAD("PUT", "Upgrade", "13", "dGhlIHNhbXBsZSBub25jZQ=="), "HTTP/1.1 400");
}

static void frames_that_come_with_the_request_are_read_first(void **state)
{
    static struct peer p;
    char text[32];
    struct buf out = {0};
    (void)state;
    t.echo = true;
    buf_puts(&out, UPGRADE("/ws"));
    frame_add(&out, 0x81, "early", 5, true);
    frame_add(&out, 0x81, "second", 6, true);
    peer_connect(&p, server_port(t.server));
    peer_send(&p, out.p, out.n);
    buf_free(&out);
    WAIT_FOR(t.messages == 2);
    WAIT_FOR(peer_has(&p, "\r\n\r\n"));
    skip_head(&p);
    next_frame(&p, text, sizeof text);
    assert_string_equal(text, "early");
    next_frame(&p, text, sizeof text);
    assert_string_equal(text, "second");
    peer_close(&p);
}

static void carries_messages_whole_in_pieces_and_cut_anywhere(void **state)
{
    static struct peer p;
    char text[512];
    struct buf out = {0};
    (void)state;
    t.echo = true;
    open_socket(&p);
    say_frame(&p, 0x81, "hello", 5);
    WAIT_FOR(t.messages == 1);
    assert_false(t.binary);
    next_frame(&p, text, sizeof text);
    assert_string_equal(text, "hello");
    say_frame(&p, 0x02, "ab", 2); /* two fragments, with a ping between them */
    say_frame(&p, 0x89, "p", 1);
    say_frame(&p, 0x80, "cd", 2);
    WAIT_FOR(t.messages == 2);
    assert_true(t.binary);
    assert_string_equal(buf_text(&t.text), "abcd");
    assert_int_equal(next_frame(&p, text, sizeof text).first, 0x8a);
    assert_string_equal(text, "p");
    assert_int_equal(next_frame(&p, text, sizeof text).first, 0x81);
    memset(text, 'x', 300);
    frame_add(&out, 0x81, text, 300, true);
    for (size_t i = 0; i < out.n; i++) {
        peer_send(&p, out.p + i, 1);
        loop_turn(false);
    }
    WAIT_FOR(t.messages == 3);
    assert_int_equal(t.text.n, 300);
    buf_free(&out);
    peer_close(&p);
}

static void messages_of_one_pass_leave_together(void **state)
{
    static struct peer p;
    char text[16];
    (void)state;
    open_socket(&p);
    peer_deafen(&p);
    for (int i = 0; i < 100; i++)
        server_socket_send(t.socket, chela_s("0123456789"));
    assert_int_equal(server_socket_waiting(t.socket), 1200);
    loop_turn(false);
    assert_int_equal(server_socket_waiting(t.socket), 0);
    char all[2000];
    assert_int_equal(recv(p.fd, all, sizeof all, 0), 1200); /* one segment, all there */
    peer_hear(&p);
    server_socket_send(t.socket, chela_s("end"));
    next_frame(&p, text, sizeof text);
    assert_string_equal(text, "end");
    peer_close(&p);
}

/* Says something wrong; the close frame must arrive (and no reset in its place). */
static void breaks_rule(unsigned first, const char *bytes, size_t n, bool masked, unsigned code)
{
    static struct peer p;
    char text[200];
    struct buf out = {0};
    unsigned before = t.closed;
    open_socket(&p);
    frame_add(&out, first, bytes, n, masked);
    buf_add(&out, "unread bytes behind it", 22);
    peer_send(&p, out.p, out.n);
    buf_free(&out);
    struct frame f = next_frame(&p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    assert_int_equal((unsigned char)text[0] << 8 | (unsigned char)text[1], code);
    WAIT_FOR(p.eof);
    assert_false(p.failed);
    peer_close(&p);
    WAIT_FOR(t.closed == before + 1);
    assert_int_equal(t.code, code);
}

static void who_breaks_the_rules_is_told_why(void **state)
{
    (void)state;
    char *long_text = xcalloc(1, 5000);
    memset(long_text, 'x', 5000);
    breaks_rule(0x81, long_text, 5000, true, 1009);
    breaks_rule(0x81, "plain", 5, false, 1002);    /* a client must mask */
    breaks_rule(0xf1, "reserved", 8, true, 1002);  /* reserved bits */
    breaks_rule(0x83, "opcode", 6, true, 1002);    /* unknown opcode */
    breaks_rule(0x80, "nothing", 7, true, 1002);   /* continues nothing */
    breaks_rule(0x81, "\xc3(", 2, true, 1007);     /* not UTF-8 */
    breaks_rule(0x89, long_text, 126, true, 1002); /* a long control frame */
    assert_int_equal(t.messages, 0);
    free(long_text);
}

static void closes_by_handshake_from_either_side(void **state)
{
    static struct peer p;
    char text[32];
    (void)state;
    open_socket(&p);
    say_frame(&p, 0x88, "\x03\xe9gone", 6);
    struct frame f = next_frame(&p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    WAIT_FOR(p.eof && t.closed == 1);
    assert_int_equal(t.code, 1001);
    peer_close(&p);
    open_socket(&p);
    server_socket_send(t.socket, chela_s("last words"));
    server_socket_close(t.socket, 4000, "reason");
    server_socket_send(t.socket, chela_s("too late"));
    next_frame(&p, text, sizeof text);
    assert_string_equal(text, "last words");
    f = next_frame(&p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    assert_memory_equal(text, "\x0f\xa0reason", 8);
    assert_int_equal(t.closed, 1);
    say_frame(&p, 0x88, "\x0f\xa0", 2);
    WAIT_FOR(p.eof && t.closed == 2);
    assert_int_equal(t.code, 4000);
    peer_close(&p);
    t.close_in_message = true; /* from inside the message's handler */
    open_socket(&p);
    say_frame(&p, 0x81, "x", 1);
    next_frame(&p, text, sizeof text);
    say_frame(&p, 0x88, "\x0f\xa1", 2);
    WAIT_FOR(t.closed == 3);
    peer_close(&p);
}

static void a_peer_that_never_answers_a_close_is_cut(void **state)
{
    static struct peer p;
    (void)state;
    open_socket(&p);
    server_socket_close(t.socket, 1000, "");
    for (int i = 0; i < 5; i++)
        loop_turn(false);
    assert_int_equal(t.closed, 0);
    clock_fake_advance(5000);
    WAIT_FOR(t.closed == 1 && p.eof);
    assert_int_equal(t.code, 1000);
    peer_close(&p);
}

static void a_slow_client_is_bounded_and_told_when_it_caught_up(void **state)
{
    static struct peer p;
    (void)state;
    open_socket(&p);
    peer_deafen(&p);
    CLEANUP(freep) char *piece = xmalloc(65536);
    memset(piece, 'x', 65536);
    server_socket_limits(t.socket, 4096, 8 << 20, 0);
    while (server_socket_waiting(t.socket) < 5u << 20) {
        server_socket_send(t.socket, chela_sn(piece, 65536));
        loop_turn(false);
    }
    assert_int_equal(t.socket_drained, 0);
    peer_hear(&p);
    WAIT_FOR(t.socket_drained == 1);
    peer_deafen(&p);
    alarm(30);
    while (!t.closed) {
        if (t.socket)
            server_socket_send(t.socket, chela_sn(piece, 65536));
        loop_turn(false);
    }
    alarm(0);
    assert_int_equal(t.code, 1008);
    peer_close(&p);
}

/* Takes a ping from the peer's input, and answers it. */
static void answer_ping(struct peer *p)
{
    char text[32];
    struct frame f = next_frame(p, text, sizeof text);
    assert_int_equal(f.first, 0x89);
    say_frame(p, 0x8a, "", 0);
    for (int i = 0; i < 5; i++)
        loop_turn(false);
}

static void pings_find_dead_peers(void **state)
{
    static struct peer p, dead;
    (void)state;
    open_socket(&p);
    open_socket(&dead);
    clock_fake_advance(30000);
    answer_ping(&p);
    clock_fake_advance(24999);
    loop_turn(false);
    assert_int_equal(t.closed, 0);
    clock_fake_advance(1);
    WAIT_FOR(dead.eof && t.closed == 1);
    assert_int_equal(t.code, 1006);
    clock_fake_advance(5000);
    answer_ping(&p);
    clock_fake_advance(25000);
    loop_turn(false);
    clock_fake_advance(5000);
    answer_ping(&p);
    assert_int_equal(t.closed, 1);
    peer_close(&p);
    peer_close(&dead);
}

static void closing_the_server_says_1001(void **state)
{
    static struct peer p;
    char text[32];
    (void)state;
    open_socket(&p);
    server_close(t.server, 1000, on_drained, NULL);
    struct frame f = next_frame(&p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    assert_int_equal((unsigned char)text[0] << 8 | (unsigned char)text[1], 1001);
    assert_int_equal(t.drained, 0);
    say_frame(&p, 0x88, "\x03\xe9", 2);
    WAIT_FOR(t.drained == 1);
    assert_int_equal(t.closed, 1);
    t.server = NULL;
    peer_close(&p);
}

static void many_sockets_come_and_go(void **state)
{
    static struct peer p[40];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++)
            open_socket(&p[i]);
        for (int i = 0; i < 40; i++)
            peer_close(&p[i]);
        WAIT_FOR(t.closed == 40u * (unsigned)(round + 1));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(upgrades_with_the_key_of_the_standard),
        TEST(bad_upgrades_are_refused),
        TEST(frames_that_come_with_the_request_are_read_first),
        TEST(carries_messages_whole_in_pieces_and_cut_anywhere),
        TEST(messages_of_one_pass_leave_together),
        TEST(who_breaks_the_rules_is_told_why),
        TEST(closes_by_handshake_from_either_side),
        TEST(a_peer_that_never_answers_a_close_is_cut),
        TEST(a_slow_client_is_bounded_and_told_when_it_caught_up),
        TEST(pings_find_dead_peers),
        TEST(closing_the_server_says_1001),
        TEST(many_sockets_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
