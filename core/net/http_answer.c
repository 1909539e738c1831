/*
 * The answer's side of a request: headers are collected, and an end, good or bad, becomes a struct
 * chela_done. Called by libcurl (answer_header, which only writes) and by http.c.
 */
#include "net/http_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"

enum { RETRY_AFTER_MAX_S = 7 * 24 * 3600 };

/* The head is whole: where will the body go? */
static void head_came(struct http *h)
{
    long status = 0;
    curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    h->status = (unsigned)status;
    h->streaming = h->decode != CHELA_BODY && status >= 200 && status < 300;
    const char *type = answer_find(h, "content-type");
    const char *encoding = answer_find(h, "content-encoding");
    /* a service that doesn't stream answers whole */
    if (h->decode == CHELA_SSE && type && strncasecmp(type, "application/json", 16) == 0)
        h->streaming = false;
    if (h->decode != CHELA_BODY && encoding && strcasecmp(encoding, "identity") != 0)
        http_stop(h, CHELA_E_PROTOCOL, "the answer is compressed, which was not asked for");
    if (h->streaming && (h->flags & CHELA_HEAD)) {
        h->head_due = true;
        http_work(h);
    }
}

size_t answer_header(char *p, size_t size, size_t count, void *arg)
{
    struct http *h = arg;
    size_t n = size * count, length = n;
    while (length && (p[length - 1] == '\n' || p[length - 1] == '\r'))
        length--;
    if (n > 5 && memcmp(p, "HTTP/", 5) == 0) { /* one after an interim answer, or a proxy's */
        buf_clear(&h->head);
        h->head_count = 0;
        return n;
    }
    if (length == 0) {
        head_came(h);
        return n;
    }
    const char *colon = memchr(p, ':', length);
    if (!colon)
        return n;
    if (h->head.n + length > HTTP_HEADERS_LIMIT) {
        http_stop(h, CHELA_E_TOO_LONG, "the head of the answer is too long");
        return n;
    }
    for (const char *c = p; c < colon; c++)
        buf_char(&h->head, (char)tolower((unsigned char)*c));
    buf_char(&h->head, 0);
    const char *value = colon + 1, *end = p + length;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    buf_add(&h->head, value, (size_t)(end - value));
    buf_char(&h->head, 0);
    h->head_count++;
    return n;
}

const char *answer_find(const struct http *h, const char *name)
{
    const char *p = h->head.p, *end = p + h->head.n;
    for (size_t i = 0; i < h->head_count && p < end; i++) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, name) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

uint32_t http_class(unsigned status, bool *ret_retry)
{
    static const struct {
        unsigned status;
        uint32_t class;
        bool retry;
    } table[] = {
        {401, CHELA_E_AUTH, false},        {402, CHELA_E_QUOTA, false},
        {403, CHELA_E_AUTH, false},        {404, CHELA_E_NOT_FOUND, false},
        {405, CHELA_E_UNSUPPORTED, false}, {408, CHELA_E_TIMEOUT, true},
        {409, CHELA_E_CONFLICT, false},    {410, CHELA_E_NOT_FOUND, false},
        {413, CHELA_E_TOO_LONG, false},    {425, CHELA_E_BUSY, true},
        {429, CHELA_E_RATE, true},         {451, CHELA_E_REFUSED, false},
        {501, CHELA_E_UNSUPPORTED, false}, {503, CHELA_E_OVERLOADED, true},
        {504, CHELA_E_TIMEOUT, true},      {529, CHELA_E_OVERLOADED, true},
    };
    *ret_retry = status >= 500;
    if (status < 400)
        return CHELA_OK;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        if (table[i].status == status) {
            *ret_retry = table[i].retry;
            return table[i].class;
        }
    return status >= 500 ? CHELA_E_NETWORK : CHELA_E_ARGS;
}

uint32_t answer_curl_class(CURLcode code, bool *ret_retry)
{
    *ret_retry = false;
    switch (code) {
    case CURLE_URL_MALFORMAT: return CHELA_E_ARGS;
    case CURLE_OPERATION_TIMEDOUT: *ret_retry = true; return CHELA_E_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER: return CHELA_E_NETWORK; /* the same again will fail again */
    case CURLE_UNSUPPORTED_PROTOCOL:               /* HTTP/0.9, that is, no HTTP at all */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING: return CHELA_E_PROTOCOL;
    default: *ret_retry = true; return CHELA_E_NETWORK;
    }
}

/* retry-after-ms, or retry-after in seconds (some send fractions) or as a date. */
static uint64_t retry_after(const struct http *h)
{
    const char *text = answer_find(h, "retry-after-ms");
    double scale = 1;
    if (!text) {
        text = answer_find(h, "retry-after");
        scale = 1000;
    }
    if (!text || !*text)
        return 0;
    double ms;
    if (strspn(text, "0123456789.") == strlen(text)) {
        ms = strtod(text, NULL) * scale;
    } else {
        time_t when = curl_getdate(text, NULL);
        uint64_t now = clock_now_ms() / 1000;
        ms = when < 0 || (uint64_t)when <= now ? 0 : ((double)when - (double)now) * 1000;
    }
    return ms > RETRY_AFTER_MAX_S * 1000.0 ? RETRY_AFTER_MAX_S * 1000u : (uint64_t)ms;
}

static bool repeatable(const struct http *h)
{
    return strcmp(h->method, "GET") == 0 || strcmp(h->method, "HEAD") == 0;
}

/* What went wrong below HTTP; false if nothing did. */
static bool failure(const struct http *h, struct error *e)
{
    const char *host = h->host ? h->host : "the server";
    if (h->stop_class && h->stop_text) {
        error_set(e, h->stop_class, "%s: %s", host, h->stop_text);
        e->retry = h->stop_class == CHELA_E_TIMEOUT;
    } else if (h->guarded) {
        error_set(e, CHELA_E_DENIED, "%s leads to an address that is not public", host);
    } else if (h->too_long) {
        error_set(e, CHELA_E_TOO_LONG, "%s: the answer is longer than %llu bytes", host,
                  (unsigned long long)h->limit);
    } else if (h->result != CURLE_OK) {
        bool retry;
        uint32_t class = answer_curl_class(h->result, &retry);
        error_set(e, class, "%s: %s", host,
                  *h->error_text ? h->error_text : curl_easy_strerror(h->result));
        e->retry = retry;
    } else {
        return false;
    }
    return true;
}

struct chela_pair *answer_pairs(const struct http *h)
{
    struct chela_pair *pairs = xcalloc(h->head_count + 1, sizeof *pairs);
    const char *p = h->head.p;
    for (size_t i = 0; i < h->head_count; i++) {
        pairs[i].name = chela_s(p);
        p += strlen(p) + 1;
        pairs[i].value = chela_s(p);
        p += strlen(p) + 1;
    }
    return pairs;
}

void answer_done(struct http *h)
{
    struct chela_done d = {.h.size = sizeof d, .h.call = h->id, .http_status = h->status};
    struct error e = {0};
    struct chela_pair *pairs = answer_pairs(h);
    d.headers.v = pairs;
    d.headers.n = h->head_count;
    if (h->failed.class || failure(h, &e)) {
        if (h->failed.class)
            e = h->failed;
        d.error = e.class;
        d.text = chela_s(e.text);
        d.h.flags = e.retry ? (uint32_t)CHELA_RETRY : 0;
        if (h->connected && !repeatable(h))
            d.h.flags |= CHELA_EFFECT; /* it may have been done, we just don't know */
    } else {
        bool retry;
        d.error = http_class(h->status, &retry);
        d.text = buf_view(&h->whole);
        d.h.flags = retry ? (uint32_t)CHELA_RETRY : 0;
    }
    d.retry_after_ms = retry_after(h);
    if (h->ops)
        h->ops->done(h->owner, h->id, &d);
    free(pairs);
}
