/* chela allowlist: which calls run without a person being asked, beside those that were allowed for
 * always one by one. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "support/json.h"

static int list(const struct common *common)
{
    json_object *payload = NULL;
    int status = output_ask(common, "chela.allowlist.list", NULL, &payload);
    json_object *entries = chela_json_array(payload, "entries");
    if (status == EXIT_OK && common->json)
        output_json(payload);
    for (size_t i = 0; status == EXIT_OK && !common->json && i < chela_json_length(entries); i++) {
        const char *kind = chela_json_string(chela_json_at(entries, i), "kind", NULL);
        const char *source = chela_json_string(chela_json_at(entries, i), "source", NULL);
        output_text(kind ? kind : "");
        fputs("\n    for ", stdout);
        output_text(source ? source : "");
        fputc('\n', stdout);
    }
    if (status == EXIT_OK && !common->json && chela_json_length(entries) == 0)
        puts("Nothing is allowed for always.");
    json_object_put(payload);
    return status;
}

static int change(const struct common *common, const char *method, const char *kind,
                  const char *source, const char *said)
{
    json_object *params = chela_json_new_object(), *payload = NULL;
    chela_json_put_text(params, "kind", kind);
    if (source)
        chela_json_put_text(params, "source", source);
    int status = output_ask(common, method, params, &payload);
    if (status == EXIT_OK && common->json)
        output_json(payload);
    else if (status == EXIT_OK)
        puts(said);
    json_object_put(payload);
    return status;
}

int cmd_allowlist(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "allowlist [list | add KIND [SOURCE] | remove KIND SOURCE]",
        .summary = "Shows or changes which tool calls run without asking. KIND: \"tool\" or "
                   "\"tool|what\", as in \"exec|/usr/bin/npm install *\"; SOURCE: "
                   "\"channel|account|peer|agent\"; both may hold * and ?.",
        .most = 3,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (count == 0 || (count == 1 && strcmp(arguments[0], "list") == 0))
        return list(&common);
    if (count >= 2 && strcmp(arguments[0], "add") == 0)
        return change(&common, "chela.allowlist.add", arguments[1], count > 2 ? arguments[2] : NULL,
                      "It runs without asking from now on.");
    if (count == 3 && strcmp(arguments[0], "remove") == 0)
        return change(&common, "chela.allowlist.remove", arguments[1], arguments[2],
                      "It is asked about again.");
    return output_failure(&common, "usage", "see chela allowlist --help", EXIT_USAGE);
}
