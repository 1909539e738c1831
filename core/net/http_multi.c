/*
 * libcurl's multi handle on the loop: sockets by loop_watch, its one timer by libuv (real time: it
 * compares with its own clock). Transfers are told that they ended by their struct multi_user; who
 * adds, removes or resumes a handle does so from the top of the loop.
 */
#include "net/http_private.h"

#include <chela/local.h>
#include <stdlib.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"

enum { IDLE_CONNECTIONS = 16, SPARE_HANDLES = 8 };

static struct {
    CURLM *multi;
    CURLSH *share;
    uv_timer_t *timer;
    CURL *spare[SPARE_HANDLES];
    unsigned spare_count;
} m;

/* After every action, as the library asks for. */
static void read_messages(void)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(m.multi, &left))) {
        struct multi_user *user = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&user);
        if (user)
            user->finished(user->arg, result);
    }
}

static void act(curl_socket_t fd, int mask)
{
    int running;
    curl_multi_socket_action(m.multi, fd, mask, &running);
    read_messages();
}

struct watched {
    struct loop_watch *watch;
    curl_socket_t fd;
};

static void socket_ready(uint32_t events, void *arg)
{
    struct watched *w = arg;
    int mask = ((events & CHELA_READABLE) ? CURL_CSELECT_IN : 0) |
               ((events & CHELA_WRITABLE) ? CURL_CSELECT_OUT : 0);
    act(w->fd, mask);
}

static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct watched *w = socket_arg;
    (void)easy;
    (void)arg;
    if (what == CURL_POLL_REMOVE) {
        if (w) { /* before libcurl closes the descriptor */
            curl_multi_assign(m.multi, fd, NULL);
            loop_unwatch(w->watch);
            free(w);
        }
        return 0;
    }
    uint32_t events = ((what & CURL_POLL_IN) ? (uint32_t)CHELA_READABLE : 0u) |
                      ((what & CURL_POLL_OUT) ? (uint32_t)CHELA_WRITABLE : 0u);
    if (w) {
        loop_watch_change(w->watch, events);
        return 0;
    }
    w = xcalloc(1, sizeof *w);
    w->fd = fd;
    w->watch = loop_watch(fd, events, socket_ready, w);
    if (!w->watch)
        log_error("http", "descriptor %d can't be watched", (int)fd);
    curl_multi_assign(m.multi, fd, w);
    return 0;
}

static void timer_fired(uv_timer_t *timer)
{
    (void)timer;
    act(CURL_SOCKET_TIMEOUT, 0);
}

static int timer_changed(CURLM *multi, long ms, void *arg)
{
    (void)multi;
    (void)arg;
    if (ms < 0) {
        uv_timer_stop(m.timer);
        return 0;
    }
    uv_update_time(loop_uv());
    uv_timer_start(m.timer, timer_fired, (uint64_t)ms, 0);
    return 0;
}

void multi_open(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    m.multi = curl_multi_init();
    m.share = curl_share_init();
    if (!m.multi || !m.share)
        abort();
    curl_share_setopt(m.share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(m.multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(m.multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(m.multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
    m.timer = xcalloc(1, sizeof *m.timer);
    uv_timer_init(loop_uv(), m.timer);
}

static void timer_closed(uv_handle_t *h)
{
    free(h);
}

void multi_close(void)
{
    while (m.spare_count)
        curl_easy_cleanup(m.spare[--m.spare_count]);
    curl_multi_cleanup(m.multi);
    curl_share_cleanup(m.share);
    uv_close((uv_handle_t *)m.timer, timer_closed);
    m.multi = NULL;
    m.timer = NULL;
}

CURL *multi_handle_new(void)
{
    CURL *easy = m.spare_count ? m.spare[--m.spare_count] : curl_easy_init();
    if (!easy)
        abort();
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* or a removal during a look-up waits for the resolver's thread, seconds long */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_SHARE, m.share);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    if (http_defaults.ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, http_defaults.ca_file);
    if (http_defaults.proxy)
        curl_easy_setopt(easy, CURLOPT_PROXY, http_defaults.proxy);
    if (http_defaults.no_proxy)
        curl_easy_setopt(easy, CURLOPT_NOPROXY, http_defaults.no_proxy);
    return easy;
}

void multi_handle_free(CURL *easy)
{
    if (m.spare_count < SPARE_HANDLES) {
        curl_easy_reset(easy);
        curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
        m.spare[m.spare_count++] = easy;
    } else {
        curl_easy_cleanup(easy);
    }
}

int multi_add(CURL *easy)
{
    if (curl_multi_add_handle(m.multi, easy) != CURLM_OK)
        return -1;
    act(CURL_SOCKET_TIMEOUT, 0); /* begin now, not in the next pass */
    return 0;
}

void multi_remove(CURL *easy)
{
    curl_multi_remove_handle(m.multi, easy);
    read_messages();
}

void multi_resume(CURL *easy)
{
    curl_easy_pause(easy, CURLPAUSE_CONT); /* writes synchronously */
    act(CURL_SOCKET_TIMEOUT, 0);
}
