/* The tables of states: each transition that is allowed, and that all others aren't. */
#include "tests/unit/agent_world.h"

#include "agent/runs.h"
#include "agent/state.h"
#include "agent/tools/toolcall.h"

static const char *const turn_ways[] = {
    "IDLE>RECEIVED",
    "RECEIVED>CONTEXT_ASSEMBLY",
    "RECEIVED>FAILED",
    "RECEIVED>ABORTED",
    "CONTEXT_ASSEMBLY>ROUTING",
    "CONTEXT_ASSEMBLY>FAILED",
    "CONTEXT_ASSEMBLY>ABORTED",
    "ROUTING>CALLING",
    "ROUTING>TOOL_EXECUTION",
    "ROUTING>FAILED",
    "ROUTING>ABORTED",
    "CALLING>STREAMING",
    "CALLING>CONTEXT_ASSEMBLY",
    "CALLING>ROUTING",
    "CALLING>FAILED",
    "CALLING>ABORTED",
    "STREAMING>TOOL_DETECTED",
    "STREAMING>CONTEXT_ASSEMBLY",
    "STREAMING>ROUTING",
    "STREAMING>DONE",
    "STREAMING>FAILED",
    "STREAMING>ABORTED",
    "TOOL_DETECTED>TOOL_EXECUTION",
    "TOOL_DETECTED>FAILED",
    "TOOL_DETECTED>ABORTED",
    "TOOL_EXECUTION>CONTEXT_ASSEMBLY",
    "TOOL_EXECUTION>DONE",
    "TOOL_EXECUTION>FAILED",
    "TOOL_EXECUTION>ABORTED",
};

static const char *const call_ways[] = {
    "PENDING>APPROVAL_REQUIRED",
    "PENDING>EXECUTING",
    "PENDING>FAILED",
    "APPROVAL_REQUIRED>EXECUTING",
    "APPROVAL_REQUIRED>FAILED",
    "EXECUTING>COMPLETED",
    "EXECUTING>FAILED",
};

static bool listed(const char *const *ways, size_t n, const char *from, const char *to)
{
    char way[64];
    snprintf(way, sizeof way, "%s>%s", from, to);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(ways[i], way) == 0)
            return true;
    }
    return false;
}

static void a_turn_goes_only_where_its_table_says(void **state)
{
    (void)state;
    unsigned allowed = 0;
    for (unsigned f = 0; f < TURN_STATES; f++) {
        for (unsigned t = 0; t < TURN_STATES; t++) {
            enum turn_state from = (enum turn_state)f, to = (enum turn_state)t;
            bool may = turn_state_follows(from, to);
            allowed += may;
            assert_int_equal(may, listed(turn_ways, ARRAY_LENGTH(turn_ways), turn_state_name(from),
                                         turn_state_name(to)));
        }
    }
    assert_int_equal(allowed, ARRAY_LENGTH(turn_ways));
}

static void a_call_goes_only_where_its_table_says(void **state)
{
    (void)state;
    unsigned allowed = 0;
    for (unsigned f = 0; f < CALL_STATES; f++) {
        for (unsigned t = 0; t < CALL_STATES; t++) {
            enum call_state from = (enum call_state)f, to = (enum call_state)t;
            bool may = call_state_follows(from, to);
            allowed += may;
            assert_int_equal(may, listed(call_ways, ARRAY_LENGTH(call_ways), call_state_name(from),
                                         call_state_name(to)));
        }
    }
    assert_int_equal(allowed, ARRAY_LENGTH(call_ways));
}

static void a_forbidden_transition_is_not_made(void **state)
{
    (void)state;
    fake_open();
    struct run *r = runs_open("r", "s", "main");
    assert_int_equal(r->state, TURN_RECEIVED);
    assert_false(runs_move(r, TURN_DONE));
    assert_int_equal(r->state, TURN_RECEIVED);
    assert_true(runs_move(r, TURN_CONTEXT_ASSEMBLY));
    assert_int_equal(r->step_count, 2);
    runs_end(r, NULL);
    fake_start_agent();
    fake_close();
}

static void names_lead_back_to_their_states(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TURN_STATES; i++)
        assert_int_equal(turn_state_of(turn_state_name((enum turn_state)i)), i);
    assert_int_equal(turn_state_of("NONSENSE"), TURN_STATES);
    assert_true(turn_state_final(TURN_DONE));
    assert_false(turn_state_final(TURN_CALLING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_goes_only_where_its_table_says),
        cmocka_unit_test(a_call_goes_only_where_its_table_says),
        cmocka_unit_test(a_forbidden_transition_is_not_made),
        cmocka_unit_test(names_lead_back_to_their_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
