/*
 * Calls of the host with what happens at their end, for plugins that make many kinds of them (jobs,
 * the heartbeat): methods of the gateway, values that are kept, texts that are sent on. An instance
 * whose calls are all made here has chela_op_rows and chela_op_done as its slots. [loop]
 */
#ifndef CHELA_SUPPORT_OP_H
#define CHELA_SUPPORT_OP_H

#include <chela/chela.h>

#include "support/json.h"
#include "support/text.h"

#pragma GCC visibility push(hidden)

struct chela_op;
typedef void chela_op_fn(struct chela_inst *in, void *owner, const struct chela_done *d);
typedef void chela_op_rows_fn(struct chela_inst *in, void *owner, const struct chela_rows *r);
uint64_t chela_op_new(chela_op_fn *done,
                      void *owner); /* h.tag of a call of the host; freed at its end */
uint64_t chela_op_new_rows(chela_op_fn *done, chela_op_rows_fn *rows, void *owner);
void chela_op_rows(struct chela_inst *in, const struct chela_rows *r); /* iface.rows */
void chela_op_done(struct chela_inst *in, const struct chela_done *d); /* iface.done */
void chela_ask_gateway(struct chela_inst *in, uint64_t parent, const char *method,
                       json_object *params, chela_op_fn *fn, void *owner); /* takes over params */
void chela_keep(struct chela_inst *in, const char *key, json_object *value, chela_op_fn *fn,
                void *owner);
json_object *chela_object_of(struct chela_str s);
void chela_answer_json(struct chela_inst *in, uint64_t call, json_object *o); /* takes it over */
int64_t chela_now_ms(struct chela_inst *in);
/* A text to a chat; of the answer that `call` carries, which it ends. to: {"channel","to",
 * "accountId","threadId"}. */
void chela_send_on(struct chela_inst *in, const struct chela_send *m, json_object *to,
                   const char *text, const char *session);
/* A text of an answer of agent.wait, owned by the caller; NULL if there is none. */
char *chela_answer_text(json_object *result);

#pragma GCC visibility pop
#endif
