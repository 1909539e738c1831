/*
 * router_rules: decides by rules, tried in order; the first that fits gives the model. Compiles the
 * patterns at open, so that a wrong one is an error of the configuration; does no I/O.
 */
#include <chela/chela.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

static const struct chela_option rule_options[] = {
    {"patterns", CHELA_LIST, 0, NULL, "words or phrases, any of which selects this rule", NULL},
    {"regex", CHELA_LIST, 0, NULL, "regular expressions (PCRE2), any of which selects it", NULL},
    {"channels", CHELA_LIST, 0, NULL, "only for messages of these channels", NULL},
    {"agents", CHELA_LIST, 0, NULL, "only for these agents", NULL},
    {"senders", CHELA_LIST, 0, NULL, "only for messages of these senders", NULL},
    {"attachments", CHELA_LIST, 0, NULL,
     "only with an attachment of one of these kinds: image, audio, video, file", NULL},
    {"hours", CHELA_STRING, 0, NULL, "only at this time of the day: \"22-6\", local time", NULL},
    {"min_length", CHELA_INT, 0, NULL, "only for texts of at least so many bytes", NULL},
    {"max_length", CHELA_INT, 0, NULL, "only for texts of at most so many bytes", NULL},
    {"min_context", CHELA_INT, 0, NULL, "only if the prompt has at least so many tokens", NULL},
    {"min_tool_calls", CHELA_INT, 0, NULL, "only after so many tool calls in the session", NULL},
    {"images", CHELA_BOOL, 0, NULL, "only for prompts with images", NULL},
    {"model", CHELA_REF, CHELA_REQUIRED, NULL, "who answers: \"instance/model\" or an alias", NULL},
    {"fallback", CHELA_LIST, 0, NULL, "who answers if that one can't", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"rules", CHELA_ITEMS, 0, NULL, "tried in order; the first that fits decides", rule_options},
    {"primary", CHELA_REF, 0, NULL, "the strong model, of always_primary", NULL},
    {"local", CHELA_REF, 0, NULL, "the model on this machine, of always_local", NULL},
    {"always_primary", CHELA_LIST, 0, NULL, "words that always go to `primary`, before all rules",
     NULL},
    {"always_local", CHELA_LIST, 0, NULL, "words that always go to `local`, before all rules",
     NULL},
    {"default", CHELA_REF, 0, NULL, "who answers when no rule fits and no other router decides",
     NULL},
    {"fallback", CHELA_LIST, 0, NULL, "who answers when the chosen one can't", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { CANDIDATES = 32, PATH = 128 };

struct compiled {
    struct pattern *pattern;
    char *text;
};

struct rule {
    struct compiled *patterns;
    size_t count;
};

struct rules {
    struct rule *rules;
    size_t count;
    struct rule primary, local; /* the words of always_primary and always_local */
};

static struct chela_str option(struct chela_inst *in, size_t rule, const char *name,
                               int64_t element)
{
    char path[PATH];
    if (element < 0)
        snprintf(path, sizeof path, "rules.%zu.%s", rule, name);
    else
        snprintf(path, sizeof path, "rules.%zu.%s.%lld", rule, name, (long long)element);
    return chela_option_text(in, path);
}

static int64_t number(struct chela_inst *in, size_t rule, const char *name)
{
    char path[PATH];
    snprintf(path, sizeof path, "rules.%zu.%s", rule, name);
    return chela_option_number(in, path);
}

/* ---- open and close ---- */

static bool compile_list(struct chela_inst *in, struct rule *r, const char *list,
                         struct pattern *(*compile)(const char *, char *, size_t))
{
    int64_t n = chela_option_number(in, list);
    for (int64_t i = 0; i < n; i++) {
        char why[256], line[1024], path[PATH + 24];
        snprintf(path, sizeof path, "%s.%lld", list, (long long)i);
        struct chela_str text = chela_option_text(in, path);
        struct compiled *grown = realloc(r->patterns, (r->count + 1) * sizeof *grown);
        if (!grown)
            abort();
        r->patterns = grown;
        struct pattern *p = compile(text.s, why, sizeof why);
        if (!p) {
            snprintf(line, sizeof line, "%s: \"%.500s\" is no valid expression: %s", path, text.s,
                     why);
            chela_log(in, CHELA_ERR, line);
            return false;
        }
        grown[r->count].pattern = p;
        grown[r->count++].text = strdup(text.s);
    }
    return true;
}

static void rule_clear(struct rule *r)
{
    for (size_t k = 0; k < r->count; k++) {
        pattern_free(r->patterns[k].pattern);
        free(r->patterns[k].text);
    }
    free(r->patterns);
}

/* "22-6" as hours; false if it says something else. */
static bool read_hours(const char *text, unsigned *from, unsigned *to)
{
    char behind;
    return sscanf(text, "%2u-%2u%c", from, to, &behind) == 2 && *from < 24 && *to <= 24;
}

static bool check_hours(struct chela_inst *in, size_t rule)
{
    struct chela_str text = option(in, rule, "hours", -1);
    unsigned from, to;
    char line[256];
    if (!text.n || read_hours(text.s, &from, &to))
        return true;
    snprintf(line, sizeof line, "rules.%zu.hours: wants hours such as \"22-6\", found \"%.100s\"",
             rule, text.s);
    chela_log(in, CHELA_ERR, line);
    return false;
}

static bool compile_rule(struct chela_inst *in, struct rule *r, size_t rule)
{
    char words[PATH], regex[PATH];
    snprintf(words, sizeof words, "rules.%zu.patterns", rule);
    snprintf(regex, sizeof regex, "rules.%zu.regex", rule);
    return compile_list(in, r, words, pattern_words) && compile_list(in, r, regex, pattern_regex) &&
           check_hours(in, rule);
}

static void close(struct chela_inst *in)
{
    struct rules *all = in->self;
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        rule_clear(&all->rules[i]);
    rule_clear(&all->primary);
    rule_clear(&all->local);
    free(all->rules);
    free(all);
    in->self = NULL;
}

static int32_t open(struct chela_inst *in)
{
    int64_t count = chela_option_number(in, "rules");
    struct rules *all = calloc(1, sizeof *all);
    if (!all)
        abort();
    in->self = all;
    all->rules = calloc(count > 0 ? (size_t)count : 1, sizeof *all->rules);
    if (!all->rules)
        abort();
    bool good = compile_list(in, &all->primary, "always_primary", pattern_words) &&
                compile_list(in, &all->local, "always_local", pattern_words);
    while (good && count > 0 && all->count < (size_t)count) {
        good = compile_rule(in, &all->rules[all->count], all->count);
        all->count++;
    }
    if (good)
        return CHELA_OK;
    close(in);
    return CHELA_E_ARGS;
}

/* ---- route ---- */

static bool listed(struct chela_inst *in, size_t rule, const char *name, struct chela_str value)
{
    int64_t n = number(in, rule, name);
    for (int64_t i = 0; i < n; i++)
        if (chela_str_is(value, option(in, rule, name, i).s))
            return true;
    return n == 0;
}

/* Is one of the kinds among those of the message's attachments? */
static bool attached(struct chela_inst *in, size_t rule, struct chela_str kinds)
{
    int64_t n = number(in, rule, "attachments");
    for (int64_t i = 0; i < n; i++) {
        struct chela_str kind = option(in, rule, "attachments", i);
        if (kind.n && kinds.n && memmem(kinds.s, (size_t)kinds.n, kind.s, (size_t)kind.n))
            return true;
    }
    return n == 0;
}

static bool at_this_hour(struct chela_inst *in, size_t rule, uint64_t at)
{
    struct chela_str text = option(in, rule, "hours", -1);
    unsigned from, to, hour = (unsigned)(at / 3600 % 24);
    if (!text.n || !read_hours(text.s, &from, &to))
        return true;
    return from < to ? hour >= from && hour < to : hour >= from || hour < to;
}

static bool of_length(struct chela_inst *in, size_t rule, uint64_t length)
{
    int64_t least = number(in, rule, "min_length"), most = number(in, rule, "max_length");
    return length >= (uint64_t)least && (most <= 0 || length <= (uint64_t)most);
}

/* The pattern of the list that the text holds, or NULL. */
static const char *match(const struct rule *r, struct chela_str text)
{
    for (size_t k = 0; k < r->count; k++)
        if (pattern_matches(r->patterns[k].pattern, text.s ? text.s : "", (size_t)text.n))
            return r->patterns[k].text;
    return NULL;
}

/* Does the rule fit? ret_why: the pattern that did, or NULL. */
static bool fits(struct chela_inst *in, const struct rule *r, size_t i, const struct chela_facts *f,
                 const char **ret_why)
{
    *ret_why = NULL;
    if (!listed(in, i, "channels", f->channel) || !listed(in, i, "agents", f->agent) ||
        !listed(in, i, "senders", f->sender) || !attached(in, i, f->attachments) ||
        !at_this_hour(in, i, f->at) || !of_length(in, i, f->text.n) ||
        f->context_tokens < (uint64_t)number(in, i, "min_context") ||
        f->tool_calls < (uint64_t)number(in, i, "min_tool_calls") ||
        (number(in, i, "images") && !f->images))
        return false;
    *ret_why = match(r, f->text);
    return *ret_why || r->count == 0;
}

struct choice {
    struct chela_pair v[CANDIDATES];
    size_t n;
    char why[256];
};

static void add(struct choice *c, struct chela_str model, struct chela_str reason)
{
    if (!model.n || c->n == CANDIDATES)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].name.n == model.n && memcmp(c->v[i].name.s, model.s, (size_t)model.n) == 0)
            return;
    c->v[c->n].name = model;
    c->v[c->n++].value = reason;
}

static void add_rule(struct chela_inst *in, struct choice *c, size_t rule, const char *pattern)
{
    if (pattern)
        snprintf(c->why, sizeof c->why, "rule %zu: \"%.200s\"", rule + 1, pattern);
    else
        snprintf(c->why, sizeof c->why, "rule %zu", rule + 1);
    add(c, option(in, rule, "model", -1), chela_s(c->why));
    for (int64_t k = 0; k < number(in, rule, "fallback"); k++)
        add(c, option(in, rule, "fallback", k), chela_s("fallback of the rule"));
}

/* The model of always_primary or always_local, if a word of theirs is in the text. */
static bool add_always(struct chela_inst *in, struct choice *c, const struct rules *all,
                       const struct chela_facts *f)
{
    const char *word = match(&all->primary, f->text);
    const char *list = word ? "always_primary" : "always_local";
    struct chela_str model = chela_option_text(in, word ? "primary" : "local");
    if (!word)
        word = match(&all->local, f->text);
    if (!word || !model.n)
        return false;
    snprintf(c->why, sizeof c->why, "%s: \"%.200s\"", list, word);
    add(c, model, chela_s(c->why));
    return true;
}

static void route(struct chela_inst *in, const struct chela_facts *f)
{
    const struct rules *all = in->self;
    struct choice c = {.n = 0};
    add(&c, f->prefer, chela_s("chosen by the person"));
    const char *pattern = NULL;
    bool fit = add_always(in, &c, all, f);
    for (size_t i = 0; i < all->count && !fit; i++) {
        fit = fits(in, &all->rules[i], i, f, &pattern);
        if (fit)
            add_rule(in, &c, i, pattern);
    }
    add(&c, chela_option_text(in, "default"), chela_s("default"));
    char path[PATH];
    for (int64_t k = 0; k < chela_option_number(in, "fallback"); k++) {
        snprintf(path, sizeof path, "fallback.%lld", (long long)k);
        add(&c, chela_option_text(in, path), chela_s("fallback"));
    }
    CHELA_ARGS(chela_decide, d, f->h.call);
    d.verdict = c.n ? CHELA_YES : CHELA_NO;
    d.text = chela_s(!c.n ? "no rule fits" : fit ? c.why : "no rule fits: the default");
    if (!fit && !f->prefer.n)
        d.h.flags = CHELA_WEAK; /* another router may know better */
    d.candidates.v = c.v;
    d.candidates.n = c.n;
    in->host->answer->decide(in, &d);
}

static const struct chela_router router = {.size = (uint32_t)sizeof(struct chela_router),
                                           .route = route};

static const struct chela_iface rules = {
    CHELA_IFACE("rules", "routes by words, expressions and where a message came from",
                CHELA_CAP_DEFAULT, options),
    .open = open,
    .close = close,
    .router = &router,
};

CHELA_PLUGIN(router_rules, "0.9.0", "routes by rules", "MIT", "", &rules);
