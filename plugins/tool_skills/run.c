/*
 * A skill in use: its body read, a command of its frontmatter run in its folder (arguments in the
 * environment as ARG_NAME and as JSON on standard input, never in the command line), a slash
 * command given to the assistant, and `chela skills`.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skills.h"

enum { OUTPUT_MOST = 256 * 1024, VARIABLES = 64 };

/* A call under way: of a command, or of a message that is being sent. */
struct running {
    uint64_t call;
    char *text;
    size_t n;
    bool is_command; /* of a person: a message was sent */
};

/* ---- which skill, which tool ---- */

static struct skill *find_tool(struct skills *m, const char *name, const char *workspace,
                               json_object **ret_tool)
{
    *ret_tool = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct skill *s = m->all[i];
        json_object *list = skill_tools(s);
        if (!skills_usable(s, workspace))
            continue;
        for (size_t k = 0; k <= chela_json_length(list); k++) {
            json_object *tool = list ? chela_json_at(list, k) : NULL;
            if (list && !tool)
                break;
            char *own = skills_tool_name(s, tool);
            bool same = strcmp(own, name) == 0;
            free(own);
            *ret_tool = tool;
            if (same)
                return s;
        }
    }
    *ret_tool = NULL;
    return NULL;
}

/* The body, with the skill's folder filled in. */
static char *body_of(const struct skill *s)
{
    static const char mark[] = "{baseDir}";
    char *text = NULL;
    size_t n;
    FILE *out = skills_need(open_memstream(&text, &n));
    fprintf(out, "Skill %s, in the folder %s\n\n", s->name, s->folder);
    for (const char *p = s->body; *p;) {
        const char *at = strstr(p, mark);
        if (!at) {
            fputs(p, out);
            break;
        }
        fprintf(out, "%.*s%s", (int)(at - p), p, s->folder);
        p = at + sizeof mark - 1;
    }
    fclose(out);
    return text;
}

void run_prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    json_object *tool = NULL, *extra = chela_json_new_object();
    char *name = skills_need(strndup(r->name.s, (size_t)r->name.n)), *summary = NULL;
    struct skill *s = find_tool(in->self, name, r->workspace.s, &tool);
    const char *command = chela_json_string(tool, "command", NULL);
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    if (s && command) {
        if (asprintf(&summary, "%.600s\nin %s, with %.*s", command, s->folder,
                     (int)(r->arguments.n > 500 ? 500 : r->arguments.n), r->arguments.s) < 0)
            abort();
        chela_json_put_text(extra, "summary", summary);
        chela_json_put_text(extra, "kind", s->folder);
        chela_json_put_text(extra, "binding", command);
        d.extra = chela_s(chela_json_text(extra, NULL));
    }
    in->host->answer->decide(in, &d);
    json_object_put(extra);
    free(summary);
    free(name);
}

/* ---- commands of the frontmatter ---- */

static void end(struct chela_inst *in, struct running *r, uint32_t error, bool failed,
                const char *text)
{
    CHELA_ARGS(chela_done, d, r->call);
    d.error = error;
    d.h.flags = failed ? CHELA_IS_ERROR : 0;
    d.text = chela_s(text);
    in->host->answer->done(in, &d);
    free(r->text);
    free(r);
}

static size_t put_variables(json_object *arguments, struct chela_pair *v, char **names)
{
    size_t n = 0;
    json_object_object_foreach(arguments, name, value)
    {
        if (n == VARIABLES)
            break;
        if (asprintf(&names[n], "ARG_%s", name) < 0)
            abort();
        for (char *p = names[n]; *p; p++)
            *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
        const char *text = chela_json_as_string(value, NULL);
        v[n] = (struct chela_pair){chela_s(names[n]),
                                   chela_s(text ? text : chela_json_text(value, NULL))};
        n++;
    }
    return n;
}

static void spawn(struct chela_inst *in, const struct skill *s, const char *command,
                  json_object *arguments, struct running *r)
{
    struct chela_pair v[VARIABLES], words[3] = {{{"", 0}, CHELA_LIT("/bin/sh")},
                                                {{"", 0}, CHELA_LIT("-c")},
                                                {{"", 0}, chela_s(command)}};
    char *names[VARIABLES] = {NULL};
    CHELA_ARGS(chela_spawn, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)r;
    a.h.flags = CHELA_STDIN;
    a.parent = r->call;
    a.timeout_ms = (uint64_t)chela_option_number(in, "command_timeout");
    a.confine = CHELA_CONFINE_WORKSPACE;
    a.directory = chela_s(s->folder);
    a.arguments.v = words;
    a.arguments.n = 3;
    a.environment.v = v;
    a.environment.n = put_variables(arguments, v, names);
    in->host->process->spawn(in, &a);
    CHELA_ARGS(chela_write, w, a.h.call);
    w.h.flags = CHELA_LAST;
    w.data = chela_s(chela_json_text(arguments, NULL));
    in->host->process->write(in, &w);
    for (size_t i = 0; i < VARIABLES; i++)
        free(names[i]);
}

void run_output(struct chela_inst *in, const struct chela_output *o)
{
    struct running *r = (struct running *)(uintptr_t)o->h.tag;
    size_t n = (size_t)o->data.n;
    (void)in;
    if (r->n + n > OUTPUT_MOST)
        n = OUTPUT_MOST - r->n;
    r->text = skills_need(realloc(r->text, r->n + n + 1));
    memcpy(r->text + r->n, o->data.s, n);
    r->n += n;
    r->text[r->n] = '\0';
}

void run_done(struct chela_inst *in, const struct chela_done *d)
{
    struct running *r = (struct running *)(uintptr_t)d->h.tag;
    json_object *about = NULL, *clean = chela_json_new_object();
    char *text = NULL;
    if (r->is_command) {
        end(in, r, d->error, false,
            d->error == CHELA_OK ? "The skill was given to the assistant." : d->text.s);
        json_object_put(clean);
        return;
    }
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &about, NULL);
    int64_t exit = chela_json_int(about, "exit", 0), signal = chela_json_int(about, "signal", 0);
    chela_json_put_string(clean, "t", r->text ? r->text : "", r->n);
    const char *said = chela_json_string(clean, "t", NULL);
    if (d->error == CHELA_OK && !exit && !signal) {
        end(in, r, CHELA_OK, false, said ? said : "");
    } else {
        if (asprintf(&text, "%s\n[%s%lld%s]", said ? said : "",
                     signal ? "ended by signal " : "exit code ",
                     (long long)(signal ? signal : exit),
                     d->error != CHELA_OK && d->text.n ? d->text.s : "") < 0)
            abort();
        end(in, r, d->error == CHELA_E_CANCELLED ? CHELA_E_CANCELLED : CHELA_OK, true, text);
        free(text);
    }
    json_object_put(clean);
    json_object_put(about);
}

void run_tool(struct chela_inst *in, const struct chela_tool_run *a)
{
    struct skills *m = in->self;
    json_object *tool = NULL, *arguments = NULL;
    char *name = skills_need(strndup(a->name.s, (size_t)a->name.n));
    chela_json_parse(a->arguments.s, (size_t)a->arguments.n, NULL, &arguments, NULL);
    const char *wanted = chela_json_string(arguments, "name", NULL);
    struct skill *s = strcmp(name, "read_skill") == 0
                          ? skills_find(m, wanted ? wanted : "", a->workspace.s)
                          : find_tool(m, name, a->workspace.s, &tool);
    const char *command = chela_json_string(tool, "command", NULL);
    if (!s || (tool && !command)) {
        chela_end(in, a->h.call, CHELA_E_NOT_FOUND, "there is no such skill, or it has no command");
    } else if (!tool) {
        char *body = body_of(s);
        chela_end(in, a->h.call, CHELA_OK, body);
        free(body);
    } else if (a->binding.n && !chela_str_is(a->binding, command)) {
        chela_end(in, a->h.call, CHELA_E_DENIED,
                  "not run: the skill has changed since it was approved");
    } else {
        struct running *r = skills_need(calloc(1, sizeof *r));
        r->call = a->h.call;
        spawn(in, s, command, arguments, r);
    }
    json_object_put(arguments);
    free(name);
}

/* ---- /NAME ---- */

static void give(struct chela_inst *in, const struct chela_command *c, const struct skill *s)
{
    json_object *o = chela_json_new_object();
    struct running *r = skills_need(calloc(1, sizeof *r));
    char *body = body_of(s), *text = NULL,
         *session = skills_need(strndup(c->session.s, c->session.n)), key[64];
    if (asprintf(&text, "%s\n\nUse this skill now: %.*s", body, (int)c->arguments.n,
                 c->arguments.n ? c->arguments.s : "") < 0)
        abort();
    snprintf(key, sizeof key, "skill-%llu-%llu", (unsigned long long)in->host->local->now_ms(in),
             (unsigned long long)c->h.call);
    chela_json_put_text(o, "sessionKey", session);
    chela_json_put_text(o, "message", text);
    chela_json_put_text(o, "idempotencyKey", key);
    chela_json_put_bool(o, "suppressCommandInterpretation", true);
    r->call = c->h.call;
    r->is_command = true;
    CHELA_ARGS(chela_invoke, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)r;
    a.parent = c->h.call;
    a.name = chela_s("chat.send");
    a.params = chela_s(chela_json_text(o, NULL));
    in->host->chat->invoke(in, &a);
    json_object_put(o);
    free(session);
    free(body);
    free(text);
}

/* command-dispatch: tool: the named tool of the skill runs at once, its only argument the text. */
static bool dispatch(struct chela_inst *in, const struct chela_command *c, const struct skill *s)
{
    const char *how = chela_json_string(s->head, "command-dispatch", NULL),
               *wanted = chela_json_string(s->head, "command-tool", NULL);
    json_object *list = skill_tools(s);
    if (!how || strcmp(how, "tool") != 0 || !wanted)
        return false;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *tool = chela_json_at(list, i), *arguments;
        const char *name = chela_json_string(tool, "name", NULL),
                   *command = chela_json_string(tool, "command", NULL);
        if (!name || !command || strcmp(name, wanted) != 0)
            continue;
        struct running *r = skills_need(calloc(1, sizeof *r));
        r->call = c->h.call;
        arguments = chela_json_new_object();
        chela_json_put_string(arguments, "command", c->arguments.s, (size_t)c->arguments.n);
        spawn(in, s, command, arguments, r);
        json_object_put(arguments);
        return true;
    }
    return false;
}

void run_command(struct chela_inst *in, const struct chela_command *c)
{
    char *name = skills_need(strndup(c->name.s, (size_t)c->name.n));
    struct skill *s = skills_find(in->self, name, NULL);
    if (!s)
        chela_end(in, c->h.call, CHELA_OK, "There is no such skill any more.");
    else if (!dispatch(in, c, s))
        give(in, c, s);
    free(name);
}

/* ---- chela skills ---- */

void run_method(struct chela_inst *in, const struct chela_method *q)
{
    struct skills *m = in->self;
    skills_refresh(m);
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "skills");
    for (size_t i = 0; i < m->count; i++) {
        const struct skill *s = m->all[i];
        json_object *v = chela_json_push_object(list);
        chela_json_put_text(v, "name", s->name);
        chela_json_put_text(v, "description", s->description);
        chela_json_put_text(v, "source", skill_place_name(s));
        chela_json_put_text(v, "folder", s->folder);
        chela_json_put_bool(v, "eligible", skills_usable(s, NULL));
        chela_json_put_bool(v, "userInvocable", s->user_invocable);
        chela_json_put_bool(v, "modelInvocable", s->for_models);
        chela_json_put_int(v, "tools", (int64_t)chela_json_length(skill_tools(s)));
        if (s->missing || s->shadowed)
            chela_json_put_text(v, "why",
                                s->missing ? s->missing : "another skill of this name comes first");
    }
    chela_json_put(o, "broken", json_object_get(m->broken));
    size_t n;
    const char *text = chela_json_text(o, &n);
    CHELA_ARGS(chela_done, d, q->h.call);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    json_object_put(o);
}
