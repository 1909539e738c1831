/*
 * tool_files: the tools read, list, write, edit and delete on files of the workspace. What runs,
 * runs on a pool thread (files.c); what changes something is asked about first.
 */
#include <chela/chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "files.h"
#include "support/json.h"

static const struct chela_option options[] = {
    {"read_limit", CHELA_SIZE, CHELA_RELOAD, "50k", "most bytes that one read gives the model",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

#define PATH_SCHEMA(about)                                                                         \
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" about "\"}"

static const struct {
    const char *name, *manifest;
    enum files_kind kind;
    bool writes;
} tools[] = {
    {"read",
     "{\"name\":\"read\",\"group\":\"fs\",\"description\":\"Reads a text file of the workspace. "
     "Long files come in "
     "pieces: offset is the first line (from 1), limit the number of "
     "lines.\",\"parameters\":{\"type\":\"object\","
     "\"properties\":{" PATH_SCHEMA(
         "file, relative to the workspace") ",\"offset\":{\"type\":\"integer\",\"minimum\":1},"
                                            "\"limit\":{\"type\":\"integer\",\"minimum\":1}},"
                                            "\"required\":[\"path\"],\"additionalProperties\":"
                                            "false},"
                                            "\"security\":{\"requiresApproval\":false,"
                                            "\"riskLevel\":\"low\"},\"reads_only\":true,"
                                            "\"repeatable\":true}",
     FILES_READ, false},
    {"list",
     "{\"name\":\"list\",\"group\":\"fs\",\"description\":\"Lists a folder of the workspace, one "
     "entry a line, folders "
     "with a slash behind.\",\"parameters\":{\"type\":\"object\",\"properties\":{" PATH_SCHEMA(
         "folder, relative to the workspace; . is the workspace itself") "},"
                                                                         "\"additionalProperties\":"
                                                                         "false},"
                                                                         "\"security\":{"
                                                                         "\"requiresApproval\":"
                                                                         "false,\"riskLevel\":"
                                                                         "\"low\"},\"reads_only\":"
                                                                         "true,\"repeatable\":"
                                                                         "true}",
     FILES_LIST, false},
    {"write",
     "{\"name\":\"write\",\"group\":\"fs\",\"description\":\"Writes a whole text file of the "
     "workspace, replacing what was "
     "in it; missing folders are "
     "made.\",\"parameters\":{\"type\":\"object\",\"properties\":{" PATH_SCHEMA(
         "file, relative to the workspace") ",\"content\":{\"type\":\"string\"}},\"required\":["
                                            "\"path\",\"content\"],"
                                            "\"additionalProperties\":false},\"security\":{"
                                            "\"requiresApproval\":true,\"riskLevel\":\"medium\"}}",
     FILES_WRITE, true},
    {"edit",
     "{\"name\":\"edit\",\"group\":\"fs\",\"description\":\"Changes parts of a text file of the "
     "workspace. Each oldText must "
     "occur in the file exactly once; the edits are applied in order, all or "
     "none.\",\"parameters\":{\"type\":"
     "\"object\",\"properties\":{" PATH_SCHEMA(
         "file, relative to the workspace") ",\"edits\":{\"type\":\"array\","
                                            "\"minItems\":1,\"items\":{\"type\":\"object\","
                                            "\"properties\":{\"oldText\":{\"type\":\"string\","
                                            "\"minLength\":1},"
                                            "\"newText\":{\"type\":\"string\"}},\"required\":["
                                            "\"oldText\",\"newText\"],\"additionalProperties\":"
                                            "false}}},"
                                            "\"required\":[\"path\",\"edits\"],"
                                            "\"additionalProperties\":false},\"security\":{"
                                            "\"requiresApproval\":true,"
                                            "\"riskLevel\":\"medium\"}}",
     FILES_EDIT, true},
    {"delete",
     "{\"name\":\"delete\",\"group\":\"fs\",\"description\":\"Deletes a file or an empty folder of "
     "the workspace.\","
     "\"parameters\":{\"type\":\"object\",\"properties\":{" PATH_SCHEMA(
         "file or folder, relative to the workspace") "},"
                                                      "\"required\":[\"path\"],"
                                                      "\"additionalProperties\":false},"
                                                      "\"security\":{\"requiresApproval\":true,"
                                                      "\"riskLevel\":"
                                                      "\"medium\"}}",
     FILES_DELETE, true},
};

enum { TOOLS = sizeof tools / sizeof tools[0] };

static int find(struct chela_str name)
{
    for (int i = 0; i < TOOLS; i++)
        if (chela_str_is(name, tools[i].name))
            return i;
    return -1;
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct chela_pair list[TOOLS];
    for (int i = 0; i < TOOLS; i++)
        list[i] = (struct chela_pair){chela_s(tools[i].name), chela_s(tools[i].manifest)};
    chela_publish_list(in, CHELA_TOOLS, 1, list, TOOLS);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- prepare: what the person who is asked gets to see ---- */

static void describe(FILE *out, const char *name, const char *path, json_object *arguments)
{
    size_t n = 0;
    if (strcmp(name, "write") == 0) {
        chela_json_string(arguments, "content", &n);
        fprintf(out, "write %s (%zu bytes)", path, n);
    } else if (strcmp(name, "edit") == 0) {
        size_t edits = chela_json_length(chela_json_array(arguments, "edits"));
        fprintf(out, "edit %s (%zu %s)", path, edits, edits == 1 ? "change" : "changes");
    } else {
        fprintf(out, "%s %s", name, path);
    }
}

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    json_object *arguments = NULL, *extra;
    int tool = find(r->name);
    chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &arguments, NULL);
    const char *path = chela_json_string(arguments, "path", NULL);
    if (tool < 0 || (path && !beneath_relative(r->workspace.s, path))) {
        char why[1200];
        snprintf(why, sizeof why, "%.500s is outside of the workspace %.500s", path ? path : "",
                 r->workspace.s);
        chela_verdict(in, r->h.call, CHELA_NO, why);
        json_object_put(arguments);
        return;
    }
    char *summary = NULL, kind[600];
    size_t n = 0;
    FILE *out = open_memstream(&summary, &n);
    if (!out)
        abort();
    describe(out, tools[tool].name, path ? path : ".", arguments);
    fclose(out);
    snprintf(kind, sizeof kind, "%s in %.500s", tools[tool].name, r->workspace.s);
    extra = chela_json_new_object();
    chela_json_put_string(extra, "summary", summary, n);
    chela_json_put_text(extra, "kind", kind);
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->decide(in, &d);
    json_object_put(extra);
    json_object_put(arguments);
    free(summary);
}

/* ---- run ---- */

struct running {
    uint64_t call;
    enum files_kind kind;
    char *workspace;
    size_t limit;
    json_object *arguments;
    struct files_result result;
};

static void work(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    (void)in;
    r->result = files_run(r->kind, r->workspace, r->arguments, r->limit);
}

static void worked(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    CHELA_ARGS(chela_done, d, r->call);
    d.h.flags = r->result.failed ? CHELA_IS_ERROR : 0;
    d.text = chela_sn(r->result.text, r->result.length);
    in->host->answer->done(in, &d);
    json_object_put(r->arguments);
    free(r->result.text);
    free(r->workspace);
    free(r);
}

static void run(struct chela_inst *in, const struct chela_tool_run *a)
{
    int tool = find(a->name);
    struct running *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->call = a->h.call;
    r->workspace = strdup(a->workspace.s ? a->workspace.s : "");
    r->limit = (size_t)chela_option_number(in, "read_limit");
    if (tool < 0 ||
        chela_json_parse(a->arguments.s, (size_t)a->arguments.n, NULL, &r->arguments, NULL) < 0) {
        chela_end(in, a->h.call, CHELA_E_ARGS,
                  "the arguments are not JSON, or there is no such tool");
        free(r->workspace);
        free(r);
        return;
    }
    r->kind = tools[tool].kind;
    in->host->local->work(in, work, worked, r);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = prepare, .run = run};

static const struct chela_iface files = {
    CHELA_IFACE("files", "files of the workspace", CHELA_CAP_DEFAULT, options),
    .start = start,
    .tool = &tool,
};

CHELA_PLUGIN(tool_files, "0.9.0", "reads and writes files of the workspace", "MIT", "", &files);
