/*
 * A channel on a WebSocket gateway: hello with the heartbeat's interval, identify or resume, a
 * heartbeat that must be acknowledged, events with sequence numbers, a new connection after a lost
 * one that takes up where the old one was. Sends go by HTTP.
 *
 *   service: "hello MS", "ready SESSION", "ack", "message SEQ ID CHAT TEXT"
 *   we:      "identify TOKEN", "resume SESSION SEQ", "beat SEQ"
 */
#include "sketch.h"

enum { BACKOFF_MS = 1000 };
enum { CONNECT = 1, SUBMIT, SEND }; /* tags */

struct gateway {
    uint64_t start;  /* the call, until the first ready */
    uint64_t socket; /* the connection's call, 0: none */
    uint64_t timer, interval;
    uint64_t sequence;
    char *session;
    bool acknowledged, stopping;
    uint64_t stop;
    struct pending {
        struct pending *next;
        uint64_t request, send;
    } * sends;
};

static void connect_again(struct chela_inst *in, void *unused);

static void say(struct chela_inst *in, const char *line)
{
    struct gateway *g = in->self;
    CHELA_ARGS(chela_ws_send, a, g->socket);
    a.kind = CHELA_WS_TEXT;
    a.data = chela_s(line);
    in->host->net->ws_send(in, &a);
}

static void hang_up(struct chela_inst *in)
{
    struct gateway *g = in->self;
    CHELA_ARGS(chela_ws_send, a, g->socket);
    a.kind = CHELA_WS_CLOSE;
    a.code = 4000;
    in->host->net->ws_send(in, &a);
}

static void beat(struct chela_inst *in, void *unused)
{
    struct gateway *g = in->self;
    char line[64];
    (void)unused;
    g->timer = 0;
    if (!g->acknowledged) { /* a dead connection that still looks open */
        hang_up(in);
        return;
    }
    g->acknowledged = false;
    snprintf(line, sizeof line, "beat %" PRIu64, g->sequence);
    say(in, line);
    g->timer = in->host->local->timer(in, g->interval, beat, NULL);
}

static void connect_again(struct chela_inst *in, void *unused)
{
    struct gateway *g = in->self;
    (void)unused;
    g->timer = 0;
    g->socket = in->host->local->new_call(in);
    CHELA_ARGS(chela_ws_connect, a, g->socket);
    a.h.tag = CONNECT;
    a.url = chela_option_text(in, "url");
    in->host->net->ws_connect(in, &a);
}

static void hello(struct chela_inst *in, struct chela_str line)
{
    struct gateway *g = in->self;
    char answer[300];
    g->interval = strtoull(word(line, 1), NULL, 10);
    g->acknowledged = true;
    if (g->session)
        snprintf(answer, sizeof answer, "resume %s %" PRIu64, g->session, g->sequence);
    else
        snprintf(answer, sizeof answer, "identify %s", chela_option_text(in, "token").s);
    say(in, answer);
    g->timer = in->host->local->timer(in, g->interval, beat, NULL);
}

static void message(struct chela_inst *in, struct chela_str line)
{
    struct gateway *g = in->self;
    CHELA_ARGS(chela_submit, a, in->host->local->new_call(in));
    a.h.tag = SUBMIT;
    a.kind = chela_s("message");
    a.event = chela_s(word(line, 2));
    a.chat = chela_s(word(line, 3));
    a.text = chela_s(word(line, 4));
    g->sequence = strtoull(word(line, 1), NULL, 10);
    in->host->chat->submit(in, &a);
}

static void ws(struct chela_inst *in, const struct chela_ws_event *e)
{
    struct gateway *g = in->self;
    if (e->h.call != g->socket || e->kind != CHELA_WS_TEXT)
        return;
    const char *what = word(e->data, 0);
    if (strcmp(what, "hello") == 0)
        hello(in, e->data);
    else if (strcmp(what, "ack") == 0)
        g->acknowledged = true;
    else if (strcmp(what, "message") == 0)
        message(in, e->data);
    else if (strcmp(what, "ready") == 0) {
        free(g->session);
        g->session = copy(word(e->data, 1));
        if (g->start)
            chela_end(in, g->start, CHELA_OK, "");
        g->start = 0;
    }
}

static void connection_ended(struct chela_inst *in)
{
    struct gateway *g = in->self;
    in->host->local->timer_stop(in, g->timer);
    g->timer = 0;
    g->socket = 0;
    if (g->stopping)
        chela_end(in, g->stop, CHELA_OK, "");
    else
        g->timer = in->host->local->timer(in, BACKOFF_MS, connect_again, NULL);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct gateway *g = in->self;
    if (d->h.tag == CONNECT) {
        connection_ended(in);
        return;
    }
    if (d->h.tag == SUBMIT)
        return; /* stored or not: the service delivers again what a resume has missed */
    for (struct pending **p = &g->sends; *p; p = &(*p)->next)
        if ((*p)->request == d->h.call) {
            struct pending *found = *p;
            *p = found->next;
            CHELA_ARGS(chela_done, end, found->send);
            end.error = d->error;
            end.text = d->text;
            in->host->answer->done(in, &end);
            free(found);
            return;
        }
}

static void send_message(struct chela_inst *in, const struct chela_send *s)
{
    struct gateway *g = in->self;
    struct pending *p = calloc(1, sizeof *p);
    if (!p)
        return;
    p->request = in->host->local->new_call(in);
    p->send = s->h.call;
    p->next = g->sends;
    g->sends = p;
    CHELA_ARGS(chela_http, a, p->request);
    a.h.tag = SEND;
    a.parent = s->h.call; /* cancelled with the send */
    a.method = chela_s("POST");
    a.url = s->chat;
    a.body = s->text;
    in->host->net->http(in, &a);
}

static int32_t open_gateway(struct chela_inst *in)
{
    in->self = calloc(1, sizeof(struct gateway));
    return in->self ? CHELA_OK : CHELA_E_OTHER;
}

static void close_gateway(struct chela_inst *in)
{
    struct gateway *g = in->self;
    free(g->session);
    free(g);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct gateway *g = in->self;
    g->start = a->h.call;
    connect_again(in, NULL);
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct gateway *g = in->self;
    g->stop = a->h.call;
    g->stopping = true;
    if (g->socket)
        chela_cancel(in, g->socket);
    else
        connection_ended(in);
}

static const struct chela_option options[] = {
    {"url", CHELA_STRING, CHELA_URL, "wss://gateway", "where", NULL},
    {"token", CHELA_STRING, CHELA_SECRET, NULL, "login", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_channel channel = {
    .size = sizeof channel,
    .send_class = CHELA_SEND_IDEMPOTENT,
    .key_window_ms = 60000,
    .unit = CHELA_UNIT_CHARACTERS,
    .text_limit = 2000,
    .dialect = "discord",
    .platform = "sketch",
    .send = send_message,
};

const struct chela_iface gateway_iface = {
    CHELA_IFACE("gateway", "WebSocket with heartbeat and resume", 0, options),
    .open = open_gateway,
    .close = close_gateway,
    .start = start,
    .stop = stop,
    .ws = ws,
    .done = done,
    .channel = &channel,
};
