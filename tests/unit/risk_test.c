/*
 * The risk of command lines: the corpus in tests/data, what the result says beside the level, an
 * admin's table, and the property that a longer line is never thought safer.
 */
#include "plugins/tool_exec/risk.h"
#include "tests/unit/shared.h"

#include <stdlib.h>
#include <string.h>

static struct risk_options shared; /* with a table, so that it isn't made for each line */

static enum risk_level level_of(const char *line, size_t length)
{
    struct risk_result result;
    risk_classify(line, length, &shared, &result);
    enum risk_level level = result.level;
    assert_int_equal(result.reason[0] == '\0', level == RISK_LOW);
    assert_true(result.understood || level == RISK_HIGH);
    risk_result_free(&result);
    return level;
}

/* ---- the corpus ---- */

/* Writes text with <<N>> as the character of that hexadecimal code. */
static size_t decode(const char *text, char *out)
{
    size_t used = 0;
    while (*text) {
        char *end;
        unsigned long code = strncmp(text, "<<", 2) == 0 ? strtoul(text + 2, &end, 16) : 0;
        if (code == 0 || strncmp(end, ">>", 2) != 0) {
            out[used++] = *text++;
            continue;
        }
        text = end + 2;
        if (code < 0x80) {
            out[used++] = (char)code;
        } else if (code < 0x800) {
            out[used++] = (char)(0xc0 | code >> 6);
            out[used++] = (char)(0x80 | (code & 0x3f));
        } else {
            out[used++] = (char)(0xe0 | code >> 12);
            out[used++] = (char)(0x80 | (code >> 6 & 0x3f));
            out[used++] = (char)(0x80 | (code & 0x3f));
        }
    }
    return used;
}

/* Calls function with each line of the corpus; returns how many there were. */
static unsigned each_line(void (*function)(const char *shown, const char *line, size_t length,
                                           enum risk_level level, void *context),
                          void *context, unsigned *ret_hiding)
{
    char path[600], line[1000], decoded[1000];
    const char *source = getenv("CHELA_TEST_SRCDIR");
    unsigned count = 0;
    bool hiding = false;
    snprintf(path, sizeof path, "%s/tests/data/risk-corpus.txt", source ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *ret_hiding = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        hiding = hiding || strcmp(line, "## hiding") == 0;
        char *tab = strchr(line, '\t');
        if (line[0] == '#' || !tab)
            continue;
        enum risk_level level = line[0] == 'l'   ? RISK_LOW
                                : line[0] == 'm' ? RISK_MEDIUM
                                                 : RISK_HIGH;
        function(tab + 1, decoded, decode(tab + 1, decoded), level, context);
        count++;
        *ret_hiding += hiding;
    }
    fclose(file);
    return count;
}

static void expect(const char *shown, const char *line, size_t length, enum risk_level level,
                   void *context)
{
    unsigned *wrong = context;
    enum risk_level found = level_of(line, length);
    if (found == level)
        return;
    print_message("# %s should be %s, is %s\n", shown, risk_level_name(level),
                  risk_level_name(found));
    ++*wrong;
}

static void each_line_of_the_corpus_has_its_class(void **state)
{
    (void)state;
    unsigned wrong = 0, hiding;
    unsigned count = each_line(expect, &wrong, &hiding);
    print_message("# %u lines, %u of them try to hide something, %u wrong\n", count, hiding, wrong);
    assert_int_equal(wrong, 0);
    assert_true(count >= 400 && hiding >= 150);
}

/* ---- longer lines ---- */

static void extend(const char *shown, const char *line, size_t length, enum risk_level level,
                   void *context)
{
    static const char *const extensions[] = {"; rm -rf x", "\nrm -rf x",  " && rm -rf x",
                                             " | sh",      ";rm -rf x #", "; rm -rf x; ls"};
    (void)context;
    char longer[1100];
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        size_t more = strlen(extensions[i]);
        memcpy(longer, line, length);
        memcpy(longer + length, extensions[i], more);
        enum risk_level found = level_of(longer, length + more);
        /* A comment, a here-document's end or a backslash at the end may take the extension in. */
        bool taken = strchr(line, '#') || strstr(shown, "<<") || line[length - 1] == '\\';
        if (found < level || (found != RISK_HIGH && !taken))
            fail_msg("%s%s is %s", shown, extensions[i], risk_level_name(found));
    }
}

static void appending_rm_makes_every_line_high(void **state)
{
    (void)state;
    unsigned hiding;
    each_line(extend, NULL, &hiding);
}

static uint64_t seed = 20240229;

static unsigned roll(unsigned sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % sides;
}

static void random_lines_never_fall_when_they_grow(void **state)
{
    static const char *const pieces[] = {
        "ls",     "cat", "rm",   "-rf",     "x",    " ",     " ",           " ",       ";",
        "&&",     "||",  "|",    "&",       "\n",   "$",     "$(",          ")",       "`",
        "'",      "\"",  "\\",   "#",       ">",    "<",     "<<",          "EOF",     "<<<",
        "{",      "}",   "(",    "if",      "then", "fi",    "for",         "do",      "done",
        "while",  "in",  "[",    "[[",      "]]",   "]",     "*",           "?",       "~",
        "=",      "a=b", "env",  "sh",      "-c",   "xargs", "find",        ".",       "-exec",
        "{}",     "\\;", "+",    "sed",     "p",    "-i",    "awk",         "git",     "status",
        "-c",     "log", "tar",  "tf",      "echo", "2>&1",  "/etc/passwd", "$x",      "${x}",
        "$((1))", "!",   "time", "timeout", "5",    "sort",  "-o",          "command", "-v",
        "test",
    };
    (void)state;
    unsigned highs = 0, others = 0;
    for (unsigned round = 0; round < 20000; round++) {
        char line[400], longer[420];
        size_t length = 0;
        for (unsigned words = 1 + roll(9); words > 0; words--) {
            const char *piece = pieces[roll(sizeof pieces / sizeof *pieces)];
            length += (size_t)snprintf(line + length, sizeof line - length, "%s%s", piece,
                                       roll(3) ? " " : "");
        }
        enum risk_level level = level_of(line, length);
        highs += level == RISK_HIGH;
        others += level != RISK_HIGH;
        size_t more = (size_t)snprintf(longer, sizeof longer, "%s; rm -rf x", line);
        enum risk_level found = level_of(longer, more);
        if (found < level)
            fail_msg("'%s' is %s, longer %s", line, risk_level_name(level), risk_level_name(found));
    }
    print_message("# %u of them high, %u not\n", highs, others);
    assert_true(highs > 1000 && others > 1000);
}

/* ---- the result ---- */

static const char *in_path(void *context, const char *name)
{
    (void)context;
    if (strcmp(name, "cat") == 0)
        return "/home/user/bin/cat";
    return strcmp(name, "ls") == 0 ? "/usr/bin/ls" : NULL;
}

static void the_result_names_commands_words_and_redirections(void **state)
{
    (void)state;
    static const char line[] = "env LC_ALL=C ls -l \"$x\" 'a b' 2>>err.log >/dev/null | grep x";
    struct risk_options options = {.resolve = in_path};
    struct risk_result result;
    risk_classify(line, strlen(line), &options, &result);
    assert_int_equal(result.level, RISK_MEDIUM);
    assert_string_equal(result.reason, ">> err.log: writes a file");
    assert_true(result.understood);
    assert_int_equal(result.count, 3);
    const struct risk_command *ls = &result.commands[0], *env = &result.commands[1];
    assert_string_equal(ls->name, "ls");
    assert_string_equal(ls->path, "/usr/bin/ls");
    assert_int_equal(ls->count, 4);
    assert_string_equal(ls->words[1].text, "-l");
    assert_null(ls->words[2].text);
    assert_string_equal(ls->words[2].source, "\"$x\"");
    assert_string_equal(ls->words[3].text, "a b");
    assert_int_equal(ls->level, RISK_LOW);
    assert_string_equal(env->name, "env");
    assert_int_equal(env->redirection_count, 2);
    assert_int_equal(env->redirections[0].descriptor, 2);
    assert_string_equal(env->redirections[0].operator, ">>");
    assert_string_equal(env->redirections[0].target.text, "err.log");
    assert_int_equal(env->redirections[1].descriptor, -1);
    assert_int_equal(env->level, RISK_MEDIUM);
    assert_string_equal(result.commands[2].name, "grep");
    risk_result_free(&result);
    assert_null(result.memory);
}

static void a_program_elsewhere_in_path_is_not_what_it_is_called(void **state)
{
    (void)state;
    static const char *const home[] = {"/home/user/bin", NULL};
    struct risk_options options = {.resolve = in_path};
    struct risk_result result;
    risk_classify("cat x", 5, &options, &result);
    assert_int_equal(result.level, RISK_HIGH);
    assert_string_equal(result.reason, "cat x: an unknown program");
    assert_string_equal(result.commands[0].path, "/home/user/bin/cat");
    assert_null(result.commands[0].name);
    risk_result_free(&result);
    options.trusted = home;
    risk_classify("cat x", 5, &options, &result);
    assert_int_equal(result.level, RISK_LOW);
    risk_result_free(&result);
    risk_classify("ls x", 4, &options, &result);
    assert_int_equal(result.level, RISK_HIGH);
    risk_result_free(&result);
}

static void a_reason_is_printable_and_bounded(void **state)
{
    (void)state;
    char line[3000] = "rm -rf '\ta\n\xe4\xbd\xa0";
    for (size_t i = strlen(line); i < sizeof line - 4; i += 3)
        memcpy(line + i, "\xe4\xbd\xa0", 4);
    line[sizeof line - 2] = '\'';
    size_t length = strlen(line);
    struct risk_result result;
    risk_classify(line, length, NULL, &result);
    assert_true(strlen(result.reason) < 250);
    assert_null(strpbrk(result.reason, "\n\t"));
    risk_result_free(&result);
}

static void what_is_too_long_deep_or_not_text_is_high(void **state)
{
    (void)state;
    char *line = malloc(200000);
    assert_non_null(line);
    memset(line, 'a', 200000);
    memcpy(line, "ls ", 3);
    assert_int_equal(level_of(line, 200000), RISK_HIGH);
    assert_int_equal(level_of(line, 60000), RISK_MEDIUM); /* a name that may be any file's */
    memset(line, '(', 100000);
    assert_int_equal(level_of(line, 60000), RISK_HIGH);
    for (size_t i = 0; i + 1 < 60000; i += 2)
        memcpy(line + i, "$(", 2);
    assert_int_equal(level_of(line, 60000), RISK_HIGH);
    for (size_t i = 0; i + 5 < 60000; i += 5)
        memcpy(line + i, "${x:-", 5);
    memset(line + 48000, '}', 12000);
    assert_int_equal(level_of(line, 60000), RISK_HIGH);
    for (size_t i = 0; i + 2 < 60000; i += 2)
        memcpy(line + i, ">a", 2);
    assert_int_equal(level_of(line, 59998), RISK_HIGH);
    for (size_t i = 0; i + 3 < 60000; i += 3)
        memcpy(line + i, "ls;", 3);
    assert_int_equal(level_of(line, 59997), RISK_HIGH);
    assert_int_equal(level_of("ls\0rm", 5), RISK_HIGH);
    assert_int_equal(level_of("ls \xff", 4), RISK_HIGH);
    assert_int_equal(level_of("", 0), RISK_LOW);
    free(line);
}

static void an_admin_can_extend_the_table(void **state)
{
    (void)state;
    static const char lines[] =
        "# ours\n  deploy high -- changes production\n\ndeploy/status low\n"
        "report low medium=-o,--output paths=all -- writes\nls medium -- ours\n";
    char error[200] = "";
    struct risk_table *table = risk_table_new(lines, strlen(lines), error, sizeof error);
    assert_non_null(table);
    static const struct {
        const char *line;
        enum risk_level level;
    } cases[] = {
        {"report x", RISK_LOW},    {"report -o x", RISK_MEDIUM}, {"report --out=/etc/x", RISK_HIGH},
        {"deploy now", RISK_HIGH}, {"ls", RISK_MEDIUM},          {"cat x", RISK_LOW},
        {"report $x", RISK_HIGH},  {"other", RISK_HIGH}};
    struct risk_options options = {.table = table};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct risk_result result;
        risk_classify(cases[i].line, strlen(cases[i].line), &options, &result);
        if (result.level != cases[i].level)
            fail_msg("%s is %s", cases[i].line, risk_level_name(result.level));
        risk_result_free(&result);
    }
    risk_table_free(table);
    static const char *const bad[] = {"x",           "x lo",          "ls low\nx low nonsense",
                                      "x low wrap:", "x low wrap:12", "x low most=z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(risk_table_new(bad[i], strlen(bad[i]), error, sizeof error));
        assert_non_null(strstr(error, i == 2 ? "line 2" : "line 1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_the_corpus_has_its_class),
        cmocka_unit_test(appending_rm_makes_every_line_high),
        cmocka_unit_test(random_lines_never_fall_when_they_grow),
        cmocka_unit_test(the_result_names_commands_words_and_redirections),
        cmocka_unit_test(a_program_elsewhere_in_path_is_not_what_it_is_called),
        cmocka_unit_test(a_reason_is_printable_and_bounded),
        cmocka_unit_test(what_is_too_long_deep_or_not_text_is_high),
        cmocka_unit_test(an_admin_can_extend_the_table),
    };
    struct risk_table *table = risk_table_new(NULL, 0, NULL, 0);
    shared.table = table;
    int result = cmocka_run_group_tests_name("risk", tests, NULL, NULL);
    risk_table_free(table);
    return result;
}
