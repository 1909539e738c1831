/*
 * Base64: the examples of RFC 4648, section 10, both ways, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/base64.h"

static const struct {
    const char *bytes, *text;
} examples[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"}};

static void the_examples_of_the_standard_go_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char text[CHELA_BASE64_TEXT(6)], bytes[CHELA_BASE64_BYTES(8)];
        size_t n = strlen(examples[i].bytes), length = strlen(examples[i].text);
        assert_int_equal(chela_base64_encode(examples[i].bytes, n, text), length);
        assert_string_equal(text, examples[i].text);
        size_t bare = strcspn(text, "=");
        for (size_t with = bare; with <= length; with += length > bare ? length - bare : 1) {
            size_t got = 99;
            assert_true(chela_base64_decode(text, with, false, bytes, &got));
            assert_int_equal(got, n);
            assert_memory_equal(bytes, examples[i].bytes, n);
        }
    }
}

static void all_bytes_come_back(void **state)
{
    unsigned char data[256], back[CHELA_BASE64_BYTES(CHELA_BASE64_TEXT(256))];
    char text[CHELA_BASE64_TEXT(256)];
    size_t n;
    (void)state;
    for (unsigned i = 0; i < 256; i++)
        data[i] = (unsigned char)i;
    for (size_t length = 0; length <= sizeof data; length++) {
        size_t written = chela_base64_encode(data, length, text);
        assert_true(written < CHELA_BASE64_TEXT(length));
        assert_true(chela_base64_decode(text, written, false, back, &n));
        assert_int_equal(n, length);
        assert_memory_equal(back, data, length);
    }
}

static void what_is_not_base64_is_refused(void **state)
{
    char bytes[16];
    size_t n;
    (void)state;
    assert_false(chela_base64_decode("Zm9 ", 4, true, bytes, &n));
    assert_false(chela_base64_decode("Zg==Zg==", 8, true, bytes, &n));
    assert_false(chela_base64_decode("Zm\0v", 4, true, bytes, &n));
    assert_false(chela_base64_decode("-_-_", 4, false, bytes, &n));
    assert_true(chela_base64_decode("-_-_", 4, true, bytes, &n));
    assert_memory_equal(bytes, "\xfb\xff\xbf", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_go_both_ways),
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(what_is_not_base64_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
