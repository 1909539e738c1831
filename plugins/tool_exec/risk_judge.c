/*
 * Weighs one simple command: who the program is, what its options turn it into, what its words and
 * redirections touch. What is special about a program stands in the table; the programs that run
 * others are in risk_wrap.c.
 */
#include "risk_judge.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- words and lists ---- */

bool risk_is_literal(const struct word *word)
{
    return !(word->flags & (WORD_VARIES | WORD_SPLITS));
}

bool risk_may_be_option(const struct word *word)
{
    if (risk_is_literal(word))
        return false;
    return (word->flags & WORD_SPLITS) || word->length == 0 || word->text[0] == '-';
}

bool risk_listed(const struct list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

/* Is letter one of a cluster's ("-abc"), before one that takes the rest as its value? */
static bool in_cluster(const char *cluster, char letter, const struct list *values)
{
    for (const char *c = cluster + 1; *c; c++) {
        char option[] = {'-', *c, '\0'};
        if (*c == letter)
            return true;
        if (risk_listed(values, option))
            return false;
    }
    return false;
}

bool risk_matches(const struct list *list, const char *text, const struct list *values)
{
    size_t name = strcspn(text, "=");
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i];
        size_t length = strlen(item);
        size_t prefix = item[length - 1] == '*' ? length - 1 : item[length - 1] == '=' ? length : 0;
        if (prefix > 0 ? strncmp(text, item, prefix) == 0 : strcmp(text, item) == 0)
            return true;
        if (item[0] != '-' || text[0] != '-')
            continue;
        if (item[1] == '-') { /* getopt takes what is left of a long name */
            if (text[1] == '-' && name > 2 && name <= length && strncmp(item, text, name) == 0)
                return true;
        } else if (length == 2) {
            if (text[1] != '-' && in_cluster(text, item[1], values))
                return true;
        } else if (name == length && strncmp(item, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_number_option(const char *text)
{
    const char *c = text + 1;
    while (isdigit((unsigned char)*c))
        c++;
    return text[0] == '-' && c > text + 1 && *c == '\0';
}

bool risk_is_option(const struct word *word)
{
    return word->text[0] == '-' && word->text[1] != '\0';
}

bool risk_is_free(const struct program *program, const char *text)
{
    return is_number_option(text) || risk_listed(&program->free, text);
}

void risk_worse(struct verdict *verdict, enum risk_level level, const char *why)
{
    if (level > verdict->level)
        *verdict = (struct verdict){level, why};
}

/* ---- plain programs ---- */

static void weigh_option(const struct program *program, const struct word *word,
                         struct verdict *verdict)
{
    if (risk_matches(&program->high, word->text, &program->values))
        risk_worse(verdict, RISK_HIGH, "an option that makes it destroy or run something");
    else if (risk_matches(&program->medium, word->text, &program->values))
        risk_worse(verdict, RISK_MEDIUM, "an option that makes it write");
    else if (program->strict && risk_is_option(word) && !risk_is_free(program, word->text) &&
             !risk_matches(&program->values, word->text, &program->values))
        risk_worse(verdict, RISK_HIGH, "an option that isn't known");
}

/* "xPf" as "-xPf" */
static void weigh_bundle(const struct program *program, const struct word *word,
                         struct verdict *verdict)
{
    char dashed[64] = "-";
    if (word->length + 2 > sizeof dashed) {
        risk_worse(verdict, RISK_HIGH, "an option that isn't known");
        return;
    }
    memcpy(dashed + 1, word->text, word->length + 1);
    struct word copy = *word;
    copy.text = dashed;
    weigh_option(program, &copy, verdict);
}

/* Options that can't be seen might be the worst of those that are listed. */
static void weigh_unseen(const struct program *program, struct verdict *verdict)
{
    if (program->high.count > 0 || program->strict)
        risk_worse(verdict, RISK_HIGH, "its options are known only when it runs");
    else if (program->medium.count > 0)
        risk_worse(verdict, RISK_MEDIUM, "its options are known only when it runs");
}

static void weigh_path(const struct word *word, struct verdict *verdict)
{
    if (risk_of_written_path(word) == RISK_HIGH)
        risk_worse(verdict, RISK_HIGH,
                   risk_is_literal(word) ? "changes a place that isn't the workspace's own"
                                         : "what it changes is known only when it runs");
}

/* An option's own value: "-o/etc/x", "--output=/etc/x". */
static void weigh_attached(const struct word *word, struct verdict *verdict)
{
    const char *equals = strchr(word->text, '=');
    const char *value = equals                                  ? equals + 1
                        : word->text[1] && word->text[1] != '-' ? word->text + 2
                                                                : "";
    if (risk_is_sensitive(value))
        risk_worse(verdict, RISK_HIGH, "changes a place that isn't the workspace's own");
}

static void weigh_paths(const struct program *program, const struct word *args, size_t count,
                        struct verdict *verdict)
{
    bool over = false, all = program->paths == PATHS_ALL;
    const struct word *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &args[i];
        if (!over && risk_is_literal(word) && strcmp(word->text, "--") == 0) {
            over = true;
        } else if (!over && risk_is_literal(word) && risk_is_option(word)) {
            all = all || strchr(word->text, 't') != NULL; /* --target-directory */
            weigh_attached(word, verdict);
        } else {
            last = word;
        }
    }
    over = false;
    for (size_t i = 0; i < count; i++) {
        bool option = !over && risk_is_literal(&args[i]) && risk_is_option(&args[i]);
        over = over || (option && strcmp(args[i].text, "--") == 0);
        if (!option && (all || &args[i] == last))
            weigh_path(&args[i], verdict);
    }
}

struct verdict risk_weigh_plain(const struct program *program, const struct word *args,
                                size_t count)
{
    struct verdict verdict = {program->level, program->why};
    bool over = false, value = false;
    unsigned operands = 0;
    if (count > 0 && risk_is_literal(&args[0]) &&
        (risk_listed(&program->low, args[0].text) ||
         (count == 1 && risk_listed(&program->alone, args[0].text))))
        verdict = (struct verdict){RISK_LOW, ""};
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &args[i];
        bool literal = risk_is_literal(word), is_value = value;
        value = false;
        if (is_value && !(word->flags & WORD_SPLITS)) {
            if (risk_is_secret(word))
                risk_worse(&verdict, RISK_MEDIUM, "may show secrets");
            continue;
        }
        if (!over && literal && strcmp(word->text, "--") == 0) {
            over = true;
            if (risk_listed(&program->high, "--"))
                risk_worse(&verdict, RISK_HIGH, "what follows -- is overwritten");
            continue;
        }
        if (i == 0 && program->bundled && literal && !risk_is_option(word))
            weigh_bundle(program, word, &verdict);
        if (!over && risk_may_be_option(word))
            weigh_unseen(program, &verdict);
        else if (literal && (!over || !risk_is_option(word)))
            weigh_option(program, word, &verdict);
        value = !over && literal && risk_listed(&program->values, word->text);
        operands += over || !literal || !risk_is_option(word);
        if (risk_is_secret(word))
            risk_worse(&verdict, RISK_MEDIUM, "may show secrets");
    }
    if (program->most > 0 && operands >= program->most)
        risk_worse(&verdict, RISK_HIGH, "more operands than a query has");
    if (program->paths != PATHS_NONE && verdict.level > RISK_LOW)
        weigh_paths(program, args, count, &verdict);
    return verdict;
}

/* ---- who is it? ---- */

static bool is_trusted(const struct run *run, const char *path)
{
    static const char *const standard[] = {
        "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", NULL};
    const char *const *folder = run->options->trusted ? run->options->trusted : standard;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    for (; *folder; folder++)
        if (strlen(*folder) == length && memcmp(*folder, path, length) == 0)
            return true;
    return false;
}

static const struct program *identify(struct run *run, const char *text, const char **ret_path)
{
    const char *slash = strrchr(text, '/');
    *ret_path = slash ? text : NULL;
    if (slash)
        return is_trusted(run, text) ? risk_table_find(run->table, slash + 1) : NULL;
    const struct program *program = risk_table_find(run->table, text);
    if (program && program->builtin)
        return program;
    if (run->options->resolve)
        *ret_path = run->options->resolve(run->options->context, text);
    return *ret_path && !is_trusted(run, *ret_path) ? NULL : program;
}

static struct verdict weigh_program(struct run *run, const struct word *words, size_t count,
                                    const struct program *program, const char *name, unsigned depth)
{
    switch (program->kind) {
    case PROGRAM_PLAIN: return risk_weigh_plain(program, words + 1, count - 1);
    case PROGRAM_SUB: return risk_weigh_sub(run, program, words + 1, count - 1, name);
    case PROGRAM_TEST: return risk_weigh_test(words, count);
    case PROGRAM_NAMES: return risk_weigh_names(program, words + 1, count - 1);
    case PROGRAM_SED: return risk_weigh_sed(program, words + 1, count - 1);
    case PROGRAM_AWK: return risk_weigh_awk(program, words + 1, count - 1);
    default: return risk_weigh_wrapper(run, program, words + 1, count - 1, depth);
    }
}

/* ---- the result's entry ---- */

static struct risk_word shown(const struct word *word)
{
    return (struct risk_word){risk_is_literal(word) ? word->text : NULL, word->source};
}

static struct risk_command *new_entry(struct run *run)
{
    if (run->command_count == run->command_room) {
        size_t room = run->command_room * 2 + 8;
        struct risk_command *more = risk_allocate(run, room * sizeof *more);
        if (run->command_count > 0)
            memcpy(more, run->commands, run->command_count * sizeof *more);
        run->commands = more;
        run->command_room = room;
    }
    return &run->commands[run->command_count++];
}

static char *joined(struct run *run, const struct word *words, size_t count)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < count && size < 300; i++)
        size += strlen(words[i].source) + 1;
    char *text = risk_allocate(run, size);
    for (size_t i = 0; i < count && used < 300; i++) {
        size_t length = strlen(words[i].source);
        memcpy(text + used, words[i].source, length);
        used += length;
        text[used++] = ' ';
    }
    text[used > 0 ? used - 1 : 0] = '\0';
    return text;
}

static void record(struct run *run, const struct word *words, size_t count, const char *name,
                   const char *path, struct verdict verdict)
{
    struct risk_word *list = risk_allocate(run, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = shown(&words[i]);
    *new_entry(run) = (struct risk_command){.words = list,
                                            .count = count,
                                            .name = name,
                                            .path = path,
                                            .level = verdict.level,
                                            .reason = verdict.why ? verdict.why : ""};
    risk_raise(run, verdict.level, joined(run, words, count), verdict.why ? verdict.why : "");
}

struct verdict risk_weigh(struct run *run, const struct word *words, size_t count, unsigned depth)
{
    struct verdict verdict = {RISK_HIGH, "the program's name is known only when it runs"};
    const char *path = NULL, *name = NULL;
    if (depth > 12 || run->command_count >= RISK_MAX_COMMANDS) {
        verdict.why = "more commands inside each other than are looked at";
    } else if (risk_is_literal(&words[0])) {
        const struct program *program = identify(run, words[0].text, &path);
        verdict.why = "an unknown program";
        if (program) {
            name = risk_copy(run, program->name, strlen(program->name));
            verdict = weigh_program(run, words, count, program, name, depth);
            verdict.why = risk_copy(run, verdict.why ? verdict.why : "",
                                    strlen(verdict.why ? verdict.why : ""));
        }
    }
    record(run, words, count, name, path, verdict);
    return verdict;
}

/* ---- redirections and the whole command ---- */

static bool is_descriptor(const char *text)
{
    const char *c = text;
    while (isdigit((unsigned char)*c))
        c++;
    return (c > text && *c == '\0') || (c > text && strcmp(c, "-") == 0) || strcmp(text, "-") == 0;
}

static void weigh_redirection(const struct redirection *redirection, struct verdict *verdict)
{
    const struct word *target = &redirection->target;
    const char *operator= redirection->operator;
    bool literal = risk_is_literal(target);
    if (strncmp(operator, "<<", 2) == 0)
        return;
    if (operator[1] == '&' && literal && is_descriptor(target->text))
        return;
    if (strcmp(operator, "<") == 0 || strcmp(operator, "<&") == 0) {
        bool device = literal && (strncmp(target->text, "/dev/tcp", 8) == 0 ||
                                  strncmp(target->text, "/dev/udp", 8) == 0);
        bool substitution = !literal && strcmp(target->text, "/dev/fd/") == 0;
        if (device || (!literal && !substitution))
            risk_worse(verdict, RISK_HIGH, "reads from what may be the network");
        else if (risk_is_secret(target))
            risk_worse(verdict, RISK_MEDIUM, "may show secrets");
        return;
    }
    if (literal &&
        (strcmp(target->text, "/dev/null") == 0 || strcmp(target->text, "/dev/stdout") == 0 ||
         strcmp(target->text, "/dev/stderr") == 0))
        return;
    if (!literal && strcmp(target->text, "/dev/fd/") == 0 && !(target->flags & WORD_SPLITS))
        return; /* >(command), which was weighed */
    risk_worse(verdict, RISK_MEDIUM, "writes a file");
    weigh_path(target, verdict);
}

/* Puts the redirections on the entry, which is the last of the list. */
static void attach_redirections(struct run *run, const struct command *command)
{
    struct risk_command *entry = &run->commands[run->command_count - 1];
    size_t count = command->redirection_count;
    struct risk_redirection *list = risk_allocate(run, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        const struct redirection *one = &command->redirections[i];
        list[i] = (struct risk_redirection){one->descriptor, one->operator, shown(&one->target)};
    }
    entry->redirections = list;
    entry->redirection_count = count;
    entry->assignment_count = command->assignment_count;
}

/* Raises the last entry and the whole line. */
static void raise_entry(struct run *run, struct verdict verdict, const char *before,
                        const struct word *subject)
{
    struct risk_command *entry = &run->commands[run->command_count - 1];
    size_t first = strlen(before), second = strlen(subject->source);
    char *text = risk_allocate(run, first + second + 2);
    memcpy(text, before, first);
    if (first > 0)
        text[first++] = ' ';
    memcpy(text + first, subject->source, second + 1);
    if (verdict.level > entry->level) {
        entry->level = verdict.level;
        entry->reason = verdict.why;
    }
    risk_raise(run, verdict.level, text, verdict.why);
}

bool risk_judge(struct run *run, const struct command *command)
{
    if (command->count > 0)
        risk_weigh(run, command->words, command->count, 0);
    else
        record(run, NULL, 0, NULL, NULL, (struct verdict){RISK_LOW, ""});
    if (run->failed)
        return false;
    for (size_t i = 0; i < command->assignment_count; i++) {
        const struct word *word = &command->assignments[i];
        size_t length = word->equals - (word->text[word->equals - 1] == '+');
        enum risk_level level = risk_of_variable(word->text, length, command->count > 0);
        raise_entry(run, (struct verdict){level, level ? "sets a variable that programs obey" : ""},
                    "", word);
    }
    for (size_t i = 0; i < command->redirection_count; i++) {
        struct verdict verdict = {RISK_LOW, ""};
        weigh_redirection(&command->redirections[i], &verdict);
        raise_entry(run, verdict,
                    command->redirections[i].operator, & command->redirections[i].target);
    }
    attach_redirections(run, command);
    return true;
}
