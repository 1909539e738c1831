/*
 * Place: see place.h. The order for the port: environment, what a running gateway has written into
 * the state folder, the configuration, 18789. The order for the token: environment, configuration,
 * the file that the gateway made. The configuration is looked at only as far as these two go, and
 * once; reading it properly is the daemon's work.
 */
#include "cli/place.h"

#include <errno.h>
#include <glob.h>
#include <libconfig.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "support/json.h"

#define DEFAULT_PORT 18789u
#define SMALL_FILE   65536

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static char *state_dir(void)
{
    const char *own = environment("CHELA_STATE_DIR");
    const char *xdg = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");
    if (own != NULL) {
        return xstrdup(own);
    }
    if (xdg != NULL && xdg[0] == '/') {
        return xprintf("%s/chela", xdg);
    }
    return xprintf("%s/.local/state/chela", home == NULL ? "" : home);
}

/* 1 to 65535, or 0. */
static unsigned read_port(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long port = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    return errno == 0 && end != NULL && *end == '\0' && port <= 65535 ? (unsigned)port : 0;
}

/* What a running gateway says of itself. One that has ended without tidying up leaves its file
 * behind, so the process must still be there. */
static void read_announcement(struct place *place)
{
    struct buf text = {0};
    char *path = xprintf("%s/gateway.json", place->state_dir);
    json_object *root = NULL;
    if (file_read(path, SMALL_FILE, &text, NULL) == 0 &&
        chela_json_parse(text.p, text.n, NULL, &root, NULL) == 0) {
        int64_t port = chela_json_int(root, "port", 0);
        int64_t pid = chela_json_int(root, "pid", 0);
        const char *address = chela_json_string(root, "address", NULL);
        bool alive = pid > 0 && pid < 1 << 30 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
        if (alive && port > 0 && port <= 65535) {
            place->announced = true;
            place->pid = (long)pid;
            place->port = place->port == 0 ? (unsigned)port : place->port;
            bool any = address == NULL || address[0] == '\0' || strcmp(address, "0.0.0.0") == 0 ||
                       strcmp(address, "::") == 0;
            if (place->host == NULL && !any) {
                place->host = xstrdup(address);
            }
        }
    }
    json_object_put(root);
    free(path);
    buf_free(&text);
}

/* What is wanted of the configuration: the last file that says it counts. */
struct configured {
    bool known; /* it was read */
    unsigned port;
    char *token;        /* as it stands there; NULL: nowhere */
    char *token_folder; /* of the file that says it */
};

static void read_configured(struct configured *c, const char *path)
{
    config_t config;
    int port = 0;
    const char *token = NULL;
    config_init(&config);
    if (access(path, R_OK) == 0 && config_read_file(&config, path) == CONFIG_TRUE) {
        config_lookup_int(&config, "gateway.port", &port);
        config_lookup_string(&config, "gateway.auth.token", &token);
    }
    if (port > 0 && port <= 65535) {
        c->port = (unsigned)port;
    }
    if (token != NULL) {
        const char *slash = strrchr(path, '/');
        free(c->token);
        free(c->token_folder);
        c->token = xstrdup(token);
        c->token_folder = slash == NULL ? xstrdup(".") : xmemdup(path, (size_t)(slash - path));
    }
    config_destroy(&config);
}

/* A file and the conf.d beside it. */
static void read_configured_layer(struct configured *c, const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL ? xstrdup(".") : xmemdup(file, (size_t)(slash - file));
    char *pattern = xprintf("%s/conf.d/*.conf", folder);
    glob_t found;
    read_configured(c, file);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            read_configured(c, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(pattern);
    free(folder);
}

static void read_configuration(struct configured *c)
{
    const char *named = environment("CHELA_CONFIG");
    if (c->known) {
        return;
    }
    c->known = true;
    if (named != NULL) {
        read_configured_layer(c, named);
        return;
    }
    char *system = xprintf("%s/chela.conf", paths_conf_dir());
    char *folder = paths_user_config(environment("XDG_CONFIG_HOME"), environment("HOME"));
    char *own = xprintf("%s/chela/chela.conf", folder);
    read_configured_layer(c, system);
    read_configured_layer(c, own);
    free(own);
    free(folder);
    free(system);
}

static void trim(struct buf *text)
{
    while (text->n > 0 && strchr(" \t\r\n", text->p[text->n - 1]) != NULL) {
        text->p[--text->n] = '\0';
    }
}

/* gateway.auth.token of the configuration: itself, "${NAME}" or "file:PATH". NULL: none that this
 * user can read. */
static char *configured_token(struct configured *c)
{
    struct buf text = {0};
    char *token = NULL;
    read_configuration(c);
    size_t n = c->token == NULL ? 0 : strlen(c->token);
    if (n > 5 && strncmp(c->token, "file:", 5) == 0) {
        const char *rest = c->token + 5, *home = environment("HOME");
        char *path = *rest == '/' ? xstrdup(rest)
                     : strncmp(rest, "~/", 2) == 0 && home != NULL
                         ? xprintf("%s%s", home, rest + 1)
                         : xprintf("%s/%s", c->token_folder, rest);
        if (file_read(path, SMALL_FILE, &text, NULL) == 0) {
            trim(&text);
            token = text.n > 0 ? xstrdup(text.p) : NULL;
        }
        free(path);
    } else if (n > 3 && strncmp(c->token, "${", 2) == 0 && c->token[n - 1] == '}') {
        char *name = xmemdup(c->token + 2, n - 3);
        token = environment(name) == NULL ? NULL : xstrdup(environment(name));
        free(name);
    } else if (n > 0 && strncmp(c->token, "credential:", 11) != 0) {
        token = xstrdup(c->token);
    }
    buf_free(&text);
    return token;
}

static void read_token(struct place *place, struct configured *c)
{
    const char *own = environment("CHELA_GATEWAY_TOKEN");
    if (own == NULL) {
        own = environment("CHELA_GATEWAY__TOKEN");
    }
    if (own != NULL) {
        place->token = xstrdup(own);
        return;
    }
    place->token = configured_token(c); /* which the gateway goes by, whatever lies in its folder */
    if (place->token != NULL) {
        return;
    }
    struct buf text = {0};
    struct stat status;
    char *path = xprintf("%s/gateway.token", place->state_dir);
    if (stat(path, &status) == 0 && (status.st_mode & 077) != 0) {
        place->token_why =
            xprintf("others can read %s; make it yours alone: chmod 600 %s", path, path);
    } else if (file_read(path, SMALL_FILE, &text, NULL) == 0) {
        trim(&text);
        if (text.n > 0) {
            place->token = xstrdup(text.p);
        }
    } else if (errno == EACCES) {
        place->token_why = xprintf("%s can't be read", path);
    }
    free(path);
    buf_free(&text);
}

/* "host", "host:port", ":port", "[v6]:port", with or without "ws://" and a slash at the end. */
static int read_where(struct place *place, const char *where, struct error *e)
{
    const char *from = strncmp(where, "ws://", 5) == 0 ? where + 5 : where;
    size_t length = strlen(from);
    if (length > 0 && from[length - 1] == '/') {
        length--;
    }
    char *text = xmemdup(from, length);
    char *host = text, *colon = strrchr(text, ':');
    bool bracket = text[0] == '[';
    if (bracket) {
        char *close_bracket = strchr(text, ']');
        colon = close_bracket != NULL && close_bracket[1] == ':' ? close_bracket + 1 : NULL;
        if (close_bracket != NULL) {
            *close_bracket = '\0';
        }
        host = text + 1;
    } else if (colon != NULL && strchr(text, ':') != colon) {
        colon = NULL; /* a bare IPv6 address */
    }
    int result = 0;
    if (colon != NULL) {
        *colon = '\0';
        place->port = read_port(colon + 1);
        result = place->port == 0 ? -1 : 0;
    }
    if (result == 0 && strpbrk(host, "/@? \t\r\n") != NULL) {
        result = -1;
    }
    if (result == 0 && host[0] != '\0') {
        place->host = xstrdup(host);
    }
    free(text);
    if (result != 0) {
        error_set(e, CHELA_E_ARGS, "no gateway's address: %s (HOST, HOST:PORT or :PORT)", where);
    }
    return result;
}

int place_find(struct place *place, const char *where, struct error *e)
{
    memset(place, 0, sizeof *place);
    place->state_dir = state_dir();
    if (where != NULL && read_where(place, where, e) != 0) {
        return -1;
    }
    static const char *const names[] = {"CHELA_GATEWAY_PORT", "CHELA_GATEWAY__PORT"};
    for (size_t i = 0; i < ARRAY_LENGTH(names) && place->port == 0; i++) {
        const char *value = environment(names[i]);
        if (value != NULL) {
            place->port = read_port(value);
            if (place->port == 0) {
                return error_set(e, CHELA_E_ARGS, "%s is no port: %s", names[i], value);
            }
        }
    }
    if (place->host == NULL && place->port == 0) {
        read_announcement(place);
    }
    struct configured c = {0};
    if (place->port == 0) {
        read_configuration(&c);
        place->port = c.port;
    }
    if (place->port == 0) {
        place->port = DEFAULT_PORT;
    }
    if (place->host == NULL) {
        place->host = xstrdup("127.0.0.1");
    }
    read_token(place, &c);
    free(c.token);
    free(c.token_folder);
    return 0;
}

void place_free(struct place *place)
{
    free(place->state_dir);
    free(place->host);
    free(place->token);
    free(place->token_why);
    memset(place, 0, sizeof *place);
}

char *place_file(const struct place *place, const char *name)
{
    return file_make_folder(place->state_dir) == 0 ? xprintf("%s/%s", place->state_dir, name)
                                                   : NULL;
}
