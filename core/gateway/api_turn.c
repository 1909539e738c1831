/*
 * See api_turn.h. Called by the api_*.c; a turn lives from api_turn_begin() to the run's end, also
 * when its client is gone, since the run has to be stopped then.
 */
#include "gateway/api_turn.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "base/id.h"
#include "base/list.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "host/instance.h"
#include "host/loop.h"
#include "host/settings.h"
#include "support/json.h"

struct api_turn {
    struct link link;
    struct server_request *request; /* NULL: gone */
    enum api_dialect dialect;
    const struct api_turn_ops *ops;
    void *data;
    char *run, *session;
    bool kept, waits;
    struct buf sent; /* what ops->text was given */
    json_object *result;
};

static struct link turns = {&turns, &turns};
static unsigned count;

unsigned api_turn_count(void)
{
    return count;
}

static void turn_free(struct api_turn *t)
{
    list_remove(&t->link);
    count--;
    json_object_put(t->result);
    buf_free(&t->sent);
    if (t->data && t->ops->freed)
        t->ops->freed(t->data);
    free(t->data);
    free(t->run);
    free(t->session);
    free(t);
}

struct server_request *api_turn_request(const struct api_turn *t)
{
    return t->request;
}

void *api_turn_data(const struct api_turn *t)
{
    return t->data;
}

const char *api_turn_run(const struct api_turn *t)
{
    return t->run;
}

const char *api_turn_session(const struct api_turn *t)
{
    return t->session;
}

/* ---- what the result says ---- */

struct chela_str api_turn_text(const struct api_turn *t)
{
    size_t n = 0;
    const char *text =
        chela_json_string(chela_json_path(t->result, "/result/payloads/0"), "text", &n);
    return text ? chela_sn(text, n) : chela_s("");
}

json_object *api_turn_calls(const struct api_turn *t)
{
    return chela_json_array(chela_json_path(t->result, "/result/meta"), "pendingToolCalls");
}

bool api_turn_cut(const struct api_turn *t)
{
    const char *stop =
        chela_json_string(chela_json_path(t->result, "/result/meta"), "stopReason", NULL);
    return stop && strcmp(stop, "length") == 0;
}

struct api_usage api_turn_usage(const struct api_turn *t)
{
    json_object *u = chela_json_path(t->result, "/result/meta/agentMeta/usage");
    return (struct api_usage){chela_json_int(u, "input", 0), chela_json_int(u, "output", 0),
                              chela_json_int(u, "cacheRead", 0),
                              chela_json_int(u, "cacheWrite", 0)};
}

const char *api_turn_model(const struct api_turn *t)
{
    const char *model =
        chela_json_string(chela_json_path(t->result, "/result/meta/agentMeta"), "model", NULL);
    return model ? model : "";
}

/* ---- events ---- */

static void give(struct api_turn *t, const char *text, size_t n)
{
    if (n == 0 || !t->request || !t->ops->text)
        return;
    buf_add(&t->sent, text, n);
    t->ops->text(t, chela_sn(text, n));
}

/* The text began anew (a model failed in its middle): a stream can't take back what it gave, so
 * what is new follows behind it. */
static void give_whole(struct api_turn *t, const char *text, size_t n)
{
    if (n >= t->sent.n && memcmp(text, t->sent.p ? t->sent.p : "", t->sent.n) == 0) {
        give(t, text + t->sent.n, n - t->sent.n);
        return;
    }
    if (n)
        give(t, "\n\n", 2);
    give(t, text, n);
    buf_clear(&t->sent);
    buf_add(&t->sent, text, n);
}

static void on_chat(struct api_turn *t, json_object *payload)
{
    size_t n = 0;
    const char *state = chela_json_string(payload, "state", NULL),
               *text = chela_json_string(payload, "deltaText", &n);
    if (!state || strcmp(state, "delta") != 0 || !text)
        return;
    if (chela_json_bool(payload, "replace", false))
        give_whole(t, text, n);
    else
        give(t, text, n);
}

static void on_agent(struct api_turn *t, json_object *payload)
{
    size_t n = 0;
    const char *stream = chela_json_string(payload, "stream", NULL),
               *text = chela_json_string(chela_json_object(payload, "data"), "delta", &n);
    if (t->request && t->ops->thinking && stream && strcmp(stream, "thinking") == 0 && text)
        t->ops->thinking(t, chela_sn(text, n));
}

static void on_event(void *arg, const struct event *e)
{
    (void)arg;
    if (e->kind != EVENT_CHAT && e->kind != EVENT_AGENT)
        return;
    LIST_EACH(l, &turns)
    {
        struct api_turn *t = CONTAINER_OF(l, struct api_turn, link);
        if (strcmp(t->run, e->run) != 0)
            continue;
        if (e->kind == EVENT_CHAT)
            on_chat(t, e->payload);
        else
            on_agent(t, e->payload);
        return;
    }
}

void api_turn_open(void)
{
    static bool listening;
    if (!listening)
        events_listen(on_event, NULL);
    listening = true;
}

/* ---- the end ---- */

static void patched(void *owner, const struct error *e)
{
    (void)owner;
    (void)e; /* such a session then stays in the list, that is all */
}

/* A session that was made for one request doesn't stand among a person's own. */
static void put_away(const struct api_turn *t)
{
    if (t->kept)
        return;
    json_object *fields = chela_json_new_object();
    chela_json_put_bool(fields, "archived", true);
    agent_session_patch(t->session, fields, patched, NULL);
    json_object_put(fields);
}

static unsigned failed_status(json_object *result)
{
    const char *kind = chela_json_string(result, "errorKind", NULL);
    return !kind                                 ? 502
           : strcmp(kind, "rate_limit") == 0     ? 429
           : strcmp(kind, "timeout") == 0        ? 504
           : strcmp(kind, "context_length") == 0 ? 400
                                                 : 502;
}

static void ended(void *owner, json_object *result)
{
    struct api_turn *t = owner;
    const char *status = chela_json_string(result, "status", NULL);
    t->waits = false;
    t->result = json_object_get(result);
    put_away(t);
    if (t->request && strcmp(status, "ok") == 0) {
        struct chela_str text = api_turn_text(t);
        if (t->ops->text && text.n > t->sent.n)
            give_whole(t, text.s, (size_t)text.n);
        t->ops->done(t);
    } else if (t->request) {
        const char *why = chela_json_string(result, "error", NULL),
                   *summary = chela_json_string(result, "summary", NULL);
        t->ops->failed(t, strcmp(status, "aborted") == 0 ? 503 : failed_status(result),
                       why ? why : summary);
    }
    turn_free(t);
}

static void sent(void *owner, const char *run, const char *status, const struct error *e)
{
    struct api_turn *t = owner;
    (void)status;
    t->waits = false;
    if (e) {
        if (t->request)
            t->ops->failed(t, api_status(e), e->text);
        turn_free(t);
        return;
    }
    if (!t->request) {
        agent_abort(t->session, run, "the client went away", NULL, NULL);
        put_away(t);
        turn_free(t);
        return;
    }
    t->waits = true;
    agent_wait(run, 0, ended, t);
}

static void gone(void *arg, struct server_request *r)
{
    struct api_turn *t = arg;
    (void)r;
    t->request = NULL;
    agent_abort(t->session, t->run, "the client went away", NULL, NULL);
}

/* ---- the begin ---- */

static bool too_many(struct server_request *r, enum api_dialect dialect)
{
    if (count < (unsigned)settings_number(settings_now(), "gateway.http.max_turns"))
        return false;
    api_fail(r, dialect, 429, "too many requests at the same time (gateway.http.max_turns)");
    return true;
}

bool api_turn_begin(struct server_request *r, enum api_dialect dialect, struct api_input *in,
                    struct api_target *target, const struct api_turn_ops *ops, void *data)
{
    const char *channel = instance_find(ROLE_CHANNEL, "cli") ? "cli" : "webchat";
    if (in->error.class || api_input_finish(in, target->kept) < 0) {
        api_fail_error(r, dialect, &in->error);
    }
    if (in->error.class || too_many(r, dialect)) {
        free(data);
        api_input_free(in);
        api_target_free(target);
        return false;
    }
    struct api_turn *t = xcalloc(1, sizeof *t);
    char uuid[ID_UUID_SIZE];
    id_uuid(uuid);
    t->request = r;
    t->dialect = dialect;
    t->ops = ops;
    t->data = data;
    t->run = xstrdup(uuid);
    t->session = xstrdup(target->session);
    t->kept = target->kept;
    list_append(&turns, &t->link);
    count++;
    server_on_gone(r, gone, t);
    if (*target->model)
        chela_json_put_text(in->wishes, "model", target->model);
    json_object *client = chela_json_new_object();
    chela_json_put_text(client, "id", "http");
    chela_json_put_text(client, "mode", "backend");
    chela_json_put_text(client, "platform", "http");
    struct agent_client_message m = {.channel = channel,
                                     .client = client,
                                     .session = target->session,
                                     .agent = target->agent,
                                     .key = t->run,
                                     .text = in->text,
                                     .media = in->media,
                                     .request = in->wishes};
    agent_client_send(&m, sent, t);
    json_object_put(client);
    api_input_free(in);
    api_target_free(target);
    return true;
}

/* ---- what goes along a stream ---- */

void api_send_event(struct server_request *r, const char *name, json_object *o)
{
    struct buf b = {0};
    if (name)
        buf_printf(&b, "event: %s\n", name);
    buf_printf(&b, "data: %s\n\n", chela_json_text(o, NULL));
    server_stream_write(r, buf_view(&b));
    buf_free(&b);
    json_object_put(o);
}

void api_send_line(struct server_request *r, json_object *o)
{
    struct buf b = {0};
    buf_printf(&b, "%s\n", chela_json_text(o, NULL));
    server_stream_write(r, buf_view(&b));
    buf_free(&b);
    json_object_put(o);
}
