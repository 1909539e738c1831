/*
 * channel_pipe: a channel. Each line that is written into a named pipe is a message of the owner;
 * answers are appended to a file.
 */
#include <chela/chela.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct chela_option options[] = {
    {"in", CHELA_STRING, CHELA_REQUIRED, NULL, "path of the named pipe; made if it is absent",
     NULL},
    {"out", CHELA_STRING, CHELA_REQUIRED, NULL, "path of the file for the answers", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { LINE = 4096 };

struct spool {
    int fd;
    uint64_t watch, number;
    size_t n;
    char line[LINE];
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

/* A message. The host stores it and ends the call by `done`; a service that wants an
 * acknowledgement would get it there. */
static void submit(struct chela_inst *in, struct spool *p)
{
    char event[64];
    uint64_t now = in->host->local->now_ms(in);
    snprintf(event, sizeof event, "%llu-%llu", (unsigned long long)now,
             (unsigned long long)++p->number);
    CHELA_ARGS(chela_submit, s, in->host->local->new_call(in));
    s.h.flags = CHELA_OWNER; /* who may write into the pipe, is the owner */
    s.kind = chela_s("message");
    s.event = chela_s(event);
    s.at = now / 1000;
    s.chat_type = CHELA_DIRECT;
    s.chat = chela_s("pipe");
    s.sender = chela_s("owner");
    s.text = chela_sn(p->line, p->n);
    in->host->chat->submit(in, &s);
}

static void readable(struct chela_inst *in, uint32_t events, void *arg)
{
    struct spool *p = arg;
    char block[LINE];
    ssize_t n = read(p->fd, block, sizeof block);
    (void)events;
    for (ssize_t i = 0; i < n; i++) {
        if (block[i] != '\n' && p->n < LINE) {
            p->line[p->n++] = block[i];
            continue;
        }
        if (p->n > 0)
            submit(in, p);
        p->n = 0;
    }
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    if (d->error)
        chela_log(in, CHELA_WARN, d->text.s);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct spool *p = in->self;
    const char *path = chela_option_text(in, "in").s;
    mkfifo(path, 0600);
    /* for writing too, so that it has no end when a writer leaves */
    p->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    p->watch = p->fd < 0 ? 0 : in->host->local->watch(in, p->fd, CHELA_READABLE, readable, p);
    if (p->watch)
        chela_end(in, a->h.call, CHELA_OK, "");
    else
        chela_end(in, a->h.call, CHELA_E_ARGS, "the named pipe can't be opened");
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
    int fd = open(chela_option_text(in, "out").s, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int ok = fd >= 0 && dprintf(fd, "%.*s\n", (int)s->text.n, s->text.s) > 0;
    if (fd >= 0)
        close(fd);
    chela_end(in, s->h.call, ok ? CHELA_OK : CHELA_E_OTHER,
              ok ? s->key.s : "the file for the answers can't be written");
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_NEITHER, /* nobody could tell after a crash whether it was written */
    .unit = CHELA_UNIT_BYTES,
    .dialect = "plain",
    .platform = "pipe",
    .send = spool_send,
};

static const struct chela_iface spool = {
    CHELA_IFACE("pipe", "a named pipe in, a file out", 0, options),
    .open = spool_open,
    .close = spool_close,
    .start = start,
    .stop = stop,
    .done = done,
    .channel = &channel,
};

CHELA_PLUGIN(channel_pipe, "1.0", "a named pipe and a file", "MIT", "", &spool);
