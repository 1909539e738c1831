/*
 * The schema validator on its own: what its errors say, what it refuses, and that neither a hostile
 * schema nor a hostile value can make it work without end. The official suite is in
 * schema_suite_test.c.
 */
#include "tests/unit/shared.h"

#include "agent/schema/schema.h"
#include "agent/schema/schema_pattern.h"
#include "agent/schema/schema_uri.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static json_object *parsed(const char *text, size_t length)
{
    struct chela_json_limits limits = {.depth = 1000};
    struct chela_json_error error;
    json_object *value = NULL;
    if (chela_json_parse(text, length, &limits, &value, &error) < 0)
        fail_msg("%.200s: %s", text, error.text);
    return value;
}

static int check_as(enum schema_dialect dialect, const char *schema_text, const char *value_text,
                    struct error *error)
{
    json_object *text = parsed(schema_text, strlen(schema_text));
    json_object *value = parsed(value_text, strlen(value_text));
    struct schema *schema = schema_compile_as(text, dialect, error);
    json_object_put(text); /* the schema keeps its own reference */
    if (!schema)
        fail_msg("%.200s: %s", schema_text, error->text);
    int result = schema_check(schema, value, error);
    schema_free(schema);
    json_object_put(value);
    return result;
}

static void fits(const char *schema, const char *value)
{
    struct error error = {0};
    if (check_as(SCHEMA_ANY, schema, value, &error) < 0)
        fail_msg("%s should fit %s: %s", value, schema, error.text);
}

static void says(const char *schema, const char *value, const char *wanted)
{
    struct error error = {0};
    if (check_as(SCHEMA_ANY, schema, value, &error) == 0)
        fail_msg("%s should not fit %s", value, schema);
    assert_int_equal(error.class, CHELA_E_ARGS);
    assert_string_equal(error.text, wanted);
}

static void refuses_n(const char *schema_text, size_t length, uint32_t class, const char *why)
{
    struct error error = {0};
    json_object *text = parsed(schema_text, length);
    struct schema *schema = schema_compile(text, &error);
    json_object_put(text);
    if (schema)
        fail_msg("compiled: %.200s", schema_text);
    if (!strstr(error.text, why))
        fail_msg("%.200s: '%s' should say '%s'", schema_text, error.text, why);
    assert_int_equal(error.class, class);
}

static void refuses(const char *schema, uint32_t class, const char *why)
{
    refuses_n(schema, strlen(schema), class, why);
}

static void an_error_says_where_what_was_wanted_and_what_was_found(void **state)
{
    (void)state;
    const char *tool =
        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"lines\":"
        "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1}}},"
        "\"required\":[\"path\",\"lines\"],\"additionalProperties\":false}";
    fits(tool, "{\"path\":\"a\",\"lines\":[1,2.0]}");
    says(tool, "{}", "missing \"path\", \"lines\"");
    says(tool, "[]", "expected object, found an array of 0");
    says(tool, "{\"pth\":1,\"path\":\"a\",\"lines\":[]}",
         "unknown member \"pth\" (known: \"path\", \"lines\")");
    says(tool, "{\"path\":5,\"lines\":[1,\"x\",0]}",
         "/path: expected string, found number 5; /lines/1: expected integer, found string \"x\"; "
         "/lines/2: expected at least 1, found number 0");
    says("{\"enum\":[\"a\",1,null]}", "\"b\"",
         "expected one of \"a\", 1, null, found string \"b\"");
    says("{\"const\":{}}", "true", "expected exactly an object, found boolean true");
    says("{\"type\":[\"string\",\"null\"]}", "1.5", "expected null or string, found number 1.5");
    says("{\"type\":\"number\"}", "null", "expected number, found null");
    says("{\"pattern\":\"^a$\"}", "\"b\"",
         "expected a string that matches /^a$/, found string \"b\"");
    says("{\"maxLength\":1}", "\"\\u00e9\\u00e8\"", "expected at most 1 characters, found 2");
    says("{\"minItems\":2}", "[1]", "expected at least 2 items, found 1");
    says("{\"maxProperties\":0}", "{\"a\":1}", "expected at most 0 members, found 1");
    says("{\"exclusiveMaximum\":3}", "3", "expected a number below 3, found number 3");
    says("{\"multipleOf\":0.01}", "0.015", "expected a multiple of 0.01, found number 0.015");
    says("{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},3,{\"b\":2,\"a\":1.0}]",
         "expected no equal items, found items 1 and 3 equal");
    says("{\"contains\":{\"type\":\"string\"}}", "[1]",
         "expected at least 1 items as \"contains\" says, found 0");
    says("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "missing \"b\", needed with \"a\"");
    says("{\"not\":{\"type\":\"string\"}}", "\"x\"",
         "expected what \"not\" doesn't describe, found string \"x\"");
    says("{\"properties\":{\"a\":false}}", "{\"a\":1}", "/a: nothing is allowed here");
    says("{\"properties\":{\"a/b~c\":{\"type\":\"null\"}}}", "{\"a/b~c\":1}",
         "/a~1b~0c: expected null, found number 1");
    says("{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
         "/ab: expected at most 1 characters, found 2");
    says("{\"anyOf\":[{\"type\":\"string\"},{\"required\":[\"x\"],\"type\":\"object\"}]}", "{}",
         "fits none of 2 alternatives: (1) expected string, found an object (2) missing \"x\"");
    says("{\"oneOf\":[{\"type\":\"number\"},true]}", "1",
         "fits alternatives 1 and 2, where only one may fit");
    says("{\"unevaluatedProperties\":false,\"allOf\":[{\"properties\":{\"a\":{}}}]}",
         "{\"a\":1,\"b\":2}", "unknown member \"b\"");
}

static void an_error_is_bounded_and_printable(void **state)
{
    (void)state;
    struct buf value = {0}, schema = {0};
    struct error error = {0};
    buf_puts(&value, "{\"\\u001b[31m");
    for (int i = 0; i < 5000; i++)
        buf_puts(&value, "\xe4\xbd\xa0");
    buf_puts(&value, "\":\"\\u009b\\u202e");
    for (int i = 0; i < 50000; i++)
        buf_puts(&value, "\xf0\x9f\x98\x80");
    buf_puts(&value, "\"}");
    buf_puts(&schema, "{\"additionalProperties\":{\"enum\":[\"\\u001b\"");
    for (int i = 0; i < 5000; i++)
        buf_printf(&schema, ",\"value %d\"", i);
    buf_puts(&schema, "]}}");
    assert_int_equal(check_as(SCHEMA_ANY, buf_text(&schema), buf_text(&value), &error), -1);
    assert_true(strlen(error.text) < sizeof error.text - 1);
    assert_true(utf8_valid(error.text, strlen(error.text)));
    assert_null(strchr(error.text, 0x1b));
    assert_null(strstr(error.text, "\xc2\x9b"));
    assert_null(strstr(error.text, "\xe2\x80\xae"));
    assert_non_null(strstr(error.text, "\\u001b[31m"));
    buf_clear(&value);
    for (int i = 0; i < 80; i++)
        buf_puts(&value, "{\"\xe4\xbd\xa0\xe5\xa5\xbd\":");
    buf_puts(&value, "1");
    for (int i = 0; i < 80; i++)
        buf_puts(&value, "}");
    check_as(SCHEMA_ANY, "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}}",
             buf_text(&value), &error);
    assert_true(strlen(error.text) < 250 && utf8_valid(error.text, strlen(error.text)));
    assert_memory_equal(error.text, ".../\xe4", 5);
    buf_clear(&value);
    for (int i = 0; i < 100; i++)
        buf_puts(&value, i ? ",1" : "[1");
    buf_puts(&value, "]");
    assert_int_equal(
        check_as(SCHEMA_ANY, "{\"items\":{\"type\":\"string\"}}", buf_text(&value), &error), -1);
    assert_non_null(strstr(error.text, "/5: expected string"));
    assert_null(strstr(error.text, "/6"));
    buf_free(&value);
    buf_free(&schema);
}

static void what_would_change_the_result_is_refused_with_its_place(void **state)
{
    (void)state;
    refuses("{\"properties\":{\"a\":{\"$dynamicRef\":\"#x\"}}}", CHELA_E_UNSUPPORTED,
            "/properties/a/$dynamicRef: this keyword isn't supported");
    refuses("{\"items\":{\"$recursiveRef\":\"#\"}}", CHELA_E_UNSUPPORTED, "/items/$recursiveRef");
    refuses("{\"items\":{\"$ref\":\"https://example.com/x.json\"}}", CHELA_E_UNSUPPORTED,
            "/items/$ref: refers to \"https://example.com/x.json\", which is not in this document");
    refuses("{\"$ref\":\"file:///etc/passwd\"}", CHELA_E_UNSUPPORTED, "not in this document");
    refuses("{\"$ref\":\"#/$defs/none\"}", CHELA_E_ARGS,
            "/$ref: refers to \"#/$defs/none\", where no");
    refuses("{\"$ref\":\"#%00\"}", CHELA_E_ARGS, "where no schema is");
    refuses("{\"$ref\":1}", CHELA_E_ARGS, "/$ref: expected a reference, found number 1");
    refuses("{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", CHELA_E_UNSUPPORTED,
            "this \"$schema\" isn't known here");
    refuses("{\"properties\":{\"a\":{\"type\":\"any\"}}}", CHELA_E_ARGS,
            "/properties/a/type: expected the name of a JSON type or a list of them, found string "
            "\"any\"");
    refuses("{\"anyOf\":[{},{\"minimum\":\"5\"}]}", CHELA_E_ARGS,
            "/anyOf/1/minimum: expected a number, found string \"5\"");
    refuses("{\"exclusiveMinimum\":true}", CHELA_E_ARGS, "/exclusiveMinimum: expected a number");
    refuses("{\"required\":true}", CHELA_E_ARGS, "/required: expected a list of names");
    refuses("{\"required\":[\"a\",1]}", CHELA_E_ARGS, "/required: expected a list of names");
    refuses("{\"properties\":[]}", CHELA_E_ARGS, "/properties: expected an object");
    refuses("{\"properties\":{\"a\":1}}", CHELA_E_ARGS, "/properties/a: a schema must be");
    refuses("{\"anyOf\":[]}", CHELA_E_ARGS, "/anyOf: expected a list of schemas");
    refuses("{\"minLength\":-1}", CHELA_E_ARGS, "/minLength: expected a whole number");
    refuses("{\"minLength\":1.5}", CHELA_E_ARGS, "/minLength: expected a whole number");
    refuses("{\"multipleOf\":0}", CHELA_E_ARGS, "/multipleOf: expected a number above 0");
    refuses("{\"patternProperties\":{\"(\":{}}}", CHELA_E_ARGS,
            "/patternProperties: not a regular");
    refuses("{\"pattern\":\"\\\\Aa\"}", CHELA_E_ARGS,
            "/pattern: not a regular expression of ECMA-262");
    refuses("{\"items\":7}", CHELA_E_ARGS, "/items: a schema must be");
    refuses("{\"$anchor\":\"a\",\"items\":{\"$anchor\":\"a\"}}", CHELA_E_ARGS, "two anchors");
    refuses("null", CHELA_E_ARGS, "the schema's root: a schema must be an object or a boolean");
    refuses("[]", CHELA_E_ARGS, "a schema must be an object or a boolean");
    refuses("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"items\":[{}]}",
            CHELA_E_ARGS, "/items: expected a schema");
}

static void without_a_dialect_both_drafts_count(void **state)
{
    (void)state;
    fits("{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\"]");
    says("{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]",
         "/1: nothing is allowed here");
    says("{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
         "/1: nothing is allowed here");
    says("{\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}", "missing \"b\", needed with \"a\"");
    says("{\"$ref\":\"#/definitions/"
         "n\",\"maximum\":5,\"definitions\":{\"n\":{\"type\":\"number\"}}}",
         "6", "expected at most 5, found number 6");
    struct error error = {0};
    assert_int_equal(check_as(SCHEMA_DRAFT_7,
                              "{\"allOf\":[{\"$ref\":\"#/definitions/n\",\"maximum\":5}],"
                              "\"definitions\":{\"n\":{\"type\":\"number\"}}}",
                              "6", &error),
                     0);
    assert_int_equal(
        check_as(SCHEMA_DRAFT_7, "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", &error),
        0);
    fits("{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"items\":[{}]}", "[1]");
    fits("{\"title\":\"x\",\"x-own\":1,\"nullable\":true,\"format\":\"date\",\"type\":\"string\"}",
         "\"no\"");
}

static void numbers_are_compared_by_their_value(void **state)
{
    (void)state;
    fits("{\"const\":9007199254740993}", "9007199254740993");
    says("{\"const\":9007199254740993}", "9007199254740992.0",
         "expected exactly number 9007199254740993, found number 9007199254740992.0");
    says("{\"maximum\":18446744073709551614}", "18446744073709551615",
         "expected at most 18446744073709551614, found number 18446744073709551615");
    says("{\"minimum\":0}", "-9223372036854775808",
         "expected at least 0, found number -9223372036854775808");
    says("{\"maximum\":9223372036854775807}", "9223372036854775808.0",
         "expected at most 9223372036854775807, found number 9223372036854775808.0");
    fits("{\"maximum\":9223372036854775808.0}", "9223372036854775807");
    fits("{\"minimum\":-9223372036854775809}", "-9223372036854775808");
    fits("{\"type\":\"integer\",\"multipleOf\":0.1}", "1e300");
    fits("{\"multipleOf\":0.01}", "4.35");
    fits("{\"multipleOf\":1e-8}", "12391239123");
    says("{\"multipleOf\":1e10}", "12391239123",
         "expected a multiple of 1e10, found number 12391239123");
    fits("{\"multipleOf\":5}", "18446744073709551615");
    fits("{\"multipleOf\":7}", "9223372036854775807");
    fits("{\"maxLength\":1e30}", "\"x\"");
}

/* ---- patterns ---- */

static int matches(const char *pattern_text, const char *text)
{
    struct error error = {0};
    struct schema_pattern *pattern =
        schema_pattern_compile(pattern_text, strlen(pattern_text), &error);
    if (!pattern)
        fail_msg("%s: %s", pattern_text, error.text);
    int result = schema_pattern_match(pattern, text, strlen(text), 100000);
    schema_pattern_free(pattern);
    return result;
}

static void patterns_mean_what_ecma_262_says(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        int found;
    } cases[] = {
        {"^a$", "a\n", 0},
        {"b", "abc", 1},
        {"^\\d+$", "\xd9\xa3", 0},
        {"\\s", "\xc2\xa0", 1},
        {"[\\s]", "\xe3\x80\x80", 1},
        {"\\S", "\xef\xbb\xbf", 0},
        {"\\v", "\f", 0},
        {"\\v", "\v", 1},
        {"[[a]]", "[]", 1},
        {"[[:alpha:]]", "x", 0},
        {"a{,3}", "a{,3}", 1},
        {"x{2}", "xx", 1},
        {"a{", "a{", 1},
        {"\\u4f60", "\xe4\xbd\xa0", 1},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80", 1},
        {"\\u{1f600}", "\xf0\x9f\x98\x80", 1},
        {"^.$", "\xf0\x9f\x98\x80", 1},
        {"^.$", "\r", 0},
        {"\\p{Letter}", "\xc3\xa9", 1},
        {"\\P{L}", "\xc3\xa9", 0},
        {"\\p{Script=Greek}", "\xce\xb1", 1},
        {"\\p{Lu}", "a", 0},
        {"[^]", "\n", 1},
        {"[]", "a", 0},
        {"(?<y>a)\\k<y>", "aa", 1},
        {"(?:a|(b))\\1c", "ac", 1},
        {"\\cJ", "\n", 1},
        {"\\/\\-", "/-", 1},
        {"[\\b]", "\b", 1},
        {"\\x41", "A", 1},
        {"\\0", "x", 0},
        {"(?=a)b|c", "c", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (matches(cases[i].pattern, cases[i].text) != cases[i].found)
            fail_msg("/%s/ on '%s' should be %d", cases[i].pattern, cases[i].text, cases[i].found);
    }
    static const char *const bad[] = {
        "\\Aa",      "a\\Z",   "\\Qa\\E", "a++",      "(?>a)", "(?R)",  "(*FAIL)", "(?#x)",
        "\\",        "*a",     "a**",     "(?P<n>a)", "\\x4",  "\\u12", "\\ud83d", "\\u{110000}",
        "\\p{Nope}", "\\pL",   "\\K",     "\\C",      "\\R",   "[\\B]", "(",       ")",
        "[a",        "x{2,1}", "\\01",    "(?C)a",    "^*"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error error = {0};
        struct schema_pattern *pattern = schema_pattern_compile(bad[i], strlen(bad[i]), &error);
        if (pattern)
            fail_msg("/%s/ was taken", bad[i]);
        assert_non_null(strstr(error.text, "not a regular expression"));
    }
}

/* ---- references ---- */

static void uris_resolve_as_rfc_3986_shows(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *uri = schema_uri_resolve("http://a/b/c/d;p?q", cases[i][0]);
        if (strcmp(uri, cases[i][1]) != 0)
            fail_msg("%s should be %s, is %s", cases[i][0], cases[i][1], uri);
        free(uri);
    }
    char *one = schema_uri_resolve("", "./a"), *two = schema_uri_resolve("urn:x:y", "#z");
    assert_string_equal(one, "a");
    assert_string_equal(two, "urn:x:y");
    free(one);
    free(two);
}

/* ---- hostility ---- */

static void stops(const char *schema, const char *value)
{
    struct error error = {0};
    assert_int_equal(check_as(SCHEMA_ANY, schema, value, &error), -1);
    if (error.class != CHELA_E_TOO_LONG)
        fail_msg("%.200s on %.200s: %s", schema, value, error.text);
}

static void work_without_end_is_stopped(void **state)
{
    (void)state;
    stops("{\"$ref\":\"#\"}", "1");
    stops("{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"}]}}}",
          "1");
    stops("{\"not\":{\"$ref\":\"#\"}}", "1");
    stops("{\"pattern\":\"^(a|a)*$\"}",
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"");
    stops("{\"not\":{\"pattern\":\"^(a|a)*$\"}}",
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"");
    /* each level doubles the work */
    struct buf schema = {0};
    buf_puts(&schema, "{\"$ref\":\"#/$defs/d40\",\"$defs\":{\"d0\":{\"type\":\"string\"}");
    for (int i = 1; i <= 40; i++)
        buf_printf(&schema,
                   ",\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}",
                   i, i - 1, i - 1);
    buf_puts(&schema, "}}");
    stops(buf_text(&schema), "1");
    buf_clear(&schema);
    /* many alternatives for many items */
    struct buf value = {0};
    buf_puts(&schema, "{\"items\":{\"enum\":[-1");
    for (int i = 0; i < 3000; i++) {
        buf_printf(&schema, ",\"%d\"", i);
        buf_puts(&value, i ? ",0" : "[0");
    }
    buf_puts(&schema, "]}}");
    buf_puts(&value, "]");
    struct error error = {0};
    assert_int_equal(check_as(SCHEMA_ANY, buf_text(&schema), buf_text(&value), &error), -1);
    buf_free(&schema);
    buf_free(&value);
}

static void unique_items_of_a_long_list_are_quick(void **state)
{
    (void)state;
    struct buf value = {0};
    for (int i = 0; i < 50000; i++)
        buf_printf(&value, "%c{\"id\":%d,\"name\":\"x\"}", i ? ',' : '[', i);
    buf_puts(&value, "]");
    fits("{\"uniqueItems\":true}", buf_text(&value));
    buf_free(&value);
}

static void depth_of_schemas_and_values_is_bounded(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int i = 0; i < 300; i++)
        buf_puts(&text, "{\"not\":");
    buf_puts(&text, "{}");
    for (int i = 0; i < 300; i++)
        buf_puts(&text, "}");
    refuses_n(buf_text(&text), text.n, CHELA_E_UNSUPPORTED, "nested too deeply");
    buf_clear(&text);
    for (int i = 0; i < 900; i++)
        buf_puts(&text, "[");
    for (int i = 0; i < 900; i++)
        buf_puts(&text, "]");
    stops("{\"items\":{\"$ref\":\"#\"}}", buf_text(&text));
    text.p[120] = '\0'; /* 120 deep is fine */
    struct buf value = {0};
    buf_puts(&value, buf_text(&text));
    for (int i = 0; i < 120; i++)
        buf_puts(&value, "]");
    fits("{\"items\":{\"$ref\":\"#\"}}", buf_text(&value));
    buf_free(&value);
    buf_free(&text);
}

static void a_long_chain_of_references_compiles_and_checks(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_puts(&text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 10000; i++)
        buf_printf(&text, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    buf_puts(&text, "\"d10000\":{\"type\":\"string\"}}}");
    stops(buf_text(&text), "1");
    buf_clear(&text);
    buf_puts(&text, "{\"anyOf\":[true");
    for (int i = 0; i < 45000; i++)
        buf_puts(&text, i % 2 ? ",{}" : ",true");
    buf_puts(&text, "]}");
    refuses_n(buf_text(&text), text.n, CHELA_E_UNSUPPORTED, "too many schemas");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_says_where_what_was_wanted_and_what_was_found),
        cmocka_unit_test(an_error_is_bounded_and_printable),
        cmocka_unit_test(what_would_change_the_result_is_refused_with_its_place),
        cmocka_unit_test(without_a_dialect_both_drafts_count),
        cmocka_unit_test(numbers_are_compared_by_their_value),
        cmocka_unit_test(patterns_mean_what_ecma_262_says),
        cmocka_unit_test(uris_resolve_as_rfc_3986_shows),
        cmocka_unit_test(work_without_end_is_stopped),
        cmocka_unit_test(unique_items_of_a_long_list_are_quick),
        cmocka_unit_test(depth_of_schemas_and_values_is_bounded),
        cmocka_unit_test(a_long_chain_of_references_compiles_and_checks),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
