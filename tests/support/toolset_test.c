/*
 * The tools that a model is offered: read once as long as their bytes stay the same, read anew when
 * one changes, and held by those that still use them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/request.h"
#include "support/toolset.h"

static const struct chela_naming naming = {.id_most = 64}, other_naming = {.id_most = 9};
static unsigned written;

static void write_tool(FILE *out, struct chela_offer *tool, const void *arg)
{
    written++;
    fprintf(out, "%s%s:", (const char *)arg, tool->wire);
    chela_write_json(out, tool->parameters);
}

static struct chela_toolset *get(struct chela_toolsets *sets, const struct chela_naming *n,
                                 const struct chela_pair *tools, size_t count)
{
    CHELA_ARGS(chela_begin, b, 0);
    b.tools.v = tools;
    b.tools.n = count;
    return chela_toolset_get(sets, n, &b);
}

static struct chela_pair tool(const char *name, const char *manifest)
{
    return (struct chela_pair){chela_s(name), chela_s(manifest)};
}

static void the_same_bytes_are_read_once(void **state)
{
    (void)state;
    struct chela_toolsets sets = {0};
    char first[] = "{\"description\":\"a\"}", second[] = "{\"description\":\"a\"}";
    struct chela_pair tools[] = {tool("one", first), tool("two", "{}")};
    struct chela_toolset *a = get(&sets, &naming, tools, 2);
    written = 0;
    struct chela_str text = chela_toolset_text(a, write_tool, "-");
    assert_int_equal(written, 2);
    tools[0] = tool("one", second); /* elsewhere in memory */
    struct chela_toolset *b = get(&sets, &naming, tools, 2);
    assert_ptr_equal(a, b);
    assert_ptr_equal(chela_toolset_text(b, write_tool, "-").s, text.s);
    assert_int_equal(written, 2);
    const char *wanted = "-one:{\"type\":\"object\",\"properties\":{}},"
                         "-two:{\"type\":\"object\",\"properties\":{}}";
    assert_int_equal(text.n, strlen(wanted));
    assert_memory_equal(text.s, wanted, strlen(wanted));
    chela_toolset_put(a);
    chela_toolset_put(b);
    chela_toolsets_close(&sets);
}

static void a_change_is_seen(void **state)
{
    (void)state;
    struct chela_toolsets sets = {0};
    struct chela_pair tools[] = {tool("one", "{\"description\":\"a\"}"), tool("two", "{}")};
    struct chela_toolset *a = get(&sets, &naming, tools, 2);
    tools[0] = tool("one", "{\"description\":\"b\"}");
    struct chela_toolset *b = get(&sets, &naming, tools, 2);
    struct chela_toolset *fewer = get(&sets, &naming, tools, 1);
    tools[0] = tool("one{", "\"description\":\"b\"}"); /* the same bytes, parted elsewhere */
    struct chela_toolset *moved = get(&sets, &naming, tools, 2);
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(b, moved);
    assert_int_equal(fewer->count, 1);
    assert_int_equal(moved->count, 1); /* the first is no JSON */
    struct chela_toolset *named = get(&sets, &other_naming, tools, 2);
    assert_ptr_not_equal(named, moved);
    struct chela_toolset *all[] = {a, b, fewer, moved, named};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        chela_toolset_put(all[i]);
    chela_toolsets_close(&sets);
}

static void a_set_outlives_its_place(void **state)
{
    (void)state;
    struct chela_toolsets sets = {0};
    struct chela_pair tools[] = {tool("held", "{}")};
    struct chela_toolset *held = get(&sets, &naming, tools, 1), *first = NULL;
    for (int i = 0; i < 3 * CHELA_TOOLSETS_KEPT; i++) {
        char name[16];
        snprintf(name, sizeof name, "other%d", i);
        tools[0] = tool(name, "{}");
        chela_toolset_put(get(&sets, &naming, tools, 1));
        if (i == 0) { /* the one used again and again stays */
            first = sets.kept[0];
            continue;
        }
        tools[0] = tool("other0", "{}");
        struct chela_toolset *again = get(&sets, &naming, tools, 1);
        assert_ptr_equal(again, first);
        chela_toolset_put(again);
    }
    chela_toolsets_close(&sets);
    assert_string_equal(chela_toolset_name(held, "held"), "held");
    chela_toolset_put(held);
}

static void names_are_found_by_both_spellings(void **state)
{
    (void)state;
    struct chela_toolsets sets = {0};
    const struct chela_pair tools[] = {tool("cal.now", "{}"), tool("cal.now", "{\"x\":1}"),
                                       tool("plain", "{}"), tool("broken", "{")};
    struct chela_toolset *set = get(&sets, &naming, tools, 4);
    assert_int_equal(set->count, 2); /* the second's name was taken, the last can't be read */
    assert_int_equal(chela_toolset_find(set, "cal.now", 7), 0);
    assert_int_equal(chela_toolset_find(set, set->offers[0].wire, strlen(set->offers[0].wire)), 0);
    assert_int_equal(chela_toolset_find(set, "plain", 5), 1);
    assert_int_equal(chela_toolset_find(set, "plai", 4), -1);
    assert_string_equal(chela_toolset_name(set, set->offers[0].wire), "cal.now");
    assert_null(chela_toolset_name(set, "cal.now"));
    chela_toolset_put(set);
    struct chela_toolset *none = get(&sets, &naming, NULL, 0);
    char *text = NULL;
    size_t n = 0;
    FILE *out = chela_write_open(&text, &n);
    chela_toolset_write(out, none, "[", write_tool, "", "]");
    fclose(out);
    assert_string_equal(text, "");
    free(text);
    chela_toolset_put(none);
    chela_toolsets_close(&sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes_are_read_once),
        cmocka_unit_test(a_change_is_seen),
        cmocka_unit_test(a_set_outlives_its_place),
        cmocka_unit_test(names_are_found_by_both_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
