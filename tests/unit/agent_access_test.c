/*
 * Who may talk to the assistant: direct chats, groups, pairing, owners, identities and bindings
 * (core/agent/chats/access.c, pairing.c, identities.c, bindings.c), as a channel sees it.
 */
#include "tests/unit/agent_world.h"

#include "agent/chats/pairing.h"
#include "base/clock.h"

static struct {
    struct instance *in;
    struct buf seen; /* "CHAT|TEXT" a line for each message out */
    unsigned event;
} tele;

static void on_send(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_send *q = args;
    (void)in;
    (void)fn;
    buf_printf(&tele.seen, "%.*s|%.*s\n", (int)q->chat.n, q->chat.s, (int)q->text.n, q->text.s);
    fake_done(call, CHELA_OK, "m-1", "", 0, 0);
}

static void open_tele(void)
{
    static struct chela_channel channel = {
        .platform = "telegram", .send_class = CHELA_SEND_NEITHER, .send = slot_send};
    struct chela_iface iface = {.channel = &channel};
    world_open();
    memset(&tele, 0, sizeof tele);
    tele.in = fake_instance("tele", ROLE_CHANNEL, &iface);
    fake_on(CHELA_FN_CHANNEL_SEND, on_send);
}

static void close_tele(void)
{
    world_close();
    buf_free(&tele.seen);
}

struct from {
    const char *chat, *sender, *name, *text;
    uint32_t type, flags;
};

/* How the submit was answered: "OK RUN" or "denied ...". */
static const char *say(struct from f)
{
    CLEANUP(freep) char *event = xprintf("e%u", ++tele.event);
    CHELA_ARGS(chela_submit, q, 0);
    q.kind = chela_s("message");
    q.event = chela_s(event);
    q.chat = chela_s(f.chat);
    q.sender = chela_s(f.sender);
    q.sender_name = chela_s(f.name);
    q.text = chela_s(f.text);
    q.chat_type = f.type;
    q.h.flags = f.flags;
    uint64_t id = fake_submit(tele.in, &q);
    fake_run();
    return fake_answer(id);
}

static const char *seen(void)
{
    static char *last;
    free(last);
    last = buf_take(&tele.seen);
    if (!last)
        last = xstrdup("");
    return last;
}

static bool denied(const char *answer)
{
    return strncmp(answer, "denied", 6) == 0;
}

static void set_list(const char *path, const char *value)
{
    CLEANUP(freep) char *item = xprintf("%s.0", path);
    fake_set(path, "1");
    fake_set(item, value);
}

#define ANNA                                                                                       \
    (struct from)                                                                                  \
    {                                                                                              \
        "7", "7", "Anna", "hello", CHELA_DIRECT, 0                                                 \
    }

static uint32_t ended;

static void end(void *owner, const struct error *e)
{
    (void)owner;
    ended = e ? e->class : CHELA_OK;
}

/* The code of a notice; the caller frees it. */
static char *code_in(const char *text)
{
    const char *p = strstr(text, "approve tele ");
    return p ? xmemdup(p + 13, 8) : xstrdup("");
}

static void an_unknown_sender_is_paired_by_a_code(void **state)
{
    (void)state;
    open_tele();
    assert_true(denied(say(ANNA)));
    CLEANUP(freep) char *code = code_in(seen());
    assert_int_equal(strlen(code), 8);
    assert_int_equal(strcspn(code, "01OI"), 8);
    assert_true(denied(say(ANNA))); /* told once */
    assert_string_equal(seen(), "");
    assert_int_equal(fake_messages(SESSION), 0);
    pairing_approve("tele", "WRONGONE", "test", end, NULL);
    fake_run();
    assert_int_equal(ended, CHELA_E_NOT_FOUND);
    pairing_approve("tele", code, "test", end, NULL);
    fake_run();
    assert_int_equal(ended, CHELA_OK);
    assert_non_null(strstr(seen(), "7|You are paired now"));
    assert_false(denied(say(ANNA)));
    assert_string_equal(seen(), "7|done\n");
    fake_crash(); /* it is kept */
    fake_start_agent();
    assert_false(denied(say(ANNA)));
    pairing_revoke("tele", "7", end, NULL);
    fake_run();
    assert_int_equal(ended, CHELA_OK);
    assert_true(denied(say(ANNA)));
    close_tele();
}

static void a_code_holds_an_hour_and_three_wait_at_most(void **state)
{
    (void)state;
    open_tele();
    static const char *const senders[] = {"1", "2", "3", "4"};
    for (unsigned i = 0; i < 4; i++)
        assert_true(denied(say((struct from){senders[i], senders[i], "x", "hi", CHELA_DIRECT, 0})));
    assert_int_equal(world_times(seen(), "pairing approve"), 3);
    struct json_object *list = pairing_list();
    CLEANUP(freep) char *code = xstrdup(chela_json_string(chela_json_at(list, 0), "code", NULL));
    assert_int_equal(chela_json_length(list), 3);
    json_object_put(list);
    fake_advance(3600 * 1000);
    pairing_approve("tele", code, "test", end, NULL);
    fake_run();
    assert_int_equal(ended, CHELA_E_NOT_FOUND);
    assert_true(denied(say((struct from){"4", "4", "x", "hi", CHELA_DIRECT, 0})));
    assert_int_equal(world_times(seen(), "pairing approve"), 1);
    close_tele();
}

static void direct_chats_follow_their_policy(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *allowed;
        bool in;
    } cases[] = {
        {"allowlist", NULL, false},
        {"allowlist", "7", true},
        {"allowlist", "telegram:7", true},
        {"allowlist", "tele:7", true},
        {"allowlist", "signal:7", false},
        {"allowlist", "8", false},
        {"open", "*", true},
        {"disabled", "*", false},
        {"pairing", "7", true},
        {"pairing", "anna", true},
        {"allowlist", "telegram:70", false},
    };
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        open_tele();
        fake_set("session.identities", "1");
        fake_set("session.identities.0.name", "anna");
        set_list("session.identities.0.is", "telegram:7");
        fake_set("channels.tele.dm_policy", cases[i].policy);
        if (cases[i].allowed)
            set_list("channels.tele.allow_from", cases[i].allowed);
        assert_int_equal(denied(say(ANNA)), !cases[i].in);
        if (!cases[i].in)
            assert_string_equal(seen(), ""); /* who is refused hears nothing */
        close_tele();
    }
}

#define GROUP(sender, text, flags)                                                                 \
    (struct from)                                                                                  \
    {                                                                                              \
        "-5", sender, "Bob", text, CHELA_GROUP, flags                                              \
    }

static void groups_follow_their_policy(void **state)
{
    (void)state;
    open_tele();
    assert_true(denied(say(GROUP("9", "hi", CHELA_MENTIONED)))); /* no group by default */
    set_list("channels.tele.group_allow_from", "9");
    assert_false(denied(say(GROUP("9", "hi", CHELA_MENTIONED))));
    assert_true(denied(say(GROUP("8", "hi", CHELA_MENTIONED))));
    fake_set("channels.tele.groups", "1");
    fake_set("channels.tele.groups.0.chat", "-6");
    assert_true(denied(say(GROUP("9", "hi", CHELA_MENTIONED))));
    fake_set("channels.tele.groups.0.chat", "-5");
    assert_false(denied(say(GROUP("9", "hi", CHELA_MENTIONED))));
    set_list("channels.tele.groups.0.allow_from", "8");
    assert_true(denied(say(GROUP("9", "hi", CHELA_MENTIONED))));
    assert_false(denied(say(GROUP("8", "hi", CHELA_MENTIONED))));
    fake_set("channels.tele.group_policy", "disabled");
    assert_true(denied(say(GROUP("8", "hi", CHELA_MENTIONED))));
    close_tele();
    open_tele(); /* who was paired is so in direct chats */
    say((struct from){"9", "9", "Bob", "hi", CHELA_DIRECT, 0});
    CLEANUP(freep) char *code = code_in(seen());
    pairing_approve("tele", code, "test", end, NULL);
    fake_run();
    assert_true(denied(say(GROUP("9", "hi", CHELA_MENTIONED))));
    close_tele();
}

static void a_group_is_answered_when_it_means_the_assistant(void **state)
{
    (void)state;
    open_tele();
    fake_set("channels.tele.group_policy", "open");
    fake_set("channels.tele.context_messages", "2");
    assert_string_equal(say(GROUP("9", "one", 0)), "OK ");
    say(GROUP("9", "two", 0));
    say(GROUP("9", "three", 0));
    assert_string_equal(seen(), "");
    say(GROUP("9", "now you", CHELA_MENTIONED));
    assert_string_equal(seen(), "-5|done\n");
    const char *body = fake_message_body("agent:main:tele:group:-5", 0);
    assert_null(strstr(body, "Bob: one")); /* two lines are kept */
    assert_non_null(strstr(body, "Bob: two"));
    assert_non_null(strstr(body, "Bob: three"));
    assert_non_null(strstr(body, "now you"));
    set_list("channels.tele.mention_patterns", "\\bchela\\b");
    say(GROUP("9", "Ask CHELA about it", 0));
    assert_string_equal(seen(), "-5|done\n");
    say(GROUP("9", "michelangelo", 0));
    assert_string_equal(seen(), "");
    set_list("channels.tele.mention_patterns", "(unclosed");
    say(GROUP("9", "(unclosed", 0));
    assert_string_equal(seen(), "");
    fake_set("channels.tele.groups", "1");
    fake_set("channels.tele.groups.0.chat", "*");
    fake_set("channels.tele.groups.0.require_mention", "0");
    say(GROUP("9", "anything", 0));
    assert_string_equal(seen(), "-5|done\n");
    close_tele();
}

static void owners_use_the_owners_commands(void **state)
{
    (void)state;
    open_tele();
    set_list("channels.tele.allow_from", "*");
    say((struct from){"7", "7", "Anna", "/new", CHELA_DIRECT, 0});
    assert_non_null(strstr(seen(), "Only the owner"));
    set_list("owners", "telegram:7");
    say((struct from){"7", "7", "Anna", "/new", CHELA_DIRECT, 0});
    assert_non_null(strstr(seen(), "A new conversation begins"));
    say((struct from){"8", "8", "Bob", "/new", CHELA_DIRECT, 0});
    assert_non_null(strstr(seen(), "Only the owner"));
    set_list("owners", "*"); /* that would be everybody */
    say((struct from){"8", "8", "Bob", "/new", CHELA_DIRECT, 0});
    assert_non_null(strstr(seen(), "Only the owner"));
    close_tele();
    open_tele(); /* an owner needs no pairing */
    set_list("owners", "tele:7");
    assert_false(denied(say(ANNA)));
    close_tele();
}

static void one_person_has_one_session_on_all_channels(void **state)
{
    (void)state;
    open_tele();
    set_list("channels.tele.allow_from", "*");
    fake_set("session.dm_scope", "per-peer");
    fake_set("session.identities", "1");
    fake_set("session.identities.0.name", "anna");
    fake_set("session.identities.0.is", "2");
    fake_set("session.identities.0.is.0", "telegram:7");
    fake_set("session.identities.0.is.1", "cli:me");
    say(ANNA);
    world_say("c1", "from the terminal");
    assert_int_equal(fake_messages("agent:main:direct:anna"), 4);
    say((struct from){"8", "8", "Bob", "hi", CHELA_DIRECT, 0});
    assert_int_equal(fake_messages("agent:main:direct:8"), 2);
    close_tele();
}

static void begun_in_the_terminal_and_continued_elsewhere(void **state)
{
    (void)state;
    open_tele();
    set_list("channels.tele.allow_from", "7");
    world_say("c1", "remember the number nine");
    say(ANNA);
    assert_int_equal(fake_messages(SESSION), 4);
    assert_non_null(strstr(world.requests[1], "remember the number nine"));
    close_tele();
}

static void bindings_choose_agent_and_session(void **state)
{
    (void)state;
    open_tele();
    set_list("channels.tele.allow_from", "*");
    fake_set("agents", "2");
    fake_set("agents.0", "main");
    fake_set("agents.1", "work");
    fake_set("bindings", "3");
    fake_set("bindings.0.channel", "telegram");
    fake_set("bindings.0.session", "desk");
    fake_set("bindings.1.peer", "7");
    fake_set("bindings.1.session", "agent:main:annas");
    fake_set("bindings.2.account", "other");
    fake_set("bindings.2.session", "never");
    say(ANNA);
    assert_int_equal(fake_messages("agent:main:annas"), 2); /* a peer says more than a channel */
    say((struct from){"8", "8", "Bob", "hi", CHELA_DIRECT, 0});
    assert_int_equal(fake_messages("agent:main:desk"), 2);
    close_tele();
}

/* ---- media by reference ---- */

static uint64_t fetch_call;

static void slot_fetch(struct chela_inst *in, const struct chela_fetch *a)
{
    (void)in;
    (void)a;
}

static void on_fetch(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_fetch *q = args;
    (void)in;
    (void)fn;
    fetch_call = call;
    buf_printf(&tele.seen, "fetch %.*s\n", (int)q->reference.n, q->reference.s);
}

static void media_by_reference_is_fetched_once_the_message_is_stored(void **state)
{
    (void)state;
    static struct chela_channel channel = {.platform = "telegram",
                                           .send_class = CHELA_SEND_NEITHER,
                                           .send = slot_send,
                                           .fetch = slot_fetch};
    open_tele();
    struct chela_iface iface = {.channel = &channel};
    struct instance *in = fake_instance("files", ROLE_CHANNEL, &iface);
    world_let_in("files");
    fake_on(CHELA_FN_CHANNEL_FETCH, on_fetch);
    struct chela_pair media[] = {
        {CHELA_LIT("a.png"), CHELA_LIT("{\"reference\":\"ref-1\",\"mime\":\"image/png\"}")},
        {CHELA_LIT("b.pdf"), CHELA_LIT("{\"reference\":\"ref-2\"}")}};
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("m1");
    q.chat = chela_s("7");
    q.sender = chela_s("7");
    q.text = chela_s("look");
    q.media = (struct chela_pairs){media, 2};
    uint64_t id = fake_submit(in, &q);
    fake_run();
    assert_int_equal(strncmp(fake_answer(id), "OK ", 3), 0); /* acknowledged before it is fetched */
    assert_string_equal(seen(), "fetch ref-1\n");
    assert_int_equal(world.request_count, 0);
    fake_done(fetch_call, CHELA_OK, "bytes of the picture", "", 0, 0);
    fake_run();
    assert_string_equal(seen(), "fetch ref-2\n");
    fake_done(fetch_call, CHELA_E_NOT_FOUND, "the file is gone", "", 0, 0);
    fake_run();
    assert_int_equal(world.request_count, 1);
    assert_non_null(strstr(world.requests[0], "\"type\":\"image\""));
    assert_non_null(strstr(world.requests[0], "b.pdf (?), could not be fetched: the file is gone"));
    /* a crash in the middle: it is fetched again */
    q.event = chela_s("m2");
    fake_submit(in, &q);
    fake_run();
    fake_crash();
    seen();
    fake_start_agent();
    assert_string_equal(seen(), "fetch ref-1\n");
    close_tele();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_sender_is_paired_by_a_code),
        cmocka_unit_test(a_code_holds_an_hour_and_three_wait_at_most),
        cmocka_unit_test(direct_chats_follow_their_policy),
        cmocka_unit_test(groups_follow_their_policy),
        cmocka_unit_test(a_group_is_answered_when_it_means_the_assistant),
        cmocka_unit_test(owners_use_the_owners_commands),
        cmocka_unit_test(one_person_has_one_session_on_all_channels),
        cmocka_unit_test(begun_in_the_terminal_and_continued_elsewhere),
        cmocka_unit_test(media_by_reference_is_fetched_once_the_message_is_stored),
        cmocka_unit_test(bindings_choose_agent_and_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
