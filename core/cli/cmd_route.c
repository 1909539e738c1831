/* chela route: which model would answer a text, why, and at what price. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/route_view.h"
#include "support/json.h"

static void print_fact(json_object *facts, const char *key, const char *label)
{
    json_object *value = chela_json_get(facts, key);
    const char *text = chela_json_as_string(value, NULL);
    if (text ? *text == '\0' : value == NULL)
        return;
    output_cell(label, 16);
    output_line(text ? text : chela_json_text(value, NULL));
}

static void print_facts(json_object *facts)
{
    static const char *const names[][2] = {
        {"text", "text"},
        {"agent", "agent"},
        {"session", "session"},
        {"channel", "channel"},
        {"sender", "sender"},
        {"prefer", "chosen before"},
        {"attachments", "attachments"},
        {"contextTokens", "context tokens"},
        {"tools", "tools"},
        {"toolCalls", "calls so far"},
        {"images", "images"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        print_fact(facts, names[i][0], names[i][1]);
}

static void print_cost(json_object *c)
{
    double cost = chela_json_double(c, "estimatedCost", 0);
    const char *circuit = output_field(c, "circuit", "closed");
    if (chela_json_bool(c, "local", false))
        printf("   on this machine");
    else
        printf("   about %.4g%s", cost,
               chela_json_bool(c, "priceKnown", false)
                   ? ""
                   : " (its price is not known: taken as the dearest)");
    if (!chela_json_bool(c, "available", true))
        printf(", not available now");
    if (strcmp(circuit, "closed") != 0) {
        printf(", circuit ");
        output_text(circuit);
    }
    if (chela_json_int(c, "latencyMs", 0) > 0)
        printf(", %lld ms, available %.0f %%", (long long)chela_json_int(c, "latencyMs", 0),
               chela_json_double(c, "availability", 1) * 100);
    fputc('\n', stdout);
}

static void print_explanation(json_object *payload)
{
    json_object *candidates = chela_json_array(payload, "candidates");
    print_facts(chela_json_object(payload, "facts"));
    fputc('\n', stdout);
    route_view_routers(chela_json_array(payload, "routers"), "");
    if (chela_json_bool(payload, "strict", false))
        puts("A person chose the model: no other one is tried.");
    fputc('\n', stdout);
    for (size_t i = 0; i < chela_json_length(candidates); i++) {
        route_view_candidate(chela_json_at(candidates, i), i, "");
        print_cost(chela_json_at(candidates, i));
    }
    if (chela_json_length(candidates) == 0)
        puts("No model is there to answer.");
}

int cmd_route(int argc, char **argv)
{
    struct common common = {0};
    const char *session = NULL, *channel = NULL, *sender = NULL, *attachments = NULL;
    const struct option_row rows[] = {
        {'s', "session", "KEY", "as if it were said in this session", NULL, &session},
        {'\0', "channel", "NAME", "as if it came by this channel", NULL, &channel},
        {'\0', "sender", "ID", "as if this sender said it", NULL, &sender},
        {'\0', "attachments", "KINDS", "as if these came with it: \"image file\"", NULL,
         &attachments},
        {0},
    };
    const struct command_line line = {
        .synopsis = "route explain TEXT [OPTION...]",
        .summary = "Shows which models would answer a text, in which order, why, and what each "
                   "would cost. The answer is not asked for.",
        .rows = rows,
        .least = 1,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (count == 2 && strcmp(arguments[0], "explain") != 0)
        return output_failure(&common, "usage", "see chela route --help", EXIT_USAGE);
    json_object *params = chela_json_new_object(), *payload = NULL;
    const char *const pairs[][2] = {{"text", arguments[count - 1]},
                                    {"session", session},
                                    {"channel", channel},
                                    {"sender", sender},
                                    {"attachments", attachments}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][1])
            chela_json_put_text(params, pairs[i][0], pairs[i][1]);
    status = output_ask(&common, "chela.route.explain", params, &payload);
    if (status == EXIT_OK && common.json)
        output_json(payload);
    else if (status == EXIT_OK)
        print_explanation(payload);
    json_object_put(payload);
    return status;
}
