/*
 * The grammar of a shell line: lists, pipelines, groups, loops, redirections and here-documents,
 * down to the simple commands, each of which is weighed as soon as it is read. What isn't here
 * (functions, case, select, coproc) fails, and what fails is high.
 */
#include "risk_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool parse_list(struct parser *parser, const char *const *ends, const char **ret_end);

static char look(const struct parser *parser, size_t ahead)
{
    return parser->at + ahead < parser->length ? parser->text[parser->at + ahead] : '\0';
}

/* ---- blanks, newlines and here-documents ---- */

static void skip_blanks(struct parser *parser)
{
    for (;;) {
        if (risk_is_blank(look(parser, 0)))
            parser->at++;
        else if (look(parser, 0) == '\\' && look(parser, 1) == '\n')
            parser->at += 2;
        else
            break;
    }
    if (look(parser, 0) == '#')
        while (parser->at < parser->length && look(parser, 0) != '\n')
            parser->at++;
}

/* Reads one body; the cursor is at the start of a line. */
static bool read_body(struct parser *parser, const struct heredoc *heredoc)
{
    size_t wanted = strlen(heredoc->delimiter), start = parser->at;
    for (size_t line = start; line < parser->length;) {
        const char *stop = memchr(parser->text + line, '\n', parser->length - line);
        size_t end = stop ? (size_t)(stop - parser->text) : parser->length, first = line;
        while (heredoc->tabs && first < end && parser->text[first] == '\t')
            first++;
        if (end - first == wanted &&
            memcmp(parser->text + first, heredoc->delimiter, wanted) == 0) {
            if (!heredoc->quoted && !risk_scan_expansions(parser, line))
                return false;
            parser->at = stop ? end + 1 : end;
            return true;
        }
        if (!heredoc->quoted && end > line && parser->text[end - 1] == '\\')
            return risk_fail(parser->run,
                             "a here-document with joined lines, which may hide its end");
        line = end + 1;
    }
    return risk_fail(parser->run, "a here-document that doesn't end");
}

static bool newline(struct parser *parser)
{
    parser->at++;
    struct heredoc *heredoc = parser->heredocs;
    for (parser->heredocs = NULL; heredoc; heredoc = heredoc->next)
        if (!read_body(parser, heredoc))
            return false;
    return true;
}

static bool skip_newlines(struct parser *parser)
{
    for (skip_blanks(parser); look(parser, 0) == '\n'; skip_blanks(parser))
        if (!newline(parser))
            return false;
    return true;
}

/* ---- redirections ---- */

static const char *redirection_operator(const struct parser *parser)
{
    static const char *const operators[] = {"&>>", "<<<", "<<-", "&>", "<<", ">>",
                                            ">|",  "<>",  "<&",  ">&", "<",  ">"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t length = strlen(operators[i]);
        if (parser->length - parser->at >= length &&
            memcmp(parser->text + parser->at, operators[i], length) == 0)
            return operators[i];
    }
    return NULL;
}

static void add_heredoc(struct parser *parser, const struct redirection *redirection)
{
    struct heredoc *heredoc = risk_allocate(parser->run, sizeof *heredoc),
                   **last = &parser->heredocs;
    heredoc->delimiter = redirection->target.text;
    heredoc->quoted = (redirection->target.flags & WORD_QUOTED) != 0;
    heredoc->tabs = redirection->operator[2] == '-';
    while (*last)
        last = &(*last)->next;
    *last = heredoc;
}

/* Is there one at the cursor? Reads it. */
static bool read_redirection(struct parser *parser, struct command *command, bool *ret_found)
{
    size_t digits = 0;
    while (isdigit((unsigned char)look(parser, digits)))
        digits++;
    size_t start = parser->at;
    parser->at += digits;
    const char *operator= redirection_operator(parser);
    *ret_found = operator&&(digits == 0 || operator[0] != '&') && digits < 6 &&
                 !(operator[1] == '\0' && look(parser, 1) == '(');
    if (!*ret_found) {
        parser->at = start;
        return true;
    }
    size_t used = command->redirection_count;
    if ((used & (used - 1)) == 0) { /* none, or a power of two: full */
        struct redirection *more = risk_allocate(parser->run, (used * 2 + 1) * sizeof *more);
        if (used > 0)
            memcpy(more, command->redirections, used * sizeof *more);
        command->redirections = more;
    }
    struct redirection *one = &command->redirections[command->redirection_count++];
    one->descriptor = -1;
    for (size_t i = start; i < parser->at; i++)
        one->descriptor =
            (one->descriptor < 0 ? 0 : one->descriptor * 10) + (parser->text[i] - '0');
    one->operator= operator;
    parser->at += strlen(operator);
    skip_blanks(parser);
    bool substitution =
        look(parser, 1) == '(' && (look(parser, 0) == '<' || look(parser, 0) == '>');
    if (risk_ends_word(look(parser, 0)) && !substitution)
        return risk_fail(parser->run, "a redirection without a target");
    if (!risk_read_word(parser, &one->target))
        return false;
    if (strncmp(operator, "<<", 2) == 0 && operator[2] != '<') {
        if (!risk_is_literal(&one->target) && !(one->target.flags & WORD_GLOB))
            return risk_fail(parser->run, "a here-document whose end isn't known");
        if (one->target.flags & WORD_GLOB)
            one->target.text = one->target.source;
        add_heredoc(parser, one);
    }
    return true;
}

/* ---- simple commands ---- */

static void append(struct run *run, struct word **list, size_t *count, const struct word *word)
{
    if ((*count & (*count - 1)) == 0) { /* none, or a power of two: full */
        struct word *more = risk_allocate(run, (*count * 2 + 1) * sizeof *more);
        if (*count > 0)
            memcpy(more, *list, *count * sizeof *more);
        *list = more;
    }
    (*list)[(*count)++] = *word;
}

static bool is_assignment(const struct word *word)
{
    size_t name = word->equals;
    if (name > 1 && word->text[name - 1] == '+')
        name--;
    if (name == 0 || isdigit((unsigned char)word->text[0]))
        return false;
    for (size_t i = 0; i < name; i++)
        if (!isalnum((unsigned char)word->text[i]) && word->text[i] != '_')
            return false;
    return true;
}

/* first: a word that was read already, or NULL */
static bool simple_command(struct parser *parser, const struct word *first)
{
    struct command command = {0};
    struct word word;
    bool found;
    if (first && is_assignment(first))
        append(parser->run, &command.assignments, &command.assignment_count, first);
    else if (first)
        append(parser->run, &command.words, &command.count, first);
    for (;;) {
        skip_blanks(parser);
        if (!read_redirection(parser, &command, &found))
            return false;
        if (found)
            continue;
        char c = look(parser, 0);
        bool substitution = (c == '<' || c == '>') && look(parser, 1) == '(';
        if (c == '(')
            return risk_fail(parser->run, "a function, an array or a pattern");
        if (parser->at >= parser->length || (risk_ends_word(c) && !substitution))
            break;
        if (!risk_read_word(parser, &word))
            return false;
        if (command.count == 0 && is_assignment(&word))
            append(parser->run, &command.assignments, &command.assignment_count, &word);
        else
            append(parser->run, &command.words, &command.count, &word);
    }
    if (command.count == 0 && command.assignment_count == 0 && command.redirection_count == 0)
        return risk_fail(parser->run, "a place where a command should be");
    return risk_judge(parser->run, &command);
}

/* Redirections behind a group or a loop. */
static bool trailing_redirections(struct parser *parser)
{
    struct command command = {0};
    bool found = true;
    while (found) {
        skip_blanks(parser);
        if (!read_redirection(parser, &command, &found))
            return false;
    }
    return command.redirection_count == 0 || risk_judge(parser->run, &command);
}

/*
 * [[ ... ]]: weighed as a test, if it holds words only. To a shell that doesn't know it (dash), "[[
 * a && rm x ]]" is two commands and "[[ a > b ]]" writes a file.
 */
static bool double_brackets(struct parser *parser, const struct word *first)
{
    struct command command = {0};
    struct word word;
    append(parser->run, &command.words, &command.count, first);
    for (;;) {
        skip_blanks(parser);
        if (parser->at >= parser->length || risk_ends_word(look(parser, 0)))
            return risk_fail(parser->run, "a [[ that holds more than words");
        if (!risk_read_word(parser, &word))
            return false;
        append(parser->run, &command.words, &command.count, &word);
        if (strcmp(word.source, "]]") == 0)
            break;
    }
    return risk_judge(parser->run, &command) && trailing_redirections(parser);
}

/* ---- compound commands ---- */

static const char *const *ends_of(const char *word)
{
    static const char *const then[] = {"then", NULL}, *const after_then[] = {"elif", "else", "fi",
                                                                             NULL};
    static const char *const fi[] = {"fi", NULL}, *const go[] = {"do", NULL},
                             *const done[] = {"done", NULL};
    static const char *const brace[] = {"}", NULL};
    switch (word[0]) {
    case 'i': return then;
    case 't': return after_then;
    case 'e': return word[2] == 'i' ? then : fi;
    case 'w':
    case 'u': return go;
    case 'd': return done;
    default: return brace;
    }
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* From behind the word that begins it to its last word. */
static bool compound(struct parser *parser, const char *word)
{
    const char *end = word;
    do {
        if (!parse_list(parser, ends_of(end), &end))
            return false;
        if (!end)
            return risk_fail(parser->run, "a group, loop or condition that doesn't end");
    } while (strcmp(end, "fi") != 0 && strcmp(end, "done") != 0 && strcmp(end, "}") != 0);
    return trailing_redirections(parser);
}

static bool read_for(struct parser *parser)
{
    struct word word;
    skip_blanks(parser);
    if (risk_ends_word(look(parser, 0)) || !risk_read_word(parser, &word))
        return risk_fail(parser->run, "a loop that isn't parsed");
    if (!risk_is_literal(&word) || risk_of_variable(word.text, word.length, false) != RISK_LOW)
        return risk_fail(parser->run, "a loop over a variable that others look at");
    skip_blanks(parser);
    bool list = false;
    while (!risk_ends_word(look(parser, 0)) || look(parser, 0) == '<' || look(parser, 0) == '>') {
        if (look(parser, 0) == '<' || look(parser, 0) == '>' || !risk_read_word(parser, &word))
            return risk_fail(parser->run, "a loop that isn't parsed");
        if (!list && strcmp(word.source, "in") != 0)
            return risk_fail(parser->run, "a loop that isn't parsed");
        list = true;
        skip_blanks(parser);
    }
    if (!list || (look(parser, 0) != ';' && look(parser, 0) != '\n'))
        return risk_fail(parser->run, "a loop that isn't parsed");
    if (look(parser, 0) == ';')
        parser->at++;
    if (!skip_newlines(parser) || !risk_read_word(parser, &word))
        return false;
    if (strcmp(word.source, "do") != 0)
        return risk_fail(parser->run, "a loop that isn't parsed");
    return compound(parser, "do");
}

static bool command_of(struct parser *parser, const char *const *ends, const char **ret_end)
{
    static const char *const never[] = {"case", "esac", "select", "function", "coproc",
                                        "then", "elif", "else",   "fi",       "do",
                                        "done", "}",    "in",     NULL};
    static const char *const begin[] = {"if", "while", "until", "{", NULL};
    static const char *const prefix[] = {"!", "time", NULL};
    struct word word;
    char c = look(parser, 0);
    *ret_end = NULL;
    if (c == '(') {
        if (look(parser, 1) == '(')
            return risk_fail(parser->run, "an arithmetic command");
        parser->at++;
        return risk_parse_nested(parser) && trailing_redirections(parser);
    }
    size_t digits = 0;
    while (isdigit((unsigned char)look(parser, digits)))
        digits++;
    if (look(parser, digits) == '<' || look(parser, digits) == '>' ||
        (c == '&' && look(parser, 1) == '>'))
        return simple_command(parser, NULL);
    if (parser->at >= parser->length || risk_ends_word(c))
        return risk_fail(parser->run, "a place where a command should be");
    if (!risk_read_word(parser, &word))
        return false;
    if (word.flags != 0)
        return simple_command(parser, &word);
    if (is_one_of(word.text, ends)) {
        *ret_end = word.text;
        return true;
    }
    if (is_one_of(word.text, never))
        return risk_fail(parser->run, "a form that isn't parsed");
    if (is_one_of(word.text, prefix)) {
        skip_blanks(parser);
        return command_of(parser, NULL, ret_end);
    }
    if (is_one_of(word.text, begin))
        return compound(parser, word.text);
    if (strcmp(word.text, "for") == 0)
        return read_for(parser);
    if (strcmp(word.text, "[[") == 0)
        return double_brackets(parser, &word);
    return simple_command(parser, &word);
}

/* ---- lists ---- */

/* Over the operator behind a command; *ret_more: another command must follow. */
static bool separator(struct parser *parser, bool *ret_more)
{
    char c = look(parser, 0), next = look(parser, 1);
    *ret_more = false;
    if (c == '\n')
        return newline(parser);
    if ((c == '&' || c == '|') && next == c) {
        parser->at += 2;
        *ret_more = true;
    } else if (c == '|') {
        parser->at += next == '&' ? 2 : 1;
        *ret_more = true;
    } else if ((c == ';' && next != ';' && next != '&') || c == '&') {
        parser->at++;
    } else {
        return risk_fail(parser->run, "an operator that isn't parsed");
    }
    return !*ret_more || skip_newlines(parser);
}

/* Until one of the words in ends stands where a command would, a ')' comes, or the text is over. */
static bool parse_list(struct parser *parser, const char *const *ends, const char **ret_end)
{
    bool more = false, any = false;
    *ret_end = NULL;
    if (++parser->run->nesting > RISK_MAX_NESTING)
        return risk_fail(parser->run, "commands nested too deeply");
    for (;;) {
        if (!skip_newlines(parser))
            return false;
        if (!more && (parser->at >= parser->length || look(parser, 0) == ')'))
            break;
        if (!command_of(parser, more ? NULL : ends, ret_end))
            return false;
        if (*ret_end)
            break;
        any = true;
        skip_blanks(parser);
        if (parser->at >= parser->length || look(parser, 0) == ')') {
            more = false;
            continue;
        }
        if (!separator(parser, &more))
            return false;
    }
    parser->run->nesting--;
    return any || !*ret_end || risk_fail(parser->run, "an empty group, loop or condition");
}

bool risk_parse_nested(struct parser *parser)
{
    const char *end;
    struct heredoc *outer = parser->heredocs;
    size_t start = parser->at;
    parser->heredocs = NULL;
    if (!parse_list(parser, NULL, &end))
        return false;
    if (look(parser, 0) != ')' || parser->heredocs)
        return risk_fail(parser->run, "a ( without its partner");
    if (outer && memchr(parser->text + start, '\n', parser->at - start))
        return risk_fail(parser->run, "a here-document that begins inside a substitution");
    parser->heredocs = outer;
    parser->at++;
    return true;
}

bool risk_parse_text(struct run *run, const char *text, size_t length)
{
    struct parser parser = {.run = run, .text = text, .length = length};
    const char *end;
    if (!parse_list(&parser, NULL, &end))
        return false;
    if (parser.at < parser.length)
        return risk_fail(run, "a ) without its partner");
    return !parser.heredocs || risk_fail(run, "a here-document that doesn't end");
}
