/*
 * Host and Origin of a request (see secret.h): keeps out pages of other sites and rebound names.
 * Called by endpoints.c for each request and upgrade.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "gateway/secret.h"
#include "host/settings.h"

static bool in_list(const char *path, const char *value)
{
    int64_t n = settings_number(settings_now(), path);
    for (int64_t i = 0; i < n; i++) {
        CLEANUP(freep) char *at = xprintf("%s.%lld", path, (long long)i);
        if (strcasecmp(settings_text(settings_now(), at), value) == 0)
            return true;
    }
    return false;
}

/* Copies the name of "name", "name:port", "[v6]:port" into out. */
static bool name_of(const char *host, char *out, size_t size)
{
    const char *begin = host, *end;
    if (*host == '[') {
        begin++;
        end = strchr(begin, ']');
        if (!end)
            return false;
    } else {
        end = begin + strcspn(begin, ":");
    }
    size_t n = (size_t)(end - begin);
    if (n == 0 || n >= size)
        return false;
    memcpy(out, begin, n);
    out[n] = '\0';
    return true;
}

bool origin_host_ok(const char *host)
{
    char name[256];
    unsigned char address[16];
    if (!host || !name_of(host, name, sizeof name))
        return false;
    /* a page can only reach us under a name that its site controls; an address is no such name */
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, address) == 1 ||
           inet_pton(AF_INET6, name, address) == 1 || in_list("gateway.allowed_hosts", name);
}

bool origin_ok(const char *origin, const char *host)
{
    if (!origin)
        return true;
    const char *rest = strncasecmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncasecmp(origin, "https://", 8) == 0 ? origin + 8
                                                                 : NULL;
    if (rest && host && strcasecmp(rest, host) == 0)
        return true;
    return in_list("gateway.allowed_origins", origin);
}
