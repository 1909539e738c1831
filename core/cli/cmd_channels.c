/* chela channels, chela pairing, chela message: the channels, who may write there, a text to a
 * chat. */
#include <json-c/linkhash.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

static int ask_and_say(const struct common *common, const char *method, json_object *params,
                       const char *said)
{
    json_object *payload = NULL;
    int status = output_ask(common, method, params, &payload);
    if (status == EXIT_OK && common->json)
        output_json(payload);
    else if (status == EXIT_OK)
        puts(said);
    json_object_put(payload);
    return status;
}

static json_object *params_of(const char *name, const char *value)
{
    json_object *params = chela_json_new_object();
    if (value)
        chela_json_put_text(params, name, value);
    return params;
}

/* ---- channels ---- */

static const char *state_of(json_object *c)
{
    if (!chela_json_bool(c, "running", false))
        return "stopped";
    return chela_json_bool(c, "connected", true) ? "running" : "not connected";
}

static void print_channel(const char *name, json_object *c)
{
    char in[32], out[32];
    json_object *probe = chela_json_object(c, "probe");
    output_age(chela_json_int(c, "lastInboundAt", 0), in, sizeof in);
    output_age(chela_json_int(c, "lastOutboundAt", 0), out, sizeof out);
    output_cell(name, 16);
    output_cell(output_field(c, "type", ""), 12);
    output_cell(state_of(c), 14);
    printf("in %-8s out %-8s %lld failed", in, out, (long long)chela_json_int(c, "failed", 0));
    const char *why = output_field(c, "lastError", output_field(c, "lastDeliveryError", ""));
    if (probe)
        why =
            chela_json_bool(probe, "ok", false) ? "it answers" : output_field(probe, "error", "?");
    if (*why) {
        printf("  ");
        output_text(why);
    }
    fputc('\n', stdout);
}

static void print_failures(json_object *channel)
{
    json_object *failures = chela_json_array(channel, "deliveryFailures");
    for (size_t i = 0; i < chela_json_length(failures); i++) {
        json_object *f = chela_json_at(failures, i);
        char age[32];
        output_age(chela_json_int(f, "at", 0), age, sizeof age);
        printf("%s ago, to ", age);
        output_text(output_field(f, "chat", "?"));
        printf(" on ");
        output_text(output_field(f, "channel", "?"));
        printf(": %s: ", strcmp(output_field(f, "state", ""), "UNKNOWN") == 0
                             ? "may not have arrived"
                             : "not delivered");
        output_line(output_field(f, "error", ""));
    }
}

static void print_channels(json_object *payload)
{
    json_object *channels = chela_json_object(payload, "channels");
    if (!channels)
        return;
    json_object_object_foreach(channels, name, c) print_channel(name, c);
    json_object_object_foreach(channels, also, d)
    {
        (void)also;
        print_failures(d);
    }
}

static int status_channels(const struct common *common, const char *channel, bool probe, bool names)
{
    json_object *params = params_of("channel", channel), *payload = NULL;
    if (probe)
        chela_json_put_bool(params, "probe", true);
    int status = output_ask(common, "channels.status", params, &payload);
    json_object *order = chela_json_array(payload, "channelOrder");
    if (status == EXIT_OK && common->json)
        output_json(payload);
    else if (status == EXIT_OK && !names)
        print_channels(payload);
    for (size_t i = 0; status == EXIT_OK && names && !common->json && i < chela_json_length(order);
         i++)
        output_line(chela_json_as_string(chela_json_at(order, i), NULL));
    json_object_put(payload);
    return status;
}

int cmd_channels(int argc, char **argv)
{
    struct common common = {0};
    bool probe = false;
    const struct option_row rows[] = {
        {'\0', "probe", NULL, "status: ask the service itself, where the channel can", &probe,
         NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "channels [list | status [CHANNEL] | login CHANNEL | logout CHANNEL]",
        .summary = "Shows the channels and what went over them; logs one in or out.",
        .rows = rows,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    const char *verb = count > 0 ? arguments[0] : "status";
    const char *channel = count > 1 ? arguments[1] : NULL;
    if (strcmp(verb, "list") == 0 && !channel)
        return status_channels(&common, NULL, false, true);
    if (strcmp(verb, "status") == 0 && (channel || !probe))
        return status_channels(&common, channel, probe, false);
    if (strcmp(verb, "login") == 0 && channel)
        return ask_and_say(&common, "channels.login", params_of("channel", channel), "Logged in.");
    if (strcmp(verb, "logout") == 0 && channel)
        return ask_and_say(&common, "channels.logout", params_of("channel", channel),
                           "Logged out.");
    return output_failure(&common, "usage", "see chela channels --help", EXIT_USAGE);
}

/* ---- pairing ---- */

static int list_people(const struct common *common)
{
    json_object *payload = NULL;
    int status = output_ask(common, "chela.pairing.list", NULL, &payload);
    json_object *people = chela_json_array(payload, "people");
    if (status == EXIT_OK && common->json)
        output_json(payload);
    for (size_t i = 0; status == EXIT_OK && !common->json && i < chela_json_length(people); i++) {
        json_object *p = chela_json_at(people, i);
        bool waits = strcmp(output_field(p, "state", ""), "waiting") == 0;
        output_cell(output_field(p, "channel", ""), 16);
        output_cell(output_field(p, "sender", ""), 24);
        output_cell(output_field(p, "name", ""), 20);
        output_cell(waits ? output_field(p, "code", "") : "paired", 10);
        if (waits) {
            char left[48];
            output_span(chela_json_int(p, "expires", 0) - (int64_t)clock_now_ms(), left,
                        sizeof left);
            printf("%s left", left);
        }
        fputc('\n', stdout);
    }
    if (status == EXIT_OK && !common->json && chela_json_length(people) == 0)
        puts("Nobody is paired, and nobody waits.");
    json_object_put(payload);
    return status;
}

int cmd_pairing(int argc, char **argv)
{
    struct common common = {0};
    static const struct command_line line = {
        .synopsis = "pairing [list | approve CHANNEL CODE | revoke CHANNEL SENDER]",
        .summary = "Lists who may write to the assistant; lets somebody in, or out again.",
        .most = 3,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (count == 0 || (count == 1 && strcmp(arguments[0], "list") == 0))
        return list_people(&common);
    bool approve = strcmp(arguments[0], "approve") == 0;
    if (count != 3 || (!approve && strcmp(arguments[0], "revoke") != 0))
        return output_failure(&common, "usage", "see chela pairing --help", EXIT_USAGE);
    json_object *params = params_of("channel", arguments[1]);
    chela_json_put_text(params, approve ? "code" : "sender", arguments[2]);
    return ask_and_say(&common, approve ? "chela.pairing.approve" : "chela.pairing.revoke", params,
                       approve ? "Paired." : "No longer paired.");
}

/* ---- message ---- */

int cmd_message(int argc, char **argv)
{
    struct common common = {0};
    const char *channel = NULL, *to = NULL, *account = NULL, *thread = NULL, *text = NULL;
    const struct option_row rows[] = {
        {'\0', "channel", "NAME", "the channel", NULL, &channel},
        {'t', "to", "CHAT", "the chat, as the channel calls it", NULL, &to},
        {'\0', "account", "NAME", "which of the channel's accounts", NULL, &account},
        {'\0', "thread", "ID", "the thread or topic in it", NULL, &thread},
        {'m', "message", "TEXT", "the text, in Markdown", NULL, &text},
        {0},
    };
    const struct command_line line = {
        .synopsis = "message send --channel NAME --to CHAT -m TEXT",
        .summary = "Sends a text to a chat; no model is asked.",
        .rows = rows,
        .least = 1,
        .most = 1,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    if (strcmp(arguments[0], "send") != 0 || !channel || !to || !text)
        return output_failure(&common, "usage", "see chela message --help", EXIT_USAGE);
    json_object *params = params_of("channel", channel);
    chela_json_put_text(params, "to", to);
    chela_json_put_text(params, "message", text);
    if (account)
        chela_json_put_text(params, "accountId", account);
    if (thread)
        chela_json_put_text(params, "threadId", thread);
    return ask_and_say(&common, "send", params, "It is on its way: see chela channels status.");
}
