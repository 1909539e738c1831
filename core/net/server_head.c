/*
 * The head of a request, read strictly: the path decoded once, all headers copied (so that handlers
 * may keep pointers while the client hangs up), and what could mean two things refused. Called by
 * server_request.c only.
 */
#include "net/server_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/utf8.h"

struct header_walk {
    size_t bytes;
    unsigned count, hosts, lengths, encodings;
    struct server_request *r; /* second walk: where they go */
    char *p;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct header_walk *w = cls;
    (void)kind;
    w->count++;
    w->bytes += strlen(name) + (value ? strlen(value) : 0) + 2;
    w->hosts += strcasecmp(name, "host") == 0;
    w->lengths += strcasecmp(name, "content-length") == 0;
    w->encodings += strcasecmp(name, "transfer-encoding") == 0;
    return MHD_YES;
}

static enum MHD_Result copy_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct header_walk *w = cls;
    struct server_request *r = w->r;
    (void)kind;
    r->header_names[r->header_count] = w->p;
    for (; *name; name++)
        *w->p++ = (char)tolower((unsigned char)*name);
    *w->p++ = 0;
    r->header_values[r->header_count++] = w->p;
    if (value)
        w->p = stpcpy(w->p, value);
    *w->p++ = 0;
    return MHD_YES;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the path up to `n`; false for a bad escape, a control character, or what isn't UTF-8. */
static bool decode_path(const char *in, size_t n, char *out)
{
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        char c = in[i];
        if (c == '%') {
            int high = i + 1 < n ? hex_digit(in[i + 1]) : -1;
            int low = i + 2 < n ? hex_digit(in[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if ((unsigned char)c < 32 || c == 127)
            return false;
        *p++ = c;
    }
    *p = 0;
    return utf8_valid(out, (size_t)(p - out));
}

static void read_address(struct server_request *r, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    if (address && address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        inet_ntop(AF_INET, &v4->sin_addr, r->remote, sizeof r->remote);
        r->head.loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    } else if (address && address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, r->remote, sizeof r->remote);
        r->head.loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    r->head.remote = r->remote;
}

int server_head_parse(struct server_request *r, struct MHD_Connection *mhd, const char *method)
{
    struct header_walk w = {.r = r};
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, count_header, &w);
    if (w.count > SERVER_HEADERS_MAX)
        return 431;
    /* A request whose end two parsers could see in two places is how one is smuggled past a proxy
     * (RFC 9112, section 6.3). */
    if (w.hosts > 1 || w.lengths > 1 || w.encodings > 1 || (w.lengths && w.encodings))
        return 400;
    size_t uri = strlen(r->uri), path = strcspn(r->uri, "?");
    size_t pointers = 2 * w.count * sizeof(char *);
    r->block = xmalloc(pointers + w.bytes + strlen(method) + 1 + 2 * (uri + 1));
    r->header_names = (const char **)(void *)r->block;
    r->header_values = r->header_names + w.count;
    w.p = r->block + pointers;
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, copy_header, &w);
    r->head.browser = server_header(r, "origin") != NULL;
    r->head.request = r;
    r->head.method = w.p;
    w.p = stpcpy(w.p, method) + 1;
    r->head.query = w.p;
    w.p = stpcpy(w.p, r->uri[path] ? r->uri + path + 1 : "") + 1;
    r->head.path = w.p;
    read_address(r, mhd);
    if (!decode_path(r->uri, path, w.p) || r->head.path[0] != '/')
        return strcmp(r->uri, "*") == 0 ? 405 : 400;
    const char *encoding = server_header(r, "transfer-encoding");
    return encoding && strcasecmp(encoding, "chunked") != 0 ? 501 : 0;
}

void server_each_header(struct server_request *r,
                        void (*each)(void *arg, const char *name, const char *value), void *arg)
{
    for (unsigned i = 0; i < r->header_count; i++)
        each(arg, r->header_names[i], r->header_values[i]);
}

const char *server_header(struct server_request *r, const char *name)
{
    for (unsigned i = 0; i < r->header_count; i++)
        if (strcmp(r->header_names[i], name) == 0)
            return r->header_values[i];
    return NULL;
}
