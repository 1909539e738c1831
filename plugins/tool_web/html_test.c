/* Pages as a reader sees them: structure, links, hostile and broken markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"

static void expect(const char *html, bool markdown, const char *wanted)
{
    bool cut;
    char *text = html_render(html, strlen(html), "utf-8", "https://example.org/a/b.html", markdown,
                             100000, &cut);
    assert_string_equal(text, wanted);
    assert_false(cut);
    free(text);
}

static void blocks_and_marks_become_markdown(void **state)
{
    (void)state;
    expect("<title>T</title><body><h2>Head  line</h2><p>One <b>two</b>\n <i>three</i>.</p>"
           "<p>x<br>y</p>",
           true, "# T\n\n## Head line\n\nOne **two** *three*.\n\nx\ny\n");
    expect("<p>One <b>two</b></p><h1>H</h1>", false, "One two\n\nH\n");
}

static void links_are_absolute_and_only_those_that_lead_somewhere(void **state)
{
    (void)state;
    expect("<a href='../c?d=1'>up</a> <a href='#x'>here</a> <a href='javascript:a()'>js</a>", true,
           "[up](https://example.org/c?d=1) here js\n");
    expect("<a href='/c'>up</a>", false, "up\n");
}

static void lists_nest_and_count(void **state)
{
    (void)state;
    expect("<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>", true,
           "- a\n  1. b\n  2. c\n- d\n");
}

static void code_quotes_and_tables(void **state)
{
    (void)state;
    expect("<pre>a\n  b</pre><blockquote><p>q</p><p>r</p></blockquote>", true,
           "```\na\n  b\n```\n\n> q\n>\n> r\n");
    expect("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", true,
           "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
}

static void what_no_reader_sees_is_left_out(void **state)
{
    (void)state;
    expect("<script>alert(1)</script><style>p{}</style><noscript>n</noscript><!-- c --><p>x</p>",
           true, "x\n");
}

static void characters_survive_and_broken_pages_too(void **state)
{
    (void)state;
    expect("<p>\xe5\x8c\x97\xe4\xba\xac &amp; &#x2600;</p>", true,
           "\xe5\x8c\x97\xe4\xba\xac & \xe2\x98\x80\n");
    expect("<p>a<div>b</p><b>c", true, "a\n\nb**c**\n");
    expect("", true, "\n");
}

static void depth_and_length_are_bounded(void **state)
{
    (void)state;
    size_t n = 100000;
    char *deep = malloc(n * 5 + 2);
    assert_non_null(deep);
    for (size_t i = 0; i < n; i++)
        memcpy(deep + 5 * i, "<div>", 5);
    deep[5 * n] = 'x';
    bool cut;
    char *text = html_render(deep, 5 * n + 1, NULL, "https://example.org/", true, 1000, &cut);
    assert_true(strlen(text) <= 1000);
    free(text);
    free(deep);
    text = html_render("<p>a\xc3\xa9</p>", 10, "utf-8", "https://example.org/", true, 2, &cut);
    assert_string_equal(text, "a");
    assert_true(cut);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_marks_become_markdown),
        cmocka_unit_test(links_are_absolute_and_only_those_that_lead_somewhere),
        cmocka_unit_test(lists_nest_and_count),
        cmocka_unit_test(code_quotes_and_tables),
        cmocka_unit_test(what_no_reader_sees_is_left_out),
        cmocka_unit_test(characters_survive_and_broken_pages_too),
        cmocka_unit_test(depth_and_length_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
