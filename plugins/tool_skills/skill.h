/*
 * A skill: a folder with SKILL.md, whose frontmatter says what it is for and what it needs. This
 * file reads one; it runs nothing. Called by tool_skills.c.
 */
#ifndef TOOL_SKILLS_SKILL_H
#define TOOL_SKILLS_SKILL_H

#include <stdbool.h>
#include <stddef.h>

#include "support/json.h"

enum skill_place { PLACE_WORKSPACE, PLACE_USER, PLACE_EXTRA, PLACE_SYSTEM };

struct skill {
    char *name, *description, *folder, *body;
    json_object *head; /* the frontmatter */
    char *missing;     /* why it can't be used here; NULL: it can */
    char *root;        /* of PLACE_WORKSPACE: that workspace */
    enum skill_place place;
    bool user_invocable, for_models, shadowed;
};

/* What the machine and the configuration offer. */
struct skill_world {
    bool (*has_config)(void *arg, const char *name);
    void *arg;
};

/* Reads FOLDER/SKILL.md. NULL with *ret_error (the caller's) if it is no skill. */
struct skill *skill_read(const char *folder, char **ret_error);
/* Fills in `missing`. */
void skill_check(struct skill *s, const struct skill_world *w);
void skill_free(struct skill *s);
/* Tools that the frontmatter defines; NULL: none. */
json_object *skill_tools(const struct skill *s);
const char *skill_place_name(const struct skill *s);

/* yaml.c: a YAML text as JSON; NULL with the reason. Bounded in size, depth and number of nodes. */
json_object *yaml_read(const char *text, size_t n, char **ret_error);

#endif
