/*
 * The SDK's `process` group: what plugins ask of it goes to process.c.
 */
#ifndef PROC_PROCESS_GROUP_H
#define PROC_PROCESS_GROUP_H

/* Registers the functions with call_handle(); after process_open(). */
void process_group_open(void);
void process_group_close(void); /* before process_close() */

#endif
