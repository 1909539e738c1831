/*
 * The table of slash commands and the answers of those that the core knows; plugins' commands are
 * asked from their service. Changes go through session.h, approval.h; nothing here calls a model.
 */
#include "agent/chats/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/chats/outbox.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/models/decisions.h"
#include "agent/models/modelkeys.h"
#include "agent/models/models.h"
#include "agent/runs.h"
#include "agent/session.h"
#include "agent/tools/approval.h"
#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

enum { COMMAND_MS = 30000 };

/* One command that is being answered. */
struct command {
    struct message *m;
    char *session, *agent, *run, *name, *args;
    char *text; /* answer if the change that is under way succeeds */
    struct instance *plugin;
};

static void command_free(struct command *c)
{
    message_free(c->m);
    free(c->session);
    free(c->agent);
    free(c->run);
    free(c->name);
    free(c->args);
    free(c->text);
    free(c);
}

static void answer(struct command *c, const char *text)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", c->run);
    chela_json_put_text(o, "sessionKey", c->session);
    chela_json_put_text(o, "agentId", c->agent);
    chela_json_put_int(o, "seq", 1);
    chela_json_put_text(o, "state", "final");
    struct json_object *message = chela_json_put_object(o, "message");
    chela_json_put_text(message, "role", "assistant");
    struct json_object *part = chela_json_push_object(chela_json_put_array(message, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    chela_json_put_int(message, "timestamp", (int64_t)clock_now_ms());
    chela_json_put_text(o, "stopReason", "command");
    events_emit(EVENT_CHAT, c->session, c->run, o);
    outbox_notice(c->m, text, NULL);

    struct json_object *result = chela_json_new_object();
    chela_json_put_text(result, "runId", c->run);
    chela_json_put_text(result, "status", "ok");
    chela_json_put_text(result, "summary", "command");
    struct json_object *r = chela_json_put_object(result, "result");
    struct json_object *payload = chela_json_push_object(chela_json_put_array(r, "payloads"));
    chela_json_put_text(payload, "text", text);
    chela_json_put_object(r, "meta");
    runs_keep_result(c->run, result);
    command_free(c);
}

static void changed(void *owner, const struct error *e)
{
    struct command *c = owner;
    CLEANUP(freep) char *text = e ? xprintf("That did not work: %s.", e->text) : xstrdup(c->text);
    answer(c, text);
}

static void patch(struct command *c, const char *key, const char *value, char *text)
{
    c->text = text;
    struct json_object *fields = chela_json_new_object();
    chela_json_put_text(fields, key, value);
    session_patch(c->session, fields, changed, c);
    json_object_put(fields);
}

/* ---- the commands ---- */

static void do_new(struct command *c)
{
    c->text = xstrdup("A new conversation begins. What was said before is kept, but no longer "
                      "told to the model.");
    if (*c->args && strcmp(c->name, "new") == 0) {
        CLEANUP(freep) char *full = models_resolve(c->args);
        if (!full) {
            CLEANUP(freep) char *text = xprintf("No provider has the model `%s`.", c->args);
            answer(c, text);
            return;
        }
        struct json_object *fields = chela_json_new_object();
        chela_json_put_text(fields, "model", full);
        session_patch(c->session, fields, NULL, NULL);
        json_object_put(fields);
    }
    session_reset(c->session, c->name, changed, c);
}

static void status_loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct command *c = owner;
    struct buf b = {0};
    const struct run *r = runs_of_session(c->session);
    buf_printf(&b, "**Session** `%s`, agent `%s`\n\n", c->session, c->agent);
    if (t) {
        const char *model = transcript_field(t, "model");
        const char *own = agents_text(c->agent, "model");
        buf_printf(&b, "- Model: %s\n",
                   *model ? model
                   : *own ? own
                          : "chosen by the router for each message");
        buf_printf(&b, "- History: %u messages, about %llu tokens%s\n", t->count,
                   (unsigned long long)transcript_tokens(t, 0),
                   *t->summary ? ", older ones summarised" : "");
        if (*transcript_field(t, "instructions"))
            buf_puts(&b, "- It has instructions of its own (`/instructions show`)\n");
    } else {
        buf_printf(&b, "- The history can't be read: %s\n", e ? e->text : "?");
    }
    if (r)
        buf_printf(&b, "- Running: `%s`, %s%s%s\n", r->id, turn_state_name(r->state),
                   r->model ? ", " : "", r->model ? r->model : "");
    if (r && r->reason)
        buf_printf(&b, "- Why this model: %s\n", r->reason);
    struct json_object *decisions = decisions_of(c->session);
    for (size_t i = 0; i < chela_json_length(decisions); i++) {
        struct json_object *d = chela_json_at(decisions, i);
        buf_printf(&b, "%s  - %s: %s\n",
                   i   ? ""
                   : r ? "- Decided so far:\n"
                       : "- Last turn:\n",
                   chela_json_string(d, "kind", NULL), chela_json_string(d, "text", NULL));
    }
    buf_printf(&b, "- Waiting messages: %u\n", session_queued(c->session));
    struct json_object *approvals = approval_list(c->session);
    for (size_t i = 0; i < chela_json_length(approvals); i++) {
        struct json_object *a = chela_json_at(approvals, i);
        buf_printf(&b, "- Waits for permission: `%s` (`/approve %.8s`)\n",
                   chela_json_string(chela_json_object(a, "request"), "command", NULL),
                   chela_json_string(a, "id", NULL));
    }
    json_object_put(approvals);
    transcript_release(t);
    CLEANUP(freep) char *text = buf_take(&b);
    answer(c, text);
}

static void do_status(struct command *c)
{
    transcript_get(c->session, status_loaded, c);
}

static void add_model(void *arg, const char *full, const struct model_info *info)
{
    struct buf *b = arg;
    if (b->n < 6000)
        buf_printf(b, "- `%s`%s%s\n", full, info->local ? " (local)" : "",
                   !models_available(info->instance) ? " - not running"
                   : !modelkeys_usable(full)         ? " - resting after failures"
                                                     : "");
}

static void do_model(struct command *c)
{
    if (!*c->args) {
        struct buf b = {0};
        const struct transcript *t = transcript_hot(c->session);
        const char *chosen = t ? transcript_field(t, "model") : "";
        if (*chosen)
            buf_printf(&b, "This session uses `%s`.\n\n", chosen);
        buf_puts(&b, "Models:\n");
        models_each(add_model, &b);
        buf_puts(&b, "\n`/model NAME` chooses one, `/model default` leaves it to the router.");
        CLEANUP(freep) char *text = buf_take(&b);
        answer(c, text);
    } else if (strcasecmp(c->args, "default") == 0 || strcasecmp(c->args, "auto") == 0) {
        patch(c, "model", NULL, xstrdup("The router chooses the model again."));
    } else {
        CLEANUP(freep) char *full = models_resolve(c->args);
        patch(c, "model", c->args,
              xprintf("From now on `%s` answers in this session.", full ? full : c->args));
    }
}

/* The id that waits in this session if it is the only one; free it. */
static char *only_waiting(const struct command *c)
{
    struct json_object *list = approval_list(c->session);
    char *id = NULL;
    if (chela_json_length(list) == 1)
        id = xstrdup(chela_json_string(chela_json_at(list, 0), "id", NULL));
    json_object_put(list);
    return id;
}

static void do_approve(struct command *c)
{
    char id[64] = "", decision[32] = "";
    if (sscanf(c->args, "%63s %31s", id, decision) < 1)
        id[0] = '\0';
    bool deny = strcmp(c->name, "deny") == 0;
    if (strcmp(id, "allow-once") == 0 || strcmp(id, "allow-always") == 0 ||
        strcmp(id, "deny") == 0 || strcmp(id, "always") == 0 || strcmp(id, "once") == 0) {
        snprintf(decision, sizeof decision, "%.31s", id);
        id[0] = '\0';
    }
    CLEANUP(freep) char *found = id[0] ? xstrdup(id) : only_waiting(c);
    if (!found) {
        answer(c, "Say which one: `/approve ID allow-once`, `allow-always` or `deny`. `/status` "
                  "shows what waits.");
        return;
    }
    const char *word = deny                              ? "deny"
                       : !decision[0]                    ? "allow-once"
                       : strcmp(decision, "always") == 0 ? "allow-always"
                       : strcmp(decision, "once") == 0   ? "allow-once"
                                                         : decision;
    c->text = xprintf("%s: `%.8s`.", strcmp(word, "deny") == 0 ? "Denied" : "Allowed", found);
    /* names are what people call themselves: the record needs the service's id */
    const struct message *m = c->m;
    CLEANUP(freep)
    char *by = *m->sender_name ? xprintf("%s (%s:%s)", m->sender_name, m->channel, m->sender)
                               : xprintf("%s:%s", m->channel, *m->sender ? m->sender : m->chat);
    approval_resolve(found, word, by, changed, c);
}

static void do_stop(struct command *c)
{
    c->text = xstrdup("Stopped.");
    if (session_abort(c->session, NULL, "/stop", changed, c) == 0)
        answer(c, "Nothing is running here.");
}

static void do_compact(struct command *c)
{
    c->text = xstrdup("The older part of the conversation is summarised now.");
    session_compact(c->session, c->args, changed, c);
}

static void instructions_loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct command *c = owner;
    const char *own = t ? transcript_field(t, "instructions") : "";
    CLEANUP(freep)
    char *text =
        e      ? xprintf("That did not work: %s.", e->text)
        : *own ? xprintf("Instructions of this session:\n\n%s", own)
               : xstrdup("This session has no instructions of its own. `/instructions TEXT` sets "
                         "them.");
    transcript_release(t);
    answer(c, text);
}

static void do_instructions(struct command *c)
{
    if (!*c->args || strcmp(c->args, "show") == 0)
        transcript_get(c->session, instructions_loaded, c);
    else if (strcmp(c->args, "clear") == 0)
        patch(c, "instructions", NULL, xstrdup("This session has no instructions of its own now."));
    else
        patch(c, "instructions", c->args,
              xstrdup("These instructions hold for this session from now on."));
}

static void do_queue(struct command *c)
{
    if (*c->args && queue_mode_of(c->args, QUEUE_MODES) == QUEUE_MODES &&
        strcmp(c->args, "default") != 0) {
        answer(c, "Modes: `steer` (a new message enters the running turn), `followup` (a turn for "
                  "each), `collect` (what waits becomes one turn), `interrupt` (the running turn "
                  "ends), `default`.");
        return;
    }
    if (!*c->args) {
        const struct transcript *t = transcript_hot(c->session);
        const char *mode = t ? transcript_field(t, "queue") : "";
        CLEANUP(freep)
        char *text = xprintf("%u messages wait; mode: %s.", session_queued(c->session),
                             *mode ? mode : "default");
        answer(c, text);
        return;
    }
    bool clear = strcmp(c->args, "default") == 0;
    patch(c, "queue", clear ? NULL : c->args, xprintf("Queue mode: %s.", c->args));
}

static void do_verbose(struct command *c)
{
    bool off = strcmp(c->args, "off") == 0;
    patch(c, "verbose",
          off        ? "off"
          : *c->args ? c->args
                     : "on",
          xstrdup(off ? "Verbose mode is off."
                      : "Verbose mode is on: thinking and tool calls are "
                        "shown."));
}

static void do_whoami(struct command *c)
{
    const struct message *m = c->m;
    CLEANUP(freep)
    char *text =
        xprintf("You are `%s` on channel `%s`%s, in chat `%s`; session `%s`, agent `%s`.",
                *m->sender ? m->sender : "-", m->channel, m->flags & CHELA_OWNER ? " (owner)" : "",
                *m->chat ? m->chat : "-", c->session, c->agent);
    answer(c, text);
}

static void do_help(struct command *c);

static const struct {
    const char *name, *args, *description, *category;
    bool owner; /* only for the owner */
    void (*fn)(struct command *c);
} table[] = {
    {"help", "", "what you can type", "help", false, do_help},
    {"status", "", "session, model, what runs and waits", "help", false, do_status},
    {"whoami", "", "who you are to the assistant", "help", false, do_whoami},
    {"new", "[MODEL]", "begin a new conversation", "session", true, do_new},
    {"reset", "", "begin a new conversation", "session", true, do_new},
    {"stop", "", "stop what is running", "session", false, do_stop},
    {"compact", "[WISHES]", "summarise the older part", "session", true, do_compact},
    {"model", "[NAME|default]", "show or choose the model", "session", true, do_model},
    {"instructions", "[TEXT|show|clear]", "instructions for this session", "session", true,
     do_instructions},
    {"queue", "[steer|followup|collect|interrupt|default]", "what a message does while a turn runs",
     "session", true, do_queue},
    {"verbose", "[on|off]", "show thinking and tool calls", "session", true, do_verbose},
    {"approve", "[ID] [allow-once|allow-always|deny]", "permit a tool call", "tools", true,
     do_approve},
    {"deny", "[ID]", "deny a tool call", "tools", true, do_approve},
};

/* ---- commands of plugins ---- */

static struct instance *plugin_of(const char *name, bool *ret_owner)
{
    struct instance *found = NULL;
    for (struct instance *in = NULL; !found && (in = instance_next(ROLE_SERVICE, in));) {
        const struct chela_service *s = instance_iface(in)->service;
        const struct published *p = published_get(in, CHELA_COMMANDS);
        for (size_t i = 0; p && s && s->command && i < p->count; i++) {
            if (!chela_str_is(p->items[i].name, name))
                continue;
            struct json_object *o = NULL;
            chela_json_parse(p->items[i].value.s, p->items[i].value.n, NULL, &o, NULL);
            const char *rights = chela_json_string(o, "rights", NULL);
            *ret_owner = !rights || strcmp(rights, "all") != 0;
            json_object_put(o);
            found = in;
            break;
        }
        published_release(p);
    }
    return found;
}

static void plugin_done(void *owner, uint64_t call, const struct chela_done *d,
                        const struct chela_decide *v)
{
    struct command *c = owner;
    (void)call;
    (void)v;
    CLEANUP(freep) char *said = xmemdup(d->text.s ? d->text.s : "", d->text.n);
    CLEANUP(freep)
    char *text = d->error == CHELA_OK ? xstrdup(said) : xprintf("That did not work: %s.", said);
    answer(c, text);
}

static const struct call_ops plugin_ops = {NULL, plugin_done};

static void do_plugin(struct command *c)
{
    CHELA_ARGS(chela_command, a, 0);
    a.name = chela_s(c->name);
    a.arguments = chela_s(c->args);
    a.session = chela_s(c->session);
    a.agent = chela_s(c->agent);
    a.sender = chela_s(c->m->sender);
    a.channel = chela_s(c->m->channel);
    call_begin(c->plugin, CHELA_FN_SERVICE_COMMAND, &a, COMMAND_MS, 0, &plugin_ops, c);
}

/* ---- list, help, dispatch ---- */

struct json_object *commands_list(void)
{
    struct json_object *list = chela_json_new_array();
    for (unsigned i = 0; i < ARRAY_LENGTH(table); i++) {
        struct json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "name", table[i].name);
        chela_json_put_text(o, "description", table[i].description);
        chela_json_put_bool(o, "acceptsArgs", *table[i].args != '\0');
        chela_json_put_text(o, "args", table[i].args);
        chela_json_put_text(o, "source", "native");
        chela_json_put_text(o, "category", table[i].category);
    }
    for (struct instance *in = NULL; (in = instance_next(ROLE_SERVICE, in));) {
        const struct published *p = published_get(in, CHELA_COMMANDS);
        for (size_t i = 0; p && i < p->count; i++) {
            struct json_object *m = NULL, *o = chela_json_push_object(list);
            chela_json_parse(p->items[i].value.s, p->items[i].value.n, NULL, &m, NULL);
            const char *args = chela_json_string(m, "args", NULL);
            chela_json_put_string(o, "name", p->items[i].name.s, p->items[i].name.n);
            chela_json_put_text(o, "description", chela_json_string(m, "description", NULL));
            chela_json_put_bool(o, "acceptsArgs", args && *args);
            chela_json_put_text(o, "args", args ? args : "");
            chela_json_put_text(o, "source", instance_name(in));
            chela_json_put_text(o, "category", "plugin");
            json_object_put(m);
        }
        published_release(p);
    }
    return list;
}

static void do_help(struct command *c)
{
    struct json_object *list = commands_list();
    struct buf b = {0};
    for (size_t i = 0; i < chela_json_length(list); i++) {
        struct json_object *o = chela_json_at(list, i);
        const char *args = chela_json_string(o, "args", NULL);
        const char *description = chela_json_string(o, "description", NULL);
        buf_printf(&b, "- `/%s%s%s` %s\n", chela_json_string(o, "name", NULL),
                   args && *args ? " " : "", args ? args : "", description ? description : "");
    }
    json_object_put(list);
    CLEANUP(freep) char *text = buf_take(&b);
    answer(c, text);
}

/* "/name args": args without the blanks around them. */
static void split(struct command *c, const char *text)
{
    size_t n = strcspn(text + 1, " \t\n");
    c->name = xmemdup(text + 1, n);
    for (char *p = c->name; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    const char *args = text + 1 + n;
    args += strspn(args, " \t\n");
    size_t length = strlen(args);
    while (length && strchr(" \t\n\r", args[length - 1]))
        length--;
    c->args = xmemdup(args, length);
}

bool commands_run(const struct message *m, const char *session, const char *agent, const char *run)
{
    struct command *c = xcalloc(1, sizeof *c);
    split(c, m->text);
    void (*fn)(struct command *) = NULL;
    bool owner = false;
    for (unsigned i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strcmp(table[i].name, c->name) == 0) {
            fn = table[i].fn;
            owner = table[i].owner;
        }
    }
    if (!fn) {
        c->plugin = plugin_of(c->name, &owner);
        fn = c->plugin ? do_plugin : NULL;
    }
    if (!fn) {
        command_free(c);
        return false;
    }
    c->m = message_copy(m);
    c->session = xstrdup(session);
    c->agent = xstrdup(agent);
    c->run = xstrdup(run);
    log_info("agent", "session %s: /%s", session, c->name);
    if (owner && !(m->flags & CHELA_OWNER))
        answer(c, "Only the owner of this assistant may do that.");
    else
        fn(c);
    return true;
}
