/* Onboard: see onboard.h. The configuration with a comment at each part, in the user's chela.conf
 * where there is none yet, else in conf.d/20-onboard.conf beside it. Keys go into files of their
 * own, since a service doesn't see the variables of a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/become.h"
#include "cli/onboard.h"
#include "cli/output.h"
#include "cli/own_config.h"
#include "support/json.h"

/* NAME.key beside the configuration; "file:PATH" for the configuration. NULL: it can't be written.
 */
static char *keep_secret(const char *name, const char *secret, struct error *e)
{
    struct buf text = {0};
    CLEANUP(freep) char *file = xprintf("keys/%s.key", name);
    CLEANUP(freep) char *path = own_config_path(file);
    buf_printf(&text, "%s\n", secret);
    int bad = own_config_write(path, &text, true, e);
    buf_free(&text);
    return bad ? NULL : xprintf("file:%s", path);
}

static void row(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(out, "        %s = ", name);
    own_config_string(value, out);
    buf_puts(out, ";\n");
}

static int write_provider(struct onboard *o, struct buf *out, struct error *e)
{
    const struct candidate *c = o->chosen;
    CLEANUP(freep) char *key = NULL;
    if (c->key) {
        const char *secret = getenv(c->variable);
        key = keep_secret(c->name, secret ? secret : "", e);
        if (!key)
            return -1;
    }
    buf_puts(out, "# Where models come from; more of them, and other services: chela.conf(5).\n"
                  "providers : {\n");
    buf_printf(out, "    # %s\n    %s : {\n", c->found, c->name);
    row(out, "type", c->type);
    row(out, "preset", c->preset);
    row(out, "base_url", c->base_url);
    if (key)
        row(out, c->key, key);
    buf_puts(out, "    };\n};\n\n");
    return 0;
}

static int write_channel(struct onboard *o, struct buf *out, struct error *e)
{
    if (!o->channel_type)
        return 0;
    const char *type = output_field(o->channel_type, "type", "");
    json_object *options = chela_json_array(o->channel_type, "options");
    buf_puts(out, "# Where people write. Strangers get a code first: chela pairing lets them in.\n"
                  "channels : {\n");
    buf_printf(out, "    %s : {\n", type);
    row(out, "type", type);
    for (size_t i = 0; i < chela_json_length(options); i++) {
        json_object *option = chela_json_at(options, i);
        const char *name = output_field(option, "name", ""),
                   *value = output_field(o->channel_options, name, NULL);
        CLEANUP(freep) char *secret = NULL;
        if (value && chela_json_bool(option, "secret", false)) {
            secret = keep_secret(type, value, e);
            if (!secret)
                return -1;
        }
        if (value) {
            buf_printf(out, "        # %s\n", output_field(option, "help", ""));
            row(out, name, secret ? secret : value);
        }
    }
    buf_puts(out, "    };\n};\n");
    return 0;
}

static int write_all(struct onboard *o, struct buf *out, struct error *e)
{
    buf_puts(out,
             "# Made by chela onboard. It is yours now: change it as you like. What can be set, "
             "and what\n# each value means: chela.conf(5). After a change: chela config check, "
             "chela reload.\n\n");
    if (write_provider(o, out, e) < 0)
        return -1;
    buf_puts(out,
             "agents : {\n    defaults : {\n"
             "        # Which model answers. Who answers if it can't: fallback = [ \"...\" ];\n");
    row(out, "model", o->chosen_model);
    buf_puts(out, "    };\n};\n\n");
    return write_channel(o, out, e);
}

/* The daemon reads the whole configuration, this file included. */
static int check(const char *path, bool replaced, struct error *e)
{
    CLEANUP(freep) char *daemon = xprintf("%s/chelad", paths_libexec_dir());
    CLEANUP(freep) char *old = xprintf("%s.old", path);
    const char *words[] = {daemon, "--check", NULL};
    struct buf out = {0};
    int status = become_child(words, &out);
    if (status != 0) {
        unlink(path);
        if (replaced)
            rename(old, path);
        error_set(e, CHELA_E_ARGS, "the configuration would be wrong, so it was not changed: %s",
                  buf_text(&out));
    }
    buf_free(&out);
    return status == 0 ? 0 : -1;
}

int onboard_write(struct onboard *o, char **ret_path, struct error *e)
{
    struct buf text = {0};
    char *path = own_config_path(NULL);
    if (access(path, F_OK) == 0) {
        free(path);
        path = own_config_path("conf.d/20-onboard.conf");
    }
    bool replaces = access(path, F_OK) == 0;
    int bad = write_all(o, &text, e);
    bad = bad ? bad : own_config_write(path, &text, true, e);
    bad = bad ? bad : check(path, replaces, e);
    buf_free(&text);
    if (bad)
        free(path);
    else
        *ret_path = path;
    return bad;
}
