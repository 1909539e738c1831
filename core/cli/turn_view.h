/* Turn view: one turn as a person sees it: the answer as it streams, a line for each tool call,
 * thinking where it is wanted, and how it ended. Fed with the gateway's `chat` and `agent` events;
 * shown on a screen, or only gathered. Used by chat and agent. */
#ifndef CLI_TURN_VIEW_H
#define CLI_TURN_VIEW_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/markdown.h"
#include "cli/screen.h"

enum reply_state { REPLY_RUNNING, REPLY_DONE, REPLY_FAILED, REPLY_ABORTED };
enum reply_part { PART_NONE, PART_TEXT, PART_TOOL, PART_THINKING, PART_NOTE };

struct turn_view_tool; /* a call that runs */

struct turn_view {
    struct screen *screen; /* NULL: nothing is shown */
    bool verbose;
    char *run;
    enum reply_state state;
    struct buf error; /* of REPLY_FAILED */
    struct buf total; /* the text of the whole turn as it came */
    size_t segment;   /* where in it the text since the last tool call begins */
    struct markdown markdown;
    bool text_open;      /* a block of the answer is under way */
    struct buf thinking; /* that wasn't printed yet */
    enum reply_part last;
    struct turn_view_tool *tools;
    size_t tool_count;
    struct buf phase; /* "waiting for the model ..." */
    uint64_t begun_ms;
    size_t agent_at, chat_at; /* how far the deltas of either kind of event have come in `total` */
};

void turn_view_begin(struct turn_view *reply, struct screen *screen, const char *run, bool verbose);
void turn_view_free(struct turn_view *reply);

/* Takes an event of this run. */
void turn_view_chat(struct turn_view *reply, json_object *payload);
void turn_view_agent(struct turn_view *reply, json_object *payload);

/* The whole text as it is known from elsewhere (final event, history): shows what is missing. */
void turn_view_text(struct turn_view *reply, const char *text, size_t length);

/* The same for a run that was joined in its middle: deltas go on behind this text. */
void turn_view_resume(struct turn_view *reply, const char *text, size_t length);

/* Ends it; the error may be NULL. Does nothing if it has ended. */
void turn_view_end(struct turn_view *reply, enum reply_state state, const char *error);

/* The rows of what is under way, for the region above the prompt. */
void turn_view_above(struct turn_view *reply, struct rows *rows);

/* The text of a message of the protocol: a string, or its parts of type "text" joined. */
void turn_view_message_text(json_object *message, struct buf *out);

#endif
