/*
 * SHA-256 as lower-case hex, for what an approval is bound to and for manifests.
 */
#ifndef AGENT_DIGEST_H
#define AGENT_DIGEST_H

#include <stddef.h>

/* out: 65 bytes. */
void digest_hex(const char *data, size_t n, char out[65]);
/* Over several strings, each with its length in front, so that no two lists give the same bytes. */
void digest_strings(char out[65], const char *const *strings, size_t count);

#endif
