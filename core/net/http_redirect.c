/*
 * Redirects, followed here and not by libcurl, which knows only two headers that must not go to
 * another host. Called by http.c when an answer is whole.
 */
#include "net/http_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool is_redirect(const struct http *h)
{
    return h->status == 301 || h->status == 302 || h->status == 303 || h->status == 307 ||
           h->status == 308;
}

/* "scheme host port" of a URL, "" if it is none. */
static char *origin(const char *url, bool *ret_https)
{
    CURLU *u = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL, *result = xstrdup("");
    if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        free(result);
        result = xprintf("%s %s %s", scheme, host, port);
        *ret_https = strcmp(scheme, "https") == 0;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(u);
    return result;
}

int redirect_follow(struct http *h, struct error *e)
{
    char *to = NULL, *from = NULL;
    if (!is_redirect(h) || (h->flags & CHELA_NO_REDIRECT) || !answer_find(h, "location"))
        return 0;
    if (++h->redirects > HTTP_REDIRECTS)
        return error_set(e, CHELA_E_PROTOCOL, "%s: more than %d redirects", h->host,
                         HTTP_REDIRECTS);
    curl_easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &to);
    curl_easy_getinfo(h->easy, CURLINFO_EFFECTIVE_URL, &from);
    if (!to || !from)
        return error_set(e, CHELA_E_PROTOCOL, "%s: a redirect to nowhere", h->host);
    bool https_from = false, https_to = false;
    CLEANUP(freep) char *old = origin(from, &https_from);
    CLEANUP(freep) char *new = origin(to, &https_to);
    if (!*new)
        return error_set(e, CHELA_E_PROTOCOL, "%s: a redirect to what is no URL", h->host);
    if (https_from && !https_to)
        return error_set(e, CHELA_E_PROTOCOL, "%s: a redirect from https to http", h->host);
    if (strcmp(old, new) != 0) {
        h->foreign = true;
        if (memmem(buf_text(&h->body), h->body.n, "${secret:", 9))
            return error_set(e, CHELA_E_DENIED, "%s: a redirect to another host", h->host);
    }
    if (h->status == 303 || (h->status < 303 && strcmp(h->method, "POST") == 0)) {
        if (strcmp(h->method, "HEAD") != 0) {
            free(h->method);
            h->method = xstrdup("GET");
        }
        buf_free(&h->body);
    }
    free(h->url);
    h->url = xstrdup(to);
    return 1;
}
