/*
 * channel_heartbeat: at an interval, within active hours, the agent is given what stands in
 * HEARTBEAT.md and what was put down for it (`wake`), and says what a person should know, or
 * HEARTBEAT_OK. It costs nothing while there is nothing to look at: without a HEARTBEAT.md that
 * says something, and without an event, no model is asked. A turn that runs, or a spent budget,
 * puts it off.
 */
#define CHELA_MINOR_NEED 10u
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heartbeat.h"
#include "support/op.h"
#include "support/zone.h"

enum { EVENTS_MOST = 200, BUSY_MS = 30000 };
enum { WINDOW_MS = 14 * 24 * 3600 * 1000 };

static const struct chela_option options[] = {
    {"every", CHELA_DURATION, 0, "30m", "time between two; 0: only when woken", NULL},
    {"agent", CHELA_STRING, 0, "", "whose; absent: the default agent's", NULL},
    {"session", CHELA_STRING, 0, "main",
     "the conversation that it happens in; another name keeps it apart", NULL},
    {"from", CHELA_STRING, 0, "", "active from this time of day, \"08:00\"; absent: always", NULL},
    {"until", CHELA_STRING, 0, "", "and until this one, also over midnight", NULL},
    {"timezone", CHELA_STRING, 0, "", "IANA name for them; absent: the machine's", NULL},
    {"file", CHELA_STRING, 0, "HEARTBEAT.md", "in the agent's workspace: what to look at", NULL},
    {"model", CHELA_REF, 0, NULL, "who is asked; absent: as for any message", NULL},
    {"tokens_per_day", CHELA_INT, 0, "200000",
     "read and written, from midnight; then it waits for the next day. 0 = no bound", NULL},
    {"tokens", CHELA_INT, 0, "50000", "of one heartbeat", NULL},
    {"channel", CHELA_STRING, 0, "",
     "where what it says goes: a channel; absent: it stays in the "
     "conversation",
     NULL},
    {"chat", CHELA_STRING, 0, "", "and a chat of it", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

struct heartbeat {
    struct chela_inst *in;
    struct chela_zone *zone;
    int64_t from, until; /* seconds of the day; equal: always */
    uint64_t timer, starting;
    json_object *events;     /* [{"key","text"}] that wait, the oldest first */
    int64_t last, next;      /* ms */
    char *last_status, *run; /* run: of the one that works, or NULL */
    size_t carried;          /* events that it was given */
    int64_t day, spent;      /* local day since 1970, tokens of it */
    bool stopped, asking;
};

static void schedule(struct heartbeat *h, int64_t ms);
static void beat(struct heartbeat *h);

/* ---- times ---- */

static bool read_clock(const char *text, int64_t *ret)
{
    int hour, minute, n = 0;
    if (!*text) {
        *ret = 0;
        return true;
    }
    if (sscanf(text, "%2d:%2d%n", &hour, &minute, &n) != 2 || text[n] || hour < 0 || hour > 24 ||
        minute < 0 || minute > 59 || hour * 60 + minute > 24 * 60)
        return false;
    *ret = hour * 3600 + minute * 60;
    return true;
}

static int64_t local_seconds(const struct heartbeat *h, int64_t ms)
{
    return ms / 1000 + chela_zone_offset(h->zone, ms / 1000);
}

static bool active(const struct heartbeat *h, int64_t ms)
{
    int64_t s = local_seconds(h, ms) % 86400;
    if (h->from == h->until)
        return true;
    return h->from < h->until ? s >= h->from && s < h->until : s >= h->from || s < h->until;
}

/* The next time the hours begin, ms from now. */
static int64_t until_active(const struct heartbeat *h, int64_t ms)
{
    int64_t local = local_seconds(h, ms), s = local % 86400;
    bool gap;
    int64_t begin = local - s + h->from + (s >= h->from ? 86400 : 0);
    int64_t wait = chela_zone_utc(h->zone, begin, &gap) * 1000 - ms;
    return wait > 1000 ? wait : 1000;
}

/* ---- what is kept ---- */

static void store(struct heartbeat *h, chela_op_fn *fn, void *owner)
{
    json_object *o = chela_json_new_object();
    chela_json_put(o, "events", json_object_get(h->events));
    chela_json_put_int(o, "day", h->day);
    chela_json_put_int(o, "spent", h->spent);
    chela_json_put_int(o, "last", h->last);
    if (h->run) {
        chela_json_put_text(o, "run", h->run);
        chela_json_put_int(o, "carried", (int64_t)h->carried);
    }
    chela_keep(h->in, "state", o, fn, owner);
    json_object_put(o);
}

static void remember(struct heartbeat *h, const char *status)
{
    free(h->last_status);
    h->last_status = chela_need(strdup(status));
    h->last = chela_now_ms(h->in);
}

/* ---- a beat ---- */

struct beating {
    char *text;
};

static void run_over(struct heartbeat *h, const char *status)
{
    json_object *left = chela_json_new_array();
    for (size_t i = h->carried; i < chela_json_length(h->events); i++)
        chela_json_push(left, json_object_get(chela_json_at(h->events, i)));
    json_object_put(h->events);
    h->events = left;
    h->carried = 0;
    free(h->run);
    h->run = NULL;
    remember(h, status);
    store(h, NULL, NULL);
    if (!h->stopped)
        schedule(h, chela_option_number(h->in, "every"));
}

static void ended(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    json_object *o = chela_object_of(d->text);
    const char *status = chela_member(o, "status");
    (void)owner;
    if (d->error == CHELA_OK && *status && h->run) { /* else the gateway ends */
        json_object *usage = chela_json_path(o, "/result/meta/agentMeta/usage");
        char *text = chela_answer_text(o);
        h->spent += chela_json_int(usage, "total", 0);
        run_over(h, strcmp(status, "ok") != 0 ? "failed" : text ? "sent" : "ok");
        free(text);
    }
    json_object_put(o);
}

static void await_end(struct heartbeat *h)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "runId", h->run);
    chela_json_put_int(params, "timeoutMs", 0);
    chela_ask_gateway(h->in, 0, "agent.wait", params, ended, NULL);
}

static void submitted(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    (void)owner;
    if (d->error == CHELA_OK || d->error == CHELA_E_CONFLICT) {
        await_end(h);
        return;
    }
    char *line =
        chela_format("it could not begin: %.*s", (int)d->text.n, d->text.n ? d->text.s : "");
    chela_log(in, CHELA_WARN, line);
    free(line);
    h->carried = 0; /* nothing of it was seen */
    run_over(h, "failed");
}

static void submit(struct heartbeat *h, const char *text)
{
    json_object *extra = chela_json_new_object(), *q = chela_json_put_object(extra, "request");
    struct chela_str model = chela_option_text(h->in, "model"),
                     agent = chela_option_text(h->in, "agent");
    if (agent.n)
        chela_json_put_string(extra, "agent", agent.s, (size_t)agent.n);
    chela_json_put_text(q, "runId", h->run);
    chela_json_put_text(q, "queueMode", "followup");
    chela_json_put_bool(q, "suppressCommandInterpretation", true);
    if (model.n)
        chela_json_put_string(q, "model", model.s, (size_t)model.n);
    chela_json_put_int(chela_json_put_object(q, "budget"), "tokens",
                       chela_option_number(h->in, "tokens"));
    CHELA_ARGS(chela_submit, m, h->in->host->local->new_call(h->in));
    m.h.tag = chela_op_new(submitted, NULL);
    m.h.flags = CHELA_OWNER;
    m.kind = chela_s("message");
    m.event = chela_s(h->run);
    m.chat = chela_s("heartbeat");
    m.chat_type = CHELA_DIRECT;
    m.sender = chela_s("heartbeat");
    m.session = chela_option_text(h->in, "session");
    m.text = chela_s(text);
    m.extra = chela_s(chela_json_text(extra, NULL));
    h->in->host->chat->submit(h->in, &m);
    json_object_put(extra);
}

static void stored_first(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct beating *b = owner;
    (void)d; /* not stored: after a crash the events are told again */
    submit(in->self, b->text);
    free(b->text);
    free(b);
}

static void go(struct heartbeat *h, const char *workspace)
{
    char *name = chela_copy(chela_option_text(h->in, "file")),
         *file = heartbeat_file(workspace, name), *text = NULL;
    size_t n;
    free(name);
    if (!file && chela_json_length(h->events) == 0) {
        remember(h, "nothing to look at");
        schedule(h, chela_option_number(h->in, "every"));
        return;
    }
    FILE *out = chela_need(open_memstream(&text, &n));
    fprintf(out,
            "[Heartbeat: no person has written this. Look whether something needs to be done "
            "or said. If not, answer %s and nothing else.]\n",
            HEARTBEAT_WORD);
    for (size_t i = 0; i < chela_json_length(h->events); i++)
        fprintf(out, "\nEvent: %s\n", chela_member(chela_json_at(h->events, i), "text"));
    if (file)
        fprintf(out, "\n%s", file);
    fclose(out);
    free(file);
    h->carried = chela_json_length(h->events);
    h->run = chela_format("heartbeat-%lld", (long long)chela_now_ms(h->in));
    struct beating *b = chela_need(calloc(1, sizeof *b));
    b->text = text;
    store(h, stored_first, b);
}

static void agents_came(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    json_object *o = chela_object_of(d->text), *list = chela_json_array(o, "agents");
    struct chela_str wanted = chela_option_text(in, "agent");
    const char *workspace = NULL;
    (void)owner;
    h->asking = false;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *a = chela_json_at(list, i);
        const char *id = chela_member(a, "id");
        if (wanted.n ? chela_str_is(wanted, id) : strcmp(id, chela_member(o, "defaultId")) == 0)
            workspace = chela_member(a, "workspace");
    }
    if (h->stopped || d->error != CHELA_OK)
        ;
    else if (workspace)
        go(h, workspace);
    else
        chela_log(in, CHELA_ERR, "there is no such agent: set channels.heartbeat.agent");
    json_object_put(o);
}

static void session_came(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    json_object *o = chela_object_of(d->text);
    bool busy = chela_json_bool(chela_json_object(o, "session"), "hasActiveRun", false);
    (void)owner;
    json_object_put(o);
    if (h->stopped || d->error == CHELA_E_CANCELLED) {
        h->asking = false;
    } else if (busy) {
        h->asking = false;
        remember(h, "put off: the conversation is at work");
        schedule(h, BUSY_MS);
    } else {
        chela_ask_gateway(in, 0, "agents.list", chela_json_new_object(), agents_came, NULL);
    }
}

static void beat(struct heartbeat *h)
{
    int64_t now = chela_now_ms(h->in), day = local_seconds(h, now) / 86400,
            most = chela_option_number(h->in, "tokens_per_day");
    if (h->stopped || h->run || h->asking)
        return;
    if (day != h->day) {
        h->day = day;
        h->spent = 0;
    }
    if (!active(h, now)) {
        remember(h, "put off: outside of the active hours");
        schedule(h, until_active(h, now));
        return;
    }
    if (most > 0 && h->spent >= most) {
        remember(h, "put off: the day's tokens are spent");
        schedule(h, chela_option_number(h->in, "every"));
        return;
    }
    h->asking = true;
    json_object *params = chela_json_new_object();
    struct chela_str session = chela_option_text(h->in, "session"),
                     agent = chela_option_text(h->in, "agent");
    chela_json_put_string(params, "key", session.s, (size_t)session.n);
    if (agent.n) {
        char *key =
            chela_format("agent:%.*s:%.*s", (int)agent.n, agent.s, (int)session.n, session.s);
        chela_json_put_text(params, "key", key);
        free(key);
    }
    chela_ask_gateway(h->in, 0, "sessions.describe", params, session_came, NULL);
}

static void woken(struct chela_inst *in, void *arg)
{
    struct heartbeat *h = in->self;
    (void)arg;
    h->timer = 0;
    beat(h);
}

static void schedule(struct heartbeat *h, int64_t ms)
{
    h->in->host->local->timer_stop(h->in, h->timer);
    h->timer = 0;
    h->next = 0;
    if (ms <= 0)
        return; /* only when woken */
    h->next = chela_now_ms(h->in) + ms;
    h->timer = h->in->host->local->timer(h->in, (uint64_t)ms, woken, NULL);
}

/* ---- wake, last-heartbeat ---- */

static const struct chela_pair methods[] = {
    {CHELA_LIT("wake"), CHELA_LIT("{\"scope\":\"operator.write\"}")},
    {CHELA_LIT("last-heartbeat"), CHELA_LIT("{\"scope\":\"operator.read\"}")},
};

struct waking {
    uint64_t call;
    bool now;
};

static void event_stored(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    struct waking *w = owner;
    char *error = chela_copy(d->text);
    chela_end(in, w->call, d->error, d->error == CHELA_OK ? "{\"ok\":true}" : error);
    if (d->error == CHELA_OK && w->now)
        beat(h);
    free(error);
    free(w);
}

static bool has_event(const struct heartbeat *h, const char *key)
{
    for (size_t i = 0; *key && i < chela_json_length(h->events); i++)
        if (strcmp(chela_member(chela_json_at(h->events, i), "key"), key) == 0)
            return true;
    return false;
}

static void wake(struct heartbeat *h, uint64_t call, json_object *p)
{
    const char *text = chela_member(p, "text"), *mode = chela_member(p, "mode"),
               *key = chela_member(p, "idempotencyKey");
    bool now = strcmp(mode, "now") == 0;
    if (!*text || (!now && strcmp(mode, "next-heartbeat") != 0)) {
        chela_end(h->in, call, CHELA_E_ARGS, "wake takes mode (now, next-heartbeat) and text");
        return;
    }
    if (chela_json_length(h->events) >= EVENTS_MOST) {
        chela_end(h->in, call, CHELA_E_ARGS, "too many events wait for a heartbeat");
        return;
    }
    if (!has_event(h, key)) {
        json_object *e = chela_json_push_object(h->events);
        chela_json_put_text(e, "key", key);
        chela_json_put_text(e, "text", text);
    }
    struct waking *w = chela_need(calloc(1, sizeof *w));
    w->call = call;
    w->now = now;
    store(h, event_stored, w);
}

static void method(struct chela_inst *in, const struct chela_method *m)
{
    struct heartbeat *h = in->self;
    json_object *p = chela_object_of(m->params);
    if (chela_str_is(m->name, "wake")) {
        wake(h, m->h.call, p);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_int(o, "ts", h->last);
        chela_json_put_text(o, "status", h->last_status ? h->last_status : "none yet");
        chela_json_put_int(o, "nextAtMs", h->next);
        chela_json_put_int(o, "tokensToday", h->spent);
        chela_json_put_int(o, "events", (int64_t)chela_json_length(h->events));
        chela_answer_json(in, m->h.call, o);
    }
    json_object_put(p);
}

/* ---- what it says ---- */

static void channel_send(struct chela_inst *in, const struct chela_send *m)
{
    struct chela_str channel = chela_option_text(in, "channel"),
                     chat = chela_option_text(in, "chat");
    char *text = chela_copy(m->text), *said = heartbeat_spoken(text);
    if (channel.n && said) {
        json_object *to = chela_json_new_object();
        chela_json_put_string(to, "channel", channel.s, (size_t)channel.n);
        chela_json_put_string(to, "to", chat.n ? chat.s : "", (size_t)chat.n);
        chela_send_on(in, m, to, said, "");
        json_object_put(to);
    } else {
        chela_end(in, m->h.call, CHELA_OK, "");
    }
    free(said);
    free(text);
}

/* ---- life ---- */

static int32_t open_instance(struct chela_inst *in)
{
    struct heartbeat *h = chela_need(calloc(1, sizeof *h));
    char *zone = chela_copy(chela_option_text(in, "timezone")),
         *from = chela_copy(chela_option_text(in, "from")),
         *until = chela_copy(chela_option_text(in, "until"));
    h->in = in;
    h->events = chela_json_new_array();
    h->zone = chela_zone_open(zone);
    bool good = h->zone && read_clock(from, &h->from) && read_clock(until, &h->until);
    if (!h->zone)
        chela_log(in, CHELA_ERR, "timezone: there is no such zone on this machine");
    else if (!good)
        chela_log(in, CHELA_ERR, "from and until are times of day such as \"08:00\"");
    in->self = h;
    free(zone);
    free(from);
    free(until);
    return good ? (int32_t)CHELA_OK : (int32_t)CHELA_E_ARGS;
}

static void close_instance(struct chela_inst *in)
{
    struct heartbeat *h = in->self;
    in->host->local->timer_stop(in, h->timer);
    chela_zone_free(h->zone);
    json_object_put(h->events);
    free(h->last_status);
    free(h->run);
    free(h);
}

static void state_came(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct heartbeat *h = in->self;
    json_object *o = d->error == CHELA_OK ? chela_object_of(d->text) : NULL,
                *events = chela_json_array(o, "events");
    (void)owner;
    chela_publish_list(in, CHELA_METHODS, 1, methods, sizeof methods / sizeof methods[0]);
    chela_end(in, h->starting, CHELA_OK, "");
    if (events) {
        json_object_put(h->events);
        h->events = json_object_get(events);
    }
    h->day = chela_json_int(o, "day", 0);
    h->spent = chela_json_int(o, "spent", 0);
    h->last = chela_json_int(o, "last", 0);
    if (*chela_member(o,
                      "run")) { /* it may have been submitted or not; then its events wait again */
        h->run = chela_need(strdup(chela_member(o, "run")));
        h->carried = (size_t)chela_json_int(o, "carried", 0);
        struct beating *b = chela_need(calloc(1, sizeof *b));
        b->text =
            chela_format("[Heartbeat that the restart interrupted. If nothing needs to be done, "
                         "answer %s.]",
                         HEARTBEAT_WORD);
        for (size_t i = 0; i < h->carried; i++) {
            char *more = chela_format("%s\n\nEvent: %s", b->text,
                                      chela_member(chela_json_at(h->events, i), "text"));
            free(b->text);
            b->text = more;
        }
        submit(h, b->text);
        free(b->text);
        free(b);
    } else {
        schedule(h, chela_option_number(in, "every"));
    }
    json_object_put(o);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct heartbeat *h = in->self;
    h->starting = a->h.call;
    CHELA_ARGS(chela_key, k, in->host->local->new_call(in));
    k.h.tag = chela_op_new(state_came, NULL);
    k.key = chela_s("state");
    in->host->kv->get(in, &k);
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct heartbeat *h = in->self;
    h->stopped = true;
    in->host->local->timer_stop(in, h->timer);
    h->timer = 0;
    chela_end(in, a->h.call, CHELA_OK, "");
}

static const struct chela_service service = {.size = (uint32_t)sizeof(struct chela_service),
                                             .method = method};

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT,
    .unit = CHELA_UNIT_BYTES,
    .key_window_ms = WINDOW_MS,
    .platform = "heartbeat",
    .send = channel_send,
};

static const struct chela_iface heartbeat = {
    CHELA_IFACE("heartbeat", "now and then the agent looks whether something is to be done",
                CHELA_CAP_DEFAULT, options),
    .open = open_instance,
    .close = close_instance,
    .start = start,
    .stop = stop,
    .rows = chela_op_rows,
    .done = chela_op_done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_heartbeat, "0.9.0",
             "now and then the agent looks whether something is to be done", "MIT", "", &heartbeat);
