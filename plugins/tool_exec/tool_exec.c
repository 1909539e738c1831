/*
 * tool_exec: runs a command line with /bin/sh in the workspace, on a terminal by default. How risky
 * it is, is decided by parsing it (risk.c) before anybody is asked; the host runs the process,
 * confines it and ends it whole.
 */
#include <chela/chela.h>

#include <json-c/json_object_iterator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "risk.h"
#include "support/json.h"

static const struct chela_option options[] = {
    {"timeout", CHELA_DURATION, CHELA_RELOAD, "30m", "longest run of a command", NULL},
    {"output_limit", CHELA_SIZE, CHELA_RELOAD, "256k",
     "most that is kept of what it prints (its beginning and end)", NULL},
    {"confine", CHELA_BOOL, CHELA_RELOAD, "true",
     "low risks may write nowhere, medium ones only to the workspace and temporary folders "
     "(Landlock)",
     NULL},
    {"environment", CHELA_LIST, CHELA_RELOAD, NULL, "NAME=VALUE for each command", NULL},
    {"processes", CHELA_INT, CHELA_RELOAD, "0", "most processes of a command, 0 = no limit", NULL},
    {"memory", CHELA_SIZE, CHELA_RELOAD, "0", "most memory of each of its processes, 0 = no limit",
     NULL},
    {"file_size", CHELA_SIZE, CHELA_RELOAD, "0", "largest file that it may write, 0 = no limit",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const char manifest[] = "{\"name\":\"exec\",\"group\":\"runtime\",\"description\":\"Runs a "
                               "shell command line in the workspace and returns what "
                               "it prints. Commands that only read run at once; others wait for a "
                               "person's approval.\",\"parameters\":{\"type\":"
                               "\"object\",\"properties\":{\"command\":{\"type\":\"string\","
                               "\"minLength\":1,\"description\":\"command line for /bin/sh\"},"
                               "\"workdir\":{\"type\":\"string\",\"description\":\"folder, "
                               "relative to the workspace\"},\"env\":{\"type\":\"object\","
                               "\"additionalProperties\":{\"type\":\"string\"}},\"pty\":{\"type\":"
                               "\"boolean\",\"description\":\"run on a terminal "
                               "(default); false: on "
                               "pipes\"},\"timeoutSeconds\":{\"type\":\"integer\",\"minimum\":1,"
                               "\"maximum\":86400}},\"required\":"
                               "[\"command\"],\"additionalProperties\":false},\"security\":{"
                               "\"requiresApproval\":false,\"riskLevel\":\"high\"}}";

enum { ROWS = 40, COLUMNS = 120, HIGHEST_EXIT = 126 };

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair exec = {CHELA_LIT("exec"), CHELA_LIT(manifest)};
    chela_publish_list(in, CHELA_TOOLS, 1, &exec, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- what a call is: used by prepare, and again by run, so that both judge alike ---- */

struct judged {
    json_object *arguments;
    struct command command;
    struct command_paths *paths;
    struct risk_result risk;
    char *binding;
};

static void judged_free(struct judged *j)
{
    free(j->binding);
    risk_result_free(&j->risk);
    command_paths_free(j->paths);
    command_free(&j->command);
    json_object_put(j->arguments);
    free(j);
}

/* NULL with a sentence in `error` if the arguments can't be used. */
static struct judged *judge(const struct chela_tool_run *r, char *error, size_t size)
{
    json_object *arguments = NULL;
    struct command command;
    if (chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &arguments, NULL) < 0) {
        snprintf(error, size, "the arguments are not JSON");
        return NULL;
    }
    if (command_read(arguments, r->workspace.s ? r->workspace.s : "", &command, error, size) < 0) {
        json_object_put(arguments);
        return NULL;
    }
    struct judged *j = calloc(1, sizeof *j);
    if (!j)
        abort();
    j->arguments = arguments;
    j->command = command;
    j->paths = command_paths_new();
    struct risk_options o = {.resolve = command_resolve, .context = j->paths};
    risk_classify(command.line, strlen(command.line), &o, &j->risk);
    j->binding = command_binding(&j->command, &j->risk);
    return j;
}

/* ---- prepare ---- */

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    char error[1400];
    struct judged *j = judge(r, error, sizeof error);
    if (!j) {
        chela_verdict(in, r->h.call, CHELA_NO, error);
        return;
    }
    json_object *extra = chela_json_new_object();
    char *summary = command_summary(&j->command), *kind = command_kind(&j->risk);
    chela_json_put_text(extra, "risk", risk_level_name(j->risk.level));
    chela_json_put_text(extra, "summary", summary);
    chela_json_put_text(extra, "binding", j->binding);
    chela_json_put_text(extra, "kind", kind);
    chela_json_put_bool(extra, "reads_only", j->risk.level == RISK_LOW);
    if (j->risk.reason[0])
        chela_json_push(chela_json_put_array(extra, "warnings"),
                        json_object_new_string(j->risk.reason));
    if (j->risk.level == RISK_HIGH) {
        char line[600];
        snprintf(line, sizeof line, "high risk: %.400s", j->risk.reason);
        chela_log(in, CHELA_WARN, line);
    }
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->decide(in, &d);
    json_object_put(extra);
    free(summary);
    free(kind);
    judged_free(j);
}

/* ---- run ---- */

struct running {
    uint64_t call, started_ms;
    enum risk_level risk;
    char *directory;
    struct output output;
    struct chela_json_utf16_carry carry; /* of the progress */
};

/* What the call itself asks for; names were checked before. Returns the new count. */
static size_t add_own(json_object *own, struct chela_pair *v, size_t n, size_t most)
{
    struct json_object_iterator i = json_object_iter_begin(own), end = json_object_iter_end(own);
    for (; !json_object_iter_equal(&i, &end) && n < most; json_object_iter_next(&i)) {
        const char *value = chela_json_as_string(json_object_iter_peek_value(&i), NULL);
        v[n++] = (struct chela_pair){chela_s(json_object_iter_peek_name(&i)), chela_s(value)};
    }
    return n;
}

static void add_environment(struct chela_inst *in, json_object *own, struct chela_pairs *ret,
                            struct chela_pair *v, size_t most)
{
    static const struct chela_pair fixed[] = {
        {CHELA_LIT("CHELA_SHELL"), CHELA_LIT("exec")},
        {CHELA_LIT("TERM"), CHELA_LIT("xterm-256color")},
        {CHELA_LIT("PAGER"), CHELA_LIT("cat")},
        {CHELA_LIT("GIT_PAGER"), CHELA_LIT("cat")},
    };
    size_t n = 0;
    v[n++] = (struct chela_pair){CHELA_LIT("PATH"), chela_s(command_path)};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        v[n++] = fixed[i];
    for (int64_t i = 0; i < chela_option_number(in, "environment") && n < most; i++) {
        char path[64];
        snprintf(path, sizeof path, "environment.%lld", (long long)i);
        struct chela_str entry = chela_option_text(in, path);
        const char *equals = strchr(entry.s, '=');
        if (equals)
            v[n++] = (struct chela_pair){chela_sn(entry.s, (size_t)(equals - entry.s)),
                                         chela_s(equals + 1)};
    }
    if (own)
        n = add_own(own, v, n, most);
    ret->v = v;
    ret->n = n;
}

static json_object *limits(struct chela_inst *in)
{
    static const char *const names[] = {"processes", "memory", "file_size"};
    json_object *o = chela_json_new_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (chela_option_number(in, names[i]) > 0)
            chela_json_put_int(o, names[i], chela_option_number(in, names[i]));
    return o;
}

static void spawn(struct chela_inst *in, const struct judged *j, struct running *r)
{
    struct chela_pair arguments[3] = {{{"", 0}, CHELA_LIT("/bin/sh")}, {{"", 0}, CHELA_LIT("-c")}},
                      environment[64];
    json_object *bounds = limits(in);
    arguments[2].value = chela_s(j->command.line);
    CHELA_ARGS(chela_spawn, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)r;
    a.h.flags = j->command.pty ? CHELA_PTY : 0;
    a.parent = r->call;
    a.timeout_ms = j->command.timeout_s ? (uint64_t)j->command.timeout_s * 1000u
                                        : (uint64_t)chela_option_number(in, "timeout");
    a.rows = ROWS;
    a.columns = COLUMNS;
    a.directory = chela_s(j->command.directory);
    a.limits = chela_s(chela_json_text(bounds, NULL));
    a.arguments.v = arguments;
    a.arguments.n = 3;
    add_environment(in, j->command.environment, &a.environment, environment,
                    sizeof environment / sizeof environment[0]);
    if (chela_option_number(in, "confine"))
        a.confine = r->risk == RISK_LOW      ? CHELA_CONFINE_READ_ONLY
                    : r->risk == RISK_MEDIUM ? CHELA_CONFINE_WORKSPACE
                                             : CHELA_CONFINE_NONE;
    in->host->process->spawn(in, &a);
    json_object_put(bounds);
}

static void run(struct chela_inst *in, const struct chela_tool_run *a)
{
    char error[1400];
    struct judged *j = judge(a, error, sizeof error);
    if (!j) {
        chela_end(in, a->h.call, CHELA_E_ARGS, error);
        return;
    }
    if (a->binding.n && !chela_str_is(a->binding, j->binding)) {
        chela_end(
            in, a->h.call, CHELA_E_DENIED,
            "not run: the program or the folder has changed since it was approved; ask again");
        judged_free(j);
        return;
    }
    struct running *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->call = a->h.call;
    r->started_ms = in->host->local->ticks_ms(in);
    r->risk = j->risk.level;
    r->directory = strdup(j->command.directory);
    output_open(&r->output, (size_t)chela_option_number(in, "output_limit"));
    spawn(in, j, r);
    judged_free(j);
}

static void output(struct chela_inst *in, const struct chela_output *o)
{
    struct running *r = (struct running *)(uintptr_t)o->h.tag;
    char *whole = malloc(chela_json_carry_room((size_t)o->data.n));
    if (!whole)
        abort();
    size_t n = chela_json_carry_feed(&r->carry, o->data.s, (size_t)o->data.n, whole);
    output_add(&r->output, o->data.s, (size_t)o->data.n);
    if (n)
        chela_text_of(in, r->call, whole, n);
    free(whole);
}

/* How it ended, as a last line for the model; true if that is a failure of the tool call. */
static bool put_ending(FILE *out, const struct chela_done *d, json_object *about)
{
    int64_t exit = chela_json_int(about, "exit", 0), signal = chela_json_int(about, "signal", 0);
    if (chela_json_bool(about, "timed_out", false))
        fputs("\n[ended: it took longer than its time limit]", out);
    else if (signal)
        fprintf(out, "\n[ended by signal %lld]", (long long)signal);
    else if (d->error != CHELA_OK)
        fprintf(out, "\n[%s]", d->text.n ? d->text.s : "it could not be run");
    else if (exit)
        fprintf(out, "\n[exit code %lld]", (long long)exit);
    return d->error != CHELA_OK || signal || exit >= HIGHEST_EXIT;
}

static json_object *details(struct chela_inst *in, const struct running *r, json_object *about,
                            bool failed)
{
    json_object *extra = chela_json_new_object(), *o = chela_json_put_object(extra, "details");
    chela_json_put_text(o, "status", failed ? "failed" : "completed");
    if (chela_json_has(about, "exit"))
        chela_json_put_int(o, "exitCode", chela_json_int(about, "exit", 0));
    if (chela_json_has(about, "signal"))
        chela_json_put_int(o, "signal", chela_json_int(about, "signal", 0));
    if (chela_json_get(about, "unconfined"))
        chela_json_put(o, "unconfined", json_object_get(chela_json_get(about, "unconfined")));
    chela_json_put_int(o, "durationMs", (int64_t)(in->host->local->ticks_ms(in) - r->started_ms));
    chela_json_put_text(o, "cwd", r->directory);
    chela_json_put_text(o, "risk", risk_level_name(r->risk));
    return extra;
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct running *r = (struct running *)(uintptr_t)d->h.tag;
    json_object *about = NULL;
    char *text = NULL, *printed;
    size_t n = 0, length;
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &about, NULL);
    printed = output_take(&r->output, &length);
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    fwrite(printed, 1, length, out);
    bool failed = put_ending(out, d, about);
    fclose(out);
    json_object *extra = details(in, r, about, failed);
    CHELA_ARGS(chela_done, answer, r->call);
    answer.h.flags = failed ? CHELA_IS_ERROR : 0;
    answer.error = d->error == CHELA_E_CANCELLED ? CHELA_E_CANCELLED : CHELA_OK;
    answer.text = chela_sn(text, n);
    answer.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->done(in, &answer);
    json_object_put(extra);
    json_object_put(about);
    free(printed);
    free(text);
    free(r->directory);
    free(r);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = prepare, .run = run};

static const struct chela_iface exec = {
    CHELA_IFACE("exec", "runs commands in the workspace", CHELA_CAP_DEFAULT, options),
    .start = start,
    .output = output,
    .done = done,
    .tool = &tool,
};

CHELA_PLUGIN(tool_exec, "0.9.0", "runs commands in the workspace", "MIT", "", &exec);
