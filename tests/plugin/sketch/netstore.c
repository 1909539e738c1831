/*
 * A store whose engine is across a network: the batch goes over as a request, its outcome may be
 * unknown when the connection is lost, and the same batch again under its id commits once. Rows of
 * a query come in pages while they arrive. The engine itself is played by the test.
 */
#include "sketch.h"

enum { COMMIT = 1, QUERY };

struct open_request {
    struct open_request *next;
    uint64_t mine, call;
};

static void add(struct chela_inst *in, uint64_t mine, uint64_t call)
{
    struct open_request *r = calloc(1, sizeof *r);
    if (!r)
        return;
    r->mine = mine;
    r->call = call;
    r->next = in->self;
    in->self = r;
}

static uint64_t call_of(struct chela_inst *in, uint64_t mine, bool take)
{
    struct open_request **at = (struct open_request **)&in->self;
    while (*at && (*at)->mine != mine)
        at = &(*at)->next;
    struct open_request *r = *at;
    uint64_t call = r ? r->call : 0;
    if (r && take) {
        *at = r->next;
        free(r);
    }
    return call;
}

static void request(struct chela_inst *in, uint64_t call, uint64_t tag, const char *path,
                    const char *body)
{
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = tag;
    a.parent = tag == QUERY ? call : 0; /* a commit is not taken back by a cancel */
    a.decode = tag == QUERY ? CHELA_LINES : CHELA_BODY;
    a.method = chela_s("POST");
    a.url = chela_s(path);
    a.body = chela_s(body);
    add(in, a.h.call, call);
    in->host->net->http(in, &a);
}

static void open_db(struct chela_inst *in, const struct chela_store_open *o)
{
    (void)o;
    chela_end(in, o->h.call, CHELA_OK, "stub 1");
}

static void commit(struct chela_inst *in, const struct chela_batch *b)
{
    char body[512];
    int at = snprintf(body, sizeof body, "%" PRIu64 " %s", b->id,
                      b->durability == CHELA_BARRIER ? "barrier" : "lazy");
    for (uint64_t i = 0; i < b->ops.n && at < 400; i++) {
        const struct chela_value *v = &b->ops.v[i];
        if (v->type == CHELA_V_OP)
            at += snprintf(body + at, sizeof body - (size_t)at, " op%" PRId64, v->i);
        else if (v->type == CHELA_V_TEXT)
            at += snprintf(body + at, sizeof body - (size_t)at, " %.20s", v->s.s);
        else if (v->type == CHELA_V_INT)
            at += snprintf(body + at, sizeof body - (size_t)at, " %" PRId64, v->i);
    }
    request(in, b->h.call, COMMIT, "https://engine/commit", body);
}

static void query(struct chela_inst *in, const struct chela_query *q)
{
    char body[64];
    snprintf(body, sizeof body, "%u", (unsigned)q->statement);
    request(in, q->h.call, QUERY, "https://engine/query", body);
}

/* A line of the answer: one row of two columns. */
static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    struct chela_value row[2] = {
        {CHELA_V_INT, 0, strtoll(word(e->data, 0), NULL, 10), 0, {NULL, 0}},
        {CHELA_V_TEXT, 0, 0, 0, chela_s(word(e->data, 1))},
    };
    CHELA_ARGS(chela_rows, a, call_of(in, e->h.call, false));
    a.columns = 2;
    a.values.v = row;
    a.values.n = 2;
    in->host->answer->rows(in, &a);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    uint64_t call = call_of(in, d->h.call, true);
    if (d->h.tag == QUERY)
        chela_end(in, call, d->error, "");
    else if (d->error == CHELA_E_NETWORK || d->error == CHELA_E_TIMEOUT)
        chela_end(in, call, CHELA_E_UNKNOWN, "the connection was lost: ask again by the same id");
    else if (d->http_status == 409)
        chela_end(in, call, CHELA_E_CONFLICT, "");
    else
        chela_end(in, call, d->error, "");
}

static const struct chela_store store = {
    .size = sizeof store,
    .open_db = open_db,
    .commit = commit,
    .query = query,
};

const struct chela_iface netstore_iface = {
    CHELA_IFACE("netstore", "a store across a network", 0, NULL),
    .http = http,
    .done = done,
    .store = &store,
};
