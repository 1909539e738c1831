/* WebSocket client against a scripted server: handshake, frames at every cut, limits, pings, ends.
 */
#include "net_fake.h"
#include "net_ws_frames.h"

#include "base/clock.h"
#include "net/http.h"
#include "net/ws_client.h"
#include "net/ws_handshake.h"

static struct fake fake;

static struct {
    unsigned done, events, opened, closes, pongs, code;
    uint32_t error, status, flags;
    struct buf log, text;
    bool room, starting;
    uint64_t id;
} t;

static void on_event(void *owner, uint64_t id, const struct chela_ws_event *e)
{
    assert_ptr_equal(owner, &t);
    assert_int_equal(id, t.id);
    assert_false(t.starting);
    assert_int_equal(t.done, 0);
    t.events++;
    t.opened += e->kind == CHELA_WS_OPEN;
    t.pongs += e->kind == CHELA_WS_PONG;
    if (e->kind == CHELA_WS_CLOSE) {
        t.closes++;
        t.code = e->code;
    }
    if (t.log.n < 10000 && e->kind != CHELA_WS_PONG) {
        buf_printf(&t.log, "%u:%.*s;", e->kind, (int)(e->data.n < 100 ? e->data.n : 100),
                   e->data.s);
    }
}

static void on_done(void *owner, uint64_t id, const struct chela_done *d)
{
    (void)owner;
    assert_int_equal(id, t.id);
    t.done++;
    t.error = d->error;
    t.status = d->http_status;
    t.flags = d->h.flags;
    buf_clear(&t.text);
    buf_str(&t.text, d->text);
}

static bool has_room(void *owner)
{
    (void)owner;
    return t.room;
}

static const struct ws_ops ops = {on_event, on_done, has_room};

static int start(void **state)
{
    struct http_setup setup = {.proxy = ""};
    (void)state;
    memset(&t, 0, sizeof t);
    t.room = true;
    clock_fake(1000000000);
    loop_open();
    http_open(&setup);
    ws_open();
    fake_open(&fake);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    ws_close();
    fake_close(&fake);
    http_close();
    assert_int_equal(loop_close(), 0);
    clock_fake_end();
    buf_free(&t.log);
    buf_free(&t.text);
    return 0;
}

static void forget_all(void)
{
    t.done = t.events = t.opened = t.closes = t.pongs = 0;
    buf_clear(&t.log);
}

static void begin(struct ws_request *r)
{
    CLEANUP(freep) char *url = xprintf("ws://127.0.0.1:%u/chat?a=b", fake.port);
    r->url = r->url ? r->url : url;
    forget_all();
    t.starting = true;
    t.id = ws_connect(r, &ops, &t);
    t.starting = false;
    r->url = NULL;
}

/* The server's half of the handshake, then `more` behind it in the same packet. */
static void shake_hands(struct peer *p, const char *extra_header, const struct buf *more)
{
    char accept[32];
    struct buf out = {0};
    const char *key = strstr(buf_text(&p->in), "Sec-WebSocket-Key: ");
    assert_non_null(key);
    CLEANUP(freep) char *copy = xmemdup(key + 19, 24);
    ws_handshake_accept(copy, accept);
    buf_printf(&out,
               "HTTP/1.1 101 Switching\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n%s\r\n",
               accept, extra_header);
    if (more)
        buf_add(&out, more->p, more->n);
    buf_clear(&p->in);
    peer_send(p, out.p, out.n);
    buf_free(&out);
}

static struct peer *open_one(struct ws_request *r)
{
    unsigned n = fake.count;
    begin(r);
    FAKE_REQUEST(&fake, n);
    shake_hands(&fake.peers[n], "", NULL);
    WAIT_FOR(t.opened == 1);
    return &fake.peers[n];
}

static void say_frame(struct peer *p, unsigned first, const char *text, size_t n)
{
    struct buf out = {0};
    frame_add(&out, first, text, n, false);
    peer_send(p, out.p, out.n);
    buf_free(&out);
}

static struct frame next_frame(struct peer *p, char *text, size_t size)
{
    struct frame f = {0};
    size_t n = 0;
    WAIT_FOR(p->eof || (n = frame_read(p->in.p, p->in.n, &f)) > 0);
    assert_true(n > 0);
    assert_true(f.masked); /* a client must */
    snprintf(text, size, "%.*s", (int)f.n, f.p);
    buf_consume(&p->in, n);
    return f;
}

static void the_key_has_the_answer_of_the_standard(void **state)
{
    char accept[32];
    (void)state;
    ws_handshake_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void shakes_hands_and_carries_messages(void **state)
{
    struct chela_pair header = {CHELA_LIT("X-Token"), CHELA_LIT("abc")};
    struct ws_request r = {.headers = {&header, 1}, .protocols = "one, two"};
    char text[100];
    (void)state;
    begin(&r);
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    assert_true(peer_has(p, "GET /chat?a=b HTTP/1.1\r\n"));
    assert_true(peer_has(p, "X-Token: abc\r\n"));
    assert_true(peer_has(p, "Sec-WebSocket-Protocol: one, two\r\n"));
    assert_true(peer_has(p, "Sec-WebSocket-Version: 13\r\n"));
    struct buf more = {0};
    frame_add(&more, 0x81, "early", 5, false);
    shake_hands(p, "Sec-WebSocket-Protocol: two\r\n", &more);
    buf_free(&more);
    WAIT_FOR(t.events == 2);
    assert_string_equal(buf_text(&t.log), "1:two;2:early;");
    ws_send(t.id, CHELA_WS_TEXT, 0, chela_s("hello"));
    ws_send(t.id, CHELA_WS_BYTES, 0, chela_s("bytes"));
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x81);
    assert_string_equal(text, "hello");
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x82);
    assert_string_equal(text, "bytes");
    say_frame(p, 0x01, "ab", 2);
    say_frame(p, 0x89, "pi", 2);
    say_frame(p, 0x80, "cd", 2);
    WAIT_FOR(t.events == 3);
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x8a);
    assert_string_equal(text, "pi");
    assert_non_null(strstr(buf_text(&t.log), "2:abcd;"));
    say_frame(p, 0x88,
              "\x03\xe8"
              "bye",
              5);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.closes, 1);
    assert_int_equal(t.code, 1000);
    assert_non_null(strstr(buf_text(&t.log), "4:bye;"));
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x88);
    ws_send(t.id, CHELA_WS_TEXT, 0, chela_s("nobody hears"));
}

static void the_answer_may_be_cut_anywhere(void **state)
{
    struct ws_request r = {0};
    (void)state;
    begin(&r);
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    char accept[32];
    struct buf out = {0};
    CLEANUP(freep)
    char *key = xmemdup(strstr(buf_text(&p->in), "Sec-WebSocket-Key: ") + 19, 24);
    ws_handshake_accept(key, accept);
    buf_printf(&out,
               "HTTP/1.1 101 X\r\nupgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
               "sec-websocket-accept: %s\r\n\r\n",
               accept);
    frame_add(&out, 0x81, "after", 5, false);
    for (size_t i = 0; i < out.n; i++) {
        peer_send(p, out.p + i, 1);
        loop_turn(true);
    }
    buf_free(&out);
    WAIT_FOR(t.events == 2);
    assert_string_equal(buf_text(&t.log), "1:;2:after;");
}

static void handshake_fails(const char *answer, uint32_t class, unsigned status)
{
    struct ws_request r = {0};
    unsigned n = fake.count;
    begin(&r);
    FAKE_REQUEST(&fake, n);
    peer_say(&fake.peers[n], answer);
    if (!strstr(answer, "Content-Length"))
        fake_hang_up(&fake.peers[n]);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, class);
    assert_int_equal(t.status, status);
    assert_int_equal(t.events, 0);
}

static void refusals_have_their_class(void **state)
{
    (void)state;
    handshake_fails("HTTP/1.1 401 X\r\nContent-Length: 7\r\n\r\ngo away", CHELA_E_AUTH, 401);
    assert_non_null(strstr(buf_text(&t.text), "go away"));
    handshake_fails("HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n", CHELA_E_RATE, 429);
    assert_true(t.flags & CHELA_RETRY);
    handshake_fails("HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n", CHELA_E_PROTOCOL, 200);
    handshake_fails("HTTP/1.1 101 X\r\nContent-Length: 0\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
                    CHELA_E_PROTOCOL, 0);
    handshake_fails("SSH-2.0-x\r\nContent-Length\r\n\r\n", CHELA_E_PROTOCOL, 0);
    handshake_fails("HTTP/1.1 10", CHELA_E_NETWORK, 0);
    handshake_fails("", CHELA_E_NETWORK, 0);
}

static void what_was_not_offered_is_refused(void **state)
{
    static const char *const extras[] = {"Sec-WebSocket-Protocol: three\r\n",
                                         "Sec-WebSocket-Extensions: permessage-deflate\r\n"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct ws_request r = {.protocols = "one, two"};
        begin(&r);
        FAKE_REQUEST(&fake, i);
        shake_hands(&fake.peers[i], extras[i], NULL);
        WAIT_FOR(t.done);
        assert_int_equal(t.error, CHELA_E_PROTOCOL);
    }
}

static void urls_of_other_kinds_are_refused(void **state)
{
    static const char *const urls[] = {"http://a/", "wss://", "x", ""};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(urls); i++) {
        struct ws_request r = {.url = urls[i]};
        begin(&r);
        WAIT_FOR(t.done);
        assert_int_not_equal(t.error, CHELA_OK);
    }
}

static void broken_frames_end_it(void **state)
{
    struct ws_request r = {.limit = 1000};
    char text[100];
    CLEANUP(freep) char *long_text = xcalloc(1, 2000);
    (void)state;
    memset(long_text, 'x', 1999);
    struct peer *p = open_one(&r);
    say_frame(p, 0x81, long_text, 1999);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_TOO_LONG);
    struct frame f = next_frame(p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    assert_int_equal((unsigned char)text[0] << 8 | (unsigned char)text[1], 1009);
    p = open_one(&r);
    say_frame(p, 0x81, "\xff\xfe", 2);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_PROTOCOL);
    p = open_one(&r);
    struct buf masked = {0};
    frame_add(&masked, 0x81, "servers don't mask", 18, true);
    peer_send(p, masked.p, masked.n);
    buf_free(&masked);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_PROTOCOL);
    assert_int_equal(t.closes, 1);
}

static void a_lost_connection_is_no_good_end(void **state)
{
    struct ws_request r = {0};
    (void)state;
    fake_hang_up(open_one(&r));
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_int_equal(t.code, 1006);
    assert_true(t.flags & CHELA_RETRY);
    fake_reset(open_one(&r));
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
}

static void closes_from_our_side(void **state)
{
    struct ws_request r = {0};
    char text[100];
    (void)state;
    struct peer *p = open_one(&r);
    ws_send(t.id, CHELA_WS_CLOSE, 4000, chela_s("reason"));
    struct frame f = next_frame(p, text, sizeof text);
    assert_int_equal(f.first, 0x88);
    assert_memory_equal(text, "\x0f\xa0reason", 8);
    assert_int_equal(t.done, 0);
    say_frame(p, 0x88, "\x0f\xa0", 2);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    p = open_one(&r);
    ws_send(t.id, CHELA_WS_CLOSE, 1000, chela_s(""));
    next_frame(p, text, sizeof text);
    clock_fake_advance(5000); /* it never answers */
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    p = open_one(&r);
    ws_cancel(t.id);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x88); /* said goodbye */
    p = open_one(&r);
    ws_forget(t.id);
    WAIT_FOR(p->eof);
    assert_int_equal(t.done, 0);
}

static void pings_and_deadlines_follow_the_clock(void **state)
{
    struct ws_request r = {.ping_ms = 30000, .timeout_ms = 7000};
    char text[100];
    (void)state;
    begin(&r);
    FAKE_REQUEST(&fake, 0); /* no answer */
    clock_fake_advance(7000);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_TIMEOUT);
    struct peer *p = open_one(&r);
    clock_fake_advance(30000);
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x89);
    say_frame(p, 0x8a, "", 0);
    WAIT_FOR(t.pongs == 1);
    clock_fake_advance(25000);
    loop_turn(false);
    assert_int_equal(t.done, 0);
    clock_fake_advance(5000);
    assert_int_equal(next_frame(p, text, sizeof text).first, 0x89);
    clock_fake_advance(25000);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
}

static void a_consumer_without_room_bounds_what_is_read(void **state)
{
    struct ws_request r = {0};
    struct buf frame = {0};
    CLEANUP(freep) char *text = xmalloc(1000);
    (void)state;
    memset(text, 'x', 1000);
    struct peer *p = open_one(&r);
    frame_add(&frame, 0x81, text, 1000, false);
    t.room = false;
    size_t sent = 0, pending = 0;
    for (int idle = 0; idle < 50;) {
        ssize_t n = send(p->fd, frame.p + pending, frame.n - pending, MSG_DONTWAIT | MSG_NOSIGNAL);
        idle = n > 0 ? 0 : idle + 1;
        sent += n > 0 ? (size_t)n : 0;
        pending = n > 0 ? (pending + (size_t)n) % frame.n : pending;
        loop_turn(false);
    }
    assert_int_equal(t.events, 1); /* OPEN alone */
    assert_true(sent < 32u << 20);
    t.room = true;
    WAIT_FOR(t.events - 1 == sent / frame.n);
    buf_free(&frame);
}

static void a_server_that_takes_nothing_is_bounded(void **state)
{
    struct ws_request r = {0};
    CLEANUP(freep) char *text = xmalloc(1 << 20);
    (void)state;
    memset(text, 'x', 1 << 20);
    struct peer *p = open_one(&r);
    peer_deafen(p);
    for (int i = 0; i < 100 && !t.done; i++) {
        ws_send(t.id, CHELA_WS_TEXT, 0, chela_sn(text, 1 << 20));
        loop_turn(false);
    }
    assert_int_equal(t.done, 1);
    assert_int_equal(t.error, CHELA_E_TOO_LONG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_has_the_answer_of_the_standard),
        TEST(shakes_hands_and_carries_messages),
        TEST(the_answer_may_be_cut_anywhere),
        TEST(refusals_have_their_class),
        TEST(what_was_not_offered_is_refused),
        TEST(urls_of_other_kinds_are_refused),
        TEST(broken_frames_end_it),
        TEST(a_lost_connection_is_no_good_end),
        TEST(closes_from_our_side),
        TEST(pings_and_deadlines_follow_the_clock),
        TEST(a_consumer_without_room_bounds_what_is_read),
        TEST(a_server_that_takes_nothing_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
