/*
 * The limits of the configuration (see limits.h). Their ranges were checked when it was read.
 */
#include "gateway/limits.h"

#include "host/settings.h"

size_t limit_payload(void)
{
    return (size_t)settings_number(settings_now(), "gateway.frame_limit");
}

size_t limit_body(void)
{
    return (size_t)settings_number(settings_now(), "gateway.body_limit");
}

uint64_t limit_handshake_ms(void)
{
    return (uint64_t)settings_number(settings_now(), "gateway.handshake_timeout");
}

unsigned limit_connections(void)
{
    return (unsigned)settings_number(settings_now(), "gateway.max_connections");
}
