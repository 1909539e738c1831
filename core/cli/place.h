/* Place: where the gateway of this user is to be found: state folder, address, port and token.
 * Called once by each command; reads small files only. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdbool.h>

#include "base/error.h"

struct place {
    char *state_dir; /* may not exist yet */
    char *host;
    unsigned port;
    char *token;     /* NULL: none was found */
    char *token_why; /* what was wrong with the token's file; NULL: nothing */
    bool announced;  /* a running gateway has left its port in the state folder */
    long pid;        /* of that gateway, 0 if unknown */
};

/* `where`: HOST, HOST:PORT or :PORT as the user gave it, NULL: none. -1 with an error for one that
 * isn't understood. Free with place_free also then. */
int place_find(struct place *place, const char *where, struct error *e);
void place_free(struct place *place);

/* A file of the state folder, whose folder is made (mode 0700) if it isn't there; free it. NULL if
 * that is impossible. */
char *place_file(const struct place *place, const char *name);

#endif
