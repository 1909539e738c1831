/*
 * The table of calls as call.c and call_say.c share it.
 */
#ifndef HOST_CALL_PRIVATE_H
#define HOST_CALL_PRIVATE_H

#include "base/list.h"
#include "host/call.h"
#include "host/instance_private.h"
#include "wire/frame.h"

/* Who began a call stands on top of its id: 0 the host, else the number of an opened instance. */
enum { CALL_COUNTER_BITS = 40 };

struct call {
    uint64_t id;
    struct instance *in; /* that serves it, or that began it */
    const struct wire_function *function;
    struct call *parent;
    struct link sibling, children;
    struct link of_instance;
    bool by_plugin, cancelling;
    bool ending;                /* the host's own end waits in the inbox */
    bool overran;               /* lost events, beyond its credit */
    bool timed_out;             /* cancelled by its deadline */
    unsigned key;               /* of the instance's secrets, see call_key() */
    uint64_t tag;               /* of the plugin */
    uint64_t timer;             /* deadline, then the watchdog of the cancel */
    const struct call_ops *ops; /* NULL: nobody wants to know */
    void *owner;
};

struct call *call_find(uint64_t id);
/* True if some call had the id, or has it. */
bool call_existed(const struct instance *in, uint64_t id);
struct call *call_add(uint64_t id, struct instance *in, const struct wire_function *f,
                      struct call *parent);
/* Takes it out of the table, cancels its children, and frees it. */
void call_remove(struct call *c);
void call_ask_to_end(struct call *c);
/* Calls a slot of the plugin, or sends a frame to its process. The head is filled in but for call
 * and tag. False: it has no such slot. */
bool call_deliver(struct instance *in, const struct wire_function *f, const void *args);
bool call_has_slot(const struct instance *in, const struct wire_function *f);
/* Puts an end by the host itself into the instance's inbox. */
void call_end_by_host(struct call *c, uint32_t class, const char *text);

struct handler {
    call_handler *begin;
    void (*cancel)(struct instance *in, uint64_t id);
};
const struct handler *call_handler_of(const struct wire_function *f);

/* say_text.c: makes valid UTF-8 of the text in a frame of a plugin; true if something was not. c:
 * the call that a done ends. */
bool say_mend(const struct wire_function *f, const struct call *c, void *args);
void say_mend_close(void);

/* call_say.c */
void say_attach(struct instance *in); /* opens the inbox */
/* What the plugin says: host_table's thunks in the daemon. */
void say_enqueue(struct instance *in, uint32_t fn, const void *args);
/* Works off a frame of the instance. */
void say_take(struct instance *in, const struct wire_frame *frame);
/* An end that the host itself put there (WIRE_BY_HOST). */
void say_take_host_end(const struct wire_frame *frame);
/* Puts a frame that the host made into the instance's inbox. */
void say_push(struct instance *in, const struct wire_function *f, const void *args, uint16_t marks);

#endif
