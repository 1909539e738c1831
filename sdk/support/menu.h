/*
 * What a channel offers to tap on: the gateway's commands for a service's menu, and the buttons of
 * a message in rows. Called by channel plugins, which say how their service wants them.
 */
#ifndef CHELA_SUPPORT_MENU_H
#define CHELA_SUPPORT_MENU_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stddef.h>
#include <stdint.h>

#include "support/peer.h"

#pragma GCC visibility push(hidden)

/* The list has {name_member: name, "description": at most `units` UTF-16 units} for each of at most
 * `most` commands. `set` takes it over and tells the service; it is not called for an empty one. */
struct chela_menu {
    const char *name_member;
    size_t most;
    int64_t units;
    void (*set)(struct chela_peer *p, json_object *list);
};

/* Asks the gateway for its commands, where the option `commands` is on. m stays as it is. */
void chela_menu_begin(struct chela_peer *p, const struct chela_menu *m);

/* A button that would submit more than `bytes`, or has no label, is left out: the text says how to
 * answer. rows 0: any number of them. */
struct chela_keyboard {
    size_t bytes, row, rows;
    json_object *(*begin)(json_object *rows); /* adds a row; returns the array of its buttons */
    void (*button)(json_object *button, const struct chela_pair *b); /* fills in an empty object */
};

/* The array of rows; NULL: there is no button. */
json_object *chela_keyboard_rows(struct chela_pairs buttons, const struct chela_keyboard *k);

#pragma GCC visibility pop
#endif
