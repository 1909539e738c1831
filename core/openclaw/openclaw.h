/*
 * What an OpenClaw state folder holds beside its configuration, as a JSON object a line: {"kind":
 * "session" | "job" | "allow" | "approvals" | "note", ...}. For the program chela-openclaw alone.
 */
#ifndef OPENCLAW_OPENCLAW_H
#define OPENCLAW_OPENCLAW_H

#include <stddef.h>

#include <json-c/json_object.h>

/* ---- say.c: the lines ---- */

json_object *thing(const char *kind);
void say(json_object *o); /* takes it */
void note(const char *what, const char *text);
void say_allow(const char *channel, const char *account, const char *entry);
void say_job(json_object *job);
void say_approvals(json_object *document); /* takes it; NULL: nothing */
/* NULL if it is no JSON; owned by the caller. */
json_object *parse(const char *text, size_t n);
json_object *parse_file(const char *path);

/* ---- conversation.c: events form a tree, of which the last one's way to the root counts ---- */

struct events {
    json_object **all;
    size_t count;
    unsigned unread;
};

/* Takes it; NULL: one that can't be read. */
void events_add(struct events *e, json_object *o);
/* Says a session with its messages, and frees the events. */
void say_session(const char *key, const char *id, json_object *entry, struct events *e);

/* ---- files.c, until the middle of 2026, and database.c since then ---- */

void file_sessions(const char *state, const char *agent);
void file_allow(const char *state);
void file_jobs(const char *state);
void database_sessions(const char *state, const char *agent);
void database_shared(const char *state);

#endif
