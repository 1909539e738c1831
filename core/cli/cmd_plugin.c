/* chela plugin: what is loaded and what can be set (asked of the gateway), and what a file holds
 * (asked of a child process, since opening a plugin runs its code). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/become.h"
#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

/* ---- list ---- */

static void print_plugins(json_object *payload)
{
    json_object *plugins = chela_json_array(payload, "plugins");
    for (size_t i = 0; i < chela_json_length(plugins); i++) {
        json_object *plugin = chela_json_at(plugins, i);
        json_object *instances = chela_json_array(plugin, "instances");
        for (size_t k = 0; k < chela_json_length(instances); k++) {
            json_object *instance = chela_json_at(instances, k);
            const char *why = output_field(instance, "why", "");
            output_cell(k == 0 ? output_field(plugin, "name", "?") : "", 24);
            output_cell(output_field(instance, "name", "?"), 18);
            output_cell(output_field(instance, "role", ""), 10);
            output_text(output_field(instance, "state", "?"));
            output_text(why[0] == '\0' ? "" : ": ");
            output_line(why);
        }
    }
}

/* ---- options ---- */

static void print_options(json_object *options, unsigned depth)
{
    for (size_t i = 0; i < chela_json_length(options); i++) {
        json_object *option = chela_json_at(options, i);
        const char *fallback = output_field(option, "default", NULL);
        char name[128];
        snprintf(name, sizeof name, "%*s%.80s", (int)(2 * depth), "",
                 output_field(option, "name", "?"));
        output_cell(name, 26);
        output_cell(output_field(option, "type", ""), 10);
        output_text(output_field(option, "help", ""));
        if (chela_json_bool(option, "required", false)) {
            output_text(" (required)");
        }
        if (chela_json_bool(option, "secret", false)) {
            output_text(" (secret)");
        }
        if (fallback != NULL) {
            output_text(" [");
            output_text(fallback);
            output_text("]");
        }
        fputc('\n', stdout);
        if (depth < 4) {
            print_options(chela_json_array(option, "items"), depth + 1);
        }
    }
}

static void print_options_of(json_object *payload)
{
    output_text(output_field(payload, "plugin", ""));
    output_text(", type ");
    output_line(output_field(payload, "type", ""));
    print_options(chela_json_array(payload, "options"), 0);
}

static int ask(const struct common *common, const char *method, json_object *params,
               void (*print)(json_object *))
{
    json_object *payload = NULL;
    int status = output_ask(common, method, params, &payload);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        print(payload);
    }
    json_object_put(payload);
    return status;
}

/* ---- info and check: by the child ---- */

/* Becomes the child that opens the file, tells what it finds, and ends; returns only on failure. */
static int inspect(const struct common *common, const char *verb, const char *file)
{
    char resolved[PATH_MAX];
    if (realpath(file, resolved) == NULL) {
        char *message = xprintf("%s: %s", file, strerror(errno));
        int status = output_failure(common, "not_found", message, EXIT_FAILED);
        free(message);
        return status;
    }
    const char *words[] = {"chela-child", verb, resolved, NULL};
    return become(common, words);
}

int cmd_plugin(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "plugin list | options NAME | info FILE | check FILE",
        .summary = "Lists the plugins in use, shows what one can be told, or looks into a file.",
        .least = 1,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    const char *verb = arguments[0], *name = count > 1 ? arguments[1] : NULL;
    if (strcmp(verb, "list") == 0 && name == NULL) {
        return ask(&common, "chela.plugins.list", NULL, print_plugins);
    }
    if (strcmp(verb, "options") == 0 && name != NULL) {
        json_object *params = chela_json_new_object();
        chela_json_put_text(params, "name", name);
        return ask(&common, "chela.plugins.options", params, print_options_of);
    }
    if (name != NULL && strcmp(verb, "info") == 0) {
        return inspect(&common, "describe", name); /* JSON, with or without --json */
    }
    if (name != NULL && strcmp(verb, "check") == 0) {
        return inspect(&common, common.json ? "describe" : "check", name);
    }
    return output_failure(&common, "usage", "see chela plugin --help", EXIT_USAGE);
}
