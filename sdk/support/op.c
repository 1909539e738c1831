/*
 * Calls of the host, values that are kept, texts that are sent on (see op.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/op.h"

struct chela_op {
    chela_op_fn *done;
    chela_op_rows_fn *rows;
    void *owner;
};

json_object *chela_object_of(struct chela_str s)
{
    json_object *o = NULL;
    if (s.n && chela_json_parse(s.s, (size_t)s.n, NULL, &o, NULL) == 0 &&
        json_object_is_type(o, json_type_object))
        return o;
    json_object_put(o);
    return NULL;
}

int64_t chela_now_ms(struct chela_inst *in)
{
    return (int64_t)in->host->local->now_ms(in);
}

/* ---- calls ---- */

uint64_t chela_op_new_rows(chela_op_fn *done, chela_op_rows_fn *rows, void *owner)
{
    struct chela_op *op = chela_need(calloc(1, sizeof *op));
    op->done = done;
    op->rows = rows;
    op->owner = owner;
    return (uint64_t)(uintptr_t)op;
}

uint64_t chela_op_new(chela_op_fn *done, void *owner)
{
    return chela_op_new_rows(done, NULL, owner);
}

void chela_op_rows(struct chela_inst *in, const struct chela_rows *r)
{
    struct chela_op *op = (struct chela_op *)(uintptr_t)r->h.tag;
    if (op && op->rows)
        op->rows(in, op->owner, r);
}

void chela_op_done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_op *op = (struct chela_op *)(uintptr_t)d->h.tag;
    if (op && op->done)
        op->done(in, op->owner, d);
    free(op);
}

void chela_ask_gateway(struct chela_inst *in, uint64_t parent, const char *method,
                       json_object *params, chela_op_fn *fn, void *owner)
{
    CHELA_ARGS(chela_invoke, q, in->host->local->new_call(in));
    size_t n;
    q.h.tag = chela_op_new(fn, owner);
    q.parent = parent;
    q.name = chela_s(method);
    const char *text = chela_json_text(params, &n);
    q.params = chela_sn(text, n);
    in->host->chat->invoke(in, &q);
    json_object_put(params);
}

void chela_keep(struct chela_inst *in, const char *key, json_object *value, chela_op_fn *fn,
                void *owner)
{
    CHELA_ARGS(chela_key, k, in->host->local->new_call(in));
    k.h.tag = chela_op_new(fn, owner);
    k.key = chela_s(key);
    if (!value) {
        in->host->kv->del(in, &k);
        return;
    }
    size_t n;
    const char *text = chela_json_text(value, &n);
    k.h.flags = CHELA_DURABLE;
    k.value = chela_sn(text, n);
    in->host->kv->put(in, &k);
}

void chela_answer_json(struct chela_inst *in, uint64_t call, json_object *o)
{
    chela_end(in, call, CHELA_OK, chela_json_text(o, NULL));
    json_object_put(o);
}

/* ---- texts ---- */

char *chela_answer_text(json_object *result)
{
    json_object *list = chela_json_array(chela_json_object(result, "result"), "payloads");
    char *text = NULL;
    size_t n;
    FILE *out = chela_need(open_memstream(&text, &n));
    for (size_t i = 0; i < chela_json_length(list); i++)
        fprintf(out, "%s%s", i ? "\n\n" : "", chela_member(chela_json_at(list, i), "text"));
    fclose(out);
    if (n)
        return text;
    free(text);
    return NULL;
}

static void sent_on(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    uint64_t *call = owner;
    char *error = chela_copy(d->text);
    /* a channel that is not there any more won't be there at the next try */
    bool final = d->error == CHELA_OK || d->error == CHELA_E_ARGS;
    if (d->error == CHELA_E_ARGS)
        chela_log(in, CHELA_WARN, error);
    chela_end(in, *call, final ? CHELA_OK : CHELA_E_BUSY, final ? "" : error);
    free(error);
    free(call);
}

void chela_send_on(struct chela_inst *in, const struct chela_send *m, json_object *to,
                   const char *text, const char *session)
{
    static const char *const names[] = {"channel", "to", "accountId", "threadId"};
    json_object *extra = chela_object_of(m->extra), *o = chela_json_new_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (*chela_member(to, names[i]) || i < 2)
            chela_json_put_text(o, names[i], chela_member(to, names[i]));
    json_object *buttons = m->buttons.n ? chela_json_put_array(o, "buttons") : NULL;
    for (uint64_t i = 0; i < m->buttons.n; i++) {
        json_object *b = chela_json_push_object(buttons);
        chela_json_put_string(b, "label", m->buttons.v[i].name.s, (size_t)m->buttons.v[i].name.n);
        chela_json_put_string(b, "value", m->buttons.v[i].value.s, (size_t)m->buttons.v[i].value.n);
    }
    /* what is no reply is said once, and its key counts anew in each process */
    int64_t when = chela_json_has(extra, "run") ? 0 : chela_now_ms(in);
    char *key = chela_format("fwd-%.*s-%llx", (int)m->key.n, m->key.s, (unsigned long long)when);
    uint64_t *call = chela_need(malloc(sizeof *call));
    *call = m->h.call;
    chela_json_put_text(o, "message", text);
    chela_json_put_text(o, "sessionKey", session);
    chela_json_put_text(o, "idempotencyKey", key);
    chela_ask_gateway(in, m->h.call, "send", o, sent_on, call);
    json_object_put(extra);
    free(key);
}
