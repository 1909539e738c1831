/*
 * A channel that polls: the next request's offset acknowledges the messages before it, so it may
 * move only when each of them is stored. The answer is a line per message: "ID CHAT TEXT".
 */
#include "sketch.h"

enum { AGAIN_MS = 500 };
enum { KV = 1, POLL, SUBMIT, KEEP };

struct poller {
    uint64_t start, offset, highest;
    unsigned waiting; /* submits that have not ended */
    bool refused;     /* one of them was not stored: ask for the same again */
};

static void poll(struct chela_inst *in, void *unused)
{
    struct poller *p = in->self;
    char url[64];
    (void)unused;
    snprintf(url, sizeof url, "https://service/poll?offset=%" PRIu64, p->offset);
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = POLL;
    a.method = chela_s("GET");
    a.url = chela_s(url);
    a.timeout_ms = 60000;
    in->host->net->http(in, &a);
}

static void batch_ended(struct chela_inst *in)
{
    struct poller *p = in->self;
    if (p->refused) {
        in->host->local->timer(in, AGAIN_MS, poll, NULL);
        return;
    }
    char value[24];
    p->offset = p->highest + 1;
    snprintf(value, sizeof value, "%" PRIu64, p->offset);
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = KEEP;
    a.key = chela_s("offset");
    a.value = chela_s(value);
    in->host->kv->put(in, &a); /* a convenience: after a crash the service repeats, we drop */
    poll(in, NULL);
}

static void submit(struct chela_inst *in, struct chela_str line)
{
    struct poller *p = in->self;
    p->highest = strtoull(word(line, 0), NULL, 10);
    p->waiting++;
    CHELA_ARGS(chela_submit, a, in->host->local->new_call(in));
    a.h.tag = SUBMIT;
    a.kind = chela_s("message");
    a.event = chela_s(word(line, 0));
    a.chat = chela_s(word(line, 1));
    a.text = chela_s(word(line, 2));
    in->host->chat->submit(in, &a);
}

static void polled(struct chela_inst *in, const struct chela_done *d)
{
    struct poller *p = in->self;
    if (d->error != CHELA_OK) {
        in->host->local->timer(in, AGAIN_MS, poll, NULL);
        return;
    }
    p->refused = false;
    const char *at = d->text.s, *end = at + d->text.n;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        submit(in, chela_sn(at, n));
        at += n + 1;
    }
    if (p->waiting == 0)
        poll(in, NULL);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct poller *p = in->self;
    switch (d->h.tag) {
    case KV: /* where we were */
        p->offset = d->error == CHELA_OK ? strtoull(word(d->text, 0), NULL, 10) : 0;
        chela_end(in, p->start, CHELA_OK, "");
        poll(in, NULL);
        break;
    case POLL: polled(in, d); break;
    case SUBMIT:
        /* seen before, or not allowed: done with, too */
        if (d->error != CHELA_OK && d->error != CHELA_E_CONFLICT && d->error != CHELA_E_DENIED)
            p->refused = true;
        if (--p->waiting == 0)
            batch_ended(in);
        break;
    default: break;
    }
}

static int32_t open_poller(struct chela_inst *in)
{
    in->self = calloc(1, sizeof(struct poller));
    return in->self ? CHELA_OK : CHELA_E_OTHER;
}

static void close_poller(struct chela_inst *in)
{
    free(in->self);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct poller *p = in->self;
    p->start = a->h.call;
    CHELA_ARGS(chela_key, key, in->host->local->new_call(in));
    key.h.tag = KV;
    key.key = chela_s("offset");
    in->host->kv->get(in, &key);
}

static const struct chela_channel channel = {
    .size = sizeof channel,
    .send_class = CHELA_SEND_NEITHER,
    .platform = "sketch",
};

const struct chela_iface poller_iface = {
    CHELA_IFACE("poller", "long poll", 0, NULL),
    .open = open_poller,
    .close = close_poller,
    .start = start,
    .done = done,
    .channel = &channel,
};
