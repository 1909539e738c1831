/*
 * provider_lines: a provider for a service that takes {"model","system","messages"} and answers in
 * lines of plain text. It builds the request and turns what comes into events; connections, TLS,
 * deadlines and retries are the host's.
 */
#include <chela/chela.h>

#include <stdio.h>
#include <stdlib.h>

static const struct chela_option options[] = {
    {"url", CHELA_STRING, CHELA_REQUIRED | CHELA_URL, NULL, "where requests are posted to", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET, NULL, "key, sent as a bearer token", NULL},
    {"model", CHELA_STRING, 0, "lines-1", "name of the service's model", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    char about[256];
    struct chela_str model = chela_option_text(in, "model");
    snprintf(about, sizeof about, "{\"name\":\"%s\",\"context\":32000,\"tools\":false}", model.s);
    struct chela_pair item = {model, chela_s(about)};
    chela_publish_list(in, CHELA_MODELS, 1, &item, 1);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* The messages are JSON objects already; each comes as the SDK describes it in provider.h. */
static char *body_of(const struct chela_begin *b, size_t *ret_length)
{
    char *body = NULL;
    FILE *f = open_memstream(&body, ret_length);
    if (!f)
        return NULL;
    fprintf(f, "{\"model\":\"%s\",\"messages\":[", b->model.s);
    for (uint64_t i = 0; i < b->messages.n; i++)
        fprintf(f, "%s%s", i ? "," : "", b->messages.v[i].value.s);
    fputs("]}", f);
    fclose(f);
    return body;
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    size_t length = 0;
    char *body = body_of(b, &length), bearer[256];
    struct chela_str key = chela_option_text(in, "api_key"); /* "${secret:...}", never the key */
    snprintf(bearer, sizeof bearer, "Bearer %s", key.s ? key.s : "");
    struct chela_pair headers[] = {{CHELA_LIT("content-type"), CHELA_LIT("application/json")},
                                   {CHELA_LIT("authorization"), chela_s(bearer)}};
    CHELA_ARGS(chela_http, request, in->host->local->new_call(in));
    request.h.tag = b->h.call; /* comes back with each event: which call it belongs to */
    request.parent = b->h.call;
    request.decode = CHELA_LINES;
    request.method = chela_s("POST");
    request.url = chela_option_text(in, "url");
    request.headers.v = headers;
    request.headers.n = key.n ? 2 : 1;
    request.body = chela_sn(body, length);
    in->host->net->http(in, &request);
    free(body);
}

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    chela_text_of(in, e->h.tag, e->data.s, (size_t)e->data.n);
    chela_text_of(in, e->h.tag, "\n", 1);
}

/* The request has ended, and with it the call: the error class is the host's. */
static void done(struct chela_inst *in, const struct chela_done *d)
{
    CHELA_ARGS(chela_done, end, d->h.tag);
    end.h.flags = d->h.flags;
    end.error = d->error;
    end.http_status = d->http_status;
    end.retry_after_ms = d->retry_after_ms;
    end.text = d->error ? d->text : chela_s("");
    end.extra = chela_s(d->error ? "" : "{\"stop\":\"end\"}");
    in->host->answer->done(in, &end);
}

static const struct chela_provider provider = {.size = (uint32_t)sizeof(struct chela_provider),
                                               .begin = begin};

static const struct chela_iface lines = {
    CHELA_IFACE("lines", "models of a service that answers in lines", 0, options),
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_lines, "1.0", "a service that answers in lines", "MIT", "", &lines);
