/*
 * Small languages inside a command line: sed scripts of which every command is known to only print,
 * and awk programs without anything that writes or runs. Whatever isn't recognised is high.
 */
#include "risk_internal.h"

#include <ctype.h>
#include <string.h>

/* ---- sed ---- */

static const char *blanks(const char *c)
{
    while (*c == ' ' || *c == '\t' || *c == ';' || *c == '\n')
        c++;
    return c;
}

/* Over text up to an unescaped end; NULL if it doesn't come. A bracket may hold the end. */
static const char *delimited(const char *c, char end)
{
    for (; *c && *c != '\n'; c++) {
        if (*c == '\\' && c[1] && c[1] != '\n')
            c++;
        else if (*c == end)
            return c + 1;
    }
    return NULL;
}

static const char *address(const char *c)
{
    if (isdigit((unsigned char)*c) || *c == '$' || *c == '+' || *c == '~') {
        if (!isdigit((unsigned char)*c))
            c++;
        while (isdigit((unsigned char)*c) || *c == '~')
            c++;
    } else if (*c == '/') {
        c = delimited(c + 1, '/');
        while (c && (*c == 'I' || *c == 'M'))
            c++;
    }
    return c;
}

static const char *substitution(const char *c)
{
    char end = c[1];
    if (end == '\0' || end == '\\' || end == '\n' || isalnum((unsigned char)end) || end == ' ')
        return NULL;
    bool flags = c[0] == 's';
    c = delimited(c + 2, end);
    c = c ? delimited(c, end) : NULL;
    while (c && flags && *c && strchr("gpiI0123456789", *c))
        c++;
    return c;
}

enum risk_level risk_of_sed(const char *script)
{
    for (const char *c = blanks(script); *c; c = blanks(c)) {
        const char *after = address(c);
        if (after && *after == ',')
            after = address(after + 1);
        while (after && (*after == ' ' || *after == '!'))
            after++;
        if (!after)
            return RISK_HIGH;
        if (*after == 's' || *after == 'y')
            after = substitution(after);
        else if (*after && strchr("pdqPDnNgGhHxl=", *after))
            after++;
        else
            return RISK_HIGH;
        while (after && *after == ' ')
            after++;
        if (!after || (*after && *after != ';' && *after != '\n'))
            return RISK_HIGH;
        c = after;
    }
    return RISK_LOW;
}

/* ---- awk ---- */

enum risk_level risk_of_awk(const char *program)
{
    static const char *const runs[] = {"system",    "getline", "@",        "|&",    "fflush",
                                       "extension", "ENVIRON", "PROCINFO", "/dev/", "/inet"};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (strstr(program, runs[i]))
            return RISK_HIGH;
    for (const char *c = program; *c; c++)
        if (*c == '|' && c[1] == '|')
            c++;
        else if (*c == '|')
            return RISK_HIGH;
    /* It may be a comparison, or the begin of a file's name. */
    for (const char *c = strchr(program, '>'); c; c = strchr(c + 1, '>'))
        if (c[1] != '=')
            return RISK_MEDIUM;
    return RISK_LOW;
}
