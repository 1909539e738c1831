/*
 * What the daemon and a plugin's process say to each other beside the SDK's functions: frames of
 * the same form, with numbers of their own. Both ends are always from the same build.
 *
 *   child -> daemon, first:  PLUGIN, TYPE for each type, READY        describes the plugin
 *   daemon -> child:         OPEN, OPTIONS, CLOSE                     an instance, by the frame's
 *                                                                     instance number
 *   child -> daemon:         OPENED, CLOSED                           their answers
 *                            LOG, METRIC                              at any time
 */
#ifndef HOST_CHILD_FRAMES_H
#define HOST_CHILD_FRAMES_H

#include "base/buf.h"
#include "host/instance_private.h"
#include "wire/frame.h"

enum {
    CHILD_PLUGIN = 1000,
    CHILD_TYPE,
    CHILD_READY,
    CHILD_OPEN,
    CHILD_OPTIONS,
    CHILD_CLOSE,
    CHILD_OPENED,
    CHILD_CLOSED,
    CHILD_LOG,
    CHILD_METRIC
};

struct child_plugin {
    struct chela_head h;
    uint32_t major, minor, minor_need, zero;
    struct chela_str name, version, summary, license, origin;
};

/* options: the table, flattened; slots: numbers of the functions that it has; statics: the fields
 * of the role tables that are no functions. */
struct child_type {
    struct chela_head h;
    uint64_t caps;
    struct chela_str type, summary;
    struct chela_values options, slots, statics;
};

/* READY (the plugin could not be loaded: error and its text), OPENED, CLOSED (count: handles that
 * were left). */
struct child_result {
    struct chela_head h;
    uint32_t error, count;
    struct chela_str text;
};

/* OPEN, OPTIONS (name and type stay empty) */
struct child_open {
    struct chela_head h;
    struct chela_str name, type;
    struct chela_pairs options;
};

struct child_log {
    struct chela_head h;
    uint32_t level, zero;
    struct chela_str who, text;
};

/* value: the bits of a double */
struct child_metric {
    struct chela_head h;
    uint32_t kind, zero;
    uint64_t value;
    struct chela_str name, labels;
};

/* The description of a control frame's arguments, NULL: there is no such frame. */
const struct wire_args *child_frame_args(uint32_t function);
/* Appends a frame to a buffer; false: it can't be sent. */
bool child_frame_add(struct buf *out, uint32_t function, uint32_t instance,
                     const struct wire_args *a, const void *args);

/* Description of a type, there and back. */
void child_type_write(struct buf *out, const struct plugin_type *t);
/* False: it can't be one. Everything is copied; it lives as long as the program. */
bool child_type_read(struct plugin_type *t, struct plugin *p, const struct child_type *from);

/* Blocks until the bytes are sent; -1: the other side is gone. */
int child_send_all(int fd, const char *p, size_t n);

#endif
