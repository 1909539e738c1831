/* The subcommands that ask how the gateway is: status, health, logs, reload. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "config.h"
#include "support/json.h"

/* ---- status ---- */

static void print_instances(const char *kind, json_object *list)
{
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *instance = chela_json_at(list, i);
        output_cell(i == 0 ? kind : "", 11);
        output_cell(output_field(instance, "name", "?"), 18);
        output_cell(output_field(instance, "plugin", ""), 22);
        output_text(output_field(instance, "state", "?"));
        const char *why = output_field(instance, "why", NULL);
        if (why != NULL) {
            output_text(": ");
            output_text(why);
        }
        fputc('\n', stdout);
    }
}

static void print_runs(json_object *runs)
{
    for (size_t i = 0; i < chela_json_length(runs); i++) {
        json_object *run = chela_json_at(runs, i);
        char age[32];
        output_age(chela_json_int(run, "startedAt", 0), age, sizeof age);
        output_cell(i == 0 ? "running" : "", 11);
        output_cell(output_field(run, "sessionKey", "?"), 24);
        output_cell(output_field(run, "state", "?"), 18);
        output_cell(output_field(run, "model", ""), 28);
        output_line(age);
    }
}

/* "provider/model" */
static void model_name(json_object *model, char *out, size_t size)
{
    const char *id = output_field(model, "id", "?"),
               *provider = output_field(model, "provider", "");
    bool whole = provider[0] == '\0' || strchr(id, '/') != NULL;
    snprintf(out, size, "%s%s%s", whole ? "" : provider, whole ? "" : "/", id);
}

static void print_models(json_object *models, const char *first)
{
    for (size_t i = 0; i < chela_json_length(models); i++) {
        json_object *model = chela_json_at(models, i);
        char name[256], window[32] = "";
        model_name(model, name, sizeof name);
        int64_t tokens = chela_json_int(model, "contextWindow", 0);
        if (tokens > 0) {
            snprintf(window, sizeof window, "%lld tokens", (long long)tokens);
        }
        if (first != NULL) {
            output_cell(i == 0 ? first : "", 11);
        }
        output_cell(name, 40);
        output_cell(window, 16);
        output_line(chela_json_bool(model, "available", true) ? "" : "not available");
    }
}

static void print_status(json_object *status)
{
    static const char *const kinds[][2] = {
        {"channels", "channel"}, {"providers", "provider"}, {"routers", "router"},
        {"tools", "tool"},       {"stores", "store"},       {"hooks", "hook"},
        {"services", "service"},
    };
    char up[48];
    output_span(chela_json_int(status, "uptimeMs", 0), up, sizeof up);
    printf("gateway    ");
    output_text(output_field(status, "version", "?"));
    printf(", pid %lld, up %s, %lld client%s%s\n", (long long)chela_json_int(status, "pid", 0), up,
           (long long)chela_json_int(status, "connections", 0),
           chela_json_int(status, "connections", 0) == 1 ? "" : "s",
           chela_json_bool(status, "ready", true) ? "" : ", not ready yet");
    json_object *instances = chela_json_object(status, "instances");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        print_instances(kinds[i][1], chela_json_array(instances, kinds[i][0]));
    }
    print_models(chela_json_array(status, "models"), "model");
    print_runs(chela_json_array(status, "runs"));
    int64_t waiting = chela_json_int(status, "approvalsWaiting", 0);
    if (waiting > 0) {
        printf("approvals  %lld waiting: chela approvals\n", (long long)waiting);
    }
}

/* One request without arguments and without options of its own, and how to print what it gives. */
static int ask_and_print(const struct command_line *line, int argc, char **argv, const char *method,
                         void (*print)(json_object *))
{
    struct common common = {0};
    char **arguments;
    int count, status;
    if (!command_line_read(line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    json_object *payload = NULL;
    status = output_ask(&common, method, NULL, &payload);
    if (status == EXIT_OK && (common.json || print == NULL)) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        print(payload);
    }
    json_object_put(payload);
    return status;
}

int cmd_status(int argc, char **argv)
{
    static const struct command_line line = {
        .synopsis = "status [OPTION...]",
        .summary =
            "Shows the running gateway: plugins, models, turns under way, waiting approvals.",
    };
    return ask_and_print(&line, argc, argv, "status", print_status);
}

/* ---- health ---- */

static void print_health(json_object *health)
{
    json_object *errors = chela_json_array(chela_json_object(health, "plugins"), "errors");
    printf("%s\n", chela_json_bool(health, "ok", false) ? "ok" : "not ok");
    for (size_t i = 0; i < chela_json_length(errors); i++) {
        json_object *error = chela_json_at(errors, i);
        output_text(output_field(error, "id", "?"));
        output_text(": ");
        output_line(output_field(error, "error", "?"));
    }
}

int cmd_health(int argc, char **argv)
{
    static const struct command_line line = {
        .synopsis = "health [OPTION...]",
        .summary = "Says whether the gateway works, and what in it does not.",
    };
    return ask_and_print(&line, argc, argv, "health", print_health);
}

/* ---- logs ---- */

#define LOGS_POLL_MS 500

/* Prints the lines and returns the cursor behind them. */
static int64_t print_lines(json_object *payload, bool json)
{
    json_object *lines = chela_json_array(payload, "lines");
    if (chela_json_bool(payload, "truncated", false) && !json) {
        fprintf(stderr, "chela: some lines were dropped in between\n");
    }
    for (size_t i = 0; i < chela_json_length(lines); i++) {
        const char *text = chela_json_as_string(chela_json_at(lines, i), NULL);
        if (json) {
            output_json(chela_json_at(lines, i));
        } else {
            output_line(text == NULL ? "" : text);
        }
    }
    fflush(stdout);
    return chela_json_int(payload, "cursor", 0);
}

static json_object *logs_params(int64_t cursor, int64_t limit)
{
    json_object *params = chela_json_new_object();
    if (cursor >= 0) {
        chela_json_put_int(params, "cursor", cursor);
    }
    chela_json_put_int(params, "limit", limit);
    return params;
}

static int follow_logs(const struct common *common, struct client *client, int64_t limit,
                       bool follow)
{
    int64_t cursor = -1;
    for (;;) {
        struct error e = {0};
        json_object *payload = NULL;
        if (client_call(client, "logs.tail", logs_params(cursor, cursor < 0 ? limit : 1000),
                        CLIENT_REQUEST_MS, &payload, NULL, &e) != 0) {
            return output_error(common, &e, EXIT_FAILED);
        }
        cursor = print_lines(payload, common->json);
        json_object_put(payload);
        if (!follow) {
            return EXIT_OK;
        }
        uint64_t until = clock_ticks_ms() + LOGS_POLL_MS;
        for (uint64_t now = clock_ticks_ms(); now < until; now = clock_ticks_ms()) {
            if (client_wait(client, (int)(until - now), &e) != 0) {
                return output_error(common, &e, EXIT_FAILED);
            }
        }
    }
}

int cmd_logs(int argc, char **argv)
{
    struct common common = {0};
    bool follow = false;
    const char *limit = NULL;
    const struct option_row rows[] = {
        {'f', "follow", NULL, "go on with what comes", &follow, NULL},
        {'n', "lines", "NUMBER", "how many to begin with (default 200, 1000 at most)", NULL,
         &limit},
        {0},
    };
    const struct command_line line = {
        .synopsis = "logs [OPTION...]",
        .summary = "Shows the gateway's last log lines.",
        .rows = rows,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    char *end = NULL;
    long number = limit == NULL ? 200 : strtol(limit, &end, 10);
    if (number < 1 || number > 1000 || (limit != NULL && *end != '\0')) {
        return output_failure(&common, "usage", "--lines takes a number from 1 to 1000",
                              EXIT_USAGE);
    }
    struct place place;
    struct client client = {0};
    status = output_connect(&common, &place, &client, NULL, NULL);
    if (status == EXIT_OK) {
        status = follow_logs(&common, &client, number, follow);
    }
    client_close(&client);
    place_free(&place);
    return status;
}

/* ---- reload ---- */

static void print_reloaded(json_object *payload)
{
    (void)payload;
    puts("The configuration was read anew and applied.");
}

int cmd_reload(int argc, char **argv)
{
    static const struct command_line line = {
        .synopsis = "reload [OPTION...]",
        .summary = "Makes the gateway read its configuration anew. A wrong one changes nothing.",
    };
    return ask_and_print(&line, argc, argv, "chela.reload", print_reloaded);
}

/* ---- version ---- */

int cmd_version(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "version [--json]",
        .summary = "Shows the version of this program.",
        .local = true,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    if (common.json) {
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "version", PACKAGE_VERSION);
        output_json(o);
        json_object_put(o);
    } else {
        puts(PACKAGE_STRING);
    }
    return EXIT_OK;
}
