/*
 * The life of an outgoing request, and the scheduler that alone adds, removes and resumes libcurl's
 * handles: it runs before each poll and works off those with news. libcurl's callbacks and
 * deadlines only write into the struct and put it on the list.
 */
#include "net/http_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/loop.h"
#include "host/worklist.h"

enum { CONNECT_MS = 10 * 1000, IDLE_MS = 120 * 1000, TOTAL_MS = 120 * 1000 };

struct http_setup http_defaults;

static struct {
    struct map by_id;
    struct link all;
    struct worklist work;
    uint64_t last_id;
} pool;

void http_work(struct http *h)
{
    worklist_add(&pool.work, &h->work);
}

void http_finished(void *arg, CURLcode result)
{
    struct http *h = arg;
    h->finished = true;
    h->result = result;
    http_work(h);
}

void http_stop(struct http *h, uint32_t class, const char *text)
{
    if (h->stop_class || (h->finished && class != CHELA_E_CANCELLED))
        return;
    h->stop_class = class;
    h->stop_text = text;
    http_work(h);
}

/* Deadlines. */

static void connect_late(void *arg)
{
    struct http *h = arg;
    h->connect_timer = 0;
    http_stop(h, CHELA_E_TIMEOUT, "no connection in time");
}

static void total_late(void *arg)
{
    struct http *h = arg;
    h->total_timer = 0;
    http_stop(h, CHELA_E_TIMEOUT, "the answer took too long");
}

static void idle_late(void *arg)
{
    struct http *h = arg;
    uint64_t now = clock_ticks_ms(), due = h->active + h->idle_ms;
    h->idle_timer = 0;
    if (h->paused || h->in.n) /* it is we who don't read */
        due = now + h->idle_ms;
    if (due <= now)
        http_stop(h, CHELA_E_TIMEOUT, "nothing came for too long");
    else
        h->idle_timer = loop_timer(due - now, idle_late, h);
}

static void stop_timers(struct http *h)
{
    loop_timer_stop(h->connect_timer);
    loop_timer_stop(h->total_timer);
    loop_timer_stop(h->idle_timer);
    h->connect_timer = h->total_timer = h->idle_timer = 0;
}

/* Events. */

static void tell(struct http *h, struct chela_str name, struct chela_str data, struct chela_str id)
{
    struct chela_http_event e = {.h.size = sizeof e,
                                 .h.call = h->id,
                                 .status = h->status,
                                 .name = name,
                                 .data = data,
                                 .id = id,
                                 .retry_ms = h->sse.retry_ms};
    if (h->ops && h->ops->event && h->stop_class != CHELA_E_CANCELLED)
        h->ops->event(h->owner, h->id, &e);
}

static void tell_head(struct http *h)
{
    struct chela_pair *pairs = answer_pairs(h);
    struct chela_http_event e = {.h.size = sizeof e,
                                 .h.call = h->id,
                                 .status = h->status,
                                 .headers = {pairs, h->head_count}};
    h->head_due = false;
    if (h->ops && h->ops->event && h->stop_class != CHELA_E_CANCELLED)
        h->ops->event(h->owner, h->id, &e);
    free(pairs);
}

static void on_event(void *arg, struct chela_str name, struct chela_str data, struct chela_str id)
{
    tell(arg, name, data, id);
}

static void on_line(void *arg, struct chela_str line)
{
    tell(arg, chela_s(""), line, chela_s(""));
}

/* Gives the decoder what has come; false while the consumer has no room. */
static bool drain(struct http *h)
{
    int result = 0;
    if (!h->in.n)
        return true;
    if (h->ops && h->ops->room && !h->stop_class && !h->ops->room(h->owner))
        return false;
    if (h->decode == CHELA_SSE)
        result = sse_feed(&h->sse, h->in.p, h->in.n);
    else
        result = lines_feed(&h->lines, h->in.p, h->in.n);
    h->taken += h->in.n;
    buf_clear(&h->in);
    if (result < 0 && !h->failed.class)
        error_set(&h->failed, CHELA_E_TOO_LONG, "%s: a piece of the stream is longer than %d bytes",
                  h->host, HTTP_EVENT_LIMIT);
    else if (h->taken > h->limit && !h->failed.class)
        error_set(&h->failed, CHELA_E_TOO_LONG, "%s: the answer is longer than %llu bytes", h->host,
                  (unsigned long long)h->limit);
    return true;
}

static void end_of_stream(struct http *h)
{
    if (!h->streaming || h->result != CURLE_OK || h->failed.class || h->stop_class)
        return;
    if (h->decode == CHELA_SSE)
        sse_end(&h->sse);
    else
        lines_end(&h->lines);
}

/* The scheduler. */

static void leave_multi(struct http *h)
{
    if (h->in_multi)
        multi_remove(h->easy);
    h->in_multi = false;
    if (h->easy)
        multi_handle_free(h->easy);
    h->easy = NULL;
    easy_forget(h);
}

static void http_free(struct http *h)
{
    stop_timers(h);
    leave_multi(h);
    map_remove_number(&pool.by_id, h->id);
    list_remove(&h->link);
    list_remove(&h->work);
    sse_close(&h->sse);
    lines_close(&h->lines);
    buf_free(&h->body);
    buf_free(&h->head);
    buf_free(&h->in);
    buf_free(&h->whole);
    for (size_t i = 0; i < h->header_count; i++) {
        free((void *)(uintptr_t)h->headers[i].name.s);
        free((void *)(uintptr_t)h->headers[i].value.s);
    }
    free(h->headers);
    free(h->method);
    free(h->url);
    free(h->host);
    free(h);
}

/* Sends the request of this hop. */
static void begin(struct http *h)
{
    h->finished = h->connected = h->paused = h->streaming = false;
    h->status = 0;
    h->head_count = 0;
    h->error_text[0] = 0;
    h->result = CURLE_OK;
    buf_clear(&h->head);
    buf_clear(&h->whole);
    h->easy = multi_handle_new();
    if (easy_set(h, &h->failed) != 0) {
        h->finished = true;
        return;
    }
    loop_timer_stop(h->connect_timer);
    h->connect_timer = loop_timer(h->connect_ms, connect_late, h);
    h->in_multi = multi_add(h->easy) == 0;
    if (!h->in_multi) {
        h->finished = true;
        h->result = CURLE_FAILED_INIT;
    }
}

static void finish(struct http *h)
{
    end_of_stream(h);
    if (!h->failed.class && !h->stop_class && h->result == CURLE_OK && !h->guarded && h->easy &&
        redirect_follow(h, &h->failed) == 1) {
        leave_multi(h);
        begin(h);
        if (!h->finished)
            return;
    }
    stop_timers(h);
    leave_multi(h);
    map_remove_number(&pool.by_id, h->id); /* a cancel from inside done finds nothing */
    answer_done(h);
    http_free(h);
}

/* Does what is due; false: its consumer has no room. */
static bool step(struct link *work)
{
    struct http *h = CONTAINER_OF(work, struct http, work);
    if (!h->easy && !h->finished && !h->stop_class)
        begin(h);
    if (h->connected && h->connect_timer) {
        loop_timer_stop(h->connect_timer);
        h->connect_timer = 0;
    }
    h->active = clock_ticks_ms();
    if (h->head_due)
        tell_head(h);
    bool room = drain(h);
    if (h->stop_class || h->failed.class || (h->finished && room)) {
        finish(h);
        return true;
    }
    if (room && h->paused) {
        h->paused = false;
        multi_resume(h->easy);
    }
    return room;
}

static bool before_poll(void)
{
    return worklist_run(&pool.work, step);
}

/* What others call. */

void http_open(const struct http_setup *setup)
{
    http_defaults.ca_file = xstrdup(setup->ca_file);
    http_defaults.proxy = xstrdup(setup->proxy);
    http_defaults.no_proxy = xstrdup(setup->no_proxy);
    http_defaults.connect_ms = setup->connect_ms ? setup->connect_ms : CONNECT_MS;
    http_defaults.proxy_is_public = setup->proxy_is_public;
    list_init(&pool.all);
    worklist_open(&pool.work);
    multi_open();
    loop_before_poll(before_poll);
}

void http_close(void)
{
    LIST_EACH(l, &pool.all)
    {
        http_free(CONTAINER_OF(l, struct http, link));
    }
    map_free(&pool.by_id, NULL);
    memset(&pool.by_id, 0, sizeof pool.by_id);
    multi_close();
    free((void *)(uintptr_t)http_defaults.ca_file);
    free((void *)(uintptr_t)http_defaults.proxy);
    free((void *)(uintptr_t)http_defaults.no_proxy);
    memset(&http_defaults, 0, sizeof http_defaults);
}

uint64_t http_start(const struct http_request *r, const struct http_ops *ops, void *owner)
{
    struct http *h = xcalloc(1, sizeof *h);
    bool stream = r->decode == CHELA_SSE || r->decode == CHELA_LINES;
    h->id = ++pool.last_id;
    h->ops = ops;
    h->owner = owner;
    h->method = xstrdup(r->method && *r->method ? r->method : "GET");
    h->url = xstrdup(r->url);
    buf_str(&h->body, r->body);
    h->headers = xcalloc(r->headers.n + 1, sizeof *h->headers);
    h->header_count = r->headers.n;
    for (size_t i = 0; i < h->header_count; i++) {
        h->headers[i].name.s = xmemdup(r->headers.v[i].name.s, r->headers.v[i].name.n);
        h->headers[i].name.n = r->headers.v[i].name.n;
        h->headers[i].value.s = xmemdup(r->headers.v[i].value.s, r->headers.v[i].value.n);
        h->headers[i].value.n = r->headers.v[i].value.n;
    }
    h->decode = stream ? r->decode : (uint32_t)CHELA_BODY;
    h->flags = r->flags;
    h->limit = r->limit ? r->limit : 64u << 20;
    h->connect_ms = r->connect_ms ? r->connect_ms : http_defaults.connect_ms;
    h->idle_ms = r->idle_ms ? r->idle_ms : IDLE_MS;
    h->timeout_ms = r->timeout_ms || stream ? r->timeout_ms : TOTAL_MS;
    h->fill = r->fill;
    h->fill_arg = r->fill_arg;
    h->active = clock_ticks_ms();
    sse_open(&h->sse, HTTP_EVENT_LIMIT, on_event, h);
    lines_open(&h->lines, HTTP_EVENT_LIMIT, on_line, h);
    list_init(&h->work);
    list_append(&pool.all, &h->link);
    map_set_number(&pool.by_id, h->id, h);
    if (h->timeout_ms)
        h->total_timer = loop_timer(h->timeout_ms, total_late, h);
    h->idle_timer = loop_timer(h->idle_ms, idle_late, h);
    http_work(h);
    return h->id;
}

void http_cancel(uint64_t id)
{
    struct http *h = map_get_number(&pool.by_id, id);
    if (h)
        http_stop(h, CHELA_E_CANCELLED, "cancelled");
}

void http_forget(uint64_t id)
{
    struct http *h = map_get_number(&pool.by_id, id);
    if (!h)
        return;
    h->ops = NULL;
    http_stop(h, CHELA_E_CANCELLED, "cancelled");
}

unsigned http_count(void)
{
    return (unsigned)pool.by_id.count;
}
