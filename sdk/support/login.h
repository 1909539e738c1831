/*
 * A login instead of a key (option auth = "oauth"): the bearer token of a provider's calls, how it
 * is kept and how it is renewed. For provider plugins whose service has such logins; its options
 * are auth, access_token, refresh_token, client_id and token_url.
 */
#ifndef CHELA_SUPPORT_LOGIN_H
#define CHELA_SUPPORT_LOGIN_H

#include <stdbool.h>

#include <chela/chela.h>

#include "support/stream.h"

#pragma GCC visibility push(hidden)

struct chela_login;

/* NULL if the options say a key; all other functions but close, cancel, forget and done want one.
 */
struct chela_login *chela_login_open(struct chela_inst *in);
void chela_login_close(struct chela_login *l);
void chela_login_start(struct chela_login *l); /* reads what an earlier run has kept */

/* Sends the call with the token, renewed before if it has run out; keeps copies. */
void chela_login_send(struct chela_login *l, struct chela_stream *s, uint32_t decode,
                      const char *url, const struct chela_headers *headers, const char *body,
                      size_t length);
/* The call's answer was 401: true if it goes out once more, with a new token. */
bool chela_login_again(struct chela_login *l, struct chela_stream *s);
/* A done of one of this file's own requests. */
bool chela_login_done(struct chela_login *l, struct chela_task *task, const struct chela_done *d);
/* The host wants the call to end while it waits for a token. */
void chela_login_cancel(struct chela_login *l, uint64_t call);
/* The call is over. */
void chela_login_forget(struct chela_login *l, struct chela_stream *s);

#pragma GCC visibility pop
#endif
