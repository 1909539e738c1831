/* The HTTP server over real sockets: requests, strictness, deadlines, streams, and the rules of
 * libmicrohttpd on our loop (doc/architecture.md), each as a test. */
#include "net_peer.h"

#include "base/clock.h"
#include "net/server.h"

static struct {
    struct server *server;
    struct server_limits limits;
    unsigned requests, gone, drained, stream_drained, passes;
    int64_t take;
    bool answer_later;
    char method[16], path[256], query[256], body[4096], host[256];
    size_t body_length;
    struct server_request *last;
} t;

static const struct chela_pairs none;

static bool count_passes(void)
{
    t.passes++;
    return false;
}

static int64_t on_head(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    return strcmp(head->path, "/secret") == 0 ? -401 : t.take;
}

static void on_gone(void *arg, struct server_request *r)
{
    (void)arg;
    if (t.last == r)
        t.last = NULL;
    t.gone++;
}

static void on_request(void *arg, struct server_request *r, const struct server_head *head,
                       struct chela_str body)
{
    (void)arg;
    t.requests++;
    snprintf(t.method, sizeof t.method, "%s", head->method);
    snprintf(t.path, sizeof t.path, "%s", head->path);
    snprintf(t.query, sizeof t.query, "%s", head->query);
    const char *host = server_header(r, "host");
    snprintf(t.host, sizeof t.host, "%s", host ? host : "");
    t.body_length = body.n;
    snprintf(t.body, sizeof t.body, "%.*s", (int)(body.n < 4000 ? body.n : 4000), body.s);
    assert_true(head->loopback);
    assert_string_equal(head->remote, "127.0.0.1");
    if (t.answer_later) {
        t.last = r;
        server_on_gone(r, on_gone, NULL);
    } else {
        struct chela_pair extra = {CHELA_LIT("X-Extra"), CHELA_LIT("yes")};
        struct chela_pairs headers = {&extra, 1};
        server_answer(r, 200, "text/plain", headers, chela_s("hello"));
    }
}

static int on_upgrade(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return 403;
}

static void on_opened(void *arg, struct server_socket *s, const struct server_head *head)
{
    (void)arg;
    (void)s;
    (void)head;
    fail();
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
    (void)state;
    memset(&t, 0, sizeof t);
    t.limits = (struct server_limits){.connections = 64,
                                      .header_ms = 10000,
                                      .body_ms = 20000,
                                      .idle_ms = 30000,
                                      .head_bytes = 8192};
    t.take = 1000;
    clock_fake(1000000000);
    loop_open();
    loop_before_poll(count_passes);
    t.server = server_open("127.0.0.1", 0, &t.limits, &handlers, NULL, &e);
    return t.server ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    if (t.server) {
        server_close(t.server, 0, on_drained, NULL);
        WAIT_FOR((clock_fake_advance(1), t.drained));
    }
    loop_close();
    clock_fake_end();
    return 0;
}

#define REQUEST(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void answers_and_keeps_the_connection(void **state)
{
    static struct peer p;
    (void)state;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, REQUEST("/a%20b?x=%41&y"));
    WAIT_FOR(peer_has(&p, "hello"));
    assert_true(peer_has(&p, "HTTP/1.1 200"));
    assert_true(peer_has(&p, "X-Extra: yes"));
    assert_true(peer_has(&p, "Content-Type: text/plain"));
    assert_string_equal(t.path, "/a b");
    assert_string_equal(t.query, "x=%41&y");
    assert_string_equal(t.host, "localhost");
    peer_say(&p, REQUEST("/second"));
    WAIT_FOR(peer_count(&p, "hello") == 2);
    assert_string_equal(t.path, "/second");
    peer_say(&p, REQUEST("/3") REQUEST("/4") REQUEST("/5"));
    WAIT_FOR(peer_count(&p, "hello") == 5);
    assert_int_equal(t.requests, 5);
    peer_close(&p);
}

static void takes_a_body_by_length_and_by_chunks(void **state)
{
    static struct peer p;
    (void)state;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    loop_turn(false);
    peer_say(&p, "cde");
    WAIT_FOR(peer_has(&p, "hello"));
    assert_string_equal(t.body, "abcde");
    peer_say(&p, "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    peer_say(&p, "4\r\ndefg\r\n0\r\n\r\n");
    WAIT_FOR(peer_count(&p, "hello") == 2);
    assert_string_equal(t.body, "abcdefg");
    peer_say(&p,
             "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    WAIT_FOR(peer_has(&p, "100 Continue"));
    peer_say(&p, "xyz");
    WAIT_FOR(peer_count(&p, "hello") == 3);
    assert_string_equal(t.body, "xyz");
    peer_close(&p);
}

static void refuses(const char *request, const char *status)
{
    static struct peer p;
    unsigned before = t.requests;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, request);
    WAIT_FOR(p.eof);
    if (!peer_has(&p, status))
        fail_msg("%.200s: wanted \"%s\", got \"%s\"", request, status, buf_text(&p.in));
    assert_int_equal(t.requests, before);
    peer_close(&p);
}

static void refuses_what_can_be_read_in_two_ways(void **state)
{
    char many[4096] = "GET / HTTP/1.1\r\nHost: a\r\n";
    (void)state;
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            "0\r\n\r\n",
            "HTTP/1.1 400");
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "HTTP/1.1 400");
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3x\r\n\r\nabc", "HTTP/1.1 400");
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc", "HTTP/1.1 400");
    refuses("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400");
    refuses("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400");
    refuses("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400");
    refuses("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400");
    refuses("GET /%c3 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400");
    refuses("GET /a% HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400");
    for (int i = 0; i < 70; i++)
        snprintf(many + strlen(many), 32, "A%d: b\r\n", i);
    strncat(many, "\r\n", 3);
    refuses(many, "HTTP/1.1 431");
}

static void refuses_a_head_that_is_too_long(void **state)
{
    CLEANUP(freep) char *text = NULL;
    CLEANUP(freep) char *request = NULL;
    (void)state;
    text = xmalloc(20001);
    memset(text, 'a', 20000);
    text[20000] = 0;
    request = xprintf("GET / HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n", text);
    refuses(request, "HTTP/1.1 431");
}

static void the_head_handler_refuses_before_the_body(void **state)
{
    static struct peer p;
    (void)state;
    refuses("POST /secret HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd", "HTTP/1.1 401");
    refuses("POST /secret HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n", "HTTP/1.1 401");
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
            "HTTP/1.1 413");
    /* no length said: noticed while it comes */
    CLEANUP(freep) char *piece = xmalloc(1501);
    memset(piece, 'x', 1500);
    piece[1500] = 0;
    CLEANUP(freep)
    char *request = xprintf("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "5dc\r\n%s\r\n0\r\n\r\n",
                            piece);
    refuses(request, "HTTP/1.1 413");
    /* and one that goes on for ever is cut */
    peer_connect(&p, server_port(t.server));
    peer_say(&p, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    alarm(30);
    while (!p.eof) {
        peer_say(&p, "5dc\r\n");
        peer_say(&p, piece);
        peer_say(&p, "\r\n");
        loop_turn(false);
    }
    alarm(0);
    assert_int_equal(t.requests, 0);
    peer_close(&p);
}

static void slow_heads_bodies_and_idle_connections_are_cut(void **state)
{
    static struct peer head, body, idle;
    (void)state;
    peer_connect(&head, server_port(t.server));
    peer_connect(&body, server_port(t.server));
    peer_connect(&idle, server_port(t.server));
    peer_say(&head, "GET / HT");
    peer_say(&body, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    peer_say(&idle, REQUEST("/"));
    WAIT_FOR(peer_has(&idle, "hello"));
    for (int i = 0; i < 9; i++) { /* drips do not help */
        clock_fake_advance(1000);
        peer_say(&head, "T");
        loop_turn(false);
    }
    assert_false(head.eof);
    clock_fake_advance(1001);
    WAIT_FOR(head.eof);
    assert_false(body.eof);
    clock_fake_advance(10000);
    WAIT_FOR(body.eof);
    assert_false(idle.eof);
    clock_fake_advance(10000);
    WAIT_FOR(idle.eof);
    assert_int_equal(t.requests, 1);
    peer_close(&head);
    peer_close(&body);
    peer_close(&idle);
}

static void connections_beyond_the_limit_are_closed(void **state)
{
    static struct peer p[66];
    (void)state;
    for (int i = 0; i < 66; i++)
        peer_connect(&p[i], server_port(t.server));
    WAIT_FOR(p[64].eof && p[65].eof);
    peer_say(&p[0], REQUEST("/"));
    WAIT_FOR(peer_has(&p[0], "hello"));
    for (int i = 0; i < 66; i++)
        peer_close(&p[i]);
}

static void a_waiting_request_costs_no_passes_and_notices_its_client_leaving(void **state)
{
    static struct peer p, other;
    (void)state;
    t.answer_later = true;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, REQUEST("/"));
    WAIT_FOR(t.last);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    unsigned before = t.passes;
    for (int i = 0; i < 10; i++)
        loop_turn(false);
    assert_true(t.passes - before <= 30); /* a few for each turn, no spinning */
    peer_connect(&other, server_port(t.server));
    peer_say(&other, REQUEST("/"));
    WAIT_FOR(t.requests == 2);
    struct server_request *second = t.last;
    peer_close(&p);
    WAIT_FOR(t.gone == 1);
    assert_non_null(second);
    server_answer(second, 200, NULL, none, chela_s("late"));
    WAIT_FOR(peer_has(&other, "late"));
    peer_close(&other);
    assert_int_equal(t.gone, 1);
}

static void pipelined_bytes_behind_a_waiting_request_do_not_spin(void **state)
{
    static struct peer p;
    (void)state;
    t.answer_later = true;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, REQUEST("/1") REQUEST("/2"));
    WAIT_FOR(t.last);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    unsigned before = t.passes;
    for (int i = 0; i < 10; i++)
        loop_turn(false);
    assert_true(t.passes - before <= 30);
    assert_int_equal(t.requests, 1);
    server_answer(t.last, 200, NULL, none, chela_s("one"));
    t.last = NULL;
    WAIT_FOR(t.last);
    server_answer(t.last, 200, NULL, none, chela_s("two"));
    WAIT_FOR(peer_has(&p, "two"));
    peer_close(&p);
}

static void a_client_that_leaves_before_it_has_sent_all_reaches_no_handler(void **state)
{
    static struct peer p;
    (void)state;
    peer_connect(&p, server_port(t.server));
    peer_say(&p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    for (int i = 0; i < 5; i++)
        loop_turn(false);
    peer_close(&p);
    peer_connect(&p, server_port(t.server));
    peer_say(&p, REQUEST("/"));
    WAIT_FOR(peer_has(&p, "hello"));
    assert_int_equal(t.requests, 1);
    peer_close(&p);
}

static void stream_drained(void *arg, struct server_request *r)
{
    (void)arg;
    (void)r;
    t.stream_drained++;
}

static struct server_request *begin_stream(struct peer *p)
{
    t.answer_later = true;
    peer_connect(p, server_port(t.server));
    peer_say(p, REQUEST("/"));
    WAIT_FOR(t.last);
    server_stream(t.last, 200, "text/event-stream", none, true);
    server_stream_on_drained(t.last, stream_drained, NULL);
    return t.last;
}

static void pieces_of_one_pass_leave_in_one_chunk(void **state)
{
    static struct peer p;
    (void)state;
    struct server_request *r = begin_stream(&p);
    for (int i = 0; i < 3; i++)
        server_stream_write(r, chela_s("data: x\n\n"));
    WAIT_FOR(peer_has(&p, "data: x\n\ndata: x\n\ndata: x\n\n"));
    assert_true(peer_has(&p, "\r\n1B\r\n")); /* 27 bytes */
    assert_true(peer_has(&p, "X-Accel-Buffering: no"));
    WAIT_FOR(t.stream_drained == 1);
    assert_int_equal(server_stream_waiting(r), 0);
    server_stream_write(r, chela_s("data: y\n\n"));
    server_stream_end(r);
    WAIT_FOR(peer_has(&p, "data: y\n\n\r\n0\r\n\r\n"));
    peer_say(&p, REQUEST("/again")); /* the connection is of use still */
    WAIT_FOR(t.requests == 2);
    peer_close(&p);
    WAIT_FOR(t.gone == 1);
}

static void a_silent_stream_does_not_spin_and_sends_comments(void **state)
{
    static struct peer p;
    (void)state;
    struct server_request *r = begin_stream(&p);
    server_stream_write(r, chela_s("data: x\n\n"));
    WAIT_FOR(peer_has(&p, "data: x"));
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    unsigned before = t.passes;
    for (int i = 0; i < 10; i++)
        loop_turn(false);
    assert_true(t.passes - before <= 30);
    for (unsigned i = 1; i <= 4; i++) {
        clock_fake_advance(15000);
        WAIT_FOR(peer_count(&p, "3\r\n:\n\n\r\n") == i);
    }
    server_stream_end(r);
    peer_close(&p);
}

static void a_stream_notices_at_once_that_its_client_left(void **state)
{
    static struct peer p;
    (void)state;
    struct server_request *r = begin_stream(&p);
    server_stream_write(r, chela_s("data: x\n\n"));
    WAIT_FOR(peer_has(&p, "data: x"));
    peer_close(&p);
    WAIT_FOR(t.gone == 1);
}

static void a_stream_whose_client_reads_nothing_is_bounded(void **state)
{
    static struct peer p;
    (void)state;
    struct server_request *r = begin_stream(&p);
    peer_deafen(&p);
    CLEANUP(freep) char *piece = xcalloc(1, 1 << 16);
    size_t most = 0;
    alarm(30);
    while (!t.gone) {
        server_stream_write(r, chela_sn(piece, 1 << 16));
        if (t.last && server_stream_waiting(r) > most)
            most = server_stream_waiting(r);
        loop_turn(false);
    }
    alarm(0);
    assert_in_range(most, 1 << 20, (8 << 20) + (1 << 16));
    peer_close(&p);
}

static void a_stream_without_progress_for_a_minute_is_cut(void **state)
{
    static struct peer p;
    (void)state;
    struct server_request *r = begin_stream(&p);
    peer_deafen(&p);
    CLEANUP(freep) char *piece = xcalloc(1, 7 << 20);
    server_stream_write(r, chela_sn(piece, 7 << 20));
    for (int i = 0; i < 300; i++)
        loop_turn(false);
    for (int i = 0; i < 5 && !t.gone; i++) {
        clock_fake_advance(15000);
        loop_turn(false);
        loop_turn(false);
    }
    WAIT_FOR(t.gone == 1);
    peer_close(&p);
}

static void closing_with_a_suspended_request_ends_in_order(void **state)
{
    static struct peer waiting, streaming, idle;
    (void)state;
    struct server_request *r = begin_stream(&streaming);
    server_stream_write(r, chela_s("data: x\n\n"));
    peer_connect(&waiting, server_port(t.server));
    peer_say(&waiting, REQUEST("/"));
    WAIT_FOR(t.requests == 2);
    struct server_request *second = t.last;
    peer_connect(&idle, server_port(t.server));
    loop_turn(false);
    server_close(t.server, 5000, on_drained, NULL);
    WAIT_FOR(idle.eof);
    assert_int_equal(t.drained, 0);
    server_answer(second, 200, NULL, none, chela_s("still answered"));
    WAIT_FOR(peer_has(&waiting, "still answered") && waiting.eof);
    assert_true(peer_has(&waiting, "Connection: close"));
    assert_int_equal(t.drained, 0);
    clock_fake_advance(5001); /* the stream outlives the grace and is cut */
    WAIT_FOR(t.drained == 1);
    assert_int_equal(t.gone, 1);
    t.server = NULL;
    peer_close(&waiting);
    peer_close(&streaming);
    peer_close(&idle);
}

static void a_port_in_use_is_said_so(void **state)
{
    struct error e;
    (void)state;
    assert_null(server_open("127.0.0.1", server_port(t.server), &t.limits, &handlers, NULL, &e));
    assert_non_null(strstr(e.text, "already in use"));
    assert_null(server_open("localhost", 0, &t.limits, &handlers, NULL, &e));
    assert_non_null(strstr(e.text, "numeric"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_and_keeps_the_connection),
        TEST(takes_a_body_by_length_and_by_chunks),
        TEST(refuses_what_can_be_read_in_two_ways),
        TEST(refuses_a_head_that_is_too_long),
        TEST(the_head_handler_refuses_before_the_body),
        TEST(slow_heads_bodies_and_idle_connections_are_cut),
        TEST(connections_beyond_the_limit_are_closed),
        TEST(a_waiting_request_costs_no_passes_and_notices_its_client_leaving),
        TEST(pipelined_bytes_behind_a_waiting_request_do_not_spin),
        TEST(a_client_that_leaves_before_it_has_sent_all_reaches_no_handler),
        TEST(pieces_of_one_pass_leave_in_one_chunk),
        TEST(a_silent_stream_does_not_spin_and_sends_comments),
        TEST(a_stream_notices_at_once_that_its_client_left),
        TEST(a_stream_whose_client_reads_nothing_is_bounded),
        TEST(a_stream_without_progress_for_a_minute_is_cut),
        TEST(closing_with_a_suspended_request_ends_in_order),
        TEST(a_port_in_use_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
