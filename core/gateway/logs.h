/*
 * The last lines of the log, for logs.tail.
 */
#ifndef GATEWAY_LOGS_H
#define GATEWAY_LOGS_H

#include <stdint.h>

struct json_object;

void logs_add(const char *line); /* [any thread] */
/* {"file","cursor","size","lines","truncated","reset"}: what came after cursor (-1: the newest
 * `limit`). */
struct json_object *logs_read(int64_t cursor, unsigned limit, unsigned max_bytes);

#endif
