/*
 * Programs whose risk is that of what they run or hold: subcommands, wrappers (env, timeout, nice
 * ...), shells with -c, find -exec, xargs, and the few whose arguments are a language (sed, awk,
 * test) or variables (read, export).
 */
#include "risk_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verdict unseen = {RISK_HIGH, "its arguments are known only when it runs"};
static const struct verdict odd = {RISK_HIGH, "an option that isn't known"};

static struct verdict worse_of(struct verdict one, struct verdict two)
{
    return two.level > one.level ? two : one;
}

/* ---- subcommands ---- */

struct verdict risk_weigh_sub(struct run *run, const struct program *program,
                              const struct word *args, size_t count, const char *name)
{
    char path[128];
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &args[i];
        if (!risk_is_literal(word))
            return (struct verdict){RISK_HIGH, "its subcommand is known only when it runs"};
        if (risk_listed(&program->low, word->text))
            return (struct verdict){RISK_LOW, ""};
        if (risk_listed(&program->values, word->text)) {
            i++;
            if (i < count && (args[i].flags & WORD_SPLITS))
                return unseen;
            continue;
        }
        if (risk_is_option(word)) {
            if (risk_is_free(program, word->text))
                continue;
            return (struct verdict){
                RISK_HIGH, "an option before the subcommand that isn't known to be harmless"};
        }
        int length = snprintf(path, sizeof path, "%s/%s", name, word->text);
        const struct program *sub =
            length > 0 && (size_t)length < sizeof path && !strchr(word->text, '/')
                ? risk_table_find(run->table, path)
                : NULL;
        if (!sub)
            return (struct verdict){program->level, program->why};
        return sub->kind == PROGRAM_SUB
                   ? risk_weigh_sub(run, sub, args + i + 1, count - i - 1, path)
                   : risk_weigh_plain(sub, args + i + 1, count - i - 1);
    }
    return (struct verdict){count == 0 ? program->skip ? program->level : RISK_LOW : RISK_LOW,
                            program->why};
}

/* ---- wrappers ---- */

/* The index of the first operand, count if there is none; false for an option that may do anything.
 */
static bool skip_options(const struct program *program, const struct word *args, size_t count,
                         size_t *ret)
{
    size_t i = 0;
    for (; i < count; i++) {
        const struct word *word = &args[i];
        if (risk_may_be_option(word))
            return false;
        if (!risk_is_literal(word) || !risk_is_option(word))
            break;
        if (strcmp(word->text, "--") == 0) {
            i++;
            break;
        }
        if (risk_listed(&program->values, word->text)) {
            i++;
            if (i < count && (args[i].flags & WORD_SPLITS))
                return false;
        } else if (!risk_is_free(program, word->text) &&
                   !risk_matches(&program->values, word->text, &program->values)) {
            return false;
        }
    }
    *ret = i < count ? i : count;
    return true;
}

static struct verdict weigh_rest(struct run *run, const struct program *program,
                                 const struct word *args, size_t count, unsigned depth)
{
    struct verdict floor = {program->level, program->why};
    return count == 0 ? floor : worse_of(floor, risk_weigh(run, args, count, depth + 1));
}

static struct verdict weigh_wrap(struct run *run, const struct program *program,
                                 const struct word *args, size_t count, unsigned depth)
{
    size_t first;
    if (!skip_options(program, args, count, &first))
        return odd;
    for (unsigned i = 0; i < program->skip && first < count; i++, first++)
        if (args[first].flags & WORD_SPLITS)
            return unseen;
    return weigh_rest(run, program, args + first, count - first, depth);
}

static struct verdict weigh_env(struct run *run, const struct program *program,
                                const struct word *args, size_t count, unsigned depth)
{
    size_t first;
    struct verdict verdict = {RISK_LOW, ""};
    if (!skip_options(program, args, count, &first))
        return odd;
    for (; first < count; first++) {
        const struct word *word = &args[first];
        const char *equals = strchr(word->text, '=');
        if (word->flags & WORD_SPLITS)
            return unseen;
        if (!equals)
            break;
        risk_worse(&verdict, risk_of_variable(word->text, (size_t)(equals - word->text), true),
                   "sets a variable that programs obey");
    }
    return worse_of(verdict, weigh_rest(run, program, args + first, count - first, depth));
}

static struct verdict weigh_command(struct run *run, const struct program *program,
                                    const struct word *args, size_t count, unsigned depth)
{
    if (count > 0 && risk_is_literal(&args[0]) && risk_listed(&program->low, args[0].text))
        return (struct verdict){RISK_LOW, ""};
    return weigh_wrap(run, program, args, count, depth);
}

/* Only `sh -c TEXT` with a text that is known: everything else runs what isn't seen. */
static struct verdict weigh_shell(struct run *run, const struct word *args, size_t count)
{
    struct verdict verdict = {RISK_HIGH, "a shell that runs what isn't seen here"};
    if (count < 2 || !risk_is_literal(&args[0]) || !risk_is_literal(&args[1]))
        return verdict;
    const char *option = args[0].text;
    size_t length = strlen(option);
    if (length < 2 || option[0] != '-' || option[length - 1] != 'c' ||
        strspn(option + 1, "euxfv") != length - 2)
        return verdict;
    size_t first = run->command_count;
    if (!risk_parse_text(run, args[1].text, args[1].length))
        return (struct verdict){RISK_HIGH, "a text for a shell that isn't understood"};
    verdict = (struct verdict){RISK_LOW, ""};
    for (size_t i = first; i < run->command_count; i++)
        risk_worse(&verdict, run->commands[i].level, run->commands[i].reason);
    return verdict;
}

/* ---- find ---- */

static struct word found_word(const struct word *word)
{
    static char name[] = "found";
    struct word found = *word;
    found.text = name; /* what find finds begins with where it began, so it is no option */
    found.length = strlen(name);
    found.flags = WORD_VARIES;
    return found;
}

/* The command behind -exec; *at moves to its end. */
static struct verdict weigh_exec(struct run *run, const struct word *args, size_t count, size_t *at,
                                 unsigned depth)
{
    size_t first = *at + 1, end = first;
    while (end < count &&
           !(risk_is_literal(&args[end]) && (strcmp(args[end].text, ";") == 0 ||
                                             (strcmp(args[end].text, "+") == 0 && end > first &&
                                              strcmp(args[end - 1].source, "{}") == 0))))
        end++;
    if (end == count || end == first)
        return (struct verdict){RISK_HIGH, "an -exec that isn't understood"};
    struct word *words = risk_allocate(run, (end - first) * sizeof *words);
    for (size_t i = first; i < end; i++)
        words[i - first] = strstr(args[i].source, "{}") ? found_word(&args[i]) : args[i];
    *at = end;
    return risk_weigh(run, words, end - first, depth + 1);
}

static struct verdict weigh_find(struct run *run, const struct program *program,
                                 const struct word *args, size_t count, unsigned depth)
{
    static const char *const runs[] = {"-exec", "-execdir", "-ok", "-okdir"};
    struct verdict verdict = {program->level, program->why};
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &args[i];
        bool exec = false;
        if (risk_may_be_option(word))
            return unseen;
        if (risk_is_secret(word))
            risk_worse(&verdict, RISK_MEDIUM, "may show secrets");
        if (risk_is_literal(word) && risk_listed(&program->values, word->text)) {
            i++;
            if (i < count && risk_is_secret(&args[i]))
                risk_worse(&verdict, RISK_MEDIUM, "may show secrets");
            if (i < count && (args[i].flags & WORD_SPLITS))
                return unseen;
            continue;
        }
        for (size_t r = 0; r < 4; r++)
            exec = exec || strcmp(word->text, runs[r]) == 0;
        if (risk_is_literal(word) && exec)
            verdict = worse_of(verdict, weigh_exec(run, args, count, &i, depth));
        else if (risk_is_literal(word) &&
                 risk_matches(&program->high, word->text, &program->values))
            risk_worse(&verdict, RISK_HIGH, "deletes what it finds");
        else if (risk_is_literal(word) &&
                 risk_matches(&program->medium, word->text, &program->values)) {
            risk_worse(&verdict, RISK_MEDIUM, "writes a file");
            if (i + 1 < count && risk_of_written_path(&args[i + 1]) == RISK_HIGH)
                risk_worse(&verdict, RISK_HIGH, "changes a place that isn't the workspace's own");
        } else if (risk_is_literal(word) && risk_is_option(word) &&
                   !risk_is_free(program, word->text)) {
            return odd;
        }
    }
    return verdict;
}

/* ---- xargs ---- */

static const char *replaced_text(const struct word *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(args[i].text, "-I", 2) == 0)
            return args[i].text[2] ? args[i].text + 2 : i + 1 < count ? args[i + 1].text : NULL;
        if (strncmp(args[i].text, "--replace", 9) == 0 || strncmp(args[i].text, "-i", 2) == 0)
            return strchr(args[i].text, '=')                   ? strchr(args[i].text, '=') + 1
                   : args[i].text[1] == 'i' && args[i].text[2] ? args[i].text + 2
                                                               : "{}";
    }
    return NULL;
}

static struct verdict weigh_xargs(struct run *run, const struct program *program,
                                  const struct word *args, size_t count, unsigned depth)
{
    static char nothing[] = "", dots[] = "...";
    size_t first;
    if (!skip_options(program, args, count, &first))
        return odd;
    if (first == count)
        return (struct verdict){RISK_MEDIUM, "writes what it is given"};
    const char *replaced = replaced_text(args, first);
    if (replaced && !*replaced)
        return odd;
    struct word *words = risk_allocate(run, (count - first + 1) * sizeof *words);
    size_t used = 0;
    for (size_t i = first; i < count; i++) {
        words[used] = args[i];
        char *at = replaced && risk_is_literal(&args[i]) ? strstr(args[i].text, replaced) : NULL;
        if (at) {
            words[used].length = (size_t)(at - args[i].text);
            words[used].text = risk_copy(run, args[i].text, words[used].length);
            words[used].flags |= WORD_VARIES;
        }
        used++;
    }
    if (!replaced)
        words[used++] =
            (struct word){.text = nothing, .source = dots, .flags = WORD_VARIES | WORD_SPLITS};
    return risk_weigh(run, words, used, depth + 1);
}

struct verdict risk_weigh_wrapper(struct run *run, const struct program *program,
                                  const struct word *args, size_t count, unsigned depth)
{
    switch (program->kind) {
    case PROGRAM_SHELL: return weigh_shell(run, args, count);
    case PROGRAM_FIND: return weigh_find(run, program, args, count, depth);
    case PROGRAM_XARGS: return weigh_xargs(run, program, args, count, depth);
    case PROGRAM_ENV: return weigh_env(run, program, args, count, depth);
    case PROGRAM_COMMAND: return weigh_command(run, program, args, count, depth);
    default: return weigh_wrap(run, program, args, count, depth);
    }
}

/* ---- test, variables ---- */

/* bash evaluates what looks like a number or an array's element, and with it commands: [[ 'a[$(x)]'
 * -eq 1 ]]. */
struct verdict risk_weigh_test(const struct word *words, size_t count)
{
    static const char *const numeric[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"};
    bool brackets = strcmp(words[0].text, "[[") == 0, counts = false, varies = false;
    if (strcmp(words[0].text, "[") == 0 && (count < 2 || strcmp(words[count - 1].source, "]") != 0))
        return (struct verdict){RISK_HIGH, "a [ that doesn't end"};
    for (size_t i = 1; i < count; i++) {
        const char *text = words[i].text;
        if (risk_is_literal(&words[i]) && (strpbrk(text, "[`") || strstr(text, "$(")))
            return (struct verdict){RISK_HIGH, "a test of what may be evaluated"};
        for (size_t n = 0; n < sizeof numeric / sizeof *numeric; n++)
            counts = counts || (strcmp(text, numeric[n]) == 0 && (brackets || n >= 6));
        varies = varies || !risk_is_literal(&words[i]);
    }
    if (counts && varies)
        return (struct verdict){RISK_HIGH, "a test of what may be evaluated"};
    return (struct verdict){RISK_LOW, ""};
}

struct verdict risk_weigh_names(const struct program *program, const struct word *args,
                                size_t count)
{
    struct verdict verdict = {program->level, program->why};
    for (size_t i = 0; i < count; i++) {
        const char *text = args[i].text, *equals = strchr(text, '=');
        if ((args[i].flags & WORD_SPLITS) || (!risk_is_literal(&args[i]) && !equals))
            return unseen;
        if (risk_is_option(&args[i]) && !risk_is_free(program, text))
            return odd;
        if (!risk_is_option(&args[i]))
            risk_worse(
                &verdict,
                risk_of_variable(text, equals ? (size_t)(equals - text) : strlen(text), false),
                "sets a variable that programs obey");
    }
    return verdict;
}

/* ---- sed and awk ---- */

struct sed {
    bool in_place, given;
    struct verdict verdict;
};

static void weigh_script(struct sed *sed, const struct word *word, const char *text)
{
    sed->given = true;
    if (!word || !risk_is_literal(word) || risk_of_sed(text) != RISK_LOW)
        risk_worse(&sed->verdict, RISK_HIGH, "a script that isn't known to only print");
}

/* A cluster of short options; the script of -e is its rest or the next word. Returns how many words
 * it took besides. */
static size_t weigh_sed_cluster(struct sed *sed, const struct word *args, size_t count)
{
    for (const char *c = args[0].text + 1; *c; c++) {
        if (*c == 'i') {
            sed->in_place = true;
            return 0;
        }
        if (*c == 'e' && c[1]) {
            weigh_script(sed, &args[0], c + 1);
            return 0;
        }
        if (*c == 'e') {
            weigh_script(sed, count > 1 ? &args[1] : NULL, count > 1 ? args[1].text : "");
            return 1;
        }
        if (!strchr("nErsuz", *c)) {
            risk_worse(&sed->verdict, RISK_HIGH, "an option that isn't known");
            return 0;
        }
    }
    return 0;
}

struct verdict risk_weigh_sed(const struct program *program, const struct word *args, size_t count)
{
    struct sed sed = {.verdict = {program->level, program->why}};
    const struct word *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *text = args[i].text;
        if (risk_may_be_option(&args[i]))
            return unseen;
        if (strcmp(text, "--") == 0 && risk_is_literal(&args[i]))
            return odd;
        if (!risk_is_literal(&args[i]) || !risk_is_option(&args[i])) {
            first = first ? first : &args[i];
            if (risk_is_secret(&args[i]))
                risk_worse(&sed.verdict, RISK_MEDIUM, "may show secrets");
        } else if (text[1] == '-') {
            sed.in_place = sed.in_place || strncmp(text, "--in-place", 10) == 0;
            if (strncmp(text, "--expression=", 13) == 0)
                weigh_script(&sed, &args[i], text + 13);
            else if (!risk_is_free(program, text) && strncmp(text, "--in-place", 10) != 0)
                return odd;
        } else {
            i += weigh_sed_cluster(&sed, args + i, count - i);
        }
    }
    if (!sed.given && first)
        weigh_script(&sed, first, first->text);
    if (sed.in_place) {
        risk_worse(&sed.verdict, RISK_MEDIUM, "changes files in place");
        for (size_t i = 0; i < count; i++)
            if (&args[i] != first && (!risk_is_literal(&args[i]) || !risk_is_option(&args[i])) &&
                risk_of_written_path(&args[i]) == RISK_HIGH)
                risk_worse(&sed.verdict, RISK_HIGH,
                           "what it changes isn't the workspace's own, or isn't known");
    }
    return sed.verdict;
}

struct verdict risk_weigh_awk(const struct program *program, const struct word *args, size_t count)
{
    struct verdict verdict = {program->level, program->why};
    size_t first;
    if (!skip_options(program, args, count, &first))
        return odd;
    if (first == count)
        return verdict;
    if (!risk_is_literal(&args[first]))
        return (struct verdict){RISK_HIGH, "a program that is known only when it runs"};
    enum risk_level level = risk_of_awk(args[first].text);
    risk_worse(&verdict, level,
               level == RISK_HIGH ? "a program that may run or write anything"
                                  : "a program that may write files");
    for (size_t i = first + 1; i < count; i++)
        if (risk_is_secret(&args[i]))
            risk_worse(&verdict, RISK_MEDIUM, "may show secrets");
    return verdict;
}
