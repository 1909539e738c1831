/* chela import openclaw: OpenClaw's configuration as a file of ours, and a report of what was
 * carried and what was not. Nothing that a person wrote is touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/import.h"
#include "cli/output.h"
#include "cli/own_config.h"
#include "support/json.h"

static const char head[] =
    "# Made by chela import openclaw. It is yours now: change it as you like.\n";

/* What stays where it is: said, so that nobody thinks it came along. */
static void count_state(struct import *i, const char *folder)
{
    static const char *const parts[][2] = {
        {"agents", "conversations are not carried; they stay in its folder"},
        {"credentials", "logins and pairing are not carried: people pair again (chela pairing)"},
        {"skills", "name the folder in tools.skills.extra to use them"},
        {"cron", "timed jobs are not carried"},
    };
    for (size_t k = 0; k < ARRAY_LENGTH(parts); k++) {
        CLEANUP(freep) char *path = xprintf("%s/%s", folder, parts[k][0]);
        if (access(path, F_OK) == 0)
            import_note(i, path, "left", parts[k][1]);
    }
}

static void print_report(json_object *report)
{
    for (size_t k = 0; k < chela_json_length(report); k++) {
        json_object *o = chela_json_at(report, k);
        output_cell(output_field(o, "how", ""), 9);
        output_cell(output_field(o, "what", ""), 40);
        output_line(output_field(o, "text", ""));
    }
}

static int finish(const struct common *common, struct import *i, const char *file)
{
    struct buf text = {0};
    struct error e = {0};
    int status = EXIT_OK;
    buf_puts(&text, head);
    import_write(i->ours, &text);
    if (strcmp(file, "-") == 0) {
        fwrite(text.p, 1, text.n, stdout);
    } else if (own_config_write(file, &text, false, &e) < 0) {
        status = output_error(common, &e, EXIT_FAILED);
    } else if (common->json) {
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "file", file);
        chela_json_put(o, "report", json_object_get(i->report));
        output_json(o);
        json_object_put(o);
    } else {
        print_report(i->report);
        printf("Written to %s. See it with: chela config show; check it with: chela config check\n",
               file);
    }
    buf_free(&text);
    return status;
}

int cmd_import(int argc, char **argv)
{
    struct common common = {0};
    const char *output = NULL;
    const struct option_row rows[] = {
        {'o', "output", "FILE",
         "where it is written (conf.d/50-openclaw.conf); \"-\": to the terminal", NULL, &output},
        {0},
    };
    const struct command_line line = {
        .synopsis = "import openclaw [DIR]",
        .summary = "Takes over OpenClaw's configuration (~/.openclaw); says what was carried.",
        .rows = rows,
        .least = 1,
        .most = 2,
        .local = true,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (strcmp(arguments[0], "openclaw") != 0)
        return output_failure(&common, "usage", "see chela import --help", EXIT_USAGE);
    const char *home = getenv("HOME"), *state = getenv("OPENCLAW_STATE_DIR");
    CLEANUP(freep)
    char *folder = count > 1         ? xstrdup(arguments[1])
                   : state && *state ? xstrdup(state)
                                     : xprintf("%s/.openclaw", home ? home : "");
    CLEANUP(freep)
    char *file = output ? xstrdup(output) : own_config_path("conf.d/50-openclaw.conf");
    struct import i = {0};
    struct error e = {0};
    if (import_read(folder, &i.theirs, &e) < 0)
        return output_error(&common, &e, e.class == CHELA_E_NOT_FOUND ? EXIT_FAILED : EXIT_CONFIG);
    i.ours = chela_json_new_object();
    i.report = chela_json_new_array();
    import_map(&i);
    count_state(&i, folder);
    status = finish(&common, &i, file);
    json_object_put(i.theirs);
    json_object_put(i.ours);
    json_object_put(i.report);
    return status;
}
