/*
 * tool_skills: folders with a SKILL.md as tools, slash commands and a list in the system prompt.
 * This file owns the instance: where skills are looked for, and that what is published follows
 * what is on disk, looked at before each turn. What a skill does when it is used: run.c.
 */
#include "skills.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 3, SKILLS_MOST = 300 };

static const struct chela_option options[] = {
    {"workspace", CHELA_BOOL, 0, "true", "skills of the agents' workspaces count (skills/)", NULL},
    {"user", CHELA_STRING, 0, NULL,
     "folder of the user's skills; absent: skills in the state folder", NULL},
    {"extra", CHELA_LIST, 0, NULL, "more folders", NULL},
    {"system", CHELA_STRING, 0, NULL, "folder of the shipped skills; absent: the installed one",
     NULL},
    {"deny", CHELA_LIST, 0, NULL, "names of skills that are not used", NULL},
    {"config", CHELA_LIST, 0, NULL, "names that skills' requires.config finds set", NULL},
    {"command_timeout", CHELA_DURATION, 0, "60s", "the longest that a skill's command may run",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

void *skills_need(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

/* ---- finding ---- */

static void clear(struct skills *m)
{
    for (size_t i = 0; i < m->count; i++)
        skill_free(m->all[i]);
    free(m->all);
    m->all = NULL;
    m->count = 0;
    json_object_put(m->broken);
    m->broken = chela_json_new_array();
}

static bool listed(struct skills *m, const char *option, const char *name)
{
    int64_t count = chela_option_number(m->in, option);
    for (int64_t i = 0; i < count; i++) {
        char path[40];
        snprintf(path, sizeof path, "%s.%d", option, (int)i);
        if (chela_str_is(chela_option_text(m->in, path), name))
            return true;
    }
    return false;
}

static bool has_config(void *arg, const char *name)
{
    return listed(arg, "config", name);
}

/* Whether another skill that comes before takes this one's name. */
static bool is_shadowed(const struct skills *m, const struct skill *s)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->all[i]->name, s->name) == 0 && !m->all[i]->shadowed &&
            (!m->all[i]->root || !s->root || strcmp(m->all[i]->root, s->root) == 0))
            return true;
    return false;
}

static void add(struct skills *m, const char *folder, enum skill_place place, const char *root)
{
    char *error = NULL;
    struct skill_world world = {has_config, m};
    struct skill *s = skill_read(folder, &error);
    if (!s) {
        json_object *o = chela_json_push_object(m->broken);
        chela_json_put_text(o, "folder", folder);
        chela_json_put_text(o, "why", error);
        free(error);
        return;
    }
    s->place = place;
    s->root = root ? skills_need(strdup(root)) : NULL;
    skill_check(s, &world);
    if (!s->missing && listed(m, "deny", s->name))
        s->missing = skills_need(strdup("the configuration denies it"));
    s->shadowed = is_shadowed(m, s);
    m->all = skills_need(realloc(m->all, (m->count + 1) * sizeof(struct skill *)));
    m->all[m->count++] = s;
}

static void stamp(uint64_t *sum, const char *path, const struct stat *st)
{
    for (const char *p = path; *p; p++)
        *sum = (*sum ^ (unsigned char)*p) * 1099511628211u;
    *sum = (*sum ^ (uint64_t)st->st_mtim.tv_sec) * 1099511628211u;
    *sum = (*sum ^ (uint64_t)st->st_mtim.tv_nsec) * 1099511628211u;
    *sum = (*sum ^ (uint64_t)st->st_size) * 1099511628211u;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* Visits a folder: with `sum` only looks at times, else reads. */
static void visit(struct skills *m, const char *folder, enum skill_place place, const char *root,
                  unsigned depth, uint64_t *sum)
{
    struct stat st;
    char *path = NULL;
    struct dirent **entries = NULL;
    if (asprintf(&path, "%s/SKILL.md", folder) < 0)
        abort();
    bool is_skill = stat(path, &st) == 0;
    if (is_skill && sum)
        stamp(sum, path, &st);
    else if (is_skill && m->count < SKILLS_MOST)
        add(m, folder, place, root);
    free(path);
    if (is_skill || depth == 0)
        return;
    int n = scandir(folder, &entries, no_dots, by_name);
    for (int i = 0; i < n; i++) {
        if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
            abort();
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            visit(m, path, place, root, depth - 1, sum);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

static void visit_all(struct skills *m, uint64_t *sum)
{
    static const char *const inside[] = {"skills", ".agents/skills"};
    struct chela_str user = chela_option_text(m->in, "user"),
                     system = chela_option_text(m->in, "system");
    char *path = NULL;
    bool workspaces = chela_option_number(m->in, "workspace") != 0;
    for (size_t i = 0; workspaces && i < chela_json_length(m->workspaces); i++)
        for (size_t k = 0; k < 2; k++) {
            const char *root = chela_json_as_string(chela_json_at(m->workspaces, i), NULL);
            if (asprintf(&path, "%s/%s", root, inside[k]) < 0)
                abort();
            visit(m, path, PLACE_WORKSPACE, root, DEPTH_MOST, sum);
            free(path);
        }
    if (asprintf(&path, "%s%s", user.n ? user.s : chela_option_text(m->in, "$state").s,
                 user.n ? "" : "/skills") < 0)
        abort();
    visit(m, path, PLACE_USER, NULL, DEPTH_MOST, sum);
    free(path);
    int64_t count = chela_option_number(m->in, "extra");
    for (int64_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "extra.%d", (int)i);
        visit(m, chela_option_text(m->in, name).s, PLACE_EXTRA, NULL, DEPTH_MOST, sum);
    }
    visit(m, system.n ? system.s : CHELA_SKILLS_DIR, PLACE_SYSTEM, NULL, DEPTH_MOST, sum);
}

/* Reads anew what has changed on disk since the last time. */
bool skills_refresh(struct skills *m)
{
    uint64_t sum = 14695981039346656037u;
    visit_all(m, &sum);
    if (sum == m->stamp)
        return false;
    m->stamp = sum;
    clear(m);
    visit_all(m, NULL);
    skills_publish(m);
    return true;
}

struct skill *skills_find(struct skills *m, const char *name, const char *workspace)
{
    struct skill *best = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct skill *s = m->all[i];
        if (strcmp(s->name, name) == 0 && !s->missing && !best &&
            (!s->root || !workspace || strcmp(s->root, workspace) == 0))
            best = s;
    }
    return best;
}

bool skills_usable(const struct skill *s, const char *workspace)
{
    return !s->missing && !s->shadowed &&
           (!s->root || !workspace || strcmp(s->root, workspace) == 0);
}

/* ---- the section of the prompt ---- */

static void learn_workspace(struct skills *m, struct chela_str workspace)
{
    for (size_t i = 0; i < chela_json_length(m->workspaces); i++)
        if (chela_str_is(workspace, chela_json_as_string(chela_json_at(m->workspaces, i), NULL)))
            return;
    if (workspace.n)
        chela_json_push(m->workspaces, chela_json_new_string(workspace.s, (size_t)workspace.n));
}

static void prompt(struct chela_inst *in, const struct chela_prompt *p)
{
    struct skills *m = in->self;
    char *text = NULL, *workspace = skills_need(strndup(p->workspace.s, (size_t)p->workspace.n));
    size_t n, count = 0;
    learn_workspace(m, p->workspace);
    skills_refresh(m);
    FILE *out = skills_need(open_memstream(&text, &n));
    for (size_t i = 0; i < m->count; i++) {
        const struct skill *s = m->all[i];
        if (!s->for_models || !skills_usable(s, workspace))
            continue;
        if (!count++)
            fputs("<available_skills>\n", out);
        fprintf(out, "<skill><name>%s</name><description>%.400s</description></skill>\n", s->name,
                s->description);
    }
    if (count)
        fputs("</available_skills>\nWhen one of these skills fits what is asked, read it first by "
              "the "
              "tool read_skill, then do as it says.",
              out);
    fclose(out);
    chela_end(in, p->h.call, CHELA_OK, text);
    free(text);
    free(workspace);
}

/* ---- the instance ---- */

static int32_t open_it(struct chela_inst *in)
{
    struct skills *m = skills_need(calloc(1, sizeof *m));
    m->in = in;
    m->workspaces = chela_json_new_array();
    m->broken = chela_json_new_array();
    in->self = m;
    return CHELA_OK;
}

static void close_it(struct chela_inst *in)
{
    struct skills *m = in->self;
    clear(m);
    json_object_put(m->broken);
    json_object_put(m->workspaces);
    free(m);
}

static void agents_came(struct skills *m, const struct chela_done *d)
{
    json_object *o = NULL;
    chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    json_object *list = chela_json_array(o, "agents");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *workspace = chela_json_string(chela_json_at(list, i), "workspace", NULL);
        if (workspace)
            learn_workspace(m, chela_s(workspace));
    }
    json_object_put(o);
    skills_refresh(m);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    static const struct chela_pair section[] = {
        {CHELA_LIT("skills"), CHELA_LIT("{\"order\":20,\"volatile\":false}")}};
    static const struct chela_pair methods[] = {
        {CHELA_LIT("skills.status"), CHELA_LIT("{\"scope\":\"operator.read\"}")}};
    struct skills *m = in->self;
    chela_publish_list(in, CHELA_PROMPTS, 1, section, 1);
    chela_publish_list(in, CHELA_METHODS, 1, methods, 1);
    m->stamp = 1;
    skills_refresh(m);
    chela_end(in, a->h.call, CHELA_OK, "");
    CHELA_ARGS(chela_invoke, q, in->host->local->new_call(in));
    q.name = chela_s("agents.list");
    in->host->chat->invoke(in, &q);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    if (d->h.tag)
        run_done(in, d);
    else if (d->error == CHELA_OK)
        agents_came(in->self, d);
}

static const struct chela_tool tool = {
    .size = (uint32_t)sizeof(struct chela_tool), .prepare = run_prepare, .run = run_tool};

static const struct chela_service service = {
    .size = (uint32_t)sizeof(struct chela_service),
    .method = run_method,
    .command = run_command,
    .prompt = prompt,
};

static const struct chela_iface skills = {
    CHELA_IFACE("skills", "skills: folders with a SKILL.md", CHELA_CAP_DEFAULT, options),
    .open = open_it,
    .close = close_it,
    .start = start,
    .output = run_output,
    .done = done,
    .tool = &tool,
    .service = &service,
};

CHELA_PLUGIN(tool_skills, "0.9.0", "skills: instructions and tools from SKILL.md folders", "MIT",
             "", &skills);
