/*
 * The configuration as the core reads it: one immutable snapshot, checked against option tables
 * when it was read, each value with the file and line that it came from. Read through paths such as
 * "gateway.port", "agents.main.model", "routing.rules.0.patterns.2".
 */
#ifndef HOST_SETTINGS_H
#define HOST_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/plugin.h>

#include "base/buf.h"
#include "base/error.h"

struct options;
struct settings;

/* What the reading depends on; all strings may be NULL. */
struct settings_sources {
    const char *file;      /* -c FILE: this one instead of the system's and the user's */
    const char *directory; /* of the project (the working directory); NULL: no project file */
    char **environment;    /* CHELA_...; NULL: none */
    bool no_system;        /* tests: leave /etc alone */
};

/* The tables of the plugin types, asked for while reading: plugins_find_type() answers (by opening
 * the plugin, or by its child). `so_far` holds the core's own settings ("plugins.path",
 * "isolated"). `plugin`: the module's name as configured, NULL = by convention: the section's kind
 * and the type, "provider_openai". Returns NULL with an error that says what was wanted, what was
 * found and how to mend it; its class is CHELA_E_NOT_FOUND if there is no such file.
 */
struct settings_type {
    const char *plugin, *type;
    const struct chela_option *options;
    uint32_t option_size;
    uint64_t caps;
    unsigned roles; /* bits 1 << enum role */
};
typedef const struct settings_type *settings_find_type(const struct settings *so_far,
                                                       const char *section, const char *plugin,
                                                       const char *type, struct error *e);

/*
 * Reads, merges, expands and checks. On failure NULL; `errors` then holds one line per mistake:
 * "FILE:LINE: what, and how to mend it (did you mean ...?)". Warnings go to the log.
 */
struct settings *settings_read(const struct settings_sources *sources,
                               settings_find_type *find_type, struct buf *errors);
void settings_free(struct settings *s);

/* Values; the fallback of the option table is already in. "" and 0 where absent. Paths lead also
 * into instances: "providers.groq.preset"; a secret reads as "${secret:...}" there, but the core's
 * own ("gateway.auth.token") as itself. NULL settings: as if nothing were configured. */
const char *settings_text(const struct settings *s, const char *path);
int64_t settings_number(const struct settings *s,
                        const char *path); /* int, bool, ms, bytes, list length */
double settings_real(const struct settings *s, const char *path);
bool settings_has(const struct settings *s, const char *path); /* was it set anywhere? */
/* Names of the members of a group ("agents", "providers"), in order; NULL after the last. An agent
 * always exists: "main", unless others are named; "agents.defaults" isn't listed, it is in the
 * others already. */
const char *settings_member(const struct settings *s, const char *path, unsigned index);
/* Where a value came from: "FILE:LINE", "environment CHELA_X", "default". */
const char *settings_origin(const struct settings *s, const char *path);
/* All values with their origin, secrets redacted: `chela config show`. json: as JSON. */
void settings_show(const struct settings *s, bool json, struct buf *out);

/* The one file that the gateway itself writes: conf.d/90-gateway.conf. */
const char *settings_own_file(const struct settings *s);
/* Sections with their options and values, for forms:
 * [{"name","title","ok","why","options":[{"path",
 * "name","type","help","default","value","origin","secret","set","required","choices"}]}]; owned by
 * the caller. No secret is among the values. settings_form.c. */
struct json_object;
struct json_object *settings_form(const struct settings *s);

/* An instance that is to be opened, in the order of the configuration. */
struct settings_instance {
    const char *section; /* "providers" */
    const char *name;    /* as the rest of the program calls it, `name` respected */
    const char *key;     /* of its group in the file */
    const char *origin;  /* "FILE:LINE" or "default" */
    bool embedded;       /* exists without configuration */
    struct options *options;
    struct options *common; /* channels: what all of them share (dm_policy ...), else NULL */
    const struct settings_type *type;
};
/* NULL after the last. Instances that are not enabled are not among them. */
const struct settings_instance *settings_instance(const struct settings *s, size_t index);
const struct settings_instance *settings_find_instance(const struct settings *s,
                                                       const char *section, const char *name);

/* The files that are read, present or not, lowest first; a line each, with what became of it:
 * `chela config path`. */
void settings_paths(const struct settings_sources *sources, struct buf *out);
/* `chela trust DIR`: from now on its project file counts in full. */
int settings_trust(const char *directory, bool trust, struct error *e);

/* The running configuration; set by main, replaced by a reload. */
const struct settings *settings_now(void);
void settings_use(struct settings *s); /* takes it over; the one before is freed */

/* Folders; created with mode 0700 on demand. */
const char *settings_state_dir(
    void); /* CHELA_STATE_DIR, $XDG_STATE_HOME/chela, ~/.local/state/chela, or systemd's */

#endif
