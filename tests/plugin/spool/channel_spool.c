/*
 * channel_spool: a channel of strangers, for tests: a named pipe in, a file out. A line in is
 * "direct|group TAB CHAT TAB SENDER TAB FLAGS TAB TEXT" (FLAGS: of chela_submit), a line out
 * "send|edit TAB CHAT TAB ID TAB TEXT" or "submit TAB ERROR TAB TEXT". Nothing can be delivered to
 * the chat "blocked". It edits and shows drafts.
 */
#include <chela/chela.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct chela_option options[] = {
    {"in", CHELA_STRING, CHELA_REQUIRED, NULL, "path of the named pipe; made if it is absent",
     NULL},
    {"out", CHELA_STRING, CHELA_REQUIRED, NULL, "path of the file", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { LINE = 65536, FIELDS = 5 };

struct spool {
    int fd;
    uint64_t watch, number, messages;
    size_t n;
    char line[LINE], hash[80];
};

static int32_t spool_open(struct chela_inst *in)
{
    struct spool *p = calloc(1, sizeof *p);
    if (!p)
        return CHELA_E_OTHER;
    p->fd = -1;
    in->self = p;
    return CHELA_OK;
}

static void spool_close(struct chela_inst *in)
{
    free(in->self);
}

static void write_line(struct chela_inst *in, const char *what, const char *id,
                       struct chela_str chat, struct chela_str text)
{
    int fd = open(chela_option_text(in, "out").s, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
    if (!f)
        return;
    fprintf(f, "%s\t%.*s\t%s\t", what, (int)chat.n, chat.s ? chat.s : "", id);
    for (uint64_t i = 0; i < text.n; i++)
        fputc(text.s[i] == '\n' ? ' ' : text.s[i], f);
    fputc('\n', f);
    fclose(f);
}

enum { TAG_FETCH = 1, TAG_BLOB = 2 };

static void fetch(struct chela_inst *in, const char *url)
{
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = TAG_FETCH;
    a.decode = CHELA_FILE;
    a.method = chela_s("GET");
    a.url = chela_s(url);
    in->host->net->http(in, &a);
}

static void fetched(struct chela_inst *in, struct spool *p, const struct chela_done *d)
{
    if (d->error || !(d->h.flags & CHELA_BLOB)) {
        write_line(in, "blob", "failed", chela_s(""), d->text);
        return;
    }
    snprintf(p->hash, sizeof p->hash, "%.*s", (int)d->text.n, d->text.s);
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = TAG_BLOB;
    a.key = chela_s(p->hash);
    in->host->kv->blob_get(in, &a);
}

static void submit(struct chela_inst *in, struct spool *p)
{
    char *field[FIELDS] = {0}, event[32], *at = p->line;
    for (int i = 0; i < FIELDS && at; i++) {
        field[i] = at;
        at = i + 1 < FIELDS ? strchr(at, '\t') : NULL;
        if (at)
            *at++ = '\0';
    }
    if (!field[FIELDS - 1])
        return;
    snprintf(event, sizeof event, "%llu", (unsigned long long)++p->number);
    CHELA_ARGS(chela_submit, s, in->host->local->new_call(in));
    s.h.flags = (uint32_t)strtoul(field[3], NULL, 10);
    s.kind = chela_s("message");
    s.event = chela_s(event);
    s.at = in->host->local->now_ms(in) / 1000;
    s.chat_type = strcmp(field[0], "group") == 0 ? CHELA_GROUP : CHELA_DIRECT;
    s.chat = chela_s(field[1]);
    s.sender = chela_s(field[2]);
    s.sender_name = chela_s(field[2]);
    s.text = chela_s(field[4]);
    in->host->chat->submit(in, &s);
}

static void readable(struct chela_inst *in, uint32_t events, void *arg)
{
    struct spool *p = arg;
    char block[4096];
    ssize_t n = read(p->fd, block, sizeof block);
    (void)events;
    for (ssize_t i = 0; i < n; i++) {
        if (block[i] != '\n' && p->n < LINE - 1) {
            p->line[p->n++] = block[i];
            continue;
        }
        p->line[p->n] = '\0';
        if (strncmp(p->line, "fetch\t", 6) == 0)
            fetch(in, p->line + 6);
        else
            submit(in, p);
        p->n = 0;
    }
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct spool *p = in->self;
    char class[16];
    if (d->h.tag == TAG_FETCH) {
        fetched(in, p, d);
        return;
    }
    if (d->h.tag == TAG_BLOB) {
        write_line(in, "blob", d->error ? "failed" : p->hash, chela_s(""), d->text);
        return;
    }
    snprintf(class, sizeof class, "%u", d->error);
    write_line(in, "submit", class, chela_s(""), d->text);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct spool *p = in->self;
    const char *path = chela_option_text(in, "in").s;
    mkfifo(path, 0600);
    p->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    p->watch = p->fd < 0 ? 0 : in->host->local->watch(in, p->fd, CHELA_READABLE, readable, p);
    chela_end(in, a->h.call, p->watch ? CHELA_OK : CHELA_E_ARGS, "the named pipe can't be opened");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct spool *p = in->self;
    in->host->local->unwatch(in, p->watch);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void spool_send(struct chela_inst *in, const struct chela_send *s)
{
    struct spool *p = in->self;
    char id[32];
    if (chela_str_is(s->chat, "blocked")) {
        chela_end(in, s->h.call, CHELA_E_DENIED, "the person has blocked the bot");
        return;
    }
    snprintf(id, sizeof id, "m%llu", (unsigned long long)++p->messages);
    write_line(in, "send", id, s->chat, s->text);
    chela_end(in, s->h.call, CHELA_OK, id);
}

static void spool_edit(struct chela_inst *in, const struct chela_send *s)
{
    char id[32];
    snprintf(id, sizeof id, "%.*s", (int)s->message.n, s->message.s);
    write_line(in, "edit", id, s->chat, s->text);
    chela_end(in, s->h.call, CHELA_OK, id);
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_NEITHER,
    .can = CHELA_CAN_EDIT | CHELA_CAN_DRAFT,
    .unit = CHELA_UNIT_CHARACTERS,
    .text_limit = 4000,
    .dialect = "plain",
    .platform = "spool",
    .send = spool_send,
    .edit = spool_edit,
    .edit_ms = 20,
};

static const struct chela_iface spool = {
    CHELA_IFACE("spool", "strangers in a pipe", 0, options),
    .open = spool_open,
    .close = spool_close,
    .start = start,
    .stop = stop,
    .done = done,
    .channel = &channel,
};

CHELA_PLUGIN(channel_spool, "1.0", "a channel of strangers", "MIT", "", &spool);
