/*
 * Schemas of tools for services that take only some keywords.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/json.h"
#include "support/tool_schema.h"

static json_object *parse(const char *text)
{
    json_object *o = NULL;
    assert_int_equal(chela_json_parse(text, strlen(text), NULL, &o, NULL), 0);
    return o;
}

static void gives(json_object *convert(json_object *), const char *from, const char *wanted)
{
    json_object *schema = parse(from), *got = convert(schema);
    assert_string_equal(got ? chela_json_text(got, NULL) : "", wanted);
    json_object_put(got);
    assert_string_equal(chela_json_text(schema, NULL), from); /* it stays as it was */
    json_object_put(schema);
}

static void strict_closes_objects_and_makes_the_optional_nullable(void **state)
{
    (void)state;
    gives(chela_schema_strict,
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":9},\"b\":{"
          "\"type\":\"integer\"},\"c\":{\"enum\":[1,2]}},\"required\":[\"a\"]}",
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":["
          "\"integer\",\"null\"]},\"c\":{\"anyOf\":[{\"enum\":[1,2]},{\"type\":\"null\"}]}},"
          "\"required\":[\"a\",\"b\",\"c\"],\"additionalProperties\":false}");
    gives(chela_schema_strict, "{\"type\":\"object\"}",
          "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":false}");
}

static void what_strict_can_not_say_is_not_said(void **state)
{
    static const char *const open[] = {
        "{\"type\":\"object\",\"additionalProperties\":true}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"}}}",
        "{\"type\":\"object\",\"properties\":{},\"allOf\":[]}",
        "{\"type\":\"string\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        gives(chela_schema_strict, open[i], "");
}

static void nulls_that_strict_asked_for_are_undone(void **state)
{
    json_object *schema = parse("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},"
                                "\"b\":{\"type\":[\"string\",\"null\"]},\"c\":{\"type\":\"object\","
                                "\"properties\":{\"d\":{\"type\":\"integer\"}}}},\"required\":[]}"),
                *arguments = parse("{\"a\":null,\"b\":null,\"c\":{\"d\":null,\"e\":null}}");
    (void)state;
    chela_schema_drop_nulls(arguments, schema);
    assert_string_equal(chela_json_text(arguments, NULL), "{\"b\":null,\"c\":{\"e\":null}}");
    json_object_put(arguments);
    json_object_put(schema);
}

static void openapi_has_no_references_and_no_lists_of_types(void **state)
{
    (void)state;
    gives(
        chela_schema_openapi,
        "{\"type\":\"object\",\"$defs\":{\"D\":{\"type\":[\"string\",\"null\"]}},\"properties\":{"
        "\"a\":{\"$ref\":\"#/$defs/D\"},\"b\":{\"const\":3},\"c\":{\"type\":\"array\"},\"d\":{"
        "\"oneOf\":[{\"type\":\"integer\",\"exclusiveMinimum\":0},{\"type\":\"null\"}]}},"
        "\"additionalProperties\":false}",
        "{\"type\":\"OBJECT\",\"properties\":{\"a\":{\"nullable\":true,\"type\":\"STRING\"},\"b\":{"
        "\"enum\":[\"3\"],\"type\":\"STRING\"},\"c\":{\"type\":\"ARRAY\",\"items\":{\"type\":"
        "\"STRING\"}},\"d\":{\"nullable\":true,\"anyOf\":[{\"type\":\"INTEGER\"}]}}}");
}

static void a_schema_that_holds_itself_ends(void **state)
{
    json_object *schema =
        parse("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"$ref\":\"#\"},"
              "\"c\":{\"$ref\":\"#\"},\"d\":{\"$ref\":\"#\"}}}");
    (void)state;
    json_object *got = chela_schema_openapi(schema);
    size_t n;
    chela_json_text(got, &n);
    assert_true(n < 400000);
    json_object_put(got);
    json_object_put(schema);
}

static void keywords_are_dropped_where_schemas_stand_and_nowhere_else(void **state)
{
    static const char *const dropped[] = {"pattern", NULL};
    json_object *schema = parse("{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":"
                                "\"string\",\"pattern\":\"x\",\"enum\":[\"pattern\"]}}}"),
                *got = chela_schema_without(schema, dropped);
    (void)state;
    assert_string_equal(chela_json_text(got, NULL),
                        "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\","
                        "\"enum\":[\"pattern\"]}}}");
    json_object_put(got);
    json_object_put(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_closes_objects_and_makes_the_optional_nullable),
        cmocka_unit_test(what_strict_can_not_say_is_not_said),
        cmocka_unit_test(nulls_that_strict_asked_for_are_undone),
        cmocka_unit_test(openapi_has_no_references_and_no_lists_of_types),
        cmocka_unit_test(a_schema_that_holds_itself_ends),
        cmocka_unit_test(keywords_are_dropped_where_schemas_stand_and_nowhere_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
