/*
 * A webhook: a route whose requests carry a signature over their raw body. The key stays with the
 * host; the request is answered once its message is stored.
 */
#include "sketch.h"

enum { SIGN = 1, SUBMIT };

struct wait {
    struct wait *next;
    uint64_t mine, request;
    char *given, *event, *text;
};

static struct wait **find(struct chela_inst *in, uint64_t mine)
{
    struct wait **w = (struct wait **)&in->self;
    while (*w && (*w)->mine != mine)
        w = &(*w)->next;
    return w;
}

static void finish(struct chela_inst *in, struct wait **at, uint32_t status, const char *body)
{
    struct wait *w = *at;
    CHELA_ARGS(chela_done, a, w->request);
    a.http_status = status;
    a.text = chela_s(body);
    in->host->answer->done(in, &a);
    *at = w->next;
    free(w->given);
    free(w->event);
    free(w->text);
    free(w);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair route = {
        CHELA_LIT("/hooks/sketch"),
        CHELA_LIT("{\"methods\":[\"POST\"],\"body_limit\":65536,\"auth\":\"none\"}")};
    chela_publish_list(in, CHELA_ROUTES, 1, &route, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void request(struct chela_inst *in, const struct chela_request *r)
{
    struct wait *w = calloc(1, sizeof *w);
    if (!w)
        return;
    w->mine = in->host->local->new_call(in);
    w->request = r->h.call;
    w->given = copy("");
    for (uint64_t i = 0; i < r->headers.n; i++)
        if (chela_str_is(r->headers.v[i].name, "x-signature")) {
            free(w->given);
            w->given = copy(word(r->headers.v[i].value, 0));
        }
    w->event = copy(word(r->body, 0));
    w->text = copy(word(r->body, 1));
    w->next = in->self;
    in->self = w;
    CHELA_ARGS(chela_sign, a, w->mine);
    a.h.tag = SIGN;
    a.algorithm = chela_s("hmac-sha256");
    a.secret = chela_option_text(in, "secret");
    a.data = r->body; /* the raw bytes */
    in->host->net->sign(in, &a);
}

/* Without leaving early, whatever differs. */
static bool same_hex(const char *hex, struct chela_str raw)
{
    unsigned difference = strlen(hex) == 2 * raw.n ? 0 : 1;
    char byte[3];
    for (uint64_t i = 0; i < raw.n && !difference; i++) {
        snprintf(byte, sizeof byte, "%02x", (unsigned)(unsigned char)raw.s[i]);
        difference |= (unsigned)(byte[0] ^ hex[2 * i]) | (unsigned)(byte[1] ^ hex[2 * i + 1]);
    }
    return difference == 0;
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct wait **at = find(in, d->h.call);
    struct wait *w = *at;
    if (!w)
        return;
    if (d->h.tag == SUBMIT) {
        bool stored = d->error == CHELA_OK || d->error == CHELA_E_CONFLICT;
        finish(in, at, stored ? 200 : 503, "");
    } else if (d->error != CHELA_OK || !same_hex(w->given, d->text)) {
        finish(in, at, 401, "bad signature");
    } else {
        w->mine = in->host->local->new_call(in);
        CHELA_ARGS(chela_submit, a, w->mine);
        a.h.tag = SUBMIT;
        a.kind = chela_s("message");
        a.event = chela_s(w->event);
        a.chat = chela_s("hook");
        a.text = chela_s(w->text);
        in->host->chat->submit(in, &a);
    }
}

static const struct chela_option options[] = {
    {"secret", CHELA_STRING, CHELA_SECRET, NULL, "key of the signature", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_service service = {
    .size = sizeof service,
    .request = request,
};

const struct chela_iface webhook_iface = {
    CHELA_IFACE("webhook", "signed requests", 0, options),
    .start = start,
    .done = done,
    .service = &service,
};
