/*
 * `chela doctor --security`: what in this set-up lets others in, or lets a model do more than it
 * should; the same form as doctor.h's report.
 */
#ifndef HOST_DOCTOR_SECURITY_H
#define HOST_DOCTOR_SECURITY_H

struct settings;
struct json_object;

/* Never NULL; the caller's. Looks at the configuration, files and folders; starts nothing. */
struct json_object *doctor_security(const struct settings *s);

#endif
