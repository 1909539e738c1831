/*
 * The commits of a run, each a batch after the one before; what only joins the next commit waits in
 * the run. Called by turn, tool calls, approvals and outbox.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/json.h"

enum { DAY_MS = 24 * 3600 * 1000 };

struct journal_run *journal_run_begin(const char *session, const char *run)
{
    struct journal_run *r = xcalloc(1, sizeof *r);
    r->session = xstrdup(session);
    r->run = xstrdup(run);
    r->holds = 1;
    return r;
}

void journal_run_end(struct journal_run *r)
{
    if (r)
        run_release(r);
}

void journal_run_state(struct journal_run *r, const char *state, uint64_t at)
{
    buf_printf(&r->states, "%s@%llu ", state, (unsigned long long)at);
    free(r->state);
    r->state = xstrdup(state);
}

static void key(struct journal_ops *o, enum sql s, const struct journal_run *r)
{
    ops_statement(o, s);
    ops_text(o, r->session);
    ops_text(o, r->run);
}

static void add_spent(struct journal_ops *o, const struct spent *s)
{
    const char *slash = strchr(s->model, '/');
    CLEANUP(freep) char *provider = xmemdup(s->model, slash ? (size_t)(slash - s->model) : 0);
    ops_statement(o, SQL_USAGE_ADD);
    ops_text(o, s->session);
    ops_int(o, s->at / DAY_MS);
    ops_text(o, s->channel);
    ops_text(o, s->sender);
    ops_text(o, provider);
    ops_text(o, slash ? slash + 1 : s->model);
    ops_int(o, s->messages);
    ops_int(o, s->answers);
    ops_int(o, s->local);
    ops_int(o, s->unpriced ? s->messages : 0);
    ops_int(o, usage_in(&s->usage));
    ops_int(o, s->usage.out);
    ops_int(o, s->usage.cache_read);
    ops_real(o, s->cost);
}

static void add_message(struct journal_ops *o, const struct journal_run *r,
                        const struct journal_message *m)
{
    ops_statement(o, SQL_MESSAGE_PUT);
    ops_text(o, r->session);
    ops_int(o, m->seq);
    ops_text(o, r->run);
    ops_text(o, m->role);
    ops_text(o, m->body);
    ops_text(o, m->model);
    ops_int(o, m->tokens_in);
    ops_int(o, m->tokens_out);
    ops_real(o, m->cost);
    ops_int(o, m->at);
    if (m->inbox) {
        ops_statement(o, SQL_INBOX_TAKE);
        ops_text(o, r->session);
        ops_text(o, m->inbox);
        ops_text(o, r->run);
    }
    if (m->spent)
        add_spent(o, m->spent);
    upkeep_messages();
}

static void add_messages(struct journal_ops *o, const struct journal_run *r,
                         const struct journal_message *m, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add_message(o, r, &m[i]);
}

/* ---- start, attempts ---- */

void journal_run_start(struct journal_run *r, const char *agent, uint64_t plan_revision,
                       const struct journal_message *messages, unsigned count, journal_fn *fn,
                       void *owner)
{
    json_object *consumed = chela_json_new_array();
    for (unsigned i = 0; i < count; i++)
        if (messages[i].inbox)
            chela_json_push(consumed,
                            chela_json_new_string(messages[i].inbox, strlen(messages[i].inbox)));
    uint64_t now = clock_now_ms();
    struct journal_batch *b = batch_of_run(r, false);
    b->patient = true;
    session_touch(&b->ops, r->session, agent, now);
    key(&b->ops, SQL_RUN_PUT, r);
    ops_text(&b->ops, agent);
    ops_int(&b->ops, plan_revision);
    ops_text(&b->ops, chela_json_text(consumed, NULL));
    ops_int(&b->ops, count ? messages[0].seq : 0);
    ops_int(&b->ops, now);
    json_object_put(consumed);
    run_join(r, &b->ops, 0);
    add_messages(&b->ops, r, messages, count);
    r->started = true;
    batch_send(b, fn, owner);
}

void journal_attempt(struct journal_run *r, unsigned number, const char *model, const char *reason,
                     bool effects, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, effects);
    b->patient = !effects;
    run_join(r, &b->ops, 0);
    key(&b->ops, SQL_ATTEMPT_PUT, r);
    ops_int(&b->ops, number);
    ops_text(&b->ops, model);
    ops_text(&b->ops, reason ? reason : "");
    ops_int(&b->ops, effects);
    ops_int(&b->ops, clock_now_ms());
    batch_send(b, fn, owner);
}

void journal_attempt_end(struct journal_run *r, unsigned number, const char *outcome, uint64_t ms,
                         uint64_t tokens_in, uint64_t tokens_out)
{
    key(&r->ops, SQL_ATTEMPT_END, r);
    ops_int(&r->ops, number);
    ops_text(&r->ops, outcome);
    ops_int(&r->ops, ms);
    ops_int(&r->ops, tokens_in);
    ops_int(&r->ops, tokens_out);
}

void journal_decision(struct journal_run *r, const char *json, uint64_t at)
{
    key(&r->ops, SQL_DECISION_PUT, r);
    ops_int(&r->ops, journal_new_id());
    ops_text(&r->ops, json);
    ops_int(&r->ops, at);
}

void journal_run_spent(struct journal_run *r, const struct spent *s)
{
    add_spent(&r->ops, s);
}

void journal_spent(const struct spent *s, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(s->session, false);
    add_spent(&b->ops, s);
    batch_send(b, fn, owner);
}

/* ---- tool calls ---- */

void journal_reply(struct journal_run *r, const struct journal_message *assistant,
                   const struct journal_call *calls, unsigned count, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, false);
    b->patient = true;
    run_join(r, &b->ops, 0);
    add_message(&b->ops, r, assistant);
    for (unsigned i = 0; i < count; i++) {
        key(&b->ops, SQL_CALL_PUT, r);
        ops_text(&b->ops, calls[i].id);
        ops_text(&b->ops, calls[i].name);
        ops_text(&b->ops, calls[i].arguments);
        ops_text(&b->ops, calls[i].hash);
        ops_int(&b->ops, i);
        ops_int(&b->ops, assistant->at);
    }
    r->calls |= count > 0;
    batch_send(b, fn, owner);
}

void journal_approval_ask(struct journal_run *r, const struct journal_approval *a, journal_fn *fn,
                          void *owner)
{
    struct journal_batch *b = batch_of_run(r, true);
    run_join(r, &b->ops, 0);
    ops_statement(&b->ops, SQL_APPROVAL_PUT);
    ops_text(&b->ops, r->session);
    ops_text(&b->ops, a->id);
    ops_text(&b->ops, r->run);
    ops_text(&b->ops, a->call);
    ops_text(&b->ops, a->record);
    ops_text(&b->ops, a->hash);
    ops_int(&b->ops, a->expires);
    ops_int(&b->ops, clock_now_ms());
    if (*a->call) {
        key(&b->ops, SQL_CALL_ASK, r);
        ops_text(&b->ops, a->call);
        ops_int(&b->ops, !r->started);
    }
    r->asked = true;
    batch_send(b, fn, owner);
}

void journal_approval_decide(const char *session, const char *id, const char *decision,
                             const char *by, uint64_t at, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(session, true);
    ops_statement(&b->ops, SQL_APPROVAL_DECIDE);
    ops_text(&b->ops, session);
    ops_text(&b->ops, id);
    ops_text(&b->ops, decision);
    ops_text(&b->ops, by);
    ops_int(&b->ops, at);
    batch_send(b, fn, owner);
}

void journal_call_start(struct journal_run *r, const char *call, const char *approval,
                        const char *hash, bool reads_only, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, !reads_only);
    uint64_t now = clock_now_ms();
    run_join(r, &b->ops, 0);
    if (approval) {
        ops_statement(&b->ops, SQL_APPROVAL_USE);
        ops_text(&b->ops, r->session);
        ops_text(&b->ops, approval);
        ops_text(&b->ops, hash);
        ops_int(&b->ops, now);
        ops_int(&b->ops, !r->started);
    }
    key(&b->ops, SQL_CALL_START, r);
    ops_text(&b->ops, call);
    ops_text(&b->ops, hash);
    ops_text(&b->ops, approval);
    ops_int(&b->ops, now);
    ops_int(&b->ops, !r->started); /* found after a restart: may be repeated */
    batch_send(b, fn, owner);
}

void journal_call_end(struct journal_run *r, const char *call, const char *state,
                      const char *result, uint64_t ms, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, false);
    run_join(r, &b->ops, 0);
    key(&b->ops, SQL_CALL_END, r);
    ops_text(&b->ops, call);
    ops_text(&b->ops, state);
    ops_text(&b->ops, result);
    ops_int(&b->ops, ms);
    ops_int(&b->ops, clock_now_ms());
    batch_send(b, fn, owner);
}

void journal_results(struct journal_run *r, const struct journal_message *messages, unsigned count,
                     journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, false);
    run_join(r, &b->ops, 0);
    add_messages(&b->ops, r, messages, count);
    batch_send(b, fn, owner);
}

/* ---- answers ---- */

static void add_chunk(struct journal_ops *o, enum sql statement, const struct journal_run *r,
                      const struct journal_chunk *c, unsigned place, uint64_t now)
{
    key(o, statement, r);
    ops_text(o, c->key);
    ops_int(o, place);
    ops_text(o, c->body);
    ops_int(o, c->send_class);
    ops_int(o, now);
}

void journal_post(const char *session, const struct journal_chunk *chunks, unsigned count,
                  journal_fn *fn, void *owner)
{
    const struct journal_run post = {.session = (char *)(uintptr_t)session,
                                     .run = (char *)(uintptr_t)JOURNAL_POST};
    struct journal_batch *b = batch_new(session, true);
    for (unsigned i = 0; i < count; i++)
        add_chunk(&b->ops, SQL_OUTBOX_POST, &post, &chunks[i], i, clock_now_ms());
    batch_send(b, fn, owner);
}

void journal_draft(struct journal_run *r, const struct journal_chunk *draft, journal_fn *fn,
                   void *owner)
{
    struct journal_batch *b = batch_of_run(r, true);
    run_join(r, &b->ops, 0);
    add_chunk(&b->ops, SQL_OUTBOX_PUT, r, draft, 0, clock_now_ms());
    batch_send(b, fn, owner);
}

/* The run's last commit: nothing of it is open afterwards. */
static void end_run(struct journal_run *r, struct journal_ops *o, const char *state, uint64_t now)
{
    if (!r->state || strcmp(r->state, state) != 0)
        journal_run_state(r, state, now);
    run_join(r, o, now);
    if (r->calls) {
        key(o, SQL_CALL_ABORT, r);
        ops_int(o, now);
    }
    if (r->asked) {
        key(o, SQL_APPROVAL_CANCEL, r);
        ops_int(o, now);
    }
}

void journal_final(struct journal_run *r, const struct journal_message *message,
                   const struct journal_chunk *chunks, unsigned count, const char *state,
                   journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, true);
    uint64_t now = clock_now_ms();
    if (message)
        add_message(&b->ops, r, message);
    for (unsigned i = 0; i < count; i++)
        add_chunk(&b->ops, SQL_OUTBOX_PUT, r, &chunks[i], i, now);
    end_run(r, &b->ops, state, now);
    batch_send(b, fn, owner);
}

/* A run of an earlier process is ended by a new struct that knows nothing of its calls. */
void journal_abort(struct journal_run *r, const struct journal_message *messages, unsigned count,
                   journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_of_run(r, true);
    r->calls = r->asked = true;
    add_messages(&b->ops, r, messages, count);
    end_run(r, &b->ops, "ABORTED", clock_now_ms());
    batch_send(b, fn, owner);
}

void journal_session_import(const char *session, const char *run, json_object *fields,
                            const struct journal_message *messages, unsigned count, journal_fn *fn,
                            void *owner)
{
    uint64_t now = clock_now_ms();
    struct journal_run *r = journal_run_begin(session, run);
    struct journal_batch *b = batch_of_run(r, true);
    session_fields(&b->ops, session, fields, count ? messages[count - 1].at : now);
    key(&b->ops, SQL_RUN_PUT, r);
    ops_text(&b->ops, chela_json_string(fields, "agent", NULL));
    ops_int(&b->ops, 0);
    ops_text(&b->ops, "[]");
    ops_int(&b->ops, 1);
    ops_int(&b->ops, now);
    add_messages(&b->ops, r, messages, count);
    journal_run_state(r, "DONE", now);
    run_join(r, &b->ops, now);
    batch_send(b, fn, owner);
    journal_run_end(r);
}

void journal_chunk_state(const char *session, const char *run, const char *chunk_key,
                         uint32_t send_class, const char *state, const char *external,
                         journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(session, send_class == CHELA_SEND_NEITHER);
    b->patient = !b->barrier;
    ops_statement(&b->ops, SQL_OUTBOX_STATE);
    ops_text(&b->ops, session);
    ops_text(&b->ops, run);
    ops_text(&b->ops, chunk_key);
    ops_text(&b->ops, state);
    ops_int(&b->ops, clock_now_ms());
    ops_text(&b->ops, external);
    batch_send(b, fn, owner);
}
