/*
 * tool_dice: a tool that a model may call. Publishes one manifest at start; the host checks the
 * arguments against its schema, asks a person where the risk needs it, and calls run.
 */
#include <chela/chela.h>

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

static const struct chela_option options[] = {
    {"seed", CHELA_INT, 0, "0", "begins the row of numbers; 0: by the clock", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct dice {
    unsigned seed;
};

static int32_t dice_open(struct chela_inst *in)
{
    struct dice *d = calloc(1, sizeof *d);
    int64_t seed = chela_option_number(in, "seed");
    if (!d) {
        chela_log(in, CHELA_ERR, "no memory");
        return CHELA_E_OTHER;
    }
    d->seed = (unsigned)(seed ? (uint64_t)seed : in->host->local->now_ms(in));
    in->self = d;
    return CHELA_OK;
}

static void dice_close(struct chela_inst *in)
{
    free(in->self);
}

static void dice_start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair tools[] = {
        {CHELA_LIT("roll_dice"),
         CHELA_LIT("{\"name\":\"roll_dice\",\"description\":\"Rolls dice and adds them up.\","
                   "\"parameters\":{\"type\":\"object\",\"properties\":{"
                   "\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100},"
                   "\"sides\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":1000}},"
                   "\"required\":[\"count\",\"sides\"],\"additionalProperties\":false},"
                   "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"low\"},"
                   "\"reads_only\":true,\"repeatable\":true}")}};
    chela_publish_list(in, CHELA_TOOLS, 1, tools, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static int argument(json_object *o, const char *name)
{
    json_object *value = NULL;
    return json_object_object_get_ex(o, name, &value) ? json_object_get_int(value) : 0;
}

static void dice_run(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct dice *d = in->self;
    char text[64];
    long sum = 0;
    /* what comes from the host is NUL-terminated, and valid for this call only */
    json_object *o = json_tokener_parse(r->arguments.s);
    int count = argument(o, "count"), sides = argument(o, "sides");
    json_object_put(o);
    for (int i = 0; i < count; i++)
        sum += 1 + rand_r(&d->seed) % sides;
    snprintf(text, sizeof text, "%d dice of %d sides: %ld", count, sides, sum);
    chela_end(in, r->h.call, CHELA_OK, text);
}

static const struct chela_tool tool = {.size = (uint32_t)sizeof(struct chela_tool),
                                       .run = dice_run};

static const struct chela_iface dice = {
    CHELA_IFACE("dice", "rolls dice", 0, options),
    .open = dice_open,
    .close = dice_close,
    .start = dice_start,
    .tool = &tool,
};

CHELA_PLUGIN(tool_dice, "1.0", "rolls dice", "MIT", "", &dice);
