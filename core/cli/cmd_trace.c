/* chela trace: the way that one turn took, from its states, legs and calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/route_view.h"
#include "support/json.h"

static void print_pair(json_object *payload, const char *key, const char *label)
{
    const char *text = output_field(payload, key, NULL);
    if (text != NULL) {
        output_cell(label, 10);
        output_line(text);
    }
}

static void print_states(json_object *states)
{
    int64_t first = chela_json_int(chela_json_at(states, 0), "at", 0), before = first;
    for (size_t i = 0; i < chela_json_length(states); i++) {
        json_object *state = chela_json_at(states, i);
        int64_t at = chela_json_int(state, "at", before);
        printf("%9lld ms  %+7lld  ", (long long)(at - first), (long long)(at - before));
        output_line(output_field(state, "state", "?"));
        before = at;
    }
}

static void print_legs(json_object *legs)
{
    for (size_t i = 0; i < chela_json_length(legs); i++) {
        json_object *leg = chela_json_at(legs, i);
        char span[48];
        output_span(chela_json_int(leg, "to", 0) - chela_json_int(leg, "from", 0), span,
                    sizeof span);
        output_cell(output_field(leg, "leg", "?"), 16);
        output_line(span);
    }
}

/* What was tried: the model, what came of it, how long it took and what it read and wrote. */
static void print_attempt(json_object *attempt)
{
    char span[48];
    output_span(chela_json_int(attempt, "ms", 0), span, sizeof span);
    output_text(output_field(attempt, "model", "?"));
    printf("  ");
    output_text(output_field(attempt, "outcome", "?"));
    printf(", %s, %lld tokens in, %lld out  ", span, (long long)chela_json_int(attempt, "in", 0),
           (long long)chela_json_int(attempt, "out", 0));
    output_line(output_field(attempt, "reason", ""));
}

static void print_call(json_object *call)
{
    char span[48];
    json_object *arguments = chela_json_get(call, "arguments"),
                *result = chela_json_object(call, "result");
    output_span(chela_json_int(call, "ms", 0), span, sizeof span);
    output_text(output_field(call, "name", "?"));
    printf(" ");
    output_text(arguments ? chela_json_text(arguments, NULL) : "");
    printf("  ");
    output_text(output_field(call, "state", "?"));
    printf(", %s%s\n", span, chela_json_bool(result, "isError", false) ? ", an error" : "");
}

static void print_list(json_object *list, const char *title, void (*print)(json_object *))
{
    if (chela_json_length(list) > 0)
        printf("\n%s\n", title);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        printf("  ");
        print(chela_json_at(list, i));
    }
}

static void print_trace(json_object *payload)
{
    char at[32] = "";
    int64_t started =
        chela_json_int(chela_json_at(chela_json_array(payload, "states"), 0), "at", 0);
    if (started > 0) {
        clock_format((uint64_t)started, at, sizeof at);
    }
    print_pair(payload, "run", "run");
    print_pair(payload, "session", "session");
    print_pair(payload, "agent", "agent");
    if (at[0] != '\0') {
        output_cell("begun", 10);
        output_line(at);
    }
    fputc('\n', stdout);
    print_states(chela_json_array(payload, "states"));
    if (chela_json_length(chela_json_array(payload, "legs")) > 0) {
        fputc('\n', stdout);
        print_legs(chela_json_array(payload, "legs"));
    }
    json_object *decisions = chela_json_array(payload, "decisions");
    if (chela_json_length(decisions) > 0) {
        puts("\ndecisions");
        route_view_decisions(decisions);
    }
    print_list(chela_json_array(payload, "attempts"), "model calls", print_attempt);
    print_list(chela_json_array(payload, "calls"), "tool calls", print_call);
}

int cmd_trace(int argc, char **argv)
{
    struct common common = {0};
    bool message = false;
    const struct option_row rows[] = {
        {'m', "message", NULL,
         "only the message that began it, in the form it has inside the gateway", &message, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "trace [OPTION...] RUN",
        .summary = "Shows the states and legs of a turn with times, what was decided about models, "
                   "its model "
                   "calls and tool calls.",
        .rows = rows,
        .least = 1,
        .most = 1,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    json_object *params = chela_json_new_object(), *payload = NULL;
    chela_json_put_text(params, "run", arguments[0]);
    if (message) {
        chela_json_put_bool(params, "message", true);
    }
    status = output_ask(&common, "chela.trace", params, &payload);
    if (status == EXIT_OK && message) {
        json_object *form = chela_json_get(payload, "message");
        if (form == NULL) {
            status = output_failure(&common, "not_found", "the trace has no message", EXIT_FAILED);
        } else {
            output_json(form);
        }
    } else if (status == EXIT_OK && common.json) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        print_trace(payload);
    }
    json_object_put(payload);
    return status;
}
