/* chela import openclaw: OpenClaw's configuration as a file of ours, its conversations, people,
 * jobs and skills, and a report of what was carried and what was not. Nothing that a person wrote
 * is touched, and a second time changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/import.h"
#include "cli/output.h"
#include "cli/own_config.h"
#include "support/json.h"

static const char head[] =
    "# Made by chela import openclaw. It is yours now: change it as you like.\n";

static void print_report(json_object *report)
{
    for (size_t k = 0; k < chela_json_length(report); k++) {
        json_object *o = chela_json_at(report, k);
        output_cell(output_field(o, "how", ""), 9);
        output_cell(output_field(o, "what", ""), 40);
        output_line(output_field(o, "text", ""));
    }
}

/* The same as what is there: nothing to do. Another text: it is somebody's by now, and stays. */
static int write_once(struct import *i, const char *file, const struct buf *text, struct error *e)
{
    struct buf there = {0};
    struct error why = {0};
    bool same = file_read(file, text->n, &there, &why) == 0 && there.n == text->n &&
                memcmp(buf_text(&there), text->p, text->n) == 0;
    buf_free(&there);
    if (why.class == CHELA_E_NOT_FOUND)
        return own_config_write(file, text, false, e);
    import_note(i, file, "there",
                same ? "nothing is new in it"
                     : "it was changed and stays as it is; --output writes another one");
    return 0;
}

static void tell(const struct common *common, struct import *i, const char *file)
{
    if (common->json) {
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "file", file);
        chela_json_put(o, "report", json_object_get(i->report));
        output_json(o);
        json_object_put(o);
    } else {
        print_report(i->report);
        printf("The configuration is %s. See it with: chela config show; check it with: chela "
               "config check\n",
               file);
    }
}

static int finish(const struct common *common, struct import *i, const char *folder,
                  const char *file, bool whole)
{
    struct buf text = {0};
    struct error e = {0};
    int status = EXIT_OK;
    buf_puts(&text, head);
    import_write(i->ours, &text);
    if (strcmp(file, "-") == 0) {
        fwrite(text.p, 1, text.n, stdout);
    } else if (write_once(i, file, &text, &e) < 0) {
        status = output_error(common, &e, EXIT_FAILED);
    } else {
        if (whole) {
            import_carry(i);
            import_skills(i, folder);
        } else {
            import_note(i, "conversations, jobs, skills", "left",
                        "with --output only the configuration is written");
        }
        tell(common, i, file);
    }
    buf_free(&text);
    return status;
}

int cmd_import(int argc, char **argv)
{
    struct common common = {0};
    const char *output = NULL;
    const struct option_row rows[] = {
        {'o', "output", "FILE", "only the configuration, to this file; \"-\": to the terminal",
         NULL, &output},
        {0},
    };
    const struct command_line line = {
        .synopsis = "import openclaw [DIR]",
        .summary = "Takes over OpenClaw's configuration, conversations, people, timed jobs and "
                   "skills (~/.openclaw); says what was carried. A second time changes nothing.",
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
    if (import_state_read(&i, folder, &e) < 0)
        import_note(&i, folder, "left", e.text);
    import_people(&i);
    status = finish(&common, &i, folder, file, output == NULL);
    json_object_put(i.state);
    json_object_put(i.theirs);
    json_object_put(i.ours);
    json_object_put(i.report);
    return status;
}
