/*
 * Small questions about HTTP heads that client, server and handshake all ask (RFC 9110).
 */
#ifndef NET_HTTP_HEAD_H
#define NET_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include <chela/base.h>

/* A name: letters, digits and a few signs. */
bool http_head_is_token(struct chela_str s);
/* No CR, LF or NUL, with which a value could become more headers. */
bool http_head_is_value(const char *p, size_t n);
/* Is `token` among the comma-separated ones of `list` (may be NULL)? Without regard to case. */
bool http_head_has_token(const char *list, const char *token);

#endif
