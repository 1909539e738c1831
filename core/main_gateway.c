/*
 * chelad: the daemon. Reads the configuration, brings the layers up from the bottom, and down again
 * from the top. The only place that knows all of them.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agents.h"
#include "agent/journal/journal.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/redact.h"
#include "gateway/gateway.h"
#include "gateway/health.h"
#include "host/call.h"
#include "host/doctor.h"
#include "host/doctor_security.h"
#include "host/host_table.h"
#include "host/instance.h"
#include "host/isolate.h"
#include "host/loop.h"
#include "host/metrics.h"
#include "host/module.h"
#include "host/plugins.h"
#include "host/registry.h"
#include "host/settings.h"
#include "net/http.h"
#include "net/net_group.h"
#include "net/ws_client.h"
#include "proc/process.h"
#include "proc/process_group.h"
#include "support/json.h"

enum { EXIT_CONFIG = 78, EXIT_USAGE = 2, FORCE_MS = 60000, STORE_FORCE_MS = 5000 };

enum action { RUN, CHECK, SHOW, TYPES, DOCTOR, PATHS, TRUST, DISTRUST };

static struct {
    enum action action;
    bool json, verbose, security;
    const char *config, *folder;
    int ready_fd;
    struct settings_sources sources;
    bool stopping, describing;
    uint64_t force_timer;
    int status;
} daemon_state = {.ready_fd = -1};

/* ---- the configuration ---- */

static struct settings *read_settings(struct buf *errors)
{
    return settings_read(&daemon_state.sources, plugins_find_type, errors);
}

static void print_errors(const struct buf *errors)
{
    fwrite(errors->p, 1, errors->n, stderr);
    if (errors->n && errors->p[errors->n - 1] != '\n')
        fputc('\n', stderr);
}

static enum log_level level_named(const char *name)
{
    return strcmp(name, "error") == 0   ? LOG_ERROR
           : strcmp(name, "warn") == 0  ? LOG_WARNING
           : strcmp(name, "debug") == 0 ? LOG_DEBUG
                                        : LOG_INFO;
}

static void tail(enum log_level level, const char *line)
{
    gateway_log_tail((int)level, line);
}

static void set_log(const struct settings *s)
{
    const char *format = settings_text(s, "logging.format");
    enum log_format form = strcmp(format, "json") == 0      ? LOG_JSON
                           : strcmp(format, "journal") == 0 ? LOG_JOURNAL
                           : strcmp(format, "plain") == 0   ? LOG_PLAIN
                           : getenv("JOURNAL_STREAM")       ? LOG_JOURNAL
                                                            : LOG_PLAIN;
    log_setup(daemon_state.verbose ? LOG_DEBUG : level_named(settings_text(s, "logging.level")),
              form, tail);
}

struct reload {
    void (*done)(void *arg, const struct error *e);
    void *arg;
};

static void reloaded(void *arg, const struct error *e)
{
    struct reload *r = arg;
    if (e)
        log_error("config", "the running configuration stays: %s", e->text);
    else
        set_log(settings_now());
    notify_service("READY=1");
    if (r->done)
        r->done(r->arg, e);
    free(r);
}

static void read_again(void *arg);

static void reload(void (*done)(void *arg, const struct error *e), void *arg)
{
    struct buf errors = {0};
    struct error e;
    if (registry_busy() || daemon_state.stopping || daemon_state.describing) {
        error_set(&e, CHELA_E_BUSY, "another change of the configuration is under way");
        if (done)
            done(arg, &e);
        return;
    }
    struct settings *fresh = read_settings(&errors);
    struct reload *r = xcalloc(1, sizeof *r);
    r->done = done;
    r->arg = arg;
    if (isolate_describing()) { /* a plugin's process says first what it is */
        settings_free(fresh);
        daemon_state.describing = true;
        isolate_when_described(read_again, r);
    } else if (!fresh) {
        error_set(&e, CHELA_E_ARGS, "%s", buf_text(&errors));
        log_error("config", "the running configuration stays: %s", e.text);
        if (done)
            done(arg, &e);
        free(r);
    } else {
        CLEANUP(freep)
        char *state =
            xprintf("RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)clock_ticks_us());
        notify_service(state);
        registry_reload(fresh, reloaded, r);
    }
    buf_free(&errors);
}

static void read_again(void *arg)
{
    struct reload r = *(struct reload *)arg;
    free(arg);
    daemon_state.describing = false;
    reload(r.done, r.arg);
}

/* ---- down ---- */

static void all_stopped(void *arg, const struct error *e)
{
    (void)arg;
    (void)e;
    loop_timer_stop(daemon_state.force_timer);
    loop_stop();
}

static void others_stopped(void *arg, const struct error *e)
{
    (void)e;
    journal_close();
    registry_stop(false, all_stopped, arg);
}

static void gateway_closed(void *arg)
{
    registry_stop(true, others_stopped, arg);
}

static void agent_stopped(void *owner, const struct error *e)
{
    (void)e;
    gateway_close(false, gateway_closed, owner);
}

static void forced(void *arg)
{
    (void)arg;
    log_error("main", "the end took too long; leaving now");
    _exit(1);
}

static void stop(void *arg)
{
    (void)arg;
    if (daemon_state.stopping) {
        log_warning("main", "a second signal: running turns are not waited for");
        agent_stop(0, NULL, NULL);
        return;
    }
    daemon_state.stopping = true;
    log_info("main", "stopping");
    notify_service("STOPPING=1");
    daemon_state.force_timer = loop_timer(FORCE_MS, forced, NULL);
    if (health_ready())
        agent_stop((uint64_t)settings_number(settings_now(), "gateway.drain_timeout"),
                   agent_stopped, NULL);
    else
        agent_stopped(NULL, NULL);
}

static void fail(const char *what, const struct error *e, int status)
{
    log_error("main", "%s: %s", what, e->text);
    daemon_state.status = status;
    if (!daemon_state.stopping) {
        daemon_state.stopping = true;
        agent_stopped(NULL, NULL);
    }
}

/* ---- up ---- */

/* Where clients find us: {port, pid, version} in the state folder. */
static void write_address(void)
{
    CLEANUP(freep)
    char *path = xprintf("%s/gateway.json", settings_state_dir()), *fresh = xprintf("%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && dprintf(fd, "{\"port\":%u,\"pid\":%d,\"version\":\"%s\"}\n",
                                 (unsigned)gateway_port(), (int)getpid(), PACKAGE_VERSION) > 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (!ok || rename(fresh, path) != 0)
        log_warning("main", "%s cannot be written: %s", path, strerror(errno));
}

static void remove_address(void)
{
    CLEANUP(freep) char *path = xprintf("%s/gateway.json", settings_state_dir());
    unlink(path);
}

static void clients_welcome(void *arg, const struct error *e)
{
    (void)arg;
    if (e) {
        fail("the devices that were let in cannot be read", e, 1);
        return;
    }
    write_address();
    log_info("main", "ready on port %u (version %s, pid %d)", (unsigned)gateway_port(),
             PACKAGE_VERSION, (int)getpid());
    notify_service("READY=1");
    if (daemon_state.ready_fd >= 0) {
        dprintf(daemon_state.ready_fd, "ready port=%u\n", (unsigned)gateway_port());
        close(daemon_state.ready_fd);
        daemon_state.ready_fd = -1;
    }
}

static void agent_started(void *owner, const struct error *e)
{
    if (e)
        fail("the agent cannot start", e, 1);
    else
        gateway_ready(clients_welcome, owner);
}

static void instances_started(void *arg, const struct error *e)
{
    if (e)
        fail("the gateway cannot start", e, EXIT_CONFIG);
    else
        agent_start(agent_started, arg);
}

static void journal_opened(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        fail("the store cannot be used", e, 1);
    else
        registry_go_on();
}

/* Before any other plugin starts, so that each finds what it has kept. */
static void stores_started(void *arg)
{
    struct instance *store = instance_next(ROLE_STORE, NULL);
    struct error e;
    if (!store) {
        error_set(&e, CHELA_E_ARGS,
                  "no store is configured, so nothing could be kept; enable store_sqlite");
        fail("the gateway cannot start", &e, EXIT_CONFIG);
        return;
    }
    journal_open(store, strcmp(settings_text(settings_now(), "durability"), "process") != 0,
                 journal_opened, arg);
}

/* Without its store the gateway could accept nothing and end nothing; what was committed is safe,
 * and the next start takes up what was under way. So it ends, and whoever started it starts it
 * again. */
static void check_store(const struct instance *in)
{
    if (daemon_state.stopping || !health_ready() || instance_state(in) != INSTANCE_FAILED ||
        !(instance_roles(in) & (1u << ROLE_STORE)))
        return;
    log_error("main",
              "the store %s has failed (%s): the gateway ends and must be started again; nothing "
              "that was accepted is lost",
              instance_name(in), instance_why(in));
    daemon_state.status = 1;
    daemon_state.stopping = true;
    daemon_state.force_timer = loop_timer(STORE_FORCE_MS, forced, NULL);
    agent_stop(0, agent_stopped, NULL);
}

static void changed(struct instance *in, uint32_t what)
{
    if (what == 0)
        check_store(in);
    if (what == 0)
        health_changed();
}

static void hung_up(void *arg)
{
    (void)arg;
    reload(NULL, NULL);
}

/* What goes for all requests to services. */
static void open_network(void)
{
    const struct settings *s = settings_now();
    struct buf direct = {0};
    const char *ca = settings_text(s, "network.ca_file");
    unsigned hosts = settings_list_count("network.no_proxy");
    for (unsigned i = 0; i < hosts; i++)
        buf_printf(&direct, "%s%s", i ? "," : "", settings_list_item("network.no_proxy", i));
    http_open(&(struct http_setup){
        .ca_file = *ca ? ca : NULL,
        .proxy = settings_has(s, "network.proxy") ? settings_text(s, "network.proxy") : NULL,
        .no_proxy = settings_has(s, "network.no_proxy") ? buf_text(&direct) : NULL,
        .connect_ms = (uint32_t)settings_number(s, "network.connect_timeout"),
        .proxy_is_public = settings_number(s, "network.proxy_is_public") != 0,
    });
    buf_free(&direct);
}

static int run(void)
{
    struct error e;
    call_open();
    host_set_metric(metrics_from_plugin);
    open_network();
    ws_open();
    net_group_open();
    process_open();
    process_group_open();
    journal_serve_plugins();
    agent_prepare();
    instance_on_change(changed);
    gateway_on_reload(reload);
    loop_signal(SIGTERM, stop, NULL);
    loop_signal(SIGINT, stop, NULL);
    loop_signal(SIGHUP, hung_up, NULL);
    if (gateway_open(&e) < 0) {
        log_error("gateway", "%s", e.text);
        daemon_state.status = e.class == CHELA_E_ARGS ? EXIT_CONFIG : 1;
    } else {
        registry_start(stores_started, instances_started, NULL);
        isolate_describe_later(true);
        loop_run();
        remove_address();
    }
    registry_close();
    process_group_close();
    process_close();
    net_group_close();
    ws_close();
    http_close();
    call_close();
    return daemon_state.status;
}

/* ---- the command line ---- */

static int show(const struct settings *s)
{
    struct buf text = {0};
    settings_show(s, daemon_state.json, &text);
    fwrite(text.p, 1, text.n, stdout);
    buf_free(&text);
    return 0;
}

static int doctor(const struct settings *s, const struct buf *errors)
{
    json_object *report = daemon_state.security ? doctor_security(s) : doctor_report(s);
    if (errors->n)
        print_errors(errors);
    if (daemon_state.json) {
        puts(chela_json_text(report, NULL));
    } else {
        struct buf text = {0};
        doctor_text(report, &text);
        fwrite(text.p, 1, text.n, stdout);
        buf_free(&text);
    }
    bool ok = errors->n == 0 && chela_json_bool(report, "ok", false);
    json_object_put(report);
    return ok ? 0 : errors->n ? EXIT_CONFIG : 1;
}

/* What needs no configuration to be read. */
static int without_settings(void)
{
    struct error e;
    if (daemon_state.action != PATHS) {
        int failed = settings_trust(daemon_state.folder, daemon_state.action == TRUST, &e);
        if (failed)
            fprintf(stderr, "chelad: %s\n", e.text);
        return failed ? 1 : 0;
    }
    struct buf text = {0};
    settings_paths(&daemon_state.sources, &text);
    fwrite(text.p, 1, text.n, stdout);
    buf_free(&text);
    return 0;
}

static int usage(int status)
{
    fputs("usage: chelad [--config FILE] [--port N] [--bind ADDRESS] [--verbose] [--ready-fd N]\n"
          "       chelad --check | --config-show [--json] | --doctor [--security] [--json] | "
          "--version\n"
          "       chelad --types | --config-path | --trust FOLDER | --distrust FOLDER\n",
          status ? stderr : stdout);
    return status;
}

/* -1: go on; else the exit status. */
static int read_arguments(int argc, char **argv)
{
    enum {
        OPT_CHECK = 256,
        OPT_SHOW,
        OPT_TYPES,
        OPT_JSON,
        OPT_DOCTOR,
        OPT_SECURITY,
        OPT_PATHS,
        OPT_TRUST,
        OPT_DISTRUST,
        OPT_READY,
        OPT_PORT,
        OPT_BIND,
        OPT_VERSION,
        OPT_HELP
    };
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", no_argument, NULL, OPT_CHECK},
        {"config-show", no_argument, NULL, OPT_SHOW},
        {"types", no_argument, NULL, OPT_TYPES},
        {"json", no_argument, NULL, OPT_JSON},
        {"doctor", no_argument, NULL, OPT_DOCTOR},
        {"security", no_argument, NULL, OPT_SECURITY},
        {"ready-fd", required_argument, NULL, OPT_READY},
        {"port", required_argument, NULL, OPT_PORT},
        {"bind", required_argument, NULL, OPT_BIND},
        {"verbose", no_argument, NULL, 'v'},
        {"version", no_argument, NULL, OPT_VERSION},
        {"config-path", no_argument, NULL, OPT_PATHS},
        {"trust", required_argument, NULL, OPT_TRUST},
        {"distrust", required_argument, NULL, OPT_DISTRUST},
        {"help", no_argument, NULL, OPT_HELP},
        {NULL, 0, NULL, 0},
    };
    for (int o; (o = getopt_long(argc, argv, "c:v", options, NULL)) != -1;) {
        switch (o) {
        case 'c': daemon_state.config = optarg; break;
        case 'v': daemon_state.verbose = true; break;
        case OPT_CHECK: daemon_state.action = CHECK; break;
        case OPT_SHOW: daemon_state.action = SHOW; break;
        case OPT_TYPES: daemon_state.action = TYPES; break;
        case OPT_DOCTOR: daemon_state.action = DOCTOR; break;
        case OPT_SECURITY: daemon_state.security = true; break;
        case OPT_PATHS: daemon_state.action = PATHS; break;
        case OPT_TRUST:
        case OPT_DISTRUST:
            daemon_state.action = o == OPT_TRUST ? TRUST : DISTRUST;
            daemon_state.folder = optarg;
            break;
        case OPT_JSON: daemon_state.json = true; break;
        case OPT_READY: daemon_state.ready_fd = (int)strtol(optarg, NULL, 10); break;
        case OPT_PORT: setenv("CHELA_GATEWAY__PORT", optarg, 1); break;
        case OPT_BIND: setenv("CHELA_GATEWAY__BIND", optarg, 1); break;
        case OPT_VERSION: puts(PACKAGE_STRING); return 0;
        case OPT_HELP: return usage(0);
        default: return usage(EXIT_USAGE);
        }
    }
    return optind < argc ? usage(EXIT_USAGE) : -1;
}

int main(int argc, char **argv)
{
    struct buf errors = {0};
    MODULE_USE_BUILTINS();
    int status = read_arguments(argc, argv);
    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    if (daemon_state.ready_fd >= 0)
        fcntl(daemon_state.ready_fd, F_SETFD, FD_CLOEXEC);
    log_setup(daemon_state.verbose ? LOG_DEBUG : LOG_INFO, LOG_PLAIN, tail);
    CLEANUP(freep) char *here = getcwd(NULL, 0);
    daemon_state.sources = (struct settings_sources){
        .file = daemon_state.config,
        .directory = here,
        .environment = environ,
    };
    if (daemon_state.action >= PATHS)
        return without_settings();
    loop_open(); /* an isolated plugin's process is watched from the moment that its options are
                    asked for */
    struct settings *s = read_settings(&errors);
    if (daemon_state.action == DOCTOR) {
        status = doctor(s, &errors);
    } else if (!s) {
        print_errors(&errors);
        status = EXIT_CONFIG;
    } else if (daemon_state.action == SHOW) {
        status = show(s);
    } else if (daemon_state.action == TYPES) {
        json_object *types = plugins_describe(s);
        puts(chela_json_text(types, NULL));
        json_object_put(types);
        status = 0;
    } else if (daemon_state.action == CHECK) {
        puts("The configuration is good.");
        status = 0;
    } else {
        set_log(s);
        settings_use(s);
        s = NULL;
        status = run();
        settings_use(NULL);
    }
    settings_free(s);
    plugins_close();
    metrics_close();
    loop_close();
    buf_free(&errors);
    redact_forget_all();
    return status;
}
