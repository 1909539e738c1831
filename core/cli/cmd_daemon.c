/* The subcommands that are the daemon's own work: gateway, doctor, config, trust. They become the
 * daemon by exec, since only the daemon knows how its configuration is read; what the daemon then
 * prints and how it exits is the answer. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/become.h"
#include "cli/command.h"
#include "cli/output.h"

#define WORDS_MOST 12

/* The daemon's command line, built up word by word. */
struct words {
    const char *word[WORDS_MOST + 1];
    size_t count;
};

static void add(struct words *words, const char *word)
{
    if (words->count < WORDS_MOST) {
        words->word[words->count++] = word;
        words->word[words->count] = NULL;
    }
}

static void add_value(struct words *words, const char *option, const char *value)
{
    if (value != NULL) {
        add(words, option);
        add(words, value);
    }
}

static void add_common(struct words *words, const struct common *common)
{
    if (common->config != NULL) {
        add(words, "-c");
        add(words, common->config);
    }
    if (common->json) {
        add(words, "--json");
    }
}

int cmd_gateway(int argc, char **argv)
{
    struct common common = {0};
    bool check = false, verbose = false;
    const char *port = NULL, *address = NULL, *ready = NULL;
    const struct option_row rows[] = {
        {'\0', "check", NULL, "read the configuration, tell what is wrong with it, and exit",
         &check, NULL},
        {'\0', "port", "NUMBER", "listen on this port instead of the configured one", NULL, &port},
        {'\0', "bind", "ADDRESS", "loopback, lan or an address", NULL, &address},
        {'v', "verbose", NULL, "log more", &verbose, NULL},
        {'\0', "ready-fd", "NUMBER", "write a line to this descriptor once it listens", NULL,
         &ready},
        {0},
    };
    const struct command_line line = {
        .synopsis = "gateway [OPTION...]",
        .summary = "Runs the gateway in the foreground, until it is interrupted.",
        .rows = rows,
        .local = true,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    struct words words = {.count = 1};
    add_common(&words, &common);
    if (check) {
        add(&words, "--check");
    }
    if (verbose) {
        add(&words, "--verbose");
    }
    add_value(&words, "--port", port);
    add_value(&words, "--bind", address);
    add_value(&words, "--ready-fd", ready);
    words.word[0] = "chelad";
    /* started by a person: the tools work where that person is, unless the configuration says where
     */
    char *here = isatty(STDERR_FILENO) ? getcwd(NULL, 0) : NULL;
    if (here)
        setenv("CHELA_WORKSPACE", here, 0);
    free(here);
    return become(&common, words.word);
}

int cmd_doctor(int argc, char **argv)
{
    struct common common = {0};
    bool security = false;
    const struct option_row rows[] = {
        {'\0', "security", NULL, "what lets others in, or a model do more than it should",
         &security, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "doctor [--security]",
        .summary =
            "Looks for what is wrong: configuration, plugins, folders, rights. Needs no gateway.",
        .rows = rows,
        .local = true,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    struct words words = {.count = 1};
    add(&words, "--doctor");
    if (security)
        add(&words, "--security");
    add_common(&words, &common);
    words.word[0] = "chelad";
    return become(&common, words.word);
}

int cmd_config(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "config show | check | path",
        .summary = "Shows each value with where it comes from, checks it all, or lists the files.",
        .least = 1,
        .most = 1,
        .local = true,
    };
    static const char *const verbs[][2] = {
        {"show", "--config-show"}, {"check", "--check"}, {"path", "--config-path"}};
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++) {
        if (strcmp(arguments[0], verbs[i][0]) == 0) {
            struct words words = {.count = 1};
            add(&words, verbs[i][1]);
            add_common(&words, &common);
            words.word[0] = "chelad";
            return become(&common, words.word);
        }
    }
    return output_failure(&common, "usage", "see chela config --help", EXIT_USAGE);
}

int cmd_trust(int argc, char **argv)
{
    struct common common = {0};
    bool no = false;
    const struct option_row rows[] = {
        {'\0', "no", NULL, "trust it no longer", &no, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "trust [--no] DIR",
        .summary =
            "Lets the project file in DIR (.chela/chela.conf) set everything that yours may set.",
        .rows = rows,
        .least = 1,
        .most = 1,
        .local = true,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    struct words words = {.count = 1};
    add(&words, no ? "--distrust" : "--trust");
    add(&words, arguments[0]);
    add_common(&words, &common);
    words.word[0] = "chelad";
    return become(&common, words.word);
}
