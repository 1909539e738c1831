/*
 * The security report (see doctor_security.h): a table of settings that open something, and looks
 * at the files that must be their owner's alone. Called by main_gateway.c and the gateway's method.
 */
#include "host/doctor_security.h"

#include <errno.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "host/doctor_private.h"
#include "host/settings_private.h"
#include "support/json.h"

struct audit {
    struct report report;
    json_object *values; /* path: value, as chela config show has them */
};

/* ---- the configuration ---- */

static json_object *read_values(const struct settings *s)
{
    struct buf text = {0};
    json_object *list = NULL, *values = chela_json_new_object();
    settings_show(s, true, &text);
    if (chela_json_parse(text.p, text.n, NULL, &list, NULL) == 0)
        for (size_t i = 0; i < chela_json_length(list); i++) {
            json_object *o = chela_json_at(list, i);
            chela_json_put(values, chela_json_string(o, "path", NULL),
                           json_object_get(chela_json_get(o, "value")));
        }
    json_object_put(list);
    buf_free(&text);
    return values;
}

/* A value as text; "" if it isn't set. */
static const char *text_of(json_object *value)
{
    return value && !json_object_is_type(value, json_type_array) ? json_object_get_string(value)
                                                                 : "";
}

static const char *value(const struct audit *a, const char *path)
{
    return text_of(chela_json_get(a->values, path));
}

static bool is(const struct audit *a, const char *path, const char *wanted)
{
    return strcmp(value(a, path), wanted) == 0;
}

/* Does a name fit "a.*.c", where * is one part? */
static bool fits(const char *path, const char *pattern)
{
    for (;;) {
        size_t n = strcspn(path, "."), m = strcspn(pattern, ".");
        if (!(m == 1 && *pattern == '*') && (n != m || strncmp(path, pattern, n) != 0))
            return false;
        path += n;
        pattern += m;
        if (!*path || !*pattern)
            return !*path && !*pattern;
        path++;
        pattern++;
    }
}

/* Settings that open something by themselves; value NULL: whatever it is. */
static const struct {
    const char *pattern, *value;
    enum level level;
    const char *text, *fix;
} openings[] = {
    {"gateway.auth.mode", "none", WARN, "every program of this machine may do all",
     "gateway.auth.mode = \"token\""},
    {"gateway.hooks.enabled", "true", NOTE, "other programs may begin turns by /hooks",
     "turn it off where nothing uses it"},
    {"gateway.http.tools", "true", NOTE, "tools may be called by HTTP",
     "turn it off where nothing uses it"},
    {"tools.security", "full", WARN, "medium risks run unasked", "tools.security = \"ask\""},
    {"agents.*.tools.security", "full", WARN, "medium risks run unasked",
     "leave it to tools.security = \"ask\""},
    {"agents.*.tools.high_risk_free", "true", WRONG, "high risks run unasked",
     "take it out: no model should do that unasked"},
    {"channels.*.dm_policy", "open", WARN, "strangers may write to the assistant",
     "dm_policy = \"pairing\""},
    {"channels.*.group_policy", "open", WARN, "every group may use the assistant",
     "group_policy = \"allowlist\", and name the groups"},
    {"tools.*.confine", "false", WARN, "commands run without confinement", "confine = true"},
    {"tools.*.low", "none", WARN, "commands of low risk run without confinement",
     "low = \"read-only-no-network\""},
    {"tools.*.medium", "none", WARN, "commands of medium risk run without confinement",
     "medium = \"workspace\""},
    {"gateway.record", NULL, WARN, "all that people and the assistant say is written there, too",
     "take it out once the client is written"},
    {"network.proxy_is_public", "true", NOTE,
     "what a model fetches is kept from private addresses by the proxy alone",
     "only if the proxy really refuses them"},
};

static void check_openings(struct audit *a)
{
    json_object_object_foreach(a->values, path, v)
    {
        const char *value = text_of(v);
        for (size_t i = 0; i < ARRAY_LENGTH(openings); i++)
            if (fits(path, openings[i].pattern) &&
                (openings[i].value ? strcmp(value, openings[i].value) == 0 : *value))
                doctor_add(&a->report, openings[i].level, path, openings[i].fix, "\"%s\" (%s): %s",
                           value, settings_origin(a->report.settings, path), openings[i].text);
    }
}

static bool is_loopback(const char *address)
{
    return strcmp(address, "loopback") == 0 || strncmp(address, "127.", 4) == 0 ||
           strcmp(address, "::1") == 0;
}

static void check_exposure(struct audit *a)
{
    const char *bind = value(a, "gateway.bind");
    bool here = is_loopback(bind), proxy = is(a, "gateway.auth.mode", "trusted-proxy");
    if (here)
        doctor_add(&a->report, GOOD, "gateway.bind", NULL, "only this machine reaches the gateway");
    else
        doctor_add(&a->report, WARN, "gateway.bind",
                   "bind to loopback behind a proxy with TLS (etc/nginx.conf, etc/Caddyfile)",
                   "\"%s\": other machines reach the gateway, and nothing is encrypted", bind);
    if (!here && is(a, "gateway.auth.mode", "none"))
        doctor_add(&a->report, WRONG, "gateway.auth.mode", "gateway.auth.mode = \"token\"",
                   "everybody on the network is let in");
    if (!here && !is(a, "gateway.devices.required", "true"))
        doctor_add(&a->report, WARN, "gateway.devices.required", "gateway.devices.required = true",
                   "who knows the secret is let in from anywhere, without a device of its own");
    json_object_object_foreach(a->values, path, v)
    {
        const char *text = text_of(v);
        if (fits(path, "gateway.trusted_proxies.*") &&
            (strcmp(text, "0.0.0.0/0") == 0 || strcmp(text, "::/0") == 0))
            doctor_add(&a->report, WRONG, path, "name the proxy's own address",
                       "\"%s\": everybody is a proxy", text);
        else if (fits(path, "gateway.trusted_proxies.*") && proxy && is_loopback(text))
            doctor_add(&a->report, WARN, path,
                       "have the proxy speak from an address that only it has",
                       "\"%s\": every program of this machine can name itself anybody", text);
        if (fits(path, "gateway.allowed_origins.*") && strncmp(text, "http://", 7) == 0 &&
            !strstr(text, "localhost") && !strstr(text, "127.0.0.1"))
            doctor_add(&a->report, WARN, path, "https", "\"%s\" can be spoofed on its way", text);
    }
}

/* A secret that somebody could guess, and one that stands for two things. */
static void check_secrets(struct audit *a)
{
    static const char *const secrets[] = {"gateway.auth.token", "gateway.auth.password",
                                          "gateway.hooks.token"};
    for (size_t i = 0; i < ARRAY_LENGTH(secrets); i++) {
        const char *text = settings_has(a->report.settings, secrets[i])
                               ? settings_text(a->report.settings, secrets[i])
                               : "";
        if (*text && strlen(text) < 16)
            doctor_add(&a->report, WARN, secrets[i], "openssl rand -hex 32 makes one",
                       "has %zu characters, which can be guessed", strlen(text));
    }
}

/* MCP servers are programs of other people. */
static void check_servers(struct audit *a)
{
    json_object_object_foreach(a->values, path, v)
    {
        const char *command = text_of(v);
        const char *base = strrchr(command, '/') ? strrchr(command, '/') + 1 : command;
        if (fits(path, "tools.*.servers.*.command") &&
            (strcmp(base, "npx") == 0 || strcmp(base, "uvx") == 0 || strcmp(base, "pipx") == 0 ||
             strcmp(base, "bunx") == 0))
            doctor_add(&a->report, WARN, path,
                       "install a version of it once and start that program",
                       "\"%s\" fetches a program at each start and runs what came", base);
        if (fits(path, "tools.*.servers.*.url") && strncmp(command, "http://", 7) == 0 &&
            !strstr(command, "//127.") && !strstr(command, "//localhost"))
            doctor_add(&a->report, WARN, path, "https", "\"%s\" is not encrypted", command);
    }
}

/* ---- files ---- */

static void check_mode(struct audit *a, const char *path, mode_t forbidden, enum level level,
                       const char *what)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    CLEANUP(freep) char *fix = xprintf("chmod go-rwx %s", path);
    if (S_ISLNK(st.st_mode))
        doctor_add(&a->report, WARN, path, NULL, "is a link, so others may decide what it is");
    else if (st.st_uid != geteuid() && st.st_uid != 0)
        doctor_add(&a->report, WRONG, path, NULL, "belongs to another user");
    else if (st.st_mode & forbidden)
        doctor_add(&a->report, level, path, fix, "mode %03o: others can %s",
                   (unsigned)(st.st_mode & 0777), what);
    else
        doctor_add(&a->report, GOOD, path, NULL, "is its owner's alone");
}

static void check_files(struct audit *a)
{
    static const char *const files[] = {"gateway.token", "audit.jsonl", "chela.db", "chela.db-wal"};
    const char *state = settings_state_dir();
    check_mode(a, state, 0077, WRONG, "read conversations and secrets");
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        CLEANUP(freep) char *path = xprintf("%s/%s", state, files[i]);
        check_mode(a, path, 0077, WRONG, "read it");
    }
    for (size_t i = 0; i < a->report.settings->source_count; i++) {
        const char *file = a->report.settings->sources[i]->name;
        if (*file != '/' || access(file, F_OK) < 0)
            continue;
        bool secret = doctor_holds_secret(a->report.settings, file);
        check_mode(a, file, secret ? 0077 : 0022, secret ? WRONG : WARN,
                   secret ? "read the secrets in it" : "change it");
    }
}

json_object *doctor_security(const struct settings *s)
{
    struct audit a = {.report = {.settings = s, .checks = chela_json_new_array()}};
    json_object *o = chela_json_new_object();
    if (!s) {
        doctor_add(&a.report, WRONG, "configuration",
                   "chela config check names each mistake by file and line",
                   "has mistakes and can't be looked at");
    } else {
        a.values = read_values(s);
        check_exposure(&a);
        check_openings(&a);
        check_secrets(&a);
        check_servers(&a);
        check_files(&a);
        json_object_put(a.values);
    }
    chela_json_put_bool(o, "ok", !a.report.failed);
    chela_json_put(o, "checks", a.report.checks);
    return o;
}
