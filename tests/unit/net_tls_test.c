/* TLS and proxies: certificates are verified always, made here at run time; wss reads what TLS
 * holds back; requests go through proxies as they should. The TLS server is a thread of its own. */
#include "net_fake.h"
#include "net_ws_frames.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "net/http.h"
#include "net/ws_client.h"
#include "net/ws_handshake.h"

/* ---- certificates ---- */

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static struct identity authority;
static char folder[64], ca_file[128];

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

/* `names`: of the server, NULL: an authority. Valid from a day ago for `days`. */
static struct identity make_identity(const char *names, int days)
{
    static long serial = 1;
    struct identity id = {EVP_EC_gen("P-256"), X509_new()};
    bool self = names == NULL;
    X509_NAME *subject = X509_NAME_new();
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               (const unsigned char *)(self ? "Test CA" : "test"), -1, -1, 0);
    X509_set_version(id.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(id.certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(id.certificate), -2 * 24 * 3600L);
    X509_gmtime_adj(X509_getm_notAfter(id.certificate), days * 24 * 3600L);
    X509_set_subject_name(id.certificate, subject);
    X509_set_issuer_name(id.certificate,
                         self ? subject : X509_get_subject_name(authority.certificate));
    X509_set_pubkey(id.certificate, id.key);
    X509 *issuer = self ? id.certificate : authority.certificate;
    add_extension(id.certificate, issuer, NID_basic_constraints,
                  self ? "critical,CA:TRUE" : "CA:FALSE");
    if (names)
        add_extension(id.certificate, issuer, NID_subject_alt_name, names);
    assert_true(X509_sign(id.certificate, self ? id.key : authority.key, EVP_sha256()) > 0);
    X509_NAME_free(subject);
    return id;
}

static void free_identity(struct identity *id)
{
    EVP_PKEY_free(id->key);
    X509_free(id->certificate);
}

static int make_authority(void **state)
{
    (void)state;
    authority = make_identity(NULL, 10);
    snprintf(folder, sizeof folder, "/tmp/chela-tls-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(ca_file, sizeof ca_file, "%s/ca.pem", folder);
    FILE *f = fopen(ca_file, "we");
    assert_non_null(f);
    PEM_write_X509(f, authority.certificate);
    fclose(f);
    return 0;
}

static int free_authority(void **state)
{
    (void)state;
    free_identity(&authority);
    unlink(ca_file);
    rmdir(folder);
    return 0;
}

/* ---- the server ---- */

enum { WS_FRAMES = 300 };

static struct {
    int fd;
    uint16_t port;
    pthread_t thread;
    SSL_CTX *context;
    bool proxy; /* a CONNECT comes first */
    char connect[256], request[4096];
    atomic_bool stop;
} server;

static size_t read_head(SSL *tls, int fd, char *head, size_t size)
{
    size_t n = 0;
    while (n < size - 1) {
        int got = tls ? SSL_read(tls, head + n, 1) : (int)read(fd, head + n, 1);
        if (got <= 0)
            break;
        head[++n] = 0;
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    return n;
}

static void answer_ws(SSL *tls)
{
    char accept[32];
    struct buf out = {0};
    char *key = xmemdup(strstr(server.request, "Sec-WebSocket-Key: ") + 19, 24);
    ws_handshake_accept(key, accept);
    free(key);
    buf_printf(&out,
               "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n\r\n",
               accept);
    for (int i = 0; i < WS_FRAMES; i++)
        frame_add(&out, 0x81, "0123456789012345678901234567890123456789", 40, false);
    SSL_write(tls, out.p, (int)out.n); /* one record: more than a read of the socket shows */
    buf_free(&out);
    char rest[256];
    while (SSL_read(tls, rest, sizeof rest) > 0)
        ;
}

static void serve_one(int fd)
{
    if (server.proxy) {
        read_head(NULL, fd, server.connect, sizeof server.connect);
        if (write(fd, "HTTP/1.1 200 Connected\r\n\r\n", 26) != 26)
            return;
    }
    SSL *tls = SSL_new(server.context);
    SSL_set_fd(tls, fd);
    if (SSL_accept(tls) == 1 && read_head(tls, -1, server.request, sizeof server.request)) {
        if (strstr(server.request, "Upgrade: websocket")) {
            answer_ws(tls);
        } else {
            static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
            SSL_write(tls, text, sizeof text - 1);
        }
        SSL_shutdown(tls);
    }
    SSL_free(tls);
}

static void *serve(void *arg)
{
    (void)arg;
    while (!server.stop) {
        int fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        if (!server.stop)
            serve_one(fd);
        close(fd);
    }
    return NULL;
}

static void server_start(struct identity *id)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memset(&server, 0, sizeof server);
    server.context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(server.context, id->certificate);
    SSL_CTX_use_PrivateKey(server.context, id->key);
    server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(server.fd, 8), 0);
    getsockname(server.fd, (struct sockaddr *)&at, &n);
    server.port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void server_stop(struct identity *id)
{
    server.stop = true;
    shutdown(server.fd, SHUT_RDWR); /* wakes accept */
    pthread_join(server.thread, NULL);
    close(server.fd);
    SSL_CTX_free(server.context);
    free_identity(id);
}

/* ---- the client ---- */

static struct {
    unsigned done, messages;
    uint32_t error, flags;
    struct buf text;
} t;

static void on_done(void *owner, uint64_t id, const struct chela_done *d)
{
    (void)owner;
    (void)id;
    t.done++;
    t.error = d->error;
    t.flags = d->h.flags;
    buf_clear(&t.text);
    buf_str(&t.text, d->text);
}

static void on_ws_event(void *owner, uint64_t id, const struct chela_ws_event *e)
{
    (void)owner;
    (void)id;
    t.messages += e->kind == CHELA_WS_TEXT;
}

static const struct http_ops ops = {.done = on_done};
static const struct ws_ops ws_ops = {on_ws_event, on_done, NULL};

static void open_client(const char *ca, const char *proxy)
{
    struct http_setup setup = {.ca_file = ca, .proxy = proxy};
    memset(&t, 0, sizeof t);
    signal(SIGPIPE, SIG_IGN);
    loop_open();
    http_open(&setup);
    ws_open();
}

static void close_client(void)
{
    ws_close();
    http_close();
    assert_int_equal(loop_close(), 0);
    buf_free(&t.text);
}

static void get(const char *host)
{
    CLEANUP(freep) char *url = xprintf("https://%s:%u/path", host, server.port);
    struct http_request r = {.method = "GET", .url = url};
    http_start(&r, &ops, NULL);
    WAIT_FOR(t.done);
}

static void a_certificate_of_a_known_authority_is_good(void **state)
{
    struct identity id = make_identity("DNS:localhost,IP:127.0.0.1", 5);
    (void)state;
    server_start(&id);
    open_client(ca_file, "");
    get("localhost");
    assert_int_equal(t.error, CHELA_OK);
    assert_string_equal(buf_text(&t.text), "secret");
    assert_non_null(strstr(server.request, "GET /path HTTP/1.1")); /* it offered no h2 */
    close_client();
    server_stop(&id);
}

static void bad_certificate(const char *names, int days, const char *ca)
{
    struct identity id = make_identity(names, days);
    server_start(&id);
    open_client(ca, "");
    get("localhost");
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_false(t.flags & CHELA_RETRY); /* again would be no better */
    assert_string_equal(server.request, "");
    assert_non_null(strstr(buf_text(&t.text), "certificate"));
    close_client();
    server_stop(&id);
}

static void bad_certificates_are_refused(void **state)
{
    (void)state;
    bad_certificate("DNS:localhost", 5, NULL);              /* of an authority that nobody knows */
    bad_certificate("DNS:other.example", 5, ca_file);       /* of another host */
    bad_certificate("DNS:localhost", -1, ca_file);          /* of yesterday */
    bad_certificate("DNS:localhost", 5, "/no/such/ca.pem"); /* the authority's file is missing */
}

static void wss_reads_what_tls_holds_back(void **state)
{
    struct identity id = make_identity("DNS:localhost", 5);
    (void)state;
    server_start(&id);
    open_client(ca_file, "");
    CLEANUP(freep) char *url = xprintf("wss://localhost:%u/", server.port);
    struct ws_request r = {.url = url};
    uint64_t ws = ws_connect(&r, &ws_ops, NULL);
    WAIT_FOR(t.messages == WS_FRAMES || t.done);
    assert_int_equal(t.messages, WS_FRAMES);
    ws_cancel(ws);
    WAIT_FOR(t.done);
    close_client();
    server_stop(&id);
}

static void wss_verifies_too(void **state)
{
    struct identity id = make_identity("DNS:other.example", 5);
    (void)state;
    server_start(&id);
    open_client(ca_file, "");
    CLEANUP(freep) char *url = xprintf("wss://localhost:%u/", server.port);
    struct ws_request r = {.url = url};
    ws_connect(&r, &ws_ops, NULL);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_int_equal(t.messages, 0);
    close_client();
    server_stop(&id);
}

static void https_and_wss_go_through_a_proxy_by_connect(void **state)
{
    struct identity id = make_identity("DNS:service.example", 5);
    (void)state;
    server_start(&id);
    server.proxy = true;
    CLEANUP(freep) char *proxy = xprintf("http://127.0.0.1:%u", server.port);
    open_client(ca_file, proxy);
    struct http_request r = {.method = "GET", .url = "https://service.example/x"};
    http_start(&r, &ops, NULL);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    assert_non_null(strstr(server.connect, "CONNECT service.example:443 HTTP/1.1"));
    struct ws_request w = {.url = "wss://service.example/"};
    uint64_t ws = ws_connect(&w, &ws_ops, NULL);
    WAIT_FOR(t.messages == WS_FRAMES);
    ws_cancel(ws);
    WAIT_FOR(t.done == 2);
    close_client();
    server_stop(&id);
}

static void plain_requests_tell_a_proxy_the_whole_url(void **state)
{
    static struct fake fake;
    (void)state;
    open_client(NULL, NULL); /* the environment's */
    fake_open(&fake);
    CLEANUP(freep) char *proxy = xprintf("http://127.0.0.1:%u", fake.port);
    setenv("http_proxy", proxy, 1);
    setenv("no_proxy", "direct.invalid", 1);
    struct http_request r = {.method = "GET", .url = "http://service.example/x"};
    http_start(&r, &ops, NULL);
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(&fake.peers[0], "GET http://service.example/x HTTP/1.1\r\n"));
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_OK);
    r.url = "http://direct.invalid/"; /* an exception */
    http_start(&r, &ops, NULL);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    r.url = "http://service.example/x"; /* a proxy could not be guarded */
    r.flags = CHELA_PUBLIC;
    http_start(&r, &ops, NULL);
    WAIT_FOR(t.done == 3);
    assert_int_not_equal(t.error, CHELA_OK);
    assert_int_equal(fake.count, 1);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    fake_close(&fake);
    close_client();
}

static void the_setup_names_proxy_and_exceptions_instead_of_the_environment(void **state)
{
    static struct fake fake;
    (void)state;
    open_client(NULL, NULL);
    fake_open(&fake);
    http_close();
    CLEANUP(freep) char *proxy = xprintf("http://127.0.0.1:%u", fake.port);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    http_open(&(struct http_setup){.proxy = proxy, .no_proxy = "direct.invalid,other.invalid"});
    struct http_request r = {.method = "GET", .url = "http://direct.invalid/"};
    http_start(&r, &ops, NULL);
    WAIT_FOR(t.done);
    assert_int_equal(t.error, CHELA_E_NETWORK);
    assert_int_equal(fake.count, 0);
    r.url = "http://service.example/x";
    http_start(&r, &ops, NULL);
    FAKE_REQUEST(&fake, 0);
    assert_true(peer_has(&fake.peers[0], "GET http://service.example/x HTTP/1.1\r\n"));
    peer_say(&fake.peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_OK);
    unsetenv("http_proxy");
    fake_close(&fake);
    close_client();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_of_a_known_authority_is_good),
        cmocka_unit_test(bad_certificates_are_refused),
        cmocka_unit_test(wss_reads_what_tls_holds_back),
        cmocka_unit_test(wss_verifies_too),
        cmocka_unit_test(https_and_wss_go_through_a_proxy_by_connect),
        cmocka_unit_test(the_setup_names_proxy_and_exceptions_instead_of_the_environment),
        cmocka_unit_test(plain_requests_tell_a_proxy_the_whole_url),
    };
    return cmocka_run_group_tests(tests, make_authority, free_authority);
}
