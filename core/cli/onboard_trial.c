/* Onboard: see onboard.h. A gateway with the providers that were found and no channel, in a folder
 * under TMPDIR: what it lists and answers is what the real one will. Nothing of it stays. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/become.h"
#include "cli/client.h"
#include "cli/onboard.h"
#include "cli/output.h"
#include "cli/own_config.h"
#include "support/json.h"

enum { MODELS_MS = 5000, LOOK_MS = 100 };

struct trial {
    char *folder;
    struct become_gateway gateway;
    char *where; /* "127.0.0.1:PORT" */
};

static void write_providers(const struct onboard *o, struct buf *out)
{
    buf_puts(out, "gateway : { bind = \"loopback\"; };\nproviders : {\n");
    for (size_t i = 0; i < o->count; i++) {
        const struct candidate *c = &o->candidates[i];
        const char *rows[][2] = {
            {"type", c->type}, {"preset", c->preset}, {"base_url", c->base_url}};
        buf_printf(out, "  %s : { ", c->name);
        for (size_t k = 0; k < ARRAY_LENGTH(rows); k++)
            if (rows[k][1]) {
                buf_printf(out, "%s = ", rows[k][0]);
                own_config_string(rows[k][1], out);
                buf_puts(out, "; ");
            }
        if (c->key)
            buf_printf(out, "%s = \"${%s}\"; ", c->key, c->variable);
        buf_puts(out, "};\n");
    }
    buf_puts(out, "};\n");
}

/* The trial's environment: nothing of a gateway that this person runs, and not their configuration,
 * which may name another secret. */
static const char *const own_names[] = {"CHELA_STATE_DIR", "CHELA_GATEWAY_PORT", "CHELA_CONFIG"};
enum { OWN_NAMES = 3 };

static void enter(const struct trial *t, char **kept)
{
    CLEANUP(freep) char *file = xprintf("%s/chela.conf", t->folder);
    for (size_t i = 0; i < OWN_NAMES; i++)
        kept[i] = getenv(own_names[i]) ? xstrdup(getenv(own_names[i])) : NULL;
    setenv("CHELA_CONFIG", file, 1);
    setenv("CHELA_STATE_DIR", t->folder, 1);
    setenv("CHELA_GATEWAY_PORT", "0", 1);
}

static void leave(char **kept)
{
    for (size_t i = 0; i < OWN_NAMES; i++) {
        if (kept[i])
            setenv(own_names[i], kept[i], 1);
        else
            unsetenv(own_names[i]);
        free(kept[i]);
    }
}

struct trial *onboard_trial_open(struct onboard *o, struct error *e)
{
    const char *base = getenv("TMPDIR");
    char *kept[OWN_NAMES];
    CLEANUP(freep)
    char *folder = xprintf("%s/chela-onboard-XXXXXX", base && *base == '/' ? base : "/tmp");
    struct buf text = {0};
    struct trial *t = xcalloc(1, sizeof *t);
    if (!mkdtemp(folder)) {
        error_set(e, CHELA_E_OTHER, "%s cannot be made: %s", folder, strerror(errno));
        free(t);
        return NULL;
    }
    t->folder = xstrdup(folder);
    CLEANUP(freep) char *file = xprintf("%s/chela.conf", folder);
    CLEANUP(freep) char *log = xprintf("%s/log", folder);
    write_providers(o, &text);
    int bad = own_config_write(file, &text, false, e);
    buf_free(&text);
    if (!bad) {
        enter(t, kept);
        bad = become_gateway(log, &t->gateway, e);
        leave(kept);
    }
    t->where = xprintf("127.0.0.1:%u", t->gateway.port);
    if (!bad)
        return t;
    onboard_trial_close(t);
    return NULL;
}

static bool take_models(struct onboard *o, json_object *models)
{
    size_t with = 0;
    for (size_t i = 0; i < o->count; i++) {
        struct candidate *c = &o->candidates[i];
        size_t n = strlen(c->name);
        for (size_t k = 0; k < c->model_count; k++)
            free(c->models[k]);
        c->model_count = 0;
        for (size_t k = 0; k < chela_json_length(models); k++) {
            const char *id = output_field(chela_json_at(models, k), "id", "");
            if (strncmp(id, c->name, n) != 0 || id[n] != '/')
                continue;
            c->models = xrealloc(c->models, (c->model_count + 1) * sizeof *c->models);
            c->models[c->model_count++] = xstrdup(id);
        }
        with += c->model_count > 0;
    }
    return with == o->count;
}

int onboard_ask_models(struct onboard *o, struct trial *t, struct error *e)
{
    struct place place = {0};
    struct client client = {0};
    char *kept[OWN_NAMES];
    enter(t, kept);
    int bad = place_find(&place, t->where, e);
    leave(kept);
    bad = bad ? bad : client_open(&client, &place, NULL, NULL, e);
    uint64_t end = clock_ticks_us() / 1000 + MODELS_MS;
    for (bool all = false; !bad && !all && clock_ticks_us() / 1000 < end;) {
        json_object *payload = NULL;
        bad = client_call(&client, "chela.models", NULL, CLIENT_REQUEST_MS, &payload, NULL, e);
        all = !bad && take_models(o, chela_json_array(payload, "models"));
        json_object_put(payload);
        if (!bad && !all)
            poll(NULL, 0, LOOK_MS);
    }
    client_close(&client);
    place_free(&place);
    return bad;
}

bool onboard_try_model(struct onboard *o, struct trial *t, struct buf *answer)
{
    char self[] = "/proc/self/exe", *kept[OWN_NAMES];
    const char *words[] = {self,        "agent",
                           "--gateway", t->where,
                           "--model",   o->chosen_model,
                           "-t",        "3m",
                           "-m",        "Say in one short sentence that you are ready.",
                           NULL};
    enter(t, kept);
    int status = become_child(words, answer);
    leave(kept);
    while (answer->n && strchr("\r\n", answer->p[answer->n - 1]))
        answer->p[--answer->n] = '\0';
    return status == EXIT_OK;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    (void)status, (void)flag, (void)ftw;
    return remove(path);
}

void onboard_trial_close(struct trial *t)
{
    if (!t)
        return;
    become_gateway_end(&t->gateway);
    nftw(t->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(t->where);
    free(t->folder);
    free(t);
}
