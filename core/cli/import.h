/* Import: OpenClaw's configuration in ours. import_read.c reads its files, import_map.c says what
 * becomes of each part, import_write.c writes libconfig. Called by cmd_import.c. */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include <json-c/json_object.h>

#include "base/buf.h"
#include "base/error.h"

/* openclaw.json of the folder, with what it includes; the caller's. */
int import_read(const char *folder, json_object **ret, struct error *e);

struct import {
    json_object *theirs;
    json_object *ours;   /* a tree of our options */
    json_object *state;  /* array of what chela-openclaw found */
    json_object *report; /* [{"what","how": "carried" | "changed" | "there" | "left",
                          * "text"}] */
};

void import_map(struct import *i);
/* mcp servers, channels, bindings: import_parts.c */
void import_parts(struct import *i);
void import_note(struct import *i, const char *what, const char *how, const char *text);
/* A place of ours, "a.b.c", whose groups are made; takes over value. */
void import_put(struct import *i, const char *path, json_object *value);
/* A copy of a value of theirs that is text, with their references to secrets as ours are written;
 * NULL: it is none. */
json_object *import_text(struct import *i, const char *what, json_object *value);

/* import_state.c: conversations, people, jobs, allowed programs, skills of the state folder. */
int import_state_read(struct import *i, const char *folder, struct error *e);
void import_people(struct import *i); /* into `ours` */
void import_carry(struct import *i);  /* to the gateway */
void import_skills(struct import *i, const char *folder);

void import_write(json_object *ours, struct buf *out);

#endif
