/*
 * The queue of a session. Called by session.c; tells dropped messages to the journal and to
 * clients, never starts a turn.
 */
#include "agent/queue.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/runs.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/settings.h"

enum { CAP = 20, COLLECTED_MOST = 50, LINE_BYTES = 200, DROPPED_BYTES = 4000 };

const char *queue_mode_name(enum queue_mode m)
{
    static const char *const names[] = {"steer", "followup", "collect", "interrupt"};
    return m < QUEUE_MODES ? names[m] : "?";
}

enum queue_mode queue_mode_of(const char *name, enum queue_mode fallback)
{
    for (unsigned i = 0; name && i < QUEUE_MODES; i++) {
        if (strcmp(queue_mode_name((enum queue_mode)i), name) == 0)
            return (enum queue_mode)i;
    }
    return fallback;
}

static const char *mode_of_channel(const char *channel)
{
    int64_t n = settings_number_or("messages.queue.by_channel", 0);
    for (int64_t i = 0; i < n && i < 100; i++) {
        CLEANUP(freep) char *name = xprintf("messages.queue.by_channel.%d.channel", (int)i);
        CLEANUP(freep) char *mode = xprintf("messages.queue.by_channel.%d.mode", (int)i);
        if (strcmp(settings_text(settings_now(), name), channel) == 0)
            return settings_text(settings_now(), mode);
    }
    return NULL;
}

enum queue_mode queue_mode_for(const struct job *j)
{
    const char *wish = chela_json_string(message_wishes(j->message), "queueMode", NULL);
    const struct transcript *t = transcript_hot(j->session);
    enum queue_mode m =
        queue_mode_of(settings_text(settings_now(), "messages.queue.mode"), QUEUE_STEER);
    m = queue_mode_of(mode_of_channel(j->message->channel), m);
    if (t)
        m = queue_mode_of(transcript_field(t, "queue"), m);
    return queue_mode_of(wish, m);
}

uint64_t queue_debounce(void)
{
    int64_t ms = settings_number_or("messages.queue.debounce", 500);
    return ms > 0 ? (uint64_t)ms : 0;
}

uint64_t queue_burst(const struct job *j)
{
    int64_t ms = settings_number_or("messages.debounce", 0);
    bool asks = message_wishes(j->message) != NULL; /* a client that waits */
    if (ms <= 0 || asks || j->recovered || chela_json_length(j->message->media) > 0)
        return 0;
    return (uint64_t)ms;
}

unsigned queue_count(const struct lane *l)
{
    unsigned n = 0;
    for (const struct link *k = l->jobs.next; k != &l->jobs; k = k->next)
        n++;
    return n;
}

static void dropped_stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("session", "a dropped message could not be noted: %s", e->text);
}

/* Its message is consumed without a turn; whoever waits for it is told. */
static void drop(struct job *j, const char *why)
{
    list_remove(&j->link);
    for (unsigned i = 0; i < j->inbox_count; i++)
        journal_inbox_drop(j->session, j->inbox[i], dropped_stored, NULL);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", j->run);
    chela_json_put_text(o, "sessionKey", j->session);
    chela_json_put_text(o, "agentId", j->agent);
    chela_json_put_int(o, "seq", 1);
    chela_json_put_text(o, "state", "aborted");
    chela_json_put_text(o, "stopReason", why);
    events_emit(EVENT_CHAT, j->session, j->run, o);
    struct json_object *result = chela_json_new_object();
    chela_json_put_text(result, "runId", j->run);
    chela_json_put_text(result, "status", "aborted");
    chela_json_put_text(result, "summary", why);
    runs_keep_result(j->run, result);
    job_free(j);
}

static void remember(struct lane *l, const struct job *j)
{
    const char *text = j->message->text;
    size_t n = strcspn(text, "\n");
    CLEANUP(freep) char *line = xmemdup(text, utf8_cut(text, n, LINE_BYTES));
    if (l->dropped && strlen(l->dropped) > DROPPED_BYTES)
        return;
    char *more = xprintf("%s- %s\n", l->dropped ? l->dropped : "", line);
    free(l->dropped);
    l->dropped = more;
}

void queue_add(struct lane *l, struct job *j)
{
    int64_t set = settings_number_or("messages.queue.cap", CAP);
    unsigned cap = set > 0 ? (unsigned)set : CAP;
    const char *policy = settings_text(settings_now(), "messages.queue.drop");
    list_append(&l->jobs, &j->link);
    while (queue_count(l) > cap) {
        if (strcmp(policy, "new") == 0) {
            drop(j, "too many messages wait");
            return;
        }
        struct job *oldest = CONTAINER_OF(l->jobs.next, struct job, link);
        if (strcmp(policy, "old") != 0)
            remember(l, oldest);
        drop(oldest, "too many messages wait");
    }
}

/* Same place, same person, same rights: they may share a turn. */
static bool alike(const struct job *a, const struct job *b)
{
    const struct message *x = a->message, *y = b->message;
    return a->collect && b->collect && strcmp(x->channel, y->channel) == 0 &&
           strcmp(x->account, y->account) == 0 && strcmp(x->chat, y->chat) == 0 &&
           strcmp(x->thread, y->thread) == 0 && strcmp(x->sender, y->sender) == 0 &&
           (x->flags & CHELA_OWNER) == (y->flags & CHELA_OWNER);
}

/* Moves all of `from` in front of what `into` says; `into` is the newer one and gives the id. */
static void merge(struct job *into, struct job *from)
{
    struct json_object *fresh = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(from->fresh); i++)
        chela_json_push(fresh, json_object_get(chela_json_at(from->fresh, i)));
    for (size_t i = 0; i < chela_json_length(into->fresh); i++)
        chela_json_push(fresh, json_object_get(chela_json_at(into->fresh, i)));
    json_object_put(into->fresh);
    into->fresh = fresh;
    for (unsigned i = 0; i < from->inbox_count; i++)
        job_add_inbox(into, from->inbox[i]);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", from->run);
    chela_json_put_text(o, "status", "ok");
    chela_json_put_text(o, "summary", "collected");
    chela_json_put_text(o, "collectedInto", into->run);
    runs_keep_result(from->run, o);
    job_free(from);
}

static void tell_dropped(struct lane *l, struct job *j)
{
    if (!l->dropped)
        return;
    CLEANUP(freep)
    char *text = xprintf("[Messages that were dropped because too many waited:]\n%s", l->dropped);
    free(l->dropped);
    l->dropped = NULL;
    struct json_object *content = chela_json_array(chela_json_at(j->fresh, 0), "content");
    if (!content)
        return;
    struct json_object *part = chela_json_new_object();
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    chela_json_push(content, part);
}

struct job *queue_take(struct lane *l)
{
    struct job *j = CONTAINER_OF(l->jobs.next, struct job, link);
    list_remove(&j->link);
    for (unsigned n = 1; n < COLLECTED_MOST && !list_empty(&l->jobs); n++) {
        struct job *next = CONTAINER_OF(l->jobs.next, struct job, link);
        if (!alike(j, next))
            break;
        list_remove(&next->link);
        merge(next, j);
        j = next;
    }
    tell_dropped(l, j);
    return j;
}

void queue_return(struct lane *l, struct link *left)
{
    while (!list_empty(left)) {
        struct link *last = left->prev;
        list_remove(last);
        last->prev = &l->jobs;
        last->next = l->jobs.next;
        l->jobs.next->prev = last;
        l->jobs.next = last;
    }
}

unsigned queue_drop(struct lane *l, const char *run, const char *why)
{
    unsigned n = 0;
    LIST_EACH(k, &l->jobs)
    {
        struct job *j = CONTAINER_OF(k, struct job, link);
        if (run && strcmp(j->run, run) != 0)
            continue;
        drop(j, why);
        n++;
    }
    return n;
}

void queue_drop_all(struct lane *l, const char *why)
{
    queue_drop(l, NULL, why);
}

unsigned queue_drop_steered(struct run *r, const char *run)
{
    unsigned n = 0;
    LIST_EACH(k, &r->steered)
    {
        struct job *j = CONTAINER_OF(k, struct job, link);
        if (run && strcmp(j->run, run) != 0)
            continue;
        drop(j, "stopped");
        n++;
    }
    return n;
}
