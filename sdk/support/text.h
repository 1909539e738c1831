/*
 * Memory and texts where nothing can be done about a lack of memory: what plugins allocate again
 * and again. Called by support/ and plugins; calls libc only. Any thread.
 */
#ifndef CHELA_SUPPORT_TEXT_H
#define CHELA_SUPPORT_TEXT_H

#include <chela/chela.h>

#pragma GCC visibility push(hidden)

void *chela_need(void *p); /* p; aborts if it is NULL */
/* The caller frees. A copy ends in NUL whatever it holds. */
char *chela_copy(struct chela_str s);
char *chela_format(const char *f, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop
#endif
