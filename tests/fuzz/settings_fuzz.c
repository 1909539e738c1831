/*
 * Feeds the configuration's reader any text: scanned, parsed, checked against the core's table and
 * one of a plugin's kind. No crash, no leak; a text that isn't good says why, and nothing that is
 * read says "very-secret".
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "host/settings_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libconfig 1.5 itself forgets the piece of a string that a syntax error ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig.so";
}

static const struct chela_option rules[] = {{"model", CHELA_REF, CHELA_REQUIRED, NULL, "", NULL},
                                            {"patterns", CHELA_LIST, 0, "a, b", "", NULL},
                                            {0}};
static const struct chela_option presets[] = {{"one", 0, 0, "https://one.example/v1", "", NULL},
                                              {0}};
static const struct chela_option options[] = {
    {"preset", CHELA_STRING, CHELA_URL, NULL, "", presets},
    {"url", CHELA_STRING, CHELA_URL, NULL, "", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET, "${KEY}", "", NULL},
    {"wait", CHELA_DURATION, 0, "3s", "", NULL},
    {"size", CHELA_SIZE, 0, NULL, "", NULL},
    {"warmth", CHELA_REAL, 0, NULL, "", NULL},
    {"on", CHELA_BOOL, 0, NULL, "", NULL},
    {"limits.time", CHELA_INT, 0, NULL, "", NULL},
    {"rules", CHELA_ITEMS, 0, NULL, "", rules},
    {0}};

static void must(bool truth)
{
    if (!truth)
        abort();
}

static void read_as(struct settings *s, const struct chela_option *table, const struct node *root,
                    struct buf *errors)
{
    char *environment[] = {"KEY=very-secret", "HOME=/srv", NULL};
    struct options_request request = {.table = table,
                                      .stride = sizeof *table,
                                      .group = root,
                                      .prefix = "x",
                                      .environment = environment};
    struct options *o = options_read(&request, errors, NULL);
    struct options_value v;
    for (size_t at = 0; options_next(o, &at, &v);)
        must(!(v.flags & CHELA_SECRET) || !strstr(v.text, "very-secret"));
    struct chela_pair *pairs;
    size_t n = options_pairs(o, &pairs);
    struct options *copy = options_from_pairs(pairs, n);
    for (size_t at = 0; options_next(o, &at, &v);)
        must(options_number(copy, v.path) == options_number(o, v.path));
    options_url_allowed(o, "https://one.example/x");
    options_release(copy);
    options_release(o);
    free(pairs);
    (void)s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings s = {0};
    struct buf errors = {0};
    char *text = xmemdup(data, size);
    struct node_source *source = settings_source(
        &s, "test.conf", &(struct node_source){.untrusted = size > 0 && (data[0] & 1)});
    struct node *root = settings_parse_text(&s, text, source, &errors);
    must(root || errors.n);
    if (root) {
        read_as(&s, options, root, &errors);
        read_as(&s, settings_core_table, root, &errors);
    }
    node_free(root);
    for (size_t i = 0; i < s.source_count; i++) {
        free(s.sources[i]->name);
        free(s.sources[i]);
    }
    free(s.sources);
    free(text);
    buf_free(&errors);
    redact_forget_all();
    return 0;
}
