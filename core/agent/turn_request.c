/*
 * What one model call of a turn is sent: what fits into the candidate's window, the parameters, the
 * messages in their order. Part of turn.c's stage; decides nothing about what follows.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/models/models.h"
#include "agent/models/tokens.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/mem.h"

const char *turn_model(const struct turn *t)
{
    return t->plan->candidates[t->candidate].model;
}

struct spent turn_spent(const struct turn *t, const struct usage *u)
{
    struct model_info info;
    const struct message *m = t->job->message;
    struct spent s = {.session = t->job->session,
                      .channel = m->channel,
                      .sender = m->sender,
                      .model = turn_model(t),
                      .usage = *u,
                      .at = clock_now_ms()};
    if (models_info(s.model, &info)) {
        s.cost = models_cost(&info, u);
        s.local = info.local;
        s.unpriced = !info.priced;
    }
    return s;
}

/* ---- budget ---- */

struct turn_budget turn_budget(const struct turn *t)
{
    struct model_info info;
    struct turn_budget b = {0};
    models_info(turn_model(t), &info);
    uint64_t own = (uint64_t)agents_number(t->job->agent, "context_tokens", 0);
    b.window = own && own < info.context ? own : info.context;
    int64_t set = settings_number_or("session.compaction.reserve_tokens", 20000);
    uint64_t reserve = set > 0 ? (uint64_t)set : 0;
    if (reserve > b.window / 4)
        reserve = b.window / 4;
    const struct transcript *x = t->transcript;
    b.fixed = tokens_of(t->prompt->system, strlen(t->prompt->system)) +
              (t->no_tools ? 0 : t->prompt->tools->tokens) +
              tokens_of(x->summary, strlen(x->summary)) +
              tokens_of(t->prompt->memory, strlen(t->prompt->memory)) +
              tokens_of(t->prompt->volatile_text, strlen(t->prompt->volatile_text));
    b.room = b.window > b.fixed + reserve ? b.window - b.fixed - reserve : 512;
    uint64_t history = (uint64_t)settings_number_or("session.history_tokens", 0);
    if (history && history < b.room)
        b.room = history;
    if (t->room && t->room < b.room)
        b.room = t->room;
    return b;
}

/* Tokens of the history, by what a model has reported where that is known, else estimated. */
uint64_t turn_history_tokens(const struct turn *t, const struct turn_budget *b)
{
    const struct transcript *x = t->transcript;
    if (x->known_count && x->known_count <= x->count && x->known_model &&
        strcmp(x->known_model, turn_model(t)) == 0) {
        uint64_t known = x->known_tokens > b->fixed ? x->known_tokens - b->fixed : 0;
        return known + transcript_tokens(x, x->known_count);
    }
    return transcript_tokens(x, 0);
}

/* ---- the request ---- */

struct json_object *turn_params(const struct turn *t)
{
    const char *agent = t->job->agent;
    struct json_object *p = chela_json_new_object();
    struct json_object *wishes = message_wishes(t->job->message);
    struct json_object *wish = chela_json_get(wishes, "temperature");
    if (wish || agents_has(agent, "temperature"))
        chela_json_put_double(p, "temperature",
                              wish ? chela_json_double_or(wish, 1)
                                   : agents_real(agent, "temperature", 1));
    int64_t most = chela_json_int(wishes, "maxTokens", agents_number(agent, "max_tokens", 0));
    if (most > 0)
        chela_json_put_int(p, "max_tokens", most);
    const char *thinking = chela_json_string(wishes, "thinking", NULL);
    if (!thinking || !*thinking)
        thinking = transcript_field(t->transcript, "thinking");
    if (!*thinking)
        thinking = agents_text(agent, "thinking");
    if (*thinking)
        chela_json_put_text(p, "thinking", thinking);
    if (t->closing && t->prompt->tools->count && !t->no_tools)
        chela_json_put_text(p, "tool_choice", "none");
    const char *choice = chela_json_string(wishes, "toolChoice", NULL);
    if (choice && t->steps == 0 && !t->closing && t->prompt->tools->count && !t->no_tools)
        chela_json_put_text(p, "tool_choice", choice);
    chela_json_put_text(p, "session",
                        t->transcript->id && *t->transcript->id ? t->transcript->id
                                                                : t->job->session);
    if (t->whole)
        chela_json_put_bool(p, "stream", false);
    return p;
}

/* A user message that isn't part of the history: the summary, volatile text, a note. */
static char *apart(const char *tag, const char *text)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "role", "user");
    struct json_object *part = chela_json_push_object(chela_json_put_array(o, "content"));
    chela_json_put_text(part, "type", "text");
    CLEANUP(freep) char *marked = *tag ? xprintf("<%s>\n%s\n</%s>", tag, text, tag) : xstrdup(text);
    chela_json_put_text(part, "text", marked);
    char *json = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return json;
}

static void put(struct turn_messages *s, const char *tag, const char *text)
{
    char *json = apart(tag, text);
    s->made[s->made_count++] = json;
    s->pairs[s->count++] = (struct chela_pair){chela_s("user"), chela_s(json)};
}

/*
 * Memory, summary, history, what changes from turn to turn just before the question, question, and
 * what followed it. If not even the newest turn fits, its question stays and what follows is cut.
 */
struct turn_messages turn_messages(const struct turn *t)
{
    const struct transcript *x = t->transcript;
    unsigned question = t->prompt->first < x->count ? t->prompt->first : x->count;
    struct turn_messages s = {0};
    s.pairs = xcalloc((size_t)x->count - t->from + 7, sizeof *s.pairs);
    if (*t->prompt->memory)
        put(&s, "memory", t->prompt->memory);
    if (*x->summary)
        put(&s, "summary_of_earlier_conversation", x->summary);
    if (t->from <= question) {
        unsigned n = question - t->from;
        memcpy(s.pairs + s.count, x->pairs + t->from, n * sizeof *s.pairs);
        s.count += n;
    }
    if (*t->prompt->volatile_text)
        put(&s, "context", t->prompt->volatile_text);
    unsigned rest = question;
    if (t->from > question) {
        unsigned user = transcript_last_user(x);
        if (user < t->from)
            s.pairs[s.count++] = x->pairs[user];
        if (t->room)
            put(&s, "", "[Earlier steps of this answer did not fit and are left out here.]");
        rest = t->from;
    }
    memcpy(s.pairs + s.count, x->pairs + rest, (x->count - rest) * sizeof *s.pairs);
    s.count += x->count - rest;
    if (t->closing)
        put(&s, "",
            "[The limit of steps for this request is reached, or no answer was given. "
            "Answer the person now with what is known, without another tool.]");
    return s;
}

void turn_messages_free(struct turn_messages *m)
{
    for (unsigned i = 0; i < m->made_count; i++)
        free(m->made[i]);
    free(m->pairs);
}
