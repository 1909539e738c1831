/*
 * Estimates of tokens, for budgets before a service has counted.
 */
#ifndef AGENT_TOKENS_H
#define AGENT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

/* About four bytes of Latin text, or one character of other scripts, make a token. */
uint32_t tokens_of(const char *text, size_t n);

enum { TOKENS_IMAGE = 1600, TOKENS_MESSAGE = 4 };

#endif
