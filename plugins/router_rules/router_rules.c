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
    {"min_context", CHELA_INT, 0, NULL, "only if the prompt has at least so many tokens", NULL},
    {"min_tool_calls", CHELA_INT, 0, NULL, "only after so many tool calls in the session", NULL},
    {"images", CHELA_BOOL, 0, NULL, "only for prompts with images", NULL},
    {"model", CHELA_REF, CHELA_REQUIRED, NULL, "who answers: \"instance/model\" or an alias", NULL},
    {"fallback", CHELA_LIST, 0, NULL, "who answers if that one can't", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_option options[] = {
    {"rules", CHELA_ITEMS, 0, NULL, "tried in order; the first that fits decides", rule_options},
    {"default", CHELA_REF, 0, NULL, "who answers when no rule fits", NULL},
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

static bool compile_list(struct chela_inst *in, struct rule *r, size_t rule, const char *name,
                         struct pattern *(*compile)(const char *, char *, size_t))
{
    int64_t n = number(in, rule, name);
    for (int64_t i = 0; i < n; i++) {
        struct chela_str text = option(in, rule, name, i);
        char why[256], line[1024];
        struct compiled *grown = realloc(r->patterns, (r->count + 1) * sizeof *grown);
        if (!grown)
            abort();
        r->patterns = grown;
        struct pattern *p = compile(text.s, why, sizeof why);
        if (!p) {
            snprintf(line, sizeof line, "rule %zu: \"%s\" is no valid expression: %s", rule + 1,
                     text.s, why);
            chela_log(in, CHELA_ERR, line);
            return false;
        }
        grown[r->count].pattern = p;
        grown[r->count++].text = strdup(text.s);
    }
    return true;
}

static void close(struct chela_inst *in)
{
    struct rules *all = in->self;
    for (size_t i = 0; all && i < all->count; i++) {
        for (size_t k = 0; k < all->rules[i].count; k++) {
            pattern_free(all->rules[i].patterns[k].pattern);
            free(all->rules[i].patterns[k].text);
        }
        free(all->rules[i].patterns);
    }
    if (all)
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
    for (all->count = 0; all->count < (size_t)count; all->count++) {
        struct rule *r = &all->rules[all->count];
        if (!compile_list(in, r, all->count, "patterns", pattern_words) ||
            !compile_list(in, r, all->count, "regex", pattern_regex)) {
            all->count++;
            close(in);
            return CHELA_E_ARGS;
        }
    }
    return CHELA_OK;
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

/* Does the rule fit? ret_why: the pattern that did, or NULL. */
static bool fits(struct chela_inst *in, const struct rule *r, size_t i, const struct chela_facts *f,
                 const char **ret_why)
{
    *ret_why = NULL;
    if (!listed(in, i, "channels", f->channel) || !listed(in, i, "agents", f->agent) ||
        f->context_tokens < (uint64_t)number(in, i, "min_context") ||
        f->tool_calls < (uint64_t)number(in, i, "min_tool_calls") ||
        (number(in, i, "images") && !f->images))
        return false;
    for (size_t k = 0; k < r->count; k++)
        if (pattern_matches(r->patterns[k].pattern, f->text.s ? f->text.s : "",
                            (size_t)f->text.n)) {
            *ret_why = r->patterns[k].text;
            return true;
        }
    return r->count == 0;
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

static void route(struct chela_inst *in, const struct chela_facts *f)
{
    const struct rules *all = in->self;
    struct choice c = {.n = 0};
    add(&c, f->prefer, chela_s("chosen by the person"));
    const char *pattern = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (fits(in, &all->rules[i], i, f, &pattern)) {
            add_rule(in, &c, i, pattern);
            break;
        }
    add(&c, chela_option_text(in, "default"), chela_s("default"));
    char path[PATH];
    for (int64_t k = 0; k < chela_option_number(in, "fallback"); k++) {
        snprintf(path, sizeof path, "fallback.%lld", (long long)k);
        add(&c, chela_option_text(in, path), chela_s("fallback"));
    }
    CHELA_ARGS(chela_decide, d, f->h.call);
    d.verdict = c.n ? CHELA_YES : CHELA_NO;
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
