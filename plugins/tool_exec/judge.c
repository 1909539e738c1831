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

static int add_file(FILE *out, const char *path, char *error, size_t size)
{
    char piece[4096];
    size_t n, total = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, size, "rules_file %.500s cannot be read: %s", path, strerror(errno));
        return -1;
    }
    while (total <= LARGEST_RULES && (n = fread(piece, 1, sizeof piece, file)) > 0) {
        fwrite(piece, 1, n, out);
        total += n;
    }
    fclose(file);
    if (total > LARGEST_RULES) {
        snprintf(error, size, "rules_file %.500s is larger than 1 MiB", path);
        return -1;
    }
    fputc('\n', out);
    return 0;
}

static struct risk_table *read_lines(const char *lines, size_t n, const char *from, char *error,
                                     size_t size)
{
    char why[300];
    struct risk_table *table = risk_table_new(lines, n, why, sizeof why);
    if (!table)
        snprintf(error, size, "%.500s: %s", from, why);
    return table;
}

struct risk_table *judge_table(struct chela_inst *in, char *error, size_t size)
{
    char *lines = NULL, *path = strdup(chela_option_text(in, "rules_file").s);
    size_t n = 0;
    struct risk_table *table = NULL;
    FILE *out = open_memstream(&lines, &n);
    if (!out || !path)
        abort();
    if (*path && add_file(out, path, error, size) != 0) {
        fclose(out);
        goto end;
    }
    fflush(out);
    if (*path && n > 0) { /* so that a mistake has the file's own line number */
        risk_table_free(read_lines(lines, n, path, error, size));
        if (*error) {
            fclose(out);
            goto end;
        }
    }
    for (int64_t i = 0; i < chela_option_number(in, "rules"); i++) {
        char name[64];
        snprintf(name, sizeof name, "rules.%lld", (long long)i);
        struct chela_str line = chela_option_text(in, name);
        risk_table_free(read_lines(line.s, (size_t)line.n, name, error, size));
        if (*error) {
            fclose(out);
            goto end;
        }
        fprintf(out, "%s\n", line.s);
    }
    fclose(out);
    table = read_lines(lines ? lines : "", n, "rules", error, size);
end:
    free(lines);
    free(path);
    return table;
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
