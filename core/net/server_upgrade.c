/*
 * From an HTTP request to a WebSocket (RFC 6455, section 4.2). Called by server_request.c.
 */
#include "net/server_internal.h"

#include "net/http_head.h"
#include "net/ws_handshake.h"
#include <string.h>

/* 16 bytes in base64: 22 characters of the alphabet, then "==". */
static bool good_key(const char *key)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strspn(key, alphabet) == 22 && strcmp(key + 22, "==") == 0;
}

int server_upgrade_wanted(struct server_request *r)
{
    if (!http_head_has_token(server_header(r, "upgrade"), "websocket") ||
        !r->server->handlers.upgrade)
        return 0;
    if (strcmp(r->head.method, "GET") != 0 ||
        !http_head_has_token(server_header(r, "connection"), "upgrade"))
        return 400;
    const char *version = server_header(r, "sec-websocket-version");
    if (!version || strcmp(version, "13") != 0)
        return 426;
    return good_key(server_header(r, "sec-websocket-key")) ? 1 : 400;
}

static void upgraded(void *cls, struct MHD_Connection *mhd, void *con_cls, const char *extra,
                     size_t extra_size, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    struct server_request *r = cls;
    (void)mhd;
    (void)con_cls;
    server_phase(r->connection, SERVER_NONE);
    server_socket_new(r->server, handle, fd, extra, extra_size, r);
}

enum MHD_Result server_upgrade(struct server_request *r, struct MHD_Connection *mhd)
{
    char answer[32];
    ws_handshake_accept(server_header(r, "sec-websocket-key"), answer);
    struct MHD_Response *response = MHD_create_response_for_upgrade(upgraded, r);
    MHD_add_response_header(response, "Upgrade", "websocket");
    MHD_add_response_header(response, "Sec-WebSocket-Accept", answer);
    r->stage = REQUEST_ANSWERED;
    server_phase(r->connection, SERVER_ANSWER);
    enum MHD_Result result = MHD_queue_response(mhd, 101, response);
    MHD_destroy_response(response);
    return result;
}
