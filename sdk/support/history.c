/*
 * What a channel may have missed (see history.h).
 */
#include "support/history.h"

#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>

#include "support/incoming.h"
#include "support/json.h"

enum { WAIT_MS = 2000 };

static void ask_next(struct chela_inst *in, void *arg);

bool chela_history_id(const char *id)
{
    size_t n = strspn(id, "0123456789");
    return n > 0 && n <= 20 && id[n] == '\0';
}

static bool newer(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    return n != m ? n > m : strcmp(a, b) > 0;
}

void chela_history_open(struct chela_history *h, struct chela_peer *p, chela_history_ask *ask)
{
    h->p = p;
    h->ask = ask;
    h->chats = chela_json_new_object();
    h->holes = chela_json_new_array();
}

void chela_history_close(struct chela_history *h)
{
    json_object_put(h->chats);
    json_object_put(h->holes);
}

static json_object *set(struct chela_history *h, const char *chat, const char *seen,
                        const char *kind)
{
    json_object *o = chela_json_object(h->chats, chat);
    if (!o)
        o = chela_json_put_object(h->chats, chat);
    chela_json_put_text(o, "seen", seen);
    chela_json_put_text(o, "kind", kind);
    return o;
}

void chela_history_recall(struct chela_history *h, json_object *kept)
{
    const size_t n = strlen(CHELA_HISTORY_PREFIX);
    json_object_object_foreach(kept, key, value)
    {
        const char *text = chela_json_as_string(value, NULL);
        char *seen = chela_need(strdup(text ? text : "")), *kind = strchr(seen, ' ');
        if (kind)
            *kind++ = '\0';
        if (kind && chela_history_id(seen) && strncmp(key, CHELA_HISTORY_PREFIX, n) == 0)
            set(h, key + n, seen, kind);
        free(seen);
    }
}

static bool has_hole(const struct chela_history *h, const char *chat)
{
    return chela_json_bool(chela_json_object(h->chats, chat), "hole", false);
}

static void later(struct chela_history *h, uint64_t ms)
{
    const struct chela_peer *p = h->p;
    if (!h->asking && !h->timer && !p->closing && !p->stopping)
        h->timer = p->in->host->local->timer(p->in, ms, ask_next, h);
}

/* first: somebody waits for this chat now. */
static void want(struct chela_history *h, const char *chat, bool first, uint64_t ms)
{
    json_object *list = chela_json_new_array();
    size_t n = chela_json_length(h->holes);
    if (h->asking && n) /* that one stays in front: its answer is on its way */
        chela_json_push(list, json_object_get(chela_json_at(h->holes, 0)));
    if (first)
        chela_json_push(list, chela_json_new_string(chat, strlen(chat)));
    for (size_t i = h->asking && n; i < n; i++) {
        json_object *other = chela_json_at(h->holes, i);
        if (strcmp(chela_json_as_string(other, NULL), chat) != 0)
            chela_json_push(list, json_object_get(other));
    }
    if (!first)
        chela_json_push(list, chela_json_new_string(chat, strlen(chat)));
    json_object_put(h->holes);
    h->holes = list;
    later(h, ms);
}

void chela_history_stored(struct chela_history *h, const char *chat, const char *id,
                          const char *kind)
{
    json_object *o = chela_json_object(h->chats, chat);
    if (!chela_history_id(id) || has_hole(h, chat) || (o && !newer(id, chela_member(o, "seen"))))
        return;
    set(h, chat, id, kind);
    char *key = chela_format("%s%s", CHELA_HISTORY_PREFIX, chat),
         *value = chela_format("%s %s", id, kind);
    chela_peer_keep(h->p, key, value);
    free(key);
    free(value);
}

void chela_history_lost(struct chela_history *h, const char *chat, const char *id, const char *kind,
                        uint64_t wait)
{
    json_object *o = chela_json_object(h->chats, chat);
    if (!o) {
        char *before = chela_format("%llu", strtoull(id, NULL, 10) - 1);
        o = set(h, chat, before, kind);
        free(before);
    }
    chela_json_put_bool(o, "hole", true);
    want(h, chat, true, wait > WAIT_MS ? wait : WAIT_MS);
}

void chela_history_over(struct chela_history *h, const char *chat, const char *id, const char *kind,
                        const struct chela_done *d)
{
    if (!chela_arrival_settled(d)) {
        chela_log(h->p->in, CHELA_WARN, "a message could not be stored, it is fetched again");
        chela_history_lost(h, chat, id, kind, d->retry_after_ms);
    } else if (d->error == CHELA_OK || d->error == CHELA_E_CONFLICT) {
        chela_history_stored(h, chat, id, kind);
    }
}

bool chela_history_waits(struct chela_history *h, const char *chat)
{
    if (!has_hole(h, chat))
        return false;
    want(h, chat, true, 0);
    return true;
}

void chela_history_restart(struct chela_history *h, const char *kind)
{
    json_object_object_foreach(h->chats, chat, o)
    {
        chela_json_put_bool(o, "hole", true);
        if (strcmp(chela_member(o, "kind"), kind) == 0)
            want(h, chat, false, 0);
    }
}

void chela_history_newest(struct chela_history *h, const char *chat, const char *id)
{
    json_object *o = chela_json_object(h->chats, chat);
    if (!has_hole(h, chat))
        return;
    if (newer(id, chela_member(o, "seen")))
        want(h, chat, false, 0);
    else
        chela_json_put_bool(o, "hole", false);
}

/* ---- asking ---- */

const char *chela_history_asked(const struct chela_history *h, const char **ret_kind)
{
    const char *chat = chela_json_as_string(chela_json_at(h->holes, 0), NULL);
    *ret_kind = chela_member(chat ? chela_json_object(h->chats, chat) : NULL, "kind");
    return chat;
}

static void ask_next(struct chela_inst *in, void *arg)
{
    struct chela_history *h = arg;
    const char *kind, *chat;
    (void)in;
    h->timer = 0;
    while ((chat = chela_history_asked(h, &kind)) && !h->p->closing && !h->p->stopping) {
        json_object *o = chela_json_object(h->chats, chat);
        if (chela_json_bool(o, "hole", false)) {
            const char *asked = chela_json_string(o, "asked", NULL);
            h->asking = true;
            h->ask(h->p, chat, asked ? asked : chela_member(o, "seen"));
            return;
        }
        json_object_array_del_idx(h->holes, 0, 1);
    }
}

void chela_history_page(struct chela_history *h, const char *newest)
{
    const char *kind, *chat = chela_history_asked(h, &kind);
    json_object *o = chat ? chela_json_object(h->chats, chat) : NULL;
    h->asking = false;
    if (o && newest) {
        chela_json_put_text(o, "asked", newest);
    } else if (chat) {
        if (o) {
            json_object_object_del(o, "asked");
            chela_json_put_bool(o, "hole", false);
        }
        json_object_array_del_idx(h->holes, 0, 1);
    }
    if (chela_json_length(h->holes))
        later(h, 0);
}

void chela_history_failed(struct chela_history *h, bool gone, uint64_t wait)
{
    const char *kind, *chat = chela_history_asked(h, &kind);
    h->asking = false;
    if (chat && gone) {
        json_object_object_del(h->chats, chat);
        json_object_array_del_idx(h->holes, 0, 1);
        wait = 0;
    } else if (wait < WAIT_MS) {
        wait = WAIT_MS;
    }
    if (chela_json_length(h->holes))
        later(h, wait);
}
