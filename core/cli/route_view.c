/* Decisions about models as lines of text (see route_view.h). Called by cmd_route.c and
 * cmd_trace.c. */
#include "cli/route_view.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "support/json.h"

void route_view_routers(json_object *routers, const char *indent)
{
    for (size_t i = 0; i < chela_json_length(routers); i++) {
        json_object *router = chela_json_at(routers, i);
        printf("%srouter ", indent);
        output_text(output_field(router, "name", "?"));
        printf(": ");
        output_text(output_field(router, "verdict", "?"));
        const char *reason = output_field(router, "reason", NULL);
        if (reason) {
            printf(", ");
            output_text(reason);
        }
        fputc('\n', stdout);
    }
}

void route_view_candidate(json_object *candidate, size_t index, const char *indent)
{
    printf("%s%zu. ", indent, index + 1);
    output_text(output_field(candidate, "model", "?"));
    printf("  by ");
    output_text(output_field(candidate, "by", "?"));
    printf(": ");
    output_line(output_field(candidate, "reason", ""));
}

void route_view_decisions(json_object *decisions)
{
    for (size_t i = 0; i < chela_json_length(decisions); i++) {
        json_object *decision = chela_json_at(decisions, i),
                    *candidates = chela_json_array(decision, "candidates");
        printf("  ");
        output_text(output_field(decision, "kind", "?"));
        printf(": ");
        output_line(output_field(decision, "text", ""));
        route_view_routers(chela_json_array(decision, "routers"), "    ");
        for (size_t k = 0; k < chela_json_length(candidates); k++)
            route_view_candidate(chela_json_at(candidates, k), k, "    ");
    }
}
