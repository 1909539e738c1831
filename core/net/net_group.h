/*
 * The SDK's `net` group: what plugins ask of it goes to http.c, ws_client.c and sign.c.
 */
#ifndef NET_NET_GROUP_H
#define NET_NET_GROUP_H

/* Registers the functions with call_handle(); after http_open(). */
void net_group_open(void);
void net_group_close(void); /* before http_close() */

#endif
