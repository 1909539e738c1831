/* chela cron: jobs at a time, asked of the plugin tool_cron by the methods cron.*. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

struct wishes {
    const char *at, *every, *cron, *zone, *name, *session, *agent, *model, *channel, *to;
    bool next_heartbeat, once, disabled;
};

/* ---- printing ---- */

static void when(json_object *o, const char *key, char *out, size_t size)
{
    int64_t ms = chela_json_int(o, key, 0);
    char full[32];
    clock_format((uint64_t)ms, full, sizeof full);
    snprintf(out, size, "%.16s%s", ms ? full : "-", ms ? "Z" : "");
}

static void describe(json_object *schedule, char *out, size_t size)
{
    const char *kind = output_field(schedule, "kind", "?"),
               *zone = output_field(schedule, "tz", "");
    if (strcmp(kind, "every") == 0) {
        char span[32];
        output_span(chela_json_int(schedule, "everyMs", 0), span, sizeof span);
        snprintf(out, size, "every %s", span);
    } else if (strcmp(kind, "at") == 0) {
        snprintf(out, size, "at %s", output_field(schedule, "at", "?"));
    } else {
        snprintf(out, size, "%s%s%s", output_field(schedule, "expr", "?"), *zone ? " " : "", zone);
    }
}

static void print_job(json_object *job)
{
    json_object *state = chela_json_object(job, "state");
    char next[32], schedule[120];
    bool enabled = chela_json_bool(job, "enabled", false);
    when(state, "nextRunAtMs", next, sizeof next);
    describe(chela_json_object(job, "schedule"), schedule, sizeof schedule);
    output_cell(output_field(job, "id", "?"), 16);
    output_cell(enabled ? next : "off", 19);
    output_cell(schedule, 28);
    output_cell(chela_json_has(state, "runningAtMs") ? "running"
                                                     : output_field(state, "lastRunStatus", ""),
                9);
    output_line(output_field(job, "name", ""));
}

static void print_jobs(json_object *payload)
{
    json_object *jobs = chela_json_array(payload, "jobs");
    for (size_t i = 0; i < chela_json_length(jobs); i++) {
        print_job(chela_json_at(jobs, i));
    }
    if (chela_json_length(jobs) == 0) {
        puts("There are no jobs: chela cron add --help");
    }
}

static void print_runs(json_object *payload)
{
    json_object *entries = chela_json_array(payload, "entries");
    for (size_t i = 0; i < chela_json_length(entries); i++) {
        json_object *e = chela_json_at(entries, i);
        char at[32], span[32];
        when(e, "runAtMs", at, sizeof at);
        output_span(chela_json_int(e, "durationMs", 0), span, sizeof span);
        output_cell(at, 19);
        output_cell(output_field(e, "status", "?"), 9);
        output_cell(span, 11);
        output_line(output_field(e, "error", output_field(e, "summary", "")));
    }
}

static void print_added(json_object *payload)
{
    char next[32];
    when(chela_json_object(payload, "state"), "nextRunAtMs", next, sizeof next);
    printf("Job %s; it runs at %s.\n", output_field(payload, "id", "?"), next);
}

static void print_ran(json_object *payload)
{
    if (chela_json_bool(payload, "ran", false)) {
        printf("It runs: chela trace %s\n", output_field(payload, "runId", "?"));
    } else {
        printf("It was not run: %s.\n", output_field(payload, "reason", "?"));
    }
}

static void print_done(json_object *payload)
{
    (void)payload;
    puts("Done.");
}

/* ---- a new job ---- */

/* "20m" from now, or a time as it is written. */
static void put_at(json_object *schedule, const char *at)
{
    uint64_t ms;
    char text[32];
    chela_json_put_text(schedule, "kind", "at");
    if (!command_line_duration(at, &ms)) {
        chela_json_put_text(schedule, "at", at);
        return;
    }
    clock_format(clock_now_ms() + ms, text, sizeof text);
    chela_json_put_text(schedule, "at", text);
}

/* NULL, or what is wrong with it. */
static const char *put_schedule(json_object *params, const struct wishes *w)
{
    json_object *schedule = chela_json_put_object(params, "schedule");
    uint64_t ms;
    if ((w->at != NULL) + (w->every != NULL) + (w->cron != NULL) != 1) {
        return "give one of --at, --every, --cron";
    }
    if (w->zone != NULL && w->cron == NULL) {
        return "--tz goes with --cron";
    }
    if (w->at != NULL) {
        put_at(schedule, w->at);
        chela_json_put_bool(params, "deleteAfterRun", w->once);
    } else if (w->every != NULL) {
        if (!command_line_duration(w->every, &ms)) {
            return "--every takes a time such as 30m or 2h";
        }
        chela_json_put_text(schedule, "kind", "every");
        chela_json_put_int(schedule, "everyMs", (int64_t)ms);
    } else {
        chela_json_put_text(schedule, "kind", "cron");
        chela_json_put_text(schedule, "expr", w->cron);
        if (w->zone != NULL) {
            chela_json_put_text(schedule, "tz", w->zone);
        }
    }
    return NULL;
}

static void put_payload(json_object *params, const struct wishes *w, const char *text)
{
    bool main = w->session != NULL && strcmp(w->session, "main") == 0;
    json_object *payload = chela_json_put_object(params, "payload");
    char target[300];
    snprintf(target, sizeof target, "session:%.280s", w->session ? w->session : "");
    bool word = w->session == NULL || main || strcmp(w->session, "isolated") == 0;
    chela_json_put_text(params, "sessionTarget",
                        w->session == NULL ? "isolated"
                        : word             ? w->session
                                           : target);
    chela_json_put_text(payload, "kind", main ? "systemEvent" : "agentTurn");
    chela_json_put_text(payload, main ? "text" : "message", text);
    if (w->model != NULL && !main) {
        chela_json_put_text(payload, "model", w->model);
    }
}

static const char *fill(json_object *params, const struct wishes *w, const char *text)
{
    char name[64];
    const char *wrong = put_schedule(params, w);
    snprintf(name, sizeof name, "%.60s", text);
    chela_json_put_text(params, "name", w->name != NULL ? w->name : name);
    chela_json_put_text(params, "wakeMode", w->next_heartbeat ? "next-heartbeat" : "now");
    chela_json_put_bool(params, "enabled", !w->disabled);
    if (w->agent != NULL) {
        chela_json_put_text(params, "agentId", w->agent);
    }
    put_payload(params, w, text);
    if ((w->channel == NULL) != (w->to == NULL)) {
        return "--channel and --to go together";
    }
    if (w->channel != NULL) {
        json_object *delivery = chela_json_put_object(params, "delivery");
        chela_json_put_text(delivery, "mode", "announce");
        chela_json_put_text(delivery, "channel", w->channel);
        chela_json_put_text(delivery, "to", w->to);
    }
    return wrong;
}

/* ---- which ---- */

struct verb {
    const char *name, *method;
    bool needs; /* an argument */
    void (*print)(json_object *payload);
};

static const struct verb verbs[] = {
    {"list", "cron.list", false, print_jobs},    {"show", "cron.get", true, output_json},
    {"add", "cron.add", true, print_added},      {"remove", "cron.remove", true, print_done},
    {"run", "cron.run", true, print_ran},        {"runs", "cron.runs", true, print_runs},
    {"enable", "cron.update", true, print_done}, {"disable", "cron.update", true, print_done},
};

static json_object *params_of(const struct verb *v, const char *argument, const struct wishes *w,
                              const char **wrong)
{
    json_object *params = chela_json_new_object();
    if (strcmp(v->name, "list") == 0) {
        chela_json_put_bool(params, "includeDisabled", true);
        chela_json_put_int(params, "limit", 200);
    } else if (strcmp(v->name, "add") == 0) {
        *wrong = fill(params, w, argument);
    } else {
        chela_json_put_text(params, "id", argument);
    }
    if (strcmp(v->method, "cron.update") == 0) {
        chela_json_put_bool(chela_json_put_object(params, "patch"), "enabled",
                            strcmp(v->name, "enable") == 0);
    }
    return params;
}

static int ask(const struct common *common, const struct verb *v, const char *argument,
               const struct wishes *w)
{
    const char *wrong = NULL;
    json_object *params = params_of(v, argument, w, &wrong), *payload = NULL;
    if (wrong != NULL) {
        json_object_put(params);
        return output_failure(common, "usage", wrong, EXIT_USAGE);
    }
    int status = output_ask(common, v->method, params, &payload);
    if (status == EXIT_OK) {
        (common->json ? output_json : v->print)(payload);
    }
    json_object_put(payload);
    return status;
}

int cmd_cron(int argc, char **argv)
{
    struct common common = {0};
    struct wishes w = {0};
    const struct option_row rows[] = {
        {'\0', "at", "TIME", "add: once, in 20m, or at 2026-12-24T18:00:00+01:00", NULL, &w.at},
        {'\0', "every", "TIME", "add: every 30m, 2h ...", NULL, &w.every},
        {'\0', "cron", "EXPR", "add: \"minute hour day month weekday\"", NULL, &w.cron},
        {'\0', "tz", "ZONE", "add: time zone of --cron, such as Europe/Berlin", NULL, &w.zone},
        {'n', "name", "NAME", "add: its name; without one the text's beginning", NULL, &w.name},
        {'s', "session", "WHERE", "add: isolated (default), main, or a session's key", NULL,
         &w.session},
        {'\0', "agent", "AGENT", "add: whose", NULL, &w.agent},
        {'m', "model", "MODEL", "add: the model that answers", NULL, &w.model},
        {'\0', "channel", "CHANNEL", "add: the answer goes to a chat of this channel", NULL,
         &w.channel},
        {'\0', "to", "CHAT", "add: and to this chat", NULL, &w.to},
        {'\0', "next-heartbeat", NULL, "add: with --session main: said at the next heartbeat",
         &w.next_heartbeat, NULL},
        {'\0', "delete-after-run", NULL, "add: with --at: gone once it has run", &w.once, NULL},
        {'\0', "disabled", NULL, "add: it doesn't run until it is enabled", &w.disabled, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "cron [list | add TEXT OPTION... | show ID | remove ID | run ID | runs ID | "
                    "enable ID | disable ID]",
        .summary = "Jobs at a time: lists, makes, shows, removes, starts them, or what came of "
                   "them.",
        .rows = rows,
        .most = 2,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    const char *verb = count > 0 ? arguments[0] : "list";
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].name) == 0 && (count == 2) == verbs[i].needs) {
            return ask(&common, &verbs[i], count == 2 ? arguments[1] : NULL, &w);
        }
    }
    return output_failure(&common, "usage", "see chela cron --help", EXIT_USAGE);
}
