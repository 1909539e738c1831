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
    json_object *report; /* [{"what","how": "carried" | "changed" | "left","text"}] */
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

void import_write(json_object *ours, struct buf *out);

#endif
