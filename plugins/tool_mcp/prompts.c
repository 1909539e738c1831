/*
 * Prompts of the servers as slash commands: /SERVER__PROMPT name=value ... fetches the prompt and
 * gives it to the assistant as the person's message. /mcp shows servers and answers questions. The
 * section of the prompt that tells which resources have changed. Called by the host and tools.c.
 */
#include "mcp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char mcp_command[] = "{\"description\":\"shows the MCP servers, answers their "
                                  "questions\",\"args\":\"[accept|decline "
                                  "ID [JSON]]\",\"rights\":\"owner\"}";

static char *command_name(const struct server *s, json_object *prompt)
{
    const char *name = chela_json_string(prompt, "name", NULL);
    char *whole = format("%s__%s", s->name, name ? name : "");
    for (char *p = whole; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", *p))
            *p = '-';
    }
    return whole;
}

static char *arguments_of(json_object *prompt)
{
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    json_object *list = chela_json_array(prompt, "arguments");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *a = chela_json_at(list, i);
        const char *name = chela_json_string(a, "name", NULL);
        bool required = chela_json_bool(a, "required", false);
        fprintf(out, "%s%s%s=...%s", i ? " " : "", required ? "" : "[", name ? name : "?",
                required ? "" : "]");
    }
    fclose(out);
    return text;
}

void prompts_publish(struct mcp *m)
{
    size_t n = 1, room = 1;
    for (size_t i = 0; i < m->count; i++)
        room += chela_json_length(m->servers[i].prompt_table);
    struct chela_pair *v = need(calloc(room, sizeof *v));
    char **texts = need(calloc(room * 2, sizeof *texts));
    v[0] = (struct chela_pair){chela_s("mcp"), chela_s(mcp_command)};
    for (size_t i = 0; i < m->count; i++) {
        struct server *s = &m->servers[i];
        for (size_t k = 0; k < chela_json_length(s->prompt_table); k++) {
            json_object *p = chela_json_at(s->prompt_table, k), *o = chela_json_new_object();
            const char *about = chela_json_string(p, "description", NULL);
            char *arguments = arguments_of(p);
            chela_json_put_text(o, "description", about ? about : "a prompt of this server");
            chela_json_put_text(o, "args", arguments);
            texts[n * 2] = command_name(s, p);
            texts[n * 2 + 1] = need(strdup(chela_json_text(o, NULL)));
            v[n] = (struct chela_pair){chela_s(texts[n * 2]), chela_s(texts[n * 2 + 1])};
            n++;
            free(arguments);
            json_object_put(o);
        }
    }
    chela_publish_list(m->in, CHELA_COMMANDS, ++m->revision, v, n);
    for (size_t i = 0; i < n * 2; i++)
        free(texts[i]);
    free(texts);
    free(v);
}

void prompts_section(struct chela_inst *in, const struct chela_prompt *p)
{
    struct mcp *m = mcp_of(in);
    char *session = text_of(p->session), *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    json_object *list = chela_json_array(m->updates, session);
    for (size_t i = 0; i < chela_json_length(list); i++)
        fprintf(out, "%s\n", chela_json_as_string(chela_json_at(list, i), NULL));
    fclose(out);
    json_object_object_del(m->updates, session);
    chela_end(in, p->h.call, CHELA_OK, text);
    free(session);
    free(text);
}

/* ---- a prompt ---- */

struct prompt_call {
    struct mcp *mcp;
    struct server *server;
    uint64_t call;
    char *name, *session;
    json_object *arguments;
};

static void call_end(struct prompt_call *c, uint32_t error, const char *text)
{
    chela_end(c->mcp->in, c->call, error, text);
    json_object_put(c->arguments);
    free(c->name);
    free(c->session);
    free(c);
}

static void sent(struct io *io, const struct chela_done *d)
{
    struct prompt_call *c = io->owner;
    char *text = text_of(d->text);
    if (d->error != CHELA_OK)
        call_end(c, d->error, text);
    else
        call_end(c, CHELA_OK, "The prompt was given to the assistant.");
    free(text);
}

static char *join(json_object *result)
{
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    json_object *list = chela_json_array(result, "messages");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *m = chela_json_at(list, i), *content = chela_json_get(m, "content");
        const char *role = chela_json_string(m, "role", NULL),
                   *part = chela_json_string(content, "text", NULL);
        json_object *resource = chela_json_object(content, "resource");
        if (!part)
            part = chela_json_string(resource, "text", NULL);
        if (!part)
            continue;
        if (role && strcmp(role, "assistant") == 0)
            fprintf(out, "%s[assistant] %s", i ? "\n\n" : "", part);
        else
            fprintf(out, "%s%s", i ? "\n\n" : "", part);
    }
    fclose(out);
    return text;
}

static void got(void *owner, json_object *result, const char *error)
{
    struct prompt_call *c = owner;
    struct chela_inst *in = c->mcp->in;
    if (error) {
        call_end(c, CHELA_E_OTHER, error);
        return;
    }
    char *text = join(result),
         *key = format("mcp-prompt-%llu", (unsigned long long)in->host->local->now_ms(in));
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "sessionKey", c->session);
    chela_json_put_text(o, "message", text);
    chela_json_put_text(o, "idempotencyKey", key);
    chela_json_put_bool(o, "suppressCommandInterpretation", true);
    struct io *io = io_new(c->mcp, NULL, c);
    io->done = sent;
    CHELA_ARGS(chela_invoke, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.name = chela_s("chat.send");
    a.params = chela_s(chela_json_text(o, NULL));
    in->host->chat->invoke(in, &a);
    json_object_put(o);
    free(text);
    free(key);
}

static void begin(void *owner, const char *error)
{
    struct prompt_call *c = owner;
    if (error) {
        call_end(c, CHELA_E_GONE, error);
        return;
    }
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "name", c->name);
    chela_json_put(params, "arguments", json_object_get(c->arguments));
    rpc_request(c->server, "prompts/get", params, 25000, got, c)->call = c->call;
}

/* "name=value other="two words"", or without names in the order of the prompt's arguments. */
static json_object *parse_arguments(json_object *prompt, char *text)
{
    json_object *o = chela_json_new_object(), *list = chela_json_array(prompt, "arguments");
    size_t position = 0;
    for (char *p = text; *p;) {
        p += strspn(p, " \t\n");
        char *word = p, *out = p;
        bool quoted = false;
        for (; *p && (quoted || !strchr(" \t\n", *p)); p++) {
            if (*p == '"')
                quoted = !quoted;
            else
                *out++ = *p;
        }
        if (*p)
            p++;
        *out = '\0';
        if (!*word)
            continue;
        char *equals = strchr(word, '=');
        const char *name = chela_json_string(chela_json_at(list, position), "name", NULL);
        if (equals) {
            *equals = '\0';
            chela_json_put_text(o, word, equals + 1);
        } else if (name) {
            chela_json_put_text(o, name, word);
            position++;
        }
    }
    return o;
}

static json_object *find(struct mcp *m, struct chela_str name, struct server **ret)
{
    for (size_t i = 0; i < m->count; i++) {
        struct server *s = &m->servers[i];
        for (size_t k = 0; k < chela_json_length(s->prompt_table); k++) {
            json_object *p = chela_json_at(s->prompt_table, k);
            char *command = command_name(s, p);
            bool same = chela_str_is(name, command);
            free(command);
            *ret = s;
            if (same)
                return p;
        }
    }
    return NULL;
}

/* ---- /mcp ---- */

static void answer_question(struct chela_inst *in, const struct chela_command *c, char *arguments)
{
    char *action = arguments, *id = arguments + strcspn(arguments, " ");
    const char *error = NULL;
    json_object *content = NULL;
    if (*id)
        *id++ = '\0';
    char *rest = id + strcspn(id, " ");
    if (*rest)
        *rest++ = '\0';
    if (*rest && chela_json_parse(rest, strlen(rest), NULL, &content, NULL) < 0)
        error = "What comes behind the question's number must be JSON.";
    else if (question_answer(mcp_of(in), id, action, content, &error) == 0)
        error = NULL;
    json_object_put(content);
    chela_end(in, c->h.call, CHELA_OK, error ? error : "Answered.");
}

static void show(struct chela_inst *in, uint64_t call)
{
    struct mcp *m = mcp_of(in);
    char *text = NULL;
    size_t n;
    FILE *out = need(open_memstream(&text, &n));
    for (size_t i = 0; i < m->count; i++)
        fprintf(out, "- **%s** %s, %zu tools%s%s\n", m->servers[i].name,
                server_state_name(&m->servers[i]), m->servers[i].table_count,
                m->servers[i].why ? ": " : "", m->servers[i].why ? m->servers[i].why : "");
    json_object *list = chela_json_new_array();
    question_list(m, list);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        fprintf(out, "- question %s of %s: %s\n", chela_json_string(o, "id", NULL),
                chela_json_string(o, "server", NULL), chela_json_string(o, "text", NULL));
    }
    json_object_put(list);
    fclose(out);
    chela_end(in, call, CHELA_OK, n ? text : "There are no MCP servers.");
    free(text);
}

void prompts_command(struct chela_inst *in, const struct chela_command *c)
{
    struct server *s = NULL;
    char *arguments = text_of(c->arguments);
    json_object *prompt = find(mcp_of(in), c->name, &s);
    if (prompt) {
        struct prompt_call *p = need(calloc(1, sizeof *p));
        p->mcp = mcp_of(in);
        p->server = s;
        p->call = c->h.call;
        p->name = need(strdup(chela_json_string(prompt, "name", NULL)));
        p->session = text_of(c->session);
        p->arguments = parse_arguments(prompt, arguments);
        server_want(s, SERVER_IS_READY, p->call, begin, p);
    } else if (*arguments) {
        answer_question(in, c, arguments);
    } else {
        show(in, c->h.call);
    }
    free(arguments);
}
