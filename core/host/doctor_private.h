/*
 * What the doctor's files share: the checks that are gathered, and the look for secrets in a file.
 */
#ifndef HOST_DOCTOR_PRIVATE_H
#define HOST_DOCTOR_PRIVATE_H

#include <json-c/json_object.h>
#include <stdbool.h>

struct settings;

struct report {
    const struct settings *settings; /* NULL: they can't be read */
    json_object *checks;             /* as doctor_report() gives them */
    bool failed;                     /* one is WRONG */
};

enum level { GOOD, NOTE, WARN, WRONG };

/* fix: how to mend it, or NULL. */
void doctor_add(struct report *r, enum level level, const char *name, const char *fix,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether a secret stands in this file itself (not behind ${NAME} or file:). */
bool doctor_holds_secret(const struct settings *s, const char *file);

#endif
