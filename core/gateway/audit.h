/*
 * Who allowed, let in or changed what: one JSON object a line in "audit.jsonl" of the state folder,
 * for people and for chela audit. Told by the gateway's methods and handshake; nothing reads it to
 * decide.
 */
#ifndef GATEWAY_AUDIT_H
#define GATEWAY_AUDIT_H

struct json_object;

/* action: "approval", "device.approve" ...; by: who; what: an object with details, taken over (may
 * be NULL). A line that can't be written is said in the log. */
void audit_note(const char *action, const char *by, struct json_object *what);
/* {"path","entries"}: the newest `limit` entries, oldest first. */
struct json_object *audit_read(unsigned limit);

#endif
