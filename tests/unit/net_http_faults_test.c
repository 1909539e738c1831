/* The HTTP client when things go wrong: faults of the server, deadlines, cancels, bounds, flow
 * control; with the rules of libcurl on our loop. */
#include "net_http_kit.h"

static void faults_of_the_server_have_their_class(void **state)
{
    struct http_request post = {.method = "POST", .body = CHELA_LIT("x")};
    (void)state;
    exchange(CHELA_BODY, "garbage\r\n\r\n");
    assert_int_equal(t.error, CHELA_E_PROTOCOL);
    exchange(CHELA_BODY, "");
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_true(t.flags & CHELA_RETRY);
    assert_false(t.flags & CHELA_EFFECT); /* it was a GET */
    exchange(CHELA_BODY, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly so much");
    assert_int_equal(t.error, CHELA_E_NETWORK);
    exchange(CHELA_SSE, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n");
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_int_equal(t.events, 0); /* half an event is none */
    unsigned n = fake.count;
    t.done = 0;
    begin(&post, "/");
    FAKE_REQUEST(&fake, n);
    fake_reset(&fake.peers[n]);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_true(t.flags & CHELA_EFFECT); /* nobody knows whether it was done */
    assert_non_null(strstr(buf_text(&t.text), "127.0.0.1: "));
}

static void nobody_listens(void **state)
{
    struct http_request r = {.method = "GET"};
    (void)state;
    uint16_t port = fake.port;
    fake_close(&fake);
    CLEANUP(freep) char *url = xprintf("http://127.0.0.1:%u/", port);
    r.url = url;
    http_start(&r, &ops, &t);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_true(t.flags & CHELA_RETRY);
    assert_int_equal(t.status, 0);
    fake_open(&fake);
}

static void bad_requests_end_by_done_too(void **state)
{
    static const char *const urls[] = {"ftp://x/", "file:///etc/passwd", "no url", "http://", ""};
    struct chela_pair header = {CHELA_LIT("A"), CHELA_LIT("b\r\nEvil: 1")};
    struct chela_pair name = {CHELA_LIT("A b"), CHELA_LIT("c")};
    struct http_request r = {.method = "GET", .headers = {&header, 1}};
    (void)state;
    begin(&r, "/");
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_E_ARGS);
    r.headers.v = &name;
    begin(&r, "/");
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_ARGS);
    r.headers.n = 0;
    r.method = "GE T";
    begin(&r, "/");
    WAIT_FOR(t.done == 3);
    assert_int_equal(t.error, CHELA_E_ARGS);
    r.method = "GET";
    for (unsigned i = 0; i < ARRAY_LENGTH(urls); i++) {
        r.url = urls[i];
        http_start(&r, &ops, &t);
        WAIT_FOR(t.done == 4 + i);
        assert_int_equal(t.error, CHELA_E_ARGS);
    }
    assert_int_equal(fake.count, 0);
}

static void deadlines_follow_the_clock(void **state)
{
    struct http_request r = {.method = "GET", .timeout_ms = 5000, .idle_ms = 2000};
    (void)state;
    begin(&r, "/"); /* nothing comes */
    FAKE_REQUEST(&fake, 0);
    clock_fake_advance(1999);
    loop_turn(false);
    assert_int_equal(t.done, 0);
    clock_fake_advance(1);
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_E_TIMEOUT);
    assert_true(t.flags & CHELA_RETRY);
    WAIT_FOR(fake.peers[0].eof); /* the connection went with it */
    begin(&r, "/");              /* drips */
    FAKE_REQUEST(&fake, 1);
    peer_say(&fake.peers[1], "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    for (int i = 0; i < 4; i++) {
        peer_say(&fake.peers[1], "x");
        loop_turn(true);
        loop_turn(false);
        clock_fake_advance(1000);
        loop_turn(false);
    }
    assert_int_equal(t.done, 1);
    clock_fake_advance(1000);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_TIMEOUT);
    r.timeout_ms = 0;
    r.decode = CHELA_SSE; /* no limit for all of it */
    begin(&r, "/");
    FAKE_REQUEST(&fake, 2);
    peer_say(&fake.peers[2], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    for (unsigned i = 1; i <= 200; i++) {
        peer_say(&fake.peers[2], "data: x\n\n");
        WAIT_FOR(t.events == i);
        clock_fake_advance(1500);
    }
    fake_hang_up(&fake.peers[2]);
    WAIT_FOR(t.done == 3);
    assert_int_equal(t.error, CHELA_OK);
}

static void a_connection_that_does_not_come_about_is_given_up(void **state)
{
    struct http_request r = {.method = "GET", .connect_ms = 3000};
    (void)state;
    /* a full backlog takes no more: connects hang */
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), full[3];
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 0), 0);
    getsockname(listener, (struct sockaddr *)&at, &n);
    for (int i = 0; i < 3; i++) {
        full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(full[i], (struct sockaddr *)&at, sizeof at);
    }
    CLEANUP(freep) char *url = xprintf("http://127.0.0.1:%u/", ntohs(at.sin_port));
    r.url = url;
    http_start(&r, &ops, &t);
    for (int i = 0; i < 5; i++)
        loop_turn(false);
    assert_int_equal(t.done, 0);
    clock_fake_advance(3000);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_TIMEOUT);
    for (int i = 0; i < 3; i++)
        close(full[i]);
    close(listener);
}

static void bodies_are_bounded(void **state)
{
    struct http_request r = {.method = "GET", .limit = 1000};
    CLEANUP(freep) char *zeros = xcalloc(1, 2000);
    (void)state;
    begin(&r, "/");
    FAKE_REQUEST(&fake, 0);
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n");
    peer_send(&fake.peers[0], zeros, 2000);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_TOO_LONG);
}

/* `size` zeros as a zlib stream (RFC 1950, 1951): one, and then matches of 258 bytes at distance 1,
 * in a block of fixed codes, 13 bits for each 258 bytes. */
static void pack_zeros(struct buf *out, size_t size)
{
    uint64_t bits = 3; /* last block, fixed codes: 1, 01 */
    unsigned count = 3;
    size_t matches = (size - 1) / 258;
    assert_int_equal(matches * 258 + 1, size);
    buf_add(out, "\x78\x01", 2);
    for (size_t i = 0; i < matches + 2; i++) {
        /* codes begin with their highest bit: literal 0 is 00110000, length 258 is 11000101 with
         * distance 1, 00000; the end is 0000000 */
        uint64_t code = i == 0 ? 0x0c : i <= matches ? 0xa3 : 0;
        bits |= code << count;
        count += i == 0 ? 8 : i <= matches ? 13 : 7;
        for (; count >= 8; count -= 8, bits >>= 8)
            buf_char(out, (char)bits);
    }
    buf_char(out, (char)bits);
    uint32_t adler = (uint32_t)(size % 65521) << 16 | 1;
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_char(out, (char)(adler >> shift));
}

static void bodies_are_bounded_also_unpacked(void **state)
{
    struct http_request r = {.method = "GET", .limit = 1 << 20};
    size_t size = 258u * 130000u + 1;
    struct buf out = {0}, packed = {0};
    (void)state;
    pack_zeros(&packed, size);
    assert_true(packed.n < size / 150);
    buf_printf(&out, "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: %zu\r\n\r\n",
               packed.n);
    buf_str(&out, buf_view(&packed));
    begin(&r, "/");
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(&fake.peers[0], "Accept-Encoding: "));
    peer_send(&fake.peers[0], out.p, out.n);
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_E_TOO_LONG);
    r.limit = 64u << 20; /* the same, where it may be so long */
    begin(&r, "/");
    FAKE_REQUEST(&fake, 1);
    peer_send(&fake.peers[1], out.p, out.n);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.text.n, size);
    buf_free(&out);
    buf_free(&packed);
}

static void cancel_and_forget(void **state)
{
    (void)state;
    uint64_t id = get(CHELA_BODY);
    http_cancel(id); /* before it has begun */
    assert_int_equal(t.done, 0);
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
    http_cancel(id);
    http_cancel(12345678);
    unsigned n = fake.count;
    id = get(CHELA_BODY);
    FAKE_REQUEST(&fake, n);
    http_cancel(id);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
    id = get(CHELA_BODY);
    FAKE_REQUEST(&fake, n + 1);
    http_forget(id);
    WAIT_FOR(fake.peers[n + 1].eof);
    assert_int_equal(t.done, 2);
    assert_int_equal(http_count(), 0);
    get(CHELA_LINES); /* from inside an event: no event follows */
    t.cancel_in_event = 1;
    FAKE_REQUEST(&fake, n + 2);
    peer_say(&fake.peers[n + 2], "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na\nb\nc\n");
    WAIT_FOR(t.done == 3);
    assert_int_equal(t.events, 1);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
}

static void a_consumer_without_room_bounds_what_is_read(void **state)
{
    (void)state;
    struct http_request r = {.method = "GET", .decode = CHELA_LINES};
    begin(&r, "/");
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    t.room = false;
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n");
    size_t sent = 0;
    CLEANUP(freep) char *line = xmalloc(1000);
    memset(line, 'x', 999);
    line[999] = '\n';
    alarm(30);
    for (int idle = 0; idle < 50;) { /* until neither side's buffers take more */
        ssize_t n = send(p->fd, line, 1000, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        if (n > 0 && n < 1000) /* keep whole lines */
            while (n < 1000) {
                ssize_t more = send(p->fd, line + n, 1000 - (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (more > 0) {
                    n += more;
                    sent += (size_t)more;
                } else {
                    break;
                }
                loop_turn(false);
            }
        idle = n < 1000 ? idle + 1 : 0;
        loop_turn(false);
        if (n < 1000 && n > 0)
            break;
    }
    alarm(0);
    assert_int_equal(t.events, 0);
    assert_true(sent < 32u << 20);      /* the kernel's buffers, not ours */
    clock_fake_advance(10 * 60 * 1000); /* no idle time while it is we who don't read */
    loop_turn(false);
    assert_int_equal(t.done, 0);
    t.room = true;
    WAIT_FOR(t.events > 0 && t.events >= sent / 1000 - 1);
    http_cancel(1);
}

static void ten_thousand_chunks_arrive_in_order(void **state)
{
    struct buf out = {0};
    (void)state;
    get(CHELA_SSE);
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    buf_puts(&out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10000; i++)
        buf_puts(&out, "10\r\ndata: {\"t\":\"x\"}\r\n2\r\n\n\n\r\n");
    buf_puts(&out, "0\r\n\r\n");
    for (size_t at = 0; at < out.n;) {
        size_t n = out.n - at < 7001 ? out.n - at : 7001;
        peer_send(p, out.p + at, n);
        at += n;
        loop_turn(false);
    }
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.events, 10000);
    buf_free(&out);
}

static void a_stream_that_is_compressed_unasked_is_an_error(void **state)
{
    (void)state;
    get(CHELA_SSE);
    FAKE_REQUEST(&fake, 0);
    assert_false(peer_has(&fake.peers[0], "Accept-Encoding"));
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b");
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_PROTOCOL);
}

static void removal_during_a_look_up_does_not_block(void **state)
{
    struct http_request r = {.method = "GET", .url = "http://look-up-that-hangs.invalid/"};
    (void)state;
    uint64_t id = http_start(&r, &ops, &t);
    loop_turn(false);
    clock_fake_end();
    uint64_t begun = clock_ticks_ms();
    http_cancel(id);
    WAIT_FOR(t.done);
    assert_true(clock_ticks_ms() - begun < 500);
    clock_fake(NOW_MS);
    assert_true(t.error == CHELA_E_CANCELLED || t.error == CHELA_E_NETWORK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(faults_of_the_server_have_their_class),
        TEST(nobody_listens),
        TEST(bad_requests_end_by_done_too),
        TEST(deadlines_follow_the_clock),
        TEST(a_connection_that_does_not_come_about_is_given_up),
        TEST(bodies_are_bounded),
        TEST(bodies_are_bounded_also_unpacked),
        TEST(cancel_and_forget),
        TEST(a_consumer_without_room_bounds_what_is_read),
        TEST(ten_thousand_chunks_arrive_in_order),
        TEST(a_stream_that_is_compressed_unasked_is_an_error),
        TEST(removal_during_a_look_up_does_not_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
