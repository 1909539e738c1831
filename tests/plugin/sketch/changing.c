/*
 * Tools of a server that changes them while one of them runs, as MCP servers do. A call of a tool
 * that is gone says so; who had frozen the older list hears it from this call alone.
 */
#include "sketch.h"

struct changing {
    uint64_t revision;
    bool second;
};

static void publish(struct chela_inst *in)
{
    struct changing *c = in->self;
    static const struct chela_pair first[] = {
        {CHELA_LIT("switch"), CHELA_LIT("{\"name\":\"switch\"}")},
        {CHELA_LIT("old"), CHELA_LIT("{\"name\":\"old\"}")},
    };
    static const struct chela_pair second[] = {
        {CHELA_LIT("switch"), CHELA_LIT("{\"name\":\"switch\"}")},
        {CHELA_LIT("new"), CHELA_LIT("{\"name\":\"new\"}")},
        {CHELA_LIT("newer"), CHELA_LIT("{\"name\":\"newer\"}")},
    };
    chela_publish_list(in, CHELA_TOOLS, ++c->revision, c->second ? second : first,
                       c->second ? 3 : 2);
}

static int32_t open_changing(struct chela_inst *in)
{
    in->self = calloc(1, sizeof(struct changing));
    return in->self ? CHELA_OK : CHELA_E_OTHER;
}

static void close_changing(struct chela_inst *in)
{
    free(in->self);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    publish(in);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void run(struct chela_inst *in, const struct chela_tool_run *r)
{
    struct changing *c = in->self;
    if (chela_str_is(r->name, "switch")) {
        chela_text_of(in, r->h.call, "switching", 9);
        c->second = !c->second;
        publish(in);
        chela_end(in, r->h.call, CHELA_OK, "switched");
    } else if (chela_str_is(r->name, c->second ? "new" : "old")) {
        chela_end(in, r->h.call, CHELA_OK, "done");
    } else {
        chela_end(in, r->h.call, CHELA_E_NOT_FOUND, "the server has this tool no more");
    }
}

static const struct chela_tool tool = {
    .size = sizeof tool,
    .run = run,
};

const struct chela_iface changing_iface = {
    CHELA_IFACE("changing", "tools that change", 0, NULL),
    .open = open_changing,
    .close = close_changing,
    .start = start,
    .tool = &tool,
};
