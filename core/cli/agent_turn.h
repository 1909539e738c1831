/* Agent turn: the one turn of `chela agent`, as its parts share it: cmd_agent.c (the turn),
 * agent_ask.c (its approvals) and agent_files.c (its files). */
#ifndef CLI_AGENT_TURN_H
#define CLI_AGENT_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "cli/approval.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/screen.h"
#include "cli/turn_view.h"

struct turn {
    const struct common *common;
    struct client client;
    struct screen screen;
    struct turn_view reply;
    bool shows; /* the answer streams */
    char key[ID_UUID_SIZE];
    char *run, *session;
    bool asks; /* somebody is at the terminal */
    struct approval *approvals;
    size_t approval_count;
    uint64_t approval_ms, approval_deadline; /* 0: none waits */
    bool unapproved, stopping;
    bool over;
    json_object *result; /* the final answer's payload */
    struct error error;  /* of a request that failed */
    const char *folder;  /* where files of the answer are saved; NULL: they are only named */
    int status;
};

/* Stops the turn. */
void cli_turn_stop(struct turn *turn);

/* An approval is wanted, if it is this turn's; or was answered by somebody. */
void cli_turn_ask_add(struct turn *turn, json_object *record);
void cli_turn_ask_resolved(struct turn *turn, json_object *payload);
/* A line can be read from the terminal. */
void cli_turn_ask_read(struct turn *turn);

/* agent_files.c: files that come with the answer: saved or named. An exit status. */
int cli_files_save(struct turn *turn);

#endif
