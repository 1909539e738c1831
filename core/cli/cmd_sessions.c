/* chela sessions: list, export, set, reset, delete. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

#define LIST_PAGE 200

/* ---- list ---- */

static void print_session(json_object *row)
{
    char age[32];
    output_age(chela_json_int(row, "updatedAt", 0), age, sizeof age);
    output_cell(output_field(row, "key", "?"), 34);
    output_cell(age, 8);
    output_cell(output_field(row, "model", ""), 26);
    output_cell(chela_json_bool(row, "hasActiveRun", false) ? "running" : "", 9);
    output_line(output_field(row, "label", output_field(row, "derivedTitle", "")));
}

/* All pages, each row printed as it comes. */
static int list(const struct common *common, bool keys)
{
    struct place place;
    struct client client = {0};
    struct error e = {0};
    int status = output_connect(common, &place, &client, NULL, NULL);
    int64_t offset = 0;
    bool more = status == EXIT_OK;
    while (more) {
        json_object *params = chela_json_new_object(), *payload = NULL;
        chela_json_put_int(params, "limit", LIST_PAGE);
        chela_json_put_int(params, "offset", offset);
        chela_json_put_bool(params, "includeDerivedTitles", true);
        if (client_call(&client, "sessions.list", params, CLIENT_REQUEST_MS, &payload, NULL, &e) !=
            0) {
            status = output_error(common, &e, EXIT_FAILED);
            break;
        }
        json_object *rows = chela_json_array(payload, "sessions");
        size_t count = chela_json_length(rows);
        for (size_t i = 0; i < count; i++) {
            if (keys) {
                output_line(output_field(chela_json_at(rows, i), "key", ""));
            } else if (common->json) {
                output_json(chela_json_at(rows, i));
            } else {
                print_session(chela_json_at(rows, i));
            }
        }
        int64_t next = chela_json_int(payload, "nextOffset", offset + (int64_t)count);
        more = chela_json_bool(payload, "hasMore", false) && next > offset;
        offset = next;
        json_object_put(payload);
    }
    client_close(&client);
    place_free(&place);
    return status;
}

/* ---- export ---- */

static int export(const struct common *common, const char *key)
{
    struct place place;
    struct client client = {0};
    struct error e = {0};
    int status = output_connect(common, &place, &client, NULL, NULL);
    int64_t cursor = 0;
    bool more = status == EXIT_OK;
    while (more) {
        json_object *params = chela_json_new_object(), *payload = NULL;
        chela_json_put_text(params, "key", key);
        chela_json_put_int(params, "cursor", cursor);
        if (client_call(&client, "chela.sessions.export", params, CLIENT_REQUEST_MS, &payload, NULL,
                        &e) != 0) {
            status = output_error(common, &e, EXIT_FAILED);
            break;
        }
        json_object *lines = chela_json_array(payload, "lines");
        for (size_t i = 0; i < chela_json_length(lines); i++) {
            output_json(chela_json_at(lines, i));
        }
        int64_t next = chela_json_int(payload, "cursor", 0);
        more = next > cursor;
        cursor = next;
        json_object_put(payload);
        if (ferror(stdout)) {
            status = EXIT_FAILED;
            more = false;
        }
    }
    client_close(&client);
    place_free(&place);
    return status;
}

/* ---- one request ---- */

static int change(const struct common *common, const char *method, json_object *params,
                  const char *said)
{
    json_object *payload = NULL;
    int status = output_ask(common, method, params, &payload);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        puts(said);
    }
    json_object_put(payload);
    return status;
}

static int set(const struct common *common, const char *key, const char *instructions,
               const char *label, const char *model)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "key", key);
    if (instructions != NULL) {
        if (label != NULL || model != NULL) {
            json_object_put(params);
            return output_failure(common, "usage",
                                  "set either --instructions, or --label and --model", EXIT_USAGE);
        }
        chela_json_put_text(params, "text", instructions[0] == '\0' ? NULL : instructions);
        return change(common, "chela.sessions.instructions", params,
                      instructions[0] == '\0'
                          ? "The session has no instructions of its own any more."
                          : "The session has these instructions from now on.");
    }
    if (label != NULL) {
        chela_json_put_text(params, "label", label[0] == '\0' ? NULL : label);
    }
    if (model != NULL) {
        chela_json_put_text(params, "model", model[0] == '\0' ? NULL : model);
    }
    return change(common, "sessions.patch", params, "The session was changed.");
}

static json_object *key_only(const char *key)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "key", key);
    return params;
}

int cmd_sessions(int argc, char **argv)
{
    struct common common = {0};
    const char *instructions = NULL, *label = NULL, *model = NULL;
    bool keys = false;
    const struct option_row rows[] = {
        {'\0', "keys", NULL, "list: only the keys, one a line", &keys, NULL},
        {'i', "instructions", "TEXT", "set: what the model is told in this session; \"\" for none",
         NULL, &instructions},
        {'l', "label", "TEXT", "set: its name in lists; \"\" for none", NULL, &label},
        {'m', "model", "MODEL", "set: the model that answers; \"\" for the configured one", NULL,
         &model},
        {0},
    };
    const struct command_line line = {
        .synopsis = "sessions [list | export KEY | set KEY OPTION... | reset KEY | delete KEY]",
        .summary = "Lists the sessions; writes one as JSON lines; changes, empties or removes one.",
        .rows = rows,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    const char *verb = count > 0 ? arguments[0] : "list";
    const char *key = count > 1 ? arguments[1] : NULL;
    if (strcmp(verb, "list") == 0 && key == NULL) {
        return list(&common, keys);
    }
    if (key != NULL && strcmp(verb, "export") == 0) {
        return export(&common, key);
    }
    if (key != NULL && strcmp(verb, "set") == 0 &&
        (instructions != NULL || label != NULL || model != NULL)) {
        return set(&common, key, instructions, label, model);
    }
    if (key != NULL && strcmp(verb, "reset") == 0) {
        return change(&common, "sessions.reset", key_only(key), "The session begins anew.");
    }
    if (key != NULL && strcmp(verb, "delete") == 0) {
        return change(&common, "sessions.delete", key_only(key), "The session is gone.");
    }
    return output_failure(&common, "usage", "see chela sessions --help", EXIT_USAGE);
}
