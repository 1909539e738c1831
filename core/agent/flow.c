/*
 * The structs that the stages hand to each other (flow.h): how they are freed, and a message's two
 * JSON forms, the journal's and the mission's. Called by every stage; knows none of them.
 */
#include "agent/flow.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/mem.h"

void message_free(struct message *m)
{
    if (!m)
        return;
    free(m->channel);
    free(m->platform);
    free(m->kind);
    free(m->event);
    free(m->account);
    free(m->chat);
    free(m->thread);
    free(m->sender);
    free(m->sender_name);
    free(m->session);
    free(m->text);
    free(m->reply_to);
    free(m->quote);
    json_object_put(m->media);
    json_object_put(m->extra);
    free(m);
}

struct message *message_copy(const struct message *m)
{
    struct message *c = xcalloc(1, sizeof *c);
    *c = *m;
    c->channel = xstrdup(m->channel);
    c->platform = xstrdup(m->platform);
    c->kind = xstrdup(m->kind);
    c->event = xstrdup(m->event);
    c->account = xstrdup(m->account);
    c->chat = xstrdup(m->chat);
    c->thread = xstrdup(m->thread);
    c->sender = xstrdup(m->sender);
    c->sender_name = xstrdup(m->sender_name);
    c->session = xstrdup(m->session);
    c->text = xstrdup(m->text);
    c->reply_to = xstrdup(m->reply_to);
    c->quote = xstrdup(m->quote);
    c->media = json_object_get(m->media);
    c->extra = json_object_get(m->extra);
    return c;
}

struct json_object *message_to_json(const struct message *m)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "platform", m->platform);
    chela_json_put_text(o, "kind", m->kind);
    chela_json_put_text(o, "event", m->event);
    chela_json_put_int(o, "version", (int64_t)m->version);
    chela_json_put_text(o, "account", m->account);
    chela_json_put_text(o, "chat", m->chat);
    chela_json_put_text(o, "thread", m->thread);
    chela_json_put_int(o, "chatType", m->chat_type);
    chela_json_put_int(o, "flags", m->flags);
    chela_json_put_text(o, "sender", m->sender);
    chela_json_put_text(o, "senderName", m->sender_name);
    chela_json_put_text(o, "session", m->session);
    chela_json_put_text(o, "text", m->text);
    chela_json_put_text(o, "replyTo", m->reply_to);
    chela_json_put_text(o, "quote", m->quote);
    chela_json_put(o, "media", json_object_get(m->media));
    chela_json_put(o, "extra", json_object_get(m->extra));
    chela_json_put_int(o, "at", (int64_t)m->at);
    return o;
}

static char *text_of(struct json_object *o, const char *key)
{
    const char *s = chela_json_string(o, key, NULL);
    return xstrdup(s ? s : "");
}

struct message *message_from_json(struct json_object *o)
{
    if (!json_object_is_type(o, json_type_object) || !chela_json_string(o, "channel", NULL))
        return NULL;
    struct message *m = xcalloc(1, sizeof *m);
    m->channel = text_of(o, "channel");
    m->platform = text_of(o, "platform");
    m->kind = text_of(o, "kind");
    m->event = text_of(o, "event");
    m->version = (uint64_t)chela_json_int(o, "version", 0);
    m->account = text_of(o, "account");
    m->chat = text_of(o, "chat");
    m->thread = text_of(o, "thread");
    m->chat_type = (uint32_t)chela_json_int(o, "chatType", 0);
    m->flags = (uint32_t)chela_json_int(o, "flags", 0);
    m->sender = text_of(o, "sender");
    m->sender_name = text_of(o, "senderName");
    m->session = text_of(o, "session");
    m->text = text_of(o, "text");
    m->reply_to = text_of(o, "replyTo");
    m->quote = text_of(o, "quote");
    m->media = json_object_get(chela_json_array(o, "media"));
    m->extra = json_object_get(chela_json_object(o, "extra"));
    m->at = (uint64_t)chela_json_int(o, "at", 0);
    return m;
}

struct json_object *message_form(const struct message *m, const char *session_id)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "sessionId", session_id);
    struct json_object *message = chela_json_put_object(o, "message");
    chela_json_put_text(message, "role", "user");
    chela_json_put_text(message, "content", m->text);
    chela_json_put(message, "attachments",
                   m->media ? json_object_get(m->media) : chela_json_new_array());
    struct json_object *metadata = chela_json_put_object(o, "metadata");
    chela_json_put_text(metadata, "platform", m->platform);
    chela_json_put_int(metadata, "timestamp", (int64_t)m->at);
    return o;
}

struct json_object *message_wishes(const struct message *m)
{
    return chela_json_object(m->extra, "request");
}

const char *job_fresh_role(struct json_object *fresh)
{
    const char *role = chela_json_string(fresh, "role", NULL);
    return role ? role : "user";
}

void job_add_inbox(struct job *j, const char *id)
{
    j->inbox = xrealloc(j->inbox, (j->inbox_count + 1) * sizeof *j->inbox);
    j->inbox[j->inbox_count++] = xstrdup(id);
}

void job_free(struct job *j)
{
    if (!j)
        return;
    free(j->run);
    free(j->session);
    free(j->agent);
    message_free(j->message);
    for (unsigned i = 0; i < j->inbox_count; i++)
        free(j->inbox[i]);
    free(j->inbox);
    json_object_put(j->fresh);
    free(j);
}

void prompt_free(struct prompt *p)
{
    if (!p)
        return;
    job_free(p->job);
    free(p->system);
    transcript_release(p->transcript);
    toolplan_release(p->tools);
    free(p->memory);
    free(p->volatile_text);
    free(p);
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    prompt_free(p->prompt);
    for (unsigned i = 0; i < p->count; i++) {
        free(p->candidates[i].model);
        free(p->candidates[i].reason);
        free(p->candidates[i].by);
    }
    free(p->candidates);
    free(p);
}

void reply_free(struct reply *r)
{
    if (!r)
        return;
    free(r->run);
    free(r->session);
    free(r->agent);
    message_free(r->message);
    free(r->draft);
    free(r->text);
    json_object_put(r->media);
    json_object_put(r->extra);
    free(r);
}
