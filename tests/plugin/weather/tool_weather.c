/*
 * tool_weather: the tools of the weather example, with its values (get_weather, web_search), and
 * count_me, whose effect a test can count. A test plugin.
 */
#include <chela/chela.h>

#include <stdio.h>

static const struct chela_option options[] = {
    {"slow", CHELA_DURATION, 0, "0", "how long get_weather takes", NULL},
    {"effects", CHELA_STRING, 0, NULL, "file to which each run of count_me adds a line", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_pair tools[] = {
    {CHELA_LIT("get_weather"),
     CHELA_LIT("{\"name\":\"get_weather\",\"description\":\"Current weather of a "
               "city\",\"parameters\":{\"type\":\"object\","
               "\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]},"
               "\"returns\":{\"type\":\"object\","
               "\"properties\":{\"temp\":{\"type\":\"number\"}},\"required\":[\"temp\"]},"
               "\"security\":{\"requiresApproval\":false,"
               "\"riskLevel\":\"low\"},\"reads_only\":true}")},
    {CHELA_LIT("web_search"), CHELA_LIT("{\"name\":\"web_search\",\"description\":\"Searches the "
                                        "web\",\"parameters\":{\"type\":\"object\",\"properties\":{"
                                        "\"query\":{\"type\":\"string\"}},\"required\":[\"query\"]}"
                                        ",\"security\":{\"requiresApproval\":false,\"riskLevel\":"
                                        "\"low\"},\"reads_only\":true}")},
    {CHELA_LIT("count_me"),
     CHELA_LIT("{\"name\":\"count_me\",\"description\":\"Has an effect that a test can "
               "count\",\"parameters\":{\"type\":\"object\"},"
               "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"low\"}}")},
};

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_list(in, CHELA_TOOLS, 1, tools, sizeof tools / sizeof tools[0]);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void answer_weather(struct chela_inst *in, void *arg)
{
    chela_end(in, (uint64_t)(uintptr_t)arg, CHELA_OK,
              "{\"temp\":28,\"condition\":\"晴\",\"humidity\":\"45%\"}");
}

static void count(struct chela_inst *in, const struct chela_tool_run *r)
{
    FILE *f = fopen(chela_option_text(in, "effects").s, "ae");
    if (f) {
        fprintf(f, "%s\n", r->call_id.s);
        fclose(f);
    }
    chela_end(in, r->h.call, f ? CHELA_OK : CHELA_E_OTHER,
              f ? "counted" : "the file of effects cannot be written");
}

static void run(struct chela_inst *in, const struct chela_tool_run *r)
{
    uint64_t slow = (uint64_t)chela_option_number(in, "slow");
    void *call = (void *)(uintptr_t)r->h.call;
    if (chela_str_is(r->name, "web_search"))
        chela_end(in, r->h.call, CHELA_OK, "[]");
    else if (chela_str_is(r->name, "count_me"))
        count(in, r);
    else if (slow)
        in->host->local->timer(in, slow, answer_weather, call);
    else
        answer_weather(in, call);
}

static const struct chela_tool tool = {.size = (uint32_t)sizeof(struct chela_tool), .run = run};

static const struct chela_iface weather = {
    CHELA_IFACE("weather", "the tools of the weather example", 0, options),
    .start = start,
    .tool = &tool,
};

CHELA_PLUGIN(tool_weather, "1.0", "the tools of the weather example", "MIT", "", &weather);
