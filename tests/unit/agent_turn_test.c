/* Whole turns: what is stored, sent and told, in which order. */
#include "tests/unit/agent_world.h"

#include "agent/tools/hooks.h"

static void a_plain_turn_has_two_barriers_and_answers(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.text = "Hello!", .in = 10, .out = 2});
    uint64_t id = world_submit("r1", "hi", NULL);
    fake_run();
    assert_string_equal(fake_answer(id), "OK r1");
    assert_string_equal(fake_journal_log(), "inbound! start attempt final! patch! chunk");
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_string_equal(fake_inbox_state("r1"), "consumed");
    assert_int_equal(fake_messages(SESSION), 2);
    assert_string_equal(fake_message_role(SESSION, 0), "user");
    assert_string_equal(fake_message_body(SESSION, 0), "[{\"type\":\"text\",\"text\":\"hi\"}]");
    assert_string_equal(fake_message_body(SESSION, 1), "[{\"type\":\"text\",\"text\":\"Hello!\"}]");
    assert_string_equal(world.sent, "Hello!\n");
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    assert_true(world_heard("\"state\":\"final\""));
    assert_true(world_heard("\"deltaText\":\"Hello!\""));
    assert_int_equal(fake_open_calls(), 0);
    /* the title was given once: the next turn has its two barriers and no more */
    fake_journal_log_clear();
    world_say("r2", "and again");
    assert_string_equal(fake_journal_log(), "inbound! start attempt final! chunk");
    world_close();
}

static void chunks_cost_no_barrier_and_few_frames(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.text = "one", .hang = true});
    world_say("r1", "count");
    uint64_t call = world.model_call;
    for (unsigned i = 0; i < 50; i++)
        fake_text(call, " two");
    fake_run();
    for (unsigned i = 0; i < 50; i++)
        fake_text(call, " three");
    fake_run();
    unsigned before = world_times(fake_events(), "\"state\":\"delta\"");
    fake_advance(80);
    fake_done(call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
    unsigned deltas = world_times(fake_events(), "\"state\":\"delta\"");
    assert_int_equal(before, 1); /* the first one at once */
    assert_true(deltas <= 3);
    assert_string_equal(fake_journal_log(), "inbound! start attempt final! patch! chunk");
    world_close();
}

/* Message arrays of the mission's weather example, in the core's own form. */
static void the_weather_example_has_the_arrays_as_drawn(void **state)
{
    (void)state;
    world_open();
    world_tool("get_weather", LOW ",\"reads_only\":true,\"group\":\"web\"");
    world_tool("web_search", LOW ",\"reads_only\":true");
    world_script((struct script){
        .calls = {{"call_abc", "get_weather", "{\"city\":\"\xe5\x8c\x97\xe4\xba\xac\"}", false}}});
    world_script((struct script){.text = "\xe5\x8c\x97\xe4\xba\xac\xe4\xbb\x8a\xe5\xa4\xa9"});
    world_say("r1", "\xe5\xb8\xae\xe6\x88\x91\xe6\x9f\xa5\xe5\x8c\x97\xe4\xba\xac");
    assert_int_equal(world.request_count, 2);
    assert_non_null(strstr(world.requests[0],
                           "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                           "\"text\":\"\xe5\xb8\xae\xe6\x88\x91\xe6\x9f\xa5\xe5\x8c\x97"
                           "\xe4\xba\xac\"}]}]"));
    assert_non_null(strstr(
        world.requests[1],
        "]},{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"call_abc\","
        "\"name\":\"get_weather\",\"arguments\":{\"city\":\"\xe5\x8c\x97\xe4\xba\xac\"}}]},"
        "{\"role\":\"tool\",\"content\":[{\"type\":\"toolResult\",\"callId\":\"call_abc\","
        "\"name\":\"get_weather\",\"content\":[{\"type\":\"text\",\"text\":\"{\\\"temp\\\":28,"
        "\\\"condition\\\":\\\"\xe6\x99\xb4\\\"}\"}],\"isError\":false}]}]"));
    assert_string_equal(fake_journal_log(), "inbound! start attempt reply call_start call_end "
                                            "results attempt final! patch! chunk");
    assert_string_equal(fake_call_state("call_abc"), "COMPLETED");
    world_close();
}

static void the_prefix_stays_the_same_bytes_from_turn_to_turn(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "first");
    world_say("r2", "second");
    const char *one = strstr(world.requests[0], "\"tools\":"), *end = strstr(one, "]}]}");
    const char *two = strstr(world.requests[1], "\"tools\":");
    assert_memory_equal(one, two, (size_t)(end - one));
    /* sorted by name, the deferred one left out and to be searched for */
    assert_non_null(strstr(one, "[\"again\",\"boom\",\"change\",\"finish\",\"look\",\"note\","
                                "\"step\",\"tool_search\",\"wipe\"]"));
    /* each message was rendered once: two questions and one answer */
    assert_int_equal(world.rendered, 3);
    world_close();
}

static void a_repeated_event_makes_no_second_turn(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "hi");
    unsigned requests = world.request_count;
    uint64_t id = world_submit("r1", "hi", NULL);
    fake_run();
    assert_string_equal(fake_answer(id), "conflict r1");
    assert_int_equal(world.request_count, requests);
    world_close();
}

static void what_cannot_be_a_message_is_refused(void **state)
{
    (void)state;
    world_open();
    uint64_t empty = world_submit("e1", "", NULL);
    uint64_t bad = world_submit("e2", "\xff\xfe", NULL);
    fake_run();
    assert_non_null(strstr(fake_answer(empty), "the message is empty"));
    assert_non_null(strstr(fake_answer(bad), "not UTF-8"));
    assert_string_equal(fake_journal_log(), "");
    world_close();
}

static void texts_of_a_turn_are_parted_by_one_blank_line(void **state)
{
    static const char *const ends[] = {"before", "before\n", "before\n\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        world_open();
        world_tool("get_weather", LOW ",\"reads_only\":true");
        world_script((struct script){.text = ends[i],
                                     .calls = {{"a", "get_weather", "{\"city\":\"x\"}", false}}});
        world_script((struct script){.text = "after"});
        world_say("r1", "go");
        assert_string_equal(world.sent, "before\n\nafter\n");
        world_close();
    }
}

static void no_reply_is_kept_silent(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.text = "no_reply"});
    world_say("r1", "fyi");
    assert_null(world.sent);
    assert_false(world_heard("deltaText"));
    assert_true(world_heard("\"state\":\"final\""));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void thinking_is_kept_with_its_signature(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.hang = true});
    world_say("r1", "think");
    fake_thinking(world.model_call, "hm", "");
    fake_thinking(world.model_call, "m", "SIG");
    fake_text(world.model_call, "so");
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
    assert_string_equal(fake_message_body(SESSION, 1),
                        "[{\"type\":\"thinking\",\"text\":\"hmm\",\"signature\":\"SIG\","
                        "\"provider\":\"mock\"},{\"type\":\"text\",\"text\":\"so\"}]");
    assert_true(world_heard("\"stream\":\"thinking\""));
    world_close();
}

static void calls_cut_off_by_the_limit_never_run(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){
        .calls = {{"a", "look", "{\"x\":1}", false}, {"b", "look", "{\"x\":2}", true}},
        .stop = "length"});
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 1);
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    assert_string_equal(fake_call_state("b"), "FAILED");
    assert_non_null(strstr(fake_message_body(SESSION, 2), "cut off by the output limit"));
    world_close();
}

static void missing_and_repeated_ids_are_made_unique(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"", "look", "", false},
                                           {"x1", "look", "{}", false},
                                           {"x1", "look", "{}", false}}});
    world_script((struct script){.calls = {{"x1", "look", "{}", false}}});
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 4);
    assert_string_equal(fake_call_state("x1"), "COMPLETED");
    const char *first = fake_message_body(SESSION, 1), *later = fake_message_body(SESSION, 3);
    assert_int_equal(world_times(first, "\"id\":\"x1\""), 1);
    assert_int_equal(world_times(first, "\"id\":\"call_"), 2);
    assert_int_equal(world_times(later, "\"id\":\"call_"), 1);
    world_close();
}

static void nothing_said_after_tools_gets_one_more_pass(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_script((struct script){.text = ""});
    world_script((struct script){.text = "here it is"});
    world_say("r1", "go");
    assert_int_equal(world.request_count, 3);
    assert_non_null(strstr(world.requests[2], "\"tool_choice\":\"none\""));
    assert_string_equal(world.sent, "here it is\n");
    world_close();
}

static void the_limit_of_steps_ends_with_an_answer(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.max_steps", "3");
    for (unsigned i = 0; i < 3; i++)
        world_script((struct script){.calls = {{"", "look", "{}", false}}});
    world_script((struct script){.text = "that is all", .calls = {{"", "look", "{}", false}}});
    world_say("r1", "loop");
    assert_int_equal(world.request_count, 4);
    assert_int_equal(world.tool_count, 3);
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_string_equal(world.sent, "that is all\n");
    world_close();
}

static void the_run_ends_when_all_say_terminate(void **state)
{
    (void)state;
    world_open();
    world_script(
        (struct script){.calls = {{"a", "finish", "{}", false}, {"b", "look", "{}", false}}});
    world_script((struct script){.calls = {{"c", "finish", "{}", false}}});
    world_say("r1", "go");
    assert_int_equal(world.request_count, 2); /* one of two didn't say so: it went on once */
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_string_equal(fake_message_role(SESSION, 4), "tool");
    assert_int_equal(fake_messages(SESSION), 5);
    world_close();
}

static void a_full_disk_is_told_and_leaves_no_half_turn(void **state)
{
    (void)state;
    world_open();
    fake_journal_fail("start", CHELA_E_FULL);
    world_say("r1", "hi");
    assert_true(world_heard("\"state\":\"error\""));
    assert_int_equal(fake_messages(SESSION), 0);
    assert_string_equal(fake_inbox_state("r1"), "waiting");
    world_say("r2", "and now");
    assert_string_equal(fake_run_state("r2"), "DONE");
    assert_int_equal(fake_messages(SESSION), 2);
    world_close();
}

static void a_message_that_cannot_be_stored_is_not_acknowledged(void **state)
{
    (void)state;
    world_open();
    fake_journal_fail("inbound", CHELA_E_FULL);
    uint64_t id = world_submit("r1", "hi", NULL);
    fake_run();
    assert_non_null(strstr(fake_answer(id), "full"));
    assert_int_equal(world.request_count, 0);
    world_close();
}

static void an_answer_that_cannot_be_stored_is_not_sent(void **state)
{
    (void)state;
    world_open();
    fake_journal_fail("final", CHELA_E_FULL);
    world_say("r1", "hi");
    assert_null(world.sent);
    assert_true(world_heard("could not be stored"));
    assert_true(world_heard("\"state\":\"error\""));
    world_close();
}

static void long_answers_go_out_in_pieces_one_at_a_time(void **state)
{
    (void)state;
    world_open();
    static struct chela_channel narrow = {.platform = "x",
                                          .text_limit = 60,
                                          .unit = CHELA_UNIT_CHARACTERS,
                                          .send = slot_send,
                                          .send_class = CHELA_SEND_NEITHER};
    struct chela_iface iface = {.channel = &narrow};
    struct instance *small = fake_instance("small", ROLE_CHANNEL, &iface);
    world_let_in("small");
    world_script((struct script){.text = "First paragraph of some length.\n\nSecond one, which "
                                         "is long as well.\n\nThird."});
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("e1");
    q.chat = chela_s("c");
    q.sender = chela_s("s");
    q.text = chela_s("go");
    fake_submit(small, &q);
    fake_run();
    assert_string_equal(world.sent, "First paragraph of some length.\n\n\nSecond one, which is "
                                    "long as well.\n\nThird.\n");
    /* on a channel of class N each receipt is stored before the next piece */
    assert_non_null(strstr(fake_journal_log(), "final! patch! chunk! chunk!"));
    world_close();
}

static void sending_is_repeated_until_it_works(void **state)
{
    (void)state;
    world_open();
    world.send_error = CHELA_E_RATE;
    world_say("r1", "hi");
    fake_advance(400);
    assert_int_equal(world.sends, 1);
    fake_advance(200);
    assert_int_equal(world.sends, 2);
    world.send_error = 0;
    fake_advance(5000);
    assert_int_equal(world.sends, 3);
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    world_close();
}

static void commands_are_answered_without_a_model(void **state)
{
    (void)state;
    world_open();
    static const struct {
        const char *text, *answer;
    } cases[] = {
        {"/help", "/approve"},
        {"/status", "agent:main:main"},
        {"/whoami", "(owner)"},
        {"/model", "mock/m1"},
        {"/model first", "mock/m1"},
        {"/model nonsense/x", "no provider has the model"},
        {"/instructions Speak like a pirate", "hold for this session"},
        {"/instructions show", "pirate"},
        {"/queue collect", "Queue mode: collect"},
        {"/queue fast", "steer"},
        {"/verbose on", "Verbose mode is on"},
        {"/approve", "Say which one"},
        {"/approve 12345678 allow-once", "no approval 12345678 waits"},
        {"/stop", "Nothing is running"},
        {"/compact", "nothing to compact"},
        {"/new", "A new conversation begins"},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        char id[16];
        snprintf(id, sizeof id, "c%u", i);
        fake_events_clear();
        world_say(id, cases[i].text);
        if (!world_heard(cases[i].answer) || !world_heard("\"state\":\"final\""))
            fail_msg("%s: %s", cases[i].text, fake_events());
        assert_string_equal(fake_inbox_state(id), "dropped");
    }
    assert_int_equal(world.request_count, 0);
    world_say("c99", "/etc/passwd is a file");
    assert_int_equal(world.request_count, 1);
    world_close();
}

static void the_session_has_its_own_instructions_and_model(void **state)
{
    (void)state;
    world_open();
    world_say("c1", "/model other/m2");
    world_say("r1", "hi");
    assert_non_null(strstr(world.requests[0], "\"model\":\"other/m2\""));
    world_say("c2", "/new");
    assert_int_equal(fake_messages(SESSION), 2);
    world_say("r2", "hi again");
    assert_null(strstr(world.requests[1], "\"text\":\"hi\"")); /* a new epoch */
    world_close();
}

static void only_the_owner_may_change_things(void **state)
{
    (void)state;
    world_open();
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("e1");
    q.chat = chela_s("c");
    q.sender = chela_s("stranger");
    q.text = chela_s("/model other/m2");
    fake_submit(world.channel, &q);
    fake_run();
    assert_true(world_heard("Only the owner"));
    world_close();
}

static void groups_are_answered_only_when_they_mention(void **state)
{
    (void)state;
    world_open();
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("g1");
    q.chat = chela_s("room");
    q.sender = chela_s("ann");
    q.sender_name = chela_s("Ann");
    q.text = chela_s("lunch at noon?");
    q.chat_type = CHELA_GROUP;
    uint64_t id = fake_submit(world.channel, &q);
    fake_run();
    assert_string_equal(fake_answer(id), "OK ");
    assert_int_equal(world.request_count, 0);
    q.event = chela_s("g2");
    q.text = chela_s("what did I say?");
    q.h.flags = CHELA_MENTIONED;
    fake_submit(world.channel, &q);
    fake_run();
    assert_int_equal(world.request_count, 1);
    assert_non_null(strstr(world.requests[0], "Ann: lunch at noon?"));
    assert_int_equal(fake_messages("agent:main:cli:group:room"), 2);
    world_close();
}

static void the_trace_shows_states_legs_and_the_one_form(void **state);

struct traced {
    char *json;
};

static void keep_trace(void *owner, struct json_object *o, const struct error *e)
{
    struct traced *t = owner;
    t->json = xstrdup(e ? e->text : chela_json_text(o, NULL));
}

static void the_trace_shows_states_legs_and_the_one_form(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "hi");
    struct traced t = {0};
    agent_trace("r1", keep_trace, &t);
    fake_run();
    assert_non_null(strstr(t.json, "\"state\":\"RECEIVED\""));
    static const char *const states[] = {"RECEIVED", "CONTEXT_ASSEMBLY", "ROUTING",
                                         "CALLING",  "STREAMING",        "DONE"};
    const char *p = strstr(t.json, "\"states\"");
    for (unsigned i = 0; i < ARRAY_LENGTH(states); i++) {
        p = strstr(p, states[i]);
        assert_non_null(p);
    }
    static const char *const legs[] = {"channel", "gateway",  "session",
                                       "router",  "provider", "reply"};
    p = strstr(t.json, "\"legs\"");
    for (unsigned i = 0; i < ARRAY_LENGTH(legs); i++) {
        p = strstr(p, legs[i]);
        assert_non_null(p);
    }
    assert_non_null(strstr(t.json, "\"message\":{\"channel\":\"cli\",\"sessionId\":\"sess_1\","
                                   "\"message\":{\"role\":\"user\",\"content\":\"hi\","
                                   "\"attachments\":[]},\"metadata\":{\"platform\":\"terminal\","
                                   "\"timestamp\":1780000000}}"));
    free(t.json);
    agent_trace("nobody", keep_trace, &t);
    fake_run();
    assert_string_equal(t.json, "no run nobody is known");
    free(t.json);
    world_close();
}

static void keep_result(void *owner, struct json_object *o)
{
    struct traced *t = owner;
    t->json = xstrdup(chela_json_text(o, NULL));
}

static void whoever_waits_gets_the_result(void **state)
{
    (void)state;
    world_open();
    struct traced t = {0};
    world_script((struct script){.text = "four", .in = 7, .out = 1});
    agent_wait("r1", 60000, keep_result, &t);
    world_say("r1", "2+2");
    assert_non_null(strstr(t.json, "\"status\":\"ok\""));
    assert_non_null(strstr(t.json, "\"payloads\":[{\"text\":\"four\",\"mediaUrl\":null}]"));
    assert_non_null(strstr(t.json, "\"provider\":\"mock\",\"model\":\"m1\""));
    assert_non_null(strstr(t.json, "\"input\":7,\"output\":1"));
    free(t.json);
    t.json = NULL;
    agent_wait("never", 1000, keep_result, &t);
    fake_advance(999);
    assert_null(t.json);
    fake_advance(2);
    assert_non_null(strstr(t.json, "\"status\":\"timeout\""));
    free(t.json);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_a_turn_are_parted_by_one_blank_line),
        cmocka_unit_test(a_plain_turn_has_two_barriers_and_answers),
        cmocka_unit_test(chunks_cost_no_barrier_and_few_frames),
        cmocka_unit_test(the_weather_example_has_the_arrays_as_drawn),
        cmocka_unit_test(the_prefix_stays_the_same_bytes_from_turn_to_turn),
        cmocka_unit_test(a_repeated_event_makes_no_second_turn),
        cmocka_unit_test(what_cannot_be_a_message_is_refused),
        cmocka_unit_test(no_reply_is_kept_silent),
        cmocka_unit_test(thinking_is_kept_with_its_signature),
        cmocka_unit_test(calls_cut_off_by_the_limit_never_run),
        cmocka_unit_test(missing_and_repeated_ids_are_made_unique),
        cmocka_unit_test(nothing_said_after_tools_gets_one_more_pass),
        cmocka_unit_test(the_limit_of_steps_ends_with_an_answer),
        cmocka_unit_test(the_run_ends_when_all_say_terminate),
        cmocka_unit_test(a_full_disk_is_told_and_leaves_no_half_turn),
        cmocka_unit_test(a_message_that_cannot_be_stored_is_not_acknowledged),
        cmocka_unit_test(an_answer_that_cannot_be_stored_is_not_sent),
        cmocka_unit_test(long_answers_go_out_in_pieces_one_at_a_time),
        cmocka_unit_test(sending_is_repeated_until_it_works),
        cmocka_unit_test(commands_are_answered_without_a_model),
        cmocka_unit_test(the_session_has_its_own_instructions_and_model),
        cmocka_unit_test(only_the_owner_may_change_things),
        cmocka_unit_test(groups_are_answered_only_when_they_mention),
        cmocka_unit_test(the_trace_shows_states_legs_and_the_one_form),
        cmocka_unit_test(whoever_waits_gets_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
