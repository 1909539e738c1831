/*
 * A tool in C++ on the public headers alone, to see that they are C++ too (11 and 17). C++ has no
 * designated initialisers before 20, so the tables are filled by functions.
 */
#include <chela/chela.h>

namespace {

void run(chela_inst *in, const chela_tool_run *r)
{
    CHELA_ARGS(chela_text, progress, r->h.call);
    progress.text = chela_s("working");
    in->host->answer->text(in, &progress);
    chela_text_of(in, r->h.call, "more", 4);
    chela_end(in, r->h.call, CHELA_OK, "done");
}

void start(chela_inst *in, const chela_arg *a)
{
    static const chela_pair tools[] = {
        {CHELA_LIT("cxx"), CHELA_LIT("{\"name\":\"cxx\",\"description\":\"in C++\"}")}};
    chela_publish_list(in, CHELA_TOOLS, 1, tools, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

const chela_option options[] = {
    {"greeting", CHELA_STRING, 0, "hello", "what it says", nullptr},
    {nullptr, 0, 0, nullptr, nullptr, nullptr},
};

chela_tool make_tool()
{
    chela_tool t = {};
    t.size = sizeof t;
    t.run = run;
    return t;
}

const chela_tool tool = make_tool();

chela_iface make_iface()
{
    chela_iface i = {};
    i.size = sizeof i;
    i.option_size = sizeof(chela_option);
    i.type = "cxx";
    i.summary = "a tool in C++";
    i.options = options;
    i.start = start;
    i.tool = &tool;
    return i;
}

const chela_iface iface = make_iface();

} // namespace

CHELA_PLUGIN(tool_cxx, "1.0", "a tool in C++", "MIT", "", &iface);
