/*
 * channel_cli: the terminal. A client of the gateway hands over what was typed; this makes a
 * message of it, whose sender is the owner, since the gateway has checked its secret. Answers reach
 * the terminal as the gateway's events; a send is therefore done at once, and one repeated after a
 * crash does no harm: the client knows the run.
 */
#include <chela/chela.h>

#include "support/client.h"

static const struct chela_option options[] = {
    {"sender", CHELA_STRING, 0, "owner", "what the person at the terminal is called", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { WINDOW_MS = 24 * 3600 * 1000 };

/* A typed message whose submit is under way; h.tag of the submit is the client call. */
static void client(struct chela_inst *in, const struct chela_client_message *m)
{
    chela_client_submit(in, m, m->h.call);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    chela_end_as(in, d->h.tag, d);
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .can = CHELA_CAN_MEDIA | CHELA_CAN_BUTTONS,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "terminal",
    .send = chela_client_sent,
    .client = client,
};

static const struct chela_iface cli = {
    CHELA_IFACE("cli", "the terminal", CHELA_CAP_DEFAULT, options),
    .done = done,
    .channel = &channel,
};

CHELA_PLUGIN(channel_cli, "0.9.0", "the terminal", "MIT", "", &cli);
