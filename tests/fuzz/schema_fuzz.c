/*
 * Feeds the schema validator a schema and, behind a NUL, a value. Whatever they are, it must
 * neither crash nor hang, say the same twice, and give printable errors.
 */
#include "agent/schema/schema.h"
#include "base/utf8.h"
#include "support/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_object *parsed(const char *text, size_t length)
{
    json_object *value = NULL;
    return chela_json_parse(text, length, NULL, &value, NULL) == 0 ? value : NULL;
}

static void must(bool truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *border = size ? memchr(data, '\0', size) : NULL;
    if (!border)
        return 0;
    json_object *text = parsed((const char *)data, (size_t)(border - data));
    json_object *value = parsed((const char *)border + 1, size - (size_t)(border - data) - 1);
    struct error first = {0}, second = {0};
    struct schema *schema = schema_compile(text, &first);
    json_object_put(text);
    if (schema) {
        int result = schema_check(schema, value, &first);
        must(result == schema_check(schema, value, &second));
        must(strcmp(first.text, second.text) == 0);
        must((result == 0) == (first.text[0] == '\0'));
        schema_free(schema);
    } else {
        must(first.text[0] != '\0');
    }
    must(utf8_valid(first.text, strlen(first.text)));
    for (const char *c = first.text; *c; c++)
        must((unsigned char)*c >= 0x20);
    json_object_put(value);
    return 0;
}
