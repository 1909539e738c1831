/*
 * tool_cron: jobs at a time, with methods for clients and a tool for models. It is a channel, too:
 * what a job begins is stored by the host before a turn starts, and what the turn says comes back
 * to be sent on.
 */
#define CHELA_MINOR_NEED 10u
#include <stdlib.h>

#include "cron.h"

enum { WINDOW_MS = 14 * 24 * 3600 * 1000 };

static const struct chela_option policies[] = {
    {"last", CHELA_STRING, 0, NULL, "of what was missed, the last one runs", NULL},
    {"all", CHELA_STRING, 0, NULL, "everything that was missed runs, one after the other", NULL},
    {"skip", CHELA_STRING, 0, NULL, "nothing that was missed runs", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"timezone", CHELA_STRING, 0, "",
     "IANA name; of jobs with an expression that name none; absent: the machine's", NULL},
    {"catch_up", CHELA_STRING, CHELA_RELOAD, "last",
     "what happens to a time that passed more than five minutes ago, since the gateway did not run",
     policies},
    {"catch_up_window", CHELA_DURATION, CHELA_RELOAD, "1d", "what is older is never made up for",
     NULL},
    {"keep_runs", CHELA_INT, CHELA_RELOAD, "50", "ended runs of a job that are remembered", NULL},
    {"jobs", CHELA_INT, CHELA_RELOAD, "500", "most jobs", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int32_t open_instance(struct chela_inst *in)
{
    struct cron *c = chela_need(calloc(1, sizeof *c));
    char *zone = chela_copy(chela_option_text(in, "timezone"));
    c->in = in;
    c->zone = chela_zone_open(zone);
    if (!c->zone)
        chela_log(in, CHELA_ERR,
                  "timezone: there is no such zone on this machine; give an IANA name such as "
                  "Europe/Berlin (package tzdata)");
    bool good = c->zone != NULL;
    if (good)
        in->self = c;
    else
        free(c);
    free(zone);
    return good ? (int32_t)CHELA_OK : (int32_t)CHELA_E_ARGS;
}

static void close_instance(struct chela_inst *in)
{
    struct cron *c = in->self;
    in->host->local->timer_stop(in, c->timer);
    run_free(c);
    free(c);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct cron *c = in->self;
    c->starting = a->h.call;
    chela_publish_list(in, CHELA_TOOLS, 1, cron_tools, cron_tool_count);
    chela_publish_list(in, CHELA_METHODS, 1, cron_methods, cron_method_count);
    run_load(c);
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct cron *c = in->self;
    c->stopped = true;
    in->host->local->timer_stop(in, c->timer);
    c->timer = 0;
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void accepted(struct chela_inst *in, const struct chela_arg *a)
{
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void channel_send(struct chela_inst *in, const struct chela_send *m)
{
    run_answer(in->self, m);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = cron_prepare, .run = cron_run};

static const struct chela_service service = {.size = (uint32_t)sizeof(struct chela_service),
                                             .method = cron_method};

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "cron",
    .send = channel_send,
};

static const struct chela_iface cron = {
    CHELA_IFACE("cron", "jobs at a time", CHELA_CAP_DEFAULT, options),
    .open = open_instance,
    .close = close_instance,
    .start = start,
    .stop = stop,
    .check = accepted,
    .apply = accepted,
    .rows = chela_op_rows,
    .done = chela_op_done,
    .channel = &channel,
    .tool = &tool,
    .service = &service,
};

CHELA_PLUGIN(tool_cron, "0.9.0", "jobs at a time", "MIT", "", &cron);
