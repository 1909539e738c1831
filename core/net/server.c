/*
 * The HTTP server: libmicrohttpd's daemon on its epoll descriptor, the connections with their
 * deadlines, and the orderly end. The gateway opens and closes it; requests and sockets are in the
 * files beside this one. libmicrohttpd runs in before_poll() and nowhere else.
 */
#include "net/server_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

static struct link servers = {&servers, &servers};

/* Deadlines. */

static uint64_t phase_duration(const struct server *s, enum server_phase phase)
{
    switch (phase) {
    case SERVER_HEAD: return s->limits.header_ms;
    case SERVER_BODY: return s->limits.body_ms;
    case SERVER_IDLE: return s->limits.idle_ms;
    case SERVER_ANSWER: return SERVER_ANSWER_MS;
    case SERVER_NONE: break;
    }
    return 0;
}

static void phase_timer_start(struct server *s);

static void phase_timer_fired(void *arg)
{
    struct server *s = arg;
    uint64_t now = clock_ticks_ms();
    s->phase_timer = 0;
    for (int i = 0; i < SERVER_PHASES; i++) {
        LIST_EACH(l, &s->phases[i])
        {
            struct server_connection *c = CONTAINER_OF(l, struct server_connection, phase_link);
            if (c->deadline > now)
                break;
            log_debug("server", "a client was too slow (phase %d), closing", i);
            list_remove(&c->phase_link);
            server_cut(c);
        }
    }
    phase_timer_start(s);
}

/* The connections of one phase stand in the order of their deadlines, so the first ones decide. */
static void phase_timer_start(struct server *s)
{
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < SERVER_PHASES; i++)
        if (!list_empty(&s->phases[i])) {
            struct server_connection *c =
                CONTAINER_OF(s->phases[i].next, struct server_connection, phase_link);
            if (c->deadline < first)
                first = c->deadline;
        }
    if (first == UINT64_MAX || (s->phase_timer && s->phase_timer_at <= first))
        return; /* one that fires too early only looks and starts again */
    loop_timer_stop(s->phase_timer);
    uint64_t now = clock_ticks_ms();
    s->phase_timer_at = first;
    s->phase_timer = loop_timer(first > now ? first - now : 0, phase_timer_fired, s);
}

void server_phase(struct server_connection *c, enum server_phase phase)
{
    list_remove(&c->phase_link);
    c->phase = phase;
    uint64_t ms = phase_duration(c->server, phase);
    if (!ms)
        return;
    c->deadline = clock_ticks_ms() + ms;
    list_append(&c->server->phases[phase], &c->phase_link);
    phase_timer_start(c->server);
}

/* Connections. */

void server_cut(struct server_connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
    c->server->run_needed = true;
    loop_again();
}

static enum MHD_Result accept_policy(void *cls, const struct sockaddr *address, socklen_t length)
{
    struct server *s = cls;
    (void)address;
    (void)length;
    if (s->closing || (s->limits.connections && s->connection_count >= s->limits.connections)) {
        log_debug("server", "too many connections (%u), closing a new one", s->connection_count);
        return MHD_NO;
    }
    return MHD_YES;
}

static void connection_notify(void *cls, struct MHD_Connection *mhd, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct server *s = cls;
    struct server_connection *c = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        int on = 1;
        c = xcalloc(1, sizeof *c);
        c->server = s;
        c->mhd = mhd;
        c->fd = info->connect_fd;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        list_init(&c->phase_link);
        list_append(&s->connections, &c->link);
        s->connection_count++;
        *context = c;
        server_phase(c, SERVER_HEAD);
    } else if (c) {
        if (c->request) /* its head was never whole, so nobody told us of its end */
            server_request_end(c->request);
        list_remove(&c->phase_link);
        list_remove(&c->link);
        s->connection_count--;
        *context = NULL;
        free(c);
    }
}

static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls;
    (void)mhd;
    return strlen(text); /* server_request.c decodes the path itself, strictly */
}

static void mhd_log(void *cls, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));
static void mhd_log(void *cls, const char *format, va_list ap)
{
    char line[256];
    (void)cls;
    if (!log_enabled(LOG_DEBUG))
        return;
    vsnprintf(line, sizeof line, format, ap);
    line[strcspn(line, "\n")] = 0;
    log_debug("server", "%s", line);
}

/* Running. */

static void daemon_ready(uint32_t events, void *arg)
{
    struct server *s = arg;
    (void)events;
    s->run_needed = true;
}

static void daemon_timer_fired(void *arg)
{
    struct server *s = arg;
    s->daemon_timer = 0;
    s->run_needed = true;
}

static void clients_gone(uint32_t events, void *arg)
{
    struct server *s = arg;
    struct epoll_event ready[32];
    (void)events;
    int n = epoll_wait(s->gone_fd, ready, ARRAY_LENGTH(ready), 0);
    for (int i = 0; i < n; i++)
        server_request_lose(ready[i].data.ptr);
}

static void server_top(void *arg)
{
    struct server *s = arg;
    s->deferred = false;
    while (!list_empty(&s->ready)) {
        struct server_request *r = CONTAINER_OF(s->ready.next, struct server_request, ready);
        list_remove(&r->ready);
        server_request_deliver(r);
    }
    server_sockets_deliver(s);
}

void server_schedule(struct server *s)
{
    if (s->deferred)
        return;
    s->deferred = true;
    loop_defer(server_top, s);
}

static void daemon_run(struct server *s)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    s->run_needed = false;
    MHD_run(s->daemon);
    loop_timer_stop(s->daemon_timer);
    s->daemon_timer = 0;
    if (MHD_get_timeout(s->daemon, &timeout) != MHD_YES)
        return;
    if (timeout == 0)
        s->run_needed = true;
    else
        s->daemon_timer = loop_timer(timeout, daemon_timer_fired, s);
}

static void server_free(struct server *s)
{
    list_remove(&s->link);
    loop_timer_stop(s->daemon_timer);
    loop_timer_stop(s->phase_timer);
    loop_timer_stop(s->grace_timer);
    loop_unwatch(s->watch);
    loop_unwatch(s->gone_watch);
    if (s->daemon)
        MHD_stop_daemon(s->daemon); /* nothing is suspended any more, or it would abort */
    if (s->gone_fd >= 0)
        close(s->gone_fd);
    if (s->drained)
        loop_defer(s->drained, s->drained_arg);
    free(s);
}

static bool before_poll(void)
{
    bool again = false;
    LIST_EACH(l, &servers)
    {
        struct server *s = CONTAINER_OF(l, struct server, link);
        server_sockets_flush(s);
        while (!list_empty(&s->wake)) {
            struct server_request *r = CONTAINER_OF(s->wake.next, struct server_request, wake);
            list_remove(&r->wake);
            server_request_resume(r);
        }
        if (s->run_needed)
            daemon_run(s);
        if (s->closing && s->connection_count == 0 && !s->deferred) {
            server_free(s);
            again = true;
        } else {
            again = again || s->run_needed || s->deferred || !list_empty(&s->wake);
        }
    }
    return again;
}

/* Opening and closing. */

static int listen_on(const char *address, uint16_t port, struct server *s, int *ret_family,
                     struct error *e)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_PASSIVE},
                    *found = NULL;
    char service[8];
    int on = 1, fd = -1;
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(address, service, &hints, &found) != 0)
        return error_set(e, CHELA_E_ARGS, "\"%s\" is not a numeric address to listen on", address);
    *ret_family = found->ai_family;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (found->ai_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        error_set(e, CHELA_E_NETWORK, "can't listen on %s port %u: %s%s", address, port,
                  strerror(errno),
                  errno == EADDRINUSE ? " (is another gateway running? choose another gateway.port)"
                                      : "");
        if (fd >= 0)
            close(fd);
        freeaddrinfo(found);
        return -1;
    }
    freeaddrinfo(found);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound;
    socklen_t length = sizeof bound;
    memset(&bound, 0, sizeof bound);
    getsockname(fd, &bound.any, &length);
    s->port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return fd;
}

static struct MHD_Daemon *start_daemon(struct server *s, int fd, int family)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
                     MHD_USE_ERROR_LOG | (family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    size_t pool = s->limits.head_bytes < 2048 ? 2048 : s->limits.head_bytes;
    unsigned connections = s->limits.connections ? s->limits.connections : 4096;
    return MHD_start_daemon(
        flags, 0, accept_policy, s, server_request_access, s, MHD_OPTION_EXTERNAL_LOGGER, mhd_log,
        NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, connections + 8,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->limits.connections_per_address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_URI_LOG_CALLBACK, server_request_line, s, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, server_request_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, connection_notify, s, MHD_OPTION_END);
}

struct server *server_open(const char *address, uint16_t port, const struct server_limits *limits,
                           const struct server_handlers *handlers, void *arg, struct error *e)
{
    struct server *s = xcalloc(1, sizeof *s);
    int family = AF_INET;
    s->gone_fd = -1;
    s->limits = *limits;
    s->handlers = *handlers;
    s->arg = arg;
    list_init(&s->link);
    list_init(&s->connections);
    list_init(&s->wake);
    list_init(&s->ready);
    list_init(&s->sockets);
    list_init(&s->flush);
    list_init(&s->todo);
    for (int i = 0; i < SERVER_PHASES; i++)
        list_init(&s->phases[i]);
    int fd = listen_on(address, port, s, &family, e);
    if (fd < 0)
        goto out;
    signal(SIGPIPE, SIG_IGN);
    s->gone_fd = epoll_create1(EPOLL_CLOEXEC);
    s->daemon = s->gone_fd < 0 ? NULL : start_daemon(s, fd, family);
    if (!s->daemon) {
        error_set(e, CHELA_E_OTHER, "the HTTP server could not start: %s", strerror(errno));
        close(fd);
        goto out;
    }
    s->watch = loop_watch(MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                          CHELA_READABLE, daemon_ready, s);
    s->gone_watch = loop_watch(s->gone_fd, CHELA_READABLE, clients_gone, s);
    list_append(&servers, &s->link);
    loop_before_poll(before_poll);
    return s;
out:
    server_free(s);
    return NULL;
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

static void grace_over(void *arg)
{
    struct server *s = arg;
    s->grace_timer = 0;
    server_sockets_cut(s);
    LIST_EACH(l, &s->connections)
    {
        struct server_connection *c = CONTAINER_OF(l, struct server_connection, link);
        if (c->request)
            server_request_lose(c->request);
        else
            server_cut(c);
    }
    s->run_needed = true;
}

void server_close(struct server *s, uint64_t grace_ms, void (*drained)(void *arg), void *arg)
{
    if (s->closing)
        return;
    s->closing = true;
    s->drained = drained;
    s->drained_arg = arg;
    int fd = MHD_quiesce_daemon(s->daemon);
    if (fd >= 0)
        close(fd);
    LIST_EACH(l, &s->connections)
    {
        struct server_connection *c = CONTAINER_OF(l, struct server_connection, link);
        if (c->phase == SERVER_HEAD || c->phase == SERVER_IDLE)
            server_cut(c);
    }
    server_sockets_close(s);
    s->run_needed = true;
    s->grace_timer = loop_timer(grace_ms, grace_over, s);
}
