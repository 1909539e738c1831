/* chela models: the models with what they cost and how they do, a small question to one, and which
 * one answers from now on. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

/* ---- list ---- */

static void print_head(void)
{
    output_cell("MODEL", 40);
    output_cell("WINDOW", 9);
    output_cell("IN/M", 8);
    output_cell("OUT/M", 8);
    output_cell("CACHED/M", 9);
    output_line("");
}

static void print_price(json_object *model, const char *key, unsigned width)
{
    char text[32];
    snprintf(text, sizeof text, "%s%g",
             chela_json_bool(model, "priceKnown", true) ? "" : "?", /* the dearest known one */
             chela_json_double(model, key, 0));
    output_cell(text, width);
}

static void print_model(json_object *model)
{
    char window[32];
    int64_t latency = chela_json_int(model, "latencyMs", 0);
    json_object *input = chela_json_array(model, "input");
    bool local = chela_json_bool(model, "local", false);
    snprintf(window, sizeof window, "%lld", (long long)chela_json_int(model, "contextWindow", 0));
    output_cell(output_field(model, "id", "?"), 40);
    output_cell(window, 9);
    print_price(model, "priceIn", 8);
    print_price(model, "priceOut", 8);
    print_price(model, "priceCacheRead", 9);
    printf("%s%s%s%s", local ? "local " : "", chela_json_bool(model, "tools", true) ? "tools " : "",
           chela_json_length(input) > 1 ? "images " : "",
           chela_json_bool(model, "reasoning", false) ? "thinking " : "");
    if (latency > 0)
        printf("%lld ms ", (long long)latency);
    if (!chela_json_bool(model, "available", true))
        printf("not available");
    fputc('\n', stdout);
}

static int list(const struct common *common, bool names)
{
    json_object *payload = NULL;
    int status = output_ask(common, "chela.models", NULL, &payload);
    json_object *models = chela_json_array(payload, "models");
    if (status == EXIT_OK && common->json && !names)
        output_json(payload);
    if (status == EXIT_OK && !common->json && !names)
        print_head();
    for (size_t i = 0; status == EXIT_OK && i < chela_json_length(models); i++) {
        json_object *model = chela_json_at(models, i);
        if (names)
            output_line(output_field(model, "id", "?"));
        else if (!common->json)
            print_model(model);
    }
    json_object_put(payload);
    return status;
}

/* ---- probe ---- */

static int probe(const struct common *common, const char *name)
{
    json_object *payload = NULL, *params = chela_json_new_object();
    chela_json_put_text(params, "model", name);
    int status = output_ask(common, "chela.models.probe", params, &payload);
    bool answered = chela_json_bool(payload, "ok", false);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        char span[48];
        json_object *usage = chela_json_object(payload, "usage");
        output_span(chela_json_int(payload, "ms", 0), span, sizeof span);
        output_text(output_field(payload, "model", "?"));
        printf(answered ? " answers in %s (%lld tokens): " : " fails after %s (%lld tokens): ",
               span, (long long)chela_json_int(usage, "total", 0));
        output_line(output_field(payload, answered ? "text" : "error", ""));
    }
    json_object_put(payload);
    return status == EXIT_OK && !answered ? EXIT_FAILED : status;
}

/* ---- set ---- */

/* For a session, or for an agent; "" takes back what was set. */
static int set(const struct common *common, const char *model, const char *session,
               const char *agent)
{
    json_object *payload = NULL, *params = chela_json_new_object();
    chela_json_put_text(params, "model", session && !*model ? NULL : model);
    if (session)
        chela_json_put_text(params, "key", session);
    else if (agent)
        chela_json_put_text(params, "agent", agent);
    int status =
        output_ask(common, session ? "sessions.patch" : "chela.models.set", params, &payload);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        output_text(*model ? model : "What is configured");
        printf(" counts from the next turn on, for ");
        output_line(session ? session : agent ? agent : "all agents that name no model");
    }
    json_object_put(payload);
    return status;
}

int cmd_models(int argc, char **argv)
{
    struct common common = {0};
    bool names = false;
    const char *session = NULL, *agent = NULL;
    const struct option_row rows[] = {
        {'\0', "names", NULL, "list: only the names, one a line", &names, NULL},
        {'s', "session", "KEY", "set: for this session; an empty MODEL takes it back", NULL,
         &session},
        {'a', "agent", "NAME", "set: for this agent; without it for all that name none", NULL,
         &agent},
        {0},
    };
    const struct command_line line = {
        .synopsis = "models [list | probe MODEL | set MODEL] [OPTION...]",
        .summary = "Lists the models, asks one whether it answers, or says which one answers. "
                   "Prices are for a million tokens; ? stands before one that nobody named.",
        .rows = rows,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    const char *verb = count > 0 ? arguments[0] : "list";
    if (count < 2 && strcmp(verb, "list") == 0)
        return list(&common, names);
    if (count == 2 && strcmp(verb, "probe") == 0)
        return probe(&common, arguments[1]);
    if (count == 2 && strcmp(verb, "set") == 0 && !(session && agent))
        return set(&common, arguments[1], session, agent);
    return output_failure(&common, "usage", "see chela models --help", EXIT_USAGE);
}
