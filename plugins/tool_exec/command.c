/*
 * A command line as the exec tool takes it (see command.h). Called by tool_exec.c before anything
 * runs.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
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
    struct command c = {.pty = chela_json_bool(arguments, "pty", true),
                        .background = chela_json_bool(arguments, "background", false)};
    size_t n = 0;
    c.line = chela_json_string(arguments, "command", &n);
    c.timeout_s = chela_json_int(arguments, "timeout", 0);
    c.yield_ms = chela_json_int(arguments, "yieldMs", -1);
    c.environment = chela_json_object(arguments, "env");
    if (!c.line || n == 0 || n > LONGEST_LINE || strlen(c.line) != n) {
        snprintf(error, size, "command must be a text of 1 to %d bytes without NUL", LONGEST_LINE);
        return -1;
    }
    if (c.timeout_s < 0 || c.timeout_s > LONGEST_TIMEOUT_S) {
        snprintf(error, size, "timeout must be between 0 and %d", LONGEST_TIMEOUT_S);
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

enum { HASHED_MOST = 8 << 20 };

/* The bytes of a file that somebody of this user might change; a larger one is known by its times.
 */
static void put_hash(FILE *out, const char *path)
{
    unsigned char digest[EVP_MAX_MD_SIZE], piece[65536];
    unsigned length = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    if (!hash)
        abort();
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        EVP_DigestUpdate(hash, piece, (size_t)n);
    EVP_DigestFinal_ex(hash, digest, &length);
    EVP_MD_CTX_free(hash);
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; fd >= 0 && n == 0 && i < length; i++)
        fprintf(out, "%02x", digest[i]);
}

static void put_file(FILE *out, const char *directory, const char *path)
{
    char joined[2 * PATH_MAX], real[PATH_MAX];
    struct stat st;
    snprintf(joined, sizeof joined, path[0] == '/' ? "%.0s%s" : "%s/%s", directory, path);
    if (!realpath(joined, real) || stat(real, &st) != 0) {
        fprintf(out, "%s is not there\n", joined);
        return;
    }
    fprintf(out, "%s -> %s %llu:%llu %lld %lld.%09ld %lld.%09ld ", joined, real,
            (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (long long)st.st_size,
            (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
            st.st_ctim.tv_nsec);
    if (S_ISREG(st.st_mode) && st.st_size <= HASHED_MOST &&
        (st.st_uid != 0 || access(real, W_OK) == 0))
        put_hash(out, real);
    fputc('\n', out);
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

/* The script of an interpreter, or whatever else of its words is a file: as much its program as the
 * interpreter is. */
static void put_operands(FILE *out, const char *directory, const struct risk_command *c)
{
    struct stat st;
    char joined[2 * PATH_MAX];
    for (size_t i = 1; i < c->count && i < 64; i++) {
        const char *word = c->words[i].text;
        if (!word || !*word || strlen(word) >= PATH_MAX)
            continue;
        snprintf(joined, sizeof joined, word[0] == '/' ? "%.0s%s" : "%s/%s", directory, word);
        if (stat(joined, &st) == 0 && S_ISREG(st.st_mode))
            put_file(out, directory, word);
    }
}

char *command_binding(const struct command *c, const struct risk_result *risk, const char *more)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = memory(&text, &n);
    fprintf(out, "%s\n%s\n%d %d %lld\n%s\n", c->line, c->directory, c->pty, c->background,
            c->timeout_s, more);
    if (c->environment)
        fprintf(out, "%s\n", chela_json_text(c->environment, NULL));
    for (size_t i = 0; i < risk->count; i++) {
        const struct risk_command *one = &risk->commands[i];
        if (one->path)
            put_file(out, c->directory, one->path);
        if (one->words && one->count > 0 && one->words[0].text &&
            (!one->name || is_interpreter(one->name)))
            put_operands(out, c->directory, one);
    }
    fclose(out);
    return text;
}

char *command_kind(const struct risk_result *risk)
{
    char *text = NULL;
    size_t n = 0;
    bool offered = risk->understood && risk->level != RISK_HIGH && risk->count > 0;
    FILE *out = memory(&text, &n);
    for (size_t i = 0; i < risk->count; i++) {
        const struct risk_command *c = &risk->commands[i];
        offered = offered && c->path && c->path[0] == '/' && c->name && !is_interpreter(c->name) &&
                  c->redirection_count == 0 && c->assignment_count == 0;
        fprintf(out, "%s%s", i ? "\n" : "", c->path ? c->path : "");
        for (size_t k = 1; k < c->count; k++) {
            /* a newline in a word would read as another command */
            offered = offered && c->words[k].text && !strchr(c->words[k].source, '\n');
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
