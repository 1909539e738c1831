/*
 * A client of many sessions for the bench: one thread, one WebSocket connection of protocol 4 (or
 * as many idle ones as are asked for), frames by hand, so that it costs little beside what it
 * measures. Prints one line "name=value ...". Called by gateway_bench.sh; knows nothing of Chela's
 * code.
 *
 *   load PORT turns SESSIONS MILLISECONDS PREFIX [MOST]
 *       each session sends its next message when the last one is answered; MOST messages at most.
 *       LOAD_TEXT in the environment: what the messages say, as inside a JSON string, behind a
 *       number; pieces of an answer that are stamps (mock_model --pace) are timed one by one.
 *   load PORT chain SESSIONS MILLISECONDS PREFIX [MOST]
 *       likewise, but one message at a time, each to the next session
 *   load PORT inject SESSION COUNT
 *       puts COUNT messages into a session's history
 *   load PORT search FILE
 *       searches the notes for each line of FILE, one after the other
 *   load PORT idle COUNT
 *       connects, says so, waits for the end of stdin
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS_MOST = 1024, INJECT_WINDOW = 64, TURN_TIMEOUT_MS = 60000 };

struct buffer {
    char *p;
    size_t n, size;
};

struct link {
    int fd;
    struct buffer in;
};

struct session {
    uint64_t sent_us;
    bool under_way, delta_seen;
};

struct latencies {
    uint32_t *us;
    size_t count, size;
};

static struct {
    const char *prefix;
    struct session sessions[SESSIONS_MOST];
    unsigned session_count, number, under_way, most, errors, acknowledged, answers;
    bool chain;
    uint64_t end_us;
    struct latencies first, final, piece;
    const char *text;
    struct buffer out;
} load;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void add(struct buffer *b, const void *p, size_t n)
{
    if (b->size - b->n < n + 1) {
        b->size = (b->n + n + 1) * 2;
        b->p = realloc(b->p, b->size);
        if (!b->p)
            abort();
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

static void note(struct latencies *l, uint64_t us)
{
    if (l->count == l->size) {
        l->size = l->size ? l->size * 2 : 4096;
        l->us = realloc(l->us, l->size * sizeof *l->us);
        if (!l->us)
            abort();
    }
    l->us[l->count++] = (uint32_t)us;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t share(struct latencies *l, unsigned percent)
{
    if (l->count == 0)
        return 0;
    qsort(l->us, l->count, sizeof *l->us, by_value);
    return l->us[(l->count - 1) * percent / 100];
}

/* ---- frames ---- */

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            die("send");
        p += k;
        n -= (size_t)k;
    }
}

/* Appends one frame; the mask is zero, which the protocol allows and costs nothing. */
static void add_frame(unsigned opcode, const char *text, size_t n)
{
    unsigned char head[14] = {(unsigned char)(0x80 | opcode)};
    size_t length = 2;
    if (n < 126) {
        head[1] = (unsigned char)(0x80 | n);
    } else {
        head[1] = 0x80 | 126;
        head[2] = (unsigned char)(n >> 8);
        head[3] = (unsigned char)n;
        length = 4;
    }
    add(&load.out, head, length + 4);
    add(&load.out, text, n);
}

static void flush(int fd)
{
    send_all(fd, load.out.p, load.out.n);
    load.out.n = 0;
}

__attribute__((format(printf, 1, 2))) static void add_request(const char *format, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    add_frame(1, text, (size_t)n);
}

typedef void message_fn(struct link *l, const char *text, size_t n);

/* Every whole frame in the buffer. */
static void take_frames(struct link *l, message_fn *fn)
{
    size_t at = 0;
    for (;;) {
        const unsigned char *p = (const unsigned char *)l->in.p + at;
        size_t left = l->in.n - at, head = 2;
        if (left < 2)
            break;
        uint64_t n = p[1] & 127u;
        head += n == 126 ? 2 : n == 127 ? 8 : 0;
        if (left < head)
            break;
        if (n >= 126) {
            n = 0;
            for (size_t i = 2; i < head; i++)
                n = n << 8 | p[i];
        }
        if (left - head < n)
            break;
        unsigned opcode = p[0] & 15u;
        if (opcode == 8) {
            fprintf(stderr, "load: the gateway closed the connection\n");
            exit(1);
        }
        if (opcode == 9) {
            add_frame(10, (const char *)p + head, (size_t)n);
            flush(l->fd);
        } else if (opcode == 1) {
            fn(l, (const char *)p + head, (size_t)n);
        }
        at += head + (size_t)n;
    }
    memmove(l->in.p, l->in.p + at, l->in.n - at);
    l->in.n -= at;
}

static void receive(struct link *l)
{
    char block[65536];
    ssize_t n = recv(l->fd, block, sizeof block, 0);
    if (n <= 0) {
        fprintf(stderr, "load: the connection has ended\n");
        exit(1);
    }
    add(&l->in, block, (size_t)n);
}

/* ---- connecting ---- */

static bool has(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

static bool greeted;

static void greeting(struct link *l, const char *text, size_t n)
{
    if (has(text, n > 64 ? 64 : n, "\"event\":\"connect.challenge\"")) {
        add_request("{\"type\":\"req\",\"id\":\"c\",\"method\":\"connect\",\"params\":{"
                    "\"minProtocol\":4,\"maxProtocol\":4,\"role\":\"operator\","
                    "\"scopes\":[\"operator.read\",\"operator.write\",\"operator.admin\"],"
                    "\"client\":{\"id\":\"cli\",\"version\":\"1\",\"platform\":\"linux\","
                    "\"mode\":\"cli\"}}}");
        flush(l->fd);
    } else if (has(text, n > 64 ? 64 : n, "\"id\":\"c\"")) {
        greeted = has(text, n, "\"ok\":true");
        if (!greeted) {
            fprintf(stderr, "load: refused: %.*s\n", (int)n, text);
            exit(1);
        }
    }
}

static void link_open(struct link *l, unsigned short port)
{
    static const char upgrade[] =
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    memset(l, 0, sizeof *l);
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    send_all(l->fd, upgrade, sizeof upgrade - 1);
    char *end = NULL;
    while (!end) {
        receive(l);
        end = memmem(l->in.p, l->in.n, "\r\n\r\n", 4);
    }
    if (!has(l->in.p, l->in.n, " 101 ")) {
        fprintf(stderr, "load: no WebSocket: %.60s\n", l->in.p);
        exit(1);
    }
    size_t head = (size_t)(end + 4 - l->in.p);
    memmove(l->in.p, end + 4, l->in.n - head);
    l->in.n -= head;
    greeted = false;
    take_frames(l, greeting);
    while (!greeted) {
        receive(l);
        take_frames(l, greeting);
    }
}

/* ---- turns ---- */

static void begin(unsigned i)
{
    struct session *s = &load.sessions[i];
    if (now_us() >= load.end_us || load.number >= load.most)
        return;
    unsigned number = load.number++;
    *s = (struct session){.sent_us = now_us(), .under_way = true};
    load.under_way++;
    add_request("{\"type\":\"req\",\"id\":\"m%u\",\"method\":\"chat.send\",\"params\":{"
                "\"sessionKey\":\"agent:main:%s-%u\",\"message\":\"%u %s\","
                "\"idempotencyKey\":\"%s-%u-%llu\"}}",
                number, load.prefix, i, number, load.text, load.prefix, i,
                (unsigned long long)s->sent_us);
}

static void ended(unsigned i, bool well)
{
    struct session *s = &load.sessions[i];
    uint64_t us = now_us() - s->sent_us;
    s->under_way = false;
    load.under_way--;
    load.errors += !well;
    if (well) {
        load.answers++;
        note(&load.final, us);
    }
    begin(load.chain ? load.number % load.session_count : i);
}

/* The pieces in a delta that say when they were sent. */
static void on_stamps(const char *text, size_t n)
{
    const char *at = memmem(text, n, "\"deltaText\":\"", 13), *end = text + n;
    while (at && (at = memchr(at, '@', (size_t)(end - at)))) {
        uint64_t sent = strtoull(++at, NULL, 10);
        if (sent > 0)
            note(&load.piece, now_us() - sent);
    }
}

static void on_chat(const char *text, size_t n)
{
    char mark[96];
    int k = snprintf(mark, sizeof mark, "\"sessionKey\":\"agent:main:%s-", load.prefix);
    const char *at = memmem(text, n, mark, (size_t)k);
    if (!at)
        return;
    unsigned i = (unsigned)strtoul(at + k, NULL, 10);
    if (i >= load.session_count || !load.sessions[i].under_way)
        return;
    struct session *s = &load.sessions[i];
    if (has(text, n, "\"state\":\"delta\"")) {
        if (!s->delta_seen)
            note(&load.first, now_us() - s->sent_us);
        s->delta_seen = true;
        on_stamps(text, n);
    } else if (has(text, n, "\"state\":\"final\"")) {
        ended(i, true);
    } else if (has(text, n, "\"state\":\"error\"") || has(text, n, "\"state\":\"aborted\"")) {
        fprintf(stderr, "load: %.*s\n", (int)(n > 600 ? 600 : n), text);
        ended(i, false);
    }
}

static void turn_message(struct link *l, const char *text, size_t n)
{
    (void)l;
    if (has(text, n > 64 ? 64 : n, "\"event\":\"chat\""))
        on_chat(text, n);
    else if (has(text, n > 64 ? 64 : n, "\"type\":\"res\"") && has(text, n, "\"ok\":false")) {
        fprintf(stderr, "load: %.*s\n", (int)(n > 600 ? 600 : n), text);
        exit(1);
    }
}

/* One epoll_wait, whatever came, and whatever is to be sent because of it. */
static void pump(int epoll, struct link *l, message_fn *fn)
{
    struct epoll_event e;
    if (load.out.n)
        flush(l->fd);
    if (epoll_wait(epoll, &e, 1, TURN_TIMEOUT_MS) == 0) {
        fprintf(stderr, "load: nothing came for %d s\n", TURN_TIMEOUT_MS / 1000);
        exit(1);
    }
    receive(l);
    take_frames(l, fn);
}

static int watch(struct link *l)
{
    struct epoll_event e = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, l->fd, &e) != 0)
        die("epoll");
    return epoll;
}

static void run_turns(unsigned short port, unsigned sessions, unsigned ms)
{
    struct link l;
    link_open(&l, port);
    int epoll = watch(&l);
    uint64_t start = now_us();
    load.session_count = sessions;
    load.end_us = start + (uint64_t)ms * 1000;
    for (unsigned i = 0; i < (load.chain ? 1 : sessions); i++)
        begin(i);
    while (load.under_way)
        pump(epoll, &l, turn_message);
    double seconds = (double)(now_us() - start) / 1e6;
    printf("turns=%u errors=%u rate=%.1f first_p50=%u first_p99=%u final_p50=%u final_p99=%u "
           "pieces=%zu piece_p50=%u piece_p99=%u\n",
           load.answers, load.errors, load.answers / seconds, share(&load.first, 50),
           share(&load.first, 99), share(&load.final, 50), share(&load.final, 99), load.piece.count,
           share(&load.piece, 50), share(&load.piece, 99));
}

/* ---- history ---- */

static void injected(struct link *l, const char *text, size_t n)
{
    (void)l;
    if (!has(text, n > 64 ? 64 : n, "\"type\":\"res\""))
        return;
    load.acknowledged++;
    if (has(text, n, "\"ok\":false")) {
        fprintf(stderr, "load: %.*s\n", (int)n, text);
        exit(1);
    }
}

static void run_inject(unsigned short port, const char *session, unsigned count)
{
    struct link l;
    link_open(&l, port);
    int epoll = watch(&l);
    for (unsigned sent = 0; load.acknowledged < count;) {
        for (; sent < count && sent - load.acknowledged < INJECT_WINDOW; sent++)
            add_request(
                "{\"type\":\"req\",\"id\":\"i%u\",\"method\":\"chat.inject\",\"params\":{"
                "\"sessionKey\":\"%s\",\"message\":\"message %u of a history that is as long "
                "as those of people who never begin a new session\"}}",
                sent, session, sent);
        pump(epoll, &l, injected);
    }
    printf("messages=%u\n", count);
}

/* ---- searches ---- */

static void searched(struct link *l, const char *text, size_t n)
{
    (void)l;
    if (!has(text, n > 64 ? 64 : n, "\"type\":\"res\""))
        return;
    load.acknowledged++;
    load.answers += has(text, n, "\"score\"");
    if (has(text, n, "\"ok\":false")) {
        fprintf(stderr, "load: %.*s\n", (int)(n > 600 ? 600 : n), text);
        exit(1);
    }
}

static void run_search(unsigned short port, const char *file)
{
    struct link l;
    char line[400];
    FILE *f = fopen(file, "re");
    if (!f)
        die(file);
    link_open(&l, port);
    int epoll = watch(&l);
    for (unsigned i = 0; fgets(line, sizeof line, f); i++) {
        uint64_t begin_us = now_us();
        add_request("{\"type\":\"req\",\"id\":\"s%u\",\"method\":\"memory.search\",\"params\":{"
                    "\"query\":\"%.*s\"}}",
                    i, (int)strcspn(line, "\n"), line);
        while (load.acknowledged <= i)
            pump(epoll, &l, searched);
        note(&load.final, now_us() - begin_us);
    }
    fclose(f);
    printf("searches=%u with_hits=%u p50=%u p90=%u p99=%u\n", load.acknowledged, load.answers,
           share(&load.final, 50), share(&load.final, 90), share(&load.final, 99));
}

static void run_idle(unsigned short port, unsigned count)
{
    struct link *links = calloc(count, sizeof *links);
    char byte;
    if (!links)
        abort();
    for (unsigned i = 0; i < count; i++) {
        link_open(&links[i], port);
        free(links[i].in.p);
    }
    printf("connections=%u\n", count);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    free(links);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: load PORT turns|chain SESSIONS MS PREFIX [MOST] | inject SESSION COUNT | "
              "search FILE | idle COUNT\n",
              stderr);
        return 2;
    }
    unsigned short port = (unsigned short)strtoul(argv[1], NULL, 10);
    unsigned first = (unsigned)strtoul(argv[3], NULL, 10);
    load.chain = strcmp(argv[2], "chain") == 0;
    if ((load.chain || strcmp(argv[2], "turns") == 0) && argc >= 6 && first > 0 &&
        first <= SESSIONS_MOST) {
        load.prefix = argv[5];
        load.text = getenv("LOAD_TEXT") ? getenv("LOAD_TEXT") : "a message of the bench";
        load.most = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : UINT32_MAX;
        run_turns(port, first, (unsigned)strtoul(argv[4], NULL, 10));
    } else if (strcmp(argv[2], "inject") == 0 && argc >= 5) {
        run_inject(port, argv[3], (unsigned)strtoul(argv[4], NULL, 10));
    } else if (strcmp(argv[2], "search") == 0) {
        run_search(port, argv[3]);
    } else if (strcmp(argv[2], "idle") == 0) {
        run_idle(port, first);
    } else {
        return 2;
    }
    return load.errors > 0;
}
