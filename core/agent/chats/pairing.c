/*
 * Pairing (see pairing.h). A person is a channel and a sender there; one row each in the journal's
 * key-value space "@pairing".
 */
#include "agent/chats/pairing.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/json.h>

#include "agent/chats/outbox.h"
#include "agent/flow.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/loop.h"

enum { WAITING_MOST = 3, CODE_LENGTH = 8, CODE_MS = 3600 * 1000 };

static const char space[] = "@pairing";

struct person {
    char *channel, *account, *sender, *name, *chat, *by;
    char code[CODE_LENGTH + 1];
    bool paired;
    uint64_t at, expires; /* ms */
};

static struct map people; /* "channel\nsender" */

static void person_free(void *p)
{
    struct person *w = p;
    free(w->channel);
    free(w->account);
    free(w->sender);
    free(w->name);
    free(w->chat);
    free(w->by);
    free(w);
}

static char *key_of(const char *channel, const char *sender)
{
    return xprintf("%s\n%s", channel, sender);
}

static bool expired(const struct person *p)
{
    return !p->paired && p->expires <= clock_now_ms();
}

/* ---- the journal ---- */

static char *copy(struct json_object *o, const char *name)
{
    const char *s = chela_json_string(o, name, NULL);
    return xstrdup(s ? s : "");
}

static struct json_object *describe(const struct person *p)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", p->channel);
    chela_json_put_text(o, "account", p->account);
    chela_json_put_text(o, "sender", p->sender);
    chela_json_put_text(o, "name", p->name);
    chela_json_put_text(o, "chat", p->chat);
    chela_json_put_text(o, "state", p->paired ? "paired" : "waiting");
    chela_json_put_text(o, "code", p->code);
    chela_json_put_int(o, "at", (int64_t)p->at);
    chela_json_put_int(o, "expires", (int64_t)p->expires);
    chela_json_put_text(o, "by", p->by);
    return o;
}

static void load_row(void *owner, const struct journal_row *row)
{
    struct json_object *o = NULL;
    (void)owner;
    if (row->columns < 2 ||
        chela_json_parse(row->values[1].s.s, row->values[1].s.n, NULL, &o, NULL) != 0)
        return;
    struct person *p = xcalloc(1, sizeof *p);
    p->channel = copy(o, "channel");
    p->account = copy(o, "account");
    p->sender = copy(o, "sender");
    p->name = copy(o, "name");
    p->chat = copy(o, "chat");
    p->by = copy(o, "by");
    const char *code = chela_json_string(o, "code", NULL),
               *state = chela_json_string(o, "state", NULL);
    memcpy(p->code, code ? code : "", code && strlen(code) == CODE_LENGTH ? CODE_LENGTH : 0);
    p->paired = state && strcmp(state, "paired") == 0;
    p->at = (uint64_t)chela_json_int(o, "at", 0);
    p->expires = (uint64_t)chela_json_int(o, "expires", 0);
    json_object_put(o);
    CLEANUP(freep) char *key = key_of(p->channel, p->sender);
    struct person *before = map_set(&people, key, p);
    if (before)
        person_free(before);
}

void pairing_load(journal_fn *fn, void *owner)
{
    pairing_reset();
    journal_kv_list(space, "", load_row, fn, owner);
}

static void store(const struct person *p, journal_fn *fn, void *owner)
{
    CLEANUP(freep) char *key = key_of(p->channel, p->sender);
    struct json_object *o = describe(p);
    size_t n;
    const char *text = chela_json_text(o, &n);
    journal_kv_put(space, key, chela_sn(text, n), true, fn, owner);
    json_object_put(o);
}

static void noted(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("ingress", "a pairing code could not be stored: %s", e->text);
}

/* ---- codes ---- */

/* Those that have expired make room. */
static void sweep(void)
{
    const struct map_slot *slot;
    char *gone = NULL;
    do {
        gone = NULL;
        for (size_t i = 0; !gone && map_next(&people, &i, &slot);)
            if (expired(slot->value))
                gone = xstrdup(slot->key);
        if (gone) {
            person_free(map_remove(&people, gone));
            journal_kv_delete(space, gone, noted, NULL);
            free(gone);
        }
    } while (gone);
}

static unsigned waiting_on(const struct message *m)
{
    const struct map_slot *slot;
    unsigned n = 0;
    for (size_t i = 0; map_next(&people, &i, &slot);) {
        const struct person *p = slot->value;
        n += !p->paired && strcmp(p->channel, m->channel) == 0 &&
             strcmp(p->account, m->account) == 0;
    }
    return n;
}

static void make_code(char *out)
{
    static const char letters[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"; /* 32, no 0 O 1 I */
    unsigned char bytes[CODE_LENGTH];
    id_bytes(bytes, sizeof bytes);
    for (unsigned i = 0; i < CODE_LENGTH; i++)
        out[i] = letters[bytes[i] % 32];
    out[CODE_LENGTH] = '\0';
}

bool pairing_has(const char *channel, const char *sender)
{
    CLEANUP(freep) char *key = key_of(channel, sender);
    const struct person *p = map_get(&people, key);
    return p && p->paired;
}

const char *pairing_code(const struct message *m, bool *ret_fresh)
{
    *ret_fresh = false;
    sweep();
    CLEANUP(freep) char *key = key_of(m->channel, m->sender);
    struct person *p = map_get(&people, key);
    if (p)
        return p->code;
    if (!*m->sender || waiting_on(m) >= WAITING_MOST)
        return NULL;
    p = xcalloc(1, sizeof *p);
    p->channel = xstrdup(m->channel);
    p->account = xstrdup(m->account);
    p->sender = xstrdup(m->sender);
    p->name = xstrdup(m->sender_name);
    p->chat = xstrdup(m->chat);
    p->by = xstrdup("");
    make_code(p->code);
    p->at = clock_now_ms();
    p->expires = p->at + CODE_MS;
    map_set(&people, key, p);
    store(p, noted, NULL);
    *ret_fresh = true;
    log_info("ingress", "%s: %s (%s) is unknown and waits to be paired", m->channel, m->sender,
             m->sender_name);
    return p->code;
}

/* ---- the owner's side ---- */

struct json_object *pairing_list(void)
{
    struct json_object *list = chela_json_new_array();
    const struct map_slot *slot;
    sweep();
    for (size_t i = 0; map_next(&people, &i, &slot);)
        chela_json_push(list, describe(slot->value));
    return list;
}

struct answer {
    journal_fn *fn;
    void *owner;
};

static void not_found(void *arg)
{
    struct answer *a = arg;
    struct error e = {0};
    error_set(&e, CHELA_E_NOT_FOUND, "nobody waits there with that code or name");
    a->fn(a->owner, &e);
    free(a);
}

static void answer_not_found(journal_fn *fn, void *owner)
{
    struct answer *a = xcalloc(1, sizeof *a);
    *a = (struct answer){fn, owner};
    loop_defer(not_found, a);
}

static void welcome(const struct person *p)
{
    CLEANUP(freep) char *event = xprintf("pairing.%s", p->code);
    struct message m = {.channel = p->channel,
                        .account = p->account,
                        .chat = p->chat,
                        .thread = (char *)(uintptr_t) "",
                        .event = event};
    outbox_notice(&m, "You are paired now. Write to me.", NULL);
}

void pairing_approve(const char *channel, const char *code, const char *by, journal_fn *fn,
                     void *owner)
{
    const struct map_slot *slot;
    sweep();
    for (size_t i = 0; map_next(&people, &i, &slot);) {
        struct person *p = slot->value;
        if (p->paired || strcmp(p->channel, channel) != 0 || strcasecmp(p->code, code) != 0)
            continue;
        p->paired = true;
        p->at = clock_now_ms();
        p->expires = 0;
        free(p->by);
        p->by = xstrdup(by);
        welcome(p);
        p->code[0] = '\0';
        log_info("ingress", "%s: %s is paired (by %s)", channel, p->sender, by);
        store(p, fn, owner);
        return;
    }
    answer_not_found(fn, owner);
}

void pairing_revoke(const char *channel, const char *sender, journal_fn *fn, void *owner)
{
    CLEANUP(freep) char *key = key_of(channel, sender);
    struct person *p = map_remove(&people, key);
    if (!p) {
        answer_not_found(fn, owner);
        return;
    }
    person_free(p);
    journal_kv_delete(space, key, fn, owner);
}

void pairing_reset(void)
{
    map_free(&people, person_free);
    memset(&people, 0, sizeof people);
}
