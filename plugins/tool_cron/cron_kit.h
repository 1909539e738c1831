/*
 * What the tests of the jobs and of the heartbeat share: an instance in the test kit, its end, what
 * was kept, methods and submits.
 */
#ifndef TOOL_CRON_KIT_H
#define TOOL_CRON_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "support/json.h"
#include "testkit/kit.h"

extern const struct chela_plugin KIT_PLUGIN;

static struct kit *k;
static bool encoded;
static struct chela_pair options[16];

static void open_kit(const char *type, size_t n)
{
    k = kit_open(&(struct kit_setup){.plugin = &KIT_PLUGIN,
                                     .type = type,
                                     .options = options,
                                     .option_count = n,
                                     .encoded = encoded});
    assert_non_null(k);
}

static void option(size_t i, const char *name, const char *value)
{
    options[i] = (struct chela_pair){chela_s(name), chela_s(value)};
}

static int set_up(void **state)
{
    encoded = *state != NULL;
    k = NULL;
    return 0;
}

static void let_go(uint32_t fn)
{
    const struct chela_arg *open;
    while ((open = kit_request(k, fn)))
        kit_answer_error(k, open->h.call, CHELA_E_CANCELLED, 0, "the end");
}

static int tear_down(void **state)
{
    (void)state;
    if (!k)
        return 0;
    CHELA_ARGS(chela_arg, a, 0);
    kit_call(k, CHELA_FN_STOP, &a);
    for (unsigned i = 0; i < 3; i++) {
        let_go(CHELA_FN_INVOKE);
        let_go(CHELA_FN_SUBMIT);
        let_go(CHELA_FN_KV_PUT);
        let_go(CHELA_FN_KV_DEL);
        let_go(CHELA_FN_KV_LIST);
    }
    return kit_close(k) == 0 ? 0 : -1;
}

static int64_t now(void)
{
    return (int64_t)kit_instance(k)->host->local->now_ms(kit_instance(k));
}

/* Ends what was kept: tests that don't look at the store. */
static void stored(void)
{
    const struct chela_key *put;
    while ((put = kit_request(k, CHELA_FN_KV_PUT)))
        kit_answer_ok(k, put->h.call, "", 0);
    const struct chela_key *list;
    while ((list = kit_request(k, CHELA_FN_KV_LIST)))
        kit_answer_ok(k, list->h.call, "", 0);
}

static const struct chela_done *method(const char *name, const char *params)
{
    CHELA_ARGS(chela_method, m, 0);
    m.name = chela_s(name);
    m.params = chela_s(params);
    kit_call(k, CHELA_FN_SERVICE_METHOD, &m);
    stored();
    return kit_done(k);
}

static const struct chela_submit *submitted(void)
{
    return kit_request(k, CHELA_FN_SUBMIT);
}

#endif
