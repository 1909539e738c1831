/*
 * The child's side of chela-supervise: from fork to exec.
 */
#ifndef PROC_SUPERVISE_CHILD_H
#define PROC_SUPERVISE_CHILD_H

#include "proc/supervise.h"

struct supervise_strings {
    const char *directory;
    char **arguments, **environment; /* end with NULL */
};

/* What the child writes to `report` before exec: a failure, or with STAGE_NONE what is missing. */
struct supervise_report {
    uint32_t stage, value;
};

/* Never returns. */
void supervise_child(const struct supervise_spec *spec, const struct supervise_strings *strings,
                     int report) __attribute__((noreturn));

#endif
