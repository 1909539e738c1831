/*
 * CommonMark's own examples through each dialect of the channels: nothing that a reader of the
 * published HTML sees may be lost, whole or cut into pieces by any unit; and the same of texts that
 * are made of the examples at random.
 *
 *   dialects SPEC.json [SEED]
 *
 * SPEC.json: an array of {"markdown","html","number"}. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela/channel.h>

#include "agent/chats/markup.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/json.h"

enum { RANDOM_TEXTS = 2000, SHOWN = 5 };

static const char *const names[] = {"html",     "telegram-html", "mrkdwn", "discord",
                                    "whatsapp", "ansi",          "plain"};
static json_object *examples;
static unsigned points, failures;

/* ---- what a reader sees ---- */

static const char *of(size_t i, const char *member)
{
    return chela_json_string(chela_json_at(examples, i), member, NULL);
}

static void add_alt(struct buf *out, const char *tag, size_t n)
{
    const char *alt = memmem(tag, n, "alt=\"", 5);
    if (strncmp(tag, "<img", 4) == 0 && alt)
        buf_add(out, alt + 5, strcspn(alt + 5, "\""));
}

/* HTML without its tags; entities as what they stand for. */
static char *visible(const char *html)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
    struct buf flat = {0}, out = {0};
    for (const char *p = html; *p;) {
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        if (end)
            add_alt(&flat, p, (size_t)(end - p));
        if (!end)
            buf_add(&flat, p, 1);
        p = end ? end + 1 : p + 1;
    }
    for (const char *p = buf_text(&flat); *p;) {
        size_t i = 0;
        while (i < 5 && strncmp(p, entities[i].name, strlen(entities[i].name)) != 0)
            i++;
        buf_add(&out, i < 5 ? &entities[i].c : p, 1);
        p += i < 5 ? strlen(entities[i].name) : 1;
    }
    buf_free(&flat);
    return buf_take(&out);
}

static bool letter(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* Whether all letters of `wanted` stand in `text` in their order. */
static bool holds(const char *text, const char *wanted)
{
    for (; *wanted; wanted++) {
        if (!letter((unsigned char)*wanted))
            continue;
        while (*text && *text != *wanted)
            text++;
        if (!*text++)
            return false;
    }
    return true;
}

static bool shows(const char *dialect, const char *text, const char *wanted)
{
    CLEANUP(freep) char *plain = strstr(dialect, "html") ? visible(text) : xstrdup(text);
    return utf8_valid(text, strlen(text)) && holds(plain, wanted);
}

/* Two examples are not shown as CommonMark would: of HTML's entities only those have their
 * character that people write, others stand for themselves; and HTML inside Markdown is text to us,
 * so a fence behind it is one, whose language is not shown. */
enum { RARE_ENTITIES = 25, FENCE_BEHIND_HTML = 161 };

/* What a reader sees of the published HTML, or the source as it was written. */
static bool complete(const char *dialect, const char *text, size_t i)
{
    CLEANUP(freep) char *wanted = visible(of(i, "html"));
    int64_t number = chela_json_int(chela_json_at(examples, i), "number", 0);
    return shows(dialect, text, wanted) || shows(dialect, text, of(i, "markdown")) ||
           number == RARE_ENTITIES || number == FENCE_BEHIND_HTML;
}

/* ---- points ---- */

static void point(unsigned bad, const char *what, const char *dialect)
{
    points++;
    failures += bad != 0;
    printf("%sok %u - %s: %s", bad ? "not " : "", points, dialect, what);
    printf(bad ? " (%u)\n" : "\n", bad);
}

static void complain(unsigned *count, int64_t number, const char *markdown, const char *got)
{
    if ((*count)++ < SHOWN)
        printf("# example %lld: %.300s -> %.300s\n", (long long)number, markdown, got);
}

static void check_whole(const char *dialect)
{
    unsigned bad = 0;
    for (size_t i = 0; i < chela_json_length(examples); i++) {
        const char *markdown = of(i, "markdown");
        CLEANUP(freep) char *out = markup_render(markdown, strlen(markdown), dialect);
        if (!complete(dialect, out, i))
            complain(&bad, chela_json_int(chela_json_at(examples, i), "number", 0), markdown, out);
    }
    point(bad, "nothing of the examples is lost", dialect);
}

/* Pieces of at most `limit`; whether each is short enough and they hold all of `example`, -1: none.
 */
static bool check_pieces(const char *dialect, const char *markdown, int64_t example, uint64_t limit,
                         uint32_t unit)
{
    char **pieces;
    struct buf all = {0};
    unsigned count = pieces_make(markdown, dialect, limit, unit, &pieces);
    bool ok = true;
    for (unsigned i = 0; i < count; i++) {
        ok = ok && pieces_units(pieces[i], strlen(pieces[i]), unit) <= limit &&
             utf8_valid(pieces[i], strlen(pieces[i]));
        buf_puts(&all, pieces[i]);
        buf_char(&all, '\n');
    }
    ok = ok && (example < 0 || complete(dialect, buf_text(&all), (size_t)example));
    pieces_free(pieces, count);
    buf_free(&all);
    return ok;
}

static void check_cut(const char *dialect)
{
    static const uint32_t units[] = {CHELA_UNIT_BYTES, CHELA_UNIT_CHARACTERS, CHELA_UNIT_UTF16};
    static const uint64_t limits[] = {200, 1000, 4096};
    unsigned bad = 0;
    for (size_t i = 0; i < chela_json_length(examples); i++) {
        for (unsigned k = 0; k < 9; k++) {
            if (!check_pieces(dialect, of(i, "markdown"), (int64_t)i, limits[k / 3], units[k % 3]))
                complain(&bad, chela_json_int(chela_json_at(examples, i), "number", 0),
                         of(i, "markdown"), "pieces");
        }
    }
    point(bad, "nor when they are cut by bytes, characters or UTF-16 units", dialect);
}

/* Texts of several examples, cut short anywhere: no piece is too long or broken. */
static void check_random(const char *dialect, unsigned seed)
{
    unsigned bad = 0;
    uint64_t state = seed;
    for (unsigned i = 0; i < RANDOM_TEXTS; i++) {
        struct buf text = {0};
        for (unsigned k = 0; k < 4; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const char *one = of((state >> 33) % chela_json_length(examples), "markdown");
            buf_add(&text, one, utf8_cut(one, strlen(one), (state >> 20) % (strlen(one) + 1)));
        }
        CLEANUP(freep) char *clean = buf_take(&text);
        if (!check_pieces(dialect, clean, -1, 150 + state % 400, (uint32_t)(1 + state % 3)))
            complain(&bad, i, clean, "pieces");
    }
    point(bad, "texts made of them at random are cut soundly", dialect);
}

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
    char *text = NULL;
    size_t n = 0;
    if (!f || getdelim(&text, &n, '\0', f) <= 0 ||
        chela_json_parse(text, strlen(text), NULL, &examples, NULL) != 0)
        return 2;
    fclose(f);
    free(text);
    printf("# %zu examples\n", chela_json_length(examples));
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_whole(names[i]);
        check_cut(names[i]);
        check_random(names[i], argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1);
    }
    printf("1..%u\n", points);
    json_object_put(examples);
    return failures > 0;
}
