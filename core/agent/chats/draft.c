/*
 * Drafts (see draft.h). A preview passes by itself and leaves nothing behind. Else the draft is a
 * message: its row in the outbox is on disk before the first one is sent, so that after a crash the
 * run that goes on finds the message and edits it, instead of sending a second one.
 */
#include "agent/chats/draft.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/markup.h"
#include "agent/chats/outbox_lane.h"
#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/runs.h"
#include "agent/tools/hooks.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"

enum { PACE_MS = 1000, PREVIEW_MS = 20000 /* the shortest-lived previews last 30 s */ };

enum draft_state {
    DRAFT_NONE,    /* nothing is sent yet */
    DRAFT_STORING, /* its row is written */
    DRAFT_SENDING, /* the first one is under way */
    DRAFT_SHOWN,
    DRAFT_OFF /* it could not be sent, or the turn ended before */
};

struct draft {
    struct message *m;
    char *run, *session, *key, *message, *shown;
    struct journal_run *journal;
    enum draft_state state;
    bool editing, dirty, over, gone;
    bool preview; /* as long as the channel takes one here */
    bool resting; /* what is shown is the newest; the timer renews it */
    uint64_t timer;
    draft_fn *settled;
    void *owner;
};

static void step(struct draft *d);

static void destroy(struct draft *d)
{
    lane_forget(d);
    loop_timer_stop(d->timer);
    message_free(d->m);
    free(d->run);
    free(d->session);
    free(d->key);
    free(d->message);
    free(d->shown);
    free(d);
}

struct draft *draft_open(const struct message *m, const struct run *r, struct journal_run *journal,
                         const char *known)
{
    struct instance *in = lane_channel(m->channel);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    if (!c || !c->edit || !(c->can & CHELA_CAN_DRAFT) || hooks_any(CHELA_MESSAGE_OUT) ||
        !settings_number_or("messages.drafts", 1))
        return NULL;
    struct draft *d = xcalloc(1, sizeof *d);
    d->m = message_copy(m);
    d->run = xstrdup(r->id);
    d->session = xstrdup(r->session);
    d->key = xprintf("%s.draft", r->id);
    d->journal = journal;
    if (known && *known) {
        d->message = xstrdup(known);
        d->state = DRAFT_SHOWN;
    }
    d->preview =
        d->state == DRAFT_NONE && (c->can & CHELA_CAN_PREVIEW) && m->chat_type == CHELA_DIRECT;
    return d;
}

static const struct chela_channel *channel_of(const struct draft *d)
{
    struct instance *in = lane_channel(d->m->channel);
    return in ? instance_iface(in)->channel : NULL;
}

static uint64_t pace(const struct draft *d)
{
    const struct chela_channel *c = channel_of(d);
    return c && c->edit_ms ? c->edit_ms : PACE_MS;
}

static void settle(struct draft *d)
{
    draft_fn *fn = d->settled;
    d->settled = NULL;
    if (fn)
        fn(d->owner, d->state == DRAFT_SHOWN ? d->message : NULL);
}

static void due(void *arg);
static void show_preview(struct draft *d);

static void wait(struct draft *d, uint64_t ms)
{
    loop_timer_stop(d->timer);
    d->timer = loop_timer(ms, due, d);
}

static void due(void *arg)
{
    struct draft *d = arg;
    d->timer = 0;
    if (d->dirty) {
        step(d);
    } else if (d->resting) {
        show_preview(d);
    } else if (d->preview && d->shown) {
        d->resting = true;
        wait(d, PREVIEW_MS);
    }
}

/* What one message can show of the answer so far: a longer one shows its beginning until the final
 * brings the rest. Free it; NULL if there is nothing new. */
static char *next_text(const struct draft *d)
{
    const struct run *r = runs_find(d->run);
    const struct chela_channel *c = channel_of(d);
    if (!r || !c || !r->text.n)
        return NULL;
    CLEANUP(freep) char *text = xmemdup(r->text.p, r->text.n);
    char **pieces, *first = NULL;
    unsigned count = pieces_make(text, c->dialect, c->text_limit, c->unit, &pieces);
    if (count && (!d->shown || strcmp(pieces[0], d->shown) != 0))
        first = xstrdup(pieces[0]);
    pieces_free(pieces, count);
    return first;
}

static struct json_object *body_of(const struct draft *d, const char *text)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", d->m->channel);
    chela_json_put_text(o, "account", d->m->account);
    chela_json_put_text(o, "chat", d->m->chat);
    chela_json_put_text(o, "thread", d->m->thread);
    chela_json_put_text(o, "replyTo", d->m->chat_type != CHELA_DIRECT ? d->m->event : "");
    chela_json_put_text(o, "text", text);
    chela_json_put_bool(o, "draft", true);
    if (d->message)
        chela_json_put_text(o, "edits", d->message);
    struct json_object *extra = chela_json_put_object(o, "extra");
    chela_json_put_text(extra, "run", d->run);
    chela_json_put_text(extra, "session", d->session);
    chela_json_put_bool(extra, "draft", true);
    if (d->preview)
        chela_json_put_bool(extra, "preview", true);
    return o;
}

/* What is to be shown now, on its way. */
static void enqueue(const struct draft *d, const char *key, lane_fn *fn, void *owner)
{
    lane_enqueue(&(struct lane_piece){.run = d->run,
                                      .session = d->session,
                                      .key = key,
                                      .body = body_of(d, d->shown),
                                      .draft = true,
                                      .fn = fn,
                                      .owner = owner});
}

static void noted(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("outbox", "what became of a draft could not be stored: %s", e->text);
}

static void note(const struct draft *d, const char *state, const char *external)
{
    const struct chela_channel *c = channel_of(d);
    journal_chunk_state(d->session, d->run, d->key,
                        c ? c->send_class : (uint32_t)CHELA_SEND_IDEMPOTENT, state, external, noted,
                        NULL);
}

static void edited(void *owner, const struct error *e, const char *external)
{
    struct draft *d = owner;
    (void)external;
    d->editing = false;
    if (e)
        log_debug("outbox", "draft %s: %s", d->key, e->text);
    uint64_t ms = pace(d);
    wait(d, e && e->retry_after_ms > ms ? e->retry_after_ms : ms);
}

static void sent(void *owner, const struct error *e, const char *external)
{
    struct draft *d = owner;
    if (e || !*external) {
        bool doubt = e && (e->class == CHELA_E_TIMEOUT || e->class == CHELA_E_GONE);
        log_info("outbox", "draft %s is not shown: %s", d->key, e ? e->text : "it has no id");
        d->state = DRAFT_OFF;
        note(d, doubt ? "UNKNOWN" : "FAILED", "");
    } else {
        d->state = DRAFT_SHOWN;
        d->message = xstrdup(external);
        note(d, "SENT", external);
        if (!d->over)
            wait(d, pace(d));
    }
    settle(d);
    if (d->gone)
        destroy(d);
}

static void stored(void *owner, const struct error *e)
{
    struct draft *d = owner;
    if (e || d->over) {
        d->state = DRAFT_OFF;
        if (!e)
            note(d, "WITHDRAWN", "");
        settle(d);
        if (d->gone)
            destroy(d);
        return;
    }
    d->state = DRAFT_SENDING;
    enqueue(d, d->key, sent, d);
}

static void store(struct draft *d)
{
    struct json_object *body = body_of(d, d->shown);
    struct journal_chunk row = {d->key, chela_json_text(body, NULL), channel_of(d)->send_class};
    d->state = DRAFT_STORING;
    journal_draft(d->journal, &row, stored, d);
    json_object_put(body);
}

static void edit(struct draft *d, lane_fn *fn, void *owner)
{
    CLEANUP(freep) char *key = xprintf("%s.edit", d->key);
    enqueue(d, key, fn, owner);
}

/* A channel that has none in this chat gets a draft, from the next step on. */
static void previewed(void *owner, const struct error *e, const char *external)
{
    struct draft *d = owner;
    uint64_t ms = pace(d);
    (void)external;
    d->editing = false;
    if (e)
        log_debug("outbox", "preview %s: %s", d->key, e->text);
    if (e && !e->retry_after_ms && e->class != CHELA_E_NETWORK && e->class != CHELA_E_TIMEOUT) {
        d->preview = false;
        d->dirty = true;
        free(d->shown);
        d->shown = NULL;
    }
    wait(d, e && e->retry_after_ms > ms ? e->retry_after_ms : ms);
}

static void show_preview(struct draft *d)
{
    d->resting = false;
    d->editing = true;
    enqueue(d, d->key, previewed, d);
}

static void step(struct draft *d)
{
    char *text = next_text(d);
    d->dirty = false;
    if (!text)
        return;
    free(d->shown);
    d->shown = text;
    if (d->preview) {
        show_preview(d);
    } else if (d->state == DRAFT_NONE) {
        store(d);
    } else {
        d->editing = true;
        edit(d, edited, d);
    }
}

/* A short answer that is over within one step needs no draft, so the first one waits, too. */
void draft_grow(struct draft *d)
{
    if (!d || d->over || d->state == DRAFT_OFF)
        return;
    d->dirty = true;
    bool busy = d->editing || d->state == DRAFT_STORING || d->state == DRAFT_SENDING;
    if (!busy && (!d->timer || d->resting))
        wait(d, d->state == DRAFT_NONE && !d->resting ? pace(d) : 0);
    d->resting = false;
}

static void stop(struct draft *d)
{
    d->over = true;
    loop_timer_stop(d->timer);
    d->timer = 0;
}

void draft_settle(struct draft *d, draft_fn *settled, void *owner)
{
    if (!d) {
        settled(owner, NULL);
        return;
    }
    stop(d);
    d->settled = settled;
    d->owner = owner;
    if (d->editing) /* the final says more; one that is under way is in front of it */
        lane_forget(d);
    if (d->state != DRAFT_STORING && d->state != DRAFT_SENDING)
        settle(d);
}

void draft_leave(struct draft *d)
{
    if (!d || d->over)
        return;
    stop(d);
    bool passes = d->preview && d->shown; /* what is seen now would pass: it becomes a message */
    char *text = d->state == DRAFT_SHOWN || passes ? next_text(d) : NULL;
    if (!text && !passes)
        return;
    if (text) {
        free(d->shown);
        d->shown = text;
    }
    d->preview = false;
    edit(d, NULL, NULL); /* a send where there is no message yet */
}

void draft_free(struct draft *d)
{
    if (!d)
        return;
    stop(d);
    d->settled = NULL;
    if (d->state == DRAFT_STORING || d->state == DRAFT_SENDING)
        d->gone = true; /* what became of it is noted first */
    else
        destroy(d);
}
