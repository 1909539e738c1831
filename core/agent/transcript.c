/*
 * Transcripts in memory: reading, appending, cutting, forgetting. Rendering is in render.c.
 */
#include "agent/transcript.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/journal/journal.h"
#include "agent/models/tokens.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { PAGE = 2000, ENTRY_COST = 160 };

struct waiter {
    struct link link;
    transcript_fn *fn;
    void *owner;
};

static struct map by_session;
static struct link lru = {&lru, &lru}; /* least recently used first */
static size_t total;

const char *entry_role_name(enum entry_role r)
{
    static const char *const names[] = {"user", "assistant", "tool", "none"};
    return names[r];
}

static enum entry_role role_of(const char *s, size_t n)
{
    for (unsigned i = 0; i < ENTRY_NONE; i++) {
        if (strlen(entry_role_name((enum entry_role)i)) == n &&
            memcmp(entry_role_name((enum entry_role)i), s, n) == 0)
            return (enum entry_role)i;
    }
    return ENTRY_NONE;
}

static void charge(struct transcript *t, size_t more)
{
    t->bytes += more;
    total += more;
}

void transcript_charge(struct transcript *t, size_t before, size_t now)
{
    t->bytes += now - before;
    total += now - before;
}

static void entry_clear(struct transcript *t, struct entry *e)
{
    size_t n = e->body_n + e->rendered_n + ENTRY_COST;
    t->bytes -= n;
    total -= n;
    free(e->body);
    free(e->rendered);
}

static void clear(struct transcript *t)
{
    for (unsigned i = 0; i < t->count; i++)
        entry_clear(t, &t->entries[i]);
    t->count = 0;
    map_free(&t->call_ids, NULL);
    memset(&t->call_ids, 0, sizeof t->call_ids);
    free(t->id);
    free(t->agent);
    free(t->summary);
    free(t->rendered_for);
    free(t->known_model);
    t->id = t->agent = t->summary = t->rendered_for = t->known_model = NULL;
    json_object_put(t->fields);
    t->fields = NULL;
    t->created = t->updated = t->epoch = t->first = t->last = t->summary_seq = 0;
    t->rendered = t->rendered_from = t->tool_calls = t->known_count = 0;
    t->known_tokens = 0;
    t->loaded = t->gap = t->stale = false;
}

static void transcript_free(struct transcript *t)
{
    list_remove(&t->lru);
    if (map_get(&by_session, t->session) == t)
        map_remove(&by_session, t->session);
    clear(t);
    free(t->entries);
    free(t->pairs);
    free(t->session);
    free(t);
}

static void evict(void)
{
    size_t limit = (size_t)settings_number_or("session.cache", 64 << 20);
    LIST_EACH(l, &lru)
    {
        if (total <= limit)
            return;
        struct transcript *t = CONTAINER_OF(l, struct transcript, lru);
        if (t->refs == 0)
            transcript_free(t);
    }
}

struct transcript *transcript_ref(struct transcript *t)
{
    t->refs++;
    return t;
}

void transcript_release(struct transcript *t)
{
    if (!t || --t->refs)
        return;
    list_remove(&t->lru);
    list_append(&lru, &t->lru);
    if (t->stale || !t->loaded)
        transcript_free(t);
    evict();
}

void transcript_forget(const char *session)
{
    struct transcript *t = map_get(&by_session, session);
    if (!t)
        return;
    map_remove(&by_session, session); /* who asks next reads it anew */
    t->stale = true;
    if (t->refs == 0)
        transcript_free(t);
}

struct transcript *transcript_hot(const char *session)
{
    struct transcript *t = map_get(&by_session, session);
    return t && t->loaded && !t->stale ? t : NULL;
}

static void note_parts(struct transcript *t, struct entry *e)
{
    if (!strstr(e->body, "\"toolCall\"") && !strstr(e->body, "\"hash\""))
        return;
    struct json_object *parts = NULL;
    if (chela_json_parse(e->body, e->body_n, NULL, &parts, NULL) != 0)
        return;
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        struct json_object *part = chela_json_at(parts, i);
        const char *type = chela_json_string(part, "type", NULL);
        const char *id = chela_json_string(part, "id", NULL);
        if (type && strcmp(type, "toolCall") == 0) {
            e->calls = true;
            t->tool_calls++;
            if (id && *id)
                map_set(&t->call_ids, id, t);
        } else if (chela_json_string(part, "hash", NULL) ||
                   (type && strcmp(type, "toolResult") == 0 && strstr(e->body, "\"hash\""))) {
            e->media = true;
            e->tokens += TOKENS_IMAGE;
        }
    }
    json_object_put(parts);
}

/* Takes over body. */
static void add(struct transcript *t, uint64_t seq, enum entry_role role, char *body, size_t n)
{
    if (t->count == t->room) {
        t->room = t->room ? t->room * 2 : 32;
        t->entries = xrealloc(t->entries, t->room * sizeof *t->entries);
        t->pairs = xrealloc(t->pairs, t->room * sizeof *t->pairs);
    }
    struct entry *e = &t->entries[t->count];
    memset(e, 0, sizeof *e);
    e->seq = seq;
    e->role = role;
    e->body = body;
    e->body_n = n;
    e->tokens = tokens_of(body, n) + TOKENS_MESSAGE;
    note_parts(t, e);
    e->sum = e->tokens + (t->count ? t->entries[t->count - 1].sum : 0);
    t->pairs[t->count] = (struct chela_pair){chela_s(entry_role_name(role)), chela_sn(body, n)};
    t->count++;
    charge(t, n + ENTRY_COST);
}

int transcript_append(struct transcript *t, uint64_t seq, const char *role, const char *body,
                      struct error *e)
{
    if (seq != t->last + 1)
        return error_set(e, CHELA_E_PROTOCOL, "session %s: message %llu follows %llu", t->session,
                         (unsigned long long)seq, (unsigned long long)t->last);
    t->last = seq;
    t->updated = clock_now_ms();
    size_t n = strlen(body);
    enum entry_role r = role_of(role, strlen(role));
    if (r != ENTRY_NONE)
        add(t, seq, r, xmemdup(body, n), n);
    return 0;
}

void transcript_compacted(struct transcript *t, uint64_t seq, const char *summary)
{
    unsigned drop = 0;
    while (drop < t->count && t->entries[drop].seq <= seq)
        entry_clear(t, &t->entries[drop++]);
    t->count -= drop;
    memmove(t->entries, t->entries + drop, t->count * sizeof *t->entries);
    memmove(t->pairs, t->pairs + drop, t->count * sizeof *t->pairs);
    uint64_t sum = 0;
    for (unsigned i = 0; i < t->count; i++)
        t->entries[i].sum = sum += t->entries[i].tokens;
    t->rendered = t->rendered > drop ? t->rendered - drop : 0;
    t->rendered_from = t->rendered_from > drop ? t->rendered_from - drop : 0;
    t->known_count = 0;
    t->known_tokens = 0;
    free(t->summary);
    t->summary = xstrdup(summary);
    t->summary_seq = seq;
}

const char *transcript_field(const struct transcript *t, const char *key)
{
    const char *s = chela_json_string(t->fields, key, NULL);
    return s ? s : "";
}

/* ---- reading ---- */

static void finish(struct transcript *t, const struct error *e)
{
    struct link mine;
    list_init(&mine);
    while (!list_empty(&t->waiters)) {
        struct link *l = t->waiters.next;
        list_remove(l);
        list_append(&mine, l);
    }
    t->loaded = !e;
    while (!list_empty(&mine)) {
        struct waiter *w = CONTAINER_OF(mine.next, struct waiter, link);
        list_remove(&w->link);
        if (!e)
            t->refs++;
        w->fn(w->owner, e ? NULL : t, e);
        free(w);
    }
    transcript_release(t); /* the reading's own */
}

/* The parts of a body that aren't of one type. */
static char *without(const char *body, size_t n, const char *type)
{
    struct json_object *parts = NULL, *kept = chela_json_new_array();
    if (chela_json_parse(body, n, NULL, &parts, NULL) == 0) {
        for (size_t i = 0; i < chela_json_length(parts); i++) {
            struct json_object *part = chela_json_at(parts, i);
            const char *is = chela_json_string(part, "type", NULL);
            if (!is || strcmp(is, type) != 0)
                chela_json_push(kept, json_object_get(part));
        }
    }
    char *text = xstrdup(chela_json_text(kept, NULL));
    json_object_put(parts);
    json_object_put(kept);
    return text;
}

/* No request ever leaves with an unpaired call, whatever the store holds: a call in the middle
 * whose results are missing is left out, as are results without calls. (At the end they are still
 * to be run, see transcript_open_calls.) */
static void heal(struct transcript *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        struct entry *e = &t->entries[i];
        bool last = i + 1 == t->count;
        bool next_is_tool = !last && t->entries[i + 1].role == ENTRY_TOOL;
        bool orphan = e->role == ENTRY_TOOL && (i == 0 || !t->entries[i - 1].calls);
        if (!orphan && !(e->calls && !last && !next_is_tool))
            continue;
        log_warning("agent", "session %s: message %llu is not paired, its %s are left out",
                    t->session, (unsigned long long)e->seq, orphan ? "results" : "calls");
        char *text = without(e->body, e->body_n, orphan ? "toolResult" : "toolCall");
        total -= e->body_n;
        t->bytes -= e->body_n;
        free(e->body);
        e->body = text;
        e->body_n = strlen(text);
        charge(t, e->body_n);
        e->calls = false;
        t->pairs[i].value = chela_sn(e->body, e->body_n);
    }
}

static void read_history(struct transcript *t);

/* seq, role, body, run, model, tokens_in, tokens_out, cost, at */
static void history_row(void *owner, const struct journal_row *row)
{
    struct transcript *t = owner;
    if (row->columns < 3)
        return;
    uint64_t seq = (uint64_t)row->values[0].i;
    if (seq != t->last + 1) {
        t->gap = true; /* told when the page ends */
        return;
    }
    t->last = seq;
    struct chela_str role = row->values[1].s, body = row->values[2].s;
    enum entry_role r = role_of(role.s ? role.s : "", role.n);
    if (r != ENTRY_NONE)
        add(t, seq, r, xmemdup(body.s ? body.s : "", body.n), body.n);
}

struct page {
    struct transcript *t;
    uint64_t before;
};

static void history_done(void *owner, const struct error *e)
{
    struct page *p = owner;
    struct transcript *t = p->t;
    uint64_t got = t->last - p->before;
    free(p);
    if (e) {
        finish(t, e);
    } else if (t->gap) {
        struct error gap = {0};
        error_set(&gap, CHELA_E_PROTOCOL, "session %s: the history has a gap behind message %llu",
                  t->session, (unsigned long long)t->last);
        finish(t, &gap);
    } else if (got == PAGE) {
        read_history(t);
    } else {
        heal(t);
        finish(t, NULL);
    }
}

static void page_row(void *owner, const struct journal_row *row)
{
    history_row(((struct page *)owner)->t, row);
}

static void read_history(struct transcript *t)
{
    struct page *p = xcalloc(1, sizeof *p);
    p->t = t;
    p->before = t->last;
    journal_history(t->session, t->last, PAGE, page_row, history_done, p);
}

static char *text_column(const struct journal_row *row, unsigned i)
{
    return i < row->columns && row->values[i].s.s ? xmemdup(row->values[i].s.s, row->values[i].s.n)
                                                  : xstrdup("");
}

/* key, session id, agent, fields JSON, created, updated, epoch, first seq of the epoch, last seq,
 * summary, summary seq */
static void session_row(void *owner, const struct journal_row *row)
{
    struct transcript *t = owner;
    if (row->columns < 11)
        return;
    t->id = text_column(row, 1);
    t->agent = text_column(row, 2);
    if (chela_json_parse(row->values[3].s.s, row->values[3].s.n, NULL, &t->fields, NULL) != 0)
        t->fields = NULL;
    t->created = (uint64_t)row->values[4].i;
    t->updated = (uint64_t)row->values[5].i;
    t->epoch = (uint64_t)row->values[6].i;
    t->first = (uint64_t)row->values[7].i;
    t->last = (uint64_t)row->values[8].i;
    t->summary = text_column(row, 9);
    t->summary_seq = (uint64_t)row->values[10].i;
}

static void session_done(void *owner, const struct error *e)
{
    struct transcript *t = owner;
    if (e) {
        finish(t, e);
        return;
    }
    if (!t->id)
        t->id = xstrdup("");
    if (!t->agent)
        t->agent = xstrdup("");
    if (!t->fields)
        t->fields = chela_json_new_object();
    uint64_t last = t->last, first = t->first ? t->first - 1 : 0;
    uint64_t after = t->summary_seq > first ? t->summary_seq : first;
    if (!t->summary || t->summary_seq <= first) {
        free(t->summary);
        t->summary = xstrdup("");
    }
    if (last <= after) {
        t->last = last > after ? last : after;
        finish(t, NULL);
        return;
    }
    t->last = after;
    read_history(t);
}

void transcript_get(const char *session, transcript_fn *fn, void *owner)
{
    struct transcript *t = map_get(&by_session, session);
    if (t && t->loaded) {
        t->refs++;
        fn(owner, t, NULL);
        return;
    }
    bool reading = t != NULL;
    if (!t) {
        t = xcalloc(1, sizeof *t);
        t->session = xstrdup(session);
        list_init(&t->waiters);
        list_append(&lru, &t->lru);
        map_set(&by_session, session, t);
        t->refs = 1; /* the reading's */
    }
    struct waiter *w = xcalloc(1, sizeof *w);
    w->fn = fn;
    w->owner = owner;
    list_append(&t->waiters, &w->link);
    if (!reading)
        journal_session_get(session, session_row, session_done, t);
}

/* ---- asking ---- */

struct json_object *transcript_open_calls(const struct transcript *t)
{
    if (t->count == 0 || !t->entries[t->count - 1].calls)
        return NULL;
    const struct entry *e = &t->entries[t->count - 1];
    struct json_object *parts = NULL, *open = chela_json_new_array();
    if (chela_json_parse(e->body, e->body_n, NULL, &parts, NULL) != 0)
        parts = NULL;
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        struct json_object *part = chela_json_at(parts, i);
        const char *type = chela_json_string(part, "type", NULL);
        if (type && strcmp(type, "toolCall") == 0)
            chela_json_push(open, json_object_get(part));
    }
    json_object_put(parts);
    return open;
}

unsigned transcript_last_user(const struct transcript *t)
{
    for (unsigned i = t->count; i > 0; i--) {
        if (t->entries[i - 1].role == ENTRY_USER)
            return i - 1;
    }
    return t->count;
}

uint64_t transcript_tokens(const struct transcript *t, unsigned from)
{
    if (from >= t->count)
        return 0;
    return t->entries[t->count - 1].sum - (from ? t->entries[from - 1].sum : 0);
}

unsigned transcript_cut(const struct transcript *t, uint64_t budget)
{
    unsigned low = 0, high = t->count;
    while (low < high) { /* the first from which the rest fits */
        unsigned middle = low + (high - low) / 2;
        if (transcript_tokens(t, middle) <= budget)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0)
        return 0;
    /* best: where a turn begins */
    unsigned user = transcript_last_user(t);
    for (unsigned i = low; i <= user && i < t->count; i++) {
        if (t->entries[i].role == ENTRY_USER)
            return i;
    }
    /* inside the newest turn: before a call, never before its results */
    while (low < t->count && t->entries[low].role == ENTRY_TOOL)
        low++;
    return low;
}

size_t transcript_bytes(void)
{
    return total;
}

void transcript_reset(void)
{
    while (!list_empty(&lru)) {
        struct transcript *t = CONTAINER_OF(lru.next, struct transcript, lru);
        while (!list_empty(&t->waiters)) {
            struct waiter *w = CONTAINER_OF(t->waiters.next, struct waiter, link);
            list_remove(&w->link);
            free(w);
        }
        transcript_free(t);
    }
    map_free(&by_session, NULL);
    memset(&by_session, 0, sizeof by_session);
}
