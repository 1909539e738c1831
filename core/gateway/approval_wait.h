/*
 * Clients that wait for a decision (exec.approval.waitDecision).
 */
#ifndef GATEWAY_APPROVAL_WAIT_H
#define GATEWAY_APPROVAL_WAIT_H

struct event;

/* An EVENT_APPROVAL_RESOLVED: answers who waits for it. */
void approval_wait_event(const struct event *e);
void approval_wait_close(void);

/* methods_plugin_approval.c: the same for clients that know approvals of plugins only. */
struct json_object;
void plugin_approval_requested(struct json_object *record);
void plugin_approval_resolved(struct json_object *payload);

#endif
