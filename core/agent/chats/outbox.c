/*
 * The outbox: replies cut into pieces for their channel, stored with the turn's end, and what a
 * crash left of them. Called by turn.c; asks hooks; outbox_lane.c sends.
 */
#include "agent/chats/outbox.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/chats/markup.h"
#include "agent/chats/outbox_lane.h"
#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/tools/hooks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"

struct outbox_chunks {
    struct journal_chunk *rows;
    unsigned count;
};

/* ---- preparing ---- */

struct preparing {
    struct reply *r;
    outbox_fn *fn;
    void *owner;
};

/* edits: the draft that this piece takes the place of, or "". */
static char *make_body(const struct reply *r, const char *piece, bool first, const char *edits,
                       bool media)
{
    const struct message *m = r->message;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "account", m->account);
    chela_json_put_text(o, "chat", m->chat);
    chela_json_put_text(o, "thread", m->thread);
    chela_json_put_text(o, "replyTo", first && m->chat_type != CHELA_DIRECT ? m->event : "");
    chela_json_put_text(o, "text", piece);
    if (*edits)
        chela_json_put_text(o, "edits", edits);
    if (media)
        chela_json_put(o, "media", json_object_get(r->media));
    if (r->extra)
        chela_json_put(o, "extra", json_object_get(r->extra));
    char *text = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return text;
}

static void add_row(struct outbox_chunks *c, const struct reply *r, const char *piece, bool media,
                    uint32_t send_class)
{
    unsigned i = c->count++;
    const char *edits = i == 0 && r->draft && *piece ? r->draft : "";
    c->rows[i].key = xprintf("%s.%u", r->run, i);
    c->rows[i].body = make_body(r, piece, i == 0, edits, media);
    c->rows[i].send_class = *edits ? (uint32_t)CHELA_SEND_IDEMPOTENT : send_class;
}

/* Files go with the last piece, or by themselves where that only edits what is there already. */
static void cut(struct preparing *p)
{
    struct reply *r = p->r;
    struct outbox_chunks *c = xcalloc(1, sizeof *c);
    struct instance *in = lane_channel(r->message->channel);
    const struct chela_channel *ch = in ? instance_iface(in)->channel : NULL;
    bool media = ch && chela_json_length(r->media) > 0 && (ch->can & CHELA_CAN_MEDIA);
    if (in && (*r->text || media)) {
        char **pieces;
        unsigned count = pieces_make(r->text, ch->dialect, ch->text_limit, ch->unit, &pieces);
        bool draft = r->draft && *r->draft;
        c->rows = xcalloc(count + 2, sizeof *c->rows);
        for (unsigned i = 0; *r->text && i < count; i++) {
            bool with = media && i + 1 == count && !(draft && i == 0);
            add_row(c, r, pieces[i], with, ch->send_class);
        }
        if (media && (!*r->text || (draft && count == 1)))
            add_row(c, r, "", true, ch->send_class);
        pieces_free(pieces, count);
    }
    outbox_fn *fn = p->fn;
    void *owner = p->owner;
    free(p);
    fn(owner, c);
}

static void hooks_done(void *owner, const struct hooks_result *h)
{
    struct preparing *p = owner;
    if (h->blocked || h->text) {
        free(p->r->text);
        p->r->text = xstrdup(h->blocked ? "" : h->text);
    }
    cut(p);
}

void outbox_prepare(struct reply *r, outbox_fn *fn, void *owner)
{
    struct preparing *p = xcalloc(1, sizeof *p);
    p->r = r;
    p->fn = fn;
    p->owner = owner;
    if (!*r->text || !hooks_any(CHELA_MESSAGE_OUT)) {
        cut(p);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "text", r->text);
    chela_json_put_text(o, "channel", r->message->channel);
    chela_json_put_text(o, "chat", r->message->chat);
    chela_json_put_text(o, "run", r->run);
    hooks_ask(CHELA_MESSAGE_OUT, r->message->channel, r->session, o, "text", hooks_done, p);
}

const struct journal_chunk *outbox_rows(const struct outbox_chunks *chunks, unsigned *ret_count)
{
    *ret_count = chunks->count;
    return chunks->rows;
}

void outbox_drop(struct outbox_chunks *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->count; i++) {
        free((char *)(uintptr_t)c->rows[i].key);
        free((char *)(uintptr_t)c->rows[i].body);
    }
    free(c->rows);
    free(c);
}

void outbox_send(struct reply *r, struct outbox_chunks *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct json_object *body = NULL;
        if (chela_json_parse(c->rows[i].body, strlen(c->rows[i].body), NULL, &body, NULL) == 0)
            lane_enqueue(&(struct lane_piece){.run = r->run,
                                              .session = r->session,
                                              .key = c->rows[i].key,
                                              .body = body,
                                              .send_class = c->rows[i].send_class});
    }
    outbox_drop(c);
    reply_free(r);
}

void outbox_resume(const struct outbox_left *left)
{
    struct json_object *body = NULL;
    if (chela_json_parse(left->body, strlen(left->body), NULL, &body, NULL) != 0)
        return;
    if (chela_json_bool(body, "draft", false)) { /* its run goes on and makes a new one */
        journal_chunk_state(left->session, left->run, left->key, left->send_class, "WITHDRAWN", "",
                            NULL, NULL);
        json_object_put(body);
        return;
    }
    struct instance *in = instance_find(ROLE_CHANNEL, chela_member(body, "channel"));
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    uint64_t age = clock_now_ms() > left->at ? clock_now_ms() - left->at : 0;
    uint32_t class = left->send_class;
    bool edit = *chela_member(body, "edits") != '\0'; /* the same edit twice is one */
    if (class == CHELA_SEND_IDEMPOTENT && c && !edit && age > c->key_window_ms)
        class = c->find ? CHELA_SEND_QUERY : CHELA_SEND_NEITHER;
    if (class == CHELA_SEND_QUERY && c && !c->find)
        class = CHELA_SEND_NEITHER;
    lane_enqueue(&(struct lane_piece){.run = left->run,
                                      .session = left->session,
                                      .key = left->key,
                                      .body = body,
                                      .send_class = class,
                                      .query = class == CHELA_SEND_QUERY,
                                      .doubt = class == CHELA_SEND_NEITHER});
}

/* ---- what is no turn's reply ---- */

static struct json_object *loose_body(const struct message *m, const char *piece,
                                      struct json_object *buttons)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "account", m->account);
    chela_json_put_text(o, "chat", m->chat);
    chela_json_put_text(o, "thread", m->thread);
    chela_json_put_text(o, "text", piece);
    if (buttons)
        chela_json_put(o, "buttons", json_object_get(buttons));
    return o;
}

void outbox_notice(const struct message *m, const char *text, struct json_object *buttons)
{
    static uint64_t serial; /* one message may be followed by several */
    struct instance *in = lane_channel(m->channel);
    serial++;
    if (!in || !*text)
        return;
    const struct chela_channel *c = instance_iface(in)->channel;
    char **pieces;
    unsigned count = pieces_make(text, c->dialect, c->text_limit, c->unit, &pieces);
    for (unsigned i = 0; i < count; i++) {
        bool with = i + 1 == count && (c->can & CHELA_CAN_BUTTONS);
        CLEANUP(freep)
        char *key = xprintf("notice.%s.%llu.%u", m->event, (unsigned long long)serial, i);
        lane_enqueue(&(struct lane_piece){.run = "",
                                          .session = "",
                                          .key = key,
                                          .body = loose_body(m, pieces[i], with ? buttons : NULL),
                                          .send_class = CHELA_SEND_NEITHER});
    }
    pieces_free(pieces, count);
}

struct post {
    char *session;
    struct outbox_chunks *chunks;
    outbox_post_fn *fn;
    void *owner;
};

static void posted(void *owner, const struct error *e)
{
    struct post *p = owner;
    bool again = e && e->class == CHELA_E_CONFLICT;
    if (e) {
        outbox_drop(p->chunks);
    } else {
        struct reply *r = xcalloc(1, sizeof *r);
        r->run = xstrdup(JOURNAL_POST);
        r->session = xstrdup(p->session);
        outbox_send(r, p->chunks);
    }
    if (p->fn)
        p->fn(p->owner, again ? NULL : e);
    free(p->session);
    free(p);
}

static void post_failed(void *arg)
{
    struct error e = {0};
    error_set(&e, CHELA_E_UNSUPPORTED, "the channel is not there or sends nothing");
    struct post *p = arg;
    p->chunks = NULL;
    posted(p, &e);
}

void outbox_post(const char *session, const struct message *m, const char *text,
                 struct json_object *buttons, outbox_post_fn *fn, void *owner)
{
    struct post *p = xcalloc(1, sizeof *p);
    struct instance *in = lane_channel(m->channel);
    p->session = xstrdup(session);
    p->fn = fn;
    p->owner = owner;
    if (!in || !*text) {
        loop_defer(post_failed, p);
        return;
    }
    const struct chela_channel *c = instance_iface(in)->channel;
    char **pieces;
    p->chunks = xcalloc(1, sizeof *p->chunks);
    p->chunks->count = pieces_make(text, c->dialect, c->text_limit, c->unit, &pieces);
    p->chunks->rows = xcalloc(p->chunks->count ? p->chunks->count : 1, sizeof *p->chunks->rows);
    for (unsigned i = 0; i < p->chunks->count; i++) {
        bool with = i + 1 == p->chunks->count && (c->can & CHELA_CAN_BUTTONS);
        struct json_object *body = loose_body(m, pieces[i], with ? buttons : NULL);
        p->chunks->rows[i] = (struct journal_chunk){.key = xprintf("post.%s.%u", m->event, i),
                                                    .body = xstrdup(chela_json_text(body, NULL)),
                                                    .send_class = c->send_class};
        json_object_put(body);
    }
    pieces_free(pieces, p->chunks->count);
    journal_post(session, p->chunks->rows, p->chunks->count, posted, p);
}
