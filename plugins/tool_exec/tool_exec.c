/*
 * tool_exec: runs command lines with /bin/sh in the workspace, on a terminal by default, in front
 * or in the background. How risky a line is, is decided by parsing it (risk.c) before anybody is
 * asked; the host runs the process, confines it and ends it whole. This file is the plugin's
 * outside: options, manifests, and who does what; exec.h shows the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"

static const struct chela_option profiles[] = {
    {"none", CHELA_STRING, 0, NULL, "no confinement", NULL},
    {"workspace", CHELA_STRING, 0, NULL, "writes only to the workspace and temporary folders",
     NULL},
    {"read-only", CHELA_STRING, 0, NULL, "writes nowhere", NULL},
    {"no-network", CHELA_STRING, 0, NULL, "no network", NULL},
    {"workspace-no-network", CHELA_STRING, 0, NULL, "both", NULL},
    {"read-only-no-network", CHELA_STRING, 0, NULL, "both", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option agents[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "id of the agent", NULL},
    {"low", CHELA_STRING, 0, NULL, "its confinement of low risks", profiles},
    {"medium", CHELA_STRING, 0, NULL, "its confinement of medium risks", profiles},
    {"high", CHELA_STRING, 0, NULL, "its confinement of high risks", profiles},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"timeout", CHELA_DURATION, CHELA_RELOAD, "30m", "longest run of a command", NULL},
    {"yield", CHELA_DURATION, CHELA_RELOAD, "10s",
     "a command that takes longer goes on in the background, 0 = never", NULL},
    {"output_limit", CHELA_SIZE, CHELA_RELOAD, "256k",
     "most that is kept of what it prints (its beginning and end)", NULL},
    {"confine", CHELA_BOOL, CHELA_RELOAD, "true",
     "confine commands by their risk, as low, medium and high say", NULL},
    {"low", CHELA_STRING, CHELA_RELOAD, "read-only-no-network", "confinement of low risks",
     profiles},
    {"medium", CHELA_STRING, CHELA_RELOAD, "workspace", "confinement of medium risks", profiles},
    {"high", CHELA_STRING, CHELA_RELOAD, "none",
     "confinement of high risks, which a person has allowed one by one", profiles},
    {"agents", CHELA_ITEMS, CHELA_RELOAD, NULL, "other confinement for single agents", agents},
    {"bubblewrap", CHELA_BOOL, CHELA_RELOAD, "true",
     "use bubblewrap where it is installed and works; else Landlock", NULL},
    {"rules", CHELA_LIST, CHELA_RELOAD, NULL,
     "lines of the risk table: NAMES low|medium|high [KIND] [KEY=LIST ...] [-- WHY]", NULL},
    {"rules_file", CHELA_STRING, CHELA_RELOAD, "", "a file of such lines", NULL},
    {"environment", CHELA_LIST, CHELA_RELOAD, NULL, "NAME=VALUE for each command", NULL},
    {"cpu", CHELA_DURATION, CHELA_RELOAD, "0", "most processor time of each process, 0 = no limit",
     NULL},
    {"processes", CHELA_INT, CHELA_RELOAD, "0", "most processes of a command, 0 = no limit", NULL},
    {"memory", CHELA_SIZE, CHELA_RELOAD, "0", "most memory of each of its processes, 0 = no limit",
     NULL},
    {"file_size", CHELA_SIZE, CHELA_RELOAD, "0", "largest file that it may write, 0 = no limit",
     NULL},
    {"files", CHELA_INT, CHELA_RELOAD, "0", "most open files of each process, 0 = no limit", NULL},
    {"sessions", CHELA_INT, CHELA_RELOAD, "128", "most commands at the same time", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const char exec_manifest[] =
    "{\"name\":\"exec\",\"group\":\"runtime\",\"description\":\"Runs a shell command line in the "
    "workspace and returns what it prints. Commands that only read run at once; others wait for a "
    "person's approval. What runs longer than yieldMs goes on in the background; the tool process "
    "looks after it.\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"command line for "
    "/bin/sh\"},\"workdir\":{\"type\":\"string\",\"description\":\"folder, relative to the "
    "workspace\"},\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"pty\":{\"type\":\"boolean\",\"description\":\"run on a terminal (default); false: on "
    "pipes\"},\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":86400,\"description\":"
    "\"seconds until it is ended\"},\"yieldMs\":{\"type\":\"integer\",\"minimum\":0,"
    "\"maximum\":86400000,\"description\":\"go to the background after this; 0: never\"},"
    "\"background\":{\"type\":\"boolean\",\"description\":\"go there at once\"}},\"required\":"
    "[\"command\"],\"additionalProperties\":false},\"security\":{\"requiresApproval\":false,"
    "\"riskLevel\":\"high\"}}";

/* ---- life ---- */

static int32_t open_exec(struct chela_inst *in)
{
    in->self = exec_allocate(sizeof(struct exec));
    return CHELA_OK;
}

static void close_exec(struct chela_inst *in)
{
    struct exec *e = exec_of(in);
    while (e->sessions)
        session_free(e->sessions);
    risk_table_free(e->table);
    free(e);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair tools[] = {
        {CHELA_LIT("exec"), CHELA_LIT(exec_manifest)},
        {CHELA_LIT("process"), {NULL, 0}},
    };
    char error[900] = "";
    exec_of(in)->table = judge_table(in, error, sizeof error);
    if (!exec_of(in)->table) {
        chela_end(in, a->h.call, CHELA_E_ARGS, error);
        return;
    }
    struct chela_pair list[] = {tools[0], tools[1]};
    list[1].value = chela_s(process_manifest);
    chela_publish_list(in, CHELA_TOOLS, 1, list, 2);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void check(struct chela_inst *in, const struct chela_arg *a)
{
    char error[900] = "";
    struct risk_table *table = judge_table(in, error, sizeof error);
    chela_end(in, a->h.call, table ? CHELA_OK : CHELA_E_ARGS, error);
    risk_table_free(table);
}

static void apply(struct chela_inst *in, const struct chela_arg *a)
{
    struct exec *e = exec_of(in);
    char error[900] = "";
    struct risk_table *table = judge_table(in, error, sizeof error);
    if (table) {
        risk_table_free(e->table);
        e->table = table;
    }
    if (e->bwrap != BWRAP_ASKED)
        e->bwrap = BWRAP_UNKNOWN;
    chela_end(in, a->h.call, table ? CHELA_OK : CHELA_E_ARGS, error);
}

static unsigned running(const struct exec *e)
{
    unsigned n = 0;
    for (const struct session *s = e->sessions; s; s = s->next)
        n += !s->ended;
    return n;
}

static void maybe_stopped(struct chela_inst *in)
{
    struct exec *e = exec_of(in);
    if (!e->stopping || running(e) > 0)
        return;
    uint64_t call = e->stopping;
    e->stopping = 0;
    chela_end(in, call, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct exec *e = exec_of(in);
    e->stopping = a->h.call;
    for (struct session *s = e->sessions, *next; s; s = next) {
        next = s->next;
        if (!s->ended)
            session_kill(s);
    }
    maybe_stopped(in);
}

/* ---- prepare ---- */

/* The name that others give to `timeout`; NULL if it isn't used. */
static char *renamed(struct chela_str arguments)
{
    json_object *o = NULL;
    char *text = NULL;
    if (chela_json_parse(arguments.s, (size_t)arguments.n, NULL, &o, NULL) == 0 &&
        chela_json_has(o, "timeoutSeconds") && !chela_json_has(o, "timeout")) {
        chela_json_put_int(o, "timeout", chela_json_int(o, "timeoutSeconds", 0));
        json_object_object_del(o, "timeoutSeconds");
        text = strdup(chela_json_text(o, NULL));
    }
    json_object_put(o);
    return text;
}

static json_object *describe(const struct judged *j)
{
    json_object *extra = chela_json_new_object();
    char *summary = command_summary(&j->command), *kind = command_kind(&j->risk);
    chela_json_put_text(extra, "risk", risk_level_name(j->risk.level));
    chela_json_put_text(extra, "summary", summary);
    chela_json_put_text(extra, "binding", j->binding);
    chela_json_put_text(extra, "kind", kind);
    chela_json_put_text(extra, "cwd", j->command.directory);
    if (j->risk.count && j->risk.commands[0].path)
        chela_json_put_text(extra, "resolvedPath", j->risk.commands[0].path);
    chela_json_put_bool(extra, "reads_only", j->risk.level == RISK_LOW);
    if (j->risk.reason[0])
        chela_json_push(chela_json_put_array(extra, "warnings"),
                        json_object_new_string(j->risk.reason));
    free(summary);
    free(kind);
    return extra;
}

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    char error[1400];
    if (chela_str_is(r->name, "process")) {
        process_prepare(in, r);
        return;
    }
    char *changed = renamed(r->arguments);
    struct chela_tool_run now = *r;
    if (changed)
        now.arguments = chela_s(changed);
    struct judged *j = judge(in, &now, error, sizeof error);
    if (!j) {
        chela_verdict(in, r->h.call, CHELA_NO, error);
        free(changed);
        return;
    }
    json_object *extra = describe(j);
    if (j->risk.level == RISK_HIGH) {
        char line[600];
        snprintf(line, sizeof line, "high risk: %.400s", j->risk.reason);
        chela_log(in, CHELA_WARN, line);
    }
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = changed ? CHELA_CHANGE : CHELA_YES;
    d.text = chela_s(changed);
    d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->decide(in, &d);
    json_object_put(extra);
    judged_free(j);
    free(changed);
}

/* ---- run ---- */

static void run(struct chela_inst *in, const struct chela_tool_run *a)
{
    char error[1400];
    if (chela_str_is(a->name, "process")) {
        process_run(in, a);
        return;
    }
    if (running(exec_of(in)) >= (unsigned)chela_option_number(in, "sessions")) {
        chela_end(in, a->h.call, CHELA_E_BUSY,
                  "too many commands run already; end one with the tool process");
        return;
    }
    struct judged *j = judge(in, a, error, sizeof error);
    if (!j) {
        chela_end(in, a->h.call, CHELA_E_ARGS, error);
    } else if (a->binding.n && !chela_str_is(a->binding, j->binding)) {
        chela_end(
            in, a->h.call, CHELA_E_DENIED,
            "not run: the program or the folder has changed since it was approved; ask again");
        judged_free(j);
    } else {
        launch(session_new(in, a, j));
    }
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    struct exec *e = exec_of(in);
    struct session *s = session_of_call(e, a->h.call);
    if (s) {
        session_kill(s); /* its done comes when all that it started has ended */
    } else if (!process_cancel(in, a->h.call)) {
        chela_end(in, a->h.call, CHELA_E_CANCELLED, "cancelled");
    }
}

/* ---- what processes say; tag 0 is the look for bubblewrap ---- */

static void output(struct chela_inst *in, const struct chela_output *o)
{
    struct session *s = (struct session *)(uintptr_t)o->h.tag;
    (void)in;
    if (s)
        session_output(s, o->data.s, (size_t)o->data.n);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct session *s = (struct session *)(uintptr_t)d->h.tag;
    if (s)
        session_end(s, d);
    else if (exec_of(in)->bwrap == BWRAP_ASKED)
        launch_probed(in, d);
    maybe_stopped(in);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = prepare, .run = run};

static const struct chela_iface exec = {
    CHELA_IFACE("exec", "runs commands in the workspace", CHELA_CAP_DEFAULT, options),
    .open = open_exec,
    .close = close_exec,
    .start = start,
    .stop = stop,
    .check = check,
    .apply = apply,
    .cancel = cancel,
    .output = output,
    .done = done,
    .tool = &tool,
};

CHELA_PLUGIN(tool_exec, "0.9.0", "runs commands in the workspace", "MIT", "", &exec);
