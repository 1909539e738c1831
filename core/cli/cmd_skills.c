/* chela skills: the skills that the gateway has found, and why one can't be used (asked of the
 * plugin tool_skills by a gateway method). */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

static void print_skill(json_object *skill)
{
    output_cell(output_field(skill, "name", "?"), 20);
    output_cell(output_field(skill, "source", ""), 10);
    output_cell(chela_json_bool(skill, "eligible", false) ? "ready" : "not here", 9);
    output_line(output_field(skill, "why", output_field(skill, "description", "")));
}

/* With `check` only what is wrong is shown, and the status says whether something is. */
static int print(json_object *payload, bool check)
{
    json_object *skills = chela_json_array(payload, "skills"),
                *broken = chela_json_array(payload, "broken");
    int status = EXIT_OK;
    for (size_t i = 0; i < chela_json_length(skills); i++) {
        json_object *skill = chela_json_at(skills, i);
        if (!check || !chela_json_bool(skill, "eligible", false)) {
            print_skill(skill);
        }
    }
    for (size_t i = 0; i < chela_json_length(broken); i++) {
        json_object *item = chela_json_at(broken, i);
        output_text(output_field(item, "folder", "?"));
        output_text(": ");
        output_line(output_field(item, "why", ""));
        status = check ? EXIT_FAILED : status;
    }
    return status;
}

int cmd_skills(int argc, char **argv)
{
    static const struct command_line line = {
        .synopsis = "skills list | check",
        .summary = "Lists the skills, or tells what is wrong with some.",
        .least = 1,
        .most = 1,
    };
    struct common common = {0};
    char **arguments;
    int count, status;
    json_object *payload = NULL;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    bool check = strcmp(arguments[0], "check") == 0;
    if (!check && strcmp(arguments[0], "list") != 0) {
        return output_failure(&common, "usage", "see chela skills --help", EXIT_USAGE);
    }
    status = output_ask(&common, "skills.status", NULL, &payload);
    if (status == EXIT_OK && common.json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        status = print(payload, check);
    }
    json_object_put(payload);
    return status;
}
