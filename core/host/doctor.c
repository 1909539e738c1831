/*
 * What is wrong, and how to mend it (see doctor.h). Looks only; changes nothing and starts nothing.
 */
#include "host/doctor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "host/doctor_private.h"
#include "host/instance.h"
#include "host/plugins.h"
#include "host/settings_private.h"
#include "support/json.h"

/* ---- configuration ---- */

static void check_configuration(struct report *r)
{
    const struct settings *s = r->settings;
    unsigned files = 0;
    struct stat status;
    if (!s) {
        doctor_add(r, WRONG, "configuration",
                   "chela config check names each mistake by file and line",
                   "has mistakes and can't be used");
        return;
    }
    for (size_t i = 0; i < s->source_count; i++) {
        const char *file = s->sources[i]->name;
        if (file[0] != '/' || stat(file, &status) < 0)
            continue;
        files++;
        if ((status.st_mode & 0044) && doctor_holds_secret(s, file)) {
            CLEANUP(freep) char *fix = xprintf("chmod 600 %s", file);
            doctor_add(r, WARN, "configuration", fix,
                       "%s may be read by others (mode %03o), and keys stand in it", file,
                       (unsigned)status.st_mode & 0777u);
        }
    }
    if (files)
        doctor_add(r, GOOD, "configuration", NULL, "%u files read, no mistake", files);
    else
        doctor_add(r, GOOD, "configuration", NULL, "no file: the defaults count");
    if (s->project_ignored) {
        CLEANUP(freep)
        char *fix = xprintf("chela trust %s, if you know what stands there", s->project);
        doctor_add(r, NOTE, "project", fix,
                   "%s isn't trusted, so most of its .chela/chela.conf is ignored", s->project);
    }
}

/* ---- folders ---- */

static void check_state_folder(struct report *r)
{
    const char *folder = settings_state_dir();
    struct stat status = {0};
    struct statvfs space;
    errno = 0;
    if (stat(folder, &status) < 0 || !S_ISDIR(status.st_mode) || access(folder, W_OK | X_OK) < 0) {
        doctor_add(r, WRONG, "state folder", "create it, or name another one by CHELA_STATE_DIR",
                   "%s can't be used: %s", folder, errno ? strerror(errno) : "it is no folder");
        return;
    }
    if (status.st_mode & 0077) {
        CLEANUP(freep) char *fix = xprintf("chmod 700 %s", folder);
        doctor_add(r, WARN, "state folder", fix, "%s is open to others (mode %03o)", folder,
                   (unsigned)status.st_mode & 0777u);
    }
    uint64_t free_mib =
        statvfs(folder, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize >> 20 : 0;
    doctor_add(r, free_mib < 100 ? WRONG : GOOD, "state folder",
               free_mib < 100 ? "make room: nothing can be accepted without it" : NULL,
               "%s, %llu MiB free", folder, (unsigned long long)free_mib);
}

/* ---- plugins and instances ---- */

static void check_plugins(struct report *r)
{
    struct plugins_info p;
    char *folder;
    for (unsigned i = 0; (folder = plugins_folder(r->settings, i)); i++) {
        if (access(folder, R_OK | X_OK) < 0)
            doctor_add(r, NOTE, "plugin folder", "install plugins there, or correct plugins.path",
                       "%s: %s", folder, strerror(errno));
        free(folder);
    }
    for (unsigned i = 0; plugins_at(i, &p); i++)
        doctor_add(r, GOOD, "plugin", NULL, "%s %s (%s%s)", p.name, p.version,
                   *p.path ? p.path : "built in", p.isolated ? ", in a process of its own" : "");
    for (size_t i = 0; i < r->settings->absent_count; i++) {
        const struct settings_absent *a = &r->settings->absent[i];
        doctor_add(r, NOTE, a->section, NULL, "%s isn't there by default: %s", a->name, a->why);
    }
    CLEANUP(freep) char *child = xprintf("%s/chela-child", paths_libexec_dir());
    if (settings_number(r->settings, "isolated") > 0 && access(child, X_OK) < 0)
        doctor_add(r, WRONG, "isolation", "install it with the rest of chela", "%s: %s", child,
                   strerror(errno));
}

static void check_running(void *arg, struct instance *in)
{
    struct report *r = arg;
    enum instance_state state = instance_state(in);
    bool bad = state == INSTANCE_FAILED || state == INSTANCE_STUCK;
    if (bad)
        doctor_add(r, WRONG, "instance", "see the log; chela reload starts it anew",
                   "%s (%s): %s: %s", instance_name(in), instance_plugin(in),
                   instance_state_name(state), instance_why(in));
    if (instance_broken_rules(in))
        doctor_add(r, WARN, "instance", "tell the plugin's author; the log names each",
                   "%s (%s) has broken the contract %llu times", instance_name(in),
                   instance_plugin(in), (unsigned long long)instance_broken_rules(in));
}

static void check_instances(struct report *r)
{
    static const struct {
        const char *section, *missing, *fix;
    } needed[] = {
        {"stores", "no store: nothing could be kept", "install store_sqlite, or configure one"},
        {"providers", "no provider: nobody could answer",
         "set a key (ANTHROPIC_API_KEY ...), or configure one in providers"},
        {"channels", "no channel: nobody could ask", "configure one in channels"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++)
        if (!settings_member(r->settings, needed[i].section, 0))
            doctor_add(r, i == 0 ? WRONG : WARN, needed[i].section, needed[i].fix, "%s",
                       needed[i].missing);
    for (size_t i = 0; i < r->settings->instance_count; i++) {
        const struct settings_instance *in = &r->settings->instances[i];
        doctor_add(r, GOOD, in->section, NULL, "%s (%s)", in->name,
                   in->embedded ? "by default" : in->origin);
    }
    instance_each(check_running, r);
}

/* ---- the server ---- */

/* The process that gateway.json names, 0 if none runs. */
static long running_gateway(void)
{
    CLEANUP(freep) char *path = xprintf("%s/gateway.json", settings_state_dir());
    char text[512] = "";
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    json_object *o = NULL;
    if (file)
        fclose(file);
    if (!n || chela_json_parse(text, n, NULL, &o, NULL) != 0)
        return 0;
    long pid = (long)chela_json_int(o, "pid", 0);
    json_object_put(o);
    CLEANUP(freep) char *alive = xprintf("/proc/%ld", pid);
    return pid > 0 && access(alive, F_OK) == 0 ? pid : 0;
}

static int try_port(const char *bind_to, int port)
{
    struct sockaddr_in six_less = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool lan = strcmp(bind_to, "lan") == 0;
    six_less.sin_addr.s_addr = htonl(lan ? INADDR_ANY : INADDR_LOOPBACK);
    if (!lan && strcmp(bind_to, "loopback") != 0 &&
        inet_pton(AF_INET, bind_to, &six_less.sin_addr) != 1)
        return 0; /* IPv6: not looked at */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, result = 0;
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (const struct sockaddr *)(const void *)&six_less, sizeof six_less) < 0)
        result = errno;
    close(fd);
    return result;
}

static void check_gateway(struct report *r)
{
    const char *bind_to = settings_text(r->settings, "gateway.bind");
    int port = (int)settings_number(r->settings, "gateway.port");
    long pid = running_gateway();
    int wrong = pid ? 0 : try_port(bind_to, port);
    if (pid)
        doctor_add(r, GOOD, "gateway", NULL, "runs (process %ld)", pid);
    else if (wrong)
        doctor_add(r, WRONG, "gateway", "end the other program, or set gateway.port",
                   "port %d at %s can't be used: %s", port, bind_to, strerror(wrong));
    else
        doctor_add(r, GOOD, "gateway", NULL, "port %d at %s is free", port, bind_to);
    if (strcmp(bind_to, "loopback") != 0)
        doctor_add(r, NOTE, "gateway", "put a proxy with TLS in front for more than a home network",
                   "can be reached from other machines (bind = \"%s\", auth \"%s\")", bind_to,
                   settings_text(r->settings, "gateway.auth.mode"));
    if (geteuid() == 0)
        doctor_add(r, WARN, "user", "run it as a user of its own (the systemd unit does)",
                   "runs as root, and so do the commands of the tool exec");
}

/* ---- the whole ---- */

struct json_object *doctor_report(const struct settings *s)
{
    json_object *whole = chela_json_new_object();
    struct report r = {.settings = s};
    chela_json_put_bool(whole, "ok", false); /* first, for who reads it */
    r.checks = chela_json_put_array(whole, "checks");
    check_configuration(&r);
    check_state_folder(&r);
    if (s) {
        check_plugins(&r);
        check_instances(&r);
        check_gateway(&r);
    }
    chela_json_put_bool(whole, "ok", !r.failed);
    return whole;
}

void doctor_text(struct json_object *report, struct buf *out)
{
    json_object *checks = chela_json_array(report, "checks");
    unsigned errors = 0, warnings = 0;
    for (size_t i = 0; i < chela_json_length(checks); i++) {
        json_object *check = chela_json_at(checks, i);
        const char *level = chela_json_string(check, "level", NULL);
        const char *fix = chela_json_string(check, "fix", NULL);
        errors += strcmp(level, "error") == 0;
        warnings += strcmp(level, "warn") == 0;
        buf_printf(out, "%-5s  %s: %s\n", level, chela_json_string(check, "name", NULL),
                   chela_json_string(check, "text", NULL));
        if (fix && *fix)
            buf_printf(out, "       fix: %s\n", fix);
    }
    if (errors || warnings)
        buf_printf(out, "%u errors, %u warnings\n", errors, warnings);
    else
        buf_puts(out, "nothing is wrong\n");
}
