/* The history of a session: what is sent of it, what is cut, what is summarised, and what it
 * costs. */
#include "tests/unit/agent_world.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agents.h"
#include "agent/compaction.h"
#include "agent/instructions.h"
#include "agent/transcript.h"

/* The linker leads the allocations of the agent through here (agent.mk). */
static uint64_t allocations;
void *__real_xmalloc(size_t n);
void *__wrap_xmalloc(size_t n);
void *__real_xcalloc(size_t count, size_t size);
void *__wrap_xcalloc(size_t count, size_t size);
void *__real_xrealloc(void *p, size_t n);
void *__wrap_xrealloc(void *p, size_t n);

void *__wrap_xmalloc(size_t n)
{
    allocations++;
    return __real_xmalloc(n);
}

void *__wrap_xcalloc(size_t count, size_t size)
{
    allocations++;
    return __real_xcalloc(count, size);
}

void *__wrap_xrealloc(void *p, size_t n)
{
    allocations++;
    return __real_xrealloc(p, n);
}

static uint64_t cost_of_a_turn(unsigned messages)
{
    world_open();
    fake_publish(world.mock, CHELA_MODELS, "huge", "{\"context\":100000000}");
    fake_fill(SESSION, messages, 20);
    world_submit("r1", "warm up", "\"model\":\"mock/huge\"");
    fake_run();
    unsigned rendered = world.rendered;
    allocations = 0;
    world_submit("r2", "measured", "\"model\":\"mock/huge\"");
    fake_run();
    uint64_t cost = allocations;
    assert_int_equal(world.rendered - rendered, 2); /* the answer before, and the question */
    assert_string_equal(fake_run_state("r2"), "DONE");
    world_close();
    return cost;
}

static void a_turns_cost_does_not_grow_with_the_history(void **state)
{
    (void)state;
    uint64_t small = cost_of_a_turn(10), large = cost_of_a_turn(3000);
    print_message("# allocations of a turn: %u at 10 messages, %u at 3,000\n", (unsigned)small,
                  (unsigned)large);
    assert_true(large <= small + 12);
}

static struct transcript *loaded;

static void keep(void *owner, struct transcript *t, const struct error *e)
{
    (void)owner;
    assert_null(e);
    loaded = t;
}

static struct transcript *load(const char *session)
{
    loaded = NULL;
    transcript_get(session, keep, NULL);
    fake_run();
    assert_non_null(loaded);
    return loaded;
}

static void append(struct transcript *t, const char *role, const char *part, unsigned bytes)
{
    char *filler = xmalloc(bytes + 1);
    memset(filler, 'f', bytes);
    filler[bytes] = '\0';
    CLEANUP(freep) char *body = xprintf("[%s,{\"type\":\"text\",\"text\":\"%s\"}]", part, filler);
    assert_int_equal(transcript_append(t, t->last + 1, role, body, NULL), 0);
    free(filler);
}

/* Random histories and budgets: what is kept never begins with results, and if a turn's begin can
 * be kept, it begins there. */
static void a_cut_never_parts_a_call_from_its_result(void **state)
{
    (void)state;
    uint64_t seed = 99;
    for (unsigned round = 0; round < 200; round++) {
        world_open();
        char session[32];
        snprintf(session, sizeof session, "agent:main:s%u", round);
        struct transcript *t = load(session);
        unsigned turns = 1 + round % 12;
        for (unsigned i = 0; i < turns; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            append(t, "user", "{\"type\":\"text\",\"text\":\"q\"}", (unsigned)(seed >> 50) % 900);
            for (unsigned k = 0; k < (seed >> 40) % 4; k++) {
                CLEANUP(freep)
                char *call = xprintf("{\"type\":\"toolCall\",\"id\":\"c%u.%u\","
                                     "\"name\":\"look\",\"arguments\":{}}",
                                     i, k);
                CLEANUP(freep)
                char *result = xprintf("{\"type\":\"toolResult\",\"callId\":\"c%u.%u\"}", i, k);
                append(t, "assistant", call, (unsigned)(seed >> 45) % 400);
                append(t, "tool", result, (unsigned)(seed >> 30) % 3000);
            }
            if (i + 1 < turns)
                append(t, "assistant", "{\"type\":\"text\",\"text\":\"a\"}", 100);
        }
        uint64_t all = transcript_tokens(t, 0);
        for (uint64_t budget = 1; budget < all + 100; budget += 1 + all / 37) {
            unsigned from = transcript_cut(t, budget);
            assert_true(from <= t->count);
            if (from == 0 || from == t->count)
                continue;
            assert_true(t->entries[from].role != ENTRY_TOOL);
            assert_true(transcript_tokens(t, from) <= budget);
            /* not further than needed: one turn more would not fit */
            if (t->entries[from].role == ENTRY_USER) {
                unsigned before = from;
                while (before > 0 && t->entries[--before].role != ENTRY_USER)
                    ;
                assert_true(transcript_tokens(t, before) > budget);
            }
        }
        transcript_release(t);
        world_close();
    }
}

static void the_question_is_sent_even_if_the_turn_does_not_fit(void **state)
{
    (void)state;
    world_open();
    fake_set("session.compaction.enabled", "0");
    fake_set("agents.defaults.context_tokens", "3000");
    fake_set("tools.output_limit", "100000");
    fake_fill(SESSION, 40, 500);
    world.tools_hang = true;
    for (unsigned i = 0; i < 4; i++)
        world_script((struct script){.calls = {{"", "look", "{}", false}}});
    world_say("r1", "the question itself");
    char *big = xmalloc(4001);
    memset(big, 'r', 4000);
    big[4000] = '\0';
    for (unsigned i = 0; i < 4; i++) {
        fake_done(world.tool_calls[i], CHELA_OK, big, "", 0, 0);
        fake_run();
    }
    free(big);
    assert_string_equal(fake_run_state("r1"), "DONE");
    for (unsigned i = 0; i < world.request_count; i++) {
        const char *q = world.requests[i];
        assert_int_equal(world_times(q, "the question itself"), 1);
        assert_int_equal(world_times(q, "\"toolCall\""), world_times(q, "\"toolResult\""));
    }
    assert_true(strlen(world.requests[4]) < 4 * 3000);
    world_close();
}

static void a_long_history_is_summarised_by_a_model(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.context_tokens", "8000");
    fake_fill(SESSION, 100, 500);
    world_script((struct script){.text = "Goals: a summary"});
    world_script((struct script){.text = "the answer"});
    world_say("r1", "question");
    assert_int_equal(world.request_count, 2);
    assert_non_null(strstr(world.requests[0], "<conversation>"));
    assert_non_null(strstr(world.requests[1], "Goals: a summary"));
    assert_non_null(strstr(world.requests[1], "question"));
    assert_true(world_heard("\"stream\":\"compaction\""));
    /* and the next turn begins with it, without another one */
    world_say("r2", "next");
    assert_int_equal(world.request_count, 3);
    assert_non_null(strstr(world.requests[2], "Goals: a summary"));
    world_close();
}

static void without_a_model_the_summary_comes_by_rule(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.context_tokens", "8000");
    fake_fill(SESSION, 100, 500);
    world_script((struct script){.error = CHELA_E_AUTH});
    world_say("r1", "question");
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_non_null(strstr(world.requests[1], "Earlier messages, shortened:"));
    world_close();
    world_open();
    fake_fill(SESSION, 30, 50);
    struct transcript *t = load(SESSION);
    char *a = compaction_fallback(t, 20), *b = compaction_fallback(t, 20);
    assert_string_equal(a, b); /* deterministic */
    assert_non_null(strstr(a, "Person: 18 w"));
    assert_null(strstr(a, "Person: 20 w"));
    free(a);
    free(b);
    transcript_release(t);
    world_close();
}

static void a_gap_in_the_history_is_an_error(void **state)
{
    (void)state;
    world_open();
    struct transcript *t = load(SESSION);
    struct error e = {0};
    assert_int_equal(transcript_append(t, t->last + 2, "user", "[]", &e), -1);
    assert_non_null(strstr(e.text, "message 2 follows 0"));
    transcript_release(t);
    world_close();
}

static void idle_sessions_give_their_memory_back(void **state)
{
    (void)state;
    world_open();
    fake_set("session.cache", "200000");
    for (unsigned i = 0; i < 20; i++) {
        char session[32];
        snprintf(session, sizeof session, "agent:main:s%u", i);
        fake_fill(session, 50, 400);
        transcript_release(load(session));
        assert_true(transcript_bytes() <= 200000);
    }
    assert_null(transcript_hot("agent:main:s0"));
    assert_non_null(transcript_hot("agent:main:s19"));
    world_close();
}

static void the_users_files_are_in_the_prompt_and_bounded(void **state)
{
    (void)state;
    world_open();
    CLEANUP(freep) char *workspace = agents_workspace("main");
    CLEANUP(freep) char *path = xprintf("%s/AGENTS.md", workspace);
    CLEANUP(freep) char *fifo = xprintf("%s/CLAUDE.md", workspace);
    CLEANUP(freep) char *broken = xprintf("%s/openclaw.md", workspace);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("Always be kind.\n", f);
    for (unsigned i = 0; i < 30000; i++)
        fputc('z', f);
    fclose(f);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* doesn't block */
    f = fopen(broken, "w");
    fputs("bad \xff", f);
    fclose(f);
    struct buf b = {0};
    instructions_files(&b, "main", workspace);
    assert_non_null(strstr(buf_text(&b), "<instructions file=\"AGENTS.md\">\nAlways be kind."));
    assert_non_null(strstr(b.p, "[... cut: 10"));
    assert_true(b.n < 21000);
    assert_null(strstr(b.p, "CLAUDE.md"));
    assert_null(strstr(b.p, "openclaw.md"));
    buf_free(&b);
    unlink(path);
    unlink(fifo);
    unlink(broken);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turns_cost_does_not_grow_with_the_history),
        cmocka_unit_test(a_cut_never_parts_a_call_from_its_result),
        cmocka_unit_test(the_question_is_sent_even_if_the_turn_does_not_fit),
        cmocka_unit_test(a_long_history_is_summarised_by_a_model),
        cmocka_unit_test(without_a_model_the_summary_comes_by_rule),
        cmocka_unit_test(a_gap_in_the_history_is_an_error),
        cmocka_unit_test(idle_sessions_give_their_memory_back),
        cmocka_unit_test(the_users_files_are_in_the_prompt_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
