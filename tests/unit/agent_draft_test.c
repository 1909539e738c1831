/*
 * Drafts and typing indicators: an answer that grows in a chat whose channel edits
 * (core/agent/chats/draft.c, typing.c), as the channel sees it.
 */
#include "tests/unit/agent_world.h"

#include "base/clock.h"

enum { PACE = 700 };

static struct {
    struct instance *in;
    struct buf seen; /* a line for each call: "send KEY|text", "edit ID|text", "typing on" */
    uint32_t error;
    uint64_t retry_after, held; /* held: the call that isn't answered */
    bool hold, no_previews;
} tele;

static void on_message(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_send *q = args;
    bool edit = fn == CHELA_FN_CHANNEL_EDIT,
         preview = q->extra.n && strstr(q->extra.s, "\"preview\"");
    struct chela_str id = edit ? q->message : q->key;
    (void)in;
    buf_printf(&tele.seen, "%s %.*s|%.*s\n",
               edit      ? "edit"
               : preview ? "preview"
                         : "send",
               (int)id.n, id.s, (int)q->text.n, q->text.s);
    if (preview && tele.no_previews) {
        fake_done(call, CHELA_E_UNSUPPORTED, "not here", "", 0, 0);
        return;
    }
    tele.held = call;
    if (tele.hold)
        return;
    if (tele.error)
        fake_done(call, tele.error, "no", "", 0, tele.retry_after);
    else
        fake_done(call, CHELA_OK, edit || preview ? "" : "m-7", "", 0, 0);
}

static void on_typing(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_send *q = args;
    (void)in;
    (void)call;
    (void)fn;
    buf_printf(&tele.seen, "typing %.*s\n", (int)q->text.n, q->text.s);
}

static void open_tele(uint32_t can)
{
    static struct chela_channel channel;
    world_open();
    memset(&tele, 0, sizeof tele);
    channel = (struct chela_channel){.platform = "telegram",
                                     .send_class = CHELA_SEND_NEITHER,
                                     .can = can,
                                     .unit = CHELA_UNIT_UTF16,
                                     .text_limit = 60,
                                     .dialect = "plain",
                                     .edit_ms = PACE,
                                     .send = slot_send,
                                     .edit = slot_send,
                                     .typing = slot_send};
    struct chela_iface iface = {.channel = &channel};
    tele.in = fake_instance("tele", ROLE_CHANNEL, &iface);
    fake_on(CHELA_FN_CHANNEL_SEND, on_message);
    fake_on(CHELA_FN_CHANNEL_EDIT, on_message);
    fake_on(CHELA_FN_CHANNEL_TYPING, on_typing);
}

static void close_tele(void)
{
    world_close();
    buf_free(&tele.seen);
}

static void say(const char *id, const char *text)
{
    CHELA_ARGS(chela_submit, q, 0);
    q.kind = chela_s("message");
    q.event = chela_s(id);
    q.chat = chela_s("42");
    q.sender = chela_s("me");
    q.text = chela_s(text);
    q.h.flags = CHELA_OWNER;
    fake_submit(tele.in, &q);
    fake_run();
}

/* What the channel was told since it was last asked. */
static const char *seen(void)
{
    static char *last;
    free(last);
    last = buf_take(&tele.seen);
    if (!last)
        last = xstrdup("");
    return last;
}

static void more(const char *text)
{
    fake_text(world.model_call, text);
    fake_run();
    fake_advance(100);
}

static void over(void)
{
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
}

static void the_answer_grows_by_edits_and_the_final_takes_the_drafts_place(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "One", .hang = true});
    say("e1", "hello");
    assert_string_equal(seen(), "");
    fake_advance(PACE);
    const char *run = seen();
    assert_non_null(strstr(run, ".draft|One\n"));
    assert_int_equal(strncmp(run, "send ", 5), 0);
    for (int i = 0; i < 20; i++) /* two seconds: at most three edits, however many pieces */
        more(" x");
    const char *edits = seen();
    assert_in_range(world_times(edits, "edit m-7|One x"), 2, 3);
    assert_int_equal(world_times(edits, "send"), 0);
    more(" end");
    over();
    const char *last = seen();
    assert_non_null(strstr(last, "edit m-7|One x x"));
    assert_non_null(strstr(last, " end\n"));
    assert_null(strstr(last, "send"));
    close_tele();
}

static void the_drafts_row_is_on_disk_before_it_is_sent(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "Slow", .hang = true});
    say("e1", "hello");
    fake_journal_log_clear();
    fake_advance(PACE);
    assert_int_equal(strncmp(fake_journal_log(), "draft!", 6), 0);
    assert_int_equal(world_times(seen(), "send"), 1);
    /* and if it can't be, nothing is shown before the final */
    over();
    seen();
    world_script((struct script){.text = "Slow", .hang = true});
    fake_journal_fail("draft", CHELA_E_BUSY);
    say("e2", "again");
    fake_advance(PACE);
    assert_string_equal(seen(), "");
    close_tele();
}

static void a_short_answer_needs_no_draft(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "quick"});
    say("e1", "hello");
    const char *all = seen();
    assert_int_equal(strncmp(all, "send ", 5), 0);
    assert_non_null(strstr(all, ".0|quick\n"));
    assert_null(strstr(fake_journal_log(), "draft"));
    fake_advance(5000);
    assert_string_equal(seen(), "");
    close_tele();
}

static void a_long_answer_goes_on_in_further_messages(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    static const char *const line = "0123456789 0123456789 0123456789 0123456789 0123456789.";
    world_script((struct script){.text = line, .hang = true});
    say("e1", "hello");
    fake_advance(PACE);
    seen();
    more("\n\nAnd the rest of it.");
    over();
    const char *all = seen();
    assert_non_null(strstr(all, ".1|And the rest of it.\n"));
    close_tele();
}

static void what_may_be_a_silent_answer_is_not_shown(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "NO_RE", .hang = true});
    say("e1", "hello");
    fake_advance(PACE * 3);
    more("PLY");
    fake_advance(PACE * 3);
    over();
    assert_string_equal(seen(), "");
    close_tele();
}

static void a_draft_that_is_gone_becomes_a_message(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    fake_advance(PACE);
    seen();
    more(" more");
    tele.error = CHELA_E_NOT_FOUND;
    over();
    const char *all = seen();
    assert_non_null(strstr(all, "edit m-7|Some more\nsend "));
    assert_non_null(strstr(all, ".0|Some more\n"));
    close_tele();
}

static void a_rate_limit_holds_the_chat_back(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    fake_advance(PACE);
    seen();
    tele.error = CHELA_E_RATE;
    tele.retry_after = 9000;
    more(" more");
    fake_advance(PACE);
    assert_int_equal(world_times(seen(), "edit"), 1);
    tele.error = CHELA_OK;
    over();
    assert_string_equal(seen(), "");
    fake_advance(9000);
    assert_string_equal(seen(), "edit m-7|Some more\n");
    close_tele();
}

static void the_final_waits_for_what_became_of_the_first_draft(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    tele.hold = true;
    fake_advance(PACE);
    assert_int_equal(world_times(seen(), "send"), 1);
    over();
    assert_string_equal(seen(), "");
    tele.hold = false;
    fake_done(tele.held, CHELA_OK, "m-9", "", 0, 0);
    fake_run();
    assert_string_equal(seen(), "edit m-9|Some\n");
    close_tele();
}

static void a_run_that_goes_on_after_a_crash_edits_the_same_message(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    world_script((struct script){.text = "Half", .hang = true});
    world_script((struct script){.text = "The whole"});
    say("e1", "hello");
    fake_advance(PACE);
    assert_int_equal(world_times(seen(), "send"), 1);
    fake_crash();
    fake_start_agent();
    fake_advance(10);
    assert_string_equal(seen(), "edit m-7|The whole\n");
    close_tele();
}

/* A turn that is stopped when it has shown "Half" and said "Half way"; what the channel is told. */
static const char *stopped_half_way(void)
{
    world_script((struct script){.text = "Half", .hang = true});
    say("e1", "hello");
    fake_advance(PACE);
    more(" way");
    seen();
    agent_abort(SESSION, NULL, "test", NULL, NULL);
    fake_run();
    return seen();
}

static void a_stopped_turn_shows_how_far_it_came(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    const char *all = stopped_half_way();
    assert_true(!*all || strcmp(all, "edit m-7|Half way\n") == 0);
    fake_advance(PACE * 4);
    assert_string_equal(seen(), "");
    close_tele();
}

enum { PREVIEWS = CHELA_CAN_EDIT | CHELA_CAN_DRAFT | CHELA_CAN_PREVIEW };

static void a_preview_passes_and_the_final_is_a_message_of_its_own(void **state)
{
    (void)state;
    open_tele(PREVIEWS);
    world_script((struct script){.text = "One", .hang = true});
    fake_journal_log_clear();
    say("e1", "hello");
    fake_advance(PACE);
    const char *first = seen();
    assert_int_equal(strncmp(first, "preview ", 8), 0);
    assert_non_null(strstr(first, ".draft|One\n"));
    for (int i = 0; i < 20; i++)
        more(" x");
    const char *steps = seen();
    assert_in_range(world_times(steps, "preview"), 2, 3);
    assert_int_equal(world_times(steps, "send") + world_times(steps, "edit"), 0);
    fake_advance(PACE * 2);
    seen();
    fake_advance(25000); /* nothing new: it is renewed before it passes */
    assert_int_equal(world_times(seen(), "preview"), 1);
    more(" end");
    over();
    const char *last = seen();
    assert_int_equal(world_times(last, "send"), 1);
    assert_int_equal(world_times(last, "edit"), 0);
    assert_non_null(strstr(last, " end\n"));
    assert_null(strstr(fake_journal_log(), "draft!")); /* nothing of it was stored */
    close_tele();
}

static void a_chat_without_previews_has_drafts(void **state)
{
    (void)state;
    open_tele(PREVIEWS);
    tele.no_previews = true;
    world_script((struct script){.text = "One", .hang = true});
    say("e1", "hello");
    fake_advance(PACE);
    assert_int_equal(world_times(seen(), "preview"), 1);
    fake_advance(PACE);
    assert_non_null(strstr(seen(), ".draft|One\n"));
    more(" more");
    over();
    const char *last = seen();
    assert_int_equal(world_times(last, "preview"), 0);
    assert_non_null(strstr(last, "edit m-7|One more\n"));
    close_tele();
}

static void a_stopped_turn_leaves_what_its_preview_showed(void **state)
{
    (void)state;
    open_tele(PREVIEWS);
    const char *all = stopped_half_way();
    assert_int_equal(strncmp(all, "send ", 5), 0);
    assert_non_null(strstr(all, "|Half way\n"));
    fake_advance(60000);
    assert_string_equal(seen(), "");
    close_tele();
}

static void no_drafts_where_they_are_off_or_a_hook_reads_what_goes_out(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_EDIT | CHELA_CAN_DRAFT);
    fake_set("messages.drafts", "0");
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    fake_advance(PACE * 3);
    assert_string_equal(seen(), "");
    close_tele();
    open_tele(CHELA_CAN_EDIT);
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    fake_advance(PACE * 3);
    assert_string_equal(seen(), "");
    close_tele();
}

static void typing_is_refreshed_and_ends_with_the_turn(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_TYPING);
    world_script((struct script){.text = "Some", .hang = true});
    say("e1", "hello");
    assert_string_equal(seen(), "typing on\n");
    fake_advance(9000);
    assert_string_equal(seen(), "typing on\ntyping on\n");
    over();
    assert_non_null(strstr(seen(), "typing off\n"));
    fake_advance(20000);
    assert_string_equal(seen(), "");
    close_tele();
}

static void nobody_types_while_a_person_is_asked(void **state)
{
    (void)state;
    open_tele(CHELA_CAN_TYPING);
    world_script((struct script){.calls = {{"c1", "change", "{\"x\":1}", false}}});
    say("e1", "hello");
    assert_int_equal(world_times(seen(), "typing off"), 1);
    fake_advance(9000);
    assert_string_equal(seen(), "");
    world_decide("allow-once");
    const char *all = seen();
    assert_int_equal(world_times(all, "typing on"), 1);
    assert_int_equal(world_times(all, "typing off"), 1);
    close_tele();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_grows_by_edits_and_the_final_takes_the_drafts_place),
        cmocka_unit_test(the_drafts_row_is_on_disk_before_it_is_sent),
        cmocka_unit_test(a_short_answer_needs_no_draft),
        cmocka_unit_test(a_long_answer_goes_on_in_further_messages),
        cmocka_unit_test(what_may_be_a_silent_answer_is_not_shown),
        cmocka_unit_test(a_draft_that_is_gone_becomes_a_message),
        cmocka_unit_test(a_rate_limit_holds_the_chat_back),
        cmocka_unit_test(the_final_waits_for_what_became_of_the_first_draft),
        cmocka_unit_test(a_run_that_goes_on_after_a_crash_edits_the_same_message),
        cmocka_unit_test(a_stopped_turn_shows_how_far_it_came),
        cmocka_unit_test(a_preview_passes_and_the_final_is_a_message_of_its_own),
        cmocka_unit_test(a_chat_without_previews_has_drafts),
        cmocka_unit_test(a_stopped_turn_leaves_what_its_preview_showed),
        cmocka_unit_test(no_drafts_where_they_are_off_or_a_hook_reads_what_goes_out),
        cmocka_unit_test(typing_is_refreshed_and_ends_with_the_turn),
        cmocka_unit_test(nobody_types_while_a_person_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
