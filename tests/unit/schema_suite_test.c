/*
 * The official JSON Schema test suite, both drafts, required and optional tests but for formats:
 * what compiles must answer right, every time; what is refused must be one of the kinds that
 * schema.h names. Prints a table by file. The data isn't in the repository.
 */
#include "tests/unit/shared.h"

#include "agent/schema/schema.h"
#include "support/json.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct tally {
    unsigned passed, refused, wrong;
};

/* Only these reasons are good ones. */
static bool good_reason(const struct error *error)
{
    return error->class == CHELA_E_UNSUPPORTED &&
           (strstr(error->text, "not in this document") ||
            strstr(error->text, "$dynamicRef: this keyword") ||
            strstr(error->text, "this \"$schema\" isn't known here"));
}

static void run_group(const char *file, json_object *group, enum schema_dialect dialect,
                      struct tally *tally)
{
    struct error error = {0};
    struct schema *schema = schema_compile_as(chela_json_get(group, "schema"), dialect, &error);
    json_object *tests = chela_json_array(group, "tests");
    if (!schema && !good_reason(&error)) {
        print_message("# %s, %s: refused: %s\n", file,
                      chela_json_string(group, "description", NULL), error.text);
        tally->wrong++;
    }
    for (size_t i = 0; i < chela_json_length(tests); i++) {
        json_object *test = chela_json_at(tests, i);
        if (!schema) {
            tally->refused++;
            continue;
        }
        bool wanted = chela_json_bool(test, "valid", false);
        int result = schema_check(schema, chela_json_get(test, "data"), &error);
        if ((result == 0) == wanted) {
            tally->passed++;
            continue;
        }
        tally->wrong++;
        print_message(
            "# wrong: %s, %s, %s: %s\n", file, chela_json_string(group, "description", NULL),
            chela_json_string(test, "description", NULL), result ? error.text : "accepted");
    }
    schema_free(schema);
}

static void run_file(const char *folder, const char *name, enum schema_dialect dialect,
                     struct tally *total)
{
    char path[800];
    struct chela_json_error error;
    size_t length;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = shared_read(path, &length);
    json_object *groups = NULL;
    struct tally tally = {0};
    if (chela_json_parse(text, length, NULL, &groups, &error) < 0)
        fail_msg("%s: %s", name, error.text);
    for (size_t i = 0; i < chela_json_length(groups); i++)
        run_group(name, chela_json_at(groups, i), dialect, &tally);
    print_message("# %-28.*s %4u passed %4u refused\n", (int)(strlen(name) - 5), name, tally.passed,
                  tally.refused);
    total->passed += tally.passed;
    total->refused += tally.refused;
    total->wrong += tally.wrong;
    json_object_put(groups);
    free(text);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_draft(const char *draft, enum schema_dialect dialect, unsigned floor)
{
    char name[100], folder[600];
    char *names[200];
    size_t count = 0;
    snprintf(name, sizeof name, "testdata/json-schema-suite/tests/%s", draft);
    if (!shared_path(name, folder, sizeof folder))
        skip();
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) && count < 200;)
        if (strlen(entry->d_name) > 5 && strstr(entry->d_name, ".json") &&
            (strcmp(draft, "draft7/optional") != 0 || strcmp(entry->d_name, "content.json") != 0))
            names[count++] = strdup(entry->d_name);
    closedir(dir);
    qsort(names, count, sizeof *names, compare_names);
    struct tally total = {0};
    print_message("# %s%s\n", draft,
                  strchr(draft, '/') ? ", without content (annotations here)" : "");
    for (size_t i = 0; i < count; i++) {
        run_file(folder, names[i], dialect, &total);
        free(names[i]);
    }
    print_message("# %s: %u passed, %u refused aloud, %u wrong\n", draft, total.passed,
                  total.refused, total.wrong);
    assert_int_equal(total.wrong, 0);
    if (total.passed < floor)
        fail_msg("%u passed, %u did before", total.passed, floor);
}

static void draft_2020_12_answers_right_or_is_refused_aloud(void **state)
{
    (void)state;
    run_draft("draft2020-12", SCHEMA_2020_12, 1213);
}

static void draft_07_answers_right_or_is_refused_aloud(void **state)
{
    (void)state;
    run_draft("draft7", SCHEMA_DRAFT_7, 900);
}

static void the_optional_parts_of_draft_2020_12_too(void **state)
{
    (void)state;
    run_draft("draft2020-12/optional", SCHEMA_2020_12, 155);
}

static void the_optional_parts_of_draft_07_too(void **state)
{
    (void)state;
    run_draft("draft7/optional", SCHEMA_DRAFT_7, 106);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_2020_12_answers_right_or_is_refused_aloud),
        cmocka_unit_test(draft_07_answers_right_or_is_refused_aloud),
        cmocka_unit_test(the_optional_parts_of_draft_2020_12_too),
        cmocka_unit_test(the_optional_parts_of_draft_07_too),
    };
    return cmocka_run_group_tests_name("schema suite", tests, NULL, NULL);
}
