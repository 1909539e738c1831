/*
 * channel_cli: the terminal. A client of the gateway hands over what was typed; this makes a
 * message of it, whose sender is the owner, since the gateway has checked its secret. Answers reach
 * the terminal as the gateway's events; a send is therefore done at once, and one repeated after a
 * crash does no harm: the client knows the run.
 */
#include <chela/chela.h>

static const struct chela_option options[] = {
    {"sender", CHELA_STRING, 0, "owner", "what the person at the terminal is called", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { WINDOW_MS = 24 * 3600 * 1000 };

/* A typed message whose submit is under way; h.tag of the submit is the client call. */
static void client(struct chela_inst *in, const struct chela_client_message *m)
{
    CHELA_ARGS(chela_submit, s, in->host->local->new_call(in));
    s.h.tag = m->h.call;
    s.h.flags = CHELA_OWNER;
    s.kind = chela_s("message");
    s.event = m->key;
    s.at = in->host->local->now_ms(in) / 1000;
    s.chat_type = CHELA_DIRECT;
    s.chat = m->session;
    s.sender = chela_option_text(in, "sender");
    s.session = m->session;
    s.text = m->text;
    s.media = m->media;
    s.extra = m->extra;
    in->host->chat->submit(in, &s);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    CHELA_ARGS(chela_done, answer, d->h.tag);
    answer.h.flags = d->h.flags;
    answer.error = d->error;
    answer.retry_after_ms = d->retry_after_ms;
    answer.text = d->text;
    answer.extra = d->extra;
    in->host->answer->done(in, &answer);
}

static void send(struct chela_inst *in, const struct chela_send *s)
{
    CHELA_ARGS(chela_done, d, s->h.call);
    d.text = s->key;
    in->host->answer->done(in, &d);
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .can = CHELA_CAN_MEDIA | CHELA_CAN_BUTTONS,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "terminal",
    .send = send,
    .client = client,
};

static const struct chela_iface cli = {
    CHELA_IFACE("cli", "the terminal", CHELA_CAP_DEFAULT, options),
    .done = done,
    .channel = &channel,
};

CHELA_PLUGIN(channel_cli, "0.9.0", "the terminal", "MIT", "", &cli);
