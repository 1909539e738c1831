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
    long long vectors = chela_json_int(payload, "vectors", 0);
    printf("%lld notes are in the index", (long long)chela_json_int(payload, "notes", 0));
    if (vectors > 0) {
        printf(", %lld with a vector", vectors);
    }
    printf("\n");
}

/* Asked again until nothing is left: many notes take minutes. */
static int index_notes(const struct common *common, json_object **payload)
{
    int status = output_ask(common, "memory.index", chela_json_new_object(), payload);
    while (status == EXIT_OK && chela_json_int(*payload, "left", 0) > 0) {
        json_object_put(*payload);
        *payload = NULL;
        status = output_ask(common, "memory.index", chela_json_new_object(), payload);
    }
    return status;
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
    json_object *payload = NULL;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    bool search = strcmp(arguments[0], "search") == 0 && count == 2;
    if (!search && (strcmp(arguments[0], "index") != 0 || count != 1)) {
        return output_failure(&common, "usage", "see chela memory --help", EXIT_USAGE);
    }
    if (search) {
        json_object *params = chela_json_new_object();
        chela_json_put_text(params, "query", arguments[1]);
        status = output_ask(&common, "memory.search", params, &payload);
    } else {
        status = index_notes(&common, &payload);
    }
    if (status == EXIT_OK && common.json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        (search ? print_results : print_count)(payload);
    }
    json_object_put(payload);
    return status;
}
