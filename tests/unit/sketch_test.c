/*
 * Does the SDK carry what is hard? Six plugins of tests/plugin/sketch against services played here,
 * each in this process and in a child, with the same trace.
 */
#include "host_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/loop.h"
#include "wire/functions.h"

/* The newest open call of each kind that the plugin began. */
static uint64_t http_id, ws_id, submit_id, ask_id, kv_id, sign_id;

#define S(field) (int)a->field.n, a->field.s ? a->field.s : ""

static void on_http(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_http *a = args;
    (void)in;
    http_id = id;
    kit_note("http %.*s %.*s|%.*s", S(method), S(url), S(body));
}

static void on_ws_connect(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ws_connect *a = args;
    (void)in;
    ws_id = id;
    kit_note("connect %.*s", S(url));
}

static void on_ws_send(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ws_send *a = args;
    (void)in;
    if (a->kind == CHELA_WS_CLOSE)
        kit_note("hang up %u%s", (unsigned)a->code, id == ws_id ? "" : " of another one");
    else
        kit_note("sent %.*s", S(data));
}

static void on_submit(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_submit *a = args;
    (void)in;
    submit_id = id;
    kit_note("submit %.*s %.*s %.*s", S(event), S(chat), S(text));
}

static void on_ask(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ask *a = args;
    (void)in;
    ask_id = id;
    kit_note("ask %.*s within %u ms", S(text), (unsigned)a->timeout_ms);
}

static void on_kv(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *a = args;
    (void)in;
    kv_id = id;
    kit_note("kv %.*s=%.*s", S(key), S(value));
}

static void on_sign(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_sign *a = args;
    (void)in;
    sign_id = id;
    kit_note("sign %.*s %.*s|%.*s", S(algorithm), S(secret), S(data));
}

static void on_publish(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_publish *a = args;
    (void)in;
    (void)id;
    kit_note("publish %u revision %u: %u, first %.*s, last %.*s", (unsigned)a->what,
             (unsigned)a->revision, (unsigned)a->items.n, S(items.v[0].name),
             S(items.v[a->items.n - 1].name));
}

static void on_cancel(struct instance *in, uint64_t id)
{
    (void)in;
    kit_note("cancelled");
    call_answer_error(id, CHELA_E_CANCELLED, "");
}

/* ---- the host's side of calls ---- */

static void on_event(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    (void)owner;
    (void)call;
    if (fn == CHELA_FN_ROWS) {
        const struct chela_rows *a = args;
        kit_note("row %d %.*s", (int)a->values.v[0].i, S(values.v[1].s));
    } else {
        const struct chela_text *a = args;
        kit_note("text %.*s", S(text));
    }
}

static void on_done(void *owner, uint64_t call, const struct chela_done *a,
                    const struct chela_decide *decide)
{
    (void)call;
    if (decide)
        kit_note("%s decided %u: %.*s", (const char *)owner, (unsigned)decide->candidates.n,
                 (int)decide->candidates.v[0].name.n, decide->candidates.v[0].name.s);
    else if (a->http_status)
        kit_note("%s answered %u %.*s", (const char *)owner, (unsigned)a->http_status, S(text));
    else
        kit_note("%s ended %u %.*s", (const char *)owner, (unsigned)a->error, S(text));
}

static const struct call_ops ops = {on_event, on_done};

static uint64_t begin(const char *name, uint32_t fn, void *args)
{
    return call_begin(kit.in, fn, args, 0, 0, &ops, (void *)(uintptr_t)name);
}

static void start(void)
{
    CHELA_ARGS(chela_arg, a, 0);
    begin("start", CHELA_FN_START, &a);
}

/* The last line of the trace so far; everything is settled once it is there. */
static void expect(const char *trace)
{
    const char *last = trace + strlen(trace) - 1;
    while (last > trace && last[-1] != '\n')
        last--;
    char *line = xmemdup(last, strlen(last) - 1);
    kit_wait(line);
    free(line);
    loop_turn(false);
    kit_expect(trace);
}

static void answer(uint64_t id, uint32_t error, uint32_t status, const char *text)
{
    CHELA_ARGS(chela_done, a, id);
    a.error = error;
    a.http_status = status;
    a.text = chela_s(text);
    call_answer(id, &a);
}

static void open_type(enum kit_place place, const char *type, const char *const *options)
{
    kit_open_plugin(place, "sketch");
    call_handle(CHELA_FN_HTTP, on_http, on_cancel);
    call_handle(CHELA_FN_WS_CONNECT, on_ws_connect, on_cancel);
    call_handle(CHELA_FN_WS_SEND, on_ws_send, NULL);
    call_handle(CHELA_FN_SUBMIT, on_submit, NULL);
    call_handle(CHELA_FN_ASK, on_ask, on_cancel);
    call_handle(CHELA_FN_KV_GET, on_kv, NULL);
    call_handle(CHELA_FN_KV_PUT, on_kv, NULL);
    call_handle(CHELA_FN_SIGN, on_sign, NULL);
    call_handle(CHELA_FN_PUBLISH, on_publish, NULL);
    kit.in = kit_instance_of(type, type, options);
    assert_int_equal(kit.in->state, INSTANCE_RUNNING);
}

static void close_type(void)
{
    assert_int_equal(kit.in->broken_rules, 0);
    kit_close();
}

/* ---- a gateway ---- */

static void from_gateway(const char *line)
{
    CHELA_ARGS(chela_ws_event, e, 0);
    e.kind = CHELA_WS_TEXT;
    e.data = chela_s(line);
    call_event(ws_id, CHELA_FN_WS_EVENT, &e);
}

static void gateway(enum kit_place place)
{
    static const char *const options[] = {"token", "very-secret-token", NULL};
    open_type(place, "gateway", options);
    start();
    expect("connect wss://gateway\n");
    from_gateway("hello 400");                 /* long enough for a machine with much to do */
    expect("sent identify ${secret:token}\n"); /* the host fills it in */
    from_gateway("ready s1");
    from_gateway("message 7 m1 room hi");
    expect("start ended 0 \nsubmit m1 room hi\n");
    answer(submit_id, CHELA_OK, 0, "");
    expect("sent beat 7\n");
    from_gateway("ack");
    expect("sent beat 7\n");
    /* this second one is not acknowledged, so the connection is dead */
    expect("hang up 4000\n");
    answer(ws_id, CHELA_E_NETWORK, 0, "");
    expect("connect wss://gateway\n");
    from_gateway("hello 100000");
    expect("sent resume s1 7\n");
    from_gateway("message 8 m2 room again");
    expect("submit m2 room again\n");
    answer(submit_id, CHELA_E_CONFLICT, 0, "");

    CHELA_ARGS(chela_send, send, 0);
    send.chat = chela_s("https://service/room");
    send.text = chela_s("hello");
    begin("send", CHELA_FN_CHANNEL_SEND, &send);
    expect("http POST https://service/room|hello\n");
    answer(http_id, CHELA_OK, 200, "id9");
    expect("send ended 0 id9\n");
    uint64_t id = begin("second", CHELA_FN_CHANNEL_SEND, &send);
    expect("http POST https://service/room|hello\n");
    call_cancel(id); /* the plugin has no cancel of its own */
    expect("cancelled\nsecond ended 9 \n");

    CHELA_ARGS(chela_arg, a, 0);
    begin("stop", CHELA_FN_STOP, &a);
    expect("cancelled\nstop ended 0 \n");
    assert_int_equal(call_count(), 0);
    close_type();
}

/* ---- a poller ---- */

static void poller(enum kit_place place)
{
    open_type(place, "poller", NULL);
    start();
    expect("kv offset=\n");
    answer(kv_id, CHELA_OK, 0, "41");
    expect("start ended 0 \nhttp GET https://service/poll?offset=41|\n");
    answer(http_id, CHELA_OK, 200, "41 room one\n42 room two\n");
    expect("submit 41 room one\nsubmit 42 room two\n");
    uint64_t second = submit_id, first = submit_id - 1;
    answer(second, CHELA_E_CONFLICT, 0, ""); /* seen before */
    for (int i = 0; i < 5; i++)
        loop_turn(false);
    kit_expect(""); /* not while one of them isn't stored */
    answer(first, CHELA_E_BUSY, 0, "");
    expect("http GET https://service/poll?offset=41|\n"); /* the same again */
    answer(http_id, CHELA_OK, 200, "41 room one\n");
    expect("submit 41 room one\n");
    answer(submit_id, CHELA_OK, 0, "");
    expect("kv offset=42\nhttp GET https://service/poll?offset=42|\n");
    answer(kv_id, CHELA_OK, 0, "");
    answer(http_id, CHELA_OK, 200, ""); /* nothing came */
    expect("http GET https://service/poll?offset=42|\n");
    close_type();
}

/* ---- a webhook ---- */

static void webhook(enum kit_place place)
{
    static const char *const options[] = {"secret", "key-of-the-hook", NULL};
    open_type(place, "webhook", options);
    start();
    expect("publish 5 revision 1: 1, first /hooks/sketch, last /hooks/sketch\nstart ended 0 \n");
    struct chela_pair header = {chela_s("x-signature"), chela_s("61ff00")};
    CHELA_ARGS(chela_request, r, 0);
    r.method = chela_s("POST");
    r.path = chela_s("/hooks/sketch");
    r.body = chela_s("e1 hi  raw");
    r.headers = (struct chela_pairs){&header, 1};
    begin("good", CHELA_FN_SERVICE_REQUEST, &r);
    expect("sign hmac-sha256 ${secret:secret}|e1 hi  raw\n");
    CHELA_ARGS(chela_done, signature, sign_id);
    signature.text = chela_sn("a\xff\0", 3); /* raw bytes */
    call_answer(sign_id, &signature);
    expect("submit e1 hook hi\n");
    answer(submit_id, CHELA_OK, 0, "");
    expect("good answered 200 \n");

    begin("forged", CHELA_FN_SERVICE_REQUEST, &r);
    expect("sign hmac-sha256 ${secret:secret}|e1 hi  raw\n");
    answer(sign_id, CHELA_OK, 0, "abc");
    expect("forged answered 401 bad signature\n");
    close_type();
}

/* ---- tools that change ---- */

static void run_tool(const char *name)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s(name);
    r.arguments = chela_s("{}");
    begin(name, CHELA_FN_TOOL_RUN, &r);
}

static void changing(enum kit_place place)
{
    open_type(place, "changing", NULL);
    start();
    expect("publish 2 revision 1: 2, first switch, last old\nstart ended 0 \n");
    run_tool("switch");
    run_tool("old"); /* of the list that was frozen before */
    expect("text switching\npublish 2 revision 2: 3, first switch, last newer\n"
           "switch ended 0 switched\nold ended 14 the server has this tool no more\n");
    run_tool("new");
    expect("new ended 0 done\n");
    close_type();
}

/* ---- a router that asks ---- */

static uint64_t route(const char *name, const char *text)
{
    CHELA_ARGS(chela_facts, f, 0);
    f.text = chela_s(text);
    return begin(name, CHELA_FN_ROUTER_ROUTE, &f);
}

static void asking(enum kit_place place)
{
    open_type(place, "asking", NULL);
    route("first", "hello");
    expect("ask hello within 800 ms\n");
    uint64_t first = ask_id;
    route("second", "prove it");
    expect("ask prove it within 800 ms\n");
    answer(ask_id, CHELA_OK, 0, "large");
    expect("second decided 2: cloud/large\n");
    answer(first, CHELA_E_TIMEOUT, 0, "");
    expect("first decided 2: local/small\n");
    uint64_t third = route("third", "x");
    expect("ask x within 800 ms\n");
    call_cancel(third);
    expect("cancelled\nthird ended 9 \n");
    close_type();
}

/* ---- a store across a network ---- */

static void commit(const char *name, uint64_t id)
{
    struct chela_value batch[3] = {{.type = CHELA_V_OP, .i = 4},
                                   {.type = CHELA_V_TEXT, .s = chela_s("text")},
                                   {.type = CHELA_V_INT, .i = 12}};
    CHELA_ARGS(chela_batch, b, 0);
    b.id = id;
    b.durability = CHELA_BARRIER;
    b.partition = chela_s("p");
    b.ops = (struct chela_values){batch, 3};
    begin(name, CHELA_FN_STORE_COMMIT, &b);
}

static void row(const char *line)
{
    CHELA_ARGS(chela_http_event, e, 0);
    e.data = chela_s(line);
    call_event(http_id, CHELA_FN_HTTP_EVENT, &e);
}

static void netstore(enum kit_place place)
{
    open_type(place, "netstore", NULL);
    CHELA_ARGS(chela_store_open, open, 0);
    begin("open", CHELA_FN_STORE_OPEN_DB, &open);
    expect("open ended 0 stub 1\n");
    commit("first", 5);
    expect("http POST https://engine/commit|5 barrier op4 text 12\n");
    uint64_t first = http_id;
    commit("second", 6);
    expect("http POST https://engine/commit|6 barrier op4 text 12\n");
    answer(http_id, CHELA_OK, 200, ""); /* in any order */
    expect("second ended 0 \n");
    answer(first, CHELA_E_NETWORK, 0, "");
    expect("first ended 22 the connection was lost: ask again by the same id\n");
    commit("first again", 5);
    expect("http POST https://engine/commit|5 barrier op4 text 12\n");
    answer(http_id, CHELA_OK, 200, "");
    expect("first again ended 0 \n");
    commit("third", 7);
    expect("http POST https://engine/commit|7 barrier op4 text 12\n");
    answer(http_id, CHELA_E_OTHER, 409, "");
    expect("third ended 17 \n");

    CHELA_ARGS(chela_query, q, 0);
    q.statement = 3;
    uint64_t query = begin("query", CHELA_FN_STORE_QUERY, &q);
    expect("http POST https://engine/query|3\n");
    row("1 a");
    row("2 b");
    expect("row 1 a\nrow 2 b\n");
    call_cancel(query); /* the deadline of a reader */
    expect("cancelled\nquery ended 9 \n");
    close_type();
}

#define BOTH(name)                                                                                 \
    static void name##_here(void **unused)                                                         \
    {                                                                                              \
        (void)unused;                                                                              \
        name(KIT_HERE);                                                                            \
    }                                                                                              \
    static void name##_in_a_child(void **unused)                                                   \
    {                                                                                              \
        (void)unused;                                                                              \
        name(KIT_CHILD);                                                                           \
    }
BOTH(gateway)
BOTH(poller)
BOTH(webhook)
BOTH(changing)
BOTH(asking)
BOTH(netstore)

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gateway_here),  cmocka_unit_test(gateway_in_a_child),
        cmocka_unit_test(poller_here),   cmocka_unit_test(poller_in_a_child),
        cmocka_unit_test(webhook_here),  cmocka_unit_test(webhook_in_a_child),
        cmocka_unit_test(changing_here), cmocka_unit_test(changing_in_a_child),
        cmocka_unit_test(asking_here),   cmocka_unit_test(asking_in_a_child),
        cmocka_unit_test(netstore_here), cmocka_unit_test(netstore_in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
