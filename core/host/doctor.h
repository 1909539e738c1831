/*
 * What is wrong, and how to mend it: a list of checks as data and as text, for `chelad --doctor`
 * (nothing runs then) and for the gateway's method (then the running instances count too).
 */
#ifndef HOST_DOCTOR_H
#define HOST_DOCTOR_H

#include "base/buf.h"

struct settings;
struct json_object;

/* {"ok": bool, "checks": [{"name", "level": "ok" | "note" | "warn" | "error", "text", "fix"}]}; ok:
 * there is no error. `s` NULL: the configuration could not be read (its mistakes are the caller's
 * to show). The caller owns it. */
struct json_object *doctor_report(const struct settings *s);
/* One line for each check, the fix indented below, and a last line that counts. */
void doctor_text(struct json_object *report, struct buf *out);

#endif
