/*
 * Drives the contract plugin for tests of calls (see host_kit.h).
 */
#include "host_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/host_table.h"
#include "host/isolate.h"
#include "host/loop.h"
#include "host/module.h"
#include "host/node.h"
#include "host/options.h"
#include "wire/functions.h"

struct kit kit;

/* ---- names ---- */

enum { NAMES = 1 << 16 };
static uint64_t ids[2][NAMES]; /* of the host, of the plugin */
static unsigned counts[2];

const char *kit_name(uint64_t id)
{
    static char names[4][24];
    static unsigned turn;
    char *name = names[turn++ % 4];
    unsigned kind = id >> 40 != 0;
    unsigned n = 0;
    while (n < counts[kind] && ids[kind][n] != id)
        n++;
    if (n == counts[kind]) {
        assert_true(n < NAMES);
        ids[kind][counts[kind]++] = id;
    }
    snprintf(name, 24, "%c%u", kind ? 'p' : 'h', n + 1);
    return name;
}

uint64_t kit_id(char kind, unsigned n)
{
    return n >= 1 && n <= counts[kind == 'p'] ? ids[kind == 'p'][n - 1] : 0;
}

/* ---- trace ---- */

void kit_note(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&kit.trace, format, ap);
    va_end(ap);
    buf_char(&kit.trace, '\n');
}

char *kit_trace(void)
{
    return buf_take(&kit.trace);
}

void kit_expect(const char *trace)
{
    char *got = kit_trace();
    assert_string_equal(got, trace);
    free(got);
}

/* ---- what the host sees ---- */

static void on_event(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_text *t = args;
    (void)owner;
    assert_int_equal(fn, CHELA_FN_TEXT);
    kit.texts++;
    kit.text_bytes += t->text.n;
    if (!kit.quiet_text)
        kit_note("%s text %.*s", kit_name(call), (int)t->text.n, t->text.s);
}

static void on_done(void *owner, uint64_t call, const struct chela_done *done,
                    const struct chela_decide *decide)
{
    (void)owner;
    assert_int_equal(done->h.call, call);
    if (decide)
        kit_note("%s verdict %u %.*s", kit_name(call), (unsigned)decide->verdict,
                 (int)decide->text.n, decide->text.s ? decide->text.s : "");
    else
        kit_note("%s done %u", kit_name(call), (unsigned)done->error);
}

const struct call_ops kit_ops = {on_event, on_done};

/* ---- what the plugin asks of the host ---- */

static void on_http(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_http *a = args;
    (void)in;
    kit_note("%s http %.*s for %s", kit_name(id), (int)a->url.n, a->url.s,
             a->parent ? kit_name(a->parent) : "none");
}

static void on_http_cancel(struct instance *in, uint64_t id)
{
    (void)in;
    kit_note("%s is cancelled", kit_name(id));
    if (kit.answer_cancel)
        call_answer_error(id, CHELA_E_CANCELLED, "");
}

static void on_send(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_ws_send *a = args;
    (void)in;
    kit_note("%s send %.*s", kit_name(id), (int)a->data.n, a->data.s);
}

/* "saw WHAT ID MORE": the id is replaced by the call's name */
static void on_publish(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_publish *a = args;
    char what[64] = "", more[512] = "";
    unsigned long long number = 0;
    (void)in;
    (void)id;
    assert_int_equal(a->items.n, 1);
    sscanf(a->items.v[0].value.s, "%63[a-z ]%llu %511[^\n]", what, &number, more);
    if (number > 1000000 || strncmp(what, "run", 3) == 0 || strncmp(what, "prepare", 7) == 0 ||
        strncmp(what, "cancel", 6) == 0)
        kit_note("saw %s%s%s%s", what, kit_name(number), more[0] ? " " : "", more);
    else
        kit_note("saw %s%llu%s%s", what, number, more[0] ? " " : "", more);
}

static void on_ended(struct instance *in, const char *why)
{
    (void)why;
    in->state = INSTANCE_FAILED;
    kit.ended++;
}

/* ---- instances ---- */

static struct options *read_options(const struct plugin_type *type, const char *const *pairs)
{
    static const struct node_source source = {.name = (char *)"test"};
    struct node *group = node_new(NODE_GROUP, NULL, &source, 0);
    for (; pairs && pairs[0]; pairs += 2) {
        struct node *n = node_new(NODE_TEXT, pairs[0], &source, 1);
        n->text = xstrdup(pairs[1]);
        node_append(group, n);
    }
    struct buf errors = {0};
    struct options_request request = {.table = type->iface.options,
                                      .stride = type->iface.option_size,
                                      .group = group,
                                      .prefix = "tools.contract"};
    struct options *o = options_read(&request, &errors, NULL);
    assert_string_equal(buf_text(&errors), "");
    buf_free(&errors);
    node_free(group);
    return o;
}

static bool opened;
static uint32_t opened_class;

static void on_opened(struct instance *in, uint32_t class, const char *text)
{
    (void)in;
    (void)text;
    opened = true;
    opened_class = class;
}

static struct plugin_type *find_type(const char *name)
{
    for (size_t i = 0; i < kit.plugin->type_count; i++)
        if (strcmp(kit.plugin->types[i].iface.type, name) == 0)
            return &kit.plugin->types[i];
    fail_msg("there is no type %s", name);
    return NULL;
}

struct instance *kit_instance_of(const char *type, const char *name, const char *const *pairs)
{
    struct instance *in = xcalloc(1, sizeof *in);
    in->name = xstrdup(name);
    in->inst = (struct chela_inst){.host = &host_table, .name = in->name};
    in->type = find_type(type);
    in->options = read_options(in->type, pairs);
    in->number = call_number();
    call_attach(in);
    local_attach(in);
    if (kit.place == KIT_HERE) {
        opened_class = CHELA_OK;
        if (in->type->iface.open)
            opened_class = (uint32_t)in->type->iface.open(&in->inst);
    } else {
        opened = false;
        isolate_instance_open(in, on_opened);
        while (!opened)
            loop_turn(true);
    }
    in->state = opened_class == CHELA_OK ? INSTANCE_RUNNING : INSTANCE_FAILED;
    return in;
}

struct instance *kit_instance(const char *name, const char *const *pairs)
{
    return kit_instance_of("contract", name, pairs);
}

static void on_closed(struct instance *in)
{
    (void)in;
    opened = false;
}

void kit_free(struct instance *in)
{
    if (kit.place == KIT_CHILD && in->number) {
        opened = true;
        isolate_instance_close(in, on_closed);
        while (opened)
            loop_turn(true);
    }
    if (kit.place == KIT_HERE && in->type->iface.close && in->state != INSTANCE_FAILED)
        in->type->iface.close(&in->inst);
    in->state = INSTANCE_CLOSED;
    call_end_all(in, CHELA_E_GONE, "closed");
    local_detach(in);
    call_detach(in);
    options_release(in->options);
    free(in->why);
    free(in->name);
    free(in);
}

void kit_open_plugin(enum kit_place place, const char *name)
{
    memset(&kit, 0, sizeof kit);
    memset(counts, 0, sizeof counts);
    kit.place = place;
    loop_open();
    call_open();
    call_handle(CHELA_FN_HTTP, on_http, on_http_cancel);
    call_handle(CHELA_FN_WS_SEND, on_send, NULL);
    call_handle(CHELA_FN_PUBLISH, on_publish, NULL);
    isolate_on_end(on_ended);
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    assert_non_null(build); /* make check sets it; by hand: the build's folder */
    setenv("CHELA_LIBEXEC_DIR", build, 1);
    struct error e = {0};
    char *path = xprintf("%s/tests/plugin/.libs/%s.so", build, name);
    kit.plugin = place == KIT_HERE ? module_open(path, &e) : isolate_open(path, &e);
    if (!kit.plugin)
        fail_msg("%s", e.text);
    free(path);
}

void kit_open(enum kit_place place)
{
    kit_open_plugin(place, "contract");
    kit.in = kit_instance("contract", NULL);
}

void kit_close(void)
{
    if (kit.in)
        kit_free(kit.in);
    if (kit.place == KIT_HERE)
        module_free(kit.plugin);
    isolate_close();
    while (waitpid(-1, NULL, 0) > 0)
        ; /* each child ends once it reads the end of its socket */
    call_close();
    buf_free(&kit.trace);
    assert_int_equal(loop_close(), 0);
    clock_fake_end();
}

/* ---- driving ---- */

void kit_wait(const char *line)
{
    size_t n = strlen(line);
    for (;;) {
        const char *at = strstr(buf_text(&kit.trace), line);
        if (at && at[n] == '\n' && (at == kit.trace.p || at[-1] == '\n'))
            return;
        loop_turn(true);
    }
}

void kit_tell(const char *format, ...)
{
    struct buf text = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    CHELA_ARGS(chela_send, send, 0);
    send.text = buf_view(&text);
    call_tell(kit.in, CHELA_FN_CHANNEL_TYPING, &send);
    buf_free(&text);
}

/* Takes a line out of the trace. */
static void cut(const char *line)
{
    size_t n = strlen(line) + 1;
    char *at = strstr(kit.trace.p, line);
    memmove(at, at + n, (size_t)(kit.trace.p + kit.trace.n - (at + n)) + 1);
    kit.trace.n -= n;
}

/* What the plugin says makes the host act, and that the plugin again: three rounds settle it. */
void kit_sync(void)
{
    static unsigned sync;
    char line[32];
    for (int i = 0; i < 3; i++) {
        kit_tell("sync %u", ++sync);
        snprintf(line, sizeof line, "saw sync %u", sync);
        kit_wait(line);
        cut(line);
    }
}

uint64_t kit_run(const char *text, uint64_t deadline_ms, uint64_t parent)
{
    CHELA_ARGS(chela_tool_run, run_args, 0);
    run_args.name = chela_s("contract");
    run_args.arguments = chela_s(text);
    uint64_t id =
        call_begin(kit.in, CHELA_FN_TOOL_RUN, &run_args, deadline_ms, parent, &kit_ops, NULL);
    kit_name(id);
    return id;
}

uint64_t kit_prepare(const char *text)
{
    CHELA_ARGS(chela_tool_run, run_args, 0);
    run_args.arguments = chela_s(text);
    uint64_t id = call_begin(kit.in, CHELA_FN_TOOL_PREPARE, &run_args, 0, 0, &kit_ops, NULL);
    kit_name(id);
    return id;
}
