/* Reads a multipart/form-data body, however its client writes the headers of its parts. */
#ifndef MULTIPART_H
#define MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

/* filename, type: NULL where the part has none. Valid during the call. */
typedef void multipart_part(void *owner, const char *name, const char *filename, const char *type,
                            const char *data, size_t n);

/* type: the request's Content-Type. False: it is not of that form. */
bool multipart_read(const char *type, const char *body, size_t n, multipart_part *part,
                    void *owner);

#endif
