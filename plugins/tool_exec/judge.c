/*
 * What a call of exec is (see exec.h): arguments, risk, and what an approval of it binds; the risk
 * table with the admin's lines.
 */
#include "exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_RULES = 1 << 20 };

void *exec_allocate(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

/* ---- the table ---- */

static int add_lines(struct risk_table *table, const char *lines, size_t n, const char *from,
                     char *error, size_t size)
{
    char why[300];
    if (risk_table_add(table, lines, n, why, sizeof why) == 0)
        return 0;
    snprintf(error, size, "%.500s: %s", from, why);
    return -1;
}

static int add_file(struct risk_table *table, const char *path, char *error, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, size, "rules_file %.500s cannot be read: %s", path, strerror(errno));
        return -1;
    }
    char *lines = exec_allocate(LARGEST_RULES + 1);
    size_t n = fread(lines, 1, LARGEST_RULES + 1, file);
    fclose(file);
    int r = -1;
    if (n > LARGEST_RULES)
        snprintf(error, size, "rules_file %.500s is larger than 1 MiB", path);
    else
        r = add_lines(table, lines, n, path, error, size);
    free(lines);
    return r;
}

struct risk_table *judge_table(struct chela_inst *in, char *error, size_t size)
{
    struct risk_table *table = risk_table_new(NULL, 0, NULL, 0);
    const char *path = chela_option_text(in, "rules_file").s;
    int r = *path ? add_file(table, path, error, size) : 0;
    for (int64_t i = 0; i < chela_option_number(in, "rules") && r == 0; i++) {
        char name[64];
        snprintf(name, sizeof name, "rules.%lld", (long long)i);
        struct chela_str line = chela_option_text(in, name);
        r = add_lines(table, line.s, (size_t)line.n, name, error, size);
    }
    if (r == 0)
        return table;
    risk_table_free(table);
    return NULL;
}

/* ---- a call ---- */

void judged_free(struct judged *j)
{
    if (!j)
        return;
    free(j->binding);
    risk_result_free(&j->risk);
    command_paths_free(j->paths);
    command_free(&j->command);
    json_object_put(j->arguments);
    free(j);
}

/* The configured variables, since a command's meaning hangs on them too. */
static char *configured(struct chela_inst *in)
{
    char *text = NULL, name[64];
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    for (int64_t i = 0; i < chela_option_number(in, "environment"); i++) {
        snprintf(name, sizeof name, "environment.%lld", (long long)i);
        fprintf(out, "%s\n", chela_option_text(in, name).s);
    }
    fclose(out);
    return text;
}

struct judged *judge(struct chela_inst *in, const struct chela_tool_run *r, char *error,
                     size_t size)
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
    struct judged *j = exec_allocate(sizeof *j);
    j->arguments = arguments;
    j->command = command;
    j->paths = command_paths_new();
    struct risk_options o = {
        .table = exec_of(in)->table, .resolve = command_resolve, .context = j->paths};
    risk_classify(command.line, strlen(command.line), &o, &j->risk);
    char *more = configured(in);
    j->binding = command_binding(&j->command, &j->risk, more);
    free(more);
    return j;
}
