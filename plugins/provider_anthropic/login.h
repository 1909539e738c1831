/*
 * A login instead of a key (auth = "oauth"): the bearer token, and how it is renewed.
 */
#ifndef PROVIDER_ANTHROPIC_LOGIN_H
#define PROVIDER_ANTHROPIC_LOGIN_H

#include <stdbool.h>

#include <chela/chela.h>

#include "support/stream.h"

/* The instance; login is NULL with a key. */
struct anthropic {
    struct chela_toolsets tools;
    struct login *login;
};

/* A model call that waits for a token: everything of its request but the token. */
struct login_wait {
    struct login_wait *next;
    struct chela_stream *stream;
    uint32_t decode;
    char *url, *body;
    size_t length;
    struct chela_headers headers; /* values are the instance's options, valid until it is closed */
};

bool login_used(struct chela_inst *in);
void login_open(struct chela_inst *in);
void login_close(struct chela_inst *in);
void login_start(struct chela_inst *in); /* reads what an earlier run has kept */

/* Sends the call with the token, renewed before if it has run out; takes over wait. */
void login_send(struct chela_inst *in, struct login_wait *wait);
/* The call's answer was 401: true if it goes out once more, with a new token. */
bool login_again(struct chela_inst *in, struct chela_stream *s);
/* A done of one of this file's own requests. */
bool login_done(struct chela_inst *in, struct chela_task *task, const struct chela_done *d);
/* The host wants the call to end while it waits for a token. */
void login_cancel(struct chela_inst *in, uint64_t call);
/* The call is over. */
void login_forget(struct chela_inst *in, struct chela_stream *s);

#endif
