/* Approval: see approval.h. Field names are those of exec.approval.requested in the reference, with
 * the tool's name, arguments, risk and reasons that our gateway adds. */
#include "cli/approval.h"

#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "support/json.h"

#define ARGUMENT_LINES   40u
#define ARGUMENT_COLUMNS 4000u

bool approval_read(struct approval *approval, json_object *record)
{
    memset(approval, 0, sizeof *approval);
    const char *id = chela_json_string(record, "id", NULL);
    if (id == NULL || id[0] == '\0') {
        return false;
    }
    json_object *request = chela_json_object(record, "request");
    json_object *allowed = chela_json_array(request, "allowedDecisions");
    approval->record = json_object_get(record);
    approval->id = xstrdup(id);
    approval->run = xstrdup(output_field(request, "runId", ""));
    approval->session = xstrdup(output_field(request, "sessionKey", ""));
    approval->call = xstrdup(output_field(request, "toolCallId", ""));
    approval->expires_ms = chela_json_int(record, "expiresAtMs", 0);
    approval->once = approval->always = allowed == NULL;
    for (size_t i = 0; i < chela_json_length(allowed); i++) {
        const char *decision = chela_json_as_string(chela_json_at(allowed, i), NULL);
        approval->once = approval->once || (decision && strcmp(decision, "allow-once") == 0);
        approval->always = approval->always || (decision && strcmp(decision, "allow-always") == 0);
    }
    return true;
}

void approval_free(struct approval *approval)
{
    free(approval->id);
    free(approval->run);
    free(approval->session);
    free(approval->call);
    json_object_put(approval->record);
    memset(approval, 0, sizeof *approval);
}

static void add_visible(struct buf *out, json_object *value)
{
    size_t length = 0;
    const char *text = chela_json_as_string(value, &length);
    if (text == NULL && value != NULL) {
        text = chela_json_text(value, &length);
    }
    if (text != NULL) {
        clean_append_visible(out, text, length);
    }
}

/* The words of an argv, each quoted where a shell would need it. */
static void add_argv(struct buf *out, json_object *argv)
{
    for (size_t i = 0; i < chela_json_length(argv); i++) {
        struct buf word = {0};
        add_visible(&word, chela_json_at(argv, i));
        const char *text = buf_text(&word);
        bool plain =
            text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=:,./@%") == word.n;
        buf_printf(out, plain ? "%s%s" : "%s'%s'", i == 0 ? "" : " ", text);
        buf_free(&word);
    }
}

void approval_summary(const struct approval *approval, struct buf *out)
{
    json_object *request = chela_json_object(approval->record, "request");
    json_object *command = chela_json_get(request, "command");
    json_object *argv = chela_json_array(request, "commandArgv");
    json_object *arguments = chela_json_get(request, "arguments");
    if (command != NULL) {
        add_visible(out, command);
    } else if (argv != NULL) {
        add_argv(out, argv);
    } else {
        clean_append_visible(
            out, output_field(request, "tool", output_field(request, "toolName", "a tool")),
            strlen(output_field(request, "tool", output_field(request, "toolName", "a tool"))));
        buf_char(out, ' ');
        add_visible(out, arguments == NULL ? chela_json_get(request, "args") : arguments);
    }
}

static void add_line(struct styled *text, const char *label, const char *value, unsigned style)
{
    struct buf shown = {0};
    if (text->text.n > 0) {
        styled_add(text, "\n", 1, STYLE_PLAIN);
    }
    clean_append_visible(&shown, value, strlen(value));
    styled_add(text, label, strlen(label), STYLE_DIM);
    styled_add(text, shown.p, shown.n, style);
    buf_free(&shown);
}

/* A command of several lines is shown as such: each of its lines is one here. */
static void add_command(struct styled *text, const struct approval *approval)
{
    json_object *request = chela_json_object(approval->record, "request");
    size_t length = 0;
    const char *command = chela_json_string(request, "command", &length);
    if (command == NULL || memchr(command, '\n', length) == NULL) {
        struct buf summary = {0};
        approval_summary(approval, &summary);
        styled_add(text, "\n", 1, STYLE_PLAIN);
        styled_add(text, summary.p, summary.n, STYLE_BOLD);
        buf_free(&summary);
        return;
    }
    for (size_t at = 0; at < length;) {
        const char *end = memchr(command + at, '\n', length - at);
        size_t n = end == NULL ? length - at : (size_t)(end - command) - at;
        struct buf line = {0};
        clean_append_visible(&line, command + at, n);
        styled_add(text, "\n", 1, STYLE_PLAIN);
        styled_add(text, line.p, line.n, STYLE_BOLD);
        buf_free(&line);
        at += n + 1;
    }
}

/* The arguments besides the command, each on lines of its own; very long ones are cut, and say so.
 */
static void add_arguments(struct styled *text, json_object *request)
{
    json_object *arguments = chela_json_object(request, "arguments");
    const char *command = output_field(request, "command", "");
    if (arguments == NULL) {
        return;
    }
    json_object_object_foreach(arguments, name, value)
    {
        size_t length = 0;
        const char *shown = chela_json_as_string(value, &length);
        if (shown != NULL && strcmp(shown, command) == 0) {
            continue;
        }
        if (shown == NULL) {
            shown = value == NULL ? "null" : chela_json_text(value, NULL);
            length = strlen(shown);
        }
        struct buf label = {0};
        clean_append_line(&label, name, strlen(name), 40);
        buf_puts(&label, ": ");
        unsigned lines = 0;
        for (size_t at = 0; at == 0 || at < length; lines++) {
            const char *end = length == 0 ? NULL : memchr(shown + at, '\n', length - at);
            size_t n = end == NULL ? length - at : (size_t)(end - shown) - at;
            char *line = xmemdup(shown + at, n < ARGUMENT_COLUMNS ? n : ARGUMENT_COLUMNS);
            if (lines == ARGUMENT_LINES || n > ARGUMENT_COLUMNS) {
                add_line(text, "", "(cut here; chela approvals --json shows all of it)",
                         STYLE_ALERT);
                free(line);
                break;
            }
            add_line(text, lines == 0 ? buf_text(&label) : "  ", line, STYLE_PLAIN);
            free(line);
            at += n + 1;
        }
        buf_free(&label);
    }
}

static void add_reasons(struct styled *text, json_object *request)
{
    json_object *analysis = chela_json_object(request, "commandAnalysis");
    json_object *warnings = chela_json_array(analysis, "warningLines");
    const char *reason = output_field(request, "reason", output_field(request, "why", NULL));
    if (reason != NULL) {
        add_line(text, "because: ", reason, STYLE_PLAIN);
    }
    for (size_t i = 0; i < chela_json_length(warnings) && i < 8; i++) {
        const char *warning = chela_json_as_string(chela_json_at(warnings, i), NULL);
        if (warning != NULL && (reason == NULL || strcmp(warning, reason) != 0)) {
            add_line(text, "note: ", warning, STYLE_PLAIN);
        }
    }
}

void approval_rows(const struct approval *approval, unsigned width, enum style_level level,
                   struct rows *rows)
{
    json_object *request = chela_json_object(approval->record, "request");
    struct styled text = {0}, bar = {0};
    const char *tool = output_field(request, "tool", output_field(request, "toolName", "exec"));
    const char *risk = output_field(request, "risk", NULL);
    struct buf head = {0};
    clean_append_line(&head, tool, strlen(tool), 40);
    buf_puts(&head, " asks to run");
    styled_add(&text, head.p, head.n, STYLE_ALERT);
    buf_free(&head);
    if (risk != NULL) {
        struct buf shown = {0};
        buf_puts(&shown, "   risk: ");
        clean_append_line(&shown, risk, strlen(risk), 20);
        styled_add(&text, shown.p, shown.n, STYLE_ALERT);
        buf_free(&shown);
    }
    add_command(&text, approval);
    const char *cwd = output_field(request, "cwd", NULL);
    if (cwd != NULL) {
        add_line(&text, "in: ", cwd, STYLE_PLAIN);
    }
    const char *path = output_field(request, "resolvedPath", NULL);
    if (path != NULL) {
        add_line(&text, "program: ", path, STYLE_PLAIN);
    }
    add_arguments(&text, request);
    add_reasons(&text, request);
    styled_add(&bar, "\xE2\x94\x83 ", 4, STYLE_ALERT);
    struct wrap wrap = {width, level, &bar, &bar, 1};
    styled_wrap(&text, &wrap, rows);
    styled_free(&text);
    styled_free(&bar);
}

json_object *approval_answer(const struct approval *approval, const char *decision)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "id", approval->id);
    chela_json_put_text(params, "decision", decision);
    return params;
}
