/*
 * channel_webchat: the page on the gateway's own port, and the channel that its messages come in
 * by. The page's files are in this module (files.c) and need no secret; what they show comes by the
 * gateway's WebSocket, which does. One method serves the page alone: Markdown as safe HTML.
 */
#include <chela/chela.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_webchat.h"
#include "support/client.h"
#include "support/json.h"

static const struct chela_option options[] = {
    {"sender", CHELA_STRING, 0, "owner", "what the person at the page is called", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { WINDOW_MS = 24 * 3600 * 1000 };

static void fail(struct chela_inst *in, uint64_t call, const char *why)
{
    chela_end(in, call, CHELA_E_ARGS, why);
}

/* ---- the channel ---- */

enum purpose { SUBMIT, RENDER };

/* What the call that ends with `done` was begun for; its tag. */
struct waiting {
    enum purpose what;
    uint64_t call; /* the host's, to be ended */
    /* RENDER */
    unsigned count, left;
    uint64_t *calls;
    char **html;
};

static struct waiting *waiting_new(enum purpose what, uint64_t call)
{
    struct waiting *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    w->what = what;
    w->call = call;
    return w;
}

static uint64_t tag_of(struct waiting *w)
{
    return (uint64_t)(uintptr_t)w;
}

static void client(struct chela_inst *in, const struct chela_client_message *m)
{
    chela_client_submit(in, m, tag_of(waiting_new(SUBMIT, m->h.call)));
}

/* ---- methods ---- */

static void answer_json(struct chela_inst *in, uint64_t call, json_object *o)
{
    size_t n;
    CHELA_ARGS(chela_done, d, call);
    const char *text = chela_json_text(o, &n);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    json_object_put(o);
}

static void render(struct chela_inst *in, uint64_t call, json_object *params)
{
    json_object *texts = chela_json_array(params, "texts");
    size_t count = chela_json_length(texts);
    if (count == 0 || count > WEBCHAT_TEXTS) {
        fail(in, call, "texts must be a list of 1 to 256 texts");
        return;
    }
    struct waiting *w = waiting_new(RENDER, call);
    w->calls = calloc(count, sizeof *w->calls);
    w->html = calloc(count, sizeof *w->html);
    if (!w->calls || !w->html)
        abort();
    w->count = w->left = (unsigned)count;
    for (unsigned i = 0; i < w->count; i++) {
        size_t n = 0;
        const char *text = chela_json_as_string(chela_json_at(texts, i), &n);
        CHELA_ARGS(chela_markup, a, in->host->local->new_call(in));
        w->calls[i] = a.h.call;
        a.h.tag = tag_of(w);
        a.text = chela_sn(text ? text : "", n);
        a.dialect = chela_s("html");
        in->host->chat->markup(in, &a);
    }
}

static void method(struct chela_inst *in, const struct chela_method *m)
{
    json_object *params = NULL;
    if (chela_json_parse(m->params.s, (size_t)m->params.n, NULL, &params, NULL) < 0)
        fail(in, m->h.call, "the parameters are no JSON");
    else if (chela_str_is(m->name, "webchat.render"))
        render(in, m->h.call, params);
    else
        chela_end(in, m->h.call, CHELA_E_UNSUPPORTED, "unknown method");
    json_object_put(params);
}

/* ---- what the host has done for us ---- */

static char *first_piece(struct chela_str extra)
{
    json_object *list = NULL;
    size_t n = 0;
    char *copy = NULL;
    if (chela_json_parse(extra.s ? extra.s : "", (size_t)extra.n, NULL, &list, NULL) == 0) {
        const char *text = chela_json_as_string(chela_json_at(list, 0), &n);
        copy = strndup(text ? text : "", n);
    }
    json_object_put(list);
    return copy;
}

/* True once all have come, and the call has been ended. */
static bool rendered(struct chela_inst *in, struct waiting *w, const struct chela_done *d)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->calls[i] == d->h.call && !w->html[i])
            w->html[i] = d->error == CHELA_OK ? first_piece(d->extra) : NULL;
    if (--w->left)
        return false;
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "html");
    for (unsigned i = 0; i < w->count; i++) {
        const char *html = w->html[i] ? w->html[i] : "";
        chela_json_push(list, chela_json_new_string(html, strlen(html)));
        free(w->html[i]);
    }
    free(w->html);
    free(w->calls);
    answer_json(in, w->call, o);
    return true;
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct waiting *w = (struct waiting *)(uintptr_t)d->h.tag;
    if (w->what == RENDER) {
        if (rendered(in, w, d))
            free(w);
        return;
    }
    chela_end_as(in, w->call, d);
    free(w);
}

/* ---- start ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair methods[] = {
        {CHELA_LIT("webchat.render"), CHELA_LIT("{\"scope\":\"operator.read\"}")},
    };
    webchat_publish_routes(in);
    chela_publish_list(in, CHELA_METHODS, 1, methods, sizeof methods / sizeof *methods);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .can = CHELA_CAN_MEDIA | CHELA_CAN_BUTTONS,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "web",
    .send = chela_client_sent,
    .client = client,
};

static const struct chela_service service = {
    .size = (uint32_t)sizeof(struct chela_service),
    .request = webchat_request,
    .method = method,
};

static const struct chela_iface webchat = {
    CHELA_IFACE("webchat", "the page on the gateway's port", CHELA_CAP_DEFAULT, options),
    .start = start,
    .done = done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_webchat, "0.9.0", "the page on the gateway's port", "MIT", "", &webchat);
