/*
 * Admission: whether a client that says `connect` is let in, and with which scopes.
 */
#ifndef GATEWAY_ADMISSION_H
#define GATEWAY_ADMISSION_H

#include "gateway/connection.h"

struct json_object;

struct refusal {
    const char *code;    /* of the error */
    const char *detail;  /* details.code */
    const char *next;    /* details.recommendedNextStep, or NULL */
    const char *reason;  /* details.reason, or NULL */
    const char *request; /* details.requestId, or NULL */
    const char *message;
};

/* Looks at auth, device, scopes of params. True: c->device_id and c->scopes are set. False: why. */
bool admission_check(struct connection *c, struct json_object *params, struct refusal *why);
/* The device of an admitted connection, or NULL. */
struct device *admission_device(const struct connection *c);

#endif
