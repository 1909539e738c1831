/*
 * A channel's webhook: the path at this gateway where a service posts its events, the secret that
 * it proves itself with, the answer. Called by channel plugins; they read the events.
 */
#ifndef CHELA_SUPPORT_WEBHOOK_H
#define CHELA_SUPPORT_WEBHOOK_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/peer.h"

#pragma GCC visibility push(hidden)

/* Posts of up to 1 MiB to /CHANNEL/NAME of the instance come to the plugin's `request` slot. */
void chela_webhook_publish(struct chela_peer *p, const char *channel);
/* Its address from outside, by the option webhook.url. Free it. */
char *chela_webhook_url(struct chela_peer *p, const char *channel);
/* The JSON of a post whose header holds the text of the option webhook.secret; NULL: it has been
 * refused, by 401 or 400, and the call is ended. Owned by the caller. */
json_object *chela_webhook_body(struct chela_peer *p, const struct chela_request *r,
                                const char *header);
/* Ends the call; 503: the service shall post it again. */
void chela_webhook_answer(struct chela_peer *p, uint64_t call, uint32_t status);

#pragma GCC visibility pop
#endif
