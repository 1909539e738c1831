/*
 * chela.conf(5) tells every option of the core, with its type, default and help: its part between
 * the marks is what this program writes with --write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/settings_private.h"

/* roff's own characters */
static void add_text(struct buf *out, const char *text)
{
    if (*text == '.' && (!out->n || out->p[out->n - 1] == '\n'))
        buf_puts(out, "\\&"); /* a dot that begins a line is a command */
    for (; *text; text++)
        if (*text == '\\')
            buf_puts(out, "\\e");
        else if (*text == '-')
            buf_puts(out, "\\-");
        else
            buf_char(out, *text);
}

static void add_values(struct buf *out, const struct chela_option *values)
{
    buf_puts(out, ".RS\n");
    for (; values->name; values++) {
        buf_puts(out, ".IP \"");
        add_text(out, values->name);
        buf_puts(out, "\" 4\n");
        if (values->help && *values->help)
            add_text(out, values->help);
        else
            buf_puts(out, "\\&");
        buf_char(out, '\n');
    }
    buf_puts(out, ".RE\n");
}

static void add_option(struct buf *out, const char *prefix, const struct chela_option *o)
{
    buf_puts(out, ".TP\n.B ");
    add_text(out, prefix);
    add_text(out, o->name);
    buf_printf(out, "\n(%s", options_type_name(o->type));
    if (o->flags & CHELA_SECRET)
        buf_puts(out, ", secret");
    if (o->fallback) {
        buf_puts(out, ", default ");
        add_text(out, o->fallback);
    }
    buf_puts(out, ") ");
    add_text(out, o->help ? o->help : "");
    buf_puts(out, ".\n");
    if (o->items && o->type == CHELA_STRING)
        add_values(out, o->items);
    CLEANUP(freep) char *below = xprintf("%s%s[].", prefix, o->name);
    for (const struct chela_option *i = o->items; i && o->type == CHELA_ITEMS && i->name; i++)
        add_option(out, below, i);
}

static void write_options(struct buf *out)
{
    const char *before = "";
    for (const struct chela_option *o = settings_core_table; o->name; o++) {
        size_t n = strcspn(o->name, ".");
        if (o->name[n] && strncmp(before, o->name, n + 1) != 0)
            buf_printf(out, ".SS %.*s\n", (int)n, o->name);
        else if (!o->name[n] && (strchr(before, '.') || !*before))
            buf_puts(out, ".SS Without a group\n");
        add_option(out, "", o);
        before = o->name;
    }
    buf_puts(out, ".SS channels\n");
    for (const struct chela_option *o = settings_channel_table + 4; o->name; o++)
        add_option(out, "channels.*.", o); /* behind what every instance has */
}

static void the_manual_tells_every_option_as_it_is(void **state)
{
    static const char mark[] = ".\\\" options\n";
    (void)state;
    const char *source = getenv("CHELA_TEST_SRCDIR");
    CLEANUP(freep) char *path = xprintf("%s/doc/man/chela.conf.5", source ? source : "..");
    FILE *file = fopen(path, "r");
    struct buf text = {0}, wanted = {0};
    char chunk[4096];
    size_t n;
    assert_non_null(file);
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(&text, chunk, n);
    fclose(file);
    char *begin = strstr(buf_text(&text), mark);
    assert_non_null(begin);
    begin += strlen(mark);
    char *end = strstr(begin, mark);
    assert_non_null(end);
    *end = '\0';
    write_options(&wanted);
    assert_string_equal(begin, buf_text(&wanted));
    buf_free(&text);
    buf_free(&wanted);
}

static void no_option_stands_twice_in_the_table(void **state)
{
    (void)state;
    for (const struct chela_option *o = settings_core_table; o->name; o++)
        for (const struct chela_option *other = o + 1; other->name; other++)
            assert_string_not_equal(o->name, other->name);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        struct buf text = {0};
        write_options(&text);
        fputs(buf_text(&text), stdout);
        buf_free(&text);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_tells_every_option_as_it_is),
        cmocka_unit_test(no_option_stands_twice_in_the_table),
    };
    return cmocka_run_group_tests_name("manual of the settings", tests, NULL, NULL);
}
