/*
 * Proxies in front of the gateway (see proxy.h). X-Forwarded-For counts only from an address of
 * gateway.trusted_proxies, and is read from its end, since its beginning is the client's to forge.
 * A forwarded request from anywhere else is still no local one. Called by endpoints.c and auth.c.
 */
#include "gateway/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/agents.h"
#include "base/buf.h"
#include "host/settings.h"

/* An address as 16 bytes, IPv4 as ::ffff:a.b.c.d. */
static bool parse(const char *text, unsigned char out[16])
{
    unsigned char v4[4];
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    if (inet_pton(AF_INET, text, v4) != 1)
        return false;
    memset(out, 0, 10);
    out[10] = out[11] = 0xff;
    memcpy(out + 12, v4, 4);
    return true;
}

bool proxy_address_in(const char *address, const char *network)
{
    unsigned char a[16], n[16];
    char name[64];
    const char *slash = strchr(network, '/');
    size_t length = slash ? (size_t)(slash - network) : strlen(network);
    if (length >= sizeof name)
        return false;
    memcpy(name, network, length);
    name[length] = '\0';
    if (!parse(address, a) || !parse(name, n))
        return false;
    long bits = 128;
    if (slash) {
        char *end;
        long most = strchr(name, ':') ? 128 : 32;
        bits = strtol(slash + 1, &end, 10);
        if (end == slash + 1 || *end || bits < 0 || bits > most)
            return false;
        bits += 128 - most;
    }
    for (long i = 0; i < bits; i++)
        if ((a[i / 8] ^ n[i / 8]) & (0x80 >> i % 8))
            return false;
    return true;
}

static bool is_trusted(const char *address)
{
    unsigned n = settings_list_count("gateway.trusted_proxies");
    for (unsigned i = 0; i < n; i++)
        if (proxy_address_in(address, settings_list_item("gateway.trusted_proxies", i)))
            return true;
    return false;
}

bool proxy_user_ok(const char *user)
{
    unsigned n = settings_list_count("gateway.auth.allowed_users");
    for (unsigned i = 0; i < n; i++)
        if (strcmp(settings_list_item("gateway.auth.allowed_users", i), user) == 0)
            return *user != '\0';
    return n == 0 && *user;
}

/* The last address of "a, b, c" that is no trusted proxy; false: there is none that can be read. */
static bool forwarded_for(const char *list, char *out, size_t size)
{
    unsigned char bytes[16];
    size_t end = strlen(list);
    for (;;) {
        size_t begin = end;
        while (begin > 0 && list[begin - 1] != ',')
            begin--;
        const char *item = list + begin + strspn(list + begin, " \t");
        size_t n = (size_t)(list + end - item);
        while (n > 0 && (item[n - 1] == ' ' || item[n - 1] == '\t'))
            n--;
        if (n == 0 || n >= size)
            return false;
        memcpy(out, item, n);
        out[n] = '\0';
        if (!parse(out, bytes))
            return false;
        if (!is_trusted(out) || begin == 0)
            return true;
        end = begin - 1;
    }
}

/* What the headers say of it. A proxy may add a line of its own behind a forged one. */
struct forwarding {
    bool any;
    struct buf for_; /* all lines of X-Forwarded-For, in order */
    unsigned users;
    const char *user, *user_header;
};

static void look_at(void *arg, const char *name, const char *value)
{
    struct forwarding *f = arg;
    if (strcmp(name, "x-forwarded-for") == 0)
        buf_printf(&f->for_, "%s%s", f->for_.n ? "," : "", value);
    f->any = f->any || strncmp(name, "x-forwarded-", 12) == 0 || strcmp(name, "forwarded") == 0 ||
             strcmp(name, "x-real-ip") == 0;
    if (strcasecmp(name, f->user_header) == 0) {
        f->users++;
        f->user = value;
    }
}

void proxy_comer(const struct server_head *head, struct comer *out)
{
    struct forwarding f = {.user_header =
                               settings_text(settings_now(), "gateway.auth.user_header")};
    memset(out, 0, sizeof *out);
    server_each_header(head->request, look_at, &f);
    snprintf(out->remote, sizeof out->remote, "%s", head->remote);
    out->local = head->loopback && !f.any;
    out->proxied = f.for_.n && is_trusted(head->remote);
    if (out->proxied && !forwarded_for(buf_text(&f.for_), out->remote, sizeof out->remote))
        snprintf(out->remote, sizeof out->remote, "%s", head->remote);
    /* given twice, one of them is not the proxy's */
    if (out->proxied && f.users == 1 && strlen(f.user) < sizeof out->user)
        snprintf(out->user, sizeof out->user, "%s", f.user);
    buf_free(&f.for_);
}
