/*
 * The start of a plugin's own process (see isolate.h): clean surroundings, and the description that
 * it sends first. Called by isolate.c alone.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "host/child_frames.h"
#include "host/isolate_private.h"

enum { READ_SIZE = 64 << 10, DESCRIPTION_LIMIT = 16 << 20, CHILD_FD = 3 };

static struct wire_decoder decoder;

static void never_started(uv_handle_t *h)
{
    free(h);
}

/* Nothing of the daemon's environment goes along but what names languages, places and the time
 * zone; in particular no key. */
static char **clean_environment(void)
{
    static const char *const kept[] = {"PATH",
                                       "HOME",
                                       "LANG",
                                       "LC_ALL",
                                       "LC_CTYPE",
                                       "TZ",
                                       "TMPDIR",
                                       "XDG_RUNTIME_DIR",
#ifdef __SANITIZE_ADDRESS__
                                       "ASAN_OPTIONS",
                                       "UBSAN_OPTIONS",
                                       "LSAN_OPTIONS",
#endif
                                       NULL};
    char **environment = xcalloc(ARRAY_LENGTH(kept), sizeof *environment);
    size_t n = 0;
    for (size_t i = 0; kept[i]; i++) {
        const char *value = getenv(kept[i]);
        if (value)
            environment[n++] = xprintf("%s=%s", kept[i], value);
    }
    return environment;
}

int child_spawn(struct child *c, struct error *e)
{
    int pair[2];
    loop_open(); /* the settings are read, and so plugins described, before anything runs */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(e, CHELA_E_OTHER, "no socket for the plugin's process: %s",
                         strerror(errno));
    char program[4096], fd[16];
    snprintf(program, sizeof program, "%s/chela-child", paths_libexec_dir());
    snprintf(fd, sizeof fd, "%d", CHILD_FD);
    char *level = log_enabled(LOG_DEBUG) ? "debug" : "info";
    char *arguments[] = {program, "run", c->path, fd, level, NULL};
    char **environment = clean_environment();
    uv_stdio_container_t stdio[] = {{.flags = UV_IGNORE},
                                    {.flags = UV_IGNORE},
                                    {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
                                    {.flags = UV_INHERIT_FD, .data.fd = pair[1]}};
    uv_process_options_t options = {.exit_cb = child_exited,
                                    .file = program,
                                    .args = arguments,
                                    .env = environment,
                                    .cwd = "/",
                                    .stdio_count = CHILD_FD + 1,
                                    .stdio = stdio};
    c->process = xcalloc(1, sizeof *c->process);
    c->process->data = c;
    int failed = uv_spawn(loop_uv(), c->process, &options);
    close(pair[1]);
    for (char **v = environment; *v; v++)
        free(*v);
    free(environment);
    if (failed) {
        uv_close((uv_handle_t *)c->process, never_started);
        c->process = NULL;
        close(pair[0]);
        return error_set(e, CHELA_E_OTHER, "%s can't be started: %s", program, uv_strerror(failed));
    }
    c->fd = pair[0];
    c->exited = c->is_described = c->broken = false;
    c->described = 0;
    c->why[0] = '\0';
    return 0;
}

/* Frames that follow the description (there are none before OPEN) would be a break of the protocol.
 */
int child_collect(struct child *c, struct error *e)
{
    for (;;) {
        buf_reserve(&c->description, READ_SIZE);
        ssize_t n = recv(c->fd, c->description.p + c->description.n, READ_SIZE, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return error_set(e, CHELA_E_GONE,
                             "%s: its process ended while it opened the file (a crash in a "
                             "constructor?)",
                             c->path);
        c->description.n += (size_t)n;
        int found;
        while ((found = wire_look(c->description.p + c->whole, c->description.n - c->whole)) == 1) {
            const struct wire_frame *f = (const void *)(c->description.p + c->whole);
            c->whole += f->length;
            if (f->function == CHILD_READY)
                return 1;
        }
        if (found < 0 || c->description.n > DESCRIPTION_LIMIT)
            return error_set(e, CHELA_E_PROTOCOL, "%s: its process sent no description", c->path);
    }
}

int child_wait_description(struct child *c, struct error *e)
{
    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int ready_count = poll(&p, 1, CHILD_DESCRIBE_MS);
        if (ready_count < 0 && errno == EINTR)
            continue;
        if (ready_count == 0)
            return error_set(e, CHELA_E_TIMEOUT, "%s: its process has not described it within %d s",
                             c->path, CHILD_DESCRIBE_MS / 1000);
        int came = child_collect(c, e);
        if (came)
            return came < 0 ? -1 : 0;
    }
}

static char *copy(struct chela_str s)
{
    return xmemdup(s.s, (size_t)s.n);
}

static void take_plugin(struct plugin *p, const struct child_plugin *a)
{
    p->name = copy(a->name);
    p->version = copy(a->version);
    p->summary = copy(a->summary);
    p->license = copy(a->license);
    p->origin = copy(a->origin);
    p->major = (uint16_t)a->major;
    p->minor = (uint16_t)a->minor;
    p->minor_need = (uint16_t)a->minor_need;
}

/* Makes the plugin's description of the frames. Types must not move, so they are counted first. */
int child_parse_description(struct child *c, struct error *e)
{
    struct plugin *p = c->plugin;
    const char *at = c->description.p, *end = at + c->description.n;
    size_t types = 0;
    for (const char *q = at; q < end; q += ((const struct wire_frame *)(const void *)q)->length)
        types += ((const struct wire_frame *)(const void *)q)->function == CHILD_TYPE;
    p->types = xcalloc(types, sizeof *p->types);
    for (uint32_t length; at < end; at += length) {
        const struct wire_frame *f = (const void *)at;
        const struct wire_args *a = child_frame_args(f->function);
        const struct child_result *result = (const void *)&decoder.args;
        length = f->length;
        if (!a || wire_read(&decoder, a, f) != 0)
            return error_set(e, CHELA_E_PROTOCOL, "%s: its process sent no description", c->path);
        if (f->function == CHILD_PLUGIN && !p->name)
            take_plugin(p, (const void *)&decoder.args);
        else if (f->function == CHILD_TYPE &&
                 !child_type_read(&p->types[p->type_count++], p, (const void *)&decoder.args))
            return error_set(e, CHELA_E_PROTOCOL, "%s: a type's description is damaged", c->path);
        else if (f->function == CHILD_READY && result->error != CHELA_OK)
            return error_set(e, result->error, "%s", result->text.s);
    }
    return p->name ? 0 : error_set(e, CHELA_E_PROTOCOL, "%s: its process sent no name", c->path);
}
