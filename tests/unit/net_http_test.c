/* The HTTP client against a scripted server: answers of all kinds, streams, redirects, secrets and
 * the guard of addresses. */
#include "net_http_kit.h"

static void a_whole_answer_with_its_headers(void **state)
{
    struct chela_pair headers[] = {{CHELA_LIT("X-One"), CHELA_LIT("1")},
                                   {CHELA_LIT("X-Empty"), CHELA_LIT("")}};
    struct http_request r = {
        .method = "POST", .body = CHELA_LIT("{\"a\":1}"), .headers = {headers, 2}};
    (void)state;
    begin(&r, "/path?q=1");
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    assert_true(peer_has(p, "POST /path?q=1 HTTP/1.1\r\n"));
    assert_true(peer_has(p, "\r\nX-One: 1\r\n"));
    assert_true(peer_has(p, "\r\nX-Empty:\r\n"));
    assert_true(peer_has(p, "\r\nUser-Agent: Chela/"));
    assert_true(peer_has(p, "\r\n\r\n{\"a\":1}"));
    assert_false(peer_has(p, "Expect:"));
    assert_false(peer_has(p, "Content-Type:"));
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Reply: Yes\r\n\r\nhello");
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.status, 200);
    assert_string_equal(buf_text(&t.text), "hello");
    assert_non_null(strstr(buf_text(&t.headers), "x-reply=Yes\n"));
    assert_int_equal(http_count(), 0);
}

static void connections_are_used_again(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 3; i++) {
        get(CHELA_BODY);
        FAKE_REQUEST(&fake, 0);
        buf_clear(&fake.peers[0].in);
        peer_say(&fake.peers[0], "HTTP/1.1 204 No Content\r\n\r\n");
        WAIT_FOR(t.done == i);
    }
    assert_int_equal(fake.count, 1);
}

static void an_interim_answer_is_passed_over(void **state)
{
    (void)state;
    exchange(CHELA_BODY, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n"
                         "HTTP/1.1 200 OK\r\nX-Late: 2\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(t.status, 200);
    assert_null(strstr(buf_text(&t.headers), "x-early"));
    assert_non_null(strstr(buf_text(&t.headers), "x-late=2"));
}

static void events_and_lines_come_as_they_are_sent(void **state)
{
    (void)state;
    get(CHELA_SSE);
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                "Transfer-Encoding: chunked\r\n\r\n");
    peer_say(p, "10\r\nevent: a\ndata: 1\r\n");
    loop_turn(false);
    assert_int_equal(t.events, 0);
    peer_say(p, "2\r\n\n\n\r\n");
    WAIT_FOR(t.events == 1);
    peer_say(p, "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    assert_string_equal(buf_text(&t.log), "a|1;message|2;");
    assert_string_equal(buf_text(&t.text), "");
    fake_hang_up(p);
    buf_clear(&t.log);
    exchange(CHELA_LINES, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"a\":1}\n{\"b\":2}\n");
    assert_string_equal(buf_text(&t.log), "|{\"a\":1};|{\"b\":2};");
    /* a stream was asked for, a whole document came */
    buf_clear(&t.log);
    exchange(CHELA_SSE, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: 2\r\n\r\n{}");
    assert_string_equal(buf_text(&t.log), "");
    assert_string_equal(buf_text(&t.text), "{}");
}

static void each_status_has_its_class(void **state)
{
    static const struct {
        unsigned status;
        uint32_t class;
        bool retry;
    } table[] = {
        {400, CHELA_E_ARGS, false},      {401, CHELA_E_AUTH, false},
        {402, CHELA_E_QUOTA, false},     {403, CHELA_E_AUTH, false},
        {404, CHELA_E_NOT_FOUND, false}, {408, CHELA_E_TIMEOUT, true},
        {413, CHELA_E_TOO_LONG, false},  {422, CHELA_E_ARGS, false},
        {429, CHELA_E_RATE, true},       {500, CHELA_E_NETWORK, true},
        {502, CHELA_E_NETWORK, true},    {503, CHELA_E_OVERLOADED, true},
        {504, CHELA_E_TIMEOUT, true},    {529, CHELA_E_OVERLOADED, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        CLEANUP(freep)
        char *answer = xprintf("HTTP/1.1 %u X\r\nContent-Length: 4\r\n\r\nbody", table[i].status);
        exchange(i % 2 ? CHELA_SSE : CHELA_BODY, answer);
        assert_int_equal(t.error, table[i].class);
        assert_int_equal(t.status, table[i].status);
        assert_int_equal(t.flags & CHELA_RETRY, table[i].retry);
        assert_string_equal(buf_text(&t.text), "body");
    }
    assert_int_equal(t.events, 0);
}

static void retry_after_in_all_its_forms(void **state)
{
    (void)state;
#define LATER(header) "HTTP/1.1 429 X\r\nContent-Length: 0\r\n" header "\r\n\r\n"
    exchange(CHELA_BODY, LATER("Retry-After: 7"));
    assert_int_equal(t.retry_after, 7000);
    exchange(CHELA_BODY, LATER("Retry-After: 0.5"));
    assert_int_equal(t.retry_after, 500);
    exchange(CHELA_BODY, LATER("Retry-After: 7\r\nretry-after-ms: 1234"));
    assert_int_equal(t.retry_after, 1234);
    exchange(CHELA_BODY, LATER("Retry-After: Fri, 15 Jan 2027 08:01:30 GMT"));
    assert_int_equal(t.retry_after, 90000);
    exchange(CHELA_BODY, LATER("Retry-After: Fri, 15 Jan 2027 07:01:30 GMT"));
    assert_int_equal(t.retry_after, 0);
    exchange(CHELA_BODY, LATER("Retry-After: soon"));
    assert_int_equal(t.retry_after, 0);
    exchange(CHELA_BODY, LATER("Retry-After: 99999999999999"));
    assert_int_equal(t.retry_after, 7u * 24 * 3600 * 1000);
}

static void redirects(void **state)
{
    struct chela_pair headers[] = {{CHELA_LIT("Authorization"), CHELA_LIT("Bearer k")},
                                   {CHELA_LIT("X-Api-Key"), CHELA_LIT("k")},
                                   {CHELA_LIT("X-Plain"), CHELA_LIT("p")}};
    struct http_request r = {.method = "POST", .body = CHELA_LIT("b"), .headers = {headers, 3}};
    static struct fake other;
    (void)state;
    fake_open(&other);
    begin(&r, "/a");
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    buf_clear(&p->in);
    peer_say(p, "HTTP/1.1 307 X\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    FAKE_REQUEST(&fake, 0); /* the same connection */
    assert_true(peer_has(p, "POST /b HTTP/1.1") && peer_has(p, "Bearer k"));
    assert_true(peer_has(p, "\r\n\r\nb"));
    buf_clear(&p->in);
    CLEANUP(freep)
    char *away = xprintf("HTTP/1.1 303 X\r\nLocation: http://127.0.0.1:%u/c\r\n"
                         "Content-Length: 0\r\n\r\n",
                         other.port);
    peer_say(p, away);
    FAKE_REQUEST(&other, 0);
    assert_true(peer_has(&other.peers[0], "GET /c HTTP/1.1"));
    assert_true(peer_has(&other.peers[0], "X-Plain: p"));
    assert_false(peer_has(&other.peers[0], "Bearer")); /* credentials stay with their host */
    assert_false(peer_has(&other.peers[0], "X-Api-Key"));
    CLEANUP(freep)
    char *back = xprintf("HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:%u/d\r\n"
                         "Content-Length: 0\r\n\r\n",
                         fake.port);
    peer_say(&other.peers[0], back);
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(p, "GET /d HTTP/1.1"));
    assert_false(peer_has(p, "Bearer")); /* nor do they come back on another's word */
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    fake_close(&other);
}

static void redirects_end(void **state)
{
    struct http_request r = {.method = "GET"};
    (void)state;
    begin(&r, "/");
    struct peer *p = &fake.peers[0];
    for (int i = 0; i < 6; i++) {
        FAKE_REQUEST(&fake, 0);
        buf_clear(&p->in);
        peer_say(p, "HTTP/1.1 302 X\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
    }
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_E_PROTOCOL);
    r.flags = CHELA_NO_REDIRECT;
    begin(&r, "/");
    WAIT_FOR(fake.count > 0 && (fake.count > 1 || fake_whole(&fake.peers[0])));
    unsigned n = fake.count - 1;
    FAKE_REQUEST(&fake, n);
    peer_say(&fake.peers[n], "HTTP/1.1 302 X\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.status, 302);
    assert_non_null(strstr(buf_text(&t.headers), "location=/x"));
    r.flags = 0;
    begin(&r, "/");
    buf_clear(&fake.peers[n].in);
    FAKE_REQUEST(&fake, n);
    peer_say(&fake.peers[n], "HTTP/1.1 302 X\r\nLocation: file:///etc/passwd\r\n"
                             "Content-Length: 0\r\n\r\n");
    WAIT_FOR(t.done == 3);
    assert_int_not_equal(t.error, CHELA_OK);
}

static void what_is_not_public_is_refused_after_resolution(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost",  "[::1]",
                                        "0.0.0.0",   "2130706433", "127.1"};
    struct http_request r = {.method = "GET", .flags = CHELA_PUBLIC};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(hosts); i++) {
        CLEANUP(freep) char *url = xprintf("http://%s:%u/", hosts[i], fake.port);
        r.url = url;
        http_start(&r, &ops, &t);
        WAIT_FOR(t.done == i + 1);
        assert_int_equal(t.error, CHELA_E_DENIED);
    }
    assert_int_equal(fake.count, 0);
}

static int fill_secret(void *arg, const char *url, struct chela_str text, struct buf *out,
                       struct error *e)
{
    (void)arg;
    if (!memmem(text.s, text.n, "${secret:", 9)) {
        buf_str(out, text);
        return 0;
    }
    if (!strstr(url, "/allowed"))
        return error_set(e, CHELA_E_DENIED, "not to this host");
    buf_puts(out, "Bearer s3cret");
    return 0;
}

static void secrets_are_filled_in_where_they_may_go(void **state)
{
    struct chela_pair header = {CHELA_LIT("Authorization"), CHELA_LIT("Bearer ${secret:key}")};
    struct http_request r = {.method = "GET", .headers = {&header, 1}, .fill = fill_secret};
    (void)state;
    begin(&r, "/allowed");
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(&fake.peers[0], "Authorization: Bearer s3cret\r\n"));
    peer_say(&fake.peers[0], "HTTP/1.1 204 X\r\n\r\n");
    WAIT_FOR(t.done == 1);
    begin(&r, "/other");
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_DENIED);
    assert_string_equal(buf_text(&t.text), "not to this host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_answer_with_its_headers),
        TEST(connections_are_used_again),
        TEST(an_interim_answer_is_passed_over),
        TEST(events_and_lines_come_as_they_are_sent),
        TEST(each_status_has_its_class),
        TEST(retry_after_in_all_its_forms),
        TEST(redirects),
        TEST(redirects_end),
        TEST(what_is_not_public_is_refused_after_resolution),
        TEST(secrets_are_filled_in_where_they_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
