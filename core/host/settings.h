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

struct settings;

/* What the reading depends on; all strings may be NULL. */
struct settings_sources {
    const char *file;      /* -c FILE: this one instead of the system's and the user's */
    const char *directory; /* of the project (the working directory); NULL: no project file */
    char **environment;    /* CHELA_...; NULL: none */
    bool no_system;        /* tests: leave /etc alone */
};

/* The tables of the plugin types, asked for while reading: the loader answers (by opening the
 * plugin or by its child). Returns NULL with an error that says what was wanted and what was found.
 */
struct settings_type {
    const char *plugin, *type;
    const struct chela_option *options;
    uint32_t option_size;
    uint64_t caps;
    unsigned roles; /* bits 1 << enum role */
};
typedef const struct settings_type *settings_find_type(const char *section, const char *type,
                                                       struct error *e);

/*
 * Reads, merges, expands and checks. On failure NULL; `errors` then holds one line per mistake:
 * "FILE:LINE: what, and how to mend it (did you mean ...?)". Warnings go to the log.
 */
struct settings *settings_read(const struct settings_sources *sources,
                               settings_find_type *find_type, struct buf *errors);
void settings_free(struct settings *s);

/* Values; the fallback of the option table is already in. "" and 0 where absent. */
const char *settings_text(const struct settings *s, const char *path);
int64_t settings_number(const struct settings *s,
                        const char *path); /* int, bool, ms, bytes, list length */
double settings_real(const struct settings *s, const char *path);
bool settings_has(const struct settings *s, const char *path); /* was it set anywhere? */
/* Names of the members of a group ("agents", "providers"), in order; NULL after the last. */
const char *settings_member(const struct settings *s, const char *path, unsigned index);
/* Where a value came from: "FILE:LINE", "environment CHELA_X", "default". */
const char *settings_origin(const struct settings *s, const char *path);
/* All values with their origin, secrets redacted: `chela config show`. json: as JSON. */
void settings_show(const struct settings *s, bool json, struct buf *out);

/* The running configuration; set by main, replaced by a reload. */
const struct settings *settings_now(void);
void settings_use(struct settings *s);

/* Folders; created with mode 0700 on demand. */
const char *settings_state_dir(
    void); /* CHELA_STATE_DIR, $XDG_STATE_HOME/chela, ~/.local/state/chela, or systemd's */

#endif
