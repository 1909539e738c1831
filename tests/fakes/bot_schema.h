/*
 * Telegram's published description of its methods and types (api.json of a Bot API version), to
 * hold requests against. For fake_telegram.
 */
#ifndef TESTS_FAKES_BOT_SCHEMA_H
#define TESTS_FAKES_BOT_SCHEMA_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>

/* false: the file can't be read. */
bool bot_schema_load(const char *path);
/* NULL: the fields are what the method takes (or no description is loaded); else what is wrong, in
 * `why`. A value that came as a form's field is a string, a file is the string "@file". */
const char *bot_schema_check(const char *method, json_object *fields, bool form, char *why,
                             size_t size);

#endif
