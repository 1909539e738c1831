/*
 * For tests of the HTTP client: one scripted server, one request at a time, and what came of it.
 */
#ifndef CHELA_TESTS_NET_HTTP_KIT_H
#define CHELA_TESTS_NET_HTTP_KIT_H

#include "net_fake.h"

#include "base/clock.h"
#include "net/http.h"

#define NOW_MS 1800000000000u /* 2027-01-15T08:00:00Z */

static struct fake fake;

static struct {
    unsigned done, events, calls_inside;
    uint32_t error, flags;
    unsigned status;
    uint64_t retry_after;
    struct buf text, log, headers;
    bool room, starting;
    uint64_t cancel_in_event;
} t;

static inline void on_event(void *owner, uint64_t id, const struct chela_http_event *e)
{
    assert_ptr_equal(owner, &t);
    assert_false(t.starting);
    t.events++;
    if (t.log.n < 100000) {
        buf_str(&t.log, e->name);
        buf_char(&t.log, '|');
        buf_str(&t.log, e->data);
        buf_char(&t.log, ';');
    }
    if (t.cancel_in_event) {
        t.cancel_in_event = 0;
        http_cancel(id);
    }
}

static inline void on_done(void *owner, uint64_t id, const struct chela_done *d)
{
    assert_ptr_equal(owner, &t);
    assert_false(t.starting);
    assert_int_equal(d->h.call, id);
    t.done++;
    t.error = d->error;
    t.flags = d->h.flags;
    t.status = d->http_status;
    t.retry_after = d->retry_after_ms;
    buf_clear(&t.text);
    buf_str(&t.text, d->text);
    buf_clear(&t.headers);
    for (uint64_t i = 0; i < d->headers.n; i++) {
        buf_str(&t.headers, d->headers.v[i].name);
        buf_char(&t.headers, '=');
        buf_str(&t.headers, d->headers.v[i].value);
        buf_char(&t.headers, '\n');
    }
}

static inline bool has_room(void *owner)
{
    (void)owner;
    return t.room;
}

static const struct http_ops ops = {on_event, on_done, has_room};

static inline int start(void **state)
{
    struct http_setup setup = {.proxy = ""};
    (void)state;
    memset(&t, 0, sizeof t);
    t.room = true;
    clock_fake(NOW_MS);
    loop_open();
    http_open(&setup);
    fake_open(&fake);
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    fake_close(&fake);
    http_close();
    assert_int_equal(loop_close(), 0);
    clock_fake_end();
    buf_free(&t.text);
    buf_free(&t.log);
    buf_free(&t.headers);
    return 0;
}

static inline uint64_t begin(struct http_request *r, const char *path)
{
    CLEANUP(freep) char *url = xprintf("http://127.0.0.1:%u%s", fake.port, path);
    r->url = url;
    t.starting = true;
    uint64_t id = http_start(r, &ops, &t);
    t.starting = false;
    assert_true(id != 0);
    return id;
}

static inline uint64_t get(uint32_t decode)
{
    struct http_request r = {.method = "GET", .decode = decode};
    return begin(&r, "/");
}

/* One request, one answer. */
static inline void exchange(uint32_t decode, const char *answer)
{
    unsigned before = fake.count;
    t.done = 0;
    get(decode);
    FAKE_REQUEST(&fake, before);
    peer_say(&fake.peers[before], answer);
    fake_hang_up(&fake.peers[before]);
    WAIT_FOR(t.done);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
