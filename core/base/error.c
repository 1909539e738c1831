/*
 * Errors as values (see error.h).
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static const char *const class_names[] = {
    [CHELA_OK] = "ok",
    [CHELA_E_ARGS] = "invalid_request",
    [CHELA_E_AUTH] = "auth",
    [CHELA_E_RATE] = "rate_limit",
    [CHELA_E_QUOTA] = "billing",
    [CHELA_E_TOO_LONG] = "context_length",
    [CHELA_E_REFUSED] = "refusal",
    [CHELA_E_NETWORK] = "network",
    [CHELA_E_TIMEOUT] = "timeout",
    [CHELA_E_CANCELLED] = "cancelled",
    [CHELA_E_GONE] = "gone",
    [CHELA_E_PROTOCOL] = "protocol",
    [CHELA_E_OTHER] = "unknown",
    [CHELA_E_OVERLOADED] = "overloaded",
    [CHELA_E_NOT_FOUND] = "not_found",
    [CHELA_E_UNSUPPORTED] = "unsupported",
    [CHELA_E_DENIED] = "denied",
    [CHELA_E_CONFLICT] = "conflict",
    [CHELA_E_STALE] = "stale",
    [CHELA_E_SKIPPED] = "skipped",
    [CHELA_E_FULL] = "full",
    [CHELA_E_BUSY] = "busy",
    [CHELA_E_UNKNOWN] = "outcome_unknown",
};

const char *error_class_name(uint32_t class)
{
    return class < ARRAY_LENGTH(class_names) ? class_names[class] : "unknown";
}

static void cut(char *text, size_t size, int wanted)
{
    if (wanted >= 0 && (size_t)wanted >= size)
        text[utf8_cut(text, size - 1, size - 1)] = '\0';
}

int error_set(struct error *e, uint32_t class, const char *format, ...)
{
    if (!e)
        return -1;
    memset(e, 0, sizeof *e);
    e->class = class;
    va_list ap;
    va_start(ap, format);
    cut(e->text, sizeof e->text, vsnprintf(e->text, sizeof e->text, format, ap));
    va_end(ap);
    return -1;
}

int error_prefix(struct error *e, const char *format, ...)
{
    if (!e)
        return -1;
    char text[sizeof e->text], prefix[512];
    va_list ap;
    va_start(ap, format);
    cut(prefix, sizeof prefix, vsnprintf(prefix, sizeof prefix, format, ap));
    va_end(ap);
    cut(text, sizeof text, snprintf(text, sizeof text, "%s: %s", prefix, e->text));
    memcpy(e->text, text, sizeof text);
    return -1;
}

int error_from_done(struct error *e, const struct chela_done *d)
{
    if (d->error == CHELA_OK)
        return 0;
    if (e) {
        error_set(e, d->error, "%.*s", d->text.n > 4096 ? 4096 : (int)d->text.n,
                  d->text.s ? d->text.s : "");
        e->http_status = d->http_status;
        e->retry_after_ms = d->retry_after_ms;
        e->retry = (d->h.flags & CHELA_RETRY) != 0;
    }
    return -1;
}
