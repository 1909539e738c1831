/* The SDK's net and process groups as a plugin sees them: requests, sockets, signatures, processes,
 * secrets only for their hosts. The instance here is a plugin's, made by hand. */
#include "net_fake.h"
#include "net_ws_frames.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "host/call.h"
#include "host/host_table.h"
#include "host/instance_private.h"
#include "host/node.h"
#include "host/options.h"
#include "net/http.h"
#include "net/net_group.h"
#include "net/sign.h"
#include "net/ws_client.h"
#include "net/ws_handshake.h"
#include "proc/process.h"
#include "proc/process_group.h"

static struct fake fake;

static struct {
    struct instance in;
    unsigned dones, http_events, ws_events, outputs;
    uint64_t call, tag;
    uint32_t error, flags, status;
    struct buf text, extra, log;
} t;

/* ---- the plugin ---- */

static void on_http(struct chela_inst *in, const struct chela_http_event *e)
{
    assert_ptr_equal(in, &t.in.inst);
    assert_int_equal(e->h.tag, t.tag);
    t.http_events++;
    for (uint64_t i = 0; i < e->headers.n; i++)
        if (chela_str_is(e->headers.v[i].name, "mcp-session-id"))
            buf_printf(&t.log, "[%s]", e->headers.v[i].value.s);
    if (e->retry_ms)
        buf_printf(&t.log, "%llu:", (unsigned long long)e->retry_ms);
    buf_printf(&t.log, "%.*s=%.*s;", (int)e->name.n, e->name.s, (int)e->data.n, e->data.s);
}

static void on_ws(struct chela_inst *in, const struct chela_ws_event *e)
{
    (void)in;
    t.ws_events++;
    buf_printf(&t.log, "%u:%.*s;", e->kind, (int)e->data.n, e->data.s);
}

static void on_output(struct chela_inst *in, const struct chela_output *e)
{
    (void)in;
    t.outputs++;
    buf_str(&t.log, e->data);
}

static void on_done(struct chela_inst *in, const struct chela_done *d)
{
    (void)in;
    assert_int_equal(d->h.call, t.call);
    assert_int_equal(d->h.tag, t.tag);
    t.dones++;
    t.error = d->error;
    t.flags = d->h.flags;
    t.status = d->http_status;
    buf_clear(&t.text);
    buf_str(&t.text, d->text);
    buf_clear(&t.extra);
    buf_str(&t.extra, d->extra);
}

static const struct chela_option table[] = {
    {"url", CHELA_STRING, CHELA_URL, NULL, "the service", NULL},
    {"key", CHELA_STRING, CHELA_SECRET, NULL, "its key", NULL},
    {"pem", CHELA_STRING, CHELA_SECRET, NULL, "a key to sign with", NULL},
    {0},
};

static const struct chela_iface iface = {CHELA_IFACE("test", "", 0, table), .http = on_http,
                                         .ws = on_ws, .output = on_output, .done = on_done};
static struct plugin plugin = {.name = (char *)"test"};
static struct plugin_type type = {.plugin = &plugin};

static char *make_pem(void)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    char *p;
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    long n = BIO_get_mem_data(bio, &p);
    char *copy = xmemdup(p, (size_t)n);
    BIO_free(bio);
    EVP_PKEY_free(key);
    return copy;
}

static struct options *make_options(const char *const *pairs)
{
    static const struct node_source source = {.name = (char *)"test"};
    struct node *group = node_new(NODE_GROUP, NULL, &source, 0);
    struct buf errors = {0};
    for (; pairs[0]; pairs += 2) {
        struct node *n = node_new(NODE_TEXT, pairs[0], &source, 1);
        n->text = xstrdup(pairs[1]);
        node_append(group, n);
    }
    struct options_request request = {
        .table = table, .stride = sizeof table[0], .group = group, .prefix = "tools.test"};
    struct options *o = options_read(&request, &errors, NULL);
    assert_string_equal(buf_text(&errors), "");
    buf_free(&errors);
    node_free(group);
    return o;
}

static int start(void **state)
{
    struct http_setup setup = {.proxy = ""};
    char here[4096];
    (void)state;
    memset(&t, 0, sizeof t);
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    setenv("CHELA_LIBEXEC_DIR", build ? build : getcwd(here, sizeof here), 1);
    loop_open();
    call_open();
    http_open(&setup);
    ws_open();
    process_open();
    net_group_open();
    process_group_open();
    fake_open(&fake);
    CLEANUP(freep) char *url = xprintf("http://127.0.0.1:%u/api", fake.port);
    CLEANUP(freep) char *pem = make_pem();
    const char *pairs[] = {"url", url, "key", "k-e-y-of-the-test", "pem", pem, NULL};
    type.iface = iface;
    t.in.name = (char *)"test";
    t.in.inst = (struct chela_inst){.host = &host_table, .name = "test"};
    t.in.type = &type;
    t.in.options = make_options(pairs);
    t.in.number = call_number();
    t.in.state = INSTANCE_RUNNING;
    call_attach(&t.in);
    local_attach(&t.in);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    t.in.state = INSTANCE_CLOSED;
    call_end_all(&t.in, CHELA_E_GONE, "closed");
    local_detach(&t.in);
    call_detach(&t.in);
    options_release(t.in.options);
    process_group_close();
    net_group_close();
    process_close();
    ws_close();
    fake_close(&fake);
    http_close();
    call_close();
    assert_int_equal(loop_close(), 0);
    buf_free(&t.text);
    buf_free(&t.extra);
    buf_free(&t.log);
    return 0;
}

static uint64_t new_call(void)
{
    t.call = t.in.inst.host->local->new_call(&t.in.inst);
    t.tag = t.call + 7;
    t.dones = 0;
    return t.call;
}

static void request(const char *url, uint32_t decode, struct chela_pairs headers)
{
    CHELA_ARGS(chela_http, a, new_call());
    a.h.tag = t.tag;
    a.method = chela_s("GET");
    a.url = chela_s(url);
    a.decode = decode;
    a.headers = headers;
    t.in.inst.host->net->http(&t.in.inst, &a);
    assert_int_equal(t.dones, 0);
}

static char *url_of(const char *path)
{
    return xprintf("http://127.0.0.1:%u%s", fake.port, path);
}

static void a_request_streams_events_and_ends(void **state)
{
    struct chela_pair header = {CHELA_LIT("Authorization"), CHELA_LIT("Bearer ${secret:key}")};
    (void)state;
    CLEANUP(freep) char *url = url_of("/api/x?k=${secret:key}");
    request(url, CHELA_SSE, (struct chela_pairs){&header, 1});
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(&fake.peers[0], "Authorization: Bearer k-e-y-of-the-test\r\n"));
    assert_true(peer_has(&fake.peers[0], "GET /api/x?k=k-e-y-of-the-test "));
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                             "data: 1\n\nevent: e\ndata: 2\n\n");
    fake_hang_up(&fake.peers[0]);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_OK);
    assert_string_equal(buf_text(&t.log), "message=1;e=2;");
}

static void the_head_of_a_stream_is_told_before_its_first_event(void **state)
{
    (void)state;
    CLEANUP(freep) char *url = url_of("/head");
    CHELA_ARGS(chela_http, a, new_call());
    a.h.tag = t.tag;
    a.h.flags = CHELA_HEAD;
    a.url = chela_s(url);
    a.decode = CHELA_SSE;
    t.in.inst.host->net->http(&t.in.inst, &a);
    FAKE_REQUEST(&fake, 0);
    buf_clear(&t.log);
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             "Mcp-Session-Id: s1\r\n\r\n");
    t.http_events = 0;
    WAIT_FOR(t.http_events);
    assert_string_equal(buf_text(&t.log), "[s1]=;");
    peer_say(&fake.peers[0], "retry: 300\ndata: 1\n\n");
    fake_hang_up(&fake.peers[0]);
    WAIT_FOR(t.dones);
    assert_string_equal(buf_text(&t.log), "[s1]=;300:message=1;");
}

static void a_secret_goes_to_its_host_only(void **state)
{
    struct chela_pair header = {CHELA_LIT("X-Key"), CHELA_LIT("${secret:key}")};
    struct chela_pairs headers = {&header, 1};
    static struct fake other;
    (void)state;
    fake_open(&other);
    CLEANUP(freep) char *elsewhere = xprintf("http://127.0.0.1:%u/api", other.port);
    request(elsewhere, CHELA_BODY, headers);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_E_DENIED);
    assert_int_equal(other.count, 0);
    CLEANUP(freep) char *url = url_of("/api");
    request(url, CHELA_BODY, headers); /* nor by a redirect */
    FAKE_REQUEST(&fake, 0);
    CLEANUP(freep)
    char *redirect =
        xprintf("HTTP/1.1 307 X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", elsewhere);
    peer_say(&fake.peers[0], redirect);
    FAKE_REQUEST(&other, 0);
    assert_false(peer_has(&other.peers[0], "k-e-y"));
    assert_false(peer_has(&other.peers[0], "X-Key"));
    peer_say(&other.peers[0], "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok");
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_OK);
    fake_close(&other);
    header.value = chela_s("${secret:nothing}");
    request(url, CHELA_BODY, headers);
    WAIT_FOR(t.dones);
    assert_int_not_equal(t.error, CHELA_OK);
}

static void a_request_can_be_cancelled_and_ends_with_its_instance(void **state)
{
    (void)state;
    CLEANUP(freep) char *url = url_of("/");
    request(url, CHELA_BODY, (struct chela_pairs){0});
    FAKE_REQUEST(&fake, 0);
    CHELA_ARGS(chela_arg, cancel, t.call);
    t.in.inst.host->net->cancel(&t.in.inst, &cancel);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
    request(url, CHELA_BODY, (struct chela_pairs){0});
    FAKE_REQUEST(&fake, 1);
    call_end_all(&t.in, CHELA_E_GONE, "the instance closes");
    WAIT_FOR(http_count() == 0);
    assert_int_equal(t.dones, 0);
}

static void long_bodies_want_a_store(void **state)
{
    (void)state;
    CLEANUP(freep) char *url = url_of("/");
    request(url, CHELA_FILE, (struct chela_pairs){0});
    FAKE_REQUEST(&fake, 0);
    peer_say(&fake.peers[0], "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok");
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_E_UNSUPPORTED); /* there is none in this test */
}

static void a_websocket_of_a_plugin(void **state)
{
    (void)state;
    CLEANUP(freep) char *url = xprintf("ws://127.0.0.1:%u/", fake.port);
    CHELA_ARGS(chela_ws_connect, a, new_call());
    a.h.tag = t.tag;
    a.url = chela_s(url);
    t.in.inst.host->net->ws_connect(&t.in.inst, &a);
    FAKE_REQUEST(&fake, 0);
    struct peer *p = &fake.peers[0];
    char accept[32];
    CLEANUP(freep)
    char *key = xmemdup(strstr(buf_text(&p->in), "Sec-WebSocket-Key: ") + 19, 24);
    ws_handshake_accept(key, accept);
    struct buf out = {0};
    buf_printf(&out,
               "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n\r\n",
               accept);
    frame_add(&out, 0x81, "hi", 2, false);
    buf_clear(&p->in);
    peer_send(p, out.p, out.n);
    buf_free(&out);
    WAIT_FOR(t.ws_events == 2);
    CHELA_ARGS(chela_ws_send, send, t.call);
    send.kind = CHELA_WS_TEXT;
    send.data = chela_s("there");
    t.in.inst.host->net->ws_send(&t.in.inst, &send);
    send.kind = CHELA_WS_CLOSE;
    send.code = 1000;
    send.data = chela_s("");
    t.in.inst.host->net->ws_send(&t.in.inst, &send);
    struct frame f = {0};
    WAIT_FOR(frame_read(p->in.p, p->in.n, &f));
    assert_memory_equal(f.p, "there", 5);
    frame_add(&out, 0x88, "\x03\xe8", 2, false);
    peer_send(p, out.p, out.n);
    buf_free(&out);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_OK);
    assert_string_equal(buf_text(&t.log), "1:;2:hi;4:;");
}

static void sign_with(const char *algorithm, const char *secret, const char *data)
{
    CHELA_ARGS(chela_sign, a, new_call());
    a.h.tag = t.tag;
    a.algorithm = chela_s(algorithm);
    a.secret = chela_s(secret);
    a.data = chela_s(data);
    t.in.inst.host->net->sign(&t.in.inst, &a);
    WAIT_FOR(t.dones);
}

static void signs_without_showing_the_key(void **state)
{
    (void)state;
    sign_with("hmac-sha256", "${secret:key}", "data");
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.text.n, 32);
    sign_with("hmac-sha1", "${secret:key}", "data");
    assert_int_equal(t.text.n, 20);
    sign_with("rs256", "${secret:pem}", "data");
    assert_int_equal(t.error, CHELA_OK);
    assert_int_equal(t.text.n, 256);
    sign_with("rs256", "${secret:key}", "data");
    assert_int_equal(t.error, CHELA_E_ARGS);
    sign_with("md5", "${secret:key}", "data");
    assert_int_equal(t.error, CHELA_E_UNSUPPORTED);
    sign_with("hmac-sha1", "plain text", "data");
    assert_int_equal(t.error, CHELA_E_ARGS);
    sign_with("hmac-sha1", "${secret:nothing}", "data");
    assert_int_equal(t.error, CHELA_E_ARGS);
}

static void expect_hex(const struct buf *got, const char *hex)
{
    struct buf text = {0};
    for (size_t i = 0; i < got->n; i++)
        buf_printf(&text, "%02x", (unsigned char)got->p[i]);
    assert_string_equal(buf_text(&text), hex);
    buf_free(&text);
}

static void signatures_are_those_of_the_standards(void **state)
{
    struct buf out = {0};
    struct error e;
    char hash[65];
    (void)state;
    /* RFC 4231, case 2 */
    assert_int_equal(sign_bytes(chela_s("hmac-sha256"), chela_s("Jefe"),
                                chela_s("what do ya want for nothing?"), &out, &e),
                     0);
    expect_hex(&out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    buf_clear(&out);
    /* RFC 2202, case 2 */
    assert_int_equal(sign_bytes(chela_s("hmac-sha1"), chela_s("Jefe"),
                                chela_s("what do ya want for nothing?"), &out, &e),
                     0);
    expect_hex(&out, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    buf_clear(&out);
    /* RFC 8032, 7.1, test 2 */
    assert_int_equal(
        sign_bytes(chela_s("ed25519"),
                   chela_s("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"),
                   chela_s("\x72"), &out, &e),
        0);
    expect_hex(&out, "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    buf_free(&out);
    sign_sha256_hex("abc", 3, hash);
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void spawn(const char *script, uint32_t flags, const char *limits)
{
    struct chela_pair arguments[] = {
        {.value = CHELA_LIT("sh")}, {.value = CHELA_LIT("-c")}, {.value = chela_s(script)}};
    CHELA_ARGS(chela_spawn, a, new_call());
    a.h.tag = t.tag;
    a.h.flags = flags;
    a.arguments = (struct chela_pairs){arguments, 3};
    a.directory = chela_s("/");
    a.limits = chela_s(limits);
    buf_clear(&t.log);
    t.in.inst.host->process->spawn(&t.in.inst, &a);
}

static void processes_of_a_plugin(void **state)
{
    (void)state;
    spawn("read x; echo got $x; exit 3", CHELA_STDIN, "{\"files\":50}");
    CHELA_ARGS(chela_write, w, t.call);
    w.h.flags = CHELA_LAST;
    w.data = chela_s("it\n");
    t.in.inst.host->process->write(&t.in.inst, &w);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_OK);
    assert_string_equal(buf_text(&t.log), "got it\n");
    assert_non_null(strstr(buf_text(&t.extra), "\"exit\":3"));
    assert_non_null(strstr(buf_text(&t.extra), "\"pid\":"));
    spawn("trap 'exit 9' USR1; stty size; while :; do sleep 0.05; done", CHELA_PTY, "");
    WAIT_FOR(strstr(buf_text(&t.log), "24 80"));
    CHELA_ARGS(chela_control, c, t.call);
    c.signal = 10;
    t.in.inst.host->process->control(&t.in.inst, &c);
    WAIT_FOR(t.dones);
    assert_non_null(strstr(buf_text(&t.extra), "\"exit\":9"));
    spawn("sleep 100", 0, "");
    CHELA_ARGS(chela_arg, cancel, t.call);
    t.in.inst.host->net->cancel(&t.in.inst, &cancel);
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_E_CANCELLED);
    assert_non_null(strstr(buf_text(&t.extra), "\"signal\":15"));
    spawn("true", 0, "no json");
    WAIT_FOR(t.dones);
    assert_int_equal(t.error, CHELA_E_ARGS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_streams_events_and_ends),
        TEST(the_head_of_a_stream_is_told_before_its_first_event),
        TEST(a_secret_goes_to_its_host_only),
        TEST(a_request_can_be_cancelled_and_ends_with_its_instance),
        TEST(long_bodies_want_a_store),
        TEST(a_websocket_of_a_plugin),
        TEST(signs_without_showing_the_key),
        cmocka_unit_test(signatures_are_those_of_the_standards),
        TEST(processes_of_a_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
