/*
 * Calls that a model writes as text: each form is read however the text is cut; what tools no tool,
 * stands in an example or was cut off stays text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/textcall.h"

static const struct chela_naming naming = {.id_most = 64};

static struct chela_toolset *offered(struct chela_toolsets *kept)
{
    static const struct chela_pair tools[] = {
        {CHELA_LIT("get_weather"),
         CHELA_LIT("{\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"
                   "\"string\"},\"days\":{\"type\":\"integer\"}}}}")},
        {CHELA_LIT("cal.now"), CHELA_LIT("{}")}};
    CHELA_ARGS(chela_begin, b, 0);
    b.tools.v = tools;
    b.tools.n = 2;
    return chela_toolset_get(kept, &naming, &b);
}

/* "TEXT|calls" of a text that comes in pieces of that size. */
static char *read_in(const char *text, size_t piece, bool whole)
{
    struct chela_textcall t = {0};
    struct chela_toolsets kept = {0};
    struct chela_toolset *tools = offered(&kept);
    char *got = NULL;
    const char *part;
    size_t n, length = strlen(text), size;
    FILE *out = open_memstream(&got, &size);
    for (size_t i = 0; i < length; i += piece) {
        chela_textcall_feed(&t, tools, text + i, length - i < piece ? length - i : piece, &part,
                            &n);
        fwrite(part, 1, n, out);
    }
    json_object *calls = chela_textcall_end(&t, tools, whole, &part, &n);
    fwrite(part, 1, n, out);
    fprintf(out, "|%s", calls ? chela_json_text(calls, NULL) : "");
    fclose(out);
    json_object_put(calls);
    chela_textcall_free(&t);
    chela_toolset_put(tools);
    chela_toolsets_close(&kept);
    return got;
}

static void reads(const char *text, const char *wanted)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        char *got = read_in(text, piece, true);
        if (strcmp(got, wanted) != 0)
            fail_msg("in pieces of %zu: %s\ngot:    %s\nwanted: %s", piece, text, got, wanted);
        free(got);
    }
}

#define BERN "[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"}}]"

static void json_is_read(void **state)
{
    (void)state;
    reads("{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}", "|" BERN);
    reads("\n{\"name\":\"get_weather\",\"parameters\":\"{\\\"city\\\":\\\"Bern\\\"}\"}",
          "\n|" BERN);
    reads("```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n```",
          "|" BERN);
    reads("[{\"function\":{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"}}}]",
          "|" BERN);
    reads("{\"tool_calls\":[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"}}]}",
          "|" BERN);
}

static void tags_are_read(void **state)
{
    (void)state;
    reads("I look.\n<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"}}\n"
          "</tool_call>",
          "I look.\n|" BERN);
    reads("<function=get_weather>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n3\n"
          "</parameter>\n</function>",
          "|[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\",\"days\":3}}]");
    reads("<function_calls><invoke name=\"get_weather\"><parameter name=\"city\">7</parameter>"
          "</invoke></function_calls>",
          "|[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"7\"}}]");
    reads("[TOOL_CALLS]get_weather{\"city\":\"Bern\"}", "|" BERN);
    reads("[TOOL_CALLS][{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"}}]", "|" BERN);
    reads("<get_weather><city>Bern</city></get_weather>", "|" BERN);
    reads("<tool_call>{\"name\":\"cal.now\"}</tool_call>",
          "|[{\"name\":\"cal.now\",\"arguments\":{}}]");
}

static void what_names_no_tool_stays_text(void **state)
{
    static const char *const texts[] = {
        "{\"name\": \"Bern\", \"arguments\": {}}",
        "{\"name\": \"get_weather\"}",
        "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>",
        "a < b, and [1] <b>bold</b> <tool",
        "Write it so: ```\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>\n```",
        "<get_weather><city>Bern</get_weather>",
        "{\"temperature\": 7}",
        "[1, 2]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s|", texts[i]);
        reads(texts[i], wanted);
    }
}

static void a_call_that_was_cut_off_stays_text(void **state)
{
    static const char *const texts[] = {
        "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Be",
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}",
        "<function=get_weather><parameter=city>Bern</parameter>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *got = read_in(texts[i], 3, false);
        assert_int_equal(got[strlen(got) - 1], '|');
        assert_memory_equal(got, texts[i], strlen(texts[i]));
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(tags_are_read),
        cmocka_unit_test(what_names_no_tool_stays_text),
        cmocka_unit_test(a_call_that_was_cut_off_stays_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
