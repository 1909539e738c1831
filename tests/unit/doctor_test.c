/*
 * The doctor (core/host/doctor.c): what it finds in a bad place, and that it finds nothing in a
 * good one.
 */
#include "settings_home.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "host/doctor.h"
#include "support/json.h"

/* The report as text; `ret_ok`: what it says as a whole. */
static const char *examine(const struct settings *s, bool *ret_ok)
{
    json_object *report = doctor_report(s);
    *ret_ok = chela_json_bool(report, "ok", false);
    buf_clear(&t.log);
    doctor_text(report, &t.log);
    json_object_put(report);
    return buf_text(&t.log);
}

static void a_good_place_has_no_errors(void **state)
{
    (void)state;
    bool ok;
    put("etc/chela.conf", "gateway : { port = 0; };");
    mkdir(getenv("CHELA_STATE_DIR"), 0700);
    assert_string_equal(read_all(NULL), "");
    const char *text = examine(t.settings, &ok);
    assert_true(ok);
    assert_non_null(strstr(text, "ok     configuration: 1 files read, no mistake\n"));
    assert_non_null(strstr(text, "ok     gateway: port 0 at loopback is free\n"));
    assert_non_null(strstr(text, "ok     stores: sqlite (by default)\n"));
    assert_non_null(strstr(text, "note   providers: anthropic isn't there by default: "
                                 "providers.anthropic.api_key: missing: the key\n"));
    assert_non_null(strstr(text, "0 errors, "));
}

static void without_a_configuration_it_says_where_to_look(void **state)
{
    (void)state;
    bool ok;
    const char *text = examine(NULL, &ok);
    assert_false(ok);
    assert_non_null(strstr(text, "error  configuration: has mistakes and can't be used\n"
                                 "       fix: chela config check "));
}

static void a_port_that_is_taken_is_an_error(void **state)
{
    (void)state;
    bool ok;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    CLEANUP(freep) char *port = xprintf("%d", ntohs(a.sin_port));
    set("CHELA_GATEWAY_PORT", port);
    assert_string_equal(read_all(NULL), "");
    const char *text = examine(t.settings, &ok);
    assert_false(ok);
    assert_non_null(strstr(text, "can't be used: Address already in use\n"
                                 "       fix: end the other program, or set gateway.port\n"));
    close(fd);
}

static void open_folders_and_files_with_keys_are_warned_of(void **state)
{
    (void)state;
    bool ok;
    CLEANUP(freep) char *file = xprintf("%s/etc/chela.conf", t.root);
    mkdir(getenv("CHELA_STATE_DIR"), 0700);
    chmod(getenv("CHELA_STATE_DIR"), 0755);
    put("etc/chela.conf", "gateway : { port = 0; auth : { token = \"0123456789\"; }; };");
    chmod(file, 0644);
    read_all(NULL);
    const char *text = examine(t.settings, &ok);
    assert_true(ok);
    assert_non_null(strstr(text, "is open to others (mode 755)\n       fix: chmod 700 "));
    assert_non_null(strstr(text, "may be read by others (mode 644), and keys stand in it\n"));
    put("etc/chela.conf", "gateway : { port = 0; };"); /* nothing secret in it */
    read_all(NULL);
    assert_null(strstr(examine(t.settings, &ok), "keys stand in it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_place_has_no_errors),
        TEST(without_a_configuration_it_says_where_to_look),
        TEST(a_port_that_is_taken_is_an_error),
        TEST(open_folders_and_files_with_keys_are_warned_of),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
