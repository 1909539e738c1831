/* What the files of tool_skills share: the instance with the skills that were found. */
#ifndef TOOL_SKILLS_SKILLS_H
#define TOOL_SKILLS_SKILLS_H

#define CHELA_MINOR_NEED 10u
#include <chela/chela.h>

#include <json-c/linkhash.h>

#include "skill.h"

struct skills {
    struct chela_inst *in;
    struct skill **all; /* in the order of precedence */
    size_t count;
    json_object *broken, *workspaces;
    uint64_t stamp, revision;
};

/* tool_skills.c */
void *skills_need(void *pointer);
bool skills_refresh(struct skills *m);
struct skill *skills_find(struct skills *m, const char *name, const char *workspace);
bool skills_usable(const struct skill *s, const char *workspace);

/* publish.c */
void skills_publish(struct skills *m);
/* The name under which a model calls a tool of a skill; tool NULL: the skill itself. */
char *skills_tool_name(const struct skill *s, json_object *tool);

/* run.c */
void run_prepare(struct chela_inst *in, const struct chela_tool_run *r);
void run_tool(struct chela_inst *in, const struct chela_tool_run *r);
void run_command(struct chela_inst *in, const struct chela_command *c);
void run_method(struct chela_inst *in, const struct chela_method *q);
void run_output(struct chela_inst *in, const struct chela_output *o);
void run_done(struct chela_inst *in, const struct chela_done *d);

#endif
