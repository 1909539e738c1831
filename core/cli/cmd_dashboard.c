/* chela dashboard: the web page, by a link that lets one browser in once. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/become.h"
#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

static bool has_desktop(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return isatty(STDOUT_FILENO) && ((x && *x) || (wayland && *wayland));
}

static int show(const struct common *common, bool no_open)
{
    struct place place = {0};
    struct error e = {0};
    json_object *payload = NULL;
    if (place_find(&place, common->gateway, &e) != 0) {
        place_free(&place);
        return output_error(common, &e, EXIT_USAGE);
    }
    int status = output_ask(common, "chela.dashboard.code", NULL, &payload);
    if (status == EXIT_OK) {
        CLEANUP(freep)
        char *url = xprintf("http://%s:%u/#code=%s", place.host, place.port,
                            output_field(payload, "code", ""));
        if (common->json) {
            json_object *o = chela_json_new_object();
            chela_json_put_text(o, "url", url);
            output_json(o);
            json_object_put(o);
        } else {
            puts(url);
            if (isatty(STDOUT_FILENO))
                puts("It opens the page once, within five minutes.");
            if (!no_open && has_desktop())
                become_opener(url);
        }
    }
    json_object_put(payload);
    place_free(&place);
    return status;
}

int cmd_dashboard(int argc, char **argv)
{
    struct common common = {0};
    bool no_open = false;
    const struct option_row rows[] = {
        {'\0', "no-open", NULL, "only print the link, start no browser", &no_open, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "dashboard [--no-open]",
        .summary = "Opens the web page with a link that lets this browser in, once.",
        .rows = rows,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    return show(&common, no_open);
}
