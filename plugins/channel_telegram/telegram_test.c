/*
 * channel_telegram against the host of the test kit: files and albums out, what a refusal makes of
 * a send, and that updates are confirmed only when they are stored.
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

extern const struct chela_plugin channel_telegram_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("token"), CHELA_LIT("${secret:token}")},
    {CHELA_LIT("base_url"), CHELA_LIT("https://bot.test")},
    {CHELA_LIT("poll_timeout"), CHELA_LIT("5000")},
    {CHELA_LIT("media_limit"), CHELA_LIT("1000")},
    {CHELA_LIT("commands"), CHELA_LIT("0")},
};

static struct kit *k;

/* The newest open request must be this method's. */
static const struct chela_http *asked(const char *method)
{
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    char url[200];
    assert_non_null(q);
    snprintf(url, sizeof url, "https://bot.test/bot${secret:token}/%s", method);
    assert_string_equal(q->url.s, url);
    return q;
}

static bool says(const struct chela_http *q, const char *part)
{
    return memmem(q->body.s, (size_t)q->body.n, part, strlen(part)) != NULL;
}

static void answer_status(const char *method, uint32_t error, uint32_t status, const char *body)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = error;
    d.http_status = status;
    d.text = chela_s(body);
    kit_answer(k, asked(method)->h.call, &d);
    kit_advance(k, 0);
}

static void answer(const char *method, const char *result)
{
    char body[4000];
    snprintf(body, sizeof body, "{\"ok\":true,\"result\":%s}", result);
    answer_status(method, CHELA_OK, 200, body);
}

static uint64_t call_of(uint32_t fn)
{
    const struct chela_arg *a = kit_request(k, fn);
    assert_non_null(a);
    return a->h.call;
}

static int set_up(void **state)
{
    k = kit_open(&(struct kit_setup){.plugin = &channel_telegram_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0],
                                     .encoded = *state != NULL});
    assert_non_null(k);
    kit_start(k);
    kit_answer_ok(k, call_of(CHELA_FN_KV_LIST), "", 0); /* its offset, its supergroups */
    answer("getMe", "{\"id\":42,\"is_bot\":true,\"username\":\"chela_bot\"}");
    answer("deleteWebhook", "true");
    assert_true(says(asked("getUpdates"), "\"offset\":0,\"timeout\":5,"));
    return 0;
}

static int tear_down(void **state)
{
    CHELA_ARGS(chela_arg, a, 0);
    (void)state;
    kit_call(k, CHELA_FN_STOP, &a);
    while (kit_request(k, CHELA_FN_KV_PUT))
        kit_answer_ok(k, call_of(CHELA_FN_KV_PUT), "", 0);
    const struct chela_http *left = kit_request(k, CHELA_FN_HTTP);
    if (left)
        kit_answer_error(k, left->h.call, CHELA_E_CANCELLED, 0, "cancelled");
    assert_int_equal(kit_close(k), 0);
    return 0;
}

static void send_to(uint32_t fn, const char *chat, const char *text, const struct chela_pair *media,
                    size_t n)
{
    CHELA_ARGS(chela_send, s, 0);
    s.chat = chela_s(chat);
    s.thread = chela_s("9");
    s.reply_to = chela_s("31");
    s.message = chela_s("31");
    s.text = chela_s(text);
    s.media.v = media;
    s.media.n = n;
    kit_clear(k);
    kit_call(k, fn, &s);
    kit_advance(k, 0);
}

static const struct chela_pair pictures[] = {
    {CHELA_LIT("a.png"), CHELA_LIT("{\"hash\":\"h1\",\"mime\":\"image/png\",\"size\":3}")},
    {CHELA_LIT("b\".jpg"), CHELA_LIT("{\"hash\":\"h2\",\"mime\":\"image/jpeg\",\"size\":3}")},
    {CHELA_LIT("c.pdf"), CHELA_LIT("{\"hash\":\"h3\",\"mime\":\"application/pdf\",\"size\":3}")},
};

static void blob(const char *bytes)
{
    kit_answer_ok(k, call_of(CHELA_FN_KV_BLOB_GET), bytes, strlen(bytes));
    kit_advance(k, 0);
}

static void pictures_go_as_an_album_other_files_by_themselves(void **state)
{
    (void)state;
    send_to(CHELA_FN_CHANNEL_SEND, "5", "<b>look</b>", pictures, 3);
    blob("AAA");
    blob("BBB");
    const struct chela_http *q = asked("sendMediaGroup");
    assert_true(says(q, "\"media\":\"attach://file0\",\"caption\":\"<b>look</b>\",\"parse_mode\":"
                        "\"HTML\""));
    assert_true(says(q, "name=\"file1\"; filename=\"b%22.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                        "BBB\r\n"));
    assert_true(says(q, "name=\"message_thread_id\"\r\n\r\n9\r\n"));
    answer("sendMediaGroup", "[{\"message_id\":70},{\"message_id\":71}]");
    blob("CCC");
    assert_true(says(asked("sendDocument"), "name=\"document\"; filename=\"c.pdf\""));
    assert_false(says(asked("sendDocument"), "caption"));
    answer("sendDocument", "{\"message_id\":72}");
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_string_equal(kit_done(k)->text.s, "70");
}

static void what_went_out_before_a_failure_is_told(void **state)
{
    char text[1200];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0'; /* too long for a caption */
    send_to(CHELA_FN_CHANNEL_SEND, "5", text, pictures + 2, 1);
    answer("sendMessage", "{\"message_id\":80}");
    blob("CCC");
    answer_status("sendDocument", CHELA_E_TOO_LONG, 413,
                  "{\"ok\":false,\"error_code\":413,\"description\":\"Request Entity Too Large\"}");
    assert_int_equal(kit_done(k)->error, CHELA_E_TOO_LONG);
    assert_true(kit_done(k)->h.flags & CHELA_EFFECT);
}

static void a_group_that_has_moved_is_followed(void **state)
{
    (void)state;
    send_to(CHELA_FN_CHANNEL_SEND, "-5", "hello", NULL, 0);
    assert_true(says(asked("sendMessage"), "\"chat_id\":-5,\"message_thread_id\":9,"));
    assert_true(says(asked("sendMessage"), "\"reply_parameters\":{\"message_id\":31,"));
    answer_status("sendMessage", CHELA_E_ARGS, 400,
                  "{\"ok\":false,\"error_code\":400,\"description\":\"group chat was upgraded\","
                  "\"parameters\":{\"migrate_to_chat_id\":-1005}}");
    const struct chela_key *kept = kit_request(k, CHELA_FN_KV_PUT);
    assert_string_equal(kept->value.s, "{\"-5\":\"-1005\"}");
    assert_true(says(asked("sendMessage"), "\"chat_id\":-1005"));
    answer("sendMessage", "{\"message_id\":90}");
    assert_string_equal(kit_done(k)->text.s, "90");
}

static void preview(const char *text)
{
    CHELA_ARGS(chela_send, s, 0);
    s.chat = chela_s("5");
    s.key = chela_s("run.draft");
    s.text = chela_s(text);
    s.extra = chela_s("{\"draft\":true,\"preview\":true}");
    kit_call(k, CHELA_FN_CHANNEL_SEND, &s);
}

static void a_preview_is_a_draft_of_one_number_until_one_is_refused(void **state)
{
    char first[200];
    (void)state;
    preview("One");
    snprintf(first, sizeof first, "%.*s", (int)asked("sendMessageDraft")->body.n,
             asked("sendMessageDraft")->body.s);
    assert_non_null(strstr(first, "{\"chat_id\":5,\"draft_id\":"));
    assert_non_null(strstr(first, "\"text\":\"One\",\"parse_mode\":\"HTML\"}"));
    *strstr(first, "\"text\"") = '\0';
    answer("sendMessageDraft", "true");
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_int_equal(kit_done(k)->text.n, 0);
    preview("One, two");
    assert_true(says(asked("sendMessageDraft"), first)); /* the same number */
    answer_status("sendMessageDraft", CHELA_E_RATE, 429,
                  "{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests\","
                  "\"parameters\":{\"retry_after\":3}}");
    assert_int_equal(kit_done(k)->error, CHELA_E_RATE);
    assert_int_equal(kit_done(k)->retry_after_ms, 3000);
    preview("One, two, three");
    answer_status("sendMessageDraft", CHELA_E_ARGS, 400,
                  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: no topics\"}");
    assert_int_equal(kit_done(k)->error, CHELA_E_UNSUPPORTED);
    preview("One, two, three, four");
    assert_int_equal(kit_done(k)->error, CHELA_E_UNSUPPORTED); /* without asking */
}

static void an_edit_that_changes_nothing_is_done(void **state)
{
    (void)state;
    send_to(CHELA_FN_CHANNEL_EDIT, "5", "same", NULL, 0);
    assert_true(
        says(asked("editMessageText"), "{\"chat_id\":5,\"message_id\":31,\"text\":\"same\""));
    answer_status("editMessageText", CHELA_E_ARGS, 400,
                  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: message is not "
                  "modified\"}");
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_string_equal(kit_done(k)->text.s, "31");
    send_to(CHELA_FN_CHANNEL_REACT, "5", "\xf0\x9f\x91\x8d", NULL, 0);
    assert_true(says(asked("setMessageReaction"), "\"reaction\":[{\"type\":\"emoji\",\"emoji\":"));
    answer("setMessageReaction", "true");
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static const char two_messages[] =
    "[{\"update_id\":7,\"message\":{\"message_id\":1,\"date\":5,\"from\":{\"id\":3},\"chat\":{"
    "\"id\":"
    "3,\"type\":\"private\"},\"text\":\"one\"}},{\"update_id\":8,\"message\":{\"message_id\":2,"
    "\"date\":5,\"from\":{\"id\":3},\"chat\":{\"id\":3,\"type\":\"private\"},\"text\":\"two\"}}]";

static void an_update_is_confirmed_only_when_it_is_stored(void **state)
{
    (void)state;
    answer("getUpdates", two_messages);
    const struct chela_submit *s = kit_request(k, CHELA_FN_SUBMIT);
    assert_string_equal(s->text.s, "two");
    assert_null(kit_request(k, CHELA_FN_HTTP)); /* no poll before both are stored */
    kit_answer_error(k, s->h.call, CHELA_E_FULL, 0, "the disk is full");
    kit_answer_ok(k, call_of(CHELA_FN_SUBMIT), "run", 3);
    kit_advance(k, 0);
    assert_null(kit_request(k, CHELA_FN_HTTP));
    kit_advance(k, 2000);
    assert_true(says(asked("getUpdates"), "\"offset\":8,"));
    answer("getUpdates", two_messages);
    kit_answer_error(k, call_of(CHELA_FN_SUBMIT), CHELA_E_CONFLICT, 0, "seen");
    kit_answer_error(k, call_of(CHELA_FN_SUBMIT), CHELA_E_DENIED, 0, "no");
    kit_advance(k, 0);
    assert_true(says(asked("getUpdates"), "\"offset\":9,"));
}

static void a_poll_that_hangs_or_is_refused_is_told_and_begun_again(void **state)
{
    (void)state;
    assert_int_equal(asked("getUpdates")->timeout_ms, 15000);
    answer_status("getUpdates", CHELA_E_TIMEOUT, 0, "no answer within 15 s");
    assert_non_null(strstr(kit_published(k, CHELA_STATE)->items.v[0].value.s, "\"ok\":false"));
    kit_advance(k, 60000);
    answer_status("getUpdates", CHELA_E_RATE, 429,
                  "{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests\","
                  "\"parameters\":{\"retry_after\":100}}");
    kit_advance(k, 99000);
    assert_null(kit_request(k, CHELA_FN_HTTP));
    kit_advance(k, 2000);
    answer("getUpdates", "[]");
    assert_non_null(strstr(kit_published(k, CHELA_STATE)->items.v[0].value.s, "\"ok\":true"));
}

static void a_service_that_is_down_for_an_hour_is_asked_once_a_minute(void **state)
{
    unsigned tries = 0;
    (void)state;
    for (uint64_t ms = 0; ms < 3600000; ms += 1000) {
        if (kit_request(k, CHELA_FN_HTTP)) {
            answer_status("getUpdates", CHELA_E_NETWORK, 0, "no route to it");
            tries++;
        }
        kit_advance(k, 1000);
    }
    assert_in_range(tries, 40, 100);
    assert_non_null(strstr(kit_published(k, CHELA_STATE)->items.v[0].value.s, "no route to it"));
    kit_advance(k, 90000);
    answer("getUpdates", two_messages);
    assert_non_null(strstr(kit_published(k, CHELA_STATE)->items.v[0].value.s, "\"ok\":true"));
    kit_answer_ok(k, call_of(CHELA_FN_SUBMIT), "run", 3);
    kit_answer_ok(k, call_of(CHELA_FN_SUBMIT), "run", 3);
    kit_advance(k, 0);
    assert_true(says(asked("getUpdates"), "\"offset\":9,\"timeout\":5,"));
}

static void a_poll_that_is_not_held_is_not_begun_without_end(void **state)
{
    (void)state;
    answer("getUpdates", "[]");
    assert_null(kit_request(k, CHELA_FN_HTTP));
    kit_advance(k, 500);
    asked("getUpdates");
    kit_advance(k, 5000);
    answer("getUpdates", "[]");
    asked("getUpdates"); /* that one was */
}

static void media_by_reference_comes_as_a_blob(void **state)
{
    CHELA_ARGS(chela_fetch, f, 0);
    (void)state;
    f.reference = chela_s("file-1");
    kit_call(k, CHELA_FN_CHANNEL_FETCH, &f);
    kit_advance(k, 0);
    answer("getFile", "{\"file_id\":\"file-1\",\"file_path\":\"photos/1.jpg\"}");
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    assert_string_equal(q->url.s, "https://bot.test/file/bot${secret:token}/photos/1.jpg");
    assert_int_equal(q->decode, CHELA_FILE);
    assert_int_equal(q->limit, 1000);
    kit_answer_ok(k, q->h.call, "hash", 4);
    kit_advance(k, 0);
    assert_string_equal(kit_done(k)->text.s, "hash");
    assert_true(kit_done(k)->h.flags & CHELA_BLOB);
}

int main(void)
{
#define BOT_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        BOT_TEST(pictures_go_as_an_album_other_files_by_themselves),
        BOT_TEST(what_went_out_before_a_failure_is_told),
        BOT_TEST(a_group_that_has_moved_is_followed),
        BOT_TEST(a_preview_is_a_draft_of_one_number_until_one_is_refused),
        BOT_TEST(an_edit_that_changes_nothing_is_done),
        BOT_TEST(an_update_is_confirmed_only_when_it_is_stored),
        BOT_TEST(a_poll_that_hangs_or_is_refused_is_told_and_begun_again),
        BOT_TEST(a_service_that_is_down_for_an_hour_is_asked_once_a_minute),
        BOT_TEST(a_poll_that_is_not_held_is_not_begun_without_end),
        BOT_TEST(media_by_reference_comes_as_a_blob),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
