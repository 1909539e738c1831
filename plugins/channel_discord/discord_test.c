/*
 * channel_discord against the host of the test kit: its session and its end in all the ways that
 * Discord knows, the heartbeat, what is asked for after a gap, limits of the HTTP API, and that a
 * message which can't be stored comes again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela/chela.h>

#include "testkit/kit.h"

extern const struct chela_plugin channel_discord_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("token"), CHELA_LIT("token-1")},
    {CHELA_LIT("base_url"), CHELA_LIT("https://api.test")},
    {CHELA_LIT("cdn_url"), CHELA_LIT("https://cdn.test")},
    {CHELA_LIT("media_limit"), CHELA_LIT("1000")},
    {CHELA_LIT("message_content"), CHELA_LIT("1")},
    {CHELA_LIT("commands"), CHELA_LIT("0")},
};

static struct kit *k;
static uint64_t socket_call;

static const struct chela_http *asked(const char *method, const char *path)
{
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    char url[200];
    assert_non_null(q);
    snprintf(url, sizeof url, "https://%s", path);
    assert_string_equal(q->method.s, method);
    assert_string_equal(q->url.s, url);
    return q;
}

static bool says(const struct chela_http *q, const char *part)
{
    return memmem(q->body.s, (size_t)q->body.n, part, strlen(part)) != NULL;
}

static void answer(uint32_t error, uint32_t status, const char *body)
{
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    CHELA_ARGS(chela_done, d, 0);
    assert_non_null(q);
    d.error = error;
    d.http_status = status;
    d.text = chela_s(body);
    kit_answer(k, q->h.call, &d);
    kit_advance(k, 0);
}

static void frame(const char *text)
{
    CHELA_ARGS(chela_ws_event, e, 0);
    e.kind = CHELA_WS_TEXT;
    e.data = chela_s(text);
    kit_clear(k);
    kit_tell(k, socket_call, CHELA_FN_WS_EVENT, &e);
    kit_advance(k, 0);
}

/* What went out by the socket since the last frame. */
static bool sent(const char *part)
{
    return strstr(kit_trace(k), part) != NULL;
}

static void closed_by_discord(uint32_t code)
{
    CHELA_ARGS(chela_ws_event, e, 0);
    e.kind = CHELA_WS_CLOSE;
    e.code = code;
    kit_tell(k, socket_call, CHELA_FN_WS_EVENT, &e);
    kit_answer_ok(k, socket_call, "", 0);
    kit_advance(k, 0);
}

static const char *state(void)
{
    return kit_published(k, CHELA_STATE)->items.v[0].value.s;
}

/* The socket to this address is asked for; it opens and is greeted. */
static void greeted(const char *address)
{
    const struct chela_ws_connect *c = kit_request(k, CHELA_FN_WS_CONNECT);
    assert_non_null(c);
    assert_string_equal(c->url.s, address);
    socket_call = c->h.call;
    frame("{\"op\":10,\"d\":{\"heartbeat_interval\":40000}}");
}

static void ready(void)
{
    frame("{\"op\":0,\"t\":\"READY\",\"s\":1,\"d\":{\"session_id\":\"s1\",\"resume_gateway_url\":"
          "\"wss://resume.test\",\"user\":{\"id\":\"42\",\"username\":\"chela\"},\"application\":{"
          "\"id\":\"43\"}}}");
    assert_non_null(strstr(state(), "\"ok\":true"));
}

static void identified(void)
{
    asked("GET", "api.test/gateway/bot");
    answer(CHELA_OK, 200,
           "{\"url\":\"wss://gateway.test\",\"session_start_limit\":{\"remaining\":9}}");
    greeted("wss://gateway.test/?v=10&encoding=json");
    assert_true(sent("\\\"op\\\":2") && sent("\\\"token\\\":\\\"token-1\\\"") &&
                sent("\\\"intents\\\":46593"));
    ready();
}

/* One direct chat of which message 100 is stored. */
static int set_up(void **state_)
{
    k = kit_open(&(struct kit_setup){.plugin = &channel_discord_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0],
                                     .encoded = *state_ != NULL});
    assert_non_null(k);
    kit_start(k);
    const struct chela_key *list = kit_request(k, CHELA_FN_KV_LIST);
    assert_string_equal(list->key.s, "seen:");
    kit_answer_ok(k, list->h.call, "", 0);
    kit_advance(k, 0);
    identified();
    return 0;
}

static void end_all(uint32_t fn)
{
    const struct chela_head *h;
    while ((h = kit_request(k, fn)) != NULL)
        kit_answer_error(k, h->call, CHELA_E_CANCELLED, 0, "cancelled");
}

static int tear_down(void **state_)
{
    CHELA_ARGS(chela_arg, a, 0);
    (void)state_;
    kit_call(k, CHELA_FN_STOP, &a);
    end_all(CHELA_FN_WS_CONNECT);
    end_all(CHELA_FN_HTTP);
    end_all(CHELA_FN_KV_PUT);
    assert_int_equal(kit_close(k), 0);
    return 0;
}

/* ---- messages ---- */

static void message(const char *id, const char *channel, const char *more)
{
    char text[1000];
    snprintf(
        text, sizeof text,
        "{\"op\":0,\"t\":\"MESSAGE_CREATE\",\"s\":5,\"d\":{\"id\":\"%s\",\"channel_id\":\"%s\","
        "\"type\":0,\"author\":{\"id\":\"7\",\"username\":\"anna\"},\"content\":\"hi\"%s}}",
        id, channel, more);
    frame(text);
}

static const struct chela_submit *submitted(void)
{
    const struct chela_submit *s = kit_request(k, CHELA_FN_SUBMIT);
    assert_non_null(s);
    return s;
}

static void store(uint32_t error)
{
    uint64_t call = submitted()->h.call;
    if (error)
        kit_answer_error(k, call, error, 0, "no");
    else
        kit_answer_ok(k, call, "run", 3);
    kit_advance(k, 0);
}

static void message_stored(const char *id)
{
    message(id, "9", "");
    store(CHELA_OK);
}

/* ---- the session ---- */

static void a_lost_connection_is_resumed_where_it_was(void **state_)
{
    (void)state_;
    frame("{\"op\":0,\"t\":\"TYPING_START\",\"s\":7,\"d\":{}}");
    frame("{\"op\":7,\"d\":null}");
    end_all(CHELA_FN_WS_CONNECT);
    kit_advance(k, 2000);
    greeted("wss://resume.test/?v=10&encoding=json");
    assert_true(sent("\\\"op\\\":6") && sent("\\\"session_id\\\":\\\"s1\\\",\\\"seq\\\":7"));
    frame("{\"op\":0,\"t\":\"RESUMED\",\"s\":8,\"d\":{}}");
    assert_non_null(strstr(state(), "\"ok\":true"));
    closed_by_discord(4000);
    assert_non_null(strstr(state(), "4000"));
    kit_advance(k, 2000);
    greeted("wss://resume.test/?v=10&encoding=json");
    assert_true(sent("\\\"seq\\\":8"));
}

static void a_session_that_is_gone_is_begun_anew(void **state_)
{
    (void)state_;
    frame("{\"op\":9,\"d\":true}");
    kit_advance(k, 2000);
    greeted("wss://resume.test/?v=10&encoding=json");
    frame("{\"op\":9,\"d\":false}");
    end_all(CHELA_FN_WS_CONNECT);
    assert_null(kit_request(k, CHELA_FN_HTTP)); /* not at once */
    kit_advance(k, 5000);
    identified();
    closed_by_discord(4009);
    kit_advance(k, 5000);
    identified();
}

static void what_is_refused_for_good_is_said_and_not_tried_again(void **state_)
{
    static const uint32_t codes[] = {4004, 4010, 4011, 4012, 4013, 4014};
    for (size_t i = 0; i < 6; i++) {
        char code[16];
        if (i) {
            tear_down(state_);
            set_up(state_);
        }
        closed_by_discord(codes[i]);
        snprintf(code, sizeof code, "%u", codes[i] == 4010 ? 4011 : codes[i]);
        assert_non_null(strstr(state(), code));
        kit_advance(k, 3600000);
        assert_null(kit_request(k, CHELA_FN_HTTP));
        assert_null(kit_request(k, CHELA_FN_WS_CONNECT));
    }
}

static void a_heartbeat_without_answer_ends_the_connection(void **state_)
{
    (void)state_;
    kit_clear(k);
    kit_advance(k, 40000);
    assert_true(sent("\\\"op\\\":1,\\\"d\\\":1}"));
    frame("{\"op\":11}");
    kit_advance(k, 40000);
    assert_true(sent("\\\"op\\\":1,\\\"d\\\":1}"));
    kit_clear(k);
    kit_advance(k, 40000);
    assert_true(sent("cancel"));
    assert_non_null(strstr(state(), "heartbeat"));
    kit_advance(k, 2000);
    greeted("wss://resume.test/?v=10&encoding=json");
    frame("{\"op\":1,\"d\":null}"); /* asked for out of turn */
    assert_true(sent("\\\"op\\\":1,\\\"d\\\":1}"));
}

static void nonsense_and_silence_are_a_fault(void **state_)
{
    (void)state_;
    frame("no json");
    end_all(CHELA_FN_WS_CONNECT);
    kit_advance(k, 2000);
    const struct chela_ws_connect *c = kit_request(k, CHELA_FN_WS_CONNECT);
    assert_non_null(c);
    socket_call = c->h.call;
    kit_clear(k);
    kit_advance(k, 30000);
    assert_true(sent("cancel"));
    assert_non_null(strstr(state(), "greeted"));
}

static void a_service_that_is_down_for_an_hour_is_asked_once_a_minute(void **state_)
{
    unsigned tries = 0;
    (void)state_;
    message_stored("300");
    closed_by_discord(4009);
    for (uint64_t ms = 0; ms < 3600000; ms += 1000) {
        if (kit_request(k, CHELA_FN_HTTP)) {
            asked("GET", "api.test/gateway/bot");
            answer(CHELA_E_NETWORK, 0, "no route to it");
            tries++;
        }
        kit_advance(k, 1000);
    }
    assert_in_range(tries, 40, 100);
    assert_non_null(strstr(state(), "no route to it"));
    kit_advance(k, 90000);
    identified();
    asked("GET", "api.test/channels/9/messages?limit=100&after=300"); /* what came in that hour */
}

/* ---- messages in ---- */

static void a_message_says_who_where_and_to_whom(void **state_)
{
    (void)state_;
    frame(
        "{\"op\":0,\"t\":\"GUILD_CREATE\",\"s\":2,\"d\":{\"id\":\"1\",\"threads\":[{\"id\":\"55\","
        "\"type\":11,\"parent_id\":\"50\"}]}}");
    message(
        "1193042892980199424", "55",
        ",\"guild_id\":\"1\",\"mentions\":[{\"id\":\"42\",\"username\":\"chela\"},{\"id\":\"8\","
        "\"username\":\"bob\"}],\"content\":\"<@42> ask <@8>\",\"member\":{\"nick\":\"Ann\"},"
        "\"message_reference\":{\"message_id\":\"99\"},\"referenced_message\":{\"content\":"
        "\"before\"}");
    assert_null(kit_request(k, CHELA_FN_SUBMIT)); /* a key that stands twice is no JSON */
    end_all(CHELA_FN_WS_CONNECT);
    kit_advance(k, 2000);
    greeted("wss://resume.test/?v=10&encoding=json");
    frame("{\"op\":0,\"t\":\"MESSAGE_CREATE\",\"s\":5,\"d\":{\"id\":\"1193042892980199424\","
          "\"channel_id\":\"55\",\"guild_id\":\"1\",\"type\":19,\"author\":{\"id\":\"7\","
          "\"username\":\"anna\"},\"mentions\":[{\"id\":\"42\",\"username\":\"chela\"},{\"id\":"
          "\"8\",\"username\":\"bob\"}],\"content\":\"<@42> ask <@8>\",\"member\":{\"nick\":"
          "\"Ann\"},\"message_reference\":{\"message_id\":\"99\"},\"referenced_message\":{"
          "\"content\":\"before\"}}}");
    const struct chela_submit *s = submitted();
    assert_string_equal(s->text.s, "ask @bob");
    assert_string_equal(s->chat.s, "50");
    assert_string_equal(s->thread.s, "55");
    assert_string_equal(s->sender.s, "7");
    assert_string_equal(s->sender_name.s, "Ann");
    assert_string_equal(s->reply_to.s, "99");
    assert_string_equal(s->quote.s, "before");
    assert_int_equal(s->chat_type, CHELA_GROUP);
    assert_int_equal(s->h.flags, CHELA_MENTIONED);
    assert_int_equal(s->at, 1704513991);
    store(CHELA_OK);
    const struct chela_key *kept = kit_request(k, CHELA_FN_KV_PUT);
    assert_string_equal(kept->key.s, "seen:55");
    assert_string_equal(kept->value.s, "1193042892980199424 guild");
    message("101", "9", ",\"webhook_id\":\"3\"");
    assert_null(kit_request(k, CHELA_FN_SUBMIT));
}

static void what_could_not_be_stored_is_read_from_the_history(void **state_)
{
    (void)state_;
    message("200", "9", "");
    store(CHELA_E_FULL);
    message("201", "9", ""); /* would overtake it */
    assert_null(kit_request(k, CHELA_FN_SUBMIT));
    kit_advance(k, 2000);
    asked("GET", "api.test/channels/9/messages?limit=100&after=199");
    answer(CHELA_OK, 200,
           "[{\"id\":\"201\",\"channel_id\":\"9\",\"type\":0,\"author\":{\"id\":\"7\"},\"content\":"
           "\"two\"},{\"id\":\"200\",\"channel_id\":\"9\",\"type\":0,\"author\":{\"id\":\"7\"},"
           "\"content\":\"one\"}]");
    assert_string_equal(submitted()->text.s, "two"); /* the newest of two that are open */
    kit_answer_ok(k, submitted()->h.call, "run", 3);
    assert_string_equal(submitted()->text.s, "one");
    kit_answer_ok(k, submitted()->h.call, "run", 3);
    kit_advance(k, 0);
    message("202", "9", "");
    assert_string_equal(submitted()->event.s, "202");
    store(CHELA_OK);
}

static void a_message_without_a_number_hides_no_other(void **state_)
{
    (void)state_;
    message("no number", "9", "");
    assert_null(kit_request(k, CHELA_FN_SUBMIT));
    message("79", "9", "");
    assert_string_equal(submitted()->event.s, "79");
    store(CHELA_OK);
    assert_null(kit_request(k, CHELA_FN_SUBMIT));
}

static void a_new_session_asks_for_what_came_before_it(void **state_)
{
    (void)state_;
    message("300", "9", "");
    store(CHELA_OK);
    closed_by_discord(4007);
    kit_advance(k, 5000);
    asked("GET", "api.test/gateway/bot");
    answer(CHELA_OK, 200, "{\"url\":\"wss://gateway.test\"}");
    greeted("wss://gateway.test/?v=10&encoding=json");
    ready();
    asked("GET", "api.test/channels/9/messages?limit=100&after=300");
    answer(CHELA_E_NETWORK, 502, "");
    kit_advance(k, 2000);
    asked("GET", "api.test/channels/9/messages?limit=100&after=300");
    answer(CHELA_OK, 200,
           "[{\"id\":\"301\",\"channel_id\":\"9\",\"type\":0,\"author\":{\"id\":\"7\"},\"content\":"
           "\"missed\"}]");
    assert_string_equal(submitted()->text.s, "missed");
    store(CHELA_OK);
}

static void a_press_is_submitted_and_then_acknowledged(void **state_)
{
    (void)state_;
    frame("{\"op\":0,\"t\":\"INTERACTION_CREATE\",\"s\":9,\"d\":{\"id\":\"500\",\"token\":\"tok\","
          "\"type\":3,\"channel_id\":\"9\",\"user\":{\"id\":\"7\",\"username\":\"anna\"},\"data\":{"
          "\"custom_id\":\"/approve x allow-once\"}}}");
    assert_string_equal(submitted()->text.s, "/approve x allow-once");
    assert_int_equal(submitted()->h.flags, CHELA_BUTTON);
    assert_null(kit_request(k, CHELA_FN_HTTP));
    store(CHELA_OK);
    assert_true(says(asked("POST", "api.test/interactions/500/tok/callback"),
                     "{\"type\":7,\"data\":{\"components\":[]}}"));
    answer(CHELA_OK, 204, "");
    frame("{\"op\":0,\"t\":\"INTERACTION_CREATE\",\"s\":9,\"d\":{\"id\":\"501\",\"token\":\"tok\","
          "\"type\":2,\"channel_id\":\"55\",\"guild_id\":\"1\",\"channel\":{\"type\":11,\"parent_"
          "id\":"
          "\"50\"},\"member\":{\"user\":{\"id\":\"7\",\"username\":\"anna\"}},\"data\":{\"name\":"
          "\"model\",\"options\":[{\"name\":\"arguments\",\"type\":3,\"value\":\"x/y\"}]}}}");
    assert_string_equal(submitted()->text.s, "/model x/y");
    assert_string_equal(submitted()->thread.s, "55");
    store(CHELA_E_DENIED);
    assert_true(says(asked("POST", "api.test/interactions/501/tok/callback"), "not yours"));
    answer(CHELA_OK, 204, "");
}

/* ---- messages out ---- */

static void send_to(uint32_t fn, const char *text, const struct chela_pair *media, size_t n)
{
    static const struct chela_pair button = {CHELA_LIT("Yes"), CHELA_LIT("/approve x allow-once")};
    CHELA_ARGS(chela_send, s, 0);
    s.chat = chela_s("9");
    s.key = chela_s("run.0");
    s.reply_to = chela_s("31");
    s.message = chela_s("31");
    s.text = chela_s(text);
    s.media = (struct chela_pairs){media, n};
    s.buttons = (struct chela_pairs){&button, fn == CHELA_FN_CHANNEL_SEND};
    kit_clear(k);
    kit_call(k, fn, &s);
    kit_advance(k, 0);
}

static void a_message_has_a_nonce_of_its_key(void **state_)
{
    char first[600];
    (void)state_;
    send_to(CHELA_FN_CHANNEL_SEND, "hello", NULL, 0);
    const struct chela_http *q = asked("POST", "api.test/channels/9/messages");
    assert_true(says(q,
                     "{\"content\":\"hello\",\"allowed_mentions\":{\"parse\":[]},\"components\":[{"
                     "\"type\":1,\"components\":[{\"type\":2,\"style\":2,\"label\":\"Yes\","
                     "\"custom_id\":\"/approve x allow-once\"}]}],\"nonce\":\""));
    assert_true(says(q, "\"enforce_nonce\":true,\"message_reference\":{\"message_id\":\"31\","
                        "\"fail_if_not_exists\":false}"));
    snprintf(first, sizeof first, "%s", q->body.s);
    answer(CHELA_E_TIMEOUT, 0, "");
    assert_int_equal(kit_done(k)->error, CHELA_E_TIMEOUT);
    send_to(CHELA_FN_CHANNEL_SEND, "hello", NULL, 0);
    assert_string_equal(asked("POST", "api.test/channels/9/messages")->body.s, first);
    answer(CHELA_OK, 200, "{\"id\":\"600\"}");
    assert_string_equal(kit_done(k)->text.s, "600");
    send_to(CHELA_FN_CHANNEL_EDIT, "more", NULL, 0);
    assert_true(says(asked("PATCH", "api.test/channels/9/messages/31"), "{\"content\":\"more\""));
    answer(CHELA_OK, 200, "{\"id\":\"31\"}");
    assert_string_equal(kit_done(k)->text.s, "31");
}

static void ten_files_go_in_one_request(void **state_)
{
    struct chela_pair files[12];
    (void)state_;
    for (size_t i = 0; i < 12; i++)
        files[i] = (struct chela_pair){CHELA_LIT("a\".png"),
                                       CHELA_LIT("{\"hash\":\"h\",\"mime\":\"image/png\"}")};
    send_to(CHELA_FN_CHANNEL_SEND, "look", files, 12);
    for (size_t i = 0; i < 12; i++) {
        const struct chela_key *blob = kit_request(k, CHELA_FN_KV_BLOB_GET);
        if (i == 10) {
            const struct chela_http *q = asked("POST", "api.test/channels/9/messages");
            assert_true(says(q, "name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n{"
                                "\"content\":\"look\""));
            assert_true(says(q, "name=\"files[9]\"; filename=\"a%22.png\"\r\nContent-Type: "
                                "image/png\r\n\r\nBYTES\r\n"));
            answer(CHELA_OK, 200, "{\"id\":\"700\"}");
            blob = kit_request(k, CHELA_FN_KV_BLOB_GET);
        }
        kit_answer_ok(k, blob->h.call, "BYTES", 5);
        kit_advance(k, 0);
    }
    const struct chela_http *q = asked("POST", "api.test/channels/9/messages");
    assert_true(says(q, "\"attachments\":[{\"id\":\"0\"") && says(q, "\"components\""));
    assert_false(says(q, "\"content\""));
    answer(CHELA_E_TOO_LONG, 413, "{\"message\":\"Request entity too large\",\"code\":40005}");
    assert_int_equal(kit_done(k)->error, CHELA_E_TOO_LONG);
    assert_true(kit_done(k)->h.flags & CHELA_EFFECT); /* the first ten are out */
}

static void limits_are_kept_without_asking(void **state_)
{
    (void)state_;
    send_to(CHELA_FN_CHANNEL_SEND, "one", NULL, 0);
    answer(CHELA_E_RATE, 429,
           "{\"message\":\"You are being rate limited.\",\"retry_after\":3.5,"
           "\"global\":false}");
    assert_int_equal(kit_done(k)->error, CHELA_E_RATE);
    assert_int_equal(kit_done(k)->retry_after_ms, 3501);
    send_to(CHELA_FN_CHANNEL_SEND, "one", NULL, 0);
    assert_null(kit_request(k, CHELA_FN_HTTP));
    assert_int_equal(kit_done(k)->error, CHELA_E_RATE);
    send_to(CHELA_FN_CHANNEL_EDIT, "other route", NULL, 0);
    answer(CHELA_E_RATE, 429, "{\"message\":\"slow\",\"retry_after\":2,\"global\":true}");
    kit_advance(k, 3600);
    send_to(CHELA_FN_CHANNEL_SEND, "one", NULL, 0);
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    struct chela_pair headers[] = {
        {CHELA_LIT("x-ratelimit-remaining"), CHELA_LIT("0")},
        {CHELA_LIT("x-ratelimit-reset-after"), CHELA_LIT("1.25")},
    };
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = 200;
    d.text = chela_s("{\"id\":\"800\"}");
    d.headers = (struct chela_pairs){headers, 2};
    kit_answer(k, q->h.call, &d);
    kit_advance(k, 0);
    send_to(CHELA_FN_CHANNEL_SEND, "two", NULL, 0);
    assert_null(kit_request(k, CHELA_FN_HTTP));
    assert_int_equal(kit_done(k)->retry_after_ms, 1251);
    kit_advance(k, 1300);
    send_to(CHELA_FN_CHANNEL_SEND, "two", NULL, 0);
    answer(CHELA_E_AUTH, 403, "{\"message\":\"Cannot send messages to this user\",\"code\":50007}");
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED);
    assert_string_equal(kit_done(k)->text.s, "Cannot send messages to this user");
}

static void attachments_come_from_the_service_alone(void **state_)
{
    (void)state_;
    message("900", "9",
            ",\"attachments\":[{\"id\":\"1\",\"filename\":\"a.png\",\"content_type\":\"image/png\","
            "\"size\":5,\"url\":\"https://evil.test/a.png\"},{\"id\":\"2\",\"filename\":\"b.png\","
            "\"content_type\":\"image/png\",\"size\":5,\"url\":\"https://cdn.test/b.png?ex=1\"},{"
            "\"id\":\"3\",\"filename\":\"c.bin\",\"size\":5000,\"url\":\"https://cdn.test/c\"}]");
    const struct chela_http *q = asked("GET", "cdn.test/b.png?ex=1");
    assert_int_equal(q->decode, CHELA_FILE);
    assert_int_equal(q->limit, 1000);
    assert_int_equal(q->headers.n, 0); /* no token for the files' server */
    kit_answer_ok(k, q->h.call, "hash", 4);
    kit_advance(k, 0);
    const struct chela_submit *s = submitted();
    assert_int_equal(s->media.n, 3);
    assert_non_null(strstr(s->media.v[0].value.s, "\"reference\":\"9/900/1\""));
    assert_non_null(strstr(s->media.v[1].value.s, "\"hash\":\"hash\""));
    assert_non_null(strstr(s->media.v[2].value.s, "media_limit"));
    store(CHELA_OK);
    CHELA_ARGS(chela_fetch, f, 0);
    f.reference = chela_s("9/900/2");
    kit_call(k, CHELA_FN_CHANNEL_FETCH, &f);
    kit_advance(k, 0);
    asked("GET", "api.test/channels/9/messages/900");
    answer(CHELA_OK, 200,
           "{\"attachments\":[{\"id\":\"2\",\"url\":\"https://cdn.test/b.png?ex=2\"}]}");
    kit_answer_ok(k, asked("GET", "cdn.test/b.png?ex=2")->h.call, "hash2", 5);
    kit_advance(k, 0);
    assert_string_equal(kit_done(k)->text.s, "hash2");
}

int main(void)
{
#define BOT_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        BOT_TEST(a_lost_connection_is_resumed_where_it_was),
        BOT_TEST(a_session_that_is_gone_is_begun_anew),
        BOT_TEST(what_is_refused_for_good_is_said_and_not_tried_again),
        BOT_TEST(a_heartbeat_without_answer_ends_the_connection),
        BOT_TEST(nonsense_and_silence_are_a_fault),
        BOT_TEST(a_service_that_is_down_for_an_hour_is_asked_once_a_minute),
        BOT_TEST(a_message_says_who_where_and_to_whom),
        BOT_TEST(what_could_not_be_stored_is_read_from_the_history),
        BOT_TEST(a_message_without_a_number_hides_no_other),
        BOT_TEST(a_new_session_asks_for_what_came_before_it),
        BOT_TEST(a_press_is_submitted_and_then_acknowledged),
        BOT_TEST(a_message_has_a_nonce_of_its_key),
        BOT_TEST(ten_files_go_in_one_request),
        BOT_TEST(limits_are_kept_without_asking),
        BOT_TEST(attachments_come_from_the_service_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
