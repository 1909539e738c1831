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

static void read_answer(struct chela_reply *r)
{
    int64_t wait = chela_json_int(api_parameters(r), "retry_after", 0);
    if (wait > 0 && wait < 86400)
        r->retry_after_ms = (uint64_t)wait * 1000;
    r->result = chela_json_get(r->body, "result");
    r->stranger = r->status == 401 || r->status == 404;
    if (r->error != CHELA_OK) {
        r->text = chela_member(r->body, "description");
    } else if (!chela_json_bool(r->body, "ok", false)) {
        const char *description = chela_json_string(r->body, "description", NULL);
        r->error = CHELA_E_PROTOCOL;
        r->flags |= CHELA_EFFECT;
        r->text = description ? description : "the answer is not of the Bot API's form";
    }
}

const struct chela_api api = {
    .service = "Telegram", .login = "get a new one from @BotFather", .read = read_answer};

uint64_t api_post(struct telegram *t, const char *method, struct chela_api_call c,
                  chela_reply_fn *fn, void *owner)
{
    char *path = chela_format("%s%s", t->path, method);
    c.method = "POST";
    c.path = path;
    uint64_t call = chela_api_call(&t->peer, &c, fn, owner);
    free(path);
    return call;
}

uint64_t api_call(struct telegram *t, uint64_t parent, const char *method, json_object *body,
                  chela_reply_fn *fn, void *owner)
{
    struct chela_api_call c = {.parent = parent, .body = body ? body : chela_json_new_object()};
    return api_post(t, method, c, fn, owner);
}

/* ---- files ---- */

static void file_named(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct chela_wanted *w = owner;
    const char *path = chela_member(r->result, "file_path");
    if (r->error != CHELA_OK || !*path || strstr(path, "..")) {
        chela_wanted_fail(w, r);
        return;
    }
    char *url = chela_format("%s/file%s%s", chela_option_text(p->in, "base_url").s,
                             ((struct telegram *)p)->path, path);
    chela_wanted_get(w, url);
    free(url);
}

void api_bring(struct chela_wanted *w)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "file_id", w->reference);
    api_call((struct telegram *)w->p, w->parent, "getFile", body, file_named, w);
}
