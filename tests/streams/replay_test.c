/*
 * Replays recorded streams of real model APIs into a provider plugin: cut at every byte, directly
 * and through the encoder, the outcome is always the one that stands in tests/streams/golden/.
 * Where the same question was answered without streaming too, that answer has the same calls and
 * the same reason to stop. Prints a table: stream, bytes, cuts, result.
 *
 * Built once for each provider (local.mk sets PLUGIN, FOLDER, OWN and FORM; URI: which of the
 * llama.cpp server's recordings are for it; OPTIONS: of the instance; PREPARES: a request that asks
 * for the prompt comes first). The recordings stand outside of the project (CHELA_SHARED, else
 * ../shared): without them those of tests/streams/own/ are replayed, and the rest is skipped.
 * CHELA_TEST_GOLDEN=write writes the golden files anew, to be read before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "kit.h"
#include "net/sse.h"
#include "recording.h"
#include "support/json.h"

#define JOIN(a, b)         a##b
#define DESCRIPTOR(module) JOIN(module, _LTX_chela_plugin)
extern const struct chela_plugin DESCRIPTOR(PLUGIN);

/* Twins that were recorded for another question. */
#ifndef OTHER_TWINS
#define OTHER_TWINS ""
#endif
#ifndef OPTIONS
#define OPTIONS                                                                                    \
    {                                                                                              \
        CHELA_LIT("list_models"), CHELA_LIT("false")                                               \
    }
#endif

/* A body up to SMALL is also parted in two at each of its bytes; a larger one only fed in pieces of
 * 1 to 16 bytes, which parts it at each byte as well. */
enum { LINE_LIMIT = 16 * 1024 * 1024, SMALL = 4096, PIECES = 4 };

static const struct recording_form form = {FORM == CHELA_SSE, FOLDER};

/* ---- one replay ---- */

/* Recordings of others stay outside of the project, and so do their texts: a golden file holds
 * lengths and digests of them. Those of our own are written out. */
static bool digests;

static void put_text(FILE *out, const char *label, const char *text)
{
    uint64_t digest = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *p = text; *p; p++)
        digest = (digest ^ (unsigned char)*p) * 0x100000001b3u;
    if (digests)
        fprintf(out, "%s%zu bytes, %016" PRIx64 "\n", label, strlen(text), digest);
    else
        fprintf(out, "%s%s\n", label, text);
}

struct replay {
    struct kit *kit;
    uint64_t request;
};

static void sse_event(void *arg, struct chela_str name, struct chela_str data, struct chela_str id)
{
    struct replay *r = arg;
    (void)id;
    kit_http_event(r->kit, r->request, name.s, data.s, (size_t)data.n);
}

static void line_event(void *arg, struct chela_str line)
{
    struct replay *r = arg;
    kit_http_event(r->kit, r->request, "", line.s, (size_t)line.n);
}

static struct kit *begin(bool encoded, bool stream, struct replay *ret)
{
    static const struct chela_pair tools[] = {
        {CHELA_LIT("get_weather"), CHELA_LIT("{\"name\":\"get_weather\",\"description\":\"\","
                                             "\"parameters\":{\"type\":\"object\"}}")}};
    static const struct chela_pair message = {CHELA_LIT("user"), CHELA_LIT("{}")};
    static const struct chela_pair options[] = {OPTIONS};
    struct kit_setup setup = {.plugin = &DESCRIPTOR(PLUGIN),
                              .options = options,
                              .option_count = sizeof options / sizeof options[0],
                              .encoded = encoded};
    struct kit *k = kit_open(&setup);
    assert_non_null(k);
    CHELA_ARGS(chela_begin, b, 0);
    b.model = chela_s("model");
    b.params = chela_s(stream ? "{}" : "{\"stream\":false}");
    b.messages.v = &message;
    b.messages.n = 1;
    b.tools.v = tools;
    b.tools.n = 1;
    kit_call(k, CHELA_FN_PROVIDER_BEGIN, &b);
    const struct chela_http *request = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(request);
#ifdef PREPARES
    kit_answer_ok(k, request->h.call, PREPARES, strlen(PREPARES));
    request = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(request);
#endif
    assert_int_equal(request->decode, stream ? FORM : CHELA_BODY);
    ret->kit = k;
    ret->request = request->h.call;
    return k;
}

static void put_calls(FILE *out, struct kit *k)
{
    const char *name, *id;
    for (unsigned i = 0; i < 64; i++) {
        const char *arguments = kit_tool_call(k, i, &name, &id);
        json_object *parsed = NULL;
        if (!arguments)
            continue;
        if (!*arguments)
            arguments = "{}";
        bool whole = chela_json_parse(arguments, strlen(arguments), NULL, &parsed, NULL) == 0;
        fprintf(out, "call: %s%s ", name, whole ? "" : " (cut)");
        put_text(out, "", whole ? chela_json_text(parsed, NULL) : arguments);
        json_object_put(parsed);
    }
}

static char *outcome(struct kit *k)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    const struct chela_done *d = kit_done(k);
    const struct chela_usage *u = kit_usage(k);
    assert_non_null(d);
    if (*kit_thinking(k))
        put_text(out, "thinking: ", kit_thinking(k));
    if (*kit_text(k))
        put_text(out, "text: ", kit_text(k));
    put_calls(out, k);
    if (u)
        fprintf(out,
                "usage: in %" PRIu64 " out %" PRIu64 " cached %" PRIu64 " written %" PRIu64
                " reasoning %" PRIu64 "\n",
                u->in, u->out, u->cache_read, u->cache_write, u->reasoning);
    json_object *extra = NULL;
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &extra, NULL);
    const char *model = chela_json_string(extra, "model", NULL);
    fprintf(out, "stop: %s\n", chela_json_string(extra, "stop", NULL));
    if (model)
        fprintf(out, "model: %s\n", model);
    if (d->error != CHELA_OK) {
        fprintf(out, "error: %u ", d->error);
        put_text(out, "", d->text.s);
    }
    json_object_put(extra);
    fclose(out);
    return text;
}

/* ends: the stream came to its end; else the connection broke */
static void feed(struct replay *r, const char *body, size_t n, size_t piece, bool ends)
{
    struct sse sse;
    struct lines lines = {.line = line_event, .arg = r};
    sse_open(&sse, LINE_LIMIT, sse_event, r);
    lines_open(&lines, LINE_LIMIT, line_event, r);
    for (size_t i = 0; i < n; i += piece) {
        size_t k = n - i < piece ? n - i : piece;
        int failed =
            FORM == CHELA_SSE ? sse_feed(&sse, body + i, k) : lines_feed(&lines, body + i, k);
        assert_int_equal(failed, 0);
    }
    if (ends && FORM == CHELA_SSE)
        sse_end(&sse);
    else if (ends)
        lines_end(&lines);
    sse_close(&sse);
    lines_close(&lines);
}

static char *replay(const char *body, size_t n, size_t piece, bool encoded, unsigned status)
{
    struct replay r;
    struct kit *k = begin(encoded, true, &r);
    if (status < 400) {
        feed(&r, body, n, piece, true);
        kit_answer_ok(k, r.request, "", 0);
    } else {
        CHELA_ARGS(chela_done, d, 0);
        d.error = CHELA_E_OTHER;
        d.http_status = status;
        d.text = chela_sn(body, n);
        kit_answer(k, r.request, &d);
    }
    char *text = outcome(k);
    assert_int_equal(kit_close(k), 0);
    return text;
}

/* What the decoder makes of the body when it is parted at one place. */
static void collect_event(void *arg, struct chela_str name, struct chela_str data,
                          struct chela_str id)
{
    (void)id;
    fprintf(arg, "%s|%.*s\n", name.n ? name.s : "", (int)data.n, data.n ? data.s : "");
}

static void collect_line(void *arg, struct chela_str line)
{
    fprintf(arg, "%.*s\n", (int)line.n, line.s);
}

static char *decode(const char *body, size_t n, size_t cut)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct sse sse;
    struct lines lines;
    sse_open(&sse, LINE_LIMIT, collect_event, out);
    lines_open(&lines, LINE_LIMIT, collect_line, out);
    if (FORM == CHELA_SSE) {
        sse_feed(&sse, body, cut);
        sse_feed(&sse, body + cut, n - cut);
        sse_end(&sse);
    } else {
        lines_feed(&lines, body, cut);
        lines_feed(&lines, body + cut, n - cut);
        lines_end(&lines);
    }
    sse_close(&sse);
    lines_close(&lines);
    fclose(out);
    return text;
}

/* ---- the recordings ---- */

static void compare_golden(const char *folder, const char *name, const char *got)
{
    char path[1024];
    size_t n;
    const char *write = getenv("CHELA_TEST_GOLDEN");
    snprintf(path, sizeof path, "%s/tests/streams/golden/%s/%s.txt", recording_source(),
             strrchr(folder, '/') + 1, name);
    if (write && strcmp(write, "write") == 0) {
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
    }
    char *wanted = recording_read(path, &n);
    if (!wanted)
        fail_msg("%s is missing", path);
    assert_string_equal(got, wanted);
    free(wanted);
}

/* An answer that was not streamed. */
static char *read_whole(const char *folder, const char *name, const char *body, size_t n)
{
    char golden[1100];
    struct replay r;
    struct kit *k = begin(true, false, &r);
    kit_answer_ok(k, r.request, body, n);
    char *text = outcome(k);
    snprintf(golden, sizeof golden, "%s.whole", name);
    compare_golden(folder, golden, text);
    assert_int_equal(kit_close(k), 0);
    return text;
}

static void one_recording(const char *folder, const char *name)
{
    char path[1024];
    size_t n, cuts = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *body = recording_wire(path, &form, &n);
    assert_non_null(body);
    bool stream;
    unsigned status = recording_status(path, &stream);
    if (!stream && status < 400) {
        free(read_whole(folder, name, body, n));
        free(body);
        return;
    }
    char *whole = replay(body, n, n ? n : 1, false, status),
         *bytes = replay(body, n, 1, true, status);
    assert_string_equal(whole, bytes);
    for (size_t piece = 2; piece <= PIECES && status < 400; piece++) {
        char *pieces = replay(body, n, piece, piece % 2, status);
        assert_string_equal(whole, pieces);
        free(pieces);
    }
    char *events = decode(body, n, 0);
    for (size_t cut = 1; cut < n && n <= SMALL && status < 400; cut++, cuts++) {
        char *cut_events = decode(body, n, cut);
        if (strcmp(events, cut_events) != 0)
            fail_msg("%s differs when it is cut at byte %zu", name, cut);
        free(cut_events);
    }
    compare_golden(folder, name, whole);
    const char *stop = strstr(whole, "stop: "), *error = strstr(whole, "error: ");
    printf("# %-46s %6zu bytes %6zu cuts  same outcome, %.*s\n", name, n, cuts ? cuts : n,
           (int)strcspn(error ? error : stop, "\n"), error ? error : stop);
    free(events);
    free(bytes);
    free(whole);
    free(body);
}

static int is_stream(const struct dirent *e)
{
    return recording_is(e->d_name, ".chunks.txt") || recording_is(e->d_name, ".body") ||
           recording_is(e->d_name, ".sse") || recording_is(e->d_name, "-info.json");
}

/* The llama.cpp server speaks several APIs: one's recordings are for one provider each. */
static bool is_ours(const char *folder, const char *name)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_object *meta = recording_meta(path);
    const char *uri = chela_json_string(meta, "uri", NULL);
    bool ours = uri && strcmp(uri, URI) == 0;
    json_object_put(meta);
    return ours;
}

/* How many there were. ours: of a server with several APIs. */
static unsigned all_of(const char *folder, bool ours)
{
    struct dirent **list;
    unsigned count = 0;
    int n = scandir(folder, &list, is_stream, alphasort);
    for (int i = 0; i < n; i++) {
        if (!ours || is_ours(folder, list[i]->d_name)) {
            one_recording(folder, list[i]->d_name);
            count++;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return count;
}

static void recordings_give_the_same_outcome_however_they_are_cut(void **state)
{
    char folder[1024];
    (void)state;
    if (!recording_folder(folder, sizeof folder, FOLDER))
        skip();
    digests = true;
    assert_true(all_of(folder, strcmp(FOLDER, "llamacpp") == 0) > 0);
}

static void a_llama_server_is_understood_by_this_api_too(void **state)
{
    char folder[1024];
    (void)state;
    if (!recording_folder(folder, sizeof folder, "llamacpp") || strcmp(FOLDER, "llamacpp") == 0)
        skip();
    digests = true;
    if (all_of(folder, true) == 0)
        skip();
}

static void recordings_of_our_own_give_the_same_outcome_however_they_are_cut(void **state)
{
    char folder[1024];
    (void)state;
    snprintf(folder, sizeof folder, "%s/tests/streams/own/%s", recording_source(), OWN);
    digests = false;
    assert_true(all_of(folder, false) > 0);
}

/* ---- the same answer without streaming ---- */

/* The lines of an outcome that begin with a label, one after another. */
static char *lines_of(const char *outcome_text, const char *label)
{
    char *text = NULL;
    size_t n, k = strlen(label);
    FILE *out = open_memstream(&text, &n);
    for (const char *p = outcome_text; *p; p += strcspn(p, "\n") + 1)
        if (strncmp(p, label, k) == 0)
            fprintf(out, "%.*s\n", (int)strcspn(p, "\n"), p);
    fclose(out);
    return text;
}

static bool same(const char *one, const char *other, const char *label)
{
    char *a = lines_of(one, label), *b = lines_of(other, label);
    bool equal = strcmp(a, b) == 0;
    free(a);
    free(b);
    return equal;
}

/* The service was asked twice, so the words and their count may differ; what it does may not. */
static void one_twin(const char *folder, const char *name)
{
    char path[1400], twin[1400];
    size_t n, length;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(twin, sizeof twin, "%.*s.json", (int)(strlen(path) - strlen(".chunks.txt")), path);
    char *whole = recording_read(twin, &n);
    if (!whole)
        return;
    char *body = recording_wire(path, &form, &length),
         *streamed = replay(body, length, 16, false, 200),
         *read = read_whole(folder, name, whole, n);
    bool another = strstr(OTHER_TWINS, name) != NULL;
    printf("# %-46s twin: text %s, calls %s, usage %s, stop %s%s\n", name,
           same(streamed, read, "text") ? "equal" : "differs",
           same(streamed, read, "call") ? "equal" : "differ",
           same(streamed, read, "usage") ? "equal" : "differs",
           same(streamed, read, "stop") ? "equal" : "differs",
           another ? " (another question)" : "");
    assert_true(another || (same(streamed, read, "call") && same(streamed, read, "stop")));
    free(read);
    free(streamed);
    free(body);
    free(whole);
}

static int has_chunks(const struct dirent *e)
{
    return recording_is(e->d_name, ".chunks.txt");
}

static void an_answer_that_was_not_streamed_has_the_same_calls_and_the_same_end(void **state)
{
    char folder[1024];
    struct dirent **list;
    (void)state;
    if (!recording_folder(folder, sizeof folder, FOLDER))
        skip();
    digests = true;
    int n = scandir(folder, &list, has_chunks, alphasort);
    for (int i = 0; i < n; i++) {
        one_twin(folder, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

/* ---- what this rests on ---- */

static void it_is_said_what_was_recorded_and_what_was_not(void **state)
{
    char path[1024];
    size_t n = 0, k = strlen(FOLDER);
    const char *line;
    (void)state;
    snprintf(path, sizeof path, "%s/tests/streams/coverage.txt", recording_source());
    char *text = recording_read(path, &n);
    assert_non_null(text);
    for (line = text; line && (strncmp(line, FOLDER, k) != 0 || line[k] != ':');)
        if ((line = strchr(line, '\n')))
            line++;
    assert_non_null(line);
    printf("# %.*s\n", (int)strcspn(line, "\n"), line);
    free(text);
}

/* ---- streams that go wrong ---- */

static void a_stream_that_breaks_off_is_an_error_that_may_be_tried_again(void **state)
{
    char folder[1024], path[1200];
    size_t n;
    (void)state;
    snprintf(folder, sizeof folder, "%s/tests/streams/own/%s", recording_source(), OWN);
    snprintf(path, sizeof path, "%s/text.body", folder);
    char *body = recording_wire(path, &form, &n);
    assert_non_null(body);
    struct replay r;
    struct kit *k = begin(false, true, &r);
    feed(&r, body, n / 2, 7, false);
    kit_answer_ok(k, r.request, "", 0);
    assert_int_equal(kit_done(k)->error, CHELA_E_NETWORK);
    assert_true(kit_done(k)->h.flags & CHELA_RETRY);
    assert_int_equal(kit_close(k), 0);
    free(body);
}

static void something_that_is_not_json_is_a_protocol_error(void **state)
{
    struct replay r;
    (void)state;
    struct kit *k = begin(true, true, &r);
    kit_http_event(k, r.request, "message", "{\"half", 6);
    kit_http_event(k, r.request, "message", "{}", 2);
    kit_answer_ok(k, r.request, "", 0);
    assert_int_equal(kit_done(k)->error, CHELA_E_PROTOCOL);
    assert_int_equal(kit_close(k), 0);
}

static void a_cancelled_call_ends_once(void **state)
{
    struct replay r;
    (void)state;
    struct kit *k = begin(true, true, &r);
    const struct chela_http *request = kit_request(k, CHELA_FN_HTTP);
    kit_cancel(k, request->parent);
    assert_int_equal(kit_done(k)->error, CHELA_E_CANCELLED);
    assert_int_equal(kit_open_requests(k), 0);
    assert_int_equal(kit_close(k), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_of_our_own_give_the_same_outcome_however_they_are_cut),
        cmocka_unit_test(recordings_give_the_same_outcome_however_they_are_cut),
        cmocka_unit_test(a_llama_server_is_understood_by_this_api_too),
        cmocka_unit_test(an_answer_that_was_not_streamed_has_the_same_calls_and_the_same_end),
        cmocka_unit_test(a_stream_that_breaks_off_is_an_error_that_may_be_tried_again),
        cmocka_unit_test(something_that_is_not_json_is_a_protocol_error),
        cmocka_unit_test(a_cancelled_call_ends_once),
        cmocka_unit_test(it_is_said_what_was_recorded_and_what_was_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
