/*
 * What was decided about the model of a turn, and why: the route, a retry, the next key or
 * candidate, an escalation, a limit. Each is a row of the journal (`chela trace`), a line of the
 * log, and stays in memory for /status until the session's next turn has ended. A service: called
 * by route.c, turn*.c and payer.c.
 */
#ifndef AGENT_DECISIONS_H
#define AGENT_DECISIONS_H

struct json_object;
struct run;

/* o: at least "text", a sentence for people; taken over. */
void decisions_note(struct run *r, const char *kind, struct json_object *o);
void decisions_say(struct run *r, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of the session's running turn, else of its last one: array, borrowed, or NULL. */
struct json_object *decisions_of(const char *session);
/* runs.c: the journal is there; the run ends. */
void decisions_write(struct run *r);
void decisions_keep(struct run *r);
void decisions_reset(void);

#endif
