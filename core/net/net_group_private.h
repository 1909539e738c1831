/*
 * What net_group.c and net_group_ws.c share.
 */
#ifndef NET_NET_GROUP_PRIVATE_H
#define NET_NET_GROUP_PRIVATE_H

#include "base/buf.h"
#include "base/error.h"

/* http_request.fill for a plugin's call, arg = pointer to its id. */
int net_group_fill(void *arg, const char *url, struct chela_str text, struct buf *out,
                   struct error *e);

void net_group_ws_open(void);
void net_group_ws_close(void);

#endif
