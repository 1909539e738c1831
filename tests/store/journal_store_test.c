/*
 * The journal on the real store: what is written comes back, conditions hold, what a crash left is
 * found, and search follows.
 */
/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/loop.h"
#include "store/bridge.h"

static char dir[64], option[96], plugin[512];
static const char *const options[] = {option, NULL};
static struct fake *store;
static struct answer a;

static void open_store(void)
{
    store = fake_open(plugin, options);
    assert_non_null(store);
    struct answer o = {0};
    journal_open(bridge_store(store), true, answer_done, &o);
    assert_int_equal(answer_wait(&o), CHELA_OK);
}

static void close_store(void)
{
    journal_close();
    fake_set_hooks(store, NULL);
    fake_close(store);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    snprintf(plugin, sizeof plugin, "%s/plugins/.libs/store_sqlite.so", build ? build : ".");
    snprintf(dir, sizeof dir, "/tmp/chela-journal.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(option, sizeof option, "path=%s/j.db", dir);
    memset(&a, 0, sizeof a);
    loop_open();
    open_store();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_store();
    unsigned left = loop_close();
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return left == 0 ? 0 : -1;
}

#define WAIT(call, class)                                                                          \
    do {                                                                                           \
        a.rows = 0;                                                                                \
        call;                                                                                      \
        uint32_t got = answer_wait(&a);                                                            \
        if (got != (class))                                                                        \
            print_message("# %s\n", a.text);                                                       \
        assert_int_equal(got, class);                                                              \
    } while (0)

static struct journal_message message(uint64_t seq, const char *role, const char *text)
{
    static char bodies[4][512];
    static unsigned turn;
    char *body = bodies[turn++ % 4];
    snprintf(body, sizeof bodies[0], "[{\"type\":\"text\",\"text\":\"%s\"}]", text);
    struct journal_message m = {.seq = seq, .role = role, .body = body, .at = 1000 + seq};
    static const struct spent spent = {.session = "agent:main:s",
                                       .channel = "cli",
                                       .sender = "me",
                                       .model = "demo/echo-1",
                                       .usage = {.in = 7, .out = 5, .cache_read = 3},
                                       .cost = 0.25,
                                       .local = true,
                                       .messages = 1,
                                       .at = 1000};
    if (strcmp(role, "assistant") == 0) {
        m.spent = &spent;
        m.model = "demo/echo-1";
        m.tokens_in = 10;
        m.tokens_out = 5;
        m.cost = 0.25;
    }
    return m;
}

static void accept(const char *id, const char *event)
{
    struct journal_message_in in = {
        "cli|me|chat", "message", event, 0, id, "agent:main:s", "main", "{\"text\":\"hi\"}", 500};
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_OK);
}

static struct journal_run *start(const char *id, uint64_t seq)
{
    struct journal_message u = message(seq, "user", "hello there");
    u.inbox = id;
    struct journal_run *r = journal_run_begin("agent:main:s", id);
    journal_run_state(r, "RECEIVED", 900);
    WAIT(journal_run_start(r, "main", 7, &u, 1, answer_done, &a), CHELA_OK);
    return r;
}

static void an_event_is_accepted_once(void **state)
{
    (void)state;
    accept("m1", "e1");
    struct journal_message_in in = {"cli|me|chat", "message", "e1", 0,  "m2",
                                    "elsewhere",   "main",    "{}", 600};
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_E_CONFLICT);
    assert_string_equal(a.text, "m1");
    in.version = 1; /* an edit of it */
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_OK);
}

static void a_message_is_consumed_once(void **state)
{
    (void)state;
    accept("m1", "e1");
    journal_run_end(start("m1", 1));
    struct journal_message u = message(2, "user", "again");
    u.inbox = "m1";
    struct journal_run *r = journal_run_begin("agent:main:s", "r2");
    WAIT(journal_run_start(r, "main", 7, &u, 1, answer_done, &a), CHELA_E_CONFLICT);
    journal_run_end(r);
    WAIT(journal_inbox_drop("agent:main:s", "m1", answer_done, &a), CHELA_E_CONFLICT);
}

static void a_whole_turn_is_there_afterwards(void **state)
{
    (void)state;
    accept("m1", "e1");
    struct journal_run *r = start("m1", 1);
    struct journal_message t = message(2, "assistant", "let me look"), u = message(3, "tool", "x"),
                           f = message(4, "assistant", "there you are");
    struct journal_call calls[2] = {{"c1", "read", "{\"path\":\"a\"}", "h1"},
                                    {"c2", "exec", "{\"command\":\"b\"}", "h2"}};
    struct journal_approval ask = {"s1-a", "c2", "{\"id\":\"s1-a\"}", "h2", 99999};
    struct journal_chunk chunk = {"m1:0", "{\"text\":\"there\"}", CHELA_SEND_QUERY};
    journal_run_state(r, "CALLING", 1002);
    WAIT(journal_attempt(r, 1, "demo/echo-1", "default", false, answer_done, &a), CHELA_OK);
    journal_attempt_end(r, 1, "ok", 12, 10, 5);
    journal_decision(r, "{\"kind\":\"route\",\"text\":\"why\"}", 1500);
    WAIT(journal_reply(r, &t, calls, 2, answer_done, &a), CHELA_OK);
    WAIT(journal_approval_ask(r, &ask, answer_done, &a), CHELA_OK);
    WAIT(journal_approvals(true, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_string_equal(a.row[0],
                        "s1-a|agent:main:s|m1|c2|{\"id\":\"s1-a\"}|h2|waiting|99999|null");
    WAIT(journal_call_start(r, "c2", "s1-a", "h2", false, answer_done, &a), CHELA_E_CONFLICT);
    journal_run_end(r);
    /* (a failed commit ends the chain; a new one takes its place, as after a restart) */
    r = journal_run_begin("agent:main:s", "m1");
    WAIT(journal_approval_decide("agent:main:s", "s1-a", "allow-once", "me", 1, answer_done, &a),
         CHELA_OK);
    WAIT(journal_approval_decide("agent:main:s", "s1-a", "deny", "you", 2, answer_done, &a),
         CHELA_E_CONFLICT);
    WAIT(journal_call_start(r, "c1", NULL, "h1", true, answer_done, &a), CHELA_OK);
    WAIT(journal_call_start(r, "c2", "s1-a", "h2", false, answer_done, &a), CHELA_OK);
    WAIT(journal_call_end(r, "c1", "COMPLETED", "{}", 3, answer_done, &a), CHELA_OK);
    WAIT(journal_call_end(r, "c2", "FAILED", "{}", 4, answer_done, &a), CHELA_OK);
    WAIT(journal_results(r, &u, 1, answer_done, &a), CHELA_OK);
    journal_run_state(r, "DONE", 1010);
    WAIT(journal_final(r, &f, &chunk, 1, "DONE", answer_done, &a), CHELA_OK);
    journal_run_end(r);
    WAIT(journal_chunk_state("agent:main:s", "m1", "m1:0", CHELA_SEND_QUERY, "SENT", "42",
                             answer_done, &a),
         CHELA_OK);
    WAIT(journal_history("agent:main:s", 1, 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 3);
    assert_non_null(strstr(a.row[0], "2|assistant|[{"));
    assert_non_null(strstr(a.row[0], "|m1|demo/echo-1|10|5|0.25|1002"));
    WAIT(journal_history_tail("agent:main:s", 4, 2, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 2);
    assert_true(a.row[0][0] == '3' && a.row[1][0] == '2');
    WAIT(journal_trace("m1", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1 + 1 + 3 + 4 + 1 + 2 + 1 + 1 + 1);
    assert_non_null(strstr(a.row[0], "inbox|{\"at\":500,\"id\":\"m1\""));
    assert_non_null(strstr(a.row[1], "state|{\"at\":900,\"state\":\"RECEIVED\"}"));
    WAIT(journal_trace("nothing", answer_row, answer_done, &a), CHELA_E_NOT_FOUND);
    WAIT(journal_usage(0, 5000, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_string_equal(a.row[0], "0|agent:main:s|cli|me|demo|echo-1|2|0|1|0|20|10|6|0.5");
    struct spent asked = {.session = "agent:main:s",
                          .channel = "cli",
                          .sender = "me",
                          .model = "demo/echo-1",
                          .usage = {.in = 1},
                          .unpriced = true,
                          .local = true};
    WAIT(journal_spent(&asked, answer_done, &a), CHELA_OK); /* without a message */
    WAIT(journal_usage(0, 5000, answer_row, answer_done, &a), CHELA_OK);
    assert_string_equal(a.row[0], "0|agent:main:s|cli|me|demo|echo-1|2|0|1|0|21|10|6|0.5");
}

static void nothing_starts_twice(void **state)
{
    (void)state;
    accept("m1", "e1");
    struct journal_run *r = start("m1", 1);
    struct journal_message t = message(2, "assistant", "x");
    struct journal_call call = {"c1", "exec", "{}", "h1"};
    WAIT(journal_reply(r, &t, &call, 1, answer_done, &a), CHELA_OK);
    WAIT(journal_call_start(r, "c1", NULL, "h1", false, answer_done, &a), CHELA_OK);
    WAIT(journal_call_start(r, "c1", NULL, "h1", false, answer_done, &a), CHELA_E_CONFLICT);
    journal_run_end(r);
}

static struct answer found[4];

static void found_inbox(void *owner, const struct journal_row *row)
{
    (void)owner;
    answer_row(&found[0], row);
}

static void found_run(void *owner, const struct journal_row *row)
{
    (void)owner;
    answer_row(&found[1], row);
}

static void found_call(void *owner, const struct journal_row *row)
{
    (void)owner;
    answer_row(&found[2], row);
}

static void found_chunk(void *owner, const struct journal_row *row)
{
    (void)owner;
    answer_row(&found[3], row);
}

static void what_a_crash_left_is_found(void **state)
{
    (void)state;
    static const struct journal_recovery all = {found_inbox, found_run, found_call, found_chunk};
    accept("m1", "e1");
    accept("m2", "e2");
    struct journal_run *r = start("m1", 1);
    struct journal_message t = message(2, "assistant", "x");
    struct journal_call calls[2] = {{"c1", "exec", "{}", "h1"}, {"c2", "read", "{}", "h2"}};
    struct journal_chunk draft = {"m1:0", "{}", CHELA_SEND_NEITHER};
    WAIT(journal_reply(r, &t, calls, 2, answer_done, &a), CHELA_OK);
    WAIT(journal_call_start(r, "c1", NULL, "h1", false, answer_done, &a), CHELA_OK);
    WAIT(journal_draft(r, &draft, answer_done, &a), CHELA_OK);
    journal_run_end(r);
    close_store();
    open_store();
    memset(found, 0, sizeof found);
    WAIT(journal_recover(&all, answer_done, &a), CHELA_OK);
    assert_int_equal(found[0].rows, 1);
    assert_string_equal(found[0].row[0], "m2|agent:main:s|main|{\"text\":\"hi\"}");
    assert_int_equal(found[1].rows, 1);
    assert_string_equal(found[1].row[0], "m1|agent:main:s|main|RECEIVED|7|[\"m1\"]");
    assert_int_equal(found[2].rows, 2);
    assert_string_equal(found[2].row[0], "m1|agent:main:s|c1|exec|{}|EXECUTING|1");
    assert_string_equal(found[2].row[1], "m1|agent:main:s|c2|read|{}|PENDING|0");
    assert_int_equal(found[3].rows, 1);
    /* a tool that may be repeated starts again; then the run is aborted, and nothing is left */
    r = journal_run_begin("agent:main:s", "m1");
    struct journal_message u = message(3, "tool", "interrupted");
    WAIT(journal_call_start(r, "c1", NULL, "h1", true, answer_done, &a), CHELA_OK);
    WAIT(journal_abort(r, &u, 1, answer_done, &a), CHELA_OK);
    journal_run_end(r);
    WAIT(journal_chunk_state("agent:main:s", "m1", "m1:0", CHELA_SEND_NEITHER, "UNKNOWN", NULL,
                             answer_done, &a),
         CHELA_OK);
    WAIT(journal_inbox_drop("agent:main:s", "m2", answer_done, &a), CHELA_OK);
    memset(found, 0, sizeof found);
    WAIT(journal_recover(&all, answer_done, &a), CHELA_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(found[i].rows, 0);
}

static void a_post_is_stored_once(void **state)
{
    (void)state;
    static const struct journal_recovery all = {found_inbox, found_run, found_call, found_chunk};
    const struct journal_chunk pieces[] = {{"post.k.0", "{}", CHELA_SEND_NEITHER},
                                           {"post.k.1", "{}", CHELA_SEND_NEITHER}};
    WAIT(journal_post("s", pieces, 2, answer_done, &a), CHELA_OK);
    WAIT(journal_chunk_state("s", JOURNAL_POST, "post.k.0", CHELA_SEND_NEITHER, "SENT", "1",
                             answer_done, &a),
         CHELA_OK);
    /* what was sent doesn't begin anew, and what waits isn't there twice */
    WAIT(journal_post("s", pieces, 2, answer_done, &a), CHELA_E_CONFLICT);
    WAIT(journal_post("s", pieces + 1, 1, answer_done, &a), CHELA_E_CONFLICT);
    memset(found, 0, sizeof found);
    WAIT(journal_recover(&all, answer_done, &a), CHELA_OK);
    assert_int_equal(found[3].rows, 1);
    assert_non_null(strstr(found[3].row[0], "post.k.1"));
}

static void sessions_are_patched_listed_reset_and_deleted(void **state)
{
    (void)state;
    WAIT(journal_session_patch("agent:main:s", "{\"title\":\"\xc3\x84pfel 100%\",\"model\":\"x\"}",
                               answer_done, &a),
         CHELA_OK);
    WAIT(journal_session_patch("agent:main:s", "{\"model\":null,\"agent\":\"main\"}", answer_done,
                               &a),
         CHELA_OK);
    WAIT(journal_session_patch("other", "[]", answer_done, &a), CHELA_E_ARGS);
    WAIT(journal_session_patch("other", "{", answer_done, &a), CHELA_E_ARGS);
    WAIT(journal_session_patch("b", "{}", answer_done, &a), CHELA_OK);
    WAIT(journal_session_get("agent:main:s", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_non_null(
        strstr(a.row[0], "|main|{\"title\":\"\xc3\x84pfel 100%\",\"agent\":\"main\"}|"));
    assert_non_null(strstr(a.row[0], "|1|1|0||0"));
    WAIT(journal_session_list(0, NULL, "\xc3\xa4PFEL", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    WAIT(journal_session_list(0, NULL, "100%", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    WAIT(journal_session_list(0, NULL, "1%0", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
    WAIT(journal_session_list(0, NULL, "", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 2);
    WAIT(journal_session_list(0, NULL, "", 1, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    accept("m1", "e1");
    journal_run_end(start("m1", 1));
    WAIT(journal_compaction("agent:main:s", 1, "they greeted", 1, answer_done, &a), CHELA_OK);
    WAIT(journal_session_get("agent:main:s", answer_row, answer_done, &a), CHELA_OK);
    assert_non_null(strstr(a.row[0], "|1|1|1|they greeted|1"));
    WAIT(journal_session_reset("agent:main:s", "new", 5000, answer_done, &a), CHELA_OK);
    WAIT(journal_session_get("agent:main:s", answer_row, answer_done, &a), CHELA_OK);
    assert_non_null(strstr(a.row[0], "|5000|2|2|1||0"));
    WAIT(journal_compaction("agent:main:s", 1, "too late", 1, answer_done, &a), CHELA_E_CONFLICT);
    WAIT(journal_session_delete("agent:main:s", answer_done, &a), CHELA_OK);
    WAIT(journal_session_get("agent:main:s", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
    WAIT(journal_history("agent:main:s", 0, 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
    /* the event stays known: it was answered once */
    struct journal_message_in in = {"cli|me|chat",  "message", "e1", 0,  "m9",
                                    "agent:main:s", "main",    "{}", 500};
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_E_CONFLICT);
}

static void search_follows_the_messages(void **state)
{
    (void)state;
    accept("m1", "e1");
    struct journal_run *r = start("m1", 1);
    struct journal_message f = message(2, "assistant", "\xe4\xbb\x8a\xe5\xa4\xa9 sunny weather");
    WAIT(journal_final(r, &f, NULL, 0, "DONE", answer_done, &a), CHELA_OK);
    journal_run_end(r);
    WAIT(journal_search("weather", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0); /* not yet */
    WAIT(upkeep_index(answer_done, &a), CHELA_OK);
    WAIT(journal_search("Weather \xe4\xbb\x8a\xe5\xa4\xa9", 10, answer_row, answer_done, &a),
         CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_string_equal(a.row[0],
                        "agent:main:s|2|assistant|\xe4\xbb\x8a\xe5\xa4\xa9 sunny weather|1002");
    WAIT(upkeep_index(answer_done, &a), CHELA_OK); /* nothing new */
    WAIT(journal_search("hello", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    WAIT(journal_session_delete("agent:main:s", answer_done, &a), CHELA_OK);
    WAIT(journal_search("weather", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
    accept("m2", "e2"); /* numbers are not reused: it is indexed, too */
    journal_run_end(start("m2", 1));
    WAIT(upkeep_index(answer_done, &a), CHELA_OK);
    WAIT(journal_search("hello", 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
}

static void documents_of_a_space_are_found_by_all_or_any_words(void **state)
{
    struct chela_pair parts[] = {{CHELA_LIT("1"), CHELA_LIT("the cat sat")},
                                 {CHELA_LIT("5"), CHELA_LIT("a dog ran")}};
    struct chela_pairs all = {parts, 2}, first = {parts, 1}, none = {NULL, 0};
    (void)state;
    WAIT(journal_index("memory/a", "notes.md", 7, all, answer_done, &a), CHELA_OK);
    WAIT(journal_index("memory/b", "other.md", 8, first, answer_done, &a), CHELA_OK);
    WAIT(journal_index_search("memory/a", "dog cat", false, 10, answer_row, answer_done, &a),
         CHELA_OK);
    assert_int_equal(a.rows, 0);
    WAIT(journal_index_search("memory/a", "dog cat", true, 10, answer_row, answer_done, &a),
         CHELA_OK);
    assert_int_equal(a.rows, 2);
    WAIT(journal_index("memory/a", "notes.md", 9, first, answer_done, &a), CHELA_OK);
    WAIT(journal_index_search("memory/a", "dog", false, 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
    WAIT(journal_index_search("memory/a", "cat", false, 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_int_equal(strncmp(a.row[0], "notes.md|1|9|", 13), 0);
    WAIT(journal_index("memory/a", "notes.md", 9, none, answer_done, &a), CHELA_OK);
    WAIT(journal_index_search("memory/a", "cat", false, 10, answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
}

static void words_come_from_text_parts(void **state)
{
    (void)state;
    struct buf b = {0};
    upkeep_text("[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"thinking\",\"text\":\"no\"},"
                "{\"type\":\"image\",\"hash\":\"no\"},{\"type\":\"text\",\"text\":\"t\\u0000wo\"}]",
                &b);
    assert_string_equal(buf_text(&b), "one\nt wo");
    buf_clear(&b);
    upkeep_text("\"plain\"", &b);
    assert_string_equal(buf_text(&b), "plain");
    buf_clear(&b);
    upkeep_text("no json", &b);
    assert_int_equal(b.n, 0);
    buf_free(&b);
}

static void old_rows_go(void **state)
{
    (void)state;
    const uint64_t day = 24 * 3600 * 1000;
    accept("m1", "e1");
    accept("m2", "e2");
    journal_run_end(start("m1", 1));
    WAIT(upkeep_purge(10 * day, answer_done, &a), CHELA_OK);
    struct journal_message_in in = {"cli|me|chat",  "message", "e1", 0,  "m3",
                                    "agent:main:s", "main",    "{}", 500};
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_E_CONFLICT);
    WAIT(upkeep_purge(40 * day, answer_done, &a), CHELA_OK);
    WAIT(journal_inbound(&in, answer_done, &a), CHELA_OK);
    static const struct journal_recovery all = {.inbox = found_inbox};
    memset(found, 0, sizeof found);
    WAIT(journal_recover(&all, answer_done, &a), CHELA_OK);
    assert_int_equal(found[0].rows, 2); /* m2 was never consumed: it stays */
}

static void plugins_keep_values(void **state)
{
    (void)state;
    WAIT(journal_kv_put("telegram/a", "offset", chela_sn("1\0002", 3), true, answer_done, &a),
         CHELA_OK);
    WAIT(journal_kv_put("telegram/a", "offset", chela_s("3"), false, answer_done, &a), CHELA_OK);
    WAIT(journal_kv_put("telegram/a", "off", chela_s(""), false, answer_done, &a), CHELA_OK);
    WAIT(journal_kv_put("telegram/a", "other", chela_s("x"), false, answer_done, &a), CHELA_OK);
    WAIT(journal_kv_put("telegram/b", "offset", chela_s("9"), false, answer_done, &a), CHELA_OK);
    WAIT(journal_kv_get("telegram/a", "offset", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_string_equal(a.row[0], "3");
    WAIT(journal_kv_list("telegram/a", "off", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 2);
    assert_string_equal(a.row[0], "off|");
    WAIT(journal_kv_list("telegram/a", "", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 3);
    WAIT(journal_kv_delete("telegram/a", "offset", answer_done, &a), CHELA_OK);
    WAIT(journal_kv_get("telegram/a", "offset", answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
}

static size_t blob_length;

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    blob_length = data.n;
    answer_done(owner, e);
}

static void blobs_are_kept_by_their_hash(void **state)
{
    (void)state;
    char hash[65], *data = xcalloc(1, 200000);
    WAIT(journal_blob_put(chela_sn(data, 200000), hash, answer_done, &a), CHELA_OK);
    assert_int_equal(strlen(hash), 64);
    WAIT(journal_blob_get(hash, blob_came, &a), CHELA_OK);
    assert_int_equal(blob_length, 200000);
    hash[0] = hash[0] == '0' ? '1' : '0';
    WAIT(journal_blob_get(hash, blob_came, &a), CHELA_E_NOT_FOUND);
    free(data);
}

static void the_allow_list_is_kept(void **state)
{
    (void)state;
    WAIT(journal_allow("cli|me|x|main", "tool:read", "me", 1, answer_done, &a), CHELA_OK);
    WAIT(journal_allow("cli|me|x|main", "tool:read", "me", 2, answer_done, &a), CHELA_OK);
    WAIT(journal_allow_list(answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 1);
    assert_string_equal(a.row[0], "cli|me|x|main|tool:read|me|2");
    WAIT(journal_allow_remove("cli|me|x|main", "tool:read", answer_done, &a), CHELA_OK);
    WAIT(journal_allow_list(answer_row, answer_done, &a), CHELA_OK);
    assert_int_equal(a.rows, 0);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_event_is_accepted_once),
        STORE_TEST(a_message_is_consumed_once),
        STORE_TEST(a_whole_turn_is_there_afterwards),
        STORE_TEST(nothing_starts_twice),
        STORE_TEST(what_a_crash_left_is_found),
        STORE_TEST(a_post_is_stored_once),
        STORE_TEST(sessions_are_patched_listed_reset_and_deleted),
        STORE_TEST(search_follows_the_messages),
        STORE_TEST(documents_of_a_space_are_found_by_all_or_any_words),
        STORE_TEST(words_come_from_text_parts),
        STORE_TEST(old_rows_go),
        STORE_TEST(plugins_keep_values),
        STORE_TEST(blobs_are_kept_by_their_hash),
        STORE_TEST(the_allow_list_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
