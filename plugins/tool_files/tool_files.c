/*
 * tool_files: the tools read, list, search, write, edit, apply_patch, send_file and delete on files
 * of the workspace, and the command /undo. What runs, runs on a pool thread (files.c); what changes
 * something is asked about first, and kept as it was (undo.c).
 */
#include <chela/chela.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "files.h"
#include "patch.h"
#include "support/json.h"
#include "undo.h"

static const struct chela_option options[] = {
    {"read_limit", CHELA_SIZE, CHELA_RELOAD, "50k",
     "most bytes that one read or search gives the model", NULL},
    {"undo", CHELA_BOOL, CHELA_RELOAD, "true",
     "keep what a turn changes as it was before, for /undo", NULL},
    {"mounts", CHELA_BOOL, CHELA_RELOAD, "false",
     "other file systems that are mounted inside of the workspace belong to it", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* ---- manifests ---- */

#define TEXT(name, about)                                                                          \
    "\"" name "\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" about "\"}"
#define NUMBER(name) "\"" name "\":{\"type\":\"integer\",\"minimum\":1}"
#define MANIFEST(name, about, properties, required)                                                \
    "{\"name\":\"" name "\",\"group\":\"fs\",\"description\":\"" about                             \
    "\",\"parameters\":{\"type\":\"object\",\"properties\":{" properties                           \
    "},\"required\":[" required "],\"additionalProperties\":false},"
#define READS                                                                                      \
    "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"low\"},\"reads_only\":true,"         \
    "\"repeatable\":true}"
#define WRITES    "\"security\":{\"requiresApproval\":true,\"riskLevel\":\"medium\"}}"
#define FILE_PATH TEXT("path", "file, relative to the workspace")

static const struct {
    const char *name;
    enum files_kind kind;
    const char *manifest;
} tools[] = {
    {"read", FILES_READ,
     MANIFEST(
         "read",
         "Reads a text file or an image of the workspace. Long files come in pieces: offset is "
         "the first line (from 1), limit the number of lines. The path blob:HASH reads the "
         "whole of a result that was shortened.",
         FILE_PATH "," NUMBER("offset") "," NUMBER("limit"), "\"path\"") READS},
    {"list", FILES_LIST,
     MANIFEST(
         "list", "Lists a folder of the workspace, one entry a line, folders with a slash behind.",
         TEXT("path", "folder, relative to the workspace; . is the workspace itself"), "") READS},
    {"search", FILES_SEARCH,
     MANIFEST(
         "search",
         "Finds files of the workspace by a glob (** crosses folders), or the lines in them "
         "that match a regular expression, as path:line:text.",
         TEXT("glob", "such as *.c or src/**/test_*") "," TEXT(
             "pattern",
             "regular expression") "," TEXT("path",
                                            "folder to search") ",\"ignoreCase\":{\"type\":"
                                                                "\"boolean\"}," NUMBER("limit"),
         "") READS},
    {"write", FILES_WRITE,
     MANIFEST(
         "write",
         "Writes a whole text file of the workspace, replacing what was in it; missing folders "
         "are made.",
         FILE_PATH ",\"content\":{\"type\":\"string\"}", "\"path\",\"content\"") WRITES},
    {"edit", FILES_EDIT,
     MANIFEST("edit",
              "Changes parts of a text file of the workspace. Each oldText must occur in the file "
              "exactly once; the edits are applied in order, all or none.",
              FILE_PATH
              ",\"edits\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\","
              "\"properties\":{\"oldText\":{\"type\":\"string\",\"minLength\":1},\"newText\":{"
              "\"type\":\"string\"}},\"required\":[\"oldText\",\"newText\"],"
              "\"additionalProperties\":false}}",
              "\"path\",\"edits\"") WRITES},
    {"apply_patch", FILES_PATCH,
     MANIFEST(
         "apply_patch",
         "Changes several files of the workspace, all or none. The patch: *** Begin Patch; then "
         "*** Add File: P with + lines, *** Delete File: P, or *** Update File: P with hunks "
         "(@@, then lines with a blank, - or + in front); *** End Patch.",
         TEXT("input", "the patch"), "\"input\"") WRITES},
    {"send_file", FILES_SEND,
     MANIFEST("send_file",
              "Sends a file of the workspace to the person, beside your next answer. Say in the "
              "answer what it is.",
              FILE_PATH, "\"path\"") READS},
    {"delete", FILES_DELETE,
     MANIFEST("delete", "Deletes a file or an empty folder of the workspace.",
              TEXT("path", "file or folder, relative to the workspace"), "\"path\"") WRITES},
};

enum { TOOLS = sizeof tools / sizeof tools[0] };

static int find(struct chela_str name)
{
    for (int i = 0; i < TOOLS; i++)
        if (chela_str_is(name, tools[i].name))
            return i;
    return -1;
}

static bool writes(int tool)
{
    return tools[tool].kind != FILES_READ && tools[tool].kind != FILES_LIST &&
           tools[tool].kind != FILES_SEARCH && tools[tool].kind != FILES_SEND;
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair commands[] = {
        {CHELA_LIT("undo"),
         CHELA_LIT("{\"description\":\"take back what file tools changed in the last turn\","
                   "\"args\":\"[force]\",\"rights\":\"owner\"}")}};
    struct chela_pair list[TOOLS];
    for (int i = 0; i < TOOLS; i++)
        list[i] = (struct chela_pair){chela_s(tools[i].name), chela_s(tools[i].manifest)};
    chela_publish_list(in, CHELA_TOOLS, 1, list, TOOLS);
    if (chela_option_number(in, "undo"))
        chela_publish_list(in, CHELA_COMMANDS, 1, commands, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- prepare: what the person who is asked gets to see ---- */

/* Files by which other programs are told what to run, and keys. */
static bool is_sensitive(const char *path)
{
    static const char *const names[] = {
        ".git",
        ".ssh",
        ".gnupg",
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zprofile",
        ".zshenv",
        ".login",
        ".chela",
        ".pam_environment",
        "authorized_keys",
        ".envrc",
        ".npmrc",
        ".netrc",
        ".vimrc",
        ".exrc",
        ".gitconfig",
        ".config",
    };
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strlen(names[i]) == n && memcmp(p, names[i], n) == 0)
                return true;
        p += n;
        p += strspn(p, "/");
    }
    return false;
}

struct preview {
    const char *workspace;
    FILE *out;
    char *why; /* it can't be done */
    bool sensitive;
};

static void look_at(struct preview *v, const char *path)
{
    if (!v->why && !beneath_relative(v->workspace, path) &&
        asprintf(&v->why, "%.500s is outside of the workspace %.500s", path, v->workspace) < 0)
        abort();
    v->sensitive = v->sensitive || is_sensitive(path);
}

static void describe_patch(struct preview *v, json_object *arguments)
{
    static const char *const verbs[] = {"add", "delete", "update"};
    struct patch p;
    char error[300];
    size_t n = 0;
    const char *text = chela_json_string(arguments, "input", &n);
    if (patch_read(text ? text : "", n, &p, error, sizeof error) != 0)
        v->why = strdup(error);
    fprintf(v->out, "apply_patch:");
    for (size_t i = 0; i < p.count && !v->why; i++) {
        const struct patch_file *f = &p.files[i];
        look_at(v, f->path);
        if (f->to)
            look_at(v, f->to);
        fprintf(v->out, "%s %s %s%s%s", i ? "," : "", verbs[f->kind], f->path, f->to ? " -> " : "",
                f->to ? f->to : "");
    }
    patch_free(&p);
}

static void describe(struct preview *v, int tool, json_object *arguments)
{
    const char *path = chela_json_string(arguments, "path", NULL);
    size_t n = 0;
    if (tools[tool].kind == FILES_PATCH) {
        describe_patch(v, arguments);
        return;
    }
    if (!path || strncmp(path, "blob:", 5) != 0)
        look_at(v, path ? path : ".");
    path = path ? path : ".";
    if (tools[tool].kind == FILES_WRITE) {
        chela_json_string(arguments, "content", &n);
        fprintf(v->out, "write %s (%zu bytes)", path, n);
    } else if (tools[tool].kind == FILES_EDIT) {
        size_t edits = chela_json_length(chela_json_array(arguments, "edits"));
        fprintf(v->out, "edit %s (%zu %s)", path, edits, edits == 1 ? "change" : "changes");
    } else {
        fprintf(v->out, "%s %s", tools[tool].name, path);
    }
}

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    json_object *arguments = NULL;
    int tool = find(r->name);
    char *summary = NULL, kind[600];
    size_t n = 0;
    struct preview v = {.workspace = r->workspace.s, .out = open_memstream(&summary, &n)};
    if (!v.out)
        abort();
    chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &arguments, NULL);
    if (tool >= 0)
        describe(&v, tool, arguments);
    fclose(v.out);
    if (tool < 0 || v.why) {
        chela_verdict(in, r->h.call, CHELA_NO, v.why ? v.why : "there is no such tool");
    } else {
        json_object *extra = chela_json_new_object();
        bool high = writes(tool) && v.sensitive;
        snprintf(kind, sizeof kind, "%s in %.500s", tools[tool].name, r->workspace.s);
        chela_json_put_string(extra, "summary", summary, n);
        chela_json_put_text(extra, "kind", high ? NULL : kind);
        if (high) {
            chela_json_put_text(extra, "risk", "high");
            chela_json_push(chela_json_put_array(extra, "warnings"),
                            json_object_new_string("other programs obey this file"));
        }
        CHELA_ARGS(chela_decide, d, r->h.call);
        d.verdict = CHELA_YES;
        d.extra = chela_s(chela_json_text(extra, NULL));
        in->host->answer->decide(in, &d);
        json_object_put(extra);
    }
    json_object_put(arguments);
    free(v.why);
    free(summary);
}

/* ---- run ---- */

struct running {
    uint64_t call, blob; /* blob: a call of the store that is under way */
    enum files_kind kind;
    char *workspace, *state, *session, *turn;
    uint64_t now_ms;
    size_t limit;
    bool undo, force, mounts;
    json_object *arguments;
    struct files_result result;
};

static void running_free(struct running *r)
{
    json_object_put(r->arguments);
    free(r->result.text);
    free(r->result.image);
    free(r->workspace);
    free(r->state);
    free(r->session);
    free(r->turn);
    free(r);
}

static char *copy(struct chela_str s)
{
    char *text = strndup(s.s ? s.s : "", (size_t)s.n);
    if (!text)
        abort();
    return text;
}

static void work(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    char *checkpoint =
        r->undo ? undo_folder(r->state, r->session, r->turn, (unsigned long long)r->now_ms) : NULL;
    struct files_request q = {r->kind, r->workspace, r->arguments, r->mounts, r->limit, checkpoint};
    (void)in;
    r->result = files_run(&q);
    free(checkpoint);
}

static void answer(struct chela_inst *in, struct running *r, const char *hash)
{
    json_object *extra = NULL;
    CHELA_ARGS(chela_done, d, r->call);
    d.h.flags = r->result.failed ? CHELA_IS_ERROR : 0;
    d.text = chela_sn(r->result.text, r->result.length);
    if (hash) {
        extra = chela_json_new_object();
        bool sends = r->kind == FILES_SEND;
        const char *path = chela_json_string(r->arguments, "path", NULL),
                   *slash = strrchr(path, '/');
        json_object *file =
            chela_json_push_object(chela_json_put_array(extra, sends ? "files" : "images"));
        if (sends)
            chela_json_put_text(file, "name", slash ? slash + 1 : path);
        chela_json_put_text(file, "hash", hash);
        chela_json_put_text(file, "mime", r->result.mime);
        chela_json_put_int(file, "size", (int64_t)r->result.image_length);
        d.extra = chela_s(chela_json_text(extra, NULL));
    }
    in->host->answer->done(in, &d);
    json_object_put(extra);
    running_free(r);
}

static void worked(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    if (!r->result.image) {
        answer(in, r, NULL);
        return;
    }
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)r;
    a.parent = r->call;
    a.value = chela_sn(r->result.image, r->result.image_length);
    in->host->kv->blob_put(in, &a);
}

static void read_blob(struct chela_inst *in, struct running *r, const char *hash)
{
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)r;
    a.parent = r->call;
    a.key = chela_s(hash);
    in->host->kv->blob_get(in, &a);
}

/* Of the store: an image is there, or a blob has come. */
static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct running *r = (struct running *)(uintptr_t)d->h.tag;
    if (d->error != CHELA_OK) {
        chela_end(in, r->call, d->error, d->text.n ? d->text.s : "the blob cannot be read");
        running_free(r);
    } else if (r->result.image) {
        char *hash = copy(d->text);
        answer(in, r, hash);
        free(hash);
    } else {
        r->result = files_show(r->arguments, chela_json_string(r->arguments, "path", NULL),
                               d->text.s, (size_t)d->text.n, r->limit);
        answer(in, r, NULL);
    }
}

static void run(struct chela_inst *in, const struct chela_tool_run *a)
{
    int tool = find(a->name);
    json_object *arguments = NULL;
    if (tool < 0 ||
        chela_json_parse(a->arguments.s, (size_t)a->arguments.n, NULL, &arguments, NULL) < 0) {
        chela_end(in, a->h.call, CHELA_E_ARGS,
                  "the arguments are not JSON, or there is no such tool");
        return;
    }
    struct running *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->call = a->h.call;
    r->workspace = copy(a->workspace);
    r->state = copy(chela_option_text(in, "$state"));
    r->session = copy(a->session);
    r->turn = copy(a->run.n ? a->run : a->call_id);
    r->now_ms = in->host->local->now_ms(in);
    r->mounts = chela_option_number(in, "mounts") != 0;
    r->limit = (size_t)chela_option_number(in, "read_limit");
    r->arguments = arguments;
    r->kind = tools[tool].kind;
    r->undo = writes(tool) && *r->state && chela_option_number(in, "undo");
    const char *path = chela_json_string(arguments, "path", NULL);
    if (r->kind == FILES_READ && path && strncmp(path, "blob:", 5) == 0)
        read_blob(in, r, path + 5);
    else
        in->host->local->work(in, work, worked, r);
}

/* ---- /undo ---- */

static void undo_work(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    (void)in;
    r->result.text = undo_run(r->state, r->session, r->force);
}

static void undo_worked(struct chela_inst *in, void *arg)
{
    struct running *r = arg;
    chela_end(in, r->call, CHELA_OK, r->result.text);
    running_free(r);
}

static void command(struct chela_inst *in, const struct chela_command *c)
{
    struct running *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->call = c->h.call;
    r->state = copy(chela_option_text(in, "$state"));
    r->session = copy(c->session);
    r->force = chela_str_is(c->arguments, "force");
    in->host->local->work(in, undo_work, undo_worked, r);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = prepare, .run = run};

static const struct chela_service service = {.size = (uint32_t)sizeof(struct chela_service),
                                             .command = command};

static const struct chela_iface files = {
    CHELA_IFACE("files", "files of the workspace", CHELA_CAP_DEFAULT, options),
    .start = start,
    .done = done,
    .tool = &tool,
    .service = &service,
};

CHELA_PLUGIN(tool_files, "0.9.0", "reads and writes files of the workspace", "MIT", "", &files);
