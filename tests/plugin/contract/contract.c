/*
 * A plugin that does what a test tells it, right or wrong, to exercise the contract of calls: one
 * test drives it in its own process and in a child.
 *
 * `typing` is the remote control: its text is a script, one command a line. `run` begins a call and
 * executes its arguments, in which $ stands for the call. Whatever comes in is told to the test by
 * publish (name "saw").
 */
#include <chela/chela.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- telling ---- */

static void tell(struct chela_inst *in, const char *name, const char *value)
{
    struct chela_pair item = {chela_s(name), chela_s(value)};
    chela_publish_list(in, CHELA_STATE, 1, &item, 1);
}

static void saw(struct chela_inst *in, const char *what, uint64_t number, const char *more)
{
    char line[512];
    snprintf(line, sizeof line, "%s %" PRIu64 " %.400s", what, number, more ? more : "");
    tell(in, "saw", line);
}

/* ---- commands ---- */

static void do_text(struct chela_inst *in, uint64_t call, const char *text)
{
    chela_text_of(in, call, text, strlen(text));
}

/* "flood CALL BYTES COUNT": that many texts of that size */
static void do_flood(struct chela_inst *in, uint64_t call, const char *rest)
{
    char *end;
    size_t bytes = (size_t)strtoul(rest, &end, 10);
    unsigned long count = strtoul(end, NULL, 10);
    char *piece = malloc(bytes);
    if (!piece)
        return;
    memset(piece, 'x', bytes);
    while (count--)
        chela_text_of(in, call, piece, bytes);
    free(piece);
}

static void do_http(struct chela_inst *in, uint64_t id, uint64_t parent, const char *url)
{
    CHELA_ARGS(chela_http, request, id);
    request.h.tag = 42;
    request.parent = parent;
    request.url = chela_s(url);
    in->host->net->http(in, &request);
}

static void do_send(struct chela_inst *in, uint64_t call, const char *data)
{
    CHELA_ARGS(chela_ws_send, send, call);
    send.kind = CHELA_WS_TEXT;
    send.data = chela_s(data);
    in->host->net->ws_send(in, &send);
}

/* Ends a call with more text than a frame can hold. */
static void do_huge(struct chela_inst *in, uint64_t call)
{
    CHELA_ARGS(chela_done, done, call);
    done.text = (struct chela_str){"x", (uint64_t)1 << 40};
    in->host->answer->done(in, &done);
}

static void do_big(struct chela_inst *in, uint64_t call, size_t bytes)
{
    CHELA_ARGS(chela_done, done, call);
    char *text = malloc(bytes ? bytes : 1);
    if (!text)
        return;
    memset(text, 'y', bytes);
    done.text = chela_sn(text, bytes);
    in->host->answer->done(in, &done);
    free(text);
}

static void fired(struct chela_inst *in, void *arg)
{
    (void)arg;
    saw(in, "timer", 0, "");
}

static void command(struct chela_inst *in, const char *name, uint64_t number, const char *rest)
{
    if (strcmp(name, "text") == 0)
        do_text(in, number, rest);
    else if (strcmp(name, "done") == 0)
        chela_end(in, number, (uint32_t)strtoul(rest, NULL, 10), "");
    else if (strcmp(name, "decide") == 0)
        chela_verdict(in, number, CHELA_YES, rest);
    else if (strcmp(name, "http") == 0)
        do_http(in, in->host->local->new_call(in), number, rest);
    else if (strcmp(name, "reuse") == 0)
        do_http(in, number, 0, rest);
    else if (strcmp(name, "send") == 0)
        do_send(in, number, rest);
    else if (strcmp(name, "cancel") == 0)
        chela_cancel(in, number);
    else if (strcmp(name, "flood") == 0)
        do_flood(in, number, rest);
    else if (strcmp(name, "huge") == 0)
        do_huge(in, number);
    else if (strcmp(name, "big") == 0)
        do_big(in, number, (size_t)strtoul(rest, NULL, 10));
    else if (strcmp(name, "timer") == 0)
        in->host->local->timer(in, number, fired, NULL);
    else if (strcmp(name, "option") == 0)
        saw(in, "option", number, chela_option_text(in, rest).s);
    else if (strcmp(name, "environment") == 0)
        saw(in, "environment", number, getenv(rest));
    else if (strcmp(name, "log") == 0)
        chela_log(in, CHELA_WARN, rest);
    else if (strcmp(name, "metric") == 0)
        in->host->local->metric(in, CHELA_COUNTER, rest, "", (double)number);
    else if (strcmp(name, "sync") == 0)
        saw(in, "sync", number, "");
    else if (strcmp(name, "exit") == 0)
        _exit((int)number);
}

/* Executes a script; `call` is what $ stands for. */
static void script(struct chela_inst *in, struct chela_str text, uint64_t call)
{
    const char *p = text.s, *end = text.n ? text.s + text.n : text.s;
    while (p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        char line[4096], name[32] = "", number[32] = "";
        int at = 0;
        if (n >= sizeof line)
            return;
        memcpy(line, p, n);
        line[n] = '\0';
        p += n + (eol ? 1 : 0);
        if (sscanf(line, "%31s %31s %n", name, number, &at) < 2)
            continue;
        const char *rest = at > 0 ? line + at : "";
        command(in, name, number[0] == '$' ? call : strtoull(number, NULL, 10), rest);
    }
}

/* ---- slots ---- */

static int32_t open_instance(struct chela_inst *in)
{
    if (chela_str_is(chela_option_text(in, "fail"), "open")) {
        chela_log(in, CHELA_ERR, "was told to fail");
        return CHELA_E_ARGS;
    }
    return CHELA_OK;
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    if (chela_str_is(chela_option_text(in, "fail"), "start"))
        chela_end(in, a->h.call, CHELA_E_AUTH, "was told to fail");
    else
        chela_end(in, a->h.call, CHELA_OK, "");
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    saw(in, "cancel", a->h.call, "");
}

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    char line[64];
    snprintf(line, sizeof line, "%u tag %u %.20s", (unsigned)e->status, (unsigned)e->h.tag,
             e->data.s ? e->data.s : "");
    saw(in, "http", e->h.call, line);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    char line[32];
    snprintf(line, sizeof line, "%u tag %u", (unsigned)d->error, (unsigned)d->h.tag);
    saw(in, "done", d->h.call, line);
}

static void typing(struct chela_inst *in, const struct chela_send *s)
{
    script(in, s->text, 0);
}

static void run(struct chela_inst *in, const struct chela_tool_run *r)
{
    static const unsigned char zeroes[64];
    if (memcmp(r + 1, zeroes, sizeof zeroes) != 0 || r->h.size != sizeof *r)
        saw(in, "rubbish behind the arguments", r->h.call, "");
    saw(in, "run", r->h.call, "");
    script(in, r->arguments, r->h.call);
}

static void prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    saw(in, "prepare", r->h.call, "");
    script(in, r->arguments, r->h.call);
}

static const struct chela_option rule_options[] = {
    {"pattern", CHELA_STRING, CHELA_REQUIRED, NULL, "what to look for", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"fail", CHELA_STRING, CHELA_RELOAD, "", "where to fail: open or start", NULL},
    {"key", CHELA_STRING, CHELA_SECRET, NULL, "a secret", NULL},
    {"url", CHELA_STRING, CHELA_URL, "https://example.org", "where it may go", NULL},
    {"rules", CHELA_ITEMS, 0, NULL, "a list", rule_options},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_channel contract_channel = {
    .size = sizeof contract_channel,
    .send_class = CHELA_SEND_QUERY,
    .can = CHELA_CAN_TYPING | CHELA_CAN_EDIT,
    .unit = CHELA_UNIT_UTF16,
    .text_limit = 4096,
    .platform = "test",
    .typing = typing,
};

static const struct chela_tool contract_tool = {
    .size = sizeof contract_tool,
    .prepare = prepare,
    .run = run,
};

static const struct chela_iface contract_iface = {
    CHELA_IFACE("contract", "does what a test tells it", 0, options),
    .open = open_instance,
    .start = start,
    .cancel = cancel,
    .http = http,
    .done = done,
    .channel = &contract_channel,
    .tool = &contract_tool,
};

CHELA_PLUGIN(contract, "1.0", "does what a test tells it", "MIT", "", &contract_iface);
