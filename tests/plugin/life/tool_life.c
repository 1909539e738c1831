/*
 * A plugin that goes through its life as its options say, and publishes what happened to it; for
 * tests/unit/registry_test.c.
 *   mode   "fails": start ends with an error that may pass; "refuses": open says no; "leaks":
 * leaves a timer and a job behind; "hangs": never ends its start; "slow": ends its stop late note
 * is published at start and by apply; "bad" is refused by check
 */
#include <chela/chela.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct self {
    uint64_t revision, stop;
    int starts;
};

static const struct chela_option options[] = {
    {"mode", CHELA_STRING, 0, "good", "what it does", NULL},
    {"note", CHELA_STRING, CHELA_RELOAD, "", "what it publishes", NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static int is_mode(struct chela_inst *in, const char *mode)
{
    return chela_str_is(chela_option_text(in, "mode"), mode);
}

static int32_t open_it(struct chela_inst *in)
{
    if (is_mode(in, "refuses")) {
        chela_log(in, CHELA_ERR, "the mode is \"refuses\"");
        return CHELA_E_ARGS;
    }
    in->self = calloc(1, sizeof(struct self));
    return CHELA_OK;
}

static void close_it(struct chela_inst *in)
{
    free(in->self);
}

static void publish(struct chela_inst *in, const char *event)
{
    struct self *self = in->self;
    struct chela_pair item = {chela_s(event), chela_option_text(in, "note")};
    chela_publish_list(in, CHELA_TOOLS, ++self->revision, &item, 1);
}

static void nothing(struct chela_inst *in, void *arg)
{
    (void)in;
    (void)arg;
}

static void job(struct chela_inst *in, void *arg)
{
    (void)arg;
    chela_log(in, CHELA_DEBUG, "a job runs");
}

static void die(struct chela_inst *in, void *arg)
{
    (void)in;
    (void)arg;
    _exit(9);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct self *self = in->self;
    self->starts++;
    if (is_mode(in, "hangs"))
        return;
    if (is_mode(in, "fails")) {
        chela_end(in, a->h.call, CHELA_E_NETWORK, "nobody is there");
        return;
    }
    if (is_mode(in, "dies"))
        in->host->local->timer(in, 1, die, NULL);
    if (is_mode(in, "leaks")) {
        in->host->local->timer(in, 3600000, nothing, NULL);
        in->host->local->work(in, job, nothing, NULL);
    }
    publish(in, "started");
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void end_stop(struct chela_inst *in, void *arg)
{
    (void)arg;
    chela_end(in, ((struct self *)in->self)->stop, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    ((struct self *)in->self)->stop = a->h.call;
    if (is_mode(in, "slow"))
        in->host->local->post(in, end_stop, NULL);
    else
        end_stop(in, NULL);
}

static void check(struct chela_inst *in, const struct chela_arg *a)
{
    if (chela_str_is(chela_option_text(in, "note"), "bad"))
        chela_end(in, a->h.call, CHELA_E_ARGS, "the note is bad");
    else
        chela_end(in, a->h.call, CHELA_OK, "");
}

static void apply(struct chela_inst *in, const struct chela_arg *a)
{
    publish(in, "applied");
    chela_end(in, a->h.call, CHELA_OK, "");
}

static const struct chela_tool tool = {.size = sizeof tool};

static const struct chela_iface life = {
    CHELA_IFACE("life", "lives as it is told", CHELA_CAP_DEFAULT, options),
    .open = open_it,
    .close = close_it,
    .start = start,
    .stop = stop,
    .check = check,
    .apply = apply,
    .tool = &tool,
};

static const struct chela_store store = {.size = sizeof store};

static const struct chela_iface keeper = {
    CHELA_IFACE("keeper", "the same as a store", 0, options),
    .open = open_it,
    .close = close_it,
    .start = start,
    .stop = stop,
    .store = &store,
};

CHELA_PLUGIN(tool_life, "1.0", "for tests of the registry", "MIT", "", &life, &keeper);
