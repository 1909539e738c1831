/* chela approvals: what waits for a person, and the person's answer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/approval.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "support/json.h"

static void print_approval(const struct approval *approval)
{
    struct rows rows = {0};
    approval_rows(approval, terminal_columns(), output_level(STDOUT_FILENO), &rows);
    printf("id: ");
    output_text(approval->id);
    if (approval->expires_ms > 0) {
        char left[48];
        output_span(approval->expires_ms - (int64_t)clock_now_ms(), left, sizeof left);
        printf("   expires in %s", left);
    }
    fputc('\n', stdout);
    for (size_t i = 0; i < rows.count; i++) {
        fwrite(rows.bytes.p + rows.row[i].offset, 1, rows.row[i].length, stdout);
        fputc('\n', stdout);
    }
    rows_free(&rows);
}

static int list(const struct common *common)
{
    json_object *payload = NULL;
    int status = output_ask(common, "exec.approval.list", NULL, &payload);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    }
    size_t count = chela_json_length(payload);
    for (size_t i = 0; status == EXIT_OK && !common->json && i < count; i++) {
        struct approval approval;
        if (approval_read(&approval, chela_json_at(payload, i))) {
            print_approval(&approval);
            approval_free(&approval);
        }
    }
    if (status == EXIT_OK && !common->json) {
        puts(count == 0 ? "Nothing waits for an approval."
                        : "\nAnswer with: chela approvals allow-once|allow-always|deny ID");
    }
    json_object_put(payload);
    return status;
}

static int resolve(const struct common *common, const char *decision, const char *id)
{
    json_object *params = chela_json_new_object(), *payload = NULL;
    chela_json_put_text(params, "id", id);
    chela_json_put_text(params, "decision", decision);
    int status = output_ask(common, "exec.approval.resolve", params, &payload);
    if (status == EXIT_OK && common->json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        puts(strcmp(decision, "deny") == 0           ? "Denied."
             : strcmp(decision, "allow-always") == 0 ? "Allowed, now and from now on."
                                                     : "Allowed, this once.");
    }
    json_object_put(payload);
    return status;
}

int cmd_approvals(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "approvals [list | allow-once ID | allow-always ID | deny ID]",
        .summary = "Lists the tool calls that wait for a person, or answers one.",
        .most = 2,
    };
    static const char *const decisions[] = {"allow-once", "allow-always", "deny"};
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    if (count == 0 || (count == 1 && strcmp(arguments[0], "list") == 0)) {
        return list(&common);
    }
    for (size_t i = 0; count == 2 && i < 3; i++) {
        if (strcmp(arguments[0], decisions[i]) == 0) {
            return resolve(&common, decisions[i], arguments[1]);
        }
    }
    return output_failure(&common, "usage", "see chela approvals --help", EXIT_USAGE);
}
