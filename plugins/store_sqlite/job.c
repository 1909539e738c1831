/*
 * Jobs: a call's arguments, copied, on their way through a thread, and its result on the way back
 * to the loop. Also the plugin's memory and log helpers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

void *need(void *p)
{
    if (!p) {
        fputs("store_sqlite: out of memory\n", stderr);
        abort();
    }
    return p;
}

char *copy_text(const char *s)
{
    return need(strdup(s));
}

char *join_text(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b) + 1;
    char *r = need(malloc(n + m));
    memcpy(r, a, n);
    memcpy(r + n, b, m);
    return r;
}

void store_log(struct store *st, uint32_t level, const char *format, ...)
{
    char line[700];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    st->local->log(st->in, level, line);
}

static struct chela_str keep(char **at, struct chela_str s)
{
    struct chela_str copy = {*at, s.n};
    if (s.n)
        memcpy(*at, s.s, s.n);
    (*at)[s.n] = '\0';
    *at += s.n + 1;
    return copy;
}

struct job *job_new(struct store *st, enum job_kind kind, uint64_t call, struct chela_str key,
                    struct chela_str text, struct chela_str data, struct chela_values values)
{
    size_t n = sizeof(struct job) + values.n * sizeof *values.v + key.n + text.n + data.n + 3;
    for (uint64_t i = 0; i < values.n; i++)
        n += values.v[i].s.n + 1;
    struct job *j = need(malloc(n));
    memset(j, 0, sizeof *j);
    j->store = st;
    j->kind = kind;
    j->call = call;
    j->values = (struct chela_value *)(void *)(j + 1);
    j->count = values.n;
    j->bytes = n;
    char *at = (char *)(j->values + values.n);
    j->key = keep(&at, key);
    j->text = keep(&at, text);
    j->data = keep(&at, data);
    for (uint64_t i = 0; i < values.n; i++) {
        j->values[i] = values.v[i];
        j->values[i].s = keep(&at, values.v[i].s);
    }
    return j;
}

void job_free(struct job *j)
{
    free(j->result);
    free(j);
}

void job_result(struct job *j, const char *text)
{
    j->result = copy_text(text);
    j->result_length = strlen(text);
}

static void deliver(struct chela_inst *in, void *arg)
{
    for (struct job *j = arg, *next; j; j = next) {
        next = j->next;
        if (j->kind == JOB_OPEN) {
            j->store->opening = false;
            j->store->opened = j->failure.class == CHELA_OK;
        }
        char extra[40] = "";
        CHELA_ARGS(chela_done, d, j->call);
        d.error = j->failure.class;
        if (d.error) {
            d.h.flags = j->failure.retry ? CHELA_RETRY : 0;
            d.text = chela_s(j->failure.text);
        } else {
            d.text = chela_sn(j->result, j->result_length);
            if (j->kind == JOB_QUERY)
                snprintf(extra, sizeof extra, "{\"columns\":%u}", j->columns);
            d.extra = chela_s(extra);
        }
        if (j->call)
            in->host->answer->done(in, &d);
        job_free(j);
    }
}

void job_finish(struct store *st, struct job *first)
{
    if (first)
        st->local->post(st->in, deliver, first);
}

void job_queue_open(struct job_queue *q)
{
    q->first = NULL;
    q->last = &q->first;
}

void job_queue_put(struct job_queue *q, struct job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

struct job *job_queue_take(struct job_queue *q)
{
    struct job *j = q->first;
    if (j) {
        q->first = j->next;
        if (!q->first)
            q->last = &q->first;
        j->next = NULL;
    }
    return j;
}
