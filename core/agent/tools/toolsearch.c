/*
 * Finds tools by words (see toolsearch.h).
 */
#include "agent/tools/toolsearch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/json.h>

#include "base/buf.h"
#include "base/mem.h"

enum { SHOWN = 5, SHOWN_MOST = 20, WORDS_MOST = 24 };

static struct toolset *own;

static const char manifest[] =
    "[{\"name\":\"tool_search\",\"group\":\"session\",\"description\":\"Finds more tools by words "
    "that say what is wanted. What it shows can be called from then on.\",\"parameters\":{"
    "\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"minLength\":1},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20}},\"required\":[\"query\"],"
    "\"additionalProperties\":false},\"security\":{\"requiresApproval\":false,\"riskLevel\":"
    "\"low\"},\"reads_only\":true,\"repeatable\":true}]";

const struct tool *toolsearch_tool(void)
{
    if (!own) {
        struct json_object *list = NULL;
        chela_json_parse(manifest, sizeof manifest - 1, NULL, &list, NULL);
        own = toolset_of_client(list);
        own->tools[0].core = true;
        json_object_put(list);
    }
    return &own->tools[0];
}

void toolsearch_reset(void)
{
    toolset_release(own);
    own = NULL;
}

/* ---- ranking ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || ((unsigned char)c & 0x80);
}

/* Does the text hold the word, from a word's beginning on? */
static bool holds(const char *text, const char *word, size_t n)
{
    for (const char *p = text; *p; p++)
        if ((p == text || !is_word(p[-1])) && strncasecmp(p, word, n) == 0)
            return true;
    return false;
}

/* Scripts without blanks between words are looked for anywhere. */
static bool found(const char *text, const char *word, size_t n)
{
    return (unsigned char)word[0] & 0x80 ? memmem(text, strlen(text), word, n) != NULL
                                         : holds(text, word, n);
}

unsigned toolsearch_score(const struct tool *t, const char *words)
{
    unsigned score = 0, count = 0;
    for (const char *p = words; *p && count < WORDS_MOST;) {
        while (*p && !is_word(*p))
            p++;
        size_t n = 0;
        while (p[n] && is_word(p[n]))
            n++;
        if (n == 0)
            break;
        count++;
        score += found(t->name, p, n) ? 3 : 0;
        score += found(t->description, p, n) ? 1 : 0;
        p += n;
    }
    if (strcasecmp(t->name, words) == 0)
        score += 100;
    return score;
}

struct ranked {
    const struct tool *tool;
    unsigned score;
};

struct ranking {
    const char *words;
    struct ranked *v;
    unsigned count, left_out;
};

static void rank(void *arg, const struct tool *t)
{
    struct ranking *r = arg;
    unsigned score = toolsearch_score(t, r->words);
    r->left_out++;
    if (!score)
        return;
    r->v = xrealloc(r->v, (r->count + 1) * sizeof *r->v);
    r->v[r->count++] = (struct ranked){t, score};
}

static int best_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->tool->name, y->tool->name);
}

char *toolsearch_run(struct tool_plan **plan, const char *arguments)
{
    struct json_object *o = NULL;
    chela_json_parse(arguments, strlen(arguments), NULL, &o, NULL);
    const char *words = chela_json_string(o, "query", NULL);
    int64_t most = chela_json_int(o, "limit", SHOWN);
    struct ranking r = {.words = words ? words : ""};
    struct buf b = {0};
    most = most < 1 ? 1 : most > SHOWN_MOST ? SHOWN_MOST : most;
    toolplan_each_left_out(*plan, rank, &r);
    if (r.count)
        qsort(r.v, r.count, sizeof *r.v, best_first);
    unsigned shown = r.count < (unsigned)most ? r.count : (unsigned)most;
    for (unsigned i = 0; i < shown; i++) {
        const struct tool *t = toolplan_resolve(plan, r.v[i].tool->name);
        if (t)
            buf_printf(&b, "%s\n", t->definition);
    }
    if (shown == 0)
        buf_printf(&b, "None of the %u other tools fits these words.", r.left_out);
    else
        buf_printf(&b, "These can be called now.%s",
                   r.count > shown ? " More fit: search with other words or a larger limit." : "");
    free(r.v);
    json_object_put(o);
    return buf_take(&b);
}
