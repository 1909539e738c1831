/*
 * How the gateway is: readiness, the health snapshot, who is connected.
 */
#ifndef GATEWAY_HEALTH_H
#define GATEWAY_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

void health_open(void);
void health_set_ready(bool ready);
bool health_ready(void);
uint64_t health_uptime_ms(void);
/* Payload of `health`. */
struct json_object *health_snapshot(void);
/* hello-ok's snapshot. */
struct json_object *health_hello_snapshot(void);
struct json_object *health_presence(void);
/* Somebody came or went: tells the others. */
void health_presence_changed(void);
/* An instance changed its state or lists. */
void health_changed(void);
/* {"channels": ..., "channelOrder": ..., ...} as channels.status has it. */
struct json_object *health_channels(void);

#endif
