/*
 * Ingress: a message as a channel gives it becomes a job. Checks it, finds agent and session, asks
 * the hooks, stores it (only then may the channel acknowledge it), answers slash commands, hands
 * the job to session.c. Never calls a model.
 */
#include "agent/chats/ingress.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/access.h"
#include "agent/chats/bindings.h"
#include "agent/chats/commands.h"
#include "agent/chats/media.h"
#include "agent/chats/outbox.h"
#include "agent/chats/pairing.h"
#include "agent/chats/traffic.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/runs.h"
#include "agent/session.h"
#include "agent/tools/hooks.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"

enum {
    ID_BYTES = 512,
    TEXT_BYTES = 1 << 20,
    MEDIA_MOST = 32,
    SESSIONS_MOST = 1000,
    UNMENTIONED_BYTES = 16000
};

struct arrival {
    struct message *m;
    char *agent, *session, *id;
    ingress_fn *fn;
    void *owner;
};

static bool stopping;
/* What was said in groups without addressing the assistant: told with the next message that does;
 * session -> text. Bounded, in memory only. */
static struct map unmentioned;

static void arrival_free(struct arrival *a)
{
    message_free(a->m);
    free(a->agent);
    free(a->session);
    free(a->id);
    free(a);
}

static void answer(struct arrival *a, const char *run, const struct error *e)
{
    if (a->fn)
        a->fn(a->owner, run, e);
}

/* ---- checks ---- */

static bool text_ok(const char *s, size_t most)
{
    size_t n = strlen(s);
    return n <= most && utf8_valid(s, n);
}

static int check(const struct message *m, struct error *e)
{
    const char *const ids[] = {m->channel,     m->platform, m->kind,    m->event,
                               m->account,     m->chat,     m->thread,  m->sender,
                               m->sender_name, m->session,  m->reply_to};
    for (unsigned i = 0; i < ARRAY_LENGTH(ids); i++) {
        if (!text_ok(ids[i], ID_BYTES))
            return error_set(e, CHELA_E_ARGS, "a field is longer than %d bytes or not UTF-8",
                             ID_BYTES);
    }
    if (!*m->event)
        return error_set(e, CHELA_E_ARGS,
                         "a message without an event id can't be told from its "
                         "repetition");
    if (!text_ok(m->text, TEXT_BYTES) || !text_ok(m->quote, TEXT_BYTES))
        return error_set(e, CHELA_E_TOO_LONG, "the text is longer than 1 MiB or not UTF-8");
    if (chela_json_length(m->media) > MEDIA_MOST)
        return error_set(e, CHELA_E_TOO_LONG, "more than %d attachments", MEDIA_MOST);
    if (!*m->text && chela_json_length(m->media) == 0 && strcmp(m->kind, "reaction") != 0)
        return error_set(e, CHELA_E_ARGS, "the message is empty");
    if (strcmp(m->kind, "message") != 0 && strcmp(m->kind, "edit") != 0 &&
        strcmp(m->kind, "reaction") != 0)
        return error_set(e, CHELA_E_ARGS, "\"%s\" is none of message, edit, reaction", m->kind);
    return 0;
}

static int find_place(struct arrival *a, struct error *e)
{
    const struct message *m = a->m;
    const char *wish = chela_json_string(m->extra, "agent", NULL);
    const struct binding bound = bindings_find(m);
    const char *agent = wish && *wish  ? wish
                        : *bound.agent ? bound.agent
                                       : agents_for_channel(m->channel);
    const char *named = *m->session ? m->session : bound.session;
    if (*named) {
        a->session = session_key_full(agent, named);
        a->agent =
            strncmp(a->session, "agent:", 6) == 0 ? session_key_agent(a->session) : xstrdup(agent);
    } else {
        a->agent = xstrdup(agent);
        a->session = session_key(m, agent);
    }
    if (!agents_known(a->agent))
        return error_set(e, CHELA_E_NOT_FOUND, "there is no agent \"%s\"", a->agent);
    return 0;
}

/* ---- the message as a model gets it ---- */

static void push_text(struct json_object *content, const char *text)
{
    struct json_object *part = chela_json_push_object(content);
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
}

static void push_media(struct json_object *content, struct json_object *media)
{
    for (size_t i = 0; i < chela_json_length(media); i++) {
        struct json_object *o = chela_json_at(media, i);
        const char *hash = chela_json_string(o, "hash", NULL);
        const char *mime = chela_json_string(o, "mime", NULL);
        const char *name = chela_json_string(o, "name", NULL);
        const char *failed = chela_json_string(o, "failed", NULL);
        if (!hash) { /* only a reference: named, not shown */
            CLEANUP(freep)
            char *note = xprintf("[attachment: %s (%s)%s%s]", name ? name : "?", mime ? mime : "?",
                                 failed ? ", could not be fetched: " : "", failed ? failed : "");
            push_text(content, note);
            continue;
        }
        struct json_object *part = chela_json_push_object(content);
        bool image = mime && strncmp(mime, "image/", 6) == 0;
        chela_json_put_text(part, "type", image ? "image" : "file");
        chela_json_put_text(part, "hash", hash);
        chela_json_put_text(part, "mime", mime ? mime : "application/octet-stream");
        chela_json_put_text(part, "name", name ? name : "");
        chela_json_put_int(part, "size", chela_json_int(o, "size", 0));
    }
}

struct json_object *ingress_content(const struct message *m, const char *before)
{
    struct json_object *content = chela_json_new_array();
    if (before && *before)
        push_text(content, before);
    if (*m->quote) {
        CLEANUP(freep) char *quote = xprintf("[in reply to: %s]", m->quote);
        push_text(content, quote);
    }
    bool edited = strcmp(m->kind, "edit") == 0;
    bool group = m->chat_type != CHELA_DIRECT;
    if (*m->text) {
        CLEANUP(freep)
        char *text =
            xprintf("%s%s%s%s", group && *m->sender_name ? m->sender_name : "",
                    group && *m->sender_name ? ": " : "", edited ? "[edited] " : "", m->text);
        push_text(content, text);
    }
    push_media(content, m->media);
    return content;
}

static void remember_unmentioned(const struct arrival *a)
{
    unsigned most = access_context(a->m);
    if (most == 0)
        return;
    if (unmentioned.count >= SESSIONS_MOST && !map_get(&unmentioned, a->session))
        return;
    char *before = map_get(&unmentioned, a->session);
    char *text = xprintf("%s%s: %.500s\n", before ? before : "",
                         *a->m->sender_name ? a->m->sender_name : a->m->sender, a->m->text);
    size_t n = strlen(text), from = 0, lines = 0;
    for (size_t i = n; i > 0; i--) {
        if (text[i - 1] == '\n' && (++lines > most || n - i > UNMENTIONED_BYTES)) {
            from = i;
            break;
        }
    }
    struct buf clean = {0}; /* %.500s may have cut a character */
    utf8_repair(&clean, text + from, n - from);
    free(text);
    buf_text(&clean);
    free(map_set(&unmentioned, a->session, buf_take(&clean)));
}

/* What a client says was said before, where it keeps the conversation itself. */
static struct json_object *fresh_history(const struct message *m)
{
    struct json_object *list = chela_json_new_array(),
                       *history = chela_json_array(message_wishes(m), "history");
    for (size_t i = 0; i < chela_json_length(history); i++) {
        struct json_object *from = chela_json_at(history, i);
        const char *role = chela_json_string(from, "role", NULL);
        struct json_object *content = chela_json_array(from, "content");
        bool known = role && (strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0 ||
                              strcmp(role, "tool") == 0);
        if (!known || !content)
            continue;
        struct json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "role", role);
        chela_json_put(o, "content", json_object_get(content));
    }
    return list;
}

static struct job *make_job(struct arrival *a, const char *before)
{
    struct job *j = xcalloc(1, sizeof *j);
    j->run = xstrdup(a->id);
    j->session = xstrdup(a->session);
    j->agent = xstrdup(a->agent);
    j->message = a->m;
    a->m = NULL;
    job_add_inbox(j, a->id);
    j->fresh = fresh_history(j->message);
    if (chela_json_bool(message_wishes(j->message), "historyOnly", false) &&
        chela_json_length(j->fresh) > 0) {
        struct json_object *last = chela_json_at(j->fresh, chela_json_length(j->fresh) - 1);
        chela_json_put_text(last, "inbox", a->id);
        j->accepted_ms = clock_ticks_ms();
        return j;
    }
    struct json_object *o = chela_json_push_object(j->fresh);
    chela_json_put(o, "content", ingress_content(j->message, before));
    chela_json_put_text(o, "inbox", a->id);
    j->accepted_ms = clock_ticks_ms();
    return j;
}

/* ---- stored ---- */

static void dropped(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("ingress", "a message without a turn could not be marked: %s", e->text);
}

static bool is_command(const struct message *m)
{
    return m->text[0] == '/' && m->text[1] && strchr(" \t\n/", m->text[1]) == NULL &&
           strcmp(m->kind, "message") == 0 &&
           !chela_json_bool(message_wishes(m), "suppressCommandInterpretation", false);
}

static void submit_job(struct arrival *a)
{
    char *heard = map_remove(&unmentioned, a->session);
    CLEANUP(freep)
    char *before =
        heard ? xprintf("[Said in this chat since your last answer, not to you:]\n%s", heard)
              : NULL;
    free(heard);
    session_submit(make_job(a, before));
}

static void media_here(void *owner, bool here)
{
    struct arrival *a = owner;
    if (here && !stopping) /* else the next start takes it up */
        submit_job(a);
    arrival_free(a);
}

/* Takes over the arrival: it is stored. */
static void go_on(struct arrival *a)
{
    struct message *m = a->m;
    bool group = m->chat_type != CHELA_DIRECT;
    if (strcmp(m->kind, "reaction") == 0 ||
        (group && !(m->flags & (CHELA_MENTIONED | CHELA_BUTTON)) && !is_command(m))) {
        if (*m->text && strcmp(m->kind, "reaction") != 0)
            remember_unmentioned(a);
        journal_inbox_drop(a->session, a->id, dropped, NULL);
        answer(a, "", NULL);
        arrival_free(a);
        return;
    }
    if (is_command(m) && commands_run(m, a->session, a->agent, a->id)) {
        journal_inbox_drop(a->session, a->id, dropped, NULL);
        answer(a, a->id, NULL);
        arrival_free(a);
        return;
    }
    if (media_wanted(m)) {
        answer(a, a->id, NULL); /* the channel need not wait for its own files */
        media_fetch(m, media_here, a);
        return;
    }
    submit_job(a);
    answer(a, a->id, NULL);
    arrival_free(a);
}

static void stored(void *owner, const struct error *e)
{
    struct arrival *a = owner;
    if (!e) {
        go_on(a);
        return;
    }
    answer(a, e->class == CHELA_E_CONFLICT ? e->text : "", e);
    arrival_free(a);
}

static void store(struct arrival *a)
{
    const struct message *m = a->m;
    CLEANUP(freep) char *conversation = xprintf("%s|%s|%s", m->channel, m->account, m->chat);
    struct json_object *body = message_to_json(m);
    struct journal_message_in in = {.conversation = conversation,
                                    .kind = m->kind,
                                    .event = m->event,
                                    .version = m->version,
                                    .id = a->id,
                                    .session = a->session,
                                    .agent = a->agent,
                                    .body = chela_json_text(body, NULL),
                                    .at = clock_now_ms()};
    journal_inbound(&in, stored, a);
    json_object_put(body);
}

static void hooks_done(void *owner, const struct hooks_result *r)
{
    struct arrival *a = owner;
    if (r->blocked) {
        log_info("ingress", "%s dropped a message of %s: %s", r->by, a->m->channel,
                 r->text ? r->text : "");
        answer(a, "", NULL);
        arrival_free(a);
        return;
    }
    if (r->text) {
        free(a->m->text);
        a->m->text = xstrdup(r->text);
    }
    store(a);
}

/* The run's id: the client's key where it gave one, else a new one. */
static char *run_id(const struct message *m)
{
    const char *wish = chela_json_string(message_wishes(m), "runId", NULL);
    char uuid[ID_UUID_SIZE];
    if (wish && *wish && strlen(wish) <= 128 && !runs_find(wish))
        return xstrdup(wish);
    id_uuid(uuid);
    return xstrdup(uuid);
}

/* Someone who isn't known is told once how to be let in; the owner says yes by `chela pairing`. */
static void offer_pairing(const struct message *m)
{
    bool fresh;
    const char *code = pairing_code(m, &fresh);
    if (!code || !fresh)
        return;
    CLEANUP(freep)
    char *text = xprintf("I don't know you yet. If the owner of this assistant runs\n\n"
                         "`chela pairing approve %s %s`\n\nwithin an hour, I will answer you.",
                         m->channel, code);
    outbox_notice(m, text, NULL);
}

/* 0: the sender may. */
static int admit(struct message *m, struct error *e)
{
    enum access access = access_check(m);
    if (access == ACCESS_YES)
        return 0;
    if (access == ACCESS_PAIR && strcmp(m->kind, "message") == 0)
        offer_pairing(m);
    log_debug("ingress", "%s: %s in %s may not", m->channel, m->sender, m->chat);
    return error_set(e, CHELA_E_DENIED, "the sender may not (channels.%s)", m->channel);
}

void ingress_accept(struct message *m, ingress_fn *fn, void *owner)
{
    struct error e = {0};
    struct arrival *a = xcalloc(1, sizeof *a);
    a->m = m;
    a->fn = fn;
    a->owner = owner;
    if (stopping)
        error_set(&e, CHELA_E_BUSY, "the gateway is stopping");
    if (e.class || check(m, &e) != 0 || admit(m, &e) != 0 || find_place(a, &e) != 0) {
        answer(a, "", &e);
        arrival_free(a);
        return;
    }
    a->id = run_id(m);
    traffic_in(m->channel);
    log_debug("ingress", "%s: event %s for %s", m->channel, m->event, a->session);
    if (!hooks_any(CHELA_MESSAGE_IN)) {
        store(a);
        return;
    }
    struct json_object *form = message_form(m, a->session);
    chela_json_put_text(form, "text", m->text);
    hooks_ask(CHELA_MESSAGE_IN, m->channel, a->session, form, "text", hooks_done, a);
}

void ingress_resume(const char *id, const char *session, const char *agent, struct message *m)
{
    struct arrival *a = xcalloc(1, sizeof *a);
    a->m = m;
    a->id = xstrdup(id);
    a->session = xstrdup(session);
    a->agent = xstrdup(agents_known(agent) ? agent : agents_default());
    go_on(a);
}

void ingress_stop(void)
{
    stopping = true;
}

void ingress_reset(void)
{
    stopping = false;
    map_free(&unmentioned, free);
    memset(&unmentioned, 0, sizeof unmentioned);
    ingress_client_reset();
    ingress_submit_reset();
    media_reset();
    pairing_reset();
    traffic_reset();
}
