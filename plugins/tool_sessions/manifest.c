/*
 * The tools and the options of tool_sessions. Data only.
 */
#include "sessions.h"

static const struct chela_option visibilities[] = {
    {"tree", CHELA_STRING, 0, NULL, "the session itself and its sub-agents", NULL},
    {"agent", CHELA_STRING, 0, NULL, "all sessions of the same agent", NULL},
    {"all", CHELA_STRING, 0, NULL, "all sessions of all agents", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

const struct chela_option option_table[] = {
    {"visibility", CHELA_STRING, CHELA_RELOAD, "agent",
     "what the tools show; a sub-agent sees its own tree only", visibilities},
    {"history_limit", CHELA_INT, CHELA_RELOAD, "50", "most messages that sessions_history gives",
     NULL},
    {"send_timeout", CHELA_DURATION, CHELA_RELOAD, "5m",
     "sessions_send waits so long for an answer", NULL},
    {"max_hops", CHELA_INT, CHELA_RELOAD, "3",
     "how often an answer to sessions_send may itself send to another session", NULL},
    {"subagents.max_depth", CHELA_INT, CHELA_RELOAD, "1",
     "1: sub-agents have none of their own; 0: there are none", NULL},
    {"subagents.per_session", CHELA_INT, CHELA_RELOAD, "5",
     "most that run at the same time for one session", NULL},
    {"subagents.running", CHELA_INT, CHELA_RELOAD, "16", "most that run at the same time", NULL},
    {"subagents.timeout", CHELA_DURATION, CHELA_RELOAD, "30m", "longest time of one", NULL},
    {"subagents.tokens", CHELA_INT, CHELA_RELOAD, "400000",
     "most tokens of one, read and written; then it must answer. 0 = no bound", NULL},
    {"subagents.steps", CHELA_INT, CHELA_RELOAD, "50", "most model calls of one", NULL},
    {"subagents.model", CHELA_REF, CHELA_RELOAD, NULL, "their model; absent: as for any message",
     NULL},
    {"subagents.deny", CHELA_LIST, CHELA_RELOAD, "cron, message, sessions_send",
     "tools (names, globs, \"group:NAME\") that they don't have", NULL},
    {"subagents.keep", CHELA_INT, CHELA_RELOAD, "200", "ended ones that are remembered", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

#define OPEN "\"parameters\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
#define KEY(about)                                                                                 \
    "\"sessionKey\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" about "\"}"
#define READS                                                                                      \
    "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"low\"},\"reads_only\":true,"         \
    "\"repeatable\":true}"
#define ASKS  "\"security\":{\"requiresApproval\":false,\"riskLevel\":\"medium\"}}"
#define WORDS "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1}}"

const struct chela_pair manifests[TOOLS] = {
    [LIST] = {CHELA_LIT("sessions_list"),
              CHELA_LIT("{\"name\":\"sessions_list\",\"group\":\"sessions\",\"description\":"
                        "\"Lists conversations of this assistant, the newest first.\"," OPEN
                        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100},"
                        "\"search\":{\"type\":\"string\"}}}," READS)},
    [HISTORY] = {CHELA_LIT("sessions_history"),
                 CHELA_LIT("{\"name\":\"sessions_history\",\"group\":\"sessions\",\"description\":"
                           "\"Reads the newest messages of a conversation.\"," OPEN KEY(
                               "as sessions_list gives it") ",\"limit\":{\"type\":\"integer\","
                                                            "\"minimum\":1},\"includeTools\":{"
                                                            "\"type\":\"boolean\"}},\"required\":"
                                                            "[\"sessionKey\"]}," READS)},
    [STATUS] = {CHELA_LIT("session_status"),
                CHELA_LIT("{\"name\":\"session_status\",\"group\":\"session\",\"description\":"
                          "\"Tells about a conversation: model, messages, tokens, what runs in "
                          "it; and what time it is.\"," OPEN KEY("absent: this one") "}}," READS)},
    [SEND] = {CHELA_LIT("sessions_send"),
              CHELA_LIT(
                  "{\"name\":\"sessions_send\",\"group\":\"sessions\",\"description\":\"Gives "
                  "a message to the assistant in another conversation and waits for its "
                  "answer.\"," OPEN KEY(
                      "as sessions_list gives it") ","
                                                   "\"message\":{\"type\":\"string\",\"minLength\":"
                                                   "1},\"timeoutSeconds\":{"
                                                   "\"type\":\"integer\",\"minimum\":0,\"maximum\":"
                                                   "3600,\"description\":\"0: "
                                                   "don't "
                                                   "wait\"}},\"required\":[\"sessionKey\","
                                                   "\"message\"]}," ASKS)},
    [SPAWN] =
        {CHELA_LIT("sessions_spawn"),
         CHELA_LIT(
             "{\"name\":\"sessions_spawn\",\"group\":\"sessions\",\"description\":\"Gives a "
             "task to a sub-agent that works beside you, with a conversation of its own. "
             "Returns at once; the result comes later as a message. The task must say "
             "everything that it needs to know.\"," OPEN
             "\"task\":{\"type\":\"string\",\"minLength\":1},\"label\":{\"type\":\"string\","
             "\"maxLength\":100},\"agentId\":{\"type\":\"string\",\"minLength\":1},"
             "\"model\":{\"type\":\"string\",\"minLength\":1},\"thinking\":{\"enum\":[\"off\","
             "\"low\",\"medium\",\"high\"]},\"runTimeoutSeconds\":{\"type\":\"integer\","
             "\"minimum\":1},\"maxTokens\":{\"type\":\"integer\",\"minimum\":1},\"tools\":{"
             "\"type\":\"object\",\"additionalProperties\":false,\"description\":\"names or "
             "globs; absent: all that you have\",\"properties\":{\"allow\":" WORDS
             ",\"deny\":" WORDS "}}},\"required\":[\"task\"]}," ASKS)},
    [SUBAGENTS] = {CHELA_LIT("subagents"),
                   CHELA_LIT(
                       "{\"name\":\"subagents\",\"group\":\"sessions\",\"description\":\"Lists "
                       "this conversation's sub-agents, or stops one.\"," OPEN
                       "\"action\":{\"enum\":[\"list\",\"stop\"]}," KEY(
                           "stop: which") "},"
                                          "\"required\":[\"action\"]},\"security\":{"
                                          "\"requiresApproval\":false,"
                                          "\"riskLevel\":\"low\"}}")},
    [MESSAGE] = {CHELA_LIT("message"),
                 CHELA_LIT(
                     "{\"name\":\"message\",\"group\":\"messaging\",\"description\":\"Sends a "
                     "message to a chat of a channel. Not for answering: your answer "
                     "reaches the person by itself.\"," OPEN
                     "\"message\":{\"type\":\"string\",\"minLength\":1},\"channel\":{"
                     "\"type\":\"string\",\"minLength\":1,\"description\":\"absent: this "
                     "one\"},\"target\":{\"type\":\"string\",\"minLength\":1,"
                     "\"description\":\"the chat, as the channel names it; absent: this "
                     "one\"},\"threadId\":{\"type\":\"string\"},\"accountId\":{\"type\":"
                     "\"string\"}},\"required\":[\"message\"]}," ASKS)},
};

int tool_find(struct chela_str name)
{
    for (int i = 0; i < TOOLS; i++)
        if (chela_str_is(name, manifests[i].name.s))
            return i;
    return -1;
}
