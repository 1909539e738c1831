/*
 * A small HTTP/1.1 server for mock_model, on the loopback address. Knows nothing of models.
 */
#ifndef TESTS_FAKES_MOCK_HTTP_H
#define TESTS_FAKES_MOCK_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/* Answers one whole request by writing to fd; false: the connection is over. */
typedef bool http_serve_fn(int fd, char *head, char *body);

unsigned http_listen(unsigned short port); /* 0: the kernel chooses; returns it, or exits */
void http_serve(http_serve_fn *serve);     /* never returns */
/* A header's value, copied to out; NULL if there is none. */
const char *http_header(const char *head, const char *name, char *out, size_t size);

#endif
