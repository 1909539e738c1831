/*
 * Codes for one use, good for minutes: `chela dashboard` asks for one, the page shows it in
 * `connect` and is let in as a device.
 */
#ifndef GATEWAY_CODES_H
#define GATEWAY_CODES_H

enum { CODE_SIZE = 65 };

void code_make(char out[CODE_SIZE], const char *by);
/* Who made it, or NULL: unknown, used or too old. The caller frees it. */
char *code_use(const char *code);

#endif
