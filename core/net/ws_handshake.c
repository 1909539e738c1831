/*
 * The HTTP half of a WebSocket client: see ws_handshake.h.
 */
#include "net/ws_handshake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>
#include <openssl/evp.h>

#include "base/id.h"
#include "base/mem.h"
#include "net/http_head.h"

void ws_handshake_key(char key[WS_KEY_SIZE])
{
    unsigned char bytes[16];
    id_bytes(bytes, sizeof bytes);
    EVP_EncodeBlock((unsigned char *)key, bytes, sizeof bytes);
}

void ws_handshake_accept(const char *key, char out[32])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    CLEANUP(freep) char *text = xprintf("%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    if (!EVP_Digest(text, strlen(text), digest, &n, EVP_sha1(), NULL))
        abort();
    EVP_EncodeBlock((unsigned char *)out, digest, (int)n);
}

char *ws_handshake_url(const char *url, struct error *e)
{
    if (strncasecmp(url, "ws://", 5) == 0)
        return xprintf("http://%s", url + 5);
    if (strncasecmp(url, "wss://", 6) == 0)
        return xprintf("https://%s", url + 6);
    error_set(e, CHELA_E_ARGS, "\"%s\" is no ws or wss URL", url);
    return NULL;
}

static int add_headers(const struct ws_request *r, struct buf *out, struct error *e)
{
    for (uint64_t i = 0; i < r->headers.n; i++) {
        const struct chela_pair *p = &r->headers.v[i];
        size_t begin = out->n;
        if (!http_head_is_token(p->name))
            return error_set(e, CHELA_E_ARGS, "\"%.*s\" is no name of a header", (int)p->name.n,
                             p->name.s);
        buf_str(out, p->name);
        buf_puts(out, ": ");
        if (r->fill && r->fill(r->fill_arg, r->url, p->value, out, e) != 0)
            return -1;
        if (!r->fill)
            buf_str(out, p->value);
        if (!http_head_is_value(out->p + begin, out->n - begin))
            return error_set(e, CHELA_E_ARGS, "the header %.*s has a line break in its value",
                             (int)p->name.n, p->name.s);
        buf_puts(out, "\r\n");
    }
    return 0;
}

int ws_handshake_request(const struct ws_request *r, const char *url, const char *key,
                         struct buf *out, struct error *e)
{
    CURLU *u = curl_url();
    char *host = NULL, *port = NULL, *path = NULL, *query = NULL;
    int result = -1;
    if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_PATH, &path, 0) != CURLUE_OK) {
        error_set(e, CHELA_E_ARGS, "\"%s\" is no ws or wss URL", r->url);
        goto out;
    }
    curl_url_get(u, CURLUPART_PORT, &port, 0); /* where it was given */
    curl_url_get(u, CURLUPART_QUERY, &query, 0);
    buf_printf(out, "GET %s%s%s HTTP/1.1\r\nHost: %s%s%s\r\n", path, query ? "?" : "",
               query ? query : "", host, port ? ":" : "", port ? port : "");
    buf_printf(out,
               "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: %s\r\n",
               key);
    if (r->protocols && *r->protocols)
        buf_printf(out, "Sec-WebSocket-Protocol: %s\r\n", r->protocols);
    if (add_headers(r, out, e) != 0)
        goto out;
    buf_printf(out, "User-Agent: Chela/%u.%u\r\n\r\n", CHELA_MAJOR, CHELA_MINOR);
    result = 0;
out:
    curl_free(host);
    curl_free(port);
    curl_free(path);
    curl_free(query);
    curl_url_cleanup(u);
    return result;
}

/* The value of a header in a head, into out; false if it isn't there. */
static bool find(const char *head, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    out[0] = 0;
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) != 0 || line[n] != ':')
            continue;
        const char *value = line + n + 1;
        value += strspn(value, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\r\n"), value);
        return true;
    }
    return false;
}

static int check_upgrade(const char *head, const char *key, const char *protocols,
                         struct ws_answer *ret, struct error *e)
{
    char upgrade[64], connection[128], accept[64], wanted[32], extensions[64];
    ws_handshake_accept(key, wanted);
    find(head, "upgrade", upgrade, sizeof upgrade);
    find(head, "connection", connection, sizeof connection);
    find(head, "sec-websocket-accept", accept, sizeof accept);
    if (strcasecmp(upgrade, "websocket") != 0 || !http_head_has_token(connection, "upgrade") ||
        strcmp(accept, wanted) != 0)
        return error_set(e, CHELA_E_PROTOCOL, "the server answers 101, but speaks no WebSocket");
    if (find(head, "sec-websocket-extensions", extensions, sizeof extensions) && *extensions)
        return error_set(e, CHELA_E_PROTOCOL, "the server uses an extension that was not offered");
    if (find(head, "sec-websocket-protocol", ret->protocol, sizeof ret->protocol) &&
        !http_head_has_token(protocols ? protocols : "", ret->protocol))
        return error_set(e, CHELA_E_PROTOCOL, "the server chose a protocol that was not offered");
    return 1;
}

int ws_handshake_answer(struct chela_str in, const char *key, const char *protocols,
                        struct ws_answer *ret, struct error *e)
{
    memset(ret, 0, sizeof *ret);
    const char *end = memmem(in.s, in.n, "\r\n\r\n", 4);
    size_t shown = in.n < 8 ? in.n : 8;
    if (memcmp(in.s, "HTTP/1.1", shown) != 0 || (!end && in.n > WS_HEAD_LIMIT))
        return error_set(e, CHELA_E_PROTOCOL, "the server speaks no HTTP/1.1");
    if (!end)
        return 0;
    ret->head_length = (size_t)(end + 4 - in.s);
    CLEANUP(freep) char *head = xmemdup(in.s, ret->head_length - 2);
    if (strlen(head) != ret->head_length - 2 || strspn(head + 9, "0123456789") != 3)
        return error_set(e, CHELA_E_PROTOCOL, "the server speaks no HTTP/1.1");
    ret->status = (unsigned)strtoul(head + 9, NULL, 10);
    if (ret->status < 100)
        return error_set(e, CHELA_E_PROTOCOL, "the server answers with status %u", ret->status);
    char length[32];
    if (find(head, "content-length", length, sizeof length))
        ret->body_length = strtoul(length, NULL, 10);
    return ret->status == 101 ? check_upgrade(head, key, protocols, ret, e) : 1;
}
