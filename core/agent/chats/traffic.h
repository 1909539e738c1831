/*
 * What really goes over a channel: when something last came and went, what failed, and what became
 * of what was sent (receipts). Told by ingress.c and the outbox's lanes, shown by status; the
 * operator hears of a delivery that failed once for each chat and reason.
 */
#ifndef AGENT_TRAFFIC_H
#define AGENT_TRAFFIC_H

#include <stdint.h>

#include <chela/base.h>

struct json_object;

/* A piece of a run; run "" for what is no turn's. */
struct traffic_piece {
    const char *channel, *account, *chat, *run, *session, *key;
    uint32_t send_class;
};

void traffic_in(const char *channel);
void traffic_sent(const struct traffic_piece *p, const char *external);
/* state: FAILED, or UNKNOWN: it may have been delivered. */
void traffic_failed(const struct traffic_piece *p, const char *state, uint32_t class,
                    const char *why);
/* state: "delivered", "read" or "failed". Of a message that was sent since the gateway's start. */
void traffic_receipt(const char *channel, const char *account, const char *chat,
                     const char *message, const char *state, const char *text);

/* Adds lastInboundAt, lastOutboundAt, inbound, outbound, failed, lastDeliveryError; null where
 * there was nothing. */
void traffic_describe(const char *channel, struct json_object *o);
/* The last deliveries that failed, oldest first: [{"channel","account","chat","run","key","state",
 * "error","class","at"}]; owned by the caller. */
struct json_object *traffic_failures(void);
void traffic_reset(void);

#endif
