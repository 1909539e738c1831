/*
 * A server as a child process: one JSON text a line on standard input and output, its standard
 * error into the log. The host ends the whole process group. Called by server.c and rpc.c.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_ = 16 << 20, ERROR_LINE = 2000, ARGUMENTS = 128, VARIABLES = 128 };

static void take_line(struct server *s, const char *line, size_t n)
{
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' '))
        n--;
    if (n)
        rpc_incoming(s, line, n);
}

static void take_output(struct server *s, const char *data, size_t n)
{
    while (n && s->process) {
        const char *end = memchr(data, '\n', n);
        size_t part = end ? (size_t)(end - data) : n;
        if (s->line_length + part > LINE_MAX_) {
            server_lost(s, "it sent a line of more than 16 MiB");
            return;
        }
        if (s->line_room < s->line_length + part + 1) {
            s->line_room = (s->line_length + part + 1) * 2;
            s->line = need(realloc(s->line, s->line_room));
        }
        memcpy(s->line + s->line_length, data, part);
        s->line_length += part;
        data += part;
        n -= part;
        if (!end)
            return;
        data++;
        n--;
        size_t length = s->line_length;
        s->line_length = 0;
        /* the server may be closed by what the line says */
        char *line = need(malloc(length + 1));
        memcpy(line, s->line, length);
        line[length] = '\0';
        take_line(s, line, length);
        free(line);
    }
}

static void take_errors(struct server *s, const char *data, size_t n)
{
    if (!s->errors)
        s->errors = need(malloc(ERROR_LINE + 1));
    for (size_t i = 0; i < n; i++) {
        if (data[i] != '\n' && s->errors_length < ERROR_LINE) {
            s->errors[s->errors_length++] = data[i];
            continue;
        }
        if (data[i] != '\n')
            continue;
        s->errors[s->errors_length] = '\0';
        if (s->errors_length)
            mcp_log(s->mcp, CHELA_INFO, "%s: %s", s->name, s->errors);
        s->errors_length = 0;
    }
}

static void output(struct io *io, const struct chela_output *o)
{
    if (!io->server || io->server->process != io)
        return;
    if (o->stream == 2)
        take_errors(io->server, o->data.s, (size_t)o->data.n);
    else
        take_output(io->server, o->data.s, (size_t)o->data.n);
}

static char *ending(const struct chela_done *d)
{
    json_object *about = NULL;
    char *text;
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &about, NULL);
    if (d->error != CHELA_OK)
        text = format("%.*s", (int)d->text.n, d->text.n ? d->text.s : "it could not be started");
    else if (chela_json_int(about, "signal", 0))
        text = format("it was ended by signal %lld", (long long)chela_json_int(about, "signal", 0));
    else
        text = format("it ended with exit code %lld", (long long)chela_json_int(about, "exit", 0));
    json_object_put(about);
    return text;
}

static void done(struct io *io, const struct chela_done *d)
{
    struct server *s = io->server;
    if (!s || s->process != io)
        return;
    s->process = NULL;
    take_errors(s, "\n", 1);
    if (d->error == CHELA_E_CANCELLED) { /* the instance is being stopped */
        s->mcp->closing = true;
        server_stop(s);
        return;
    }
    char *why = ending(d);
    server_lost(s, why);
    free(why);
}

static size_t add_arguments(struct server *s, struct chela_pair *v)
{
    size_t n = 0;
    v[n++].value = server_option(s, "command");
    int64_t count = server_number(s, "args");
    for (int64_t i = 0; i < count && n < ARGUMENTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "args.%d", (int)i);
        v[n++].value = server_option(s, name);
    }
    return n;
}

static size_t add_environment(struct server *s, struct chela_pair *v)
{
    int64_t count = server_number(s, "env");
    size_t n = 0;
    for (int64_t i = 0; i < count && n < VARIABLES; i++) {
        char name[32], value[32];
        snprintf(name, sizeof name, "env.%d.name", (int)i);
        snprintf(value, sizeof value, "env.%d.value", (int)i);
        v[n].name = server_option(s, name);
        v[n++].value = server_option(s, value);
    }
    return n;
}

void stdio_start(struct server *s)
{
    struct chela_inst *in = s->mcp->in;
    struct chela_pair arguments[ARGUMENTS], environment[VARIABLES];
    memset(arguments, 0, sizeof arguments);
    struct io *io = io_new(s->mcp, s, NULL);
    io->output = output;
    io->done = done;
    s->process = io;
    s->line_length = s->errors_length = 0;
    CHELA_ARGS(chela_spawn, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.h.flags = CHELA_STDIN;
    a.directory = server_option(s, "cwd");
    a.arguments.v = arguments;
    a.arguments.n = add_arguments(s, arguments);
    a.environment.v = environment;
    a.environment.n = add_environment(s, environment);
    in->host->process->spawn(in, &a);
}

void stdio_send(struct server *s, const char *text, size_t n)
{
    struct chela_inst *in = s->mcp->in;
    if (!s->process)
        return;
    char *line = need(malloc(n + 1));
    memcpy(line, text, n);
    line[n] = '\n';
    CHELA_ARGS(chela_write, w, s->process->call);
    w.data = chela_sn(line, n + 1);
    in->host->process->write(in, &w);
    free(line);
}

/* Standard input is closed, as the protocol wants it; what has not ended then is ended by the host:
 * the group gets SIGTERM, and SIGKILL 2 s later. */
void stdio_stop(struct server *s)
{
    struct chela_inst *in = s->mcp->in;
    struct io *io = s->process;
    if (!io)
        return;
    s->process = NULL;
    CHELA_ARGS(chela_write, w, io->call);
    w.h.flags = CHELA_LAST;
    in->host->process->write(in, &w);
    io_forget(io);
}
