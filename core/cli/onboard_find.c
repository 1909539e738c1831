/* Onboard: see onboard.h. Which providers can be had: those whose key is in the environment (the
 * variable stands in the option table as the key's default; a preset's is PRESET_API_KEY), and
 * services that listen on this machine where the option table's local URLs say. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/become.h"
#include "cli/onboard.h"
#include "cli/output.h"
#include "support/json.h"

enum { PROBE_MS = 300 };

bool onboard_read_types(struct onboard *o, struct error *e)
{
    CLEANUP(freep) char *path = xprintf("%s/chelad", paths_libexec_dir());
    const char *words[] = {path, "--types", NULL};
    struct buf out = {0};
    int status = become_child(words, &out);
    const char *json = strchr(buf_text(&out), '{'); /* behind warnings */
    if (status != 0 || !json || chela_json_parse(json, strlen(json), NULL, &o->types, NULL) < 0)
        error_set(e, CHELA_E_OTHER, "%s",
                  out.n ? buf_text(&out) : "the daemon does not say which plugins there are");
    buf_free(&out);
    return o->types != NULL;
}

json_object *onboard_type(struct onboard *o, const char *section, const char *type)
{
    json_object *types = chela_json_array(o->types, "types");
    for (size_t i = 0; i < chela_json_length(types); i++) {
        json_object *t = chela_json_at(types, i);
        if (strcmp(output_field(t, "section", ""), section) == 0 &&
            strcmp(output_field(t, "type", ""), type) == 0)
            return t;
    }
    return NULL;
}

static json_object *option_named(json_object *type, const char *name)
{
    json_object *options = chela_json_array(type, "options");
    for (size_t i = 0; i < chela_json_length(options); i++)
        if (strcmp(output_field(chela_json_at(options, i), "name", ""), name) == 0)
            return chela_json_at(options, i);
    return NULL;
}

json_object *onboard_key_option(json_object *type, char **ret_variable)
{
    json_object *option = option_named(type, "api_key");
    const char *fallback = output_field(option, "default", "");
    size_t n = strlen(fallback);
    *ret_variable = n > 3 && fallback[0] == '$' && fallback[1] == '{' && fallback[n - 1] == '}'
                        ? xmemdup(fallback + 2, n - 3)
                        : NULL;
    return option;
}

struct candidate *onboard_add(struct onboard *o, const char *name, const char *type)
{
    o->candidates = xrealloc(o->candidates, (o->count + 1) * sizeof *o->candidates);
    struct candidate *c = &o->candidates[o->count++];
    *c = (struct candidate){.name = xstrdup(name), .type = xstrdup(type)};
    for (char *p = c->name; *p; p++) /* as libconfig takes names */
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
            *p = '-';
    return c;
}

/* "groq" as GROQ_API_KEY, "llama.cpp" as LLAMA_CPP_HOST. */
static char *variable_of(const char *name, const char *end)
{
    char *variable = xprintf("%s%s", name, end);
    for (char *p = variable; *p; p++)
        *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
    return variable;
}

static bool is_set(const char *variable)
{
    const char *value = variable ? getenv(variable) : NULL;
    return value && *value;
}

static bool has_variable(const struct onboard *o, const char *variable)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->candidates[i].variable && strcmp(o->candidates[i].variable, variable) == 0)
            return true;
    return false;
}

static void add_keyed(struct onboard *o, const char *name, const char *type, const char *preset,
                      const char *variable)
{
    if (!is_set(variable) || has_variable(o, variable))
        return;
    struct candidate *c = onboard_add(o, name, type);
    c->preset = preset ? xstrdup(preset) : NULL;
    c->key = xstrdup("api_key");
    c->variable = xstrdup(variable);
    c->found = xprintf("its key is in %s", variable);
}

/* ---- services of this machine ---- */

/* Host and port of "http://host:port/...". */
static bool read_url(const char *url, char *host, size_t size, char *port)
{
    const char *from = strstr(url, "://");
    from = from ? from + 3 : url;
    size_t n = strcspn(from, ":/");
    if (n == 0 || n >= size)
        return false;
    memcpy(host, from, n);
    host[n] = '\0';
    snprintf(port, 8, "%.*s", from[n] == ':' ? (int)strspn(from + n + 1, "0123456789") : 2,
             from[n] == ':' ? from + n + 1 : "80");
    return true;
}

static bool is_local(const char *url)
{
    char host[256], port[8];
    return url && read_url(url, host, sizeof host, port) &&
           (strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0);
}

static bool connects(const struct addrinfo *to)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), failed = 0;
    socklen_t size = sizeof failed;
    if (fd < 0)
        return false;
    bool ok = connect(fd, to->ai_addr, to->ai_addrlen) == 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (!ok && errno == EINPROGRESS && poll(&p, 1, PROBE_MS) > 0)
        ok = getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
    close(fd);
    return ok;
}

static bool listens(const char *url)
{
    char host[256], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    bool found = false;
    if (!read_url(url, host, sizeof host, port) || getaddrinfo(host, port, &hints, &list) != 0)
        return false;
    for (struct addrinfo *a = list; a && !found; a = a->ai_next)
        found = connects(a);
    freeaddrinfo(list);
    return found;
}

static bool same_place(const char *a, const char *b)
{
    char hosts[2][256], ports[2][8];
    return read_url(a, hosts[0], 256, ports[0]) && read_url(b, hosts[1], 256, ports[1]) &&
           strcmp(ports[0], ports[1]) == 0;
}

static void add_local(struct onboard *o, const char *name, const char *type, const char *preset,
                      const char *url)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->candidates[i].base_url && same_place(o->candidates[i].base_url, url))
            return;
    if (!listens(url))
        return;
    struct candidate *c = onboard_add(o, name, type);
    c->preset = preset ? xstrdup(preset) : NULL;
    c->base_url = xstrdup(url);
    c->found = xprintf("it listens at %s", url);
}

/* OLLAMA_HOST and its like: "host", "host:port" or a URL. */
static char *url_of(const char *type, const char *fallback)
{
    CLEANUP(freep) char *variable = variable_of(type, "_HOST");
    const char *said = getenv(variable);
    if (!said || !*said)
        return xstrdup(fallback);
    if (strstr(said, "://"))
        return xstrdup(said);
    const char *port = strrchr(fallback, ':');
    bool any = strncmp(said, "0.0.0.0", 7) == 0; /* where it listens, not where it is */
    return xprintf("http://%s%s%s", any ? "127.0.0.1" : "", any ? said + 7 : said,
                   strchr(said, ':') || !port ? "" : port);
}

/* ---- all ---- */

static void find_presets(struct onboard *o, const char *type, json_object *presets, bool local)
{
    for (size_t i = 0; i < chela_json_length(presets); i++) {
        json_object *preset = chela_json_at(presets, i);
        const char *name = output_field(preset, "name", ""),
                   *url = output_field(preset, "default", NULL);
        if (local && is_local(url))
            add_local(o, name, type, name, url);
        CLEANUP(freep) char *variable = variable_of(name, "_API_KEY");
        if (!local && url && !is_local(url))
            add_keyed(o, name, type, strcmp(name, type) == 0 ? NULL : name, variable);
    }
}

static void find_of_type(struct onboard *o, json_object *type, bool local)
{
    const char *name = output_field(type, "type", ""),
               *url = output_field(option_named(type, "base_url"), "default", NULL);
    CLEANUP(freep) char *variable = NULL;
    onboard_key_option(type, &variable);
    if (!local && variable)
        add_keyed(o, name, name, NULL, variable);
    if (local && is_local(url)) {
        CLEANUP(freep) char *place = url_of(name, url);
        add_local(o, name, name, NULL, place);
    }
}

void onboard_find(struct onboard *o)
{
    json_object *types = chela_json_array(o->types, "types");
    for (int local = 0; local < 2; local++)
        for (int presets = 0; presets < 2; presets++) /* types of their own before presets */
            for (size_t i = 0; i < chela_json_length(types); i++) {
                json_object *t = chela_json_at(types, i);
                if (strcmp(output_field(t, "section", ""), "providers") != 0)
                    continue;
                if (presets)
                    find_presets(o, output_field(t, "type", ""),
                                 chela_json_array(option_named(t, "preset"), "items"), local);
                else
                    find_of_type(o, t, local);
            }
}

void onboard_free(struct onboard *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct candidate *c = &o->candidates[i];
        char *texts[] = {c->name, c->type, c->preset, c->base_url, c->key, c->variable, c->found};
        for (size_t k = 0; k < ARRAY_LENGTH(texts); k++)
            free(texts[k]);
        for (size_t k = 0; k < c->model_count; k++)
            free(c->models[k]);
        free(c->models);
    }
    free(o->candidates);
    free(o->chosen_model);
    json_object_put(o->channel_options);
    json_object_put(o->types);
}
