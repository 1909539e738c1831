/*
 * The facts that a router decides by: taken from a prompt or from a question, and the models with
 * their health, as chela/router.h describes them. Called by route.c; decides nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <time.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/models/health.h"
#include "agent/models/modelkeys.h"
#include "agent/models/models.h"
#include "agent/models/route_private.h"
#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"

enum { MODELS_MOST = 500, PREVIOUS_BYTES = 1000 };

/* "image", "audio", "video" or "file". */
static const char *kind_of(const char *mime)
{
    static const char *const kinds[] = {"image", "audio", "video"};
    for (unsigned i = 0; mime && i < ARRAY_LENGTH(kinds); i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(mime, kinds[i], n) == 0 && mime[n] == '/')
            return kinds[i];
    }
    return "file";
}

static char *kinds_of(struct json_object *media)
{
    struct buf b = {0};
    for (size_t i = 0; i < chela_json_length(media); i++) {
        const char *kind = kind_of(chela_json_string(chela_json_at(media, i), "mime", NULL));
        if (!strstr(buf_text(&b), kind))
            buf_printf(&b, "%s%s", b.n ? " " : "", kind);
    }
    buf_text(&b);
    return buf_take(&b);
}

/* The end of the text of the assistant's last message. */
static char *said_before(const struct transcript *t)
{
    struct json_object *parts = NULL;
    struct buf b = {0};
    unsigned i = t ? t->count : 0;
    while (i > 0 && t->entries[i - 1].role != ENTRY_ASSISTANT)
        i--;
    if (i > 0 && chela_json_parse(t->entries[i - 1].body, t->entries[i - 1].body_n, NULL, &parts,
                                  NULL) == 0) {
        for (size_t k = 0; k < chela_json_length(parts); k++) {
            struct json_object *part = chela_json_at(parts, k);
            const char *type = chela_json_string(part, "type", NULL);
            if (type && strcmp(type, "text") == 0)
                buf_puts(&b, chela_json_string(part, "text", NULL));
        }
    }
    json_object_put(parts);
    const char *text = buf_text(&b);
    size_t from = b.n > PREVIOUS_BYTES ? b.n - PREVIOUS_BYTES : 0;
    while (((unsigned char)text[from] & 0xc0) == 0x80)
        from++;
    char *end = xstrdup(text + from);
    buf_free(&b);
    return end;
}

void route_facts_of_prompt(struct routing *r, struct prompt *p)
{
    const struct job *j = p->job;
    const char *wish = chela_json_string(message_wishes(j->message), "model", NULL);
    const char *chosen = p->transcript ? transcript_field(p->transcript, "model") : "";
    r->prompt = p;
    r->session = xstrdup(j->session);
    r->agent = xstrdup(j->agent);
    r->channel = xstrdup(j->message->channel);
    r->account = xstrdup(j->message->account);
    r->chat = xstrdup(j->message->chat);
    r->sender = xstrdup(j->message->sender);
    r->text = xstrdup(j->message->text);
    r->prefer = xstrdup(wish && *wish ? wish : chosen);
    r->previous = said_before(p->transcript);
    r->attachments = kinds_of(j->message->media);
    r->tokens = p->tokens;
    r->tools = p->tools->count;
    r->images = p->images;
    r->tool_calls = p->transcript ? p->transcript->tool_calls : 0;
}

static char *copy(const char *s)
{
    return xstrdup(s ? s : "");
}

void route_facts_of_question(struct routing *r, const struct route_question *q)
{
    r->session = copy(q->session);
    r->agent = copy(q->agent);
    r->channel = copy(q->channel);
    r->account = copy("");
    r->chat = copy("");
    r->sender = copy(q->sender);
    r->text = copy(q->text);
    r->prefer = copy(q->prefer);
    r->previous = said_before(q->transcript);
    r->attachments = copy(q->attachments);
    r->tokens = q->tokens;
    r->tools = q->tools;
    r->images = strstr(r->attachments, "image") ? 1 : 0;
    r->tool_calls = q->tool_calls;
}

void route_facts_free(struct routing *r)
{
    char *const texts[] = {r->session, r->agent, r->channel, r->account,  r->chat,
                           r->sender,  r->text,  r->prefer,  r->previous, r->attachments};
    for (unsigned i = 0; i < ARRAY_LENGTH(texts); i++)
        free(texts[i]);
}

/* ---- the models ---- */

struct fact_list {
    struct chela_pair *pairs;
    unsigned count;
};

static void fact_of(void *arg, const char *full, const struct model_info *info)
{
    struct fact_list *f = arg;
    if (f->count >= MODELS_MOST)
        return;
    bool available = modelkeys_usable(full);
    char *json = xprintf("{\"available\":%s,\"availability\":%.2f,\"latency_ms\":%llu,"
                         "\"context\":%llu,\"tools\":%s,\"images\":%s,\"local\":%s,"
                         "\"price_in\":%g,\"price_out\":%g,\"price_known\":%s}",
                         available ? "true" : "false", health_availability(full),
                         (unsigned long long)health_latency(full),
                         (unsigned long long)info->context, info->tools ? "true" : "false",
                         info->images ? "true" : "false", info->local ? "true" : "false",
                         info->price_in, info->price_out, info->priced ? "true" : "false");
    f->pairs = xrealloc(f->pairs, (f->count + 1) * sizeof *f->pairs);
    f->pairs[f->count++] = (struct chela_pair){chela_s(xstrdup(full)), chela_s(json)};
}

/* Seconds since 1970 as the clocks on the wall here show them. */
static uint64_t local_seconds(void)
{
    time_t now = (time_t)(clock_now_ms() / 1000);
    struct tm here;
    if (!localtime_r(&now, &here))
        return (uint64_t)now;
    return (uint64_t)(now + here.tm_gmtoff);
}

uint64_t route_ask(struct routing *r, const struct call_ops *ops)
{
    struct fact_list f = {0};
    models_each(fact_of, &f);
    CHELA_ARGS(chela_facts, a, 0);
    a.tool_calls = r->tool_calls;
    a.images = r->images;
    a.tools = r->tools;
    a.context_tokens = r->tokens;
    a.at = local_seconds();
    a.text = chela_s(r->text);
    a.prefer = chela_s(r->prefer);
    a.channel = chela_s(r->channel);
    a.account = chela_s(r->account);
    a.chat = chela_s(r->chat);
    a.sender = chela_s(r->sender);
    a.agent = chela_s(r->agent);
    a.session = chela_s(r->session);
    a.attachments = chela_s(r->attachments);
    a.previous = chela_s(r->previous);
    a.models = (struct chela_pairs){f.pairs, f.count};
    uint64_t call = call_begin(r->router, CHELA_FN_ROUTER_ROUTE, &a,
                               (uint64_t)settings_number_or("routing.timeout", 3000), 0, ops, r);
    for (unsigned i = 0; i < f.count; i++) {
        free((char *)(uintptr_t)f.pairs[i].name.s);
        free((char *)(uintptr_t)f.pairs[i].value.s);
    }
    free(f.pairs);
    return call;
}
