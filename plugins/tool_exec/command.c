/*
 * A command line as the exec tool takes it (see command.h). Called by tool_exec.c before anything
 * runs.
 */
#include "command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json_object_iterator.h>

#include "support/json.h"

const char command_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

enum { LONGEST_LINE = 64 * 1024, LONGEST_TIMEOUT_S = 24 * 3600 };

static FILE *memory(char **text, size_t *n)
{
    FILE *out = open_memstream(text, n);
    if (!out)
        abort();
    return out;
}

/* ---- arguments ---- */

/* Names that would change which program or library runs. */
static bool env_forbidden(const char *name)
{
    static const char *const names[] = {"PATH",      "IFS", "ENV", "BASH_ENV",
                                        "SHELLOPTS", "PS4", "HOME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "LD_", 3) == 0 || strncmp(name, "BASH_FUNC_", 10) == 0 ||
           strncmp(name, "CHELA_", 6) == 0 || strchr(name, '=') || !*name;
}

static int check_environment(json_object *environment, char *error, size_t size)
{
    struct json_object_iterator i = json_object_iter_begin(environment),
                                end = json_object_iter_end(environment);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        const char *name = json_object_iter_peek_name(&i);
        if (env_forbidden(name)) {
            snprintf(error, size, "env may not set %.100s: it would change which program runs",
                     name);
            return -1;
        }
        if (!chela_json_as_string(json_object_iter_peek_value(&i), NULL)) {
            snprintf(error, size, "env.%.100s must be a string", name);
            return -1;
        }
    }
    return 0;
}

static int read_directory(const char *wanted, const char *workspace, struct command *c, char *error,
                          size_t size)
{
    char real[PATH_MAX], root[PATH_MAX], joined[2 * PATH_MAX];
    if (!realpath(workspace, root)) {
        snprintf(error, size, "the workspace %.500s cannot be used: %s", workspace,
                 strerror(errno));
        return -1;
    }
    snprintf(joined, sizeof joined, wanted && wanted[0] == '/' ? "%.0s%s" : "%s/%s", root,
             wanted ? wanted : ".");
    size_t n = strlen(root);
    if (!realpath(joined, real)) {
        snprintf(error, size, "the folder %.500s cannot be used: %s", wanted, strerror(errno));
        return -1;
    }
    if (strcmp(root, "/") != 0 &&
        (strncmp(real, root, n) != 0 || (real[n] != '/' && real[n] != '\0'))) {
        snprintf(error, size, "the folder %.500s is outside of the workspace %.500s", wanted, root);
        return -1;
    }
    c->folder = strdup(real);
    c->directory = c->folder;
    return 0;
}

int command_read(json_object *arguments, const char *workspace, struct command *ret, char *error,
                 size_t size)
{
    struct command c = {.pty = chela_json_bool(arguments, "pty", true)};
    size_t n = 0;
    c.line = chela_json_string(arguments, "command", &n);
    c.timeout_s = chela_json_int(arguments, "timeoutSeconds", 0);
    c.environment = chela_json_object(arguments, "env");
    if (!c.line || n == 0 || n > LONGEST_LINE || strlen(c.line) != n) {
        snprintf(error, size, "command must be a text of 1 to %d bytes without NUL", LONGEST_LINE);
        return -1;
    }
    if (c.timeout_s < 0 || c.timeout_s > LONGEST_TIMEOUT_S) {
        snprintf(error, size, "timeoutSeconds must be between 0 and %d", LONGEST_TIMEOUT_S);
        return -1;
    }
    if ((c.environment && check_environment(c.environment, error, size) < 0) ||
        read_directory(chela_json_string(arguments, "workdir", NULL), workspace, &c, error, size) <
            0)
        return -1;
    *ret = c;
    return 0;
}

void command_free(struct command *c)
{
    free(c->folder);
    memset(c, 0, sizeof *c);
}

/* ---- where programs are ---- */

struct command_paths {
    char **found;
    size_t count;
};

struct command_paths *command_paths_new(void)
{
    struct command_paths *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    return p;
}

void command_paths_free(struct command_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->found[i]);
    free(p->found);
    free(p);
}

const char *command_resolve(void *context, const char *name)
{
    struct command_paths *p = context;
    char path[PATH_MAX];
    for (const char *folder = command_path; *folder;) {
        size_t n = strcspn(folder, ":");
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)n, folder, name);
        if (length > 0 && (size_t)length < sizeof path && access(path, X_OK) == 0) {
            char **grown = realloc(p->found, (p->count + 1) * sizeof *grown);
            if (!grown)
                abort();
            p->found = grown;
            return p->found[p->count++] = strdup(path);
        }
        folder += n + (folder[n] == ':');
    }
    return NULL;
}

/* ---- what an approval binds ---- */

static void put_file(FILE *out, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        fprintf(out, "%s %llu:%llu %lld %lld.%09ld\n", path, (unsigned long long)st.st_dev,
                (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                st.st_mtim.tv_nsec);
    else
        fprintf(out, "%s is not there\n", path);
}

char *command_binding(const struct command *c, const struct risk_result *risk)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = memory(&text, &n);
    fprintf(out, "%s\n%s\n%d %lld\n", c->line, c->directory, c->pty, c->timeout_s);
    if (c->environment)
        fprintf(out, "%s\n", chela_json_text(c->environment, NULL));
    for (size_t i = 0; i < risk->count; i++)
        if (risk->commands[i].path)
            put_file(out, risk->commands[i].path);
    fclose(out);
    return text;
}

/* Programs that run what they are given: a rule for one of them would be a rule for everything. */
static bool is_interpreter(const char *name)
{
    static const char *const names[] = {
        "sh",   "bash",  "dash",    "zsh",    "ksh",    "fish",     "busybox", "python",
        "perl", "ruby",  "node",    "nodejs", "deno",   "bun",      "php",     "lua",
        "awk",  "gawk",  "mawk",    "tclsh",  "expect", "env",      "xargs",   "sudo",
        "su",   "doas",  "ssh",     "docker", "podman", "npx",      "make",    "find",
        "nice", "nohup", "timeout", "setsid", "watch",  "parallel", "git"};
    size_t n = strcspn(name, "0123456789.");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == n && strncmp(name, names[i], n) == 0)
            return true;
    return false;
}

char *command_kind(const struct risk_result *risk)
{
    char *text = NULL;
    size_t n = 0;
    bool offered = risk->understood && risk->level != RISK_HIGH && risk->count > 0;
    FILE *out = memory(&text, &n);
    fputs("exec", out);
    for (size_t i = 0; i < risk->count; i++) {
        const struct risk_command *c = &risk->commands[i];
        offered =
            offered && c->path && c->name && !is_interpreter(c->name) && c->redirection_count == 0;
        fprintf(out, "%s %s", i ? " ;" : "", c->path ? c->path : "");
        for (size_t k = 1; k < c->count; k++) {
            offered = offered && c->words[k].text;
            fprintf(out, " %s", c->words[k].source);
        }
    }
    fclose(out);
    if (offered)
        return text;
    free(text);
    return NULL;
}

char *command_summary(const struct command *c)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = memory(&text, &n);
    fprintf(out, "%s\n(in %s)", c->line, c->directory);
    if (c->environment)
        fprintf(out, "\n(with %s)", chela_json_text(c->environment, NULL));
    fclose(out);
    return text;
}
