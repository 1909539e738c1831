/*
 * A home for each test of the settings: a folder of its own with an environment that leads there,
 * types from a table, and short names for what the tests do all the time. For
 * tests/unit/settings_*.
 */
#ifndef CHELA_TESTS_SETTINGS_HOME_H
#define CHELA_TESTS_SETTINGS_HOME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "host/instance.h"
#include "host/settings_private.h"

/* ---- types ---- */

static const struct chela_option openai_options[] = {
    {"preset", CHELA_STRING, 0, NULL, "a service", NULL},
    {"url", CHELA_STRING, CHELA_URL, "https://api.example.com/v1", "where it is", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET, NULL, "its key", NULL},
    {"timeout", CHELA_DURATION, 0, "60s", "", NULL},
    {0}};
static const struct chela_option anthropic_options[] = {{"api_key", CHELA_STRING,
                                                         CHELA_SECRET | CHELA_REQUIRED,
                                                         "${ANTHROPIC_API_KEY}", "the key", NULL},
                                                        {0}};
static const struct chela_option telegram_options[] = {
    {"token", CHELA_STRING, CHELA_SECRET | CHELA_REQUIRED, NULL, "the bot's token", NULL}, {0}};
static const struct chela_option rule_options[] = {
    {"patterns", CHELA_LIST, 0, NULL, "", NULL}, {"model", CHELA_REF, 0, NULL, "", NULL}, {0}};
static const struct chela_option rules_options[] = {
    {"rules", CHELA_ITEMS, 0, NULL, "", rule_options},
    {"default", CHELA_REF, 0, NULL, "", NULL},
    {0}};
static const struct chela_option none[] = {{0}};

#define TYPE(kind, type, options, caps, role)                                                      \
    {                                                                                              \
        kind "_" type, type, options, sizeof(struct chela_option), caps, 1u << role                \
    }
static const struct settings_type types[] = {
    TYPE("store", "sqlite", none, CHELA_CAP_DEFAULT, ROLE_STORE),
    TYPE("provider", "openai", openai_options, 0, ROLE_PROVIDER),
    TYPE("provider", "anthropic", anthropic_options, CHELA_CAP_DEFAULT, ROLE_PROVIDER),
    TYPE("provider", "demo", none, CHELA_CAP_DEFAULT, ROLE_PROVIDER),
    TYPE("router", "rules", rules_options, CHELA_CAP_DEFAULT, ROLE_ROUTER),
    TYPE("tool", "files", none, CHELA_CAP_DEFAULT, ROLE_TOOL),
    TYPE("channel", "cli", none, CHELA_CAP_DEFAULT, ROLE_CHANNEL),
    TYPE("channel", "telegram", telegram_options, 0, ROLE_CHANNEL),
};

static const struct settings_type *find_type(const struct settings *so_far, const char *section,
                                             const char *plugin, const char *type, struct error *e)
{
    CLEANUP(freep)
    char *module = plugin ? xstrdup(plugin) : xprintf("%s_%s", settings_kind(section), type);
    assert_non_null(so_far);
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
        if (strcmp(types[i].plugin, module) == 0 && strcmp(types[i].type, type) == 0)
            return &types[i];
    error_set(e, CHELA_E_NOT_FOUND, "there is no plugin %s.so", module);
    return NULL;
}

/* ---- a home of its own for each test ---- */

static struct {
    char root[64];
    char *environment[16];
    struct settings *settings;
    struct buf errors, log;
} t;

static inline void keep_log(enum log_level level, const char *line)
{
    (void)level;
    buf_printf(&t.log, "%s\n", line);
}

static inline int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    snprintf(t.root, sizeof t.root, "/tmp/chela-settings-XXXXXX");
    assert_non_null(mkdtemp(t.root));
    t.environment[0] = xprintf("HOME=%s/home", t.root);
    t.environment[1] = xprintf("CHELA_STATE_DIR=%s/state", t.root);
    CLEANUP(freep) char *system = xprintf("%s/etc", t.root);
    CLEANUP(freep) char *folder = xprintf("%s/state", t.root);
    setenv("CHELA_CONF_DIR", system, 1);
    setenv("CHELA_STATE_DIR", folder, 1);
    log_setup(LOG_WARNING, LOG_PLAIN, keep_log);
    return 0;
}

static inline int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    (void)status;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int tear_down(void **state)
{
    (void)state;
    settings_free(t.settings);
    for (size_t i = 0; i < ARRAY_LENGTH(t.environment); i++)
        free(t.environment[i]);
    buf_free(&t.errors);
    buf_free(&t.log);
    log_setup(LOG_INFO, LOG_PLAIN, NULL);
    redact_forget_all();
    return nftw(t.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void set(const char *name, const char *value)
{
    size_t i = 0, n = strlen(name);
    while (t.environment[i] &&
           !(strncmp(t.environment[i], name, n) == 0 && t.environment[i][n] == '='))
        i++;
    assert_true(i + 1 < ARRAY_LENGTH(t.environment));
    free(t.environment[i]);
    t.environment[i] = xprintf("%s=%s", name, value);
}

static inline void put(const char *path, const char *text)
{
    CLEANUP(freep) char *whole = xprintf("%s/%s", t.root, path);
    for (char *p = whole + strlen(t.root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(whole, 0700);
        *p = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline const char *read_all(const char *project)
{
    CLEANUP(freep) char *directory = project ? xprintf("%s/%s", t.root, project) : NULL;
    struct settings_sources sources = {.directory = directory, .environment = t.environment};
    settings_free(t.settings);
    buf_clear(&t.errors);
    buf_clear(&t.log);
    t.settings = settings_read(&sources, find_type, &t.errors);
    assert_true((t.settings != NULL) == (t.errors.n == 0));
    return buf_text(&t.errors);
}

static inline const char *text(const char *path)
{
    return settings_text(t.settings, path);
}

static inline const char *origin(const char *path)
{
    const char *found = settings_origin(t.settings, path);
    size_t n = strlen(t.root);
    return strncmp(found, t.root, n) == 0 ? found + n + 1 : found;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
