/* The fake journal's counters of what was spent, and decisions about models. */
#include <json-c/json_object.h>
#include <string.h>
#include <support/json.h>

#include "base/mem.h"
#include "tests/unit/agent_fake_journal.h"

void journal_decision(struct journal_run *r, const char *json, uint64_t at)
{
    struct json_object *decision = NULL;
    (void)at;
    if (fake_frozen() || chela_json_parse(json, strlen(json), NULL, &decision, NULL) != 0)
        return;
    struct json_object *o = chela_json_push_object(fake_table("decisions"));
    chela_json_put_text(o, "run", r->run);
    chela_json_put(o, "decision", decision);
}

void journal_run_spent(struct journal_run *r, const struct spent *s)
{
    (void)r;
    if (fake_frozen())
        return;
    struct json_object *o = chela_json_push_object(fake_table("spent"));
    chela_json_put_int(o, "day", (int64_t)(s->at / (24 * 3600 * 1000)));
    chela_json_put_text(o, "session", s->session);
    chela_json_put_text(o, "channel", s->channel);
    chela_json_put_text(o, "sender", s->sender);
    chela_json_put_text(o, "model", s->model);
    chela_json_put_int(o, "messages", s->messages);
    chela_json_put_int(o, "answers", s->answers);
    chela_json_put_bool(o, "local", s->local);
    chela_json_put_bool(o, "unpriced", s->unpriced);
    chela_json_put_int(o, "in", (int64_t)usage_in(&s->usage));
    chela_json_put_int(o, "out", (int64_t)s->usage.out);
    chela_json_put_double(o, "cost", s->cost);
}

void journal_spent(const struct spent *s, journal_fn *fn, void *owner)
{
    journal_run_spent(NULL, s);
    fake_tell(fn, owner);
}

static void push_text(struct json_object *row, const char *s)
{
    chela_json_push(row, chela_json_new_string(s, strlen(s)));
}

static void push_int(struct json_object *row, int64_t n)
{
    chela_json_push(row, json_object_new_int64(n));
}

void journal_usage(uint64_t from, uint64_t to, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = fake_tell(fn, owner);
    t->row = row;
    t->rows = chela_json_new_array();
    const uint64_t day = 24 * 3600 * 1000;
    for (size_t i = 0; i < chela_json_length(fake_table("spent")); i++) {
        struct json_object *o = chela_json_at(fake_table("spent"), i);
        uint64_t on = (uint64_t)chela_json_int(o, "day", 0);
        if (on < from / day || on > to / day)
            continue;
        struct json_object *r = chela_json_new_array();
        chela_json_push(t->rows, r);
        const char *model = fake_field(o, "model"), *slash = strchr(model, '/');
        CLEANUP(freep) char *provider = xmemdup(model, strcspn(model, "/"));
        push_int(r, (int64_t)on);
        push_text(r, fake_field(o, "session"));
        push_text(r, fake_field(o, "channel"));
        push_text(r, fake_field(o, "sender"));
        push_text(r, provider);
        push_text(r, slash ? slash + 1 : "");
        push_int(r, chela_json_int(o, "messages", 0));
        push_int(r, chela_json_int(o, "answers", 0));
        push_int(r, chela_json_bool(o, "local", false));
        push_int(r, chela_json_bool(o, "unpriced", false));
        push_int(r, chela_json_int(o, "in", 0));
        push_int(r, chela_json_int(o, "out", 0));
        push_int(r, 0);
        chela_json_push(r, json_object_new_double(chela_json_double(o, "cost", 0)));
    }
}
