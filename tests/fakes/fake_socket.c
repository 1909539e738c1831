/* The WebSocket server of a fake service (see fake_socket.h). All I/O of a connection is its own
 * thread's; other threads put frames into its queue and wake it. */
#include "tests/fakes/fake_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

#include "support/base64.h"

enum { HEAD = 4096 };

struct frame {
    struct frame *next;
    char *text; /* NULL: close with `code` */
    size_t n;
    unsigned code;
};

struct fake_socket {
    int fd, wake[2];
    SSL *tls;
    wslay_event_context_ptr frames;
    pthread_mutex_t lock;
    struct frame *first, **last;
    bool over, frozen;
    unsigned code;
    char path[512];
    void *owner;
};

static const struct fake_socket_ops *handlers;
static SSL_CTX *context;
static int listener;

/* ---- the certificate: one for 127.0.0.1, signed by itself ---- */

static void add_extension(X509 *x, int nid, const char *value)
{
    X509V3_CTX c;
    X509V3_set_ctx(&c, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &c, nid, value);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

static void make_context(const char *ca)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *name = X509_NAME_new();
    FILE *f = fopen(ca, "we");
    if (!key || !x || !f)
        abort();
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"fake", -1, -1, 0);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400L);
    X509_gmtime_adj(X509_getm_notAfter(x), 10 * 86400L);
    X509_set_subject_name(x, name);
    X509_set_issuer_name(x, name);
    X509_set_pubkey(x, key);
    add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(x, NID_subject_alt_name, "IP:127.0.0.1");
    X509_sign(x, key, EVP_sha256());
    PEM_write_X509(f, x);
    fclose(f);
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate(context, x) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
        abort();
    X509_NAME_free(name);
    X509_free(x);
    EVP_PKEY_free(key);
}

/* ---- bytes ---- */

static ssize_t get(struct fake_socket *s, void *p, size_t n)
{
    if (!s->tls)
        return recv(s->fd, p, n, 0);
    int got = SSL_read(s->tls, p, (int)n);
    if (got > 0)
        return got;
    errno = SSL_get_error(s->tls, got) == SSL_ERROR_WANT_READ ? EAGAIN : EIO;
    return SSL_get_error(s->tls, got) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static ssize_t put(struct fake_socket *s, const void *p, size_t n)
{
    if (!s->tls)
        return send(s->fd, p, n, MSG_NOSIGNAL);
    int got = SSL_write(s->tls, p, (int)n);
    if (got > 0)
        return got;
    errno = SSL_get_error(s->tls, got) == SSL_ERROR_WANT_WRITE ? EAGAIN : EIO;
    return -1;
}

static ssize_t receive(wslay_event_context_ptr c, uint8_t *p, size_t n, int flags, void *arg)
{
    ssize_t got = get(arg, p, n);
    (void)flags;
    if (got > 0)
        return got;
    wslay_event_set_error(c, got < 0 && errno == EAGAIN ? WSLAY_ERR_WOULDBLOCK
                                                        : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t transmit(wslay_event_context_ptr c, const uint8_t *p, size_t n, int flags, void *arg)
{
    ssize_t sent = put(arg, p, n);
    (void)flags;
    if (sent < 0)
        wslay_event_set_error(c,
                              errno == EAGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return sent;
}

static void arrived(wslay_event_context_ptr c, const struct wslay_event_on_msg_recv_arg *m,
                    void *arg)
{
    struct fake_socket *s = arg;
    (void)c;
    if (m->opcode == WSLAY_CONNECTION_CLOSE)
        s->code = m->status_code;
    else if (m->opcode == WSLAY_TEXT_FRAME)
        handlers->message(s, (const char *)m->msg, m->msg_length);
}

/* ---- a connection ---- */

static bool upgrade(struct fake_socket *s)
{
    char head[HEAD], accept[CHELA_BASE64_TEXT(20)], source[80], *key = NULL;
    unsigned char sum[EVP_MAX_MD_SIZE];
    size_t n = 0;
    while (n < sizeof head - 1 && get(s, head + n, 1) == 1) {
        head[++n] = '\0';
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    head[n] = '\0';
    key = strcasestr(head, "Sec-WebSocket-Key: ");
    if (!key || sscanf(head, "GET %511s ", s->path) != 1)
        return false;
    snprintf(source, sizeof source, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
    unsigned length = 0;
    EVP_Digest(source, strlen(source), sum, &length, EVP_sha1(), NULL);
    chela_base64_encode(sum, length, accept);
    n = (size_t)snprintf(head, sizeof head,
                         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                         "Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                         accept);
    return put(s, head, n) == (ssize_t)n;
}

static void queue_all(struct fake_socket *s)
{
    char drained[64];
    while (read(s->wake[0], drained, sizeof drained) > 0)
        ;
    pthread_mutex_lock(&s->lock);
    while (s->first && !s->frozen) {
        struct frame *f = s->first;
        struct wslay_event_msg m = {WSLAY_TEXT_FRAME, (const uint8_t *)f->text, f->n};
        s->first = f->next;
        if (!s->first)
            s->last = &s->first;
        if (f->text)
            wslay_event_queue_msg(s->frames, &m);
        else if (f->code)
            wslay_event_queue_close(s->frames, (uint16_t)f->code, NULL, 0);
        else
            s->over = true;
        free(f->text);
        free(f);
    }
    pthread_mutex_unlock(&s->lock);
}

static void exchange(struct fake_socket *s)
{
    while (!s->over) {
        struct pollfd fds[2] = {{s->fd, POLLIN, 0}, {s->wake[0], POLLIN, 0}};
        fds[0].events = (short)(POLLIN | (wslay_event_want_write(s->frames) ? POLLOUT : 0));
        if (s->frozen)
            fds[0].fd = -1;
        if (!(s->tls && SSL_pending(s->tls)) && poll(fds, 2, -1) < 0)
            continue;
        queue_all(s);
        if (s->frozen)
            continue;
        if (wslay_event_recv(s->frames) != 0 || wslay_event_send(s->frames) != 0)
            break;
        if (wslay_event_get_close_received(s->frames) && !wslay_event_want_write(s->frames))
            break;
    }
}

static void *serve(void *arg)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = receive, .send_callback = transmit, .on_msg_recv_callback = arrived};
    struct fake_socket *s = arg;
    if (context) {
        s->tls = SSL_new(context);
        SSL_set_fd(s->tls, s->fd);
    }
    if ((!s->tls || SSL_accept(s->tls) == 1) && upgrade(s)) {
        fcntl(s->fd, F_SETFL, O_NONBLOCK);
        wslay_event_context_server_init(&s->frames, &callbacks, s);
        handlers->open(s, s->path);
        exchange(s);
        handlers->over(s);
        wslay_event_context_free(s->frames);
    }
    SSL_free(s->tls);
    close(s->fd);
    close(s->wake[0]);
    close(s->wake[1]);
    while (s->first) {
        struct frame *f = s->first;
        s->first = f->next;
        free(f->text);
        free(f);
    }
    free(s);
    return NULL;
}

static void *listen_for_ever(void *arg)
{
    (void)arg;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;
        struct fake_socket *s = fd < 0 ? NULL : calloc(1, sizeof *s);
        if (!s)
            continue;
        s->fd = fd;
        s->last = &s->first;
        pthread_mutex_init(&s->lock, NULL);
        if (pipe2(s->wake, O_NONBLOCK | O_CLOEXEC) != 0 ||
            pthread_create(&thread, NULL, serve, s) != 0)
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

unsigned short fake_socket_listen(unsigned short port, const char *ca,
                                  const struct fake_socket_ops *ops)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int yes = 1;
    pthread_t thread;
    handlers = ops;
    if (ca)
        make_context(ca);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&thread, NULL, listen_for_ever, NULL) != 0)
        abort();
    return ntohs(address.sin_port);
}

/* ---- from any thread ---- */

static void add(struct fake_socket *s, const char *text, size_t n, unsigned code)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f || (text && !(f->text = malloc(n + 1))))
        abort();
    if (text)
        memcpy(f->text, text, n);
    f->n = n;
    f->code = code;
    pthread_mutex_lock(&s->lock);
    *s->last = f;
    s->last = &f->next;
    pthread_mutex_unlock(&s->lock);
    if (write(s->wake[1], "", 1) != 1)
        return; /* it is full: the other side is awake */
}

void fake_socket_send(struct fake_socket *s, const char *text, size_t n)
{
    add(s, text, n, 0);
}

void fake_socket_close(struct fake_socket *s, unsigned code)
{
    add(s, NULL, 0, code);
}

void fake_socket_freeze(struct fake_socket *s)
{
    pthread_mutex_lock(&s->lock);
    s->frozen = true;
    pthread_mutex_unlock(&s->lock);
    if (write(s->wake[1], "", 1) != 1)
        return;
}

unsigned fake_socket_code(const struct fake_socket *s)
{
    return s->code;
}

void *fake_socket_owner(const struct fake_socket *s)
{
    return s->owner;
}

void fake_socket_set_owner(struct fake_socket *s, void *owner)
{
    s->owner = owner;
}
