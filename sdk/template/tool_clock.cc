/*
 * tool_clock: a tool in C++. The tables are constexpr, so that nothing runs when the file is loaded;
 * exceptions must not leave a function that the host calls.
 */
#include <chela/chela.h>

#include <ctime>

namespace {

constexpr chela_pair tools[] = {
    {CHELA_LIT("local_time"),
     CHELA_LIT(R"({"name":"local_time","description":"Date and time on this machine.",)"
               R"("parameters":{"type":"object","properties":{},"additionalProperties":false},)"
               R"("security":{"requiresApproval":false,"riskLevel":"low"},)"
               R"("reads_only":true,"repeatable":true})")}};

void start(chela_inst *in, const chela_arg *a)
{
    chela_publish_list(in, CHELA_TOOLS, 1, tools, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

void run(chela_inst *in, const chela_tool_run *r)
{
    std::time_t now = static_cast<std::time_t>(in->host->local->now_ms(in) / 1000);
    std::tm parts{};
    char text[64];
    localtime_r(&now, &parts);
    std::strftime(text, sizeof text, "%A, %Y-%m-%d %H:%M:%S %z", &parts);
    chela_end(in, r->h.call, CHELA_OK, text);
}

constexpr chela_tool make_tool()
{
    chela_tool t{};
    t.size = sizeof t;
    t.run = run;
    return t;
}
constexpr chela_tool tool = make_tool();

constexpr chela_iface make_iface()
{
    chela_iface i{};
    i.size = sizeof i;
    i.option_size = sizeof(chela_option);
    i.type = "clock";
    i.summary = "tells the time";
    i.start = start;
    i.tool = &tool;
    return i;
}
constexpr chela_iface iface = make_iface();

} // namespace

CHELA_PLUGIN(tool_clock, "1.0", "tells the time", "MIT", "", &iface);
