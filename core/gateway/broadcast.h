/*
 * Events of the agent, sent to the clients that may see them.
 */
#ifndef GATEWAY_BROADCAST_H
#define GATEWAY_BROADCAST_H

void broadcast_open(void);

#endif
