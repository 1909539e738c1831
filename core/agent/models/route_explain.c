/*
 * What was decided about a route, as JSON: for `chela route explain`, for the trace and for
 * /status. Called by route.c; changes nothing.
 */
#include <string.h>
#include <support/json.h>

#include "agent/models/health.h"
#include "agent/models/modelkeys.h"
#include "agent/models/models.h"
#include "agent/models/route_private.h"
#include "base/buf.h"
#include "base/mem.h"

enum { ANSWER_TOKENS = 500 }; /* what an answer is taken to be, for an estimate of its price */

static const char *verdict_of(const struct chela_decide *v)
{
    if (!v)
        return "failed";
    if (v->verdict != CHELA_YES)
        return "no opinion";
    return v->h.flags & CHELA_WEAK ? "default" : "yes";
}

void route_heard(struct routing *r, const struct chela_done *d, const struct chela_decide *v)
{
    struct json_object *o = chela_json_push_object(r->heard);
    struct chela_str text = v ? v->text : d->text;
    chela_json_put_text(o, "name", instance_name(r->router));
    chela_json_put_text(o, "verdict", verdict_of(v));
    chela_json_put_string(o, "reason", text.s ? text.s : "", text.n);
    struct json_object *list = chela_json_put_array(o, "candidates");
    for (uint64_t i = 0; v && i < v->candidates.n; i++) {
        struct json_object *c = chela_json_push_object(list);
        const struct chela_pair *p = &v->candidates.v[i];
        chela_json_put_string(c, "model", p->name.s, p->name.n);
        chela_json_put_string(c, "reason", p->value.s ? p->value.s : "", p->value.n);
    }
}

static struct json_object *push_candidate(struct json_object *list, const struct candidate *c)
{
    struct json_object *o = chela_json_push_object(list);
    chela_json_put_text(o, "model", c->model);
    chela_json_put_text(o, "reason", c->reason);
    chela_json_put_text(o, "by", c->by);
    return o;
}

struct json_object *route_decision(const struct routing *r)
{
    struct json_object *o = chela_json_new_object();
    struct buf text = {0};
    if (r->count)
        buf_printf(&text, "%s, by %s: %s", r->candidates[0].model, r->candidates[0].by,
                   r->candidates[0].reason);
    else
        buf_puts(&text, "no model is there");
    chela_json_put_text(o, "text", buf_text(&text));
    buf_free(&text);
    if (chela_json_length(r->heard))
        chela_json_put(o, "routers", json_object_get(r->heard));
    struct json_object *list = chela_json_put_array(o, "candidates");
    for (unsigned i = 0; i < r->count; i++)
        push_candidate(list, &r->candidates[i]);
    if (r->strict)
        chela_json_put_bool(o, "strict", true);
    return o;
}

static struct json_object *facts(const struct routing *r)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "text", r->text);
    chela_json_put_text(o, "prefer", r->prefer);
    chela_json_put_text(o, "agent", r->agent);
    chela_json_put_text(o, "session", r->session);
    chela_json_put_text(o, "channel", r->channel);
    chela_json_put_text(o, "sender", r->sender);
    chela_json_put_text(o, "attachments", r->attachments);
    chela_json_put_int(o, "contextTokens", (int64_t)r->tokens);
    chela_json_put_int(o, "toolCalls", r->tool_calls);
    chela_json_put_int(o, "tools", r->tools);
    chela_json_put_int(o, "images", r->images);
    return o;
}

static const char *circuit_name(enum health_circuit c)
{
    static const char *const names[] = {"closed", "open", "half-open"};
    return names[c];
}

struct json_object *route_explanation(const struct routing *r)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put(o, "facts", facts(r));
    chela_json_put(o, "routers", json_object_get(r->heard));
    struct json_object *list = chela_json_put_array(o, "candidates");
    for (unsigned i = 0; i < r->count; i++) {
        const char *model = r->candidates[i].model;
        struct json_object *c = push_candidate(list, &r->candidates[i]);
        struct model_info info;
        bool known = models_info(model, &info);
        struct usage u = {.in = r->tokens, .out = ANSWER_TOKENS};
        chela_json_put_bool(c, "available", known && modelkeys_usable(model));
        chela_json_put_text(c, "circuit", circuit_name(health_circuit(model)));
        chela_json_put_double(c, "availability", health_availability(model));
        chela_json_put_int(c, "latencyMs", (int64_t)health_latency(model));
        chela_json_put_bool(c, "local", known && info.local);
        chela_json_put_double(c, "estimatedCost", known ? models_cost(&info, &u) : 0);
        chela_json_put_bool(c, "priceKnown", known && info.priced);
    }
    chela_json_put_bool(o, "strict", r->strict);
    return o;
}
