/*
 * Calls of the Bot API: a URL with the token in it (which the host fills in), JSON or multipart
 * out, {"ok","result"} or an error in. Called by the other parts; tries nothing again.
 */
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

json_object *api_parameters(const struct chela_reply *r)
{
    return chela_json_object(r->body, "parameters");
}

void api_read(struct chela_reply *r)
{
    const char *description = chela_json_string(r->body, "description", NULL);
    int64_t wait = chela_json_int(api_parameters(r), "retry_after", 0);
    if (wait > 0 && wait < 86400)
        r->retry_after_ms = (uint64_t)wait * 1000;
    if (r->error != CHELA_OK) {
        r->text = description ? description : "Telegram refused without saying why";
    } else if (!chela_json_bool(r->body, "ok", false)) {
        r->error = CHELA_E_PROTOCOL;
        r->flags |= CHELA_EFFECT;
        r->text = description ? description : "the answer is not of the Bot API's form";
    }
}

uint64_t api_post(struct telegram *t, uint64_t parent, const char *method, const char *type,
                  struct chela_str body, uint32_t timeout_ms, chela_reply_fn *fn, void *owner)
{
    struct chela_pair header = {CHELA_LIT("Content-Type"), chela_s(type)};
    if (t->peer.closing) { /* its options are gone */
        struct chela_reply r = {.error = CHELA_E_CANCELLED, .text = "the channel closes"};
        fn(&t->peer, owner, &r);
        return 0;
    }
    char *url = chela_format("%s/bot%s/%s", chela_option_text(t->peer.in, "base_url").s,
                             chela_option_text(t->peer.in, "token").s, method);
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = parent;
    a.timeout_ms = timeout_ms;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = body;
    a.headers = (struct chela_pairs){&header, 1};
    uint64_t call = chela_peer_call(&t->peer, &a, fn, owner);
    free(url);
    return call;
}

uint64_t api_call(struct telegram *t, uint64_t parent, const char *method, json_object *body,
                  uint32_t timeout_ms, chela_reply_fn *fn, void *owner)
{
    size_t n = 2;
    const char *text = body ? chela_json_text(body, &n) : "{}";
    uint64_t call =
        api_post(t, parent, method, "application/json", chela_sn(text, n), timeout_ms, fn, owner);
    json_object_put(body);
    return call;
}

bool api_file(struct telegram *t, uint64_t parent, const struct chela_reply *r, chela_ended_fn *fn,
              void *owner)
{
    const char *path = chela_json_string(chela_json_object(r->body, "result"), "file_path", NULL);
    if (r->error != CHELA_OK || !path || strstr(path, "..") || t->peer.closing)
        return false;
    char *url = chela_format("%s/file/bot%s/%s", chela_option_text(t->peer.in, "base_url").s,
                             chela_option_text(t->peer.in, "token").s, path);
    CHELA_ARGS(chela_http, a, 0);
    a.h.flags = CHELA_NO_REDIRECT;
    a.parent = parent;
    a.decode = CHELA_FILE;
    a.limit = (uint64_t)chela_option_number(t->peer.in, "media_limit");
    a.method = chela_s("GET");
    a.url = chela_s(url);
    chela_peer_http(&t->peer, &a, fn, owner);
    free(url);
    return true;
}
