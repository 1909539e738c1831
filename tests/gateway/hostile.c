/*
 * Clients that mean harm, against a running gateway, each as a point of TAP; beside all of them one
 * that behaves and must be answered at once after each.
 *
 *   hostile PORT TOKEN PID TOKENS SOCKETS
 *
 * PID: the gateway's, for its memory. TOKENS: how many wrong ones are tried. SOCKETS: how many idle
 * ones are opened (the gateway must allow half of them, or all; see hostile_test.sh).
 */
#include <json-c/json_object.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/raw_client.h"
#include "support/json.h"

enum { AT_ONCE_MS = 10000, LATE_MS = 20000 };

static struct {
    unsigned port, points, failed;
    const char *token;
    long pid;
    struct raw good; /* the one that behaves */
    unsigned asked;
} t;

static void point(bool ok, const char *name)
{
    printf("%s %u - %s\n", ok ? "ok" : "not ok", ++t.points, name);
    fflush(stdout);
    t.failed += !ok;
}

/* Of the gateway; 0 under AddressSanitizer, which keeps what was freed. */
static long memory_kib(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#endif
    CLEANUP(freep) char *path = xprintf("/proc/%ld/status", t.pid);
    char line[256];
    long kib = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

/* ---- what a client says that behaves ---- */

static void open_socket(struct raw *r)
{
    unsigned status = raw_open(r, t.port, NULL, "");
    json_object *challenge = status == 101 ? raw_next(r, AT_ONCE_MS) : NULL;
    if (!challenge) {
        printf("Bail out! the gateway takes no WebSocket (%u)\n", status);
        exit(1);
    }
    json_object_put(challenge);
}

static void say_connect(struct raw *r, const char *token)
{
    CLEANUP(freep)
    char *frame = xprintf(
        "{\"type\":\"req\",\"id\":\"1\",\"method\":\"connect\",\"params\":{\"minProtocol\":4,"
        "\"maxProtocol\":4,\"client\":{\"id\":\"test\",\"mode\":\"test\",\"version\":\"1\","
        "\"platform\":\"linux\"},\"scopes\":[\"operator.read\"],\"auth\":{\"token\":\"%s\"}}}",
        token);
    raw_text(r, frame);
}

/* The answer to request `id`, past all events; NULL: none came. */
static json_object *answer(struct raw *r, const char *id, int ms)
{
    json_object *o;
    while ((o = raw_next(r, ms)) != NULL) {
        const char *its = chela_json_string(o, "id", NULL);
        if (its && strcmp(its, id) == 0)
            return o;
        json_object_put(o);
    }
    return NULL;
}

static void log_in(struct raw *r)
{
    open_socket(r);
    say_connect(r, t.token);
    json_object *hello = answer(r, "1", AT_ONCE_MS);
    if (!chela_json_bool(hello, "ok", false)) {
        printf("Bail out! the gateway refuses a good client\n");
        exit(1);
    }
    json_object_put(hello);
}

static bool good_is_answered(void)
{
    CLEANUP(freep) char *id = xprintf("good-%u", ++t.asked);
    CLEANUP(freep)
    char *frame =
        xprintf("{\"type\":\"req\",\"id\":\"%s\",\"method\":\"sessions.list\",\"params\":{}}", id);
    raw_text(&t.good, frame);
    json_object *o = answer(&t.good, id, AT_ONCE_MS);
    bool ok = chela_json_bool(o, "ok", false);
    json_object_put(o);
    return ok;
}

static void unharmed(bool ok, const char *name)
{
    bool good = good_is_answered();
    if (!good)
        printf("# the client that behaves was not answered\n");
    point(ok && good, name);
}

/* ---- frames that break the rules ---- */

static const struct {
    const char *name;
    unsigned first;
    const char *bytes;
    size_t n;
    bool bare; /* not masked */
    unsigned code;
} frames[] = {
#define F(name, first, bytes, code)                                                                \
    {                                                                                              \
        name, first, bytes, sizeof bytes - 1, false, code                                          \
    }
    {"a frame that is not masked", 0x81, "{}", 2, true, 1002},
    F("a reserved bit", 0xC1, "{}", 1002),
    F("an unknown kind of frame", 0x83, "{}", 1002),
    F("an unknown control frame", 0x8B, "", 1002),
    F("a ping in pieces", 0x09, "", 1002),
    F("a continuation of nothing", 0x80, "x", 1002),
    F("a binary frame", 0x82, "{}", 1003),
    F("no UTF-8", 0x81, "\xC3\x28", 1007),
    F("an overlong sequence", 0x81, "\xC0\xAF", 1007),
    F("a surrogate", 0x81, "\xED\xA0\x80", 1007),
    F("beyond Unicode", 0x81, "\xF4\x90\x80\x80", 1007),
    F("no JSON", 0x81, "hello", 1008),
    F("JSON that is no object", 0x81, "[1,2]", 1008),
    F("a request before connect", 0x81, "{\"type\":\"req\",\"id\":\"1\",\"method\":\"health\"}",
      1008),
    F("an event from a client", 0x81, "{\"type\":\"event\",\"event\":\"tick\"}", 1008),
    F("a request without an id", 0x81, "{\"type\":\"req\",\"method\":\"connect\"}", 1008),
    F("one key twice", 0x81, "{\"type\":\"req\",\"type\":\"req\",\"id\":\"1\"}", 1008),
    F("a close with half a code", 0x88, "\x03", 1002),
    F("a close with a code that may not be sent", 0x88, "\x03\xED", 1002),
    F("a close whose reason is no UTF-8", 0x88, "\x03\xE8\xC3\x28", 1007),
#undef F
};

static void frames_that_break_the_rules(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
        struct raw r;
        open_socket(&r);
        raw_frame(&r, frames[i].first, frames[i].bytes, frames[i].n, !frames[i].bare);
        unsigned code = raw_wait_close(&r, AT_ONCE_MS);
        CLEANUP(freep) char *name = xprintf("%s: %u", frames[i].name, frames[i].code);
        if (code != frames[i].code)
            printf("# closed with %u\n", code);
        unharmed(code == frames[i].code, name);
        raw_close(&r);
    }
}

static void long_control_frame(void)
{
    char text[126] = {0};
    struct raw r;
    open_socket(&r);
    raw_frame(&r, 0x89, text, sizeof text, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1002, "a ping of 126 bytes: 1002");
    raw_close(&r);
}

static void message_in_a_message(void)
{
    struct raw r;
    open_socket(&r);
    raw_frame(&r, 0x01, "{", 1, true);
    raw_frame(&r, 0x81, "{}", 2, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1002, "a message inside of another: 1002");
    raw_close(&r);
}

static void bad_text_in_pieces(void)
{
    struct raw r;
    open_socket(&r);
    raw_frame(&r, 0x01, "\xF0\x9F", 2, true);
    raw_frame(&r, 0x00, "\x98", 1, true);
    raw_frame(&r, 0x80, "\x28", 1, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1007, "bad UTF-8 over three fragments: 1007");
    raw_close(&r);
}

static void good_pieces(void)
{
    static const char text[] = "{\"type\":\"req\",\"id\":\"7\",\"method\":\"sessions.list\"}";
    struct raw r;
    log_in(&r);
    raw_frame(&r, 0x01, text, 5, true);
    raw_frame(&r, 0x89, "beat", 4, true);
    for (size_t i = 5; i + 1 < sizeof text; i++)
        raw_frame(&r, i + 2 < sizeof text ? 0x00 : 0x80, text + i, 1, true);
    json_object *o = answer(&r, "7", AT_ONCE_MS);
    unharmed(o && r.pongs == 1, "a fragment for each byte with a ping between is one request");
    json_object_put(o);
    raw_close(&r);
}

/* ---- sizes ---- */

static void too_long(void)
{
    const size_t n = 64 * 1024 + 1;
    CLEANUP(freep) char *text = xmalloc(n);
    struct raw r;
    memset(text, ' ', n);
    open_socket(&r);
    raw_frame(&r, 0x81, text, n, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1009, "more than 64 KiB before connect: 1009");
    raw_close(&r);
    log_in(&r);
    raw_frame(&r, 0x81, text, n, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1008, "the same afterwards: it is read (1008)");
    raw_close(&r);
}

static void announced_length(void)
{
    static const unsigned char head[] = {0x81, 0xFF, 0, 0, 0, 0x7F, 0xFF, 0xFF,
                                         0xFF, 0xFF, 1, 2, 3, 4,    5};
    struct raw r;
    log_in(&r);
    long before = memory_kib();
    raw_write(&r, head, sizeof head);
    unsigned code = raw_wait_close(&r, AT_ONCE_MS);
    printf("# closed with %u, %ld KiB more\n", code, memory_kib() - before);
    unharmed(code == 1009 && memory_kib() - before < 4096,
             "a frame that says it has 512 GiB: 1009, and nothing is set aside for it");
    raw_close(&r);
}

static void deep_json(void)
{
    const size_t n = 60000;
    CLEANUP(freep) char *text = xmalloc(n);
    struct raw r;
    memset(text, '[', n);
    open_socket(&r);
    raw_frame(&r, 0x81, text, n, true);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == 1008, "60,000 brackets: 1008");
    raw_close(&r);
}

/* Asks and never reads what comes: the longest answer there is, so that few of them are 50 MiB. */
static void slow_reader(void)
{
    static const char ask[] = "{\"type\":\"req\",\"id\":\"1\",\"method\":\"config.schema\"}";
    struct raw r;
    log_in(&r);
    unsigned sent = 0;
    struct timeval patience = {.tv_sec = 1};
    setsockopt(r.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (sent < 200000 && raw_text(&r, ask))
        sent++;
    bool good = good_is_answered();
    struct pollfd cut = {.fd = r.fd, .events = POLLRDHUP};
    poll(&cut, 1, 5 * LATE_MS); /* nothing is read before; with a sanitizer 50 MiB take a while */
    unsigned code = raw_wait_close(&r, LATE_MS);
    printf("# %u requests were taken, closed with %u, %ld KiB afterwards, others %s\n", sent, code,
           memory_kib(), good ? "were served" : "were not served in time");
    unharmed(good && (code == RAW_CUT || code == 1008) && memory_kib() < 160 * 1024,
             "who asks without reading is cut off before 50 MiB wait for it");
    raw_close(&r);
}

/* ---- slow and half ---- */

static void half_closed(void)
{
    struct raw r;
    log_in(&r);
    shutdown(r.fd, SHUT_WR);
    unharmed(raw_wait_close(&r, AT_ONCE_MS) == RAW_CUT, "a half-closed connection ends");
    raw_close(&r);
    raw_connect(&r, t.port);
    raw_write(&r, "GET / HTTP/1.1\r\nHo", 18);
    shutdown(r.fd, SHUT_WR);
    unharmed(raw_wait_close(&r, LATE_MS) == RAW_CUT, "also in the middle of a head");
    raw_close(&r);
}

static void slow_ones(void)
{
    enum { MANY = 60 };
    struct raw heads[MANY], silent, dripping;
    bool ended = true, answered = true;
    for (unsigned i = 0; i < MANY; i++) {
        raw_connect(&heads[i], t.port);
        raw_write(&heads[i], "GET / HTTP/1.1\r\nHost: x\r\nX-", 27);
    }
    open_socket(&silent);
    open_socket(&dripping);
    raw_write(&dripping, "\x81\xFE", 2);
    unharmed(raw_wait_close(&silent, LATE_MS) == 1008, "who never says connect: 1008");
    unharmed(raw_wait_close(&dripping, LATE_MS) != RAW_OPEN, "nor half a frame keeps it open");
    for (unsigned i = 0; i < MANY; i++) {
        answered = answered && (i % 20 || good_is_answered());
        raw_status(&heads[i], LATE_MS);
        ended = raw_wait_close(&heads[i], LATE_MS) == RAW_CUT && ended;
        raw_close(&heads[i]);
    }
    raw_close(&silent);
    raw_close(&dripping);
    unharmed(ended && answered,
             "sixty heads that never end are cut off, others are served meanwhile");
}

/* Bodies that come a byte at a time, with the right secret and without: each byte is in time, the
 * whole is not. */
static void slow_bodies(void)
{
    enum { MANY = 40, DRIPS = 60 };
    struct raw bodies[MANY];
    bool answered = true, ended = true;
    unsigned drips = 0;
    for (unsigned i = 0; i < MANY; i++) {
        CLEANUP(freep)
        char *head = xprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                             "Content-Length: %u\r\n\r\n",
                             t.port, i % 2 ? "wrong" : t.token, 50000u);
        raw_connect(&bodies[i], t.port);
        raw_write(&bodies[i], head, strlen(head));
    }
    for (bool open = true; open && drips < DRIPS; drips++) {
        open = false;
        for (unsigned i = 0; i < MANY; i++)
            open = raw_write(&bodies[i], "{", 1) || open;
        answered = answered && good_is_answered();
        poll(NULL, 0, 100); /* the pace of the attack itself */
    }
    for (unsigned i = 0; i < MANY; i++) {
        raw_status(&bodies[i], 100);
        ended = raw_wait_close(&bodies[i], AT_ONCE_MS) == RAW_CUT && ended;
        raw_close(&bodies[i]);
    }
    printf("# after %u drips\n", drips);
    unharmed(ended && answered && drips > 5 && drips < DRIPS,
             "forty bodies that drip are cut off at their deadline, others are served meanwhile");
}

/* ---- who asks ---- */

static const struct {
    const char *name, *host, *headers;
    unsigned status;
} comers[] = {
    {"a page of another site", NULL, "Origin: http://evil.example\r\n", 403},
    {"a page from a file", NULL, "Origin: null\r\n", 403},
    {"a page of another port", NULL, "Origin: http://127.0.0.1:1\r\n", 403},
    {"a name that was rebound", "evil.example", "", 403},
    {"such a name with its own origin", "evil.example", "Origin: http://evil.example\r\n", 403},
    {"two hosts", NULL, "Host: evil.example\r\n", 400},
    {"localhost", "localhost", "", 101},
};

static void who_asks(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(comers); i++) {
        struct raw r;
        unsigned status = raw_open(&r, t.port, comers[i].host, comers[i].headers);
        CLEANUP(freep) char *name = xprintf("%s: %u", comers[i].name, comers[i].status);
        if (status != comers[i].status)
            printf("# answered with %u\n", status);
        unharmed(status == comers[i].status, name);
        raw_close(&r);
    }
}

static const char *refused_as(const char *token, const char *headers, char *out, size_t size)
{
    struct raw r;
    out[0] = '\0';
    if (raw_open(&r, t.port, NULL, headers) == 101) {
        json_object_put(raw_next(&r, AT_ONCE_MS));
        say_connect(&r, token);
        json_object *o = answer(&r, "1", LATE_MS);
        const char *code = chela_json_string(
            chela_json_object(chela_json_object(o, "error"), "details"), "code", NULL);
        snprintf(out, size, "%s", code ? code : "");
        json_object_put(o);
        if (raw_wait_close(&r, AT_ONCE_MS) != 1008)
            snprintf(out, size, "%s", "not closed with 1008");
    }
    raw_close(&r);
    return out;
}

static void wrong_tokens(unsigned count)
{
    char token[32], code[64];
    unsigned refused = 0;
    long before = memory_kib();
    uint64_t begin = clock_ticks_ms();
    for (unsigned i = 0; i < count; i++) {
        snprintf(token, sizeof token, "wrong-token-%u", i);
        refused += strcmp(refused_as(token, "", code, sizeof code), "AUTH_TOKEN_MISMATCH") == 0;
        if (i % 1000 == 999 && !good_is_answered())
            refused = 0;
    }
    long grown = memory_kib() - before;
    printf("# %u wrong tokens in %llu ms, memory grew by %ld KiB\n", count,
           (unsigned long long)(clock_ticks_ms() - begin), grown);
    unharmed(refused == count && grown < 8192, "each wrong token is refused, and none is kept");
}

static void guesses_of_a_page(void)
{
    CLEANUP(freep) char *origin = xprintf("Origin: http://127.0.0.1:%u\r\n", t.port);
    char code[64];
    unsigned wrong = 0, locked = 0;
    for (unsigned i = 0; i < 20; i++) {
        refused_as("guess", origin, code, sizeof code);
        wrong += strcmp(code, "AUTH_TOKEN_MISMATCH") == 0;
        locked += strcmp(code, "AUTH_RATE_LIMITED") == 0;
    }
    unharmed(wrong == 10 && locked == 10, "a page that guesses is locked out after ten");
}

/* ---- many ---- */

static void idle_sockets(unsigned count)
{
    struct raw *all = xcalloc(count, sizeof *all);
    long before = memory_kib();
    unsigned open = 0, in = 0;
    bool good = true;
    for (unsigned i = 0; i < count; i++) {
        if (raw_open(&all[i], t.port, NULL, "") != 101)
            continue;
        open++;
        json_object_put(raw_next(&all[i], LATE_MS));
        say_connect(&all[i], t.token);
        json_object *hello = answer(&all[i], "1", LATE_MS);
        in += chela_json_bool(hello, "ok", false);
        json_object_put(hello);
        buf_free(&all[i].in);
        if (i % 1000 == 0)
            good = good_is_answered() && good;
    }
    long each = in ? (memory_kib() - before) * 1024 / (long)in : 0;
    printf("# %u of %u sockets were let in, %ld bytes of memory each\n", in, count, each);
    unharmed(good && in == open && in > 0 && each < 64 * 1024,
             "idle sockets cost less than 64 KiB each, others are served");
    for (unsigned i = 0; i < count; i++)
        raw_close(&all[i]);
    free(all);
    unharmed(true, "and when they go, all is as before");
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    t.port = (unsigned)strtoul(argv[1], NULL, 10);
    t.token = argv[2];
    t.pid = strtol(argv[3], NULL, 10);
    log_in(&t.good);
    frames_that_break_the_rules();
    long_control_frame();
    message_in_a_message();
    bad_text_in_pieces();
    good_pieces();
    too_long();
    announced_length();
    deep_json();
    half_closed();
    who_asks();
    wrong_tokens((unsigned)strtoul(argv[4], NULL, 10));
    guesses_of_a_page();
    slow_reader();
    slow_ones();
    slow_bodies();
    idle_sockets((unsigned)strtoul(argv[5], NULL, 10));
    printf("# %ld KiB of memory at the end\n", memory_kib());
    raw_close(&t.good);
    printf("1..%u\n", t.points);
    return t.failed > 0;
}
