/*
 * Confinement of the calling process and all that it starts, by what the kernel offers to anybody:
 * no_new_privs, Landlock for files, seccomp for the network. Called in the child between fork and
 * exec, and nowhere else: it can't be undone.
 */
#ifndef PROC_CONFINE_H
#define PROC_CONFINE_H

#include <stdint.h>

#include "proc/supervise.h"

enum { CONFINE_MISSING_FILES = 1, CONFINE_MISSING_NETWORK = 2 };

/*
 * spec->confine: CHELA_CONFINE_*. temporary: a folder that may be written besides /tmp, "" = none.
 * What the kernel lacks is reported in *ret_missing. -1 with errno: it should have worked and
 * didn't.
 *
 * What Landlock can't see, in any version: changes of modes, owners, times and extended attributes.
 * READ_ONLY refuses their system calls; WORKSPACE lets them through, since programs need them in
 * the workspace, so that they reach files outside too. Below version 3 it can't see truncation
 * either: refused, where it isn't part of opening to write, in both. Below version 6 signals and
 * abstract sockets of others are open.
 */
int confine_apply(const struct supervise_spec *spec, const char *directory, const char *temporary,
                  uint32_t *ret_missing);
int confine_limits(const struct supervise_limits *limits);

#endif
