/* Terminal: the terminal that the client runs in: its size, raw mode for the line editor, and the
 * promise that it is left as it was found, however the program ends. The only part of cli/ that
 * deals with termios and signals. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>

#include "base/buf.h"

/* Columns and rows of the terminal on standard output, 80 and 24 where there is none. */
unsigned terminal_columns(void);
void terminal_size(unsigned *columns, unsigned *rows);

/* Raw mode on standard input, bracketed paste on standard output. False: it is no terminal. From
 * then on SIGINT, SIGTERM, SIGHUP, SIGQUIT and the crashes put the terminal back before they end
 * the program. */
bool terminal_raw(void);
void terminal_restore(void);
bool terminal_is_raw(void);

/* A descriptor that becomes readable when the size has changed or the program was continued after
 * a stop; terminal_woken reads it empty. For programs that called terminal_raw. */
int terminal_wake_fd(void);
void terminal_woken(void);

/* For a program that streams without raw mode: the first Ctrl-C is only counted and wakes (see
 * below), the second ends the program as ever. */
bool terminal_catch_interrupt(void);
bool terminal_interrupted(void);

/* A line from standard input as the terminal edits it, without its end; `hidden`: it is not shown.
 * False: the input is over. */
bool terminal_read_line(bool hidden, struct buf *line);

/* Stops the program as Ctrl-Z does, with the terminal as it was; raw again on return. */
void terminal_suspend(void);

/* Writes everything, waiting as long as the terminal needs; then the buffer is empty. */
void terminal_write(struct buf *out);

#endif
