/*
 * What was sent to clients, written down in a file (gateway.record): for who writes a client, and
 * for the check of all frames against the published schema of the protocol. Off unless configured.
 * Called by gateway.c, connection.c and method.c.
 */
#ifndef GATEWAY_RECORD_H
#define GATEWAY_RECORD_H

#include <stdint.h>

#include <chela/base.h>

struct error;

/* -1: the file can't be written. Does nothing where none is configured. */
int record_open(struct error *e);
void record_close(void);
/* A frame to a connection, by its number. */
void record_sent(uint64_t connection, struct chela_str frame);
/* A request of it: method and id alone, by which its answer is known. */
void record_asked(uint64_t connection, const char *method, const char *id);

#endif
