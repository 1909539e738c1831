/*
 * Changes of a session that come from outside a turn: fields, reset, deletion, compaction, entries
 * that only go into the history. Each waits until no turn runs in it. Part of session.h; called by
 * commands.c and the facade.
 */
#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/compaction.h"
#include "agent/events.h"
#include "agent/models/models.h"
#include "agent/session.h"
#include "agent/tools/hooks.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "host/settings.h"

enum { TITLE_BYTES = 200, INSTRUCTIONS_BYTES = 20000, INJECT_BYTES = 1 << 20 };

struct change {
    char *session, *text, *label;
    journal_fn *fn;
    void *owner;
    struct journal_run *run;
    struct transcript *t;
    bool entered;
    unsigned left; /* commits under way */
    struct error error;
};

static struct change *change_new(const char *session, journal_fn *fn, void *owner)
{
    struct change *c = xcalloc(1, sizeof *c);
    c->session = xstrdup(session);
    c->fn = fn;
    c->owner = owner;
    return c;
}

static void tell_changed(const char *session, const char *reason)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "key", session);
    chela_json_put_text(o, "reason", reason);
    events_emit(EVENT_SESSIONS_CHANGED, session, "", o);
}

static void change_end(struct change *c, const struct error *e)
{
    struct error copy = e ? *e : (struct error){0};
    transcript_release(c->t);
    if (c->run)
        journal_run_end(c->run);
    if (c->entered)
        session_leave(c->session);
    journal_fn *fn = c->fn;
    void *owner = c->owner;
    free(c->session);
    free(c->text);
    free(c->label);
    free(c);
    if (fn)
        fn(owner, e ? &copy : NULL);
}

/* ---- fields ---- */

static int check_field(const char *key, struct json_object *value, struct error *e)
{
    static const char *const thinking[] = {"off", "low", "medium", "high"};
    const char *s = chela_json_as_string(value, NULL);
    if (!value) /* null: removed */
        return 0;
    if (strcmp(key, "title") == 0 || strcmp(key, "label") == 0) {
        if (!s || strlen(s) > TITLE_BYTES)
            return error_set(e, CHELA_E_ARGS, "%s must be a text of at most %d bytes", key,
                             TITLE_BYTES);
    } else if (strcmp(key, "instructions") == 0) {
        if (!s || strlen(s) > INSTRUCTIONS_BYTES)
            return error_set(e, CHELA_E_ARGS, "instructions must be a text of at most %d bytes",
                             INSTRUCTIONS_BYTES);
    } else if (strcmp(key, "model") == 0) {
        CLEANUP(freep) char *full = s ? models_resolve(s) : NULL;
        if (!full)
            return error_set(e, CHELA_E_ARGS,
                             "no provider has the model \"%s\"; /model shows what there is",
                             s ? s : "");
    } else if (strcmp(key, "thinking") == 0) {
        bool ok = false;
        for (unsigned i = 0; s && i < ARRAY_LENGTH(thinking); i++)
            ok = ok || strcmp(thinking[i], s) == 0;
        if (!ok)
            return error_set(e, CHELA_E_ARGS, "thinking is one of off, low, medium, high");
    } else if (strcmp(key, "queue") == 0) {
        if (queue_mode_of(s, QUEUE_MODES) == QUEUE_MODES)
            return error_set(e, CHELA_E_ARGS,
                             "queue is one of steer, followup, collect, interrupt");
    } else if (strcmp(key, "agent") == 0) {
        if (!s || !agents_known(s))
            return error_set(e, CHELA_E_ARGS, "there is no agent \"%s\"", s ? s : "");
    } else if (strcmp(key, "verbose") != 0 && strcmp(key, "archived") != 0 &&
               strcmp(key, "pinned") != 0 && strcmp(key, "unread") != 0) {
        return error_set(e, CHELA_E_ARGS, "a session has no field \"%s\"", key);
    }
    return 0;
}

static void patched(void *owner, const struct error *e)
{
    struct change *c = owner;
    if (!e)
        tell_changed(c->session, "patch");
    else
        transcript_forget(c->session);
    change_end(c, e);
}

void session_patch(const char *session, struct json_object *fields, journal_fn *fn, void *owner)
{
    struct error e = {0};
    if (!json_object_is_type(fields, json_type_object))
        error_set(&e, CHELA_E_ARGS, "the fields of a session are an object");
    struct json_object *full = chela_json_new_object();
    json_object_object_foreach(fields, key, value)
    {
        if (e.class || check_field(key, value, &e) != 0)
            break;
        const char *s = chela_json_as_string(value, NULL);
        char *model = s && strcmp(key, "model") == 0 ? models_resolve(s) : NULL;
        if (model)
            chela_json_put_text(full, key, model);
        else
            chela_json_put(full, key, json_object_get(value));
        free(model);
    }
    struct change *c = change_new(session, fn, owner);
    if (e.class) {
        json_object_put(full);
        change_end(c, &e);
        return;
    }
    struct transcript *t = transcript_hot(session);
    if (t && t->fields) { /* in force from the next model call on */
        json_object_object_foreach(full, name, changed)
        {
            if (changed)
                chela_json_put(t->fields, name, json_object_get(changed));
            else
                json_object_object_del(t->fields, name);
        }
    }
    journal_session_patch(session, chela_json_text(full, NULL), patched, c);
    json_object_put(full);
}

/* ---- reset and deletion ---- */

static void reset_stored(void *owner, const struct error *e)
{
    struct change *c = owner;
    transcript_forget(c->session);
    if (!e)
        tell_changed(c->session, c->text);
    change_end(c, e);
}

static void nothing(void *owner, const struct hooks_result *r)
{
    (void)owner;
    (void)r;
}

static void tell_session_end(const struct change *c)
{
    if (!hooks_any(CHELA_SESSION_END))
        return;
    CLEANUP(freep) char *agent = session_key_agent(c->session);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "session", c->session);
    chela_json_put_text(o, "agent", agent);
    hooks_ask(CHELA_SESSION_END, agent, c->session, o, NULL, nothing, NULL);
}

static void reset_entered(void *owner)
{
    struct change *c = owner;
    c->entered = true;
    tell_session_end(c);
    journal_session_reset(c->session, c->text, clock_now_ms(), reset_stored, c);
}

void session_renew(const char *session, const char *reason, journal_fn *fn, void *owner)
{
    struct change *c = change_new(session, fn, owner);
    c->text = xstrdup(reason);
    tell_session_end(c);
    journal_session_reset(c->session, c->text, clock_now_ms(), reset_stored, c);
}

void session_reset(const char *session, const char *reason, journal_fn *fn, void *owner)
{
    struct change *c = change_new(session, fn, owner);
    c->text = xstrdup(reason && *reason ? reason : "reset");
    session_abort(session, NULL, "reset", NULL, NULL);
    session_enter(session, reset_entered, c);
}

static void delete_entered(void *owner)
{
    struct change *c = owner;
    c->entered = true;
    tell_session_end(c);
    journal_session_delete(c->session, reset_stored, c);
}

void session_delete(const char *session, journal_fn *fn, void *owner)
{
    struct change *c = change_new(session, fn, owner);
    c->text = xstrdup("delete");
    session_abort(session, NULL, "delete", NULL, NULL);
    session_enter(session, delete_entered, c);
}

/* ---- compaction ---- */

static void compacted(void *owner, unsigned removed, const struct error *e)
{
    struct change *c = owner;
    struct error none = {0};
    if (!e && removed == 0) {
        error_set(&none, CHELA_E_NOT_FOUND, "there is nothing to compact yet");
        e = &none;
    }
    if (!e)
        tell_changed(c->session, "compact");
    change_end(c, e);
}

static void compact_loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct change *c = owner;
    if (e) {
        change_end(c, e);
        return;
    }
    c->t = t;
    CLEANUP(freep) char *agent = session_key_agent(c->session);
    const char *chosen = transcript_field(t, "model");
    const char *model = *chosen ? chosen : agents_text(agent, "model");
    CLEANUP(freep) char *first = *model ? NULL : models_first();
    uint64_t all = transcript_tokens(t, 0);
    uint64_t keep = (uint64_t)settings_number_or("session.compaction.keep_recent_tokens", 20000);
    struct compaction_request q = {.transcript = t,
                                   .before = t->count,
                                   .keep = keep < all / 4 ? keep : all / 4,
                                   .model = *model  ? model
                                            : first ? first
                                                    : "",
                                   .instructions = c->text};
    compaction_run(&q, compacted, c);
}

static void compact_entered(void *owner)
{
    struct change *c = owner;
    c->entered = true;
    transcript_get(c->session, compact_loaded, c);
}

void session_compact(const char *session, const char *instructions, journal_fn *fn, void *owner)
{
    struct change *c = change_new(session, fn, owner);
    c->text = xstrdup(instructions ? instructions : "");
    session_enter(session, compact_entered, c);
}

/* ---- an entry that only goes into the history ---- */

static void inject_stored(void *owner, const struct error *e)
{
    struct change *c = owner;
    if (e && !c->error.class)
        c->error = *e;
    if (--c->left)
        return;
    if (c->error.class)
        transcript_forget(c->session);
    else
        tell_changed(c->session, "inject");
    change_end(c, c->error.class ? &c->error : NULL);
}

static void inject_loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct change *c = owner;
    if (e) {
        change_end(c, e);
        return;
    }
    c->t = t;
    char uuid[ID_UUID_SIZE];
    id_uuid(uuid);
    CLEANUP(freep) char *run = xprintf("inject-%s", uuid);
    CLEANUP(freep) char *agent = session_key_agent(c->session);
    struct json_object *content = chela_json_new_array();
    struct json_object *part = chela_json_push_object(content);
    chela_json_put_text(part, "type", "text");
    CLEANUP(freep)
    char *text = *c->label ? xprintf("[%s]\n%s", c->label, c->text) : xstrdup(c->text);
    chela_json_put_text(part, "text", text);
    transcript_append(t, t->last + 1, "assistant", chela_json_text(content, NULL), NULL);
    json_object_put(content);
    struct journal_message row = {.seq = t->last,
                                  .role = "assistant",
                                  .body = t->entries[t->count - 1].body,
                                  .at = clock_now_ms()};
    c->run = journal_run_begin(c->session, run);
    c->left = 2;
    journal_run_start(c->run, agent, 0, &row, 1, inject_stored, c);
    journal_final(c->run, NULL, NULL, 0, "DONE", inject_stored, c);
    struct json_object *o = chela_json_new_object(), *message = chela_json_put_object(o, "message");
    chela_json_put_text(o, "sessionKey", c->session);
    chela_json_put_text(message, "role", "assistant");
    chela_json_put_text(message, "content", text);
    chela_json_put_int(message, "timestamp", (int64_t)row.at);
    chela_json_put_int(o, "messageSeq", (int64_t)row.seq);
    events_emit(EVENT_SESSION_MESSAGE, c->session, "", o);
}

static void inject_entered(void *owner)
{
    struct change *c = owner;
    c->entered = true;
    transcript_get(c->session, inject_loaded, c);
}

void session_inject(const char *session, const char *text, const char *label, journal_fn *fn,
                    void *owner)
{
    struct change *c = change_new(session, fn, owner);
    if (!*text || strlen(text) > INJECT_BYTES) {
        struct error e = {0};
        error_set(&e, CHELA_E_ARGS, "the text must have 1 to %d bytes", INJECT_BYTES);
        change_end(c, &e);
        return;
    }
    c->text = xstrdup(text);
    c->label = xstrdup(label ? label : "");
    session_enter(session, inject_entered, c);
}
