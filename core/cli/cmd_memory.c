/* chela memory: a search in the notes, and their index brought up to date (asked of the plugin
 * tool_memory by gateway methods). */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

static void print_results(json_object *payload)
{
    json_object *results = chela_json_array(payload, "results");
    for (size_t i = 0; i < chela_json_length(results); i++) {
        json_object *hit = chela_json_at(results, i);
        output_text(output_field(hit, "path", "?"));
        output_text(" ");
        output_line(output_field(hit, "lines", ""));
        output_line(output_field(hit, "text", ""));
    }
}

static void print_count(json_object *payload)
{
    printf("%lld notes are in the index\n", (long long)chela_json_int(payload, "notes", 0));
}

int cmd_memory(int argc, char **argv)
{
    static const struct command_line line = {
        .synopsis = "memory search WORDS | index",
        .summary = "Searches the notes that the assistant remembers, or reads them anew.",
        .least = 1,
        .most = 2,
    };
    struct common common = {0};
    char **arguments;
    int count, status;
    json_object *payload = NULL, *params = chela_json_new_object();
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        json_object_put(params);
        return status;
    }
    bool search = strcmp(arguments[0], "search") == 0 && count == 2;
    if (!search && (strcmp(arguments[0], "index") != 0 || count != 1)) {
        json_object_put(params);
        return output_failure(&common, "usage", "see chela memory --help", EXIT_USAGE);
    }
    if (search) {
        chela_json_put_text(params, "query", arguments[1]);
    }
    status = output_ask(&common, search ? "memory.search" : "memory.index", params, &payload);
    if (status == EXIT_OK && common.json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        (search ? print_results : print_count)(payload);
    }
    json_object_put(payload);
    return status;
}
