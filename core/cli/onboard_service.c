/* Onboard: see onboard.h. The user's unit: the installed one where systemd finds it, else a copy in
 * the user's own folder that starts this very daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/become.h"
#include "cli/onboard.h"
#include "cli/own_config.h"

static int systemctl(const char *verb, const char *option, const char *unit, struct buf *out)
{
    const char *words[] = {"systemctl",          "--user", verb, option ? option : unit,
                           option ? unit : NULL, NULL};
    return become_child(words, out);
}

bool onboard_has_systemd(void)
{
    struct buf out = {0};
    bool there = systemctl("show-environment", NULL, NULL, &out) == 0;
    buf_free(&out);
    return there;
}

/* The unit that the build made: installed beside the data, or in the build tree. */
static FILE *open_template(void)
{
    const char *places[][2] = {{paths_data_dir(), "../../lib/systemd/user/chela.service"},
                               {paths_data_dir(), "../lib/systemd/user/chela.service"},
                               {paths_libexec_dir(), "etc/chela-user.service"}};
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        CLEANUP(freep) char *path = xprintf("%s/%s", places[i][0], places[i][1]);
        FILE *f = fopen(path, "re");
        if (f)
            return f;
    }
    return NULL;
}

static int write_unit(struct buf *said, struct error *e)
{
    CLEANUP(freep) char *folder = paths_user_config(getenv("XDG_CONFIG_HOME"), getenv("HOME"));
    CLEANUP(freep) char *path = xprintf("%s/systemd/user/chela.service", folder);
    struct buf text = {0};
    char line[1024];
    FILE *f = open_template();
    if (!f)
        return error_set(e, CHELA_E_NOT_FOUND,
                         "the unit that came with the program is not there; start the gateway with "
                         "chela gateway");
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "ExecStart=", 10) == 0)
            buf_printf(&text, "ExecStart=%s/chelad\n", paths_libexec_dir());
        else
            buf_puts(&text, line);
    }
    fclose(f);
    int bad = own_config_write(path, &text, true, e);
    buf_free(&text);
    if (!bad)
        buf_printf(said, "Unit written to %s.\n", path);
    return bad;
}

int onboard_install_service(struct buf *said, struct error *e)
{
    struct buf out = {0};
    int bad = 0;
    if (systemctl("cat", NULL, "chela.service", &out) != 0)
        bad = write_unit(said, e);
    buf_clear(&out);
    if (!bad && systemctl("daemon-reload", NULL, NULL, &out) == 0 &&
        systemctl("enable", NULL, "chela.service", &out) == 0 &&
        systemctl("restart", NULL, "chela.service", &out) == 0)
        buf_puts(said, "The service runs, and starts when you log in. So that it runs without a "
                       "login too: loginctl enable-linger\n");
    else if (!bad)
        bad = error_set(e, CHELA_E_OTHER, "systemd did not start the service: %.1000s",
                        buf_text(&out));
    buf_free(&out);
    return bad;
}
