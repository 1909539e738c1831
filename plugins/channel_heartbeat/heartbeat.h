/*
 * The texts of the heartbeat: what it is given, and what of its answer is passed on.
 */
#ifndef CHANNEL_HEARTBEAT_H
#define CHANNEL_HEARTBEAT_H

#define HEARTBEAT_WORD "HEARTBEAT_OK"
/* The file's text; NULL: it isn't there, or says nothing. Owned by the caller. */
char *heartbeat_file(const char *workspace, const char *name);
/* Without the word at either end; NULL: little else is said. Owned by the caller. */
char *heartbeat_spoken(const char *text);

#endif
