/*
 * Understands a few kinds of requests (see intent.h) by their words. It is no model and doesn't
 * pretend to be.
 */
#include "intent.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct phrase {
    const char *words;
    enum intent_kind kind;
};

/* The first that occurs decides; what follows it is the object. Longer ones stand first. */
static const struct phrase phrases[] = {
    {"list the files", INTENT_LIST},
    {"list files", INTENT_LIST},
    {"show the files", INTENT_LIST},
    {"what files", INTENT_LIST},
    {"which files", INTENT_LIST},
    {"列出", INTENT_LIST},
    {"有哪些文件", INTENT_LIST},
    {"有什么文件", INTENT_LIST},
    {"search for", INTENT_SEARCH},
    {"search", INTENT_SEARCH},
    {"find the text", INTENT_SEARCH},
    {"grep", INTENT_SEARCH},
    {"搜索", INTENT_SEARCH},
    {"查找", INTENT_SEARCH},
    {"run the command", INTENT_RUN},
    {"run command", INTENT_RUN},
    {"execute", INTENT_RUN},
    {"run", INTENT_RUN},
    {"运行", INTENT_RUN},
    {"执行", INTENT_RUN},
    {"write", INTENT_WRITE},
    {"create a file", INTENT_WRITE},
    {"save", INTENT_WRITE},
    {"写入", INTENT_WRITE},
    {"写", INTENT_WRITE},
    {"创建文件", INTENT_WRITE},
    {"read", INTENT_READ},
    {"show me", INTENT_READ},
    {"open", INTENT_READ},
    {"cat", INTENT_READ},
    {"读取", INTENT_READ},
    {"读一下", INTENT_READ},
    {"打开", INTENT_READ},
    {"读", INTENT_READ},
    {"weather", INTENT_WEATHER},
    {"天气", INTENT_WEATHER},
    {"help", INTENT_HELP},
    {"what can you do", INTENT_HELP},
    {"帮助", INTENT_HELP},
    {"你能做什么", INTENT_HELP},
    {"list", INTENT_LIST},
    {"ls", INTENT_LIST},
};

static bool has_cjk(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 0xe3 && (unsigned char)text[i] <= 0xe9)
            return true;
    return false;
}

static bool word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where `words` stands in text as whole words (anywhere, if it isn't ASCII); NULL if nowhere. */
static const char *find_words(const char *text, const char *words)
{
    size_t n = strlen(words);
    bool ascii = (unsigned char)words[0] < 0x80;
    for (const char *p = text; (p = strcasestr(p, words)); p++)
        if (!ascii || ((p == text || !word_byte(p[-1])) && !word_byte(p[n])))
            return p;
    return NULL;
}

static const char *skip(const char *p, const char *const *words)
{
    for (bool again = true; again;) {
        again = false;
        while (*p && (isspace((unsigned char)*p) || strchr(":,", *p)))
            p++;
        for (const char *const *w = words; *w; w++) {
            size_t n = strlen(*w);
            if (strncasecmp(p, *w, n) == 0 &&
                ((unsigned char)(*w)[0] >= 0x80 || !word_byte(p[n]))) {
                p += n;
                again = true;
            }
        }
    }
    return p;
}

static void keep(char *out, size_t size, const char *from, size_t n)
{
    if (n >= size) {
        n = size - 1;
        while (n && ((unsigned char)from[n] & 0xc0) == 0x80)
            n--; /* never half a character */
    }
    memcpy(out, from, n);
    out[n] = '\0';
}

/* A text in quotes, else up to the end (trailing white space and one full stop off). */
static const char *take_text(const char *p, char *out, size_t size)
{
    static const char *const pairs[][2] = {
        {"`", "`"}, {"\"", "\""}, {"'", "'"}, {"“", "”"}, {"「", "」"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        size_t open = strlen(pairs[i][0]);
        const char *end = strncmp(p, pairs[i][0], open) == 0 ? strstr(p + open, pairs[i][1]) : NULL;
        if (end) {
            keep(out, size, p + open, (size_t)(end - p) - open);
            return end + strlen(pairs[i][1]);
        }
    }
    size_t n = strlen(p);
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    if (n && p[n - 1] == '.' && (n < 2 || p[n - 2] != '.'))
        n--;
    keep(out, size, p, n);
    return p + strlen(p);
}

/* A file's name: quoted, or a word of the characters that names are made of. */
static const char *take_path(const char *p, char *out, size_t size)
{
    if (strchr("`\"'", *p) && *p)
        return take_text(p, out, size);
    size_t n = 0;
    while (p[n] && (word_byte(p[n]) || strchr("./-~+@", p[n])))
        n++;
    size_t whole = n;
    while (n && p[n - 1] == '.')
        n--;
    keep(out, size, p, n);
    return p + whole;
}

static void read_write(const char *p, struct intent *ret)
{
    static const char *const fillers[] = {"the",   "text",   "words", "a", "file",
                                          "named", "called", "文件",  NULL};
    static const char *const joins[] = {"to",      "into", "in", "with", "the",  "file", "text",
                                        "content", "as",   "到", "文件", "内容", "入",   NULL};
    p = skip(p, fillers);
    const char *to = NULL;
    if (strchr("`\"'", *p) || strncmp(p, "“", 3) == 0) { /* write "text" to file */
        p = take_text(p, ret->text, sizeof ret->text);
        take_path(skip(p, joins), ret->path, sizeof ret->path);
        return;
    }
    to = strcasestr(p, " to ");
    if (!to)
        to = strcasestr(p, " into ");
    if (to && !strchr(p, ':')) { /* write hello world to file */
        keep(ret->text, sizeof ret->text, p, (size_t)(to - p));
        take_path(skip(to + 1, joins), ret->path, sizeof ret->path);
        return;
    }
    p = take_path(p, ret->path, sizeof ret->path); /* write file: text */
    take_text(skip(p, joins), ret->text, sizeof ret->text);
}

static void read_city(const char *text, const char *at, struct intent *ret)
{
    const char *in = strcasestr(text, " in ");
    static const struct {
        const char *name, *city;
    } cities[] = {{"北京", "北京"}, {"上海", "上海"}, {"广州", "广州"}, {"深圳", "深圳"}};
    if (in) {
        take_path(in + 4, ret->text, sizeof ret->text);
        return;
    }
    for (size_t i = 0; i < sizeof cities / sizeof cities[0]; i++)
        if (strstr(text, cities[i].name))
            keep(ret->text, sizeof ret->text, cities[i].city, strlen(cities[i].city));
    (void)at;
}

static void read_object(const char *text, const char *at, size_t length, struct intent *ret)
{
    static const char *const of_file[] = {"the", "file",  "contents", "content", "of",
                                          "me",  "named", "文件",     "一下",    NULL};
    static const char *const of_list[] = {"in",   "of",  "the",  "folder", "directory", "files",
                                          "file", "all", "文件", "目录",   "所有",      NULL};
    static const char *const of_text[] = {"for",  "the",  "text", "word", "command",
                                          "this", "命令", "文本", NULL};
    static const char *const here[] = {"here", "there", "this", "my", "current", "and", "then"};
    const char *p = at + length;
    switch (ret->kind) {
    case INTENT_LIST:
        take_path(skip(p, of_list), ret->path, sizeof ret->path);
        for (size_t i = 0; i < sizeof here / sizeof here[0]; i++)
            if (strcasecmp(ret->path, here[i]) == 0)
                ret->path[0] = '\0';
        break;
    case INTENT_READ: take_path(skip(p, of_file), ret->path, sizeof ret->path); break;
    case INTENT_WRITE: read_write(p, ret); break;
    case INTENT_SEARCH:
    case INTENT_RUN: take_text(skip(p, of_text), ret->text, sizeof ret->text); break;
    case INTENT_WEATHER: read_city(text, at, ret); break;
    case INTENT_OTHER:
    case INTENT_HELP: break;
    }
}

void intent_read(const char *text, size_t length, struct intent *ret)
{
    char copy[8192];
    const char *first = NULL;
    size_t first_length = 0;
    memset(ret, 0, sizeof *ret);
    keep(copy, sizeof copy, text, length);
    ret->chinese = has_cjk(copy, strlen(copy));
    ret->counts = find_words(copy, "how many") || strstr(copy, "多少") || strstr(copy, "几个");
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
        const char *at = find_words(copy, phrases[i].words);
        if (at && (!first || at < first)) {
            first = at;
            first_length = strlen(phrases[i].words);
            ret->kind = phrases[i].kind;
        }
    }
    if (first)
        read_object(copy, first, first_length, ret);
    bool lacks = ((ret->kind == INTENT_READ || ret->kind == INTENT_WRITE) && !ret->path[0]) ||
                 ((ret->kind == INTENT_SEARCH || ret->kind == INTENT_RUN) && !ret->text[0]);
    if (lacks)
        ret->kind = INTENT_OTHER;
}
