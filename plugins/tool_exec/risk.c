/*
 * Entry of the risk classifier: what a line must be before it is parsed, the memory and the reasons
 * of a result. The parser is in risk_parse.c, the judgement in risk_judge.c.
 */
#include "risk_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

struct block {
    struct block *next;
    union {
        void *pointer;
        long long number;
        long double real;
    } data[];
};

void *risk_allocate(struct run *run, size_t size)
{
    struct block *block = calloc(1, sizeof *block + size + 1);
    if (!block)
        abort();
    block->next = run->blocks;
    run->blocks = block;
    return block->data;
}

char *risk_copy(struct run *run, const char *text, size_t length)
{
    char *copy = risk_allocate(run, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void risk_result_free(struct risk_result *result)
{
    for (struct block *block = result->memory, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    memset(result, 0, sizeof *result);
}

/* ---- reasons ---- */

const char *risk_level_name(enum risk_level level)
{
    return level == RISK_LOW ? "low" : level == RISK_MEDIUM ? "medium" : "high";
}

/* Appends text with controls and odd bytes as '?', at most limit bytes of it, whole characters
 * only. */
static size_t add_shown(char *out, size_t used, size_t size, const char *text, size_t limit)
{
    size_t start = used;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool first = (*c & 0xc0) != 0x80;
        if (used + 8 > size || (first && used - start > limit)) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        out[used++] = *c < 0x20 || *c == 0x7f ? ' ' : (char)*c;
    }
    out[used] = '\0';
    return used;
}

void risk_raise(struct run *run, enum risk_level level, const char *subject, const char *why)
{
    struct risk_result *result = run->result;
    if (level <= result->level)
        return;
    result->level = level;
    size_t used = 0, size = sizeof result->reason;
    if (subject && *subject) {
        used = add_shown(result->reason, 0, size, subject, 120);
        memcpy(result->reason + used, ": ", 3);
        used += 2;
    }
    add_shown(result->reason, used, size, why, 200);
}

bool risk_fail(struct run *run, const char *why)
{
    char text[160];
    snprintf(text, sizeof text, "not understood: %s", why);
    if (!run->failed && run->result->level == RISK_HIGH && strlen(run->result->reason) < 200) {
        size_t used = strlen(run->result->reason);
        memcpy(run->result->reason + used, "; ", 3);
        add_shown(run->result->reason, used + 2, sizeof run->result->reason, text, 160);
    }
    risk_raise(run, RISK_HIGH, NULL, text);
    run->failed = true;
    return false;
}

/* ---- before parsing ---- */

/* Length of the UTF-8 character at text, its code in *ret; 0 if it is none. */
static size_t character(const char *text, size_t length, unsigned *ret)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t count = c[0] < 0x80                   ? 1
                   : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                   : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
                                                 : 4;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (count > length || (c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
        return 0;
    unsigned code = count == 1 ? c[0] : c[0] & (0x7fu >> count);
    for (size_t i = 1; i < count; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    *ret = code;
    return code < least[count] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ? 0 : count;
}

/* Characters that a person doesn't see, or that show the line in another order than it has. */
static bool is_hidden(unsigned code)
{
    return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code < 0xa0) ||
           code == 0xa0 || code == 0xad || code == 0x034f || code == 0x061c || code == 0x115f ||
           code == 0x1160 || code == 0x1680 || code == 0x17b4 || code == 0x17b5 ||
           (code >= 0x180b && code <= 0x180f) || (code >= 0x2000 && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202f) || (code >= 0x205f && code <= 0x206f) ||
           code == 0x3164 || (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff ||
           code == 0xffa0 || (code >= 0xfff0 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

static const char *unfit(const char *line, size_t length)
{
    if (length > RISK_MAX_LINE)
        return "a line of more than 64 KiB";
    for (size_t at = 0; at < length;) {
        unsigned code;
        size_t step = character(line + at, length - at, &code);
        if (step == 0)
            return "bytes that aren't UTF-8";
        if (is_hidden(code))
            return "control or invisible characters";
        at += step;
    }
    return NULL;
}

void risk_classify(const char *line, size_t length, const struct risk_options *options,
                   struct risk_result *result)
{
    static const struct risk_options none = {0};
    struct risk_table *own = NULL;
    struct run run = {.options = options ? options : &none, .result = result};
    memset(result, 0, sizeof *result);
    const char *why = unfit(line, length);
    if (why) {
        risk_fail(&run, why);
    } else {
        run.table = risk_table_of(run.options, &own);
        risk_parse_text(&run, line, length);
    }
    result->understood = !run.failed;
    result->commands = run.commands;
    result->count = run.command_count;
    result->memory = run.blocks;
    risk_table_free(own);
}
