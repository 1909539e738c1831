/*
 * Random orders of begin, event, cancel, done, forget, answer, time and stop, against a model of
 * what the contract of calls says must be seen: the same in this process and in a child. The seed
 * is printed; the same one gives the same order.
 */
#include "host_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/loop.h"
#include "wire/functions.h"

enum { CALLS_MAX = 20000, LIVE_MAX = 12 };

enum state { OPEN, CANCELLING, ENDED };

struct model_call {
    char kind; /* 'h' or 'p' */
    unsigned n;
    enum state state;
    struct model_call *parent; /* NULL also once that has asked it to end */
    unsigned asked;            /* when it was cancelled, 0: never */
    bool forgotten;
};

static struct model_call calls[CALLS_MAX];
static unsigned call_total, host_total, plugin_total, asks;
static struct buf now, later; /* lines expected at once; and said by the plugin thereafter */
static uint64_t broken;

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

/* ---- the model ---- */

static struct model_call *model_add(char kind, struct model_call *parent)
{
    assert_true(call_total < CALLS_MAX);
    struct model_call *c = &calls[call_total++];
    *c = (struct model_call){kind, kind == 'h' ? ++host_total : ++plugin_total, OPEN, parent, 0,
                             false};
    return c;
}

static void model_ask(struct model_call *c);

static void model_ask_children(struct model_call *c)
{
    for (unsigned i = 0; i < call_total; i++)
        if (calls[i].parent == c && calls[i].state != ENDED) {
            calls[i].parent = NULL;
            model_ask(&calls[i]);
        }
}

static void model_remove(struct model_call *c)
{
    c->state = ENDED;
    model_ask_children(c);
}

static void model_answer(struct model_call *c, unsigned error)
{
    model_remove(c);
    buf_printf(&later, "saw done p%u %u tag 42\n", c->n, error);
}

static void model_ask(struct model_call *c)
{
    if (c->state != OPEN)
        return;
    c->state = CANCELLING;
    model_ask_children(c);
    c->asked = ++asks;
    if (c->kind == 'h') {
        buf_printf(&later, "saw cancel h%u\n", c->n);
        return;
    }
    buf_printf(&now, "p%u is cancelled\n", c->n);
    if (kit.answer_cancel)
        model_answer(c, CHELA_E_CANCELLED);
}

static void model_finish(struct model_call *c, unsigned error)
{
    model_remove(c);
    if (!c->forgotten)
        buf_printf(&now, "h%u done %u\n", c->n, error);
}

static void model_text(struct model_call *c, const char *text)
{
    if (c->kind == 'p' || c->state == ENDED)
        broken++;
    else if (c->state == OPEN && !c->forgotten)
        buf_printf(&now, "h%u text %s\n", c->n, text);
}

static void model_done(struct model_call *c, unsigned error)
{
    if (c->kind == 'p' || c->state == ENDED)
        broken++;
    else
        model_finish(c, error);
}

static void model_http(struct model_call *parent)
{
    struct model_call *c = model_add('p', NULL);
    if (parent && parent->state != OPEN) {
        model_answer(c, CHELA_E_CANCELLED);
        return;
    }
    c->parent = parent;
    if (parent)
        buf_printf(&now, "p%u http u for %c%u\n", c->n, parent->kind, parent->n);
    else
        buf_printf(&now, "p%u http u for none\n", c->n);
}

/* ---- choosing ---- */

static unsigned live_count(void)
{
    unsigned live = 0;
    for (unsigned i = 0; i < call_total; i++)
        live += calls[i].state != ENDED;
    return live;
}

/* Mostly a live one, else any that ever was; of that kind, or of any if kind is 0. */
static struct model_call *pick(char kind)
{
    struct model_call *fit[CALLS_MAX > 4096 ? 4096 : CALLS_MAX];
    unsigned n = 0;
    bool live = random_below(10) < 7;
    for (unsigned i = call_total; i-- > 0 && n < 4096;)
        if ((!kind || calls[i].kind == kind) && (!live || calls[i].state != ENDED))
            fit[n++] = &calls[i];
    return n ? fit[random_below(n)] : NULL;
}

static unsigned long long id_of(const struct model_call *c)
{
    return c ? (unsigned long long)kit_id(c->kind, c->n) : 0;
}

/* ---- one step: does it, and tells the model ---- */

static void step_begin(void)
{
    static const char *const scripts[] = {"",
                                          "text $ a\n",
                                          "http $ u\n",
                                          "done $ 0\n",
                                          "text $ a\ndone $ 7\ntext $ b\n",
                                          "http $ u\ndone $ 0\n"};
    struct model_call *parent = random_below(3) == 0 ? pick(0) : NULL;
    unsigned which = (unsigned)random_below(sizeof scripts / sizeof scripts[0]);
    kit_run(scripts[which], 0, id_of(parent));
    struct model_call *c = model_add('h', parent);
    if (parent && parent->state != OPEN) {
        c->parent = NULL;
        model_finish(c, CHELA_E_CANCELLED);
        return;
    }
    buf_printf(&now, "saw run h%u\n", c->n);
    switch (which) {
    case 1: model_text(c, "a"); break;
    case 2: model_http(c); break;
    case 3: model_done(c, 0); break;
    case 4:
        model_text(c, "a");
        model_done(c, 7);
        model_text(c, "b");
        break;
    case 5:
        model_http(c);
        model_done(c, 0);
        break;
    default: break;
    }
}

static void step_of_host(unsigned what)
{
    struct model_call *c = pick('h');
    if (!c)
        return;
    if (what == 0) {
        call_cancel(id_of(c));
    } else {
        call_forget(id_of(c));
        c->forgotten = true;
    }
    model_ask(c);
}

static void step_of_plugin(unsigned what)
{
    struct model_call *c = pick(0);
    unsigned error = (unsigned)random_below(3) * 3;
    if (what == 2) {
        kit_tell("http %llu u\n", id_of(c));
        model_http(c);
        return;
    }
    if (!c)
        return;
    if (what == 0) {
        kit_tell("text %llu x\n", id_of(c));
        model_text(c, "x");
    } else if (what == 1) {
        kit_tell("done %llu %u\n", id_of(c), error);
        model_done(c, error);
    } else if (what == 3) {
        kit_tell("cancel %llu\n", id_of(c));
        if (c->kind == 'h')
            broken += c->state != ENDED;
        else
            model_ask(c);
    } else {
        kit_tell("send %llu z\n", id_of(c));
        if (c->kind == 'h')
            broken += c->state != ENDED;
        else if (c->state == OPEN)
            buf_printf(&now, "p%u send z\n", c->n);
    }
}

static void step_of_handler(unsigned what)
{
    struct model_call *c = pick('p');
    if (!c)
        return;
    if (what == 0) {
        CHELA_ARGS(chela_http_event, event, 0);
        call_event(id_of(c), CHELA_FN_HTTP_EVENT, &event);
        if (c->state == OPEN)
            buf_printf(&later, "saw http p%u 0 tag 42 \n", c->n);
    } else {
        call_answer_error(id_of(c), CHELA_E_NETWORK, "");
        if (c->state != ENDED)
            model_answer(c, CHELA_E_NETWORK);
    }
}

/* Five seconds pass: what was cancelled before is ended, in the order of the cancels. */
static void step_time(void)
{
    clock_fake_advance(5000);
    for (;;) {
        struct model_call *first = NULL;
        for (unsigned i = 0; i < call_total; i++)
            if (calls[i].kind == 'h' && calls[i].state == CANCELLING &&
                (!first || calls[i].asked < first->asked))
                first = &calls[i];
        if (!first)
            break;
        model_finish(first, CHELA_E_GONE);
    }
    loop_turn(false);
    kit.in->state = INSTANCE_RUNNING;
}

static void step_end_all(void)
{
    call_end_all(kit.in, CHELA_E_GONE, "");
    for (unsigned i = 0; i < call_total; i++)
        if (calls[i].kind == 'p' && calls[i].state != ENDED) {
            if (calls[i].state == OPEN)
                buf_printf(&now, "p%u is cancelled\n", calls[i].n);
            calls[i].state = ENDED;
        }
    for (unsigned i = 0; i < call_total; i++)
        if (calls[i].kind == 'h' && calls[i].state != ENDED) {
            calls[i].state = ENDED;
            if (!calls[i].forgotten)
                buf_printf(&now, "h%u done 10\n", calls[i].n);
        }
}

static void step(void)
{
    uint64_t r = random_below(100);
    kit.answer_cancel = random_below(2) == 0;
    if (r < 20 && live_count() < LIVE_MAX)
        step_begin();
    else if (r < 35)
        step_of_host((unsigned)random_below(2));
    else if (r < 80)
        step_of_plugin((unsigned)random_below(5));
    else if (r < 94)
        step_of_handler((unsigned)random_below(2));
    else if (r < 98)
        step_time();
    else
        step_end_all();
}

/* ---- running ---- */

static void drop_line(enum log_level level, const char *who, const char *text)
{
    (void)level;
    (void)who;
    (void)text; /* thousands of breaks of the rules are meant here */
}

static void run_model(enum kit_place place, uint64_t seed, unsigned steps)
{
    print_message("# seed %llu, %u steps\n", (unsigned long long)seed, steps);
    state = seed;
    call_total = host_total = plugin_total = asks = 0;
    broken = 0;
    kit_open(place);
    clock_fake(1000000);
    log_divert(drop_line);
    for (unsigned i = 0; i < steps; i++) {
        step();
        kit_sync();
        buf_add(&now, later.p, later.n);
        char *got = kit_trace();
        if (strcmp(got, buf_text(&now)) != 0)
            fail_msg("step %u: expected\n%sgot\n%s", i, buf_text(&now), got);
        free(got);
        assert_int_equal(kit.in->broken_rules, broken);
        assert_int_equal(call_count(), live_count());
        buf_clear(&now);
        buf_clear(&later);
    }
    print_message("# %u calls of the host, %u of the plugin, %llu breaks of the rules\n",
                  host_total, plugin_total, (unsigned long long)broken);
    assert_true(host_total > steps / 20 && plugin_total > steps / 20 && broken > steps / 20);
    log_divert(NULL);
    kit_close();
    buf_free(&now);
    buf_free(&later);
}

static void calls_in_this_process_follow_the_model(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 8; seed++)
        run_model(KIT_HERE, seed * 7919, 1000);
}

static void calls_in_a_child_follow_the_model(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 2; seed++)
        run_model(KIT_CHILD, seed * 7919, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_this_process_follow_the_model),
        cmocka_unit_test(calls_in_a_child_follow_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
