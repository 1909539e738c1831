/*
 * Which addresses a request that a model asked for may reach: only those of the public internet.
 * Looked at after resolution, for each socket that is opened, so a name that changes between the
 * check and the use gains nothing.
 */
#include "net/http_private.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct range4 {
    uint32_t first;
    unsigned bits;
};

/* IANA's special-purpose registry: what is not globally reachable. */
static const struct range4 private4[] = {
    {0x00000000u, 8},  /* this network */
    {0x0a000000u, 8},  /* private */
    {0x64400000u, 10}, /* carrier's NAT; some clouds' metadata */
    {0x7f000000u, 8},  /* loopback */
    {0xa9fe0000u, 16}, /* link-local; metadata of most clouds */
    {0xac100000u, 12}, /* private */
    {0xc0000000u, 24}, /* protocol assignments */
    {0xc0000200u, 24}, /* documentation */
    {0xc0586300u, 24}, /* 6to4 relays */
    {0xc0a80000u, 16}, /* private */
    {0xc6120000u, 15}, /* benchmarks */
    {0xc6336400u, 24}, /* documentation */
    {0xcb007100u, 24}, /* documentation */
    {0xe0000000u, 4},  /* multicast */
    {0xf0000000u, 4},  /* reserved, broadcast */
};

static bool public4(uint32_t address)
{
    for (size_t i = 0; i < sizeof private4 / sizeof private4[0]; i++)
        if ((address ^ private4[i].first) >> (32 - private4[i].bits) == 0)
            return false;
    return address != 0xa83f8110u; /* 168.63.129.16: a cloud's host, inside every guest */
}

static uint32_t read4(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool public6(const uint8_t *p)
{
    static const uint8_t zeros[12];
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(p, mapped, 12) == 0 || memcmp(p, nat64, 12) == 0)
        return public4(read4(p + 12));
    if (memcmp(p, zeros, 12) == 0)
        return false;                 /* ::, ::1, and IPv4-compatible ones */
    if (p[0] == 0x20 && p[1] == 0x02) /* 6to4 */
        return public4(read4(p + 2));
    if (p[0] == 0x20 && p[1] == 0x01 && (p[2] & 0xfe) == 0) /* Teredo, ORCHID and the like */
        return false;
    if (p[0] == 0x20 && p[1] == 0x01 && p[2] == 0x0d && p[3] == 0xb8) /* documentation */
        return false;
    return (p[0] & 0xe0) == 0x20; /* only 2000::/3 is global unicast */
}

bool guard_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return public4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return public6(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return false;
}

curl_socket_t guard_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    if (!guard_is_public(&address->addr)) {
        *(bool *)arg = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
