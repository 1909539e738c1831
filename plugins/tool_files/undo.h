/*
 * Checkpoints: what a turn's file tools changed is kept as it was before, so that it can be put
 * back. One folder for each turn of a session: "list" has a line of JSON for each change, the
 * copies stand beside it. Files that commands change are not in it.
 */
#ifndef TOOL_FILES_UNDO_H
#define TOOL_FILES_UNDO_H

#include <stdbool.h>
#include <stddef.h>

struct job;

/* Folder for the checkpoint of a turn below `state`; begins a new one for a new run (and drops the
 * oldest). Free it; NULL if the state's folder can't be used. */
char *undo_folder(const char *state, const char *session, const char *run,
                  unsigned long long now_ms);

/* Before the job's file is changed: keeps it, once a turn. False after files_fail(): better no
 * change than one that can't be taken back. */
bool undo_keep(struct job *j);
/* After: remembers what we made of it. */
void undo_done(struct job *j);

/* Takes the newest turn of a session back. A file that somebody else has changed since is left
 * alone, unless `force`. Returns what was done, as Markdown; free it. Blocks. */
char *undo_run(const char *state, const char *session, bool force);

#endif
