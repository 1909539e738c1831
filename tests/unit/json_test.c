/*
 * The JSON wrapper: what json-c lets through and we don't, what the getters answer, what is
 * printed, and strings that a stream has cut at every place. The suite of others is read from
 * CHELA_SHARED and skipped, visibly, without it.
 */
#include "support/json.h"
#include "tests/unit/shared.h"

#include <dirent.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static json_object *parsed(const char *text)
{
    json_object *value = NULL;
    struct chela_json_error error;
    if (chela_json_parse(text, strlen(text), NULL, &value, &error) < 0)
        fail_msg("%s: %s", text, error.text);
    return value;
}

static void refused_n(const char *text, size_t length, const struct chela_json_limits *limits,
                      const char *why)
{
    struct chela_json_error error = {0};
    json_object *value = (json_object *)&error;
    if (chela_json_parse(text, length, limits, &value, &error) == 0)
        fail_msg("accepted: %s", text);
    assert_ptr_equal(value, &error);
    if (!strstr(error.text, why))
        fail_msg("%s: '%s' should say '%s'", text, error.text, why);
}

static void refused(const char *text, const char *why)
{
    refused_n(text, strlen(text), NULL, why);
}

static void same_text(const char *text, const char *wanted)
{
    json_object *value = parsed(text);
    assert_string_equal(chela_json_text(value, NULL), wanted);
    json_object_put(value);
}

static void what_json_c_lets_through_is_refused(void **state)
{
    (void)state;
    refused("{'a':1}", "column 2: expected a key in double quotes, found '''");
    refused("['a']", "expected a value, found '''");
    refused("[NaN]", "expected a value, found 'N'");
    refused("[-NaN]", "a digit");
    refused("[Infinity]", "expected a value");
    refused("[-Infinity]", "expected a digit");
    refused("[\"a\tb\"]", "control character");
    refused("[\"a\nb\"]", "control character");
    refused("[\"\xff\"]", "UTF-8");
    refused("[\"\xc0\x80\"]", "UTF-8");
    refused("[\"\xed\xa0\x80\"]", "UTF-8");
    refused("[\"\xf4\x90\x80\x80\"]", "UTF-8");
    refused("[\"\xe2\x82\"]", "UTF-8");
    refused("[\"\\ud83d\"]", "surrogate half");
    refused("[\"\\ude00\\ud83d\"]", "surrogate half");
    refused("[\"\\ud83dx\\ude00\"]", "surrogate half");
    refused("{\"a\":1,\"b\":2,\"a\":3}", "column 14: key \"a\" appears twice");
    refused("{\"a\":1,\"\\u0061\":3}", "key \"a\" appears twice");
    refused("[{\"x\":{\"k\":1,\n\"k\":1}}]", "line 2, column 1: key \"k\"");
    refused("{\"a\\u0000b\":1}", "NUL");
    refused("[1,]", "expected a value");
    refused("{\"a\":1,}", "expected a key");
    refused("[01]", "can't begin with 0");
    refused("[1.]", "digit after the point");
    refused("[.5]", "expected a value");
    refused("[+1]", "expected a value");
    refused("[1e]", "exponent");
    refused("TRUE", "expected a value");
    refused("nul", "expected a value");
    refused("1 // one", "the end of the text");
    refused("/* one */ 1", "expected a value");
    refused("\xef\xbb\xbf{}", "byte order mark");
    refused("[1]]", "the end of the text");
    refused("", "the text ends");
    refused("  ", "the text ends");
    refused("[\"abc", "ends inside a string");
    refused("[\"abc\\", "ends inside a string");
    refused("[\"\\u12", "ends inside a string");
    refused("[\"\\u12\"]", "four hexadecimal");
    refused("[\"\\x\"]", "no escape");
    refused_n("[1]\0", 4, NULL, "found byte 0x00");
    refused_n("[\"a\\\0\"]", 7, NULL, "no escape");
}

static void a_duplicate_key_is_shown_printable_and_bounded(void **state)
{
    (void)state;
    char text[1200], key[500];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    snprintf(text, sizeof text, "{\"%s\":1,\"%s\":2}", key, key);
    refused(text, "kkk...\" appears twice");
    refused("{\"\\u001b[2J\":1,\"\\u001b[2J\":1}", "key \"?[2J\" appears twice");
}

static void numbers_keep_their_value_or_their_writing(void **state)
{
    (void)state;
    same_text("[0,-0,-0.0,1.0,0.1,1E2,1e-400]", "[0,-0,-0.0,1.0,0.1,1E2,1e-400]");
    same_text("[9223372036854775807,-9223372036854775808,18446744073709551615]",
              "[9223372036854775807,-9223372036854775808,18446744073709551615]");
    same_text("[18446744073709551616,-9223372036854775809,123456789012345678901234567890]",
              "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]");
    refused("[1e400]", "beyond the range");
    refused("[-1e400]", "beyond the range");
    same_text("12", "12");
    same_text("-7", "-7");
    same_text(" 1.5 ", "1.5");
    char many[400];
    memset(many, '9', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    refused(many, "beyond the range");
    many[300] = '\0';
    same_text(many, many);
}

static void integers_are_never_rounded_or_saturated(void **state)
{
    (void)state;
    json_object *list = parsed("[5, 5.0, 5.5, 18446744073709551615, 9223372036854775807,"
                               " 1e3, 1e300, \"5\", true, null, -0, 9223372036854775808]");
    int64_t number = 1;
    assert_true(chela_json_as_int(chela_json_at(list, 0), &number) && number == 5);
    assert_true(chela_json_as_int(chela_json_at(list, 1), &number) && number == 5);
    assert_false(chela_json_as_int(chela_json_at(list, 2), &number));
    assert_false(chela_json_as_int(chela_json_at(list, 3), &number));
    assert_true(chela_json_as_int(chela_json_at(list, 4), &number) && number == INT64_MAX);
    assert_true(chela_json_as_int(chela_json_at(list, 5), &number) && number == 1000);
    for (size_t i = 6; i < 10; i++)
        assert_int_equal(chela_json_int_or(chela_json_at(list, i), -9), -9);
    assert_int_equal(chela_json_int_or(chela_json_at(list, 10), -9), 0);
    assert_int_equal(chela_json_int_or(chela_json_at(list, 11), -9), -9);
    assert_true(chela_json_double_or(chela_json_at(list, 3), 0) == 18446744073709551615.0);
    assert_true(chela_json_double_or(chela_json_at(list, 2), 0) == 5.5);
    assert_true(chela_json_double_or(chela_json_at(list, 7), 2.5) == 2.5);
    json_object_put(list);
}

static void depth_has_a_limit_and_a_default(void **state)
{
    (void)state;
    char text[5000];
    for (size_t depth = 1; depth < 2000; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct chela_json_limits limits = {.depth = (unsigned)(depth % 7 == 0 ? 5000 : 0)};
        size_t allowed = limits.depth ? CHELA_JSON_MAX_DEPTH : CHELA_JSON_DEPTH;
        if (depth > allowed) {
            refused_n(text, depth * 2, &limits, "nested too deeply");
            continue;
        }
        json_object *value = NULL;
        assert_int_equal(chela_json_parse(text, depth * 2, &limits, &value, NULL), 0);
        json_object_put(value);
    }
    struct chela_json_limits two = {.depth = 2};
    refused_n("{\"a\":[{}]}", 10, &two, "nested too deeply");
    json_object *value = NULL;
    assert_int_equal(chela_json_parse("[{},[],{}]", 10, &two, &value, NULL), 0);
    json_object_put(value);
}

static void size_and_memory_have_limits(void **state)
{
    (void)state;
    struct chela_json_limits small = {.size = 5};
    refused_n("[1,22]", 6, &small, "6 bytes of JSON are over the limit of 5");
    json_object *value = NULL;
    assert_int_equal(chela_json_parse("[1,2]", 5, &small, &value, NULL), 0);
    json_object_put(value);
    size_t length = 3000001;
    char *text = malloc(length);
    assert_non_null(text);
    for (size_t i = 0; i + 1 < length; i += 3)
        memcpy(text + i, i == 0 ? "[{}" : ",{}", 3);
    text[length - 1] = ']';
    refused_n(text, length, NULL, "too much memory");
    free(text);
}

static void null_is_a_value_and_not_a_failure(void **state)
{
    (void)state;
    json_object *value = (json_object *)state;
    assert_int_equal(chela_json_parse("null", 4, NULL, &value, NULL), 0);
    assert_null(value);
    assert_string_equal(chela_json_text(NULL, NULL), "null");
    json_object *object = parsed("{\"a\":null}");
    assert_true(chela_json_has(object, "a"));
    assert_false(chela_json_has(object, "b"));
    assert_null(chela_json_get(object, "a"));
    assert_string_equal(chela_json_text(object, NULL), "{\"a\":null}");
    json_object_put(object);
}

static void getters_answer_calmly_whatever_the_value_is(void **state)
{
    (void)state;
    json_object *values = parsed("[null,true,1,1.5,\"s\",[1],{\"k\":1},\"a\\u0000b\"]");
    for (size_t i = 0; i < 8; i++) {
        json_object *value = chela_json_at(values, i);
        size_t length = 99;
        assert_null(chela_json_string(value, "key", &length));
        assert_null(chela_json_get(value, "key"));
        assert_null(chela_json_object(value, "key"));
        assert_null(chela_json_array(value, "key"));
        assert_null(chela_json_at(value, 7));
        assert_int_equal(chela_json_int(value, "key", 3), 3);
        assert_true(chela_json_double(value, "key", 3) == 3);
        assert_true(chela_json_bool(value, "key", true));
        assert_int_equal(chela_json_length(value), i == 5 || i == 6);
        assert_true(chela_json_bool_or(value, true));
        assert_int_equal(chela_json_bool_or(value, false), i == 1);
        assert_int_equal(chela_json_as_string(value, NULL) != NULL, i == 4);
        assert_int_equal(chela_json_as_string(value, &length) != NULL, i == 4 || i == 7);
        assert_null(chela_json_path(value, "/x/0"));
    }
    size_t length;
    const char *text = chela_json_as_string(chela_json_at(values, 7), &length);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 4);
    json_object_put(values);
}

static void pointers_lead_where_rfc_6901_says(void **state)
{
    (void)state;
    json_object *value =
        parsed("{\"foo\":[\"bar\",{\"x\":1}],\"\":0,\"a/b\":1,\"m~n\":8,\"c%d\":2}");
    assert_ptr_equal(chela_json_path(value, ""), value);
    assert_string_equal(chela_json_as_string(chela_json_path(value, "/foo/0"), NULL), "bar");
    assert_int_equal(chela_json_int_or(chela_json_path(value, "/foo/1/x"), 9), 1);
    assert_int_equal(chela_json_int_or(chela_json_path(value, "/"), 9), 0);
    assert_int_equal(chela_json_int_or(chela_json_path(value, "/a~1b"), 9), 1);
    assert_int_equal(chela_json_int_or(chela_json_path(value, "/m~0n"), 9), 8);
    assert_int_equal(chela_json_int_or(chela_json_path(value, "/c%d"), 9), 2);
    static const char *const nowhere[] = {"foo",
                                          "/foo/2",
                                          "/foo/00",
                                          "/foo/-",
                                          "/foo/0/x",
                                          "/foo/",
                                          "/m~n",
                                          "/m~",
                                          "/foo/1x",
                                          "/nope/x",
                                          "/foo/99999999999999999999"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_null(chela_json_path(value, nowhere[i]));
    json_object_put(value);
}

static void what_is_built_prints_compact_in_order_and_valid(void **state)
{
    (void)state;
    json_object *object = chela_json_new_object();
    chela_json_put_text(object, "url", "https://x/y?\"\\\n");
    chela_json_put_int(object, "n", INT64_MIN);
    chela_json_put_double(object, "d", 0.1);
    chela_json_put_double(object, "third", 1.0 / 3);
    chela_json_put_double(object, "big", 1e300);
    chela_json_put_double(object, "inf", 1e300 * 1e300);
    chela_json_put_bool(object, "b", false);
    chela_json_put_text(object, "none", NULL);
    chela_json_put_string(object, "bad\xff", "a\xffz\xe2\x82", 5);
    chela_json_put_string(object, "nul", "a\0b", 3);
    json_object *list = chela_json_put_array(object, "list");
    chela_json_push(list, NULL);
    chela_json_put_int(chela_json_push_object(list), "x", 1);
    chela_json_put_object(object, "o");
    chela_json_put_int(object, "n", 7);
    size_t length;
    const char *text = chela_json_text(object, &length);
    assert_string_equal(
        text, "{\"url\":\"https://x/y?\\\"\\\\\\n\",\"n\":7,\"d\":0.1,\"third\":0.3333333333333333,"
              "\"big\":1e+300,\"inf\":null,\"b\":false,\"none\":null,\"bad\xef\xbf\xbd\":"
              "\"a\xef\xbf\xbdz\xef\xbf\xbd\",\"nul\":\"a\\u0000b\",\"list\":[null,{\"x\":1}],"
              "\"o\":{}}");
    assert_int_equal(length, strlen(text));
    json_object *again = parsed(text);
    assert_string_equal(chela_json_text(again, NULL), chela_json_text(object, NULL));
    json_object_put(again);
    json_object_put(object);
}

static void doubles_read_back_the_same(void **state)
{
    (void)state;
    uint64_t seed = 12345;
    for (int i = 0; i < 20000; i++) {
        double number;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memcpy(&number, &seed, sizeof number);
        if (number - number != 0)
            continue;
        json_object *made = chela_json_new_double(number);
        json_object *value = parsed(chela_json_text(made, NULL));
        assert_true(chela_json_double_or(value, 0) == number);
        json_object_put(value);
        json_object_put(made);
    }
}

static void a_text_cut_anywhere_is_refused_and_never_read_past(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e+3,\"x\\u00e9\\ud83d\\ude00\xe2\x82\xac\",true,"
                               "false,null,{}],\"b\":\"\\\\\"}";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        char *piece = malloc(cut ? cut : 1); /* exact, so that the sanitizer sees a byte too many */
        assert_non_null(piece);
        memcpy(piece, text, cut);
        json_object *value = NULL;
        int result = chela_json_parse(piece, cut, NULL, &value, NULL);
        assert_int_equal(result, cut == sizeof text - 1 ? 0 : -1);
        json_object_put(value);
        free(piece);
    }
}

/* Feeds text in pieces that end at the cuts and compares with what is wanted. */
static void carry_case(const char *text, size_t length, size_t first, size_t second,
                       const char *wanted)
{
    struct chela_json_utf16_carry carry = {{0}, 0};
    char output[512];
    size_t used = 0, cuts[4] = {0, first, second, length};
    for (int i = 0; i < 3; i++) {
        size_t piece = cuts[i + 1] - cuts[i];
        char *copy = malloc(piece ? piece : 1), *out = malloc(chela_json_carry_room(piece));
        assert_true(copy && out);
        memcpy(copy, text + cuts[i], piece);
        size_t written = chela_json_carry_feed(&carry, copy, piece, out);
        assert_true(written <= chela_json_carry_room(piece));
        memcpy(output + used, out, written);
        used += written;
        free(copy);
        free(out);
    }
    used += chela_json_carry_end(&carry, output + used);
    assert_int_equal(carry.used, 0);
    output[used] = '\0';
    assert_string_equal(output, wanted);
}

static void cut_strings_are_joined_at_every_cut(void **state)
{
    (void)state;
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"abc\xed\xa0\xbd\xed\xb8\x80xyz", "abc\xf0\x9f\x98\x80xyz"},
        {"\xed\xa0\xbd", BAD},
        {"\xed\xa0\xbdx", BAD "x"},
        {"\xed\xb8\x80x", BAD "x"},
        {"\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80", BAD "\xf0\x9f\x98\x80"},
        {"\xed\xa0\xbd\xed\x95\x9c", BAD "\xed\x95\x9c"}, /* a Korean syllable, also ED */
        {"\xed\xa0\xbd\xf0\x9f\x98\x80", BAD "\xf0\x9f\x98\x80"},
        {"\xe4\xbd\xa0\xe5\xa5\xbd\xf0\x9f\x98\x80", "\xe4\xbd\xa0\xe5\xa5\xbd\xf0\x9f\x98\x80"},
        {"a\xffz\xe2\x82", "a" BAD "z" BAD},
        {"\xf0\x9f\x98", BAD},
        {"\xed\xa0\xbd\xed\xb8", BAD BAD},
        {"\xdb\xff\xed\xa0\xbd\xed", BAD BAD BAD BAD},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].text);
        for (size_t first = 0; first <= length; first++)
            for (size_t second = first; second <= length; second++)
                carry_case(cases[i].text, length, first, second, cases[i].wanted);
    }
}

static void halves_that_the_parser_keeps_become_whole(void **state)
{
    (void)state;
    struct chela_json_limits keep = {.flags = CHELA_JSON_KEEP_HALVES};
    static const char *const deltas[] = {"\"x\\ud83d\"", "\"\"", "\"\\ude00y\\ud83d\\ude00\"",
                                         "\"\\ud83d\"", "\"z\""};
    struct chela_json_utf16_carry carry = {{0}, 0};
    char output[128];
    size_t used = 0;
    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
        json_object *value = NULL;
        size_t length;
        assert_int_equal(chela_json_parse(deltas[i], strlen(deltas[i]), &keep, &value, NULL), 0);
        const char *text = chela_json_as_string(value, &length);
        used += chela_json_carry_feed(&carry, text, length, output + used);
        json_object_put(value);
    }
    used += chela_json_carry_end(&carry, output + used);
    output[used] = '\0';
    assert_string_equal(output, "x\xf0\x9f\x98\x80y\xf0\x9f\x98\x80" BAD "z");
    refused_n("\"\xed\xa0\xbd\"", 5, &keep, "UTF-8"); /* only the escape is kept */
}

/* y_ files that we refuse on purpose, and why */
static const char *expected_refusal(const char *name)
{
    if (strncmp(name, "y_object_duplicated_key", 23) == 0)
        return "appears twice";
    return strcmp(name, "y_object_escaped_null_in_key.json") == 0 ? "NUL" : NULL;
}

static void the_parsing_suite_of_others_is_met(void **state)
{
    (void)state;
    char folder[512];
    if (!shared_path("testdata/json-parsing", folder, sizeof folder))
        skip();
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    unsigned count[3] = {0}, accepted[3] = {0};
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *kind = strchr("yni", entry->d_name[0]);
        if (!kind || entry->d_name[0] == '\0' || entry->d_name[1] != '_')
            continue;
        char path[800];
        size_t length;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *text = shared_read(path, &length);
        struct chela_json_error error = {0};
        json_object *value = NULL;
        int result = chela_json_parse(text, length, NULL, &value, &error);
        const char *why = expected_refusal(entry->d_name);
        if (*kind == 'n' && result == 0)
            fail_msg("%s was accepted", entry->d_name);
        if (*kind == 'y' && !why && result < 0)
            fail_msg("%s was refused: %s", entry->d_name, error.text);
        if (why && (result == 0 || !strstr(error.text, why)))
            fail_msg("%s should be refused by '%s'", entry->d_name, why);
        count[kind - "yni"]++;
        accepted[kind - "yni"] += result == 0;
        json_object_put(value);
        free(text);
    }
    closedir(dir);
    print_message("# accepted: y %u of %u, n %u of %u, i %u of %u\n", accepted[0], count[0],
                  accepted[1], count[1], accepted[2], count[2]);
    assert_true(count[0] >= 95 && count[1] >= 187 && count[2] >= 35);
    assert_int_equal(accepted[0], count[0] - 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_json_c_lets_through_is_refused),
        cmocka_unit_test(a_duplicate_key_is_shown_printable_and_bounded),
        cmocka_unit_test(numbers_keep_their_value_or_their_writing),
        cmocka_unit_test(integers_are_never_rounded_or_saturated),
        cmocka_unit_test(depth_has_a_limit_and_a_default),
        cmocka_unit_test(size_and_memory_have_limits),
        cmocka_unit_test(null_is_a_value_and_not_a_failure),
        cmocka_unit_test(getters_answer_calmly_whatever_the_value_is),
        cmocka_unit_test(pointers_lead_where_rfc_6901_says),
        cmocka_unit_test(what_is_built_prints_compact_in_order_and_valid),
        cmocka_unit_test(doubles_read_back_the_same),
        cmocka_unit_test(a_text_cut_anywhere_is_refused_and_never_read_past),
        cmocka_unit_test(cut_strings_are_joined_at_every_cut),
        cmocka_unit_test(halves_that_the_parser_keeps_become_whole),
        cmocka_unit_test(the_parsing_suite_of_others_is_met),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
