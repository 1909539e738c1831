/*
 * Tells systemd how the service is (sd_notify's protocol: a datagram to $NOTIFY_SOCKET). Does
 * nothing elsewhere.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

/* state: "READY=1", "STOPPING=1", "RELOADING=1\nMONOTONIC_USEC=...", "STATUS=..." */
void notify_service(const char *state);

#endif
