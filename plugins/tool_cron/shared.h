/*
 * What tool_cron and channel_heartbeat need of the host: calls with what happens at their end,
 * values that are kept, texts that are sent on. Compiled into both.
 */
#ifndef TOOL_CRON_SHARED_H
#define TOOL_CRON_SHARED_H

#include <chela/chela.h>

#include "support/json.h"

struct op;
typedef void op_fn(struct chela_inst *in, void *owner, const struct chela_done *d);
typedef void op_rows_fn(struct chela_inst *in, void *owner, const struct chela_rows *r);
uint64_t op_new(op_fn *done, void *owner); /* h.tag of a call of the host; freed at its end */
uint64_t op_new_rows(op_fn *done, op_rows_fn *rows, void *owner);
void op_rows(struct chela_inst *in, const struct chela_rows *r); /* iface.rows */
void op_done(struct chela_inst *in, const struct chela_done *d); /* iface.done */
void ask_gateway(struct chela_inst *in, uint64_t parent, const char *method, json_object *params,
                 op_fn *fn, void *owner); /* takes over params */
void keep(struct chela_inst *in, const char *key, json_object *value, op_fn *fn, void *owner);
void *need(void *p);
char *text_of(struct chela_str s);
char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_object *object_of(struct chela_str s);
const char *member(const json_object *o, const char *key);              /* "" if there is none */
void answer_json(struct chela_inst *in, uint64_t call, json_object *o); /* takes it over */
int64_t now_ms(struct chela_inst *in);
/* A text to a chat; of the answer that `call` carries, which it ends. to: {"channel","to",
 * "accountId","threadId"}. */
void send_on(struct chela_inst *in, const struct chela_send *m, json_object *to, const char *text,
             const char *session);
/* A text of an answer of agent.wait, owned by the caller; NULL if there is none. */
char *answer_text(json_object *result);

#endif
