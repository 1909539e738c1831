/* chela onboard: from nothing to an assistant that answers: a model, a channel, a configuration
 * that was tried before it was written, and the user's service. Asks at a terminal; with --yes it
 * takes what it finds, or what the options say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/become.h"
#include "cli/command.h"
#include "cli/onboard.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "support/json.h"

enum { SHOWN_MODELS = 30 };

/* ---- asking ---- */

/* A line from the terminal without its end; false: the input is over. */
static bool ask(const char *question, bool hidden, struct buf *answer)
{
    buf_clear(answer);
    printf("%s", question);
    fflush(stdout);
    return terminal_read_line(hidden, answer);
}

static bool ask_yes(const struct onboard *o, const char *question)
{
    struct buf answer = {0};
    if (o->yes)
        return true;
    bool said = ask(question, false, &answer);
    bool yes = said && (answer.n == 0 || answer.p[0] == 'y' || answer.p[0] == 'Y');
    buf_free(&answer);
    return yes;
}

/* A number from 1 to most, or a name of the list: its index; `none` if nothing was chosen. */
static size_t choose(const char *question, const char *const *names, size_t count, size_t none)
{
    struct buf answer = {0};
    size_t chosen = none;
    while (ask(question, false, &answer)) {
        char *end;
        unsigned long number = strtoul(buf_text(&answer), &end, 10);
        chosen = answer.n == 0 ? 0 : *end == '\0' && number && number <= count ? number - 1 : none;
        for (size_t i = 0; i < count && chosen == none; i++)
            if (strcmp(names[i], buf_text(&answer)) == 0)
                chosen = i;
        if (chosen != none)
            break;
        puts("That is none of them: say its number or its name.");
    }
    buf_free(&answer);
    return chosen;
}

/* ---- the model ---- */

/* Nothing was found: a service and its key, from the table of those that have one. */
static bool ask_for_key(struct onboard *o)
{
    const char *names[64];
    char *variables[64];
    size_t count = 0;
    json_object *types = chela_json_array(o->types, "types");
    puts("No key was found in the environment and no model server on this machine. Which service "
         "do you have a key of?");
    for (size_t i = 0; i < chela_json_length(types) && count < ARRAY_LENGTH(names); i++) {
        json_object *t = chela_json_at(types, i);
        char *variable = NULL;
        if (strcmp(output_field(t, "section", ""), "providers") == 0)
            onboard_key_option(t, &variable);
        if (!variable)
            continue;
        names[count] = output_field(t, "type", "");
        variables[count++] = variable;
        printf("  %zu  %s\n", count, names[count - 1]);
    }
    size_t at = choose("Number or name: ", names, count, count);
    struct buf key = {0};
    bool given = at < count && ask("Its key (it is not shown): ", true, &key) && key.n > 0;
    if (given) {
        struct candidate *c = onboard_add(o, names[at], names[at]);
        c->key = xstrdup("api_key");
        c->variable = xstrdup(variables[at]);
        c->found = xstrdup("its key was given at chela onboard");
        setenv(c->variable, buf_text(&key), 1);
    }
    buf_free(&key);
    for (size_t i = 0; i < count; i++)
        free(variables[i]);
    return given;
}

static void take_model(struct onboard *o, struct candidate *c, const char *id)
{
    o->chosen = c;
    free(o->chosen_model);
    o->chosen_model = xstrdup(id);
}

/* The one that was named, or that is chosen; false: none. */
static bool pick_model(struct onboard *o)
{
    const char *ids[SHOWN_MODELS];
    struct candidate *of[SHOWN_MODELS];
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++)
        for (size_t k = 0; k < o->candidates[i].model_count; k++) {
            struct candidate *c = &o->candidates[i];
            const char *slash = strchr(c->models[k], '/');
            if (o->model && (strcmp(o->model, c->models[k]) == 0 ||
                             (slash && strcmp(o->model, slash + 1) == 0))) {
                take_model(o, c, c->models[k]);
                return true;
            }
            if (count < SHOWN_MODELS) {
                of[count] = c;
                ids[count++] = c->models[k];
            }
        }
    if (o->model || count == 0)
        return false;
    size_t at = 0;
    if (!o->yes) {
        puts("\nWhich model shall answer?");
        for (size_t i = 0; i < count; i++)
            printf("  %zu  %s\n", i + 1, ids[i]);
        at = choose("Number or name (1): ", ids, count, count);
    }
    if (at < count)
        take_model(o, of[at], ids[at]);
    return at < count;
}

static void say_found(const struct onboard *o)
{
    for (size_t i = 0; i < o->count && !o->common.json; i++) {
        const struct candidate *c = &o->candidates[i];
        printf("%s: %s, %zu model%s\n", c->name, c->found, c->model_count,
               c->model_count == 1 ? "" : "s");
    }
}

static int choose_model(struct onboard *o)
{
    struct error e = {0};
    onboard_find(o);
    if (o->count == 0 && (o->yes || !ask_for_key(o)))
        return output_failure(&o->common, "no_model",
                              "there is no model: set a key in the environment (ANTHROPIC_API_KEY, "
                              "OPENAI_API_KEY, ...) or start Ollama or llama.cpp, and try again",
                              EXIT_FAILED);
    struct trial *t = onboard_trial_open(o, &e);
    if (!t || onboard_ask_models(o, t, &e) < 0) {
        onboard_trial_close(t);
        return output_error(&o->common, &e, EXIT_FAILED);
    }
    say_found(o);
    int status = EXIT_OK;
    struct buf answer = {0};
    while (status == EXIT_OK) {
        if (!pick_model(o)) {
            status = output_failure(&o->common, "no_model",
                                    o->model ? "no service that was found has that model"
                                             : "no model was chosen",
                                    EXIT_FAILED);
            break;
        }
        if (o->no_check)
            break;
        if (!o->common.json)
            printf("Asking %s ... ", o->chosen_model);
        fflush(stdout);
        buf_clear(&answer);
        bool answers = onboard_try_model(o, t, &answer);
        if (!o->common.json || !answers)
            output_line(answer.n ? answer.p : "no answer");
        if (answers)
            break;
        if (o->yes || o->model || !ask_yes(o, "It does not answer. Choose another one? [Y/n] "))
            status =
                output_failure(&o->common, "no_answer",
                               "the model does not answer, so nothing was written", EXIT_FAILED);
    }
    buf_free(&answer);
    onboard_trial_close(t);
    return status;
}

/* ---- the channel ---- */

/* TELEGRAM_BOT_TOKEN and the like. */
static const char *token_of(const char *type)
{
    CLEANUP(freep) char *variable = xprintf("%s_BOT_TOKEN", type);
    for (char *c = variable; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c == '.' || *c == '-' ? '_' : *c;
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

static bool has_required(json_object *type)
{
    json_object *options = chela_json_array(type, "options");
    for (size_t i = 0; i < chela_json_length(options); i++)
        if (chela_json_bool(chela_json_at(options, i), "required", false))
            return true;
    return false;
}

/* What the channel's option table demands. */
static int ask_options(struct onboard *o)
{
    const char *type = output_field(o->channel_type, "type", "");
    json_object *options = chela_json_array(o->channel_type, "options");
    struct buf answer = {0};
    int status = EXIT_OK;
    o->channel_options = chela_json_new_object();
    for (size_t i = 0; i < chela_json_length(options) && status == EXIT_OK; i++) {
        json_object *option = chela_json_at(options, i);
        const char *name = output_field(option, "name", "");
        bool secret = chela_json_bool(option, "secret", false);
        const char *value = secret ? token_of(type) : NULL;
        if (!chela_json_bool(option, "required", false))
            continue;
        if (!value && !o->yes) {
            CLEANUP(freep)
            char *question = xprintf("%s %s: %s%s: ", type, name, output_field(option, "help", ""),
                                     secret ? " (it is not shown)" : "");
            value = ask(question, secret, &answer) && answer.n ? answer.p : NULL;
        }
        if (value)
            chela_json_put_text(o->channel_options, name, value);
        else
            status = output_failure(&o->common, "usage",
                                    "the channel needs its token: set it in the environment "
                                    "(TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN)",
                                    EXIT_USAGE);
    }
    buf_free(&answer);
    return status;
}

/* Only channels that want something; the terminal and the web page are there by themselves. */
static int choose_channel(struct onboard *o)
{
    const char *names[32] = {"none"};
    size_t count = 1, at = 0;
    json_object *types = chela_json_array(o->types, "types");
    for (size_t i = 0; i < chela_json_length(types) && count < ARRAY_LENGTH(names); i++) {
        json_object *t = chela_json_at(types, i);
        if (strcmp(output_field(t, "section", ""), "channels") == 0 && has_required(t))
            names[count++] = output_field(t, "type", "");
    }
    if (o->channel) {
        while (at < count && strcmp(names[at], o->channel) != 0)
            at++;
        if (at == count)
            return output_failure(&o->common, "usage", "there is no channel of that name",
                                  EXIT_USAGE);
    } else if (!o->yes) {
        puts("\nThe terminal and the web page work by themselves. Another channel?");
        for (size_t i = 0; i < count; i++)
            printf("  %zu  %s\n", i + 1, names[i]);
        at = choose("Number or name (1): ", names, count, count);
    }
    if (at == 0 || at >= count)
        return EXIT_OK;
    o->channel_type = onboard_type(o, "channels", names[at]);
    return ask_options(o);
}

/* ---- the end ---- */

/* Asks the channel's service, by the gateway that runs or by the same one for a moment. */
static int check_channel(struct onboard *o)
{
    struct error e = {0};
    struct become_gateway gateway = {0};
    json_object *payload = NULL, *params = chela_json_new_object();
    const char *type = output_field(o->channel_type, "type", "");
    struct place place = {0};
    int status = EXIT_OK;
    place_find(&place, NULL, &e);
    if (!place.announced) {
        CLEANUP(freep) char *log = place_file(&place, "onboard.log");
        if (!log || become_gateway(log, &gateway, &e) < 0)
            status = output_error(&o->common, &e, EXIT_FAILED);
    }
    struct common to = o->common;
    CLEANUP(freep) char *where = xprintf("127.0.0.1:%u", gateway.port);
    to.gateway = gateway.port ? where : NULL;
    if (status == EXIT_OK && !gateway.port && !o->service)
        status = output_ask(&to, "chela.reload", NULL, &payload);
    json_object_put(payload);
    payload = NULL;
    chela_json_put_text(params, "channel", type);
    chela_json_put_bool(params, "probe", true);
    if (status == EXIT_OK)
        status = output_ask(&to, "channels.status", params, &payload);
    else
        json_object_put(params);
    json_object *channel = chela_json_object(chela_json_object(payload, "channels"), type),
                *probe = chela_json_object(channel, "probe");
    if (status == EXIT_OK && !chela_json_bool(probe, "ok", false))
        status = output_failure(
            &o->common, "channel",
            output_field(probe, "error", "the channel does not work; see chela channels status"),
            EXIT_FAILED);
    else if (status == EXIT_OK && !o->common.json)
        printf("%s answers. Write to it; it gives you a code, and chela pairing approve lets you "
               "in.\n",
               type);
    json_object_put(payload);
    become_gateway_end(&gateway);
    place_free(&place);
    return status;
}

static int start_service(struct onboard *o)
{
    struct buf said = {0};
    struct error e = {0};
    int status = EXIT_OK;
    if (o->no_service) {
        buf_puts(&said, "Start the gateway with: chela gateway\n");
    } else if (!onboard_has_systemd()) {
        buf_puts(&said, "No systemd runs services for you here. Start the gateway with: chela "
                        "gateway (or have your supervisor do it)\n");
    } else if (ask_yes(o, "\nStart the assistant as your service, now and at each login? [Y/n] ")) {
        o->service = onboard_install_service(&said, &e) == 0;
        if (!o->service)
            status = output_error(&o->common, &e, EXIT_FAILED);
    } else {
        buf_puts(&said, "Start the gateway with: chela gateway\n");
    }
    if (!o->common.json)
        fputs(buf_text(&said), stdout);
    buf_free(&said);
    return status;
}

static int finish(struct onboard *o)
{
    struct error e = {0};
    char *path = NULL;
    if (onboard_write(o, &path, &e) < 0)
        return output_error(&o->common, &e, EXIT_CONFIG);
    if (!o->common.json)
        printf("\nWritten to %s, and the whole configuration is good.\n", path);
    int status = start_service(o);
    if (status == EXIT_OK && o->channel_type && !o->no_check)
        status = check_channel(o);
    if (status == EXIT_OK && o->common.json) {
        json_object *out = chela_json_new_object();
        chela_json_put_text(out, "file", path);
        chela_json_put_text(out, "model", o->chosen_model);
        chela_json_put_text(out, "channel", output_field(o->channel_type, "type", NULL));
        chela_json_put_bool(out, "service", o->service);
        output_json(out);
        json_object_put(out);
    } else if (status == EXIT_OK) {
        puts("Talk to it: chela chat, or on a page: chela dashboard. Is all well: chela doctor");
    }
    free(path);
    return status;
}

int cmd_onboard(int argc, char **argv)
{
    struct onboard o = {0};
    const struct option_row rows[] = {
        {'y', "yes", NULL, "ask nothing: take what is found, or what the options say", &o.yes,
         NULL},
        {'\0', "model", "MODEL", "the model that answers", NULL, &o.model},
        {'\0', "channel", "NAME",
         "telegram, discord, ... or none; its token is taken from NAME_BOT_TOKEN", NULL,
         &o.channel},
        {'\0', "no-service", NULL, "install no service", &o.no_service, NULL},
        {'\0', "no-check", NULL, "ask neither the model nor the channel whether they answer",
         &o.no_check, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "onboard [OPTION...]",
        .summary = "Sets up a model, a channel and the service, and tries them. Finds keys in the "
                   "environment and model servers on this machine.",
        .rows = rows,
        .local = true,
    };
    char **arguments;
    int count, status;
    struct error e = {0};
    if (!command_line_read(&line, argc, argv, &o.common, &arguments, &count, &status))
        return status;
    if (o.common.config)
        setenv("CHELA_CONFIG", o.common.config, 1);
    if (!o.yes && (!isatty(STDIN_FILENO) || o.common.json))
        return output_failure(&o.common, "usage",
                              "there is nobody to ask: use a terminal, or --yes", EXIT_USAGE);
    if (!onboard_read_types(&o, &e))
        return output_error(&o.common, &e, EXIT_CONFIG);
    status = choose_model(&o);
    status = status == EXIT_OK ? choose_channel(&o) : status;
    status = status == EXIT_OK ? finish(&o) : status;
    onboard_free(&o);
    return status;
}
