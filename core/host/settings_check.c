/*
 * What no option table can say: ranges, values that depend on each other, and references to
 * instances that must exist. The last step of settings_read().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "host/options_private.h"
#include "host/settings_private.h"

struct checking {
    const struct settings *settings;
    struct buf *errors;
};

static void __attribute__((format(printf, 3, 4)))
complain(const struct checking *c, const char *path, const char *format, ...)
{
    const char *origin = settings_origin(c->settings, path);
    va_list ap;
    buf_printf(c->errors, "%s: %s: ", *origin ? origin : "default", path);
    va_start(ap, format);
    buf_vprintf(c->errors, format, ap);
    va_end(ap);
    buf_char(c->errors, '\n');
}

/* ---- ranges ---- */

/* By the last part of the path, which means the same everywhere. */
static const struct {
    const char *name;
    double least, most;
} ranges[] = {
    {"gateway.port", 0, 65535},
    {"gateway.max_connections", 1, 100000},
    {"gateway.body_limit", 1024, 1 << 30},
    {"gateway.frame_limit", 1024, 1 << 30},
    {"gateway.handshake_timeout", 100, 600000},
    {"gateway.body_timeout", 100, 3600000},
    {"network.connect_timeout", 100, 600000},
    {"session.reset.at_hour", 0, 23},
    {"messages.queue.cap", 1, 10000},
    {"models.retries", 0, 100},
    {"temperature", 0, 2},
    {"max_tokens", 1, 10000000},
    {"max_steps", 1, 100000},
    {"context_tokens", 1000, 1e9},
};

static bool named(const char *path, const char *name)
{
    size_t n = strlen(path), m = strlen(name);
    return n >= m && strcmp(path + n - m, name) == 0 && (n == m || path[n - m - 1] == '.');
}

static void check_range(const struct checking *c, const struct option_entry *entry)
{
    double value = entry->type == CHELA_REAL ? entry->real : (double)entry->number;
    for (size_t i = 0; i < ARRAY_LENGTH(ranges) && !entry->broken; i++)
        if (entry->text && named(entry->path, ranges[i].name) &&
            (value < ranges[i].least || value > ranges[i].most))
            complain(c, entry->path, "%s is out of range, it must be from %.15g to %.15g",
                     entry->text, ranges[i].least, ranges[i].most);
}

/* ---- the server ---- */

static void check_hooks(const struct checking *c)
{
    const char *token = settings_text(c->settings, "gateway.hooks.token");
    if (!settings_number(c->settings, "gateway.hooks.enabled"))
        return;
    if (strlen(token) < 16)
        complain(c, "gateway.hooks.token", "hooks want a token of at least 16 characters");
    else if (strcmp(token, settings_text(c->settings, "gateway.auth.token")) == 0 ||
             strcmp(token, settings_text(c->settings, "gateway.auth.password")) == 0)
        complain(c, "gateway.hooks.token", "the hooks' token must not be the gateway's secret");
}

static void check_gateway(const struct checking *c)
{
    const char *bind = settings_text(c->settings, "gateway.bind");
    const char *mode = settings_text(c->settings, "gateway.auth.mode");
    unsigned char address[16];
    bool local =
        strcmp(bind, "loopback") == 0 || strcmp(bind, "::1") == 0 || strncmp(bind, "127.", 4) == 0;
    if (strcmp(bind, "loopback") != 0 && strcmp(bind, "lan") != 0 &&
        inet_pton(AF_INET, bind, address) != 1 && inet_pton(AF_INET6, bind, address) != 1) {
        struct nearest near = {.wanted = bind};
        nearest_offer(&near, "loopback");
        nearest_offer(&near, "lan");
        complain(c, "gateway.bind", "\"%s\" is neither \"loopback\", \"lan\" nor an address%s%s%s",
                 bind, near.name ? " (did you mean \"" : "", near.name ? near.name : "",
                 near.name ? "\"?)" : "");
    }
    if (strcmp(mode, "none") == 0 && !local)
        complain(c, "gateway.auth.mode",
                 "\"none\" is possible only with gateway.bind = "
                 "\"loopback\": everybody who reaches the port could give "
                 "orders");
    check_hooks(c);
    if (strcmp(mode, "password") == 0 && !*settings_text(c->settings, "gateway.auth.password"))
        complain(c, "gateway.auth.mode", "\"password\" wants gateway.auth.password");
}

static void check_network(const struct checking *c)
{
    const char *ca = settings_text(c->settings, "network.ca_file");
    const char *proxy = settings_text(c->settings, "network.proxy");
    if (*ca && access(ca, R_OK) != 0)
        complain(c, "network.ca_file", "\"%s\" can't be read: %s", ca, strerror(errno));
    static const char *const schemes[] = {"http://",    "https://",  "socks4://",
                                          "socks4a://", "socks5://", "socks5h://"};
    bool known = !*proxy;
    for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++)
        known = known || strncmp(proxy, schemes[i], strlen(schemes[i])) == 0;
    if (!known)
        complain(c, "network.proxy", "wants a URL such as \"http://proxy.example:3128\"");
    if (settings_number(c->settings, "network.proxy_is_public") && !*proxy)
        complain(c, "network.proxy_is_public", "has no meaning without network.proxy");
}

/* "open" is a decision that nobody makes by leaving something out. */
static void check_channels(const struct checking *c)
{
    for (size_t i = 0; i < c->settings->instance_count; i++) {
        const struct settings_instance *in = &c->settings->instances[i];
        if (!in->common || strcmp(options_text(in->common, "dm_policy"), "open") != 0)
            continue;
        bool all = false;
        for (int64_t k = 0; k < options_number(in->common, "allow_from"); k++) {
            CLEANUP(freep) char *item = xprintf("allow_from.%lld", (long long)k);
            all = all || strcmp(options_text(in->common, item), "*") == 0;
        }
        CLEANUP(freep) char *path = xprintf("channels.%s.dm_policy", in->name);
        if (!all)
            complain(c, path,
                     "\"open\" lets everybody write: say so by allow_from = [ \"*\" ], or choose "
                     "\"pairing\" or \"allowlist\"");
    }
}

static void check_folders(const struct checking *c)
{
    int64_t n = settings_number(c->settings, "plugins.path");
    for (int64_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = xprintf("plugins.path.%lld", (long long)i);
        const char *folder = settings_text(c->settings, path);
        if (*folder && *folder != '/')
            complain(c, path, "\"%s\" is not an absolute path", folder);
    }
}

/* ---- references ---- */

static bool is_alias(const struct settings *s, const char *name)
{
    int64_t n = settings_number(s, "models.aliases");
    for (int64_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = xprintf("models.aliases.%lld.name", (long long)i);
        if (strcmp(settings_text(s, path), name) == 0)
            return true;
    }
    return false;
}

/* "INSTANCE/MODEL" or an alias or a model's own name, which only its provider knows. `origin` and
 * `path` tell where it stands. */
static void check_model(const struct checking *c, const char *value, const char *path,
                        const char *origin)
{
    const char *slash = strchr(value, '/');
    if (!slash || is_alias(c->settings, value))
        return;
    CLEANUP(freep) char *name = xmemdup(value, (size_t)(slash - value));
    if (settings_find_instance(c->settings, "providers", name))
        return;
    struct nearest near = {.wanted = name};
    const char *instance, *why = NULL;
    for (unsigned i = 0; (instance = settings_member(c->settings, "providers", i)); i++)
        nearest_offer(&near, instance);
    for (size_t i = 0; i < c->settings->absent_count; i++)
        if (strcmp(c->settings->absent[i].name, name) == 0 &&
            strcmp(c->settings->absent[i].section, "providers") == 0)
            why = c->settings->absent[i].why;
    buf_printf(c->errors, "%s: %s: \"%s\": there is no enabled provider \"%s\"", origin, path,
               value, name);
    if (near.name)
        buf_printf(c->errors, " (did you mean \"%s\"?)", near.name);
    else if (why)
        buf_printf(c->errors, " (%s)", why);
    buf_char(c->errors, '\n');
}

/* A plugin's CHELA_REF: an instance of any section, or a model. */
static void check_reference(const struct checking *c, const struct option_entry *entry,
                            const char *prefix)
{
    CLEANUP(freep) char *path = xprintf("%s%s%s", prefix, *prefix ? "." : "", entry->path);
    bool of_core = (entry->flags & OPTION_REF) && !*prefix;
    if (!entry->text || !*entry->text || entry->broken || !entry->origin ||
        entry->type == CHELA_LIST)
        return;
    if (of_core || strchr(entry->text, '/')) {
        check_model(c, entry->text, path, entry->origin);
        return;
    }
    struct nearest near = {.wanted = entry->text};
    for (size_t i = 0; i < c->settings->instance_count; i++) {
        if (strcmp(c->settings->instances[i].name, entry->text) == 0)
            return;
        nearest_offer(&near, c->settings->instances[i].name);
    }
    if (is_alias(c->settings, entry->text))
        return;
    buf_printf(c->errors, "%s: %s: there is no enabled instance \"%s\"%s%s%s\n", entry->origin,
               path, entry->text, near.name ? " (did you mean \"" : "", near.name ? near.name : "",
               near.name ? "\"?)" : "");
}

/* A value that "defaults" handed down is complained of once, there. */
static bool handed_down(const struct option_entry *entry)
{
    return !entry->given && strncmp(entry->path, "agents.", 7) == 0;
}

/* The routers' instances get the members of "routing", which are complained of there. */
static bool handed_by_routing(const struct settings *s, const struct option_entry *entry)
{
    for (size_t i = 0; entry->origin && entry->text && i < s->core->count; i++) {
        const struct option_entry *its = s->core->entries[i];
        if (strncmp(its->path, "routing.", 8) == 0 && its->origin && its->text &&
            strcmp(its->origin, entry->origin) == 0 && strcmp(its->text, entry->text) == 0)
            return true;
    }
    return false;
}

void settings_check(const struct settings *s, bool typed, struct buf *errors)
{
    struct checking c = {s, errors};
    for (size_t i = 0; i < s->core->count; i++) {
        const struct option_entry *entry = s->core->entries[i];
        if (handed_down(entry))
            continue;
        check_range(&c, entry);
        if (typed && (entry->type == CHELA_REF || (entry->flags & OPTION_REF)))
            check_reference(&c, entry, "");
    }
    for (size_t i = 0; typed && i < s->instance_count; i++) {
        const struct settings_instance *in = &s->instances[i];
        CLEANUP(freep) char *prefix = xprintf("%s.%s", in->section, in->name);
        for (size_t k = 0; in->options && k < in->options->count; k++)
            if (in->options->entries[k]->type == CHELA_REF &&
                !handed_by_routing(s, in->options->entries[k]))
                check_reference(&c, in->options->entries[k], prefix);
    }
    check_gateway(&c);
    check_network(&c);
    check_channels(&c);
    check_folders(&c);
}
