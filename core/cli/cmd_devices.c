/* chela devices, chela audit: programs and pages that were let in or wait for it; who allowed
 * what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

static void print_device(json_object *d, const char *id, const char *state)
{
    char age[32];
    json_object *token = chela_json_at(chela_json_array(d, "tokens"), 0);
    output_cell(id, 37);
    output_cell(output_field(d, "displayName", output_field(d, "clientId", "")), 20);
    output_cell(output_field(d, "platform", ""), 10);
    output_cell(chela_json_get(token, "revokedAtMs") ? "revoked" : state, 10);
    output_age(chela_json_int(token, "lastUsedAtMs",
                              chela_json_int(d, "ts", chela_json_int(d, "approvedAtMs", 0))),
               age, sizeof age);
    output_cell(age, 9);
    json_object *scopes = chela_json_array(d, "scopes");
    for (size_t i = 0; i < chela_json_length(scopes); i++) {
        const char *name = chela_json_as_string(chela_json_at(scopes, i), NULL);
        printf("%s", i ? " " : "");
        output_text(name && strncmp(name, "operator.", 9) == 0 ? name + 9 : "?");
    }
    fputc('\n', stdout);
}

static int list_devices(const struct common *common)
{
    json_object *payload = NULL;
    int status = output_ask(common, "device.pair.list", NULL, &payload);
    json_object *waiting = chela_json_array(payload, "pending"),
                *paired = chela_json_array(payload, "paired");
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        for (size_t i = 0; i < chela_json_length(waiting); i++)
            print_device(chela_json_at(waiting, i),
                         output_field(chela_json_at(waiting, i), "requestId", ""), "waits");
        for (size_t i = 0; i < chela_json_length(paired); i++)
            print_device(chela_json_at(paired, i),
                         output_field(chela_json_at(paired, i), "deviceId", ""), "paired");
        if (chela_json_length(waiting) + chela_json_length(paired) == 0)
            puts("No device is paired, and none waits.");
    }
    json_object_put(payload);
    return status;
}

/* The whole id that begins with what was typed, in one of the lists; NULL: none or several. */
static const char *whole_id(json_object *list, const char *member, const char *typed)
{
    const char *found = NULL;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *id = output_field(chela_json_at(list, i), member, "");
        if (strncmp(id, typed, strlen(typed)) != 0)
            continue;
        if (found)
            return NULL;
        found = id;
    }
    return found;
}

static const struct verb {
    const char *name, *method, *said;
    bool waiting, role;
} verbs[] = {
    {"approve", "device.pair.approve", "Let in.", true, false},
    {"reject", "device.pair.reject", "Sent away.", true, false},
    {"remove", "device.pair.remove", "Removed; its connections are closed.", false, false},
    {"revoke", "device.token.revoke", "Its token is no longer good.", false, true},
    {"rotate", "device.token.rotate", "It gets another token when it connects with the secret.",
     false, true},
};

static int change_device(const struct common *common, const struct verb *verb, const char *typed)
{
    json_object *lists = NULL, *payload = NULL;
    int status = output_ask(common, "device.pair.list", NULL, &lists);
    if (status != EXIT_OK)
        return status;
    const char *member = verb->waiting ? "requestId" : "deviceId";
    const char *id =
        whole_id(chela_json_array(lists, verb->waiting ? "pending" : "paired"), member, typed);
    if (id) {
        json_object *params = chela_json_new_object();
        chela_json_put_text(params, member, id);
        if (verb->role)
            chela_json_put_text(params, "role", "operator");
        status = output_ask(common, verb->method, params, &payload);
        if (status == EXIT_OK && common->json)
            output_json(payload);
        else if (status == EXIT_OK)
            puts(verb->said);
    } else {
        status = output_failure(common, "not_found",
                                "none, or more than one, has an id that begins so; see chela "
                                "devices list",
                                EXIT_FAILED);
    }
    json_object_put(payload);
    json_object_put(lists);
    return status;
}

int cmd_devices(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "devices [list | approve REQUEST | reject REQUEST | remove DEVICE | revoke "
                    "DEVICE | rotate DEVICE]",
        .summary = "Lists programs and pages with a key of their own; lets one in, or out again. "
                   "The first letters of an id are enough.",
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (count == 0 || (count == 1 && strcmp(arguments[0], "list") == 0))
        return list_devices(&common);
    for (size_t i = 0; count == 2 && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(arguments[0], verbs[i].name) == 0 && *arguments[1])
            return change_device(&common, &verbs[i], arguments[1]);
    return output_failure(&common, "usage", "see chela devices --help", EXIT_USAGE);
}

int cmd_audit(int argc, char **argv)
{
    struct common common = {0};
    const char *limit = NULL;
    const struct option_row rows[] = {
        {'n', "lines", "N", "how many of the newest (50)", NULL, &limit},
        {0},
    };
    const struct command_line line = {
        .synopsis = "audit [-n N]",
        .summary = "Shows who allowed, let in or changed what.",
        .rows = rows,
    };
    char **arguments, *end;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    json_object *params = chela_json_new_object(), *payload = NULL;
    long lines = limit ? strtol(limit, &end, 10) : 50;
    if (lines < 1 || lines > 1000 || (limit && *end)) {
        json_object_put(params);
        return output_failure(&common, "usage", "--lines takes 1 to 1000", EXIT_USAGE);
    }
    chela_json_put_int(params, "limit", lines);
    status = output_ask(&common, "chela.audit", params, &payload);
    json_object *entries = chela_json_array(payload, "entries");
    if (status == EXIT_OK && common.json)
        output_json(payload);
    for (size_t i = 0; status == EXIT_OK && !common.json && i < chela_json_length(entries); i++) {
        json_object *e = chela_json_at(entries, i), *what = chela_json_object(e, "what");
        char age[32];
        output_age(chela_json_int(e, "ts", 0), age, sizeof age);
        output_cell(age, 9);
        output_cell(output_field(e, "action", ""), 16);
        output_cell(output_field(e, "by", ""), 28);
        output_line(what ? chela_json_text(what, NULL) : "");
    }
    json_object_put(payload);
    return status;
}
