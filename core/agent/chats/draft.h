/*
 * The growing answer in a chat whose channel can edit: one message that is sent once and edited as
 * the answer grows, within the channel's rate; the final edits it into place. Where the channel has
 * previews that pass by themselves, those, and the final is a message of its own. Called by the
 * turn and its stream; the outbox's lanes send.
 */
#ifndef AGENT_DRAFT_H
#define AGENT_DRAFT_H

#include <stdbool.h>

struct draft;
struct journal_run;
struct message;
struct run;

/* NULL if the channel shows no drafts, messages.drafts is off, or a hook reads what goes out.
 * known: id of the message that shows the draft of this run already (after a crash), or NULL. */
struct draft *draft_open(const struct message *m, const struct run *r, struct journal_run *journal,
                         const char *known);
/* The run's text has changed. NULL is fine, as below. */
void draft_grow(struct draft *d);
/* No more drafts. `settled` once it is known what became of the first one: id of the message, or
 * NULL if there is none. Called back at once if it is known. */
typedef void draft_fn(void *owner, const char *message);
void draft_settle(struct draft *d, draft_fn *settled, void *owner);
/* The turn was stopped: what it has said so far is shown, and that is all. */
void draft_leave(struct draft *d);
void draft_free(struct draft *d);

#endif
