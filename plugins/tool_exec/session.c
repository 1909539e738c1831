/*
 * A command from its start to its end (see exec.h): its output, kept in two forms (as a person
 * reads it, and the raw bytes), the call that waits for it, and its life in the background when
 * that call no longer waits. Called by tool_exec.c and process.c on the loop.
 */
#include "exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHEST_EXIT = 126, ENDED_KEPT = 16, EXPIRY_MS = 30 * 60 * 1000 };

/* ---- life ---- */

static void yield_now(struct chela_inst *in, void *arg)
{
    struct session *s = arg;
    (void)in;
    s->yield = 0;
    session_yield(s);
}

struct session *session_new(struct chela_inst *in, const struct chela_tool_run *r, struct judged *j)
{
    struct exec *e = exec_of(in);
    struct session *s = exec_allocate(sizeof *s);
    s->in = in;
    snprintf(s->id, sizeof s->id, "s%u", ++e->last);
    s->owner = strndup(r->session.n ? r->session.s : "", (size_t)r->session.n);
    s->agent = strndup(r->agent.n ? r->agent.s : "", (size_t)r->agent.n);
    s->line = strdup(j->command.line);
    s->directory = strdup(j->command.directory);
    s->kind = command_kind(&j->risk);
    if (!s->owner || !s->agent || !s->line || !s->directory)
        abort();
    s->judged = j;
    s->risk = j->risk.level;
    s->pty = j->command.pty;
    s->call = r->h.call;
    s->started_ms = in->host->local->ticks_ms(in);
    s->raw.size = (size_t)chela_option_number(in, "output_limit");
    output_open(&s->output, s->raw.size);
    s->next = e->sessions;
    e->sessions = s;
    int64_t after =
        j->command.yield_ms >= 0 ? j->command.yield_ms : chela_option_number(in, "yield");
    if (j->command.background)
        session_yield(s);
    else if (after > 0)
        s->yield = in->host->local->timer(in, (uint64_t)after, yield_now, s);
    return s;
}

void session_free(struct session *s)
{
    const struct chela_local *local = s->in->host->local;
    struct session **place = &exec_of(s->in)->sessions;
    while (*place && *place != s)
        place = &(*place)->next;
    if (*place)
        *place = s->next;
    local->timer_stop(s->in, s->yield);
    local->timer_stop(s->in, s->expiry);
    judged_free(s->judged);
    output_free(&s->output);
    screen_free(s->screen);
    json_object_put(s->about);
    free(s->raw.p);
    free(s->why);
    free(s->owner);
    free(s->agent);
    free(s->line);
    free(s->directory);
    free(s->kind);
    free(s);
}

struct session *session_find(struct exec *e, struct chela_str owner, const char *id)
{
    for (struct session *s = e->sessions; s; s = s->next)
        if (s->kept && chela_str_is(owner, s->owner) && (!id || !*id || strcmp(s->id, id) == 0))
            return s;
    return NULL;
}

struct session *session_of_call(struct exec *e, uint64_t call)
{
    for (struct session *s = e->sessions; s; s = s->next)
        if (s->call == call)
            return s;
    return NULL;
}

/* ---- output ---- */

static void keep_raw(struct raw *r, const char *bytes, size_t n)
{
    r->total += n;
    if (n > r->size) {
        bytes += n - r->size;
        n = r->size;
    }
    if (!r->p)
        r->p = exec_allocate(r->size);
    for (size_t done = 0; done < n;) {
        size_t piece = r->size - r->at < n - done ? r->size - r->at : n - done;
        memcpy(r->p + r->at, bytes + done, piece);
        r->at = (r->at + piece) % r->size;
        done += piece;
    }
    r->n = r->n + n < r->size ? r->n + n : r->size;
}

static void answer_program(struct session *s)
{
    size_t n;
    char *text = screen_take(s->screen, &n);
    if (!text)
        return;
    if (s->pty && s->process) {
        CHELA_ARGS(chela_write, w, s->process);
        w.data = chela_sn(text, n);
        s->in->host->process->write(s->in, &w);
    }
    free(text);
}

static void progress(struct session *s, const char *bytes, size_t n)
{
    char *whole = malloc(chela_json_carry_room(n));
    if (!whole)
        abort();
    n = chela_json_carry_feed(&s->carry, bytes, n, whole);
    if (n)
        chela_text_of(s->in, s->call, whole, n);
    free(whole);
}

void session_output(struct session *s, const char *bytes, size_t n)
{
    keep_raw(&s->raw, bytes, n);
    if (s->call) {
        output_add(&s->output, bytes, n);
        progress(s, bytes, n);
    }
    if (s->screen) {
        screen_feed(s->screen, bytes, n, !s->pty);
        answer_program(s);
    }
    process_tell(s);
}

/* The screen from what was printed so far. */
struct screen *session_screen(struct session *s)
{
    if (s->screen)
        return s->screen;
    s->screen = screen_new(EXEC_ROWS, EXEC_COLUMNS);
    size_t from = s->raw.n < s->raw.size ? 0 : s->raw.at;
    if (s->raw.n) {
        size_t first = s->raw.n < s->raw.size - from ? s->raw.n : s->raw.size - from;
        screen_feed(s->screen, s->raw.p + from, first, !s->pty);
        screen_feed(s->screen, s->raw.p, s->raw.n - first, !s->pty);
    }
    answer_program(s);
    return s->screen;
}

/* ---- how it is ---- */

void session_state(const struct session *s, char *text, size_t size)
{
    int64_t number = chela_json_int(s->about, "signal", 0);
    if (!s->ended)
        snprintf(text, size, "running for %llu s",
                 (unsigned long long)(s->in->host->local->ticks_ms(s->in) - s->started_ms) / 1000);
    else if (chela_json_bool(s->about, "timed_out", false))
        snprintf(text, size, "ended: it took longer than its time limit");
    else if (s->killed)
        snprintf(text, size, "ended: it was killed");
    else if (number)
        snprintf(text, size, "ended by signal %lld", (long long)number);
    else if (s->error != CHELA_OK)
        snprintf(text, size, "%.400s", s->why && *s->why ? s->why : "it could not be run");
    else
        snprintf(text, size, "exit code %lld", (long long)chela_json_int(s->about, "exit", 0));
}

static bool failed(const struct session *s)
{
    return s->error != CHELA_OK || chela_json_int(s->about, "signal", 0) ||
           chela_json_int(s->about, "exit", 0) >= HIGHEST_EXIT;
}

json_object *session_details(const struct session *s)
{
    uint64_t now = s->ended ? s->ended_ms : s->in->host->local->ticks_ms(s->in);
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "status", !s->ended ? "running" : failed(s) ? "failed" : "completed");
    if (chela_json_has(s->about, "exit"))
        chela_json_put_int(o, "exitCode", chela_json_int(s->about, "exit", 0));
    if (chela_json_has(s->about, "signal"))
        chela_json_put_int(o, "signal", chela_json_int(s->about, "signal", 0));
    if (chela_json_get(s->about, "unconfined"))
        chela_json_put(o, "unconfined", json_object_get(chela_json_get(s->about, "unconfined")));
    if (s->kept)
        chela_json_put_text(o, "sessionId", s->id);
    chela_json_put_int(o, "durationMs", (int64_t)(now - s->started_ms));
    chela_json_put_text(o, "cwd", s->directory);
    chela_json_put_text(o, "risk", risk_level_name(s->risk));
    return o;
}

static void answer(struct session *s, uint32_t error, const char *text, size_t n)
{
    json_object *extra = chela_json_new_object();
    chela_json_put(extra, "details", session_details(s));
    CHELA_ARGS(chela_done, a, s->call);
    a.h.flags = s->ended && failed(s) ? CHELA_IS_ERROR : 0;
    a.error = error;
    a.text = chela_sn(text, n);
    a.extra = chela_s(chela_json_text(extra, NULL));
    s->call = 0;
    s->in->host->answer->done(s->in, &a);
    json_object_put(extra);
}

/* What it printed so far and a last line; free it. */
static char *printed(struct session *s, const char *last, size_t *ret_length)
{
    size_t length;
    char *text = NULL, *said = output_take(&s->output, &length);
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        abort();
    fwrite(said, 1, length, out);
    if (*last)
        fprintf(out, "%s[%s]", length && said[length - 1] != '\n' ? "\n" : "", last);
    fclose(out);
    free(said);
    return text;
}

/* ---- the background ---- */

void session_yield(struct session *s)
{
    char last[160];
    size_t n;
    s->in->host->local->timer_stop(s->in, s->yield);
    s->yield = 0;
    s->kept = true;
    session_screen(s);
    snprintf(last, sizeof last,
             "it goes on in the background as session %s; the tool process polls it, types into "
             "it, or kills it",
             s->id);
    char *text = printed(s, last, &n);
    answer(s, CHELA_OK, text, n);
    free(text);
}

void session_kill(struct session *s)
{
    s->killed = true;
    if (s->process) {
        chela_cancel(s->in, s->process);
    } else if (!s->ended) { /* it waits to be launched */
        CHELA_ARGS(chela_done, d, 0);
        d.error = CHELA_E_CANCELLED;
        d.text = chela_s("ended before it ran");
        session_end(s, &d);
    }
}

static void expire(struct chela_inst *in, void *arg)
{
    struct session *s = arg;
    (void)in;
    s->expiry = 0;
    session_free(s);
}

static void drop_oldest(struct exec *e)
{
    struct session *oldest = NULL;
    unsigned count = 0;
    for (struct session *s = e->sessions; s; s = s->next) {
        if (s->kept && s->ended && !s->waiters) {
            oldest = s;
            count++;
        }
    }
    if (count > ENDED_KEPT)
        session_free(oldest);
}

void session_end(struct session *s, const struct chela_done *d)
{
    struct chela_inst *in = s->in;
    s->ended = true;
    s->process = 0;
    s->ended_ms = in->host->local->ticks_ms(in);
    s->error = d->error;
    s->why = strndup(d->text.s ? d->text.s : "", (size_t)d->text.n);
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &s->about, NULL);
    judged_free(s->judged);
    s->judged = NULL;
    if (s->call) {
        char last[420] = "";
        size_t n;
        if (failed(s) || chela_json_int(s->about, "exit", 0))
            session_state(s, last, sizeof last);
        char *text = printed(s, last, &n);
        answer(s, s->error == CHELA_E_CANCELLED ? CHELA_E_CANCELLED : CHELA_OK, text, n);
        free(text);
    }
    process_tell(s);
    if (!s->kept) {
        session_free(s);
        return;
    }
    s->expiry = in->host->local->timer(in, EXPIRY_MS, expire, s);
    drop_oldest(exec_of(in));
}
