/* Approval: a tool call that waits for a person, read from the gateway's record and shown so that
 * nothing in it is hidden. Used by `chela approvals`, chat and agent. */
#ifndef CLI_APPROVAL_H
#define CLI_APPROVAL_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/rows.h"
#include "cli/styled.h"

struct approval {
    char *id;
    char *run, *session, *call; /* "" where the record doesn't say */
    int64_t expires_ms;         /* 0: never */
    bool once, always;          /* what may be answered besides "deny" */
    json_object *record;
};

/* False if the record has no usable id. */
bool approval_read(struct approval *approval, json_object *record);
void approval_free(struct approval *approval);

/* The rows that ask: what will run, where, how risky it is and why a person is asked. */
void approval_rows(const struct approval *approval, unsigned width, enum style_level level,
                   struct rows *rows);

/* What will run, on one line with nothing hidden: the command, or the tool and its arguments. */
void approval_summary(const struct approval *approval, struct buf *out);

/* Parameters of exec.approval.resolve. */
json_object *approval_answer(const struct approval *approval, const char *decision);

#endif
