/*
 * The SDK's `net` group: HTTP requests and signatures of plugins, as calls. Secrets are filled in
 * here, for the hosts that the instance's own configuration names. Large bodies go to the store as
 * blobs. WebSockets: net_group_ws.c.
 */
#include "net/net_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/options.h"
#include "net/http.h"
#include "net/net_group_private.h"
#include "net/sign.h"
#include "support/json.h"

enum { BLOB_FROM = 8 << 20 };

/* A plugin's request under way. */
struct carried {
    uint64_t call, http, put; /* put: the call that stores its body */
    uint32_t decode;
    struct chela_done done; /* while the body is being stored; deep copies */
    char hash[65];
    char *extra;
    struct chela_pair *headers;
    struct link link;
};

static struct link carried_all = {&carried_all, &carried_all};

static void carried_free(struct carried *c)
{
    list_remove(&c->link);
    for (uint64_t i = 0; i < c->done.headers.n; i++) {
        free((void *)(uintptr_t)c->headers[i].name.s);
        free((void *)(uintptr_t)c->headers[i].value.s);
    }
    free(c->headers);
    free(c->extra);
    free(c);
}

int net_group_fill(void *arg, const char *url, struct chela_str text, struct buf *out,
                   struct error *e)
{
    const uint64_t *call = arg;
    if (!options_wants_secret(text)) {
        buf_str(out, text);
        return 0;
    }
    struct instance *in = call_instance(*call);
    if (!in)
        return error_set(e, CHELA_E_GONE, "the instance has closed");
    if (!options_url_allowed(instance_options(in), url))
        return error_set(e, CHELA_E_DENIED,
                         "a secret of %s may go only to the host of one of its URL options",
                         instance_name(in));
    return options_fill(instance_options(in), text, call_key(*call), out, e);
}

/* Bodies that become blobs. */

static void stored(void *owner, uint64_t id, const struct chela_done *done,
                   const struct chela_decide *decide)
{
    struct carried *c = owner;
    (void)id;
    (void)decide;
    if (done->error == CHELA_OK) {
        c->done.text = chela_s(c->hash);
        c->done.extra = chela_s(c->extra);
        c->done.h.flags |= CHELA_BLOB;
        call_answer(c->call, &c->done);
    } else {
        CLEANUP(freep)
        char *text = xprintf("the answer came, but could not be stored: %.*s", (int)done->text.n,
                             done->text.s);
        call_answer_error(c->call, done->error, text);
    }
    carried_free(c);
}

static char *describe(const struct chela_done *d)
{
    json_object *extra = chela_json_new_object();
    const char *mime = "";
    for (uint64_t i = 0; i < d->headers.n; i++)
        if (chela_str_is(d->headers.v[i].name, "content-type"))
            mime = d->headers.v[i].value.s;
    chela_json_put_int(extra, "size", (int64_t)d->text.n);
    chela_json_put_text(extra, "mime", mime);
    char *text = xstrdup(chela_json_text(extra, NULL));
    json_object_put(extra);
    return text;
}

/* A copy that carried_free() frees, also of an empty string. */
static struct chela_str keep(struct chela_str from)
{
    struct chela_str to = {xmemdup(from.s, from.n), from.n};
    return to;
}

static void store_body(struct carried *c, const struct chela_done *d)
{
    static const struct call_ops ops = {.done = stored};
    struct chela_blob blob = {.data = d->text};
    c->done = *d;
    c->extra = describe(d);
    c->headers = xcalloc(d->headers.n + 1, sizeof *c->headers);
    for (uint64_t i = 0; i < d->headers.n; i++) {
        c->headers[i].name = keep(d->headers.v[i].name);
        c->headers[i].value = keep(d->headers.v[i].value);
    }
    c->done.headers.v = c->headers;
    sign_sha256_hex(d->text.s, d->text.n, c->hash);
    blob.hash = chela_s(c->hash);
    struct instance *store = instance_next(ROLE_STORE, NULL);
    if (!store) {
        call_answer_error(c->call, CHELA_E_UNSUPPORTED, "there is no store for so long an answer");
        carried_free(c);
        return;
    }
    c->put = call_begin(store, CHELA_FN_STORE_BLOB_PUT, &blob, 0, c->call, &ops, c);
}

/* Requests. */

static void http_event(void *owner, uint64_t id, const struct chela_http_event *e)
{
    struct carried *c = owner;
    struct chela_http_event copy = *e;
    (void)id;
    call_event(c->call, CHELA_FN_HTTP_EVENT, &copy);
}

static void http_done(void *owner, uint64_t id, const struct chela_done *d)
{
    struct carried *c = owner;
    struct chela_done copy = *d;
    (void)id;
    c->http = 0;
    if (d->error == CHELA_OK && (c->decode == CHELA_FILE || d->text.n > BLOB_FROM)) {
        store_body(c, d);
        return;
    }
    call_answer(c->call, &copy);
    carried_free(c);
}

static bool http_room(void *owner)
{
    struct carried *c = owner;
    return call_waiting(c->call) <= CALL_WAITING_MAX;
}

static void http_begin(struct instance *in, uint64_t id, const void *args)
{
    static const struct http_ops ops = {http_event, http_done, http_room};
    const struct chela_http *a = args;
    struct carried *c = xcalloc(1, sizeof *c);
    CLEANUP(freep) char *method = xmemdup(a->method.s, a->method.n);
    CLEANUP(freep) char *url = xmemdup(a->url.s, a->url.n);
    struct http_request r = {.method = method,
                             .url = url,
                             .body = a->body,
                             .headers = a->headers,
                             .decode = a->decode,
                             .flags = a->h.flags,
                             .limit = a->limit,
                             .timeout_ms = a->timeout_ms,
                             .idle_ms = a->idle_ms,
                             .connect_ms = a->connect_ms,
                             .fill = net_group_fill,
                             .fill_arg = &c->call};
    (void)in;
    c->call = id;
    c->decode = a->decode;
    list_append(&carried_all, &c->link);
    if (a->decode > CHELA_FILE || strlen(url) != a->url.n || strlen(method) != a->method.n) {
        call_answer_error(id, CHELA_E_ARGS,
                          "a request with an unknown decode, or a NUL in its URL");
        carried_free(c);
        return;
    }
    c->http = http_start(&r, &ops, c);
}

static void http_end(struct instance *in, uint64_t id)
{
    (void)in;
    LIST_EACH(l, &carried_all)
    {
        struct carried *c = CONTAINER_OF(l, struct carried, link);
        if (c->call != id)
            continue;
        if (c->http)
            http_cancel(c->http);
        else
            call_cancel(c->put);
    }
}

/* Signatures. */

static void sign_begin(struct instance *in, uint64_t id, const void *args)
{
    static const char before[] = "${secret:";
    const struct chela_sign *a = args;
    struct error e = {0};
    struct buf out = {0};
    size_t length = 0, skip = sizeof before - 1;
    if (a->secret.n <= skip + 1 || memcmp(a->secret.s, before, skip) != 0 ||
        a->secret.s[a->secret.n - 1] != '}') {
        call_answer_error(id, CHELA_E_ARGS, "sign wants its secret as ${secret:PATH}");
        return;
    }
    CLEANUP(freep) char *path = xmemdup(a->secret.s + skip, a->secret.n - skip - 1);
    const char *key = options_secret(instance_options(in), path, &length);
    if (!key) {
        CLEANUP(freep) char *text = xprintf("%s has no secret %s", instance_name(in), path);
        call_answer_error(id, CHELA_E_ARGS, text);
    } else if (sign_bytes(a->algorithm, chela_sn(key, length), a->data, &out, &e) != 0) {
        call_answer_error(id, e.class, e.text);
    } else {
        struct chela_done d = {.text = buf_view(&out)};
        call_answer(id, &d);
    }
    buf_free(&out);
}

void net_group_open(void)
{
    call_handle(CHELA_FN_HTTP, http_begin, http_end);
    call_handle(CHELA_FN_SIGN, sign_begin, NULL);
    net_group_ws_open();
}

void net_group_close(void)
{
    LIST_EACH(l, &carried_all)
    {
        struct carried *c = CONTAINER_OF(l, struct carried, link);
        http_forget(c->http);
        call_forget(c->put);
        carried_free(c);
    }
    net_group_ws_close();
}
