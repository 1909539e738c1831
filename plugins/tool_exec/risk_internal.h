/*
 * What the files of the risk classifier share: risk_word.c reads words, risk_parse.c the grammar,
 * risk_judge.c weighs a simple command by the table (risk_table.c), risk_script.c looks into sed,
 * awk and test. Nobody else includes it.
 */
#ifndef TOOL_EXEC_RISK_INTERNAL_H
#define TOOL_EXEC_RISK_INTERNAL_H

#include "risk.h"

#include <stdint.h>

#define RISK_MAX_LINE     65536u
#define RISK_MAX_NESTING  24u
#define RISK_MAX_COMMANDS 500u
#define RISK_MAX_WORDS    4000u /* of one line */

/* ---- words ---- */

enum {
    WORD_VARIES = 1, /* has a part that is known only when it runs: text is the part before it */
    WORD_SPLITS = 2, /* may become any number of words, options among them */
    WORD_GLOB = 4,
    WORD_QUOTED = 8, /* some of it was quoted: neither reserved word nor assignment name */
    WORD_TILDE = 16, /* begins with an unquoted ~ */
};

struct word {
    char *text; /* the literal value, or the literal beginning if it varies; without a NUL inside */
    size_t length;
    char *source;
    unsigned flags;
    size_t equals; /* where the first '=' stands, if all before it was unquoted; else 0 */
};

struct redirection {
    int descriptor;
    const char *operator;
    struct word target;
};

struct command {
    struct word *assignments, *words;
    size_t assignment_count, count;
    struct redirection *redirections;
    size_t redirection_count;
};

/* ---- the run ---- */

struct block;

struct heredoc {
    char *delimiter;
    bool quoted, tabs;
    struct heredoc *next;
};

struct run {
    const struct risk_options *options;
    const struct risk_table *table;
    struct risk_result *result;
    struct block *blocks;
    struct risk_command *commands;
    size_t command_count, command_room;
    unsigned nesting, words;
    bool failed;
};

struct parser {
    struct run *run;
    const char *text;
    size_t length, at;
    struct heredoc *heredocs; /* whose bodies come after the next newline */
};

void *risk_allocate(struct run *run, size_t size); /* zeroed; lives as long as the result */
char *risk_copy(struct run *run, const char *text, size_t length);
/* Raises the level of the whole, with the reason if it is the first of that level. */
void risk_raise(struct run *run, enum risk_level level, const char *subject, const char *why);
/* The line isn't understood: high. Returns false. */
bool risk_fail(struct run *run, const char *why);

/* ---- risk_word.c ---- */

/* The word at the cursor. False after risk_fail. */
bool risk_read_word(struct parser *parser, struct word *ret);
/* A here-document's body or an arithmetic-free text: finds substitutions in it. */
bool risk_scan_expansions(struct parser *parser, size_t end);
bool risk_is_blank(char c);
bool risk_ends_word(char c);

/* ---- risk_parse.c ---- */

/* Parses a whole text. */
bool risk_parse_text(struct run *run, const char *text, size_t length);
/* Parses up to and over the ')' that ends a substitution or subshell. */
bool risk_parse_nested(struct parser *parser);

/* ---- risk_judge.c ---- */

/* Weighs a command and puts it on the result's list. False after risk_fail. */
bool risk_judge(struct run *run, const struct command *command);
/* May this word become an option, or more than one word? */
bool risk_may_be_option(const struct word *word);
bool risk_is_literal(const struct word *word);

struct verdict {
    enum risk_level level;
    const char *why;
};

/* ---- risk_names.c: variables and paths ---- */

/* What setting this variable may do; prefix: only for the command behind it. */
enum risk_level risk_of_variable(const char *name, size_t length, bool prefix);
enum risk_level risk_of_written_path(const struct word *word);
/* The same for a literal text. */
bool risk_is_sensitive(const char *path);
/* Reading this may show secrets. */
bool risk_is_secret(const struct word *word);

/* ---- risk_script.c ---- */

enum risk_level risk_of_sed(const char *script);
enum risk_level risk_of_awk(const char *program);

/* ---- risk_table.c ---- */

enum program_kind {
    PROGRAM_PLAIN,
    PROGRAM_SUB,   /* has subcommands */
    PROGRAM_WRAP,  /* runs its operands, behind `skip` of them */
    PROGRAM_SHELL, /* -c TEXT */
    PROGRAM_FIND,
    PROGRAM_XARGS,
    PROGRAM_ENV,
    PROGRAM_SED,
    PROGRAM_AWK,
    PROGRAM_TEST,
    PROGRAM_NAMES,  /* its operands are variables: read, export, unset */
    PROGRAM_COMMAND /* command -v NAME, command NAME ... */
};

enum { PATHS_NONE, PATHS_LAST, PATHS_ALL };

struct list {
    char **items;
    size_t count;
};

struct program {
    char *name;
    enum risk_level level;
    enum program_kind kind;
    unsigned skip;
    unsigned paths; /* which operands are written */
    bool builtin;   /* of the shell: no file */
    bool strict;    /* an option that isn't listed is high */
    bool bundled;   /* the first word is a cluster without its dash */
    unsigned most;  /* operands that a query may have, and one; 0: any number */
    struct list low, alone, medium, high, values, free;
    char *why; /* of its own level */
    struct program *next;
};

const struct program *risk_table_find(const struct risk_table *table, const char *name);
const struct risk_table *risk_table_of(const struct risk_options *options,
                                       struct risk_table **ret_own);

#endif
