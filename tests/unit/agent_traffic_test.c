/*
 * What really goes over a channel, and what became of what was sent (core/agent/chats/traffic.c).
 */
#include "tests/unit/agent_world.h"

#include "agent/chats/traffic.h"
#include "base/clock.h"

static const char *describe(void)
{
    static char *last;
    struct json_object *o = chela_json_new_object();
    free(last);
    traffic_describe("cli", o);
    last = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return last;
}

static void receipt(const char *message, const char *state)
{
    traffic_receipt("cli", "", "tty", message, state, "the service says why");
    fake_run();
}

static void what_comes_and_goes_is_counted(void **state)
{
    (void)state;
    world_open();
    assert_non_null(strstr(describe(), "\"lastInboundAt\":null"));
    world_say("r1", "hi");
    CLEANUP(freep)
    char *now = xprintf("\"lastInboundAt\":%llu,", (unsigned long long)clock_now_ms());
    assert_non_null(strstr(describe(), now));
    assert_non_null(strstr(describe(), "\"inbound\":1,\"outbound\":1,\"failed\":0"));
    world_close();
}

static void a_receipt_changes_the_pieces_row(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "hi");
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    receipt("id-0", "delivered"); /* not ours */
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    receipt("id-1", "read");
    assert_string_equal(fake_chunk_state("r1.0"), "READ");
    receipt("id-1", "delivered"); /* out of order */
    assert_string_equal(fake_chunk_state("r1.0"), "READ");
    receipt("id-1", "failed");
    assert_string_equal(fake_chunk_state("r1.0"), "FAILED");
    struct json_object *list = traffic_failures();
    assert_int_equal(chela_json_length(list), 1);
    assert_non_null(strstr(chela_json_text(list, NULL), "the service says why"));
    json_object_put(list);
    world_close();
}

static void the_operator_is_told_once_of_what_will_not_pass(void **state)
{
    (void)state;
    world_open();
    world.send_error = CHELA_E_DENIED;
    world_say("r1", "hi");
    assert_string_equal(fake_chunk_state("r1.0"), "FAILED");
    assert_int_equal(world_times(fake_events(), "could not be delivered"), 1);
    fake_events_clear();
    world_say("r2", "hi again");
    assert_string_equal(fake_chunk_state("r2.0"), "FAILED");
    assert_int_equal(world_times(fake_events(), "could not be delivered"), 0);
    assert_non_null(strstr(describe(), "\"failed\":2,\"lastDeliveryError\":\"no\""));
    world.send_error = CHELA_OK;
    world_say("r3", "better now");
    world.send_error = CHELA_E_DENIED;
    fake_events_clear();
    world_say("r4", "and again");
    assert_true(world_heard("could not be delivered"));
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_and_goes_is_counted),
        cmocka_unit_test(a_receipt_changes_the_pieces_row),
        cmocka_unit_test(the_operator_is_told_once_of_what_will_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
