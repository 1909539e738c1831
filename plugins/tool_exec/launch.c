/*
 * Starts a command's process (see exec.h): environment, limits and the confinement that its risk
 * gets, by bubblewrap where that works and else by what the host can do (Landlock, seccomp).
 */
#include "exec.h"

#include <json-c/json_object_iterator.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 48, VARIABLES = 64 };

static const char bwrap_path[] = "/usr/bin/bwrap";

/* ---- environment and limits ---- */

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
    static const char *const names[] = {"processes", "memory", "file_size", "files"};
    json_object *o = chela_json_new_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (chela_option_number(in, names[i]) > 0)
            chela_json_put_int(o, names[i], chela_option_number(in, names[i]));
    if (chela_option_number(in, "cpu") > 0)
        chela_json_put_int(o, "cpu_s", (chela_option_number(in, "cpu") + 999) / 1000);
    return o;
}

/* ---- confinement ---- */

static uint32_t profile_bits(const char *name)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } profiles[] = {
        {"none", CHELA_CONFINE_NONE},
        {"workspace", CHELA_CONFINE_WORKSPACE},
        {"read-only", CHELA_CONFINE_READ_ONLY},
        {"no-network", CHELA_CONFINE_NO_NET},
        {"workspace-no-network", CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_NO_NET},
        {"read-only-no-network", CHELA_CONFINE_READ_ONLY | CHELA_CONFINE_NO_NET},
    };
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        if (strcmp(profiles[i].name, name) == 0)
            return profiles[i].bits;
    return CHELA_CONFINE_READ_ONLY |
           CHELA_CONFINE_NO_NET; /* not to be reached: options are checked */
}

/* The profile of a risk, the agent's own first. */
static uint32_t profile(struct chela_inst *in, struct chela_str agent, enum risk_level risk)
{
    char path[64];
    if (!chela_option_number(in, "confine"))
        return CHELA_CONFINE_NONE;
    for (int64_t i = 0; i < chela_option_number(in, "agents"); i++) {
        snprintf(path, sizeof path, "agents.%lld.name", (long long)i);
        if (!chela_str_is(agent, chela_option_text(in, path).s))
            continue;
        snprintf(path, sizeof path, "agents.%lld.%s", (long long)i, risk_level_name(risk));
        if (chela_option_text(in, path).n)
            return profile_bits(chela_option_text(in, path).s);
    }
    return profile_bits(chela_option_text(in, risk_level_name(risk)).s);
}

static size_t add_words(struct chela_pair *v, size_t n, const char *const *words)
{
    for (; *words; words++)
        v[n++].value = chela_s(*words);
    return n;
}

/* A view of the file system in which only the writable places are writable and the host's own state
 * is not there at all. */
static size_t wrap(struct session *s, uint32_t confine, struct chela_pair *v)
{
    static const char *const head[] = {
        bwrap_path, "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", NULL};
    static const char *const places[] = {"/tmp", "/var/tmp"};
    const char *state = chela_option_text(s->in, "$state").s;
    bool writes = (confine & CHELA_CONFINE_WORKSPACE) != 0;
    size_t n = add_words(v, 0, head);
    for (size_t i = 0; writes && i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], W_OK) == 0)
            n = add_words(v, n, (const char *const[]){"--bind", places[i], places[i], NULL});
    if (*state && access(state, F_OK) == 0) /* the folder may be below it, so that comes after */
        n = add_words(v, n, (const char *const[]){"--tmpfs", state, NULL});
    n = add_words(
        v, n,
        (const char *const[]){writes ? "--bind" : "--ro-bind", s->directory, s->directory, NULL});
    if (confine & CHELA_CONFINE_NO_NET)
        n = add_words(v, n, (const char *const[]){"--unshare-net", NULL});
    return add_words(v, n, (const char *const[]){"--chdir", s->directory, "--", NULL});
}

/* ---- starting ---- */

static void spawn(struct session *s, struct chela_str agent)
{
    struct chela_inst *in = s->in;
    struct chela_pair arguments[ARGUMENTS], environment[VARIABLES];
    json_object *bounds = limits(in);
    uint32_t confine = profile(in, agent, s->risk);
    memset(arguments, 0, sizeof arguments);
    CHELA_ARGS(chela_spawn, a, in->host->local->new_call(in));
    size_t n = 0;
    if (exec_of(in)->bwrap == BWRAP_WORKS &&
        (confine & (CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_READ_ONLY))) {
        n = wrap(s, confine, arguments);
        confine &= CHELA_CONFINE_NO_NET; /* Landlock would keep it from making its view */
    }
    const char *const shell[] = {"/bin/sh", "-c", s->line, NULL};
    n = add_words(arguments, n, shell);
    s->process = a.h.call;
    a.h.tag = (uint64_t)(uintptr_t)s;
    a.h.flags = s->pty ? CHELA_PTY : s->kept ? CHELA_STDIN : 0;
    a.confine = confine;
    a.timeout_ms = s->judged->command.timeout_s ? (uint64_t)s->judged->command.timeout_s * 1000u
                                                : (uint64_t)chela_option_number(in, "timeout");
    a.rows = EXEC_ROWS;
    a.columns = EXEC_COLUMNS;
    a.directory = chela_s(s->directory);
    a.limits = chela_s(chela_json_text(bounds, NULL));
    a.arguments.v = arguments;
    a.arguments.n = n;
    add_environment(in, s->judged->command.environment, &a.environment, environment, VARIABLES);
    in->host->process->spawn(in, &a);
    json_object_put(bounds);
    judged_free(s->judged);
    s->judged = NULL;
}

static void probe(struct chela_inst *in)
{
    struct chela_pair arguments[16];
    memset(arguments, 0, sizeof arguments);
    CHELA_ARGS(chela_spawn, a, in->host->local->new_call(in));
    a.timeout_ms = 5000;
    a.directory = chela_s("/");
    a.arguments.v = arguments;
    a.arguments.n = add_words(arguments, 0,
                              (const char *const[]){bwrap_path, "--ro-bind", "/", "/", "--dev",
                                                    "/dev", "--unshare-net", "--", "true", NULL});
    exec_of(in)->bwrap = BWRAP_ASKED;
    in->host->process->spawn(in, &a);
}

void launch_probed(struct chela_inst *in, const struct chela_done *d)
{
    struct exec *e = exec_of(in);
    json_object *about = NULL;
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &about, NULL);
    bool works = d->error == CHELA_OK && chela_json_int(about, "exit", 1) == 0;
    json_object_put(about);
    e->bwrap = works ? BWRAP_WORKS : BWRAP_ABSENT;
    if (!works)
        chela_log(in, CHELA_INFO, "bubblewrap can't be used here: Landlock confines commands");
    for (struct session *s = e->sessions; s; s = s->next)
        if (s->judged && !s->ended)
            launch(s);
}

void launch(struct session *s)
{
    struct exec *e = exec_of(s->in);
    if (!chela_option_number(s->in, "bubblewrap"))
        e->bwrap = BWRAP_ABSENT;
    else if (e->bwrap == BWRAP_UNKNOWN && access(bwrap_path, X_OK) != 0)
        e->bwrap = BWRAP_ABSENT;
    if (e->bwrap == BWRAP_UNKNOWN)
        probe(s->in);
    if (e->bwrap != BWRAP_ASKED)
        spawn(s, chela_s(s->agent));
}
