/*
 * Random numbers and identifiers from the kernel's generator.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stddef.h>
#include <stdint.h>

enum { ID_UUID_SIZE = 37 };

void id_bytes(void *out, size_t n);
uint64_t id_random(void);
/* Version 4 UUID, lower case, with its NUL. */
void id_uuid(char out[ID_UUID_SIZE]);
/* n random bytes as 2n lower-case hex digits and a NUL. */
void id_hex(char *out, size_t n);

#endif
