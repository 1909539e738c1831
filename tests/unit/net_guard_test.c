/* Which addresses a request that a model asked for may reach: the table of them, and that each
 * connection is looked at, whatever the name led to before. */
#include <arpa/inet.h>
#include <unistd.h>

#include "net_http_kit.h"

#include "net/http_private.h"

static bool is_public(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct sockaddr_in6 b = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &a.sin_addr) == 1)
        return guard_is_public((const struct sockaddr *)(const void *)&a);
    assert_int_equal(inet_pton(AF_INET6, text, &b.sin6_addr), 1);
    return guard_is_public((const struct sockaddr *)(const void *)&b);
}

static void only_addresses_of_the_public_net_are_public(void **state)
{
    static const char *const hidden[] = {"127.0.0.1",
                                         "0.0.0.0",
                                         "10.1.2.3",
                                         "172.16.0.1",
                                         "172.31.255.255",
                                         "192.168.0.1",
                                         "169.254.169.254",
                                         "100.64.0.1",
                                         "100.127.255.255",
                                         "168.63.129.16",
                                         "224.0.0.1",
                                         "255.255.255.255",
                                         "198.18.0.1",
                                         "192.0.2.1",
                                         "::",
                                         "::1",
                                         "fe80::1",
                                         "fc00::1",
                                         "fd00:ec2::254",
                                         "ff02::1",
                                         "::ffff:127.0.0.1",
                                         "::ffff:10.0.0.1",
                                         "64:ff9b::a00:1",
                                         "2002:7f00:1::",
                                         "2001:db8::1",
                                         "64:ff9b::a9fe:a9fe"};
    static const char *const open[] = {"1.1.1.1",        "8.8.8.8",         "172.32.0.1",
                                       "100.128.0.1",    "192.169.0.1",     "2606:4700::1111",
                                       "::ffff:1.1.1.1", "64:ff9b::808:808"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(hidden); i++)
        if (is_public(hidden[i]))
            fail_msg("%s counts as public", hidden[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(open); i++)
        if (!is_public(open[i]))
            fail_msg("%s does not count as public", open[i]);
}

/* As libcurl asks before each connect, with the address that the name led to this time. */
static void a_name_that_leads_elsewhere_the_second_time_is_refused(void **state)
{
    bool refused = false;
    struct curl_sockaddr a = {.family = AF_INET, .socktype = SOCK_STREAM};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&a.addr;
    (void)state;
    in->sin_family = AF_INET;
    inet_pton(AF_INET, "93.184.215.14", &in->sin_addr);
    curl_socket_t fd = guard_open(&refused, CURLSOCKTYPE_IPCXN, &a);
    assert_int_not_equal(fd, CURL_SOCKET_BAD);
    assert_false(refused);
    close(fd);
    inet_pton(AF_INET, "192.168.1.1", &in->sin_addr);
    assert_int_equal(guard_open(&refused, CURLSOCKTYPE_IPCXN, &a), CURL_SOCKET_BAD);
    assert_true(refused);
}

static void a_connection_that_others_have_opened_is_not_used(void **state)
{
    struct http_request r = {.method = "GET"};
    CLEANUP(freep) char *url = xprintf("http://127.0.0.1:%u/", fake.port);
    (void)state;
    r.url = url;
    http_start(&r, &ops, &t);
    FAKE_REQUEST(&fake, 0);
    peer_say(&fake.peers[0], "HTTP/1.1 204 No Content\r\n\r\n");
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.error, CHELA_OK);
    buf_clear(&fake.peers[0].in);
    r.flags = CHELA_PUBLIC;
    http_start(&r, &ops, &t);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.error, CHELA_E_DENIED);
    assert_int_equal(fake.peers[0].in.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_addresses_of_the_public_net_are_public),
        TEST(a_name_that_leads_elsewhere_the_second_time_is_refused),
        TEST(a_connection_that_others_have_opened_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
