/* The program `chela`: the table of subcommands. Each stands in core/cli/cmd_*.c; nothing is loaded
 * and nothing is connected before the subcommand is known. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "cli/width.h"
#include "config.h"

static int cmd_help(int argc, char **argv);

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"onboard", cmd_onboard, "set up a model, a channel and the service, and try them"},
    {"chat", cmd_chat, "hold a conversation in the terminal"},
    {"agent", cmd_agent, "have one message answered"},
    {"gateway", cmd_gateway, "run the gateway in the foreground"},
    {"status", cmd_status, "show the running gateway"},
    {"health", cmd_health, "say whether it works"},
    {"doctor", cmd_doctor, "look for what is wrong; needs no gateway"},
    {"config", cmd_config, "show, check or locate the configuration"},
    {"reload", cmd_reload, "have the configuration read anew"},
    {"trust", cmd_trust, "let a project's configuration count in full"},
    {"sessions", cmd_sessions, "list, export, change, reset or delete sessions"},
    {"skills", cmd_skills, "list the skills, or what is wrong with some"},
    {"approvals", cmd_approvals, "list or answer what waits for a person"},
    {"allowlist", cmd_allowlist, "show or change which tool calls run without asking"},
    {"tools", cmd_tools, "list the tools, say why a model sees one or does not"},
    {"channels", cmd_channels, "show the channels, log one in or out"},
    {"pairing", cmd_pairing, "list, let in or shut out those who write to the assistant"},
    {"dashboard", cmd_dashboard, "open the web page with a link that knows you"},
    {"devices", cmd_devices, "list, let in or shut out programs and pages with a key of their own"},
    {"audit", cmd_audit, "show who allowed, let in or changed what"},
    {"message", cmd_message, "send a text to a chat"},
    {"trace", cmd_trace, "show the way that a turn took"},
    {"route", cmd_route, "show which model would answer, and why"},
    {"models", cmd_models, "list the models, probe one, say which one answers"},
    {"usage", cmd_usage, "show what was used and spent, and where it was answered"},
    {"mcp", cmd_mcp, "show MCP servers and call their tools, or be one"},
    {"cron", cmd_cron, "list, make and start jobs at a time"},
    {"memory", cmd_memory, "search the notes that are remembered"},
    {"plugin", cmd_plugin, "list plugins, their options, or look into a file"},
    {"import", cmd_import, "take over from OpenClaw: configuration, conversations, jobs, skills"},
    {"logs", cmd_logs, "show the gateway's log"},
    {"version", cmd_version, "show the version"},
    {"help", cmd_help, "show this, or the help of a subcommand"},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static int run(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    struct common common = {0};
    char message[256];
    for (int i = 1; i < argc; i++) {
        common.json = common.json || strcmp(argv[i], "--json") == 0;
    }
    snprintf(message, sizeof message, "there is no subcommand %.100s; see chela help", name);
    return output_failure(&common, "usage", message, EXIT_USAGE);
}

static void print_commands(FILE *out)
{
    fprintf(out, "Usage: chela SUBCOMMAND [OPTION...]\n\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\nchela SUBCOMMAND --help tells more; so does chela(1).\n");
}

static int cmd_help(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--commands") == 0) { /* for completion */
        for (size_t i = 0; i < COMMANDS; i++) {
            puts(commands[i].name);
        }
        return EXIT_OK;
    }
    if (argc == 2 && argv[1][0] != '-') {
        char help[] = "--help";
        char *words[] = {argv[1], help, NULL};
        return run(argv[1], 2, words);
    }
    print_commands(stdout);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    width_init();
    if (argc < 2) {
        print_commands(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts(PACKAGE_STRING);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_commands(stdout);
        return EXIT_OK;
    }
    return run(argv[1], argc - 1, argv + 1);
}
