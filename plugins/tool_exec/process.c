/*
 * The tool `process` (see exec.h): what a model does with commands in the background: lists them,
 * looks at their screens, types into them, ends them. Typing is as risky as the command that is
 * typed into; the rest has no effect but on the model's own commands.
 */
#include "exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 3000, WAIT_MOST_MS = 120000, QUIET_MS = 150, LOG_BYTES = 16384 };

const char process_manifest[] =
    "{\"name\":\"process\",\"group\":\"runtime\",\"description\":\"Commands that exec has put in "
    "the background. poll waits for news and shows the screen; log gives the raw bytes printed; "
    "write, send-keys and paste type into "
    "it.\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"action\":{\"enum\":[\"list\",\"poll\",\"log\",\"write\",\"send-keys\",\"paste\",\"resize\","
    "\"kill\"]},\"sessionId\":{\"type\":\"string\",\"description\":\"default: the newest\"},"
    "\"text\":{\"type\":\"string\",\"description\":\"of write and paste\"},"
    "\"eof\":{\"type\":\"boolean\",\"description\":\"write: end its input\"},"
    "\"keys\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"names such as "
    "Enter, Escape, Up, F2, C-c, M-x; anything else is typed as it is\"},"
    "\"until\":{\"type\":\"string\",\"description\":\"wait until the screen shows this\"},"
    "\"timeout\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":120000,\"description\":\"longest "
    "wait in ms\"},"
    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"log: first byte\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"log: bytes\"},"
    "\"rows\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":500},"
    "\"columns\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":500}},"
    "\"required\":[\"action\"],\"additionalProperties\":false},\"execution\":\"sequential\","
    "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"high\"}}";

struct request {
    json_object *arguments;
    const char *action;
    struct session *session; /* NULL: none, or the action needs none */
    bool types;              /* into the command */
};

static bool is(const struct request *q, const char *action)
{
    return strcmp(q->action, action) == 0;
}

/* False with a sentence in `error`. */
static bool read_request(struct chela_inst *in, const struct chela_tool_run *r, struct request *q,
                         char *error, size_t size)
{
    memset(q, 0, sizeof *q);
    if (chela_json_parse(r->arguments.s, (size_t)r->arguments.n, NULL, &q->arguments, NULL) < 0) {
        snprintf(error, size, "the arguments are not JSON");
        return false;
    }
    const char *id = chela_json_string(q->arguments, "sessionId", NULL);
    q->action = chela_json_string(q->arguments, "action", NULL);
    q->action = q->action ? q->action : "";
    q->types = is(q, "write") || is(q, "send-keys") || is(q, "paste");
    if (is(q, "list"))
        return true;
    q->session = session_find(exec_of(in), r->session, id);
    if (!q->session)
        snprintf(error, size, "no command in the background%s%.40s; action list shows them",
                 id ? " has the id " : "", id ? id : "");
    else if (q->types && q->session->ended)
        snprintf(error, size, "session %s has ended, nothing can be typed into it", q->session->id);
    else if ((is(q, "send-keys") || is(q, "paste") || is(q, "resize")) && !q->session->pty)
        snprintf(error, size, "session %s runs without a terminal (pty: false); write works",
                 q->session->id);
    else
        return true;
    json_object_put(q->arguments);
    return false;
}

/* ---- prepare ---- */

static char *summary(const struct request *q)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    fprintf(out, "%s", q->action);
    if (q->session)
        fprintf(out, " %s (%.400s)", q->session->id, q->session->line);
    json_object *keys = chela_json_get(q->arguments, "keys");
    const char *typed = chela_json_string(q->arguments, "text", NULL);
    if (q->types && (keys || typed))
        fprintf(out, ": %s", keys ? chela_json_text(keys, NULL) : typed);
    fclose(out);
    return text;
}

void process_prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    char error[300];
    struct request q;
    if (!read_request(in, r, &q, error, sizeof error)) {
        chela_verdict(in, r->h.call, CHELA_NO, error);
        return;
    }
    json_object *extra = chela_json_new_object();
    char *text = summary(&q), *kind = NULL;
    enum risk_level level = q.types ? q.session->risk : RISK_LOW;
    if (q.types && q.session->kind && asprintf(&kind, "input of %s", q.session->kind) < 0)
        abort();
    chela_json_put_text(extra, "risk", risk_level_name(level));
    chela_json_put_text(extra, "summary", text);
    chela_json_put_text(extra, "kind", kind);
    chela_json_put_text(extra, "binding", q.session ? q.session->id : "");
    chela_json_put_bool(extra, "reads_only", !q.types && !is(&q, "kill"));
    if (q.types && level != RISK_LOW)
        chela_json_push(chela_json_put_array(extra, "warnings"),
                        json_object_new_string("typed into a command that can do what it wants"));
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->decide(in, &d);
    json_object_put(extra);
    json_object_put(q.arguments);
    free(kind);
    free(text);
}

/* ---- answers ---- */

static void put_screen(FILE *out, struct session *s)
{
    char state[420];
    unsigned row, column;
    size_t n;
    struct screen *screen = session_screen(s);
    char *text = screen_text(screen, &n);
    session_state(s, state, sizeof state);
    s->raw.seen = s->raw.total;
    fprintf(out, "[session %s, %s: %.200s]\n", s->id, state, s->line);
    fwrite(text, 1, n, out);
    free(text);
    screen_cursor(screen, &row, &column);
    if (!s->ended && s->pty)
        fprintf(out, "[cursor in row %u, column %u]\n", row, column);
    else if (s->raw.total > s->raw.n || (!screen_is_full(screen) && n && s->raw.total > n * 4))
        fprintf(out, "[%" PRIu64 " bytes were printed; log shows them]\n", s->raw.total);
}

static void answer_screen(struct session *s, uint64_t call)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    json_object *extra = chela_json_new_object();
    if (!out)
        abort();
    put_screen(out, s);
    fclose(out);
    chela_json_put(extra, "details", session_details(s));
    CHELA_ARGS(chela_done, d, call);
    d.text = chela_sn(text, n);
    d.extra = chela_s(chela_json_text(extra, NULL));
    s->in->host->answer->done(s->in, &d);
    json_object_put(extra);
    free(text);
}

static void answer_list(struct chela_inst *in, const struct chela_tool_run *r)
{
    char *text = NULL, state[420];
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    for (struct session *s = exec_of(in)->sessions; s; s = s->next) {
        if (!s->kept || !chela_str_is(r->session, s->owner))
            continue;
        session_state(s, state, sizeof state);
        fprintf(out, "%s\t%s\t%.200s\n", s->id, state, s->line);
    }
    fclose(out);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.text = n ? chela_sn(text, n) : chela_s("no command runs in the background");
    in->host->answer->done(in, &d);
    free(text);
}

static void answer_log(struct session *s, const struct request *q, uint64_t call)
{
    const struct raw *raw = &s->raw;
    uint64_t first = raw->total - raw->n;
    int64_t limit = chela_json_int(q->arguments, "limit", LOG_BYTES);
    int64_t offset = chela_json_int(q->arguments, "offset", -1);
    uint64_t most = limit < 1 ? 1 : limit > (int64_t)raw->size ? raw->size : (uint64_t)limit;
    uint64_t from = offset >= 0                 ? (uint64_t)offset
                    : raw->total - first > most ? raw->total - most
                                                : first;
    from = from < first ? first : from > raw->total ? raw->total : from;
    uint64_t n = raw->total - from < most ? raw->total - from : most;
    char *bytes = exec_allocate((size_t)n + 1), *text = NULL;
    size_t length = 0, begin = raw->size ? (raw->at + raw->size - raw->n) % raw->size : 0;
    for (uint64_t i = 0; i < n; i++)
        bytes[i] = raw->p[(begin + (size_t)(from - first) + (size_t)i) % raw->size];
    json_object *whole = chela_json_new_string(bytes, (size_t)n);
    FILE *out = open_memstream(&text, &length);
    if (!out)
        abort();
    fprintf(out, "[session %s: bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64 "%s]\n", s->id, from,
            from + n, raw->total, first ? "; those before are no longer kept" : "");
    size_t clean_length = 0;
    const char *clean = chela_json_as_string(whole, &clean_length);
    fwrite(clean, 1, clean_length, out);
    fclose(out);
    CHELA_ARGS(chela_done, d, call);
    d.text = chela_sn(text, length);
    s->in->host->answer->done(s->in, &d);
    json_object_put(whole);
    free(bytes);
    free(text);
}

/* ---- waiting ---- */

struct waiter {
    struct waiter *next;
    struct session *session;
    uint64_t call, deadline, quiet;
    char *until;
    bool news;
};

static void finish(struct waiter *w, bool cancelled)
{
    struct session *s = w->session;
    const struct chela_local *local = s->in->host->local;
    struct waiter **place = &s->waiters;
    while (*place != w)
        place = &(*place)->next;
    *place = w->next;
    local->timer_stop(s->in, w->deadline);
    local->timer_stop(s->in, w->quiet);
    if (cancelled)
        chela_end(s->in, w->call, CHELA_E_CANCELLED, "the wait was ended; the command goes on");
    else
        answer_screen(s, w->call);
    free(w->until);
    free(w);
}

static void is_late(struct chela_inst *in, void *arg)
{
    struct waiter *w = arg;
    (void)in;
    w->deadline = 0;
    finish(w, false);
}

static void is_quiet(struct chela_inst *in, void *arg)
{
    struct waiter *w = arg;
    (void)in;
    w->quiet = 0;
    finish(w, false);
}

static bool shows(struct session *s, const char *text)
{
    size_t n;
    char *screen = screen_text(session_screen(s), &n);
    bool found = strstr(screen, text) != NULL;
    free(screen);
    return found;
}

/* `until` waits for its text; else what came is taken when nothing more follows at once. */
static void look(struct waiter *w)
{
    struct session *s = w->session;
    const struct chela_local *local = s->in->host->local;
    if (s->ended || (w->until && shows(s, w->until))) {
        finish(w, false);
    } else if (!w->until && w->news) {
        local->timer_stop(s->in, w->quiet);
        w->quiet = local->timer(s->in, QUIET_MS, is_quiet, w);
    }
}

void process_tell(struct session *s)
{
    for (struct waiter *w = s->waiters, *next; w; w = next) {
        next = w->next;
        w->news = true;
        look(w);
    }
}

bool process_cancel(struct chela_inst *in, uint64_t call)
{
    for (struct session *s = exec_of(in)->sessions; s; s = s->next) {
        for (struct waiter *w = s->waiters; w; w = w->next) {
            if (w->call == call) {
                finish(w, true);
                return true;
            }
        }
    }
    return false;
}

static void wait_for(struct session *s, const struct request *q, uint64_t call)
{
    struct waiter *w = exec_allocate(sizeof *w);
    const char *until = chela_json_string(q->arguments, "until", NULL);
    int64_t ms = chela_json_int(q->arguments, "timeout", WAIT_MS);
    w->session = s;
    w->call = call;
    w->until = until && *until ? strdup(until) : NULL;
    w->news = s->raw.total != s->raw.seen;
    w->next = s->waiters;
    s->waiters = w;
    ms = ms < 0 ? 0 : ms > WAIT_MOST_MS ? WAIT_MOST_MS : ms;
    w->deadline = s->in->host->local->timer(s->in, (uint64_t)ms, is_late, w);
    look(w);
}

/* ---- typing ---- */

static void send_bytes(struct session *s, const char *p, size_t n, bool last)
{
    CHELA_ARGS(chela_write, w, s->process);
    w.h.flags = last ? CHELA_LAST : 0;
    w.data = chela_sn(p, n);
    if (s->process)
        s->in->host->process->write(s->in, &w);
}

static void send_taken(struct session *s)
{
    size_t n;
    char *bytes = screen_take(session_screen(s), &n);
    if (bytes)
        send_bytes(s, bytes, n, false);
    free(bytes);
}

static void type_keys(struct session *s, json_object *keys)
{
    for (size_t i = 0; i < chela_json_length(keys); i++) {
        size_t n = 0;
        const char *key = chela_json_as_string(chela_json_at(keys, i), &n);
        if (!key)
            continue;
        bool known = screen_key(session_screen(s), key);
        send_taken(s);
        if (!known)
            send_bytes(s, key, n, false);
    }
}

static void type(struct session *s, const struct request *q)
{
    size_t n = 0;
    const char *text = chela_json_string(q->arguments, "text", &n);
    if (is(q, "send-keys")) {
        type_keys(s, chela_json_array(q->arguments, "keys"));
    } else if (is(q, "paste")) {
        screen_paste(session_screen(s), text ? text : "", n);
        send_taken(s);
    } else {
        send_bytes(s, text ? text : "", n, chela_json_bool(q->arguments, "eof", false));
    }
}

static void resize(struct session *s, const struct request *q)
{
    CHELA_ARGS(chela_control, c, s->process);
    c.rows = (uint32_t)chela_json_int(q->arguments, "rows", EXEC_ROWS);
    c.columns = (uint32_t)chela_json_int(q->arguments, "columns", EXEC_COLUMNS);
    screen_resize(session_screen(s), c.rows, c.columns);
    if (s->process)
        s->in->host->process->control(s->in, &c);
}

void process_run(struct chela_inst *in, const struct chela_tool_run *r)
{
    char error[300];
    struct request q;
    if (!read_request(in, r, &q, error, sizeof error)) {
        CHELA_ARGS(chela_done, d, r->h.call);
        d.h.flags = CHELA_IS_ERROR;
        d.text = chela_s(error);
        in->host->answer->done(in, &d);
        return;
    }
    struct session *s = q.session;
    if (r->binding.n && s && !chela_str_is(r->binding, s->id)) {
        chela_end(in, r->h.call, CHELA_E_DENIED,
                  "not run: another command is the newest now; ask again with its sessionId");
    } else if (is(&q, "list")) {
        answer_list(in, r);
    } else if (is(&q, "log")) {
        answer_log(s, &q, r->h.call);
    } else {
        if (q.types)
            type(s, &q);
        else if (is(&q, "resize"))
            resize(s, &q);
        else if (is(&q, "kill"))
            session_kill(s);
        wait_for(s, &q, r->h.call);
    }
    json_object_put(q.arguments);
}
