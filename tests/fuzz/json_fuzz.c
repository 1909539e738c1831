/*
 * Feeds the JSON parser any bytes: what it takes prints to a text that it takes again and prints
 * the same, also when surrogate halves are kept and joined.
 */
#include "support/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
    if (!truth)
        abort();
}

static void print_and_read_again(json_object *value)
{
    size_t length, again_length;
    const char *text = chela_json_text(value, &length);
    struct chela_json_error error;
    json_object *again = NULL;
    must(chela_json_parse(text, length, NULL, &again, &error) == 0);
    const char *again_text = chela_json_text(again, &again_length);
    must(length == again_length && memcmp(text, again_text, length) == 0);
    json_object_put(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct chela_json_error error = {0};
    json_object *value = NULL;
    int result = chela_json_parse(text, size, NULL, &value, &error);
    must(result == 0 || error.text[0] != '\0');
    if (result == 0)
        print_and_read_again(value);
    json_object_put(value);

    struct chela_json_limits keep = {.flags = CHELA_JSON_KEEP_HALVES};
    struct chela_json_utf16_carry carry = {{0}, 0};
    value = NULL;
    size_t length;
    if (chela_json_parse(text, size, &keep, &value, NULL) < 0)
        return 0;
    const char *string = chela_json_as_string(value, &length);
    if (string) {
        char *output = malloc(chela_json_carry_room(length) + chela_json_carry_room(0));
        must(output);
        size_t used = chela_json_carry_feed(&carry, string, length, output);
        used += chela_json_carry_end(&carry, output + used);
        json_object *whole = chela_json_new_string(output, used);
        size_t whole_length;
        chela_json_as_string(whole, &whole_length);
        must(whole_length == used); /* nothing was left to repair */
        print_and_read_again(whole);
        json_object_put(whole);
        free(output);
    }
    json_object_put(value);
    return 0;
}
