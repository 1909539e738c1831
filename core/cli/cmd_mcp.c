/* chela mcp: the servers of the Model Context Protocol that the gateway talks to (asked of the
 * plugin tool_mcp by gateway methods), and, with `serve`, the gateway as such a server
 * (mcp_serve.c). */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/mcp_serve.h"
#include "cli/output.h"
#include "support/json.h"

static int ask(const struct common *common, const char *method, json_object *params,
               void (*print)(json_object *))
{
    json_object *payload = NULL;
    int status = output_ask(common, method, params, &payload);
    if (status == EXIT_OK && (common->json || print == NULL)) {
        output_json(payload);
    } else if (status == EXIT_OK) {
        print(payload);
    }
    json_object_put(payload);
    return status;
}

static void print_server(json_object *server)
{
    char count[32];
    snprintf(count, sizeof count, "%lld tools", (long long)chela_json_int(server, "tools", 0));
    output_cell(output_field(server, "name", "?"), 20);
    output_cell(output_field(server, "state", "?"), 12);
    output_cell(output_field(server, "transport", ""), 8);
    output_cell(output_field(server, "version", "-"), 12);
    output_text(count);
    const char *why = output_field(server, "why", "");
    output_text(why[0] == '\0' ? "" : ": ");
    output_line(why);
}

static void print_list(json_object *payload)
{
    json_object *servers = chela_json_array(payload, "servers");
    for (size_t i = 0; i < chela_json_length(servers); i++) {
        print_server(chela_json_at(servers, i));
    }
}

static void print_probe(json_object *payload)
{
    print_server(payload);
    json_object *tools = chela_json_array(payload, "toolList");
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *tool = chela_json_at(tools, i);
        output_cell(output_field(tool, "name", "?"), 40);
        output_line(output_field(tool, "description", ""));
    }
}

static void print_login(json_object *payload)
{
    const char *url = output_field(payload, "url", NULL);
    if (url != NULL) {
        output_text("Open this page to log in: ");
        output_line(url);
    } else {
        output_text("No login is waited for; the server is ");
        output_line(output_field(payload, "state", "?"));
    }
}

static void print_questions(json_object *payload)
{
    json_object *questions = chela_json_array(payload, "questions");
    for (size_t i = 0; i < chela_json_length(questions); i++) {
        json_object *question = chela_json_at(questions, i);
        output_cell(output_field(question, "id", "?"), 8);
        output_line(output_field(question, "text", ""));
    }
}

/* The text parts of a tool's result; what else there is, --json shows. */
static void print_result(json_object *payload)
{
    json_object *content = chela_json_array(payload, "content");
    for (size_t i = 0; i < chela_json_length(content); i++) {
        const char *text = chela_json_string(chela_json_at(content, i), "text", NULL);
        if (text != NULL) {
            output_line(text);
        }
    }
}

static void print_nothing(json_object *payload)
{
    (void)payload;
}

/* JSON of the command line as a member of the parameters; false: it is none. */
static bool put_json(const struct common *common, json_object *params, const char *name,
                     const char *text)
{
    json_object *value = NULL;
    if (text == NULL) {
        return true;
    }
    if (chela_json_parse(text, strlen(text), NULL, &value, NULL) < 0 ||
        !json_object_is_type(value, json_type_object)) {
        json_object_put(value);
        output_failure(common, "usage", "the last argument must be a JSON object", EXIT_USAGE);
        return false;
    }
    chela_json_put(params, name, value);
    return true;
}

static int call_tool(const struct common *common, char **arguments, int count)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "server", arguments[1]);
    chela_json_put_text(params, "tool", arguments[2]);
    if (!put_json(common, params, "arguments", count > 3 ? arguments[3] : NULL)) {
        json_object_put(params);
        return EXIT_USAGE;
    }
    return ask(common, "mcp.call", params, print_result);
}

static int answer(const struct common *common, char **arguments, int count)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "id", arguments[1]);
    chela_json_put_text(params, "action", arguments[2]);
    if (!put_json(common, params, "content", count > 3 ? arguments[3] : NULL)) {
        json_object_put(params);
        return EXIT_USAGE;
    }
    return ask(common, "mcp.answer", params, print_nothing);
}

int cmd_mcp(int argc, char **argv)
{
    static const struct {
        const char *verb, *method;
        int arguments;
        void (*print)(json_object *);
    } verbs[] = {
        {"list", "mcp.list", 1, print_list},
        {"probe", "mcp.probe", 2, print_probe},
        {"login", "mcp.login", 2, print_login},
        {"logout", "mcp.logout", 2, print_nothing},
        {"questions", "mcp.questions", 1, print_questions},
    };
    static const struct command_line line = {
        .synopsis = "mcp list | probe SERVER | call SERVER TOOL [JSON] | login SERVER | "
                    "logout SERVER | questions | answer ID accept|decline [JSON] | serve",
        .summary = "Shows MCP servers, calls their tools, answers their questions, or is one.",
        .least = 1,
        .most = 4,
    };
    struct common common = {0};
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    if (strcmp(arguments[0], "serve") == 0 && count == 1) {
        return mcp_serve(&common);
    }
    if (strcmp(arguments[0], "call") == 0 && count >= 3) {
        return call_tool(&common, arguments, count);
    }
    if (strcmp(arguments[0], "answer") == 0 && count >= 3) {
        return answer(&common, arguments, count);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].verb, arguments[0]) != 0 || verbs[i].arguments != count) {
            continue;
        }
        json_object *params = chela_json_new_object();
        if (count > 1) {
            chela_json_put_text(params, "server", arguments[1]);
        }
        return ask(&common, verbs[i].method, params, verbs[i].print);
    }
    return output_failure(&common, "usage", "see chela mcp --help", EXIT_USAGE);
}
