/*
 * What the files of the settings share. Private to core/host/settings*.c.
 */
#ifndef HOST_SETTINGS_PRIVATE_H
#define HOST_SETTINGS_PRIVATE_H

#include "host/node.h"
#include "host/options.h"
#include "host/settings.h"

/* Why a type of plugins.defaults has no instance: for who refers to it. */
struct settings_absent {
    char *section, *name, *why;
};

struct settings {
    struct options *core; /* the core's own options */
    struct settings_instance *instances;
    size_t instance_count;
    struct settings_absent *absent;
    size_t absent_count;
    struct node_source **sources;
    size_t source_count;
    char *project; /* root of the project whose file was read, or NULL */
    bool project_ignored;
    char *own_file; /* conf.d/90-gateway.conf beside the file that a person writes */
};

/* The source of that name; made when it is new, with the flags of `like` (may be NULL). */
struct node_source *settings_source(struct settings *s, const char *name,
                                    const struct node_source *like);

/* ---- settings_scan.c: what libconfig doesn't find, or not at the right line ---- */

/* Looks at a file's text: numbers that don't fit, names that are set twice, an include where none
 * is allowed. Returns how many mistakes it added. `names`: look at names too. */
unsigned settings_scan(const char *text, const struct node_source *source, bool names,
                       struct buf *errors);

/* ---- settings_file.c: one file ---- */

/* Reads a file as a group; NULL when something in it is wrong, which was then added to errors. */
struct node *settings_parse_file(struct settings *s, struct node_source *source,
                                 struct buf *errors);
/* The same from a text, e.g. a variable of the environment. */
struct node *settings_parse_text(struct settings *s, const char *text, struct node_source *source,
                                 struct buf *errors);

/* ---- settings_layers.c: which files, in which order ---- */

/* All files and the environment, merged. Never NULL. */
struct node *settings_merge(struct settings *s, const struct settings_sources *from,
                            struct buf *errors, struct buf *warnings);
/* CHELA_... of the environment, put on top. */
void settings_environment(struct settings *s, struct node *root, char **environment,
                          struct buf *errors);

/* ---- settings_trust.c ---- */

/* The folder at or above `directory` that holds .chela/chela.conf, or NULL. Caller frees. */
char *settings_project(const char *directory);
bool settings_is_trusted(const char *project, char **environment);
/* Takes out of an untrusted project's tree what it may not set; a line for each to warnings. */
void settings_confine(struct node *root, const char *project, struct buf *warnings);

/* ---- settings_tables.c ---- */

extern const struct chela_option settings_core_table[];
extern const struct chela_option settings_instance_table[]; /* type, plugin, name, enabled */
extern const struct chela_option settings_channel_table[];  /* that, and what all channels share */
/* "channels", "providers" ...: groups whose members are instances; ends with NULL. */
extern const char *const settings_sections[];
/* "channel" for "channels": the first part of a module's name. NULL: no such section. */
const char *settings_kind(const char *section);

/* ---- settings_instances.c ---- */

/* Takes the instances out of the tree: a group for each section that has any. */
struct node *settings_take_instances(struct node *root, struct buf *errors);
/* Asks for their types and checks their options; then adds those that exist without
 * configuration. s->core is there already. */
void settings_read_instances(struct settings *s, const struct node *root, struct node *instances,
                             char **environment, settings_find_type *find_type, struct buf *errors,
                             struct buf *warnings);

/* ---- settings_check.c: what no table can say ---- */

/* `typed`: the instances' types are known, so that references can be checked. */
void settings_check(const struct settings *s, bool typed, struct buf *errors);

#endif
