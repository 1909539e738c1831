/*
 * What the files of the HTTP client share: http.c (life of a request, the scheduler), http_multi.c
 * (libcurl on the loop), http_easy.c (a request becomes options of libcurl), http_answer.c (headers
 * and errors become a done), http_redirect.c, http_guard.c (addresses). Included by nobody else but
 * ws_client.c, which opens its connections through http_multi.c.
 */
#ifndef NET_HTTP_PRIVATE_H
#define NET_HTTP_PRIVATE_H

#include "net/http.h"

#include <curl/curl.h>

#include "base/lines.h"
#include "base/list.h"
#include "net/sse.h"

enum {
    HTTP_WINDOW = 64 << 10,     /* bytes taken ahead of a stream's consumer */
    HTTP_EVENT_LIMIT = 3 << 20, /* longest event or line */
    HTTP_HEADERS_LIMIT = 256 << 10,
    HTTP_ERROR_LIMIT = 1 << 20, /* body of an answer that isn't 2xx, where a stream was wanted */
    HTTP_REDIRECTS = 5
};

/* CURLOPT_PRIVATE of a handle: who is told by DONE. */
struct multi_user {
    void (*finished)(void *arg, CURLcode result);
    void *arg;
};

struct http {
    uint64_t id;
    const struct http_ops *ops; /* NULL: nobody wants to know */
    void *owner;
    CURL *easy;
    struct multi_user user;
    bool in_multi;
    char error_text[CURL_ERROR_SIZE];

    /* the request, owned copies */
    char *method, *url; /* the URL of this hop, as the caller wrote it */
    char *host;         /* of this hop, for messages */
    struct buf body;
    struct chela_pair *headers;
    size_t header_count;
    struct curl_slist *list;
    uint32_t decode, flags, timeout_ms, idle_ms, connect_ms;
    uint64_t limit;
    int (*fill)(void *arg, const char *url, struct chela_str text, struct buf *out,
                struct error *e);
    void *fill_arg;
    unsigned redirects;
    bool foreign; /* a redirect led to another host: credentials stay behind */
    bool guarded; /* an address was refused */
    curl_off_t uploaded;

    /* the answer; callbacks of libcurl only write here */
    unsigned status;
    struct buf head; /* "name\0value\0" ... of the last head */
    size_t head_count;
    struct buf in; /* bytes that no decoder has seen */
    struct buf whole;
    bool streaming; /* the body goes to the decoder */
    bool head_due;  /* CHELA_HEAD: the head is there and has not been told */
    bool connected, paused, too_long, finished;
    CURLcode result;
    uint32_t stop_class; /* we ended it: a deadline, a cancel, the guard ... */
    const char *stop_text;
    struct error failed; /* our own verdict on request or answer */
    uint64_t taken;      /* bytes that the decoder has got */
    struct sse sse;
    struct lines lines;

    uint64_t connect_timer, total_timer, idle_timer, active; /* active: when bytes last came */
    struct link link;                                        /* all */
    struct link work;                                        /* for the scheduler */
};

/* http.c */
extern struct http_setup http_defaults;
void http_work(struct http *h);
void http_finished(void *h, CURLcode result);
void http_stop(struct http *h, uint32_t class, const char *text); /* ends with that, soon */

/* http_multi.c */
void multi_open(void);
void multi_close(void);
/* Only from the top of the loop, never from a callback of libcurl. `finished` is told the end of a
 * handle's transfer. */
int multi_add(CURL *easy);
void multi_remove(CURL *easy);
void multi_resume(CURL *easy);
CURL *multi_handle_new(void); /* with the options that all have */
void multi_handle_free(CURL *easy);

/* http_easy.c */
int easy_set(struct http *h, struct error *e);
void easy_forget(struct http *h);
int easy_fill(struct http *h, struct chela_str text, struct buf *out, struct error *e);

/* http_answer.c */
size_t answer_header(char *p, size_t size, size_t count, void *arg);
const char *answer_find(const struct http *h, const char *name);
struct chela_pair *answer_pairs(const struct http *h); /* head_count of them; free the array */
void answer_done(struct http *h);
uint32_t answer_curl_class(CURLcode code, bool *ret_retry);

/* http_redirect.c: 1 = the request is changed and is to be sent again, 0 = this is the answer, -1
 */
int redirect_follow(struct http *h, struct error *e);

/* http_guard.c: CURLOPT_OPENSOCKETFUNCTION that refuses what isn't a public address and then sets
 * *arg, a bool */
curl_socket_t guard_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address);
bool guard_is_public(const struct sockaddr *address);

#endif
