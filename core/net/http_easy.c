/*
 * A request becomes options of a libcurl handle: method, URL, headers, body, what may be reused.
 * Secrets are filled in here, for the URL of this hop. Called by http.c from the top of the loop.
 */
#include "net/http_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/http_head.h"

static size_t body_came(char *p, size_t size, size_t count, void *arg)
{
    struct http *h = arg;
    size_t n = size * count;
    if (h->stop_class)
        return n; /* on its way out */
    if (h->streaming && h->in.n >= HTTP_WINDOW) {
        h->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    size_t limit = h->limit;
    if (h->decode != CHELA_BODY && !h->streaming && limit > HTTP_ERROR_LIMIT)
        limit = HTTP_ERROR_LIMIT;
    if (!h->streaming && h->whole.n + n > limit) {
        h->too_long = true;
        return 0;
    }
    buf_add(h->streaming ? &h->in : &h->whole, p, n);
    http_work(h);
    return n;
}

static int about_to_send(void *arg, char *a, char *b, int c, int d)
{
    struct http *h = arg;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    h->connected = true;
    http_work(h);
    return CURL_PREREQFUNC_OK;
}

static int progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                    curl_off_t up)
{
    struct http *h = arg;
    (void)down_total;
    (void)down;
    (void)up_total;
    if (up != h->uploaded) {
        h->uploaded = up;
        http_work(h);
    }
    return 0;
}

int easy_fill(struct http *h, struct chela_str text, struct buf *out, struct error *e)
{
    if (h->fill)
        return h->fill(h->fill_arg, h->url, text, out, e);
    buf_str(out, text);
    return 0;
}

static void append(struct http *h, const char *line)
{
    struct curl_slist *list = curl_slist_append(h->list, line);
    if (!list)
        abort();
    h->list = list;
}

/* Names of headers that carry credentials, whatever fills them. */
static bool is_credential(struct chela_str name)
{
    static const char *const names[] = {
        "authorization", "proxy-authorization", "cookie",       "x-api-key",
        "api-key",       "x-goog-api-key",      "x-auth-token", "x-access-token"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (name.n == strlen(names[i]) && strncasecmp(name.s, names[i], name.n) == 0)
            return true;
    return false;
}

static int add_header(struct http *h, const struct chela_pair *pair, struct error *e)
{
    struct buf line = {0};
    int result = -1;
    bool secret = memmem(pair->value.s, pair->value.n, "${secret:", 9) != NULL;
    if (h->foreign && (secret || is_credential(pair->name)))
        return 0;
    buf_str(&line, pair->name);
    buf_puts(&line, ": ");
    size_t name_n = line.n;
    if (!http_head_is_token(pair->name)) {
        error_set(e, CHELA_E_ARGS, "\"%.*s\" is no name of a header", (int)pair->name.n,
                  pair->name.s);
    } else if (easy_fill(h, pair->value, &line, e) == 0) {
        if (!http_head_is_value(line.p + name_n, line.n - name_n)) {
            error_set(e, CHELA_E_ARGS, "the header %.*s has a line break in its value",
                      (int)pair->name.n, pair->name.s);
        } else {
            if (line.n == name_n) { /* libcurl's way to send an empty one */
                line.n -= 2;
                buf_char(&line, ';');
            }
            append(h, buf_text(&line));
            result = 0;
        }
    }
    if (line.n)
        explicit_bzero(line.p, line.n);
    buf_free(&line);
    return result;
}

static int set_headers(struct http *h, struct error *e)
{
    bool type = false, agent = false;
    for (size_t i = 0; i < h->header_count; i++) {
        const struct chela_pair *p = &h->headers[i];
        if (add_header(h, p, e) != 0)
            return -1;
        type = type || (p->name.n == 12 && strncasecmp(p->name.s, "content-type", 12) == 0);
        agent = agent || (p->name.n == 10 && strncasecmp(p->name.s, "user-agent", 10) == 0);
    }
    if (!type)
        append(h, "Content-Type:"); /* none, rather than libcurl's guess of a form */
    CLEANUP(freep) char *own = xprintf("User-Agent: Chela/%u.%u", CHELA_MAJOR, CHELA_MINOR);
    if (!agent)
        append(h, own);
    append(h, "Expect:"); /* no round trip before a body */
    curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->list);
    return 0;
}

static int set_method(struct http *h, struct error *e)
{
    struct chela_str method = chela_s(h->method);
    if (!http_head_is_token(method))
        return error_set(e, CHELA_E_ARGS, "\"%s\" is no HTTP method", h->method);
    if (strcmp(h->method, "HEAD") == 0) {
        curl_easy_setopt(h->easy, CURLOPT_NOBODY, 1L);
        return 0;
    }
    bool post = strcmp(h->method, "POST") == 0;
    if (h->body.n || post) {
        curl_easy_setopt(h->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, buf_text(&h->body));
        curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)h->body.n);
    } else {
        curl_easy_setopt(h->easy, CURLOPT_HTTPGET, 1L);
    }
    if (!post && strcmp(h->method, "GET") != 0)
        curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, h->method);
    else if (!post && h->body.n)
        curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, "GET");
    return 0;
}

static int set_url(struct http *h, struct error *e)
{
    struct buf url = {0};
    int result = easy_fill(h, chela_s(h->url), &url, e);
    free(h->host);
    h->host = NULL;
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL;
    if (result == 0 && (!http_head_is_value(url.p, url.n) ||
                        curl_url_set(parsed, CURLUPART_URL, buf_text(&url), 0) != CURLUE_OK ||
                        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
                        curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
                        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)))
        result = error_set(e, CHELA_E_ARGS, "\"%s\" is no http or https URL", h->url);
    if (result == 0) {
        h->host = xstrdup(host);
        curl_easy_setopt(h->easy, CURLOPT_URL, buf_text(&url));
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parsed);
    if (url.n)
        explicit_bzero(url.p, url.n);
    buf_free(&url);
    return result;
}

int easy_set(struct http *h, struct error *e)
{
    CURL *c = h->easy;
    bool stream = h->decode != CHELA_BODY;
    h->user.finished = http_finished;
    h->user.arg = h;
    curl_easy_setopt(c, CURLOPT_PRIVATE, &h->user);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, h->error_text);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_came);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, answer_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, h);
    curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, about_to_send);
    curl_easy_setopt(c, CURLOPT_PREREQDATA, h);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)h->connect_ms);
    if (h->body.n > HTTP_WINDOW) {
        curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, progress);
        curl_easy_setopt(c, CURLOPT_XFERINFODATA, h);
        curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    }
    /* With HTTP/2 the windows are so large that pausing bounds nothing. A compressed piece could
     * grow a thousandfold in front of a paused reader, so streams come plain. */
    if (stream)
        curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    else
        curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    if (!stream)
        curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
    if (h->flags & CHELA_PUBLIC) {
        if (http_defaults.proxy_is_public && http_defaults.proxy && *http_defaults.proxy) {
            curl_easy_setopt(c, CURLOPT_NOPROXY, ""); /* all of it through the proxy */
        } else {
            curl_easy_setopt(c, CURLOPT_PROXY, "");
            curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, guard_open);
            curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, &h->guarded);
        }
        /* a connection that another request opened was not looked at */
        curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
    }
    if (set_url(h, e) != 0 || set_method(h, e) != 0)
        return -1;
    return set_headers(h, e);
}

void easy_forget(struct http *h)
{
    for (struct curl_slist *l = h->list; l; l = l->next)
        explicit_bzero(l->data, strlen(l->data));
    curl_slist_free_all(h->list);
    h->list = NULL;
}
