/* chela tools: the tools that there are, and why a model sees one or doesn't. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "support/json.h"

static void print_line(json_object *tool)
{
    bool visible = chela_json_bool(tool, "visible", false);
    printf("%c ", visible ? '+' : '-');
    output_text(chela_member(tool, "name"));
    printf("  (%s risk, ", chela_member(tool, "risk"));
    output_text(chela_member(tool, "source"));
    fputs(")", stdout);
    if (!visible) {
        fputs("  ", stdout);
        output_text(chela_member(tool, "why"));
    }
    fputc('\n', stdout);
}

static void print_whole(json_object *tool, const char *wanted)
{
    bool visible = chela_json_bool(tool, "visible", false);
    output_text(chela_member(tool, "name"));
    fputs(", of ", stdout);
    output_text(chela_member(tool, "source"));
    printf(visible ? "\n  A model sees it.\n" : "\n  A model does not see it: ");
    if (!visible) {
        output_text(chela_member(tool, "why"));
        fputc('\n', stdout);
    }
    fputs("  When it is called: ", stdout);
    output_text(chela_member(tool, "approval"));
    printf("\n  Risk: %s; group: ", chela_member(tool, "risk"));
    output_text(chela_member(tool, "group"));
    printf("; %lld tokens in each prompt\n  Description: ",
           (long long)chela_json_int(tool, "tokens", 0));
    output_text(chela_member(tool, "description"));
    fputc('\n', stdout);
    if (wanted)
        printf("  %s\n",
               chela_json_int(tool, "score", 0) > 0
                   ? "Its name or description shares words with the text, so a model can connect "
                     "them."
                   : "Neither its name nor its description has a word of the text: a model may not "
                     "think of it. Say in the description when the tool is wanted.");
}

int cmd_tools(int argc, char **argv)
{
    struct common common = {0};
    const char *wanted = NULL, *session = NULL, *channel = NULL, *sender = NULL;
    const struct option_row rows[] = {
        {0, "text", "TEXT", "what was asked for when the tool was not called", NULL, &wanted},
        {0, "session", "KEY", "as seen from this session", NULL, &session},
        {0, "channel", "NAME", "for messages of this channel", NULL, &channel},
        {0, "sender", "ID", "for messages of this sender", NULL, &sender},
        {0, NULL, NULL, NULL, NULL, NULL},
    };
    const struct command_line line = {
        .synopsis = "tools [list | explain NAME] [--text TEXT] [--channel NAME] [--sender ID]",
        .summary = "Lists the tools, or says why a model sees one, or doesn't.",
        .rows = rows,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    bool explain = count == 2 && strcmp(arguments[0], "explain") == 0;
    if (count > 0 && !explain && !(count == 1 && strcmp(arguments[0], "list") == 0))
        return output_failure(&common, "usage", "see chela tools --help", EXIT_USAGE);
    json_object *params = chela_json_new_object(), *payload = NULL;
    const char *const pairs[][2] = {{"name", explain ? arguments[1] : NULL},
                                    {"text", wanted},
                                    {"session", session},
                                    {"channel", channel},
                                    {"sender", sender}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][1])
            chela_json_put_text(params, pairs[i][0], pairs[i][1]);
    status = output_ask(&common, "chela.tools.explain", params, &payload);
    json_object *tools = chela_json_array(payload, "tools");
    if (status == EXIT_OK && common.json)
        output_json(payload);
    for (size_t i = 0; status == EXIT_OK && !common.json && i < chela_json_length(tools); i++) {
        if (explain)
            print_whole(chela_json_at(tools, i), wanted);
        else
            print_line(chela_json_at(tools, i));
    }
    if (status == EXIT_OK && explain && chela_json_length(tools) == 0)
        status = output_failure(&common, "not-found",
                                "no plugin offers a tool of this name; chela tools lists them",
                                EXIT_FAILED);
    json_object_put(payload);
    return status;
}
