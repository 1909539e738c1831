/*
 * The core's own options, one table for all: what chela.conf may say outside of instances. Names
 * lead through groups ("gateway.auth.mode"), "*" is any name. From it come the checks, the
 * defaults, `chela config show` and the options' part of chela.conf(5). Whoever reads an option
 * with settings_text() adds it here.
 */
#include <string.h>

#include "host/settings_private.h"

#define T(name, fallback, help)                                                                    \
    {                                                                                              \
        name, CHELA_STRING, 0, fallback, help, NULL                                                \
    }
#define P(name, type, fallback, help)                                                              \
    {                                                                                              \
        name, type, OPTION_PROJECT, fallback, help, NULL                                           \
    }
#define N(name, type, fallback, help)                                                              \
    {                                                                                              \
        name, type, 0, fallback, help, NULL                                                        \
    }
#define REF(name, type, flags, help)                                                               \
    {                                                                                              \
        name, type, (flags) | OPTION_REF, NULL, help, NULL                                         \
    }
#define CHOICE(name, table, fb, help)                                                              \
    {                                                                                              \
        name, CHELA_STRING, 0, fb, help, table                                                     \
    }
#define P_CHOICE(name, table, fb, help)                                                            \
    {                                                                                              \
        name, CHELA_STRING, OPTION_PROJECT, fb, help, table                                        \
    }
#define ITEMS(name, table, help)                                                                   \
    {                                                                                              \
        name, CHELA_ITEMS, 0, NULL, help, table                                                    \
    }
#define P_ITEMS(name, table, help)                                                                 \
    {                                                                                              \
        name, CHELA_ITEMS, OPTION_PROJECT, NULL, help, table                                       \
    }
#define SECRET(name, help)                                                                         \
    {                                                                                              \
        name, CHELA_STRING, CHELA_SECRET, NULL, help, NULL                                         \
    }
#define V(name, help)                                                                              \
    {                                                                                              \
        name, 0, 0, NULL, help, NULL                                                               \
    }
#define END                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

static const struct chela_option auth_modes[] = {
    V("token", "clients show gateway.auth.token; made at the first start if none is set"),
    V("password", "clients show gateway.auth.password"),
    V("trusted-proxy", "a proxy of gateway.trusted_proxies names the person; programs of this "
                       "machine show the token"),
    V("none", "nobody is asked; only with bind = \"loopback\""), END};

static const struct chela_option durabilities[] = {
    V("power", "what was accepted survives a loss of power"),
    V("process", "what was accepted survives a crash of the program only"), END};

static const struct chela_option unknown_sends[] = {
    V("hold", "a message that may have been delivered is shown as such and not sent again"),
    V("resend", "it is sent again, marked as perhaps a repetition"), END};

static const struct chela_option log_levels[] = {V("error", ""), V("warn", ""), V("info", ""),
                                                 V("debug", ""), END};

static const struct chela_option log_formats[] = {
    V("auto", "journal under systemd, else plain"), V("plain", "time, level, component, text"),
    V("journal", "with journald's priority prefix"), V("json", "a JSON object a line"), END};

static const struct chela_option thinking_levels[] = {
    V("off", ""), V("minimal", ""), V("low", ""), V("medium", ""), V("high", ""), END};

static const struct chela_option executions[] = {
    V("parallel", "the calls of a batch run side by side"), V("sequential", "one after the other"),
    END};

static const struct chela_option securities[] = {
    V("ask", "medium and high risks wait for a person"),
    V("allowlist", "only what is on the allow-list runs; high risks never do"),
    V("deny", "only low risks run"),
    V("full", "medium risks run unasked; high risks still wait for a person"), END};

static const struct chela_option profiles[] = {
    V("full", "all tools"), V("coding", "files, commands, sessions, memory"),
    V("messaging", "sessions and messages"), V("minimal", "the session's status only"), END};

static const struct chela_option queue_modes[] = {
    V("steer", "a new message enters the running turn at its next boundary"),
    V("followup", "it gets a turn of its own afterwards"),
    V("collect", "all that wait become one turn"), V("interrupt", "it ends the running turn"), END};

static const struct chela_option queue_drops[] = {
    V("summarize", "the oldest go, a line about each stays"), V("old", "the oldest go"),
    V("new", "the newest are refused"), END};

static const struct chela_option dm_scopes[] = {
    V("main", "all direct chats share the agent's main session"),
    V("per-peer", "a session for each person"),
    V("per-channel-peer", "a session for each person on each channel"),
    V("per-account-channel-peer", "... on each account of each channel"), END};

static const struct chela_option reset_modes[] = {
    V("none", "sessions go on until /new"),
    V("daily", "a new one each day at session.reset.at_hour"),
    V("idle", "a new one after session.reset.idle without a message"), END};

static const struct chela_option failures[] = {V("next", "the next model of the list is tried"),
                                               V("stop", "the turn ends with the error"), END};

static const struct chela_option rule_items[] = {
    P("patterns", CHELA_LIST, NULL, "words or phrases, any of which selects this rule"),
    P("regex", CHELA_LIST, NULL, "regular expressions (PCRE2), any of which selects it"),
    P("channels", CHELA_LIST, NULL, "only for messages of these channels"),
    P("agents", CHELA_LIST, NULL, "only for these agents"),
    P("senders", CHELA_LIST, NULL, "only for messages of these senders"),
    P("attachments", CHELA_LIST, NULL, "only with one of these: image, audio, video, file"),
    P("hours", CHELA_STRING, NULL, "only at this time of the day: \"22-6\", local time"),
    P("min_length", CHELA_INT, NULL, "only for texts of at least so many bytes"),
    P("max_length", CHELA_INT, NULL, "only for texts of at most so many bytes"),
    P("min_context", CHELA_INT, NULL, "only if the prompt has at least so many tokens"),
    P("min_tool_calls", CHELA_INT, NULL, "only after so many tool calls in the session"),
    P("images", CHELA_BOOL, NULL, "only for prompts with images"),
    REF("model", CHELA_REF, OPTION_PROJECT, "who answers: \"instance/model\" or an alias"),
    REF("fallback", CHELA_LIST, OPTION_PROJECT, "who answers if that one can't"),
    END};

static const struct chela_option limit_items[] = {
    N("agent", CHELA_STRING, NULL, "name of an agent, or \"*\": each one for itself"),
    N("sender", CHELA_STRING, NULL, "\"channel:sender\", or \"*\""),
    N("provider", CHELA_STRING, NULL, "name of a provider's instance, or \"*\""),
    N("daily", CHELA_REAL, NULL, "most that it may cost in a day (UTC), in the prices' currency"),
    N("monthly", CHELA_REAL, NULL, "most that it may cost in a month"),
    END};

static const struct chela_option alias_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED | OPTION_PROJECT, NULL, "the short name", NULL},
    REF("model", CHELA_REF, CHELA_REQUIRED | OPTION_PROJECT, "\"instance/model\""),
    END};

static const struct chela_option queue_channel_items[] = {
    {"channel", CHELA_STRING, CHELA_REQUIRED, NULL, "name of the channel's instance", NULL},
    {"mode", CHELA_STRING, CHELA_REQUIRED, NULL, "as messages.queue.mode", queue_modes},
    END};

static const struct chela_option binding_items[] = {
    {"agent", CHELA_STRING, 0, NULL, "who answers; absent: as without the binding", NULL},
    {"session", CHELA_STRING, 0, NULL, "in which session; absent: by session.dm_scope", NULL},
    {"channel", CHELA_STRING, 0, NULL, "name of the channel's instance, or its platform", NULL},
    {"account", CHELA_STRING, 0, NULL, "the channel's account", NULL},
    {"peer", CHELA_STRING, 0, NULL, "the sender, or the chat", NULL},
    END};

static const struct chela_option tool_rule_items[] = {
    {"agent", CHELA_STRING, 0, NULL, "only for agents that this glob fits", NULL},
    {"channel", CHELA_STRING, 0, NULL, "only for messages of such channels", NULL},
    {"sender", CHELA_STRING, 0, NULL, "only for such senders", NULL},
    {"provider", CHELA_STRING, 0, NULL, "only for models of such providers", NULL},
    {"profile", CHELA_STRING, 0, NULL, "only tools of this profile", profiles},
    {"allow", CHELA_LIST, 0, NULL, "only these tools", NULL},
    {"deny", CHELA_LIST, 0, NULL, "never these tools", NULL},
    END};

static const struct chela_option identity_items[] = {
    {"name", CHELA_STRING, CHELA_REQUIRED, NULL, "what the person is called", NULL},
    {"is", CHELA_LIST, CHELA_REQUIRED, NULL,
     "\"channel:sender\" for each identity; the instance or the platform", NULL},
    END};

/* The options of an agent, as agents.NAME.x; agents.defaults.x stands in for what isn't said. */
#define AGENT(x) "agents.*." x

const struct chela_option settings_core_table[] = {
    /* the server */
    T("gateway.bind", "loopback", "\"loopback\", \"lan\" (all addresses) or an address"),
    N("gateway.port", CHELA_INT, "18789", "port of the gateway; 0: a free one"),
    CHOICE("gateway.auth.mode", auth_modes, "token", "how a client proves itself"),
    SECRET("gateway.auth.token", "the token; made and kept in the state folder if absent"),
    SECRET("gateway.auth.password", "the password of mode = \"password\""),
    T("gateway.auth.user_header", "x-forwarded-user",
      "mode = \"trusted-proxy\": the header in which the proxy names the person"),
    N("gateway.auth.allowed_users", CHELA_LIST, NULL,
      "mode = \"trusted-proxy\": only these persons; absent: all that the proxy lets through"),
    N("gateway.devices.auto_approve_local", CHELA_BOOL, "true",
      "a device on this machine that shows the secret is let in without a question"),
    N("gateway.devices.required", CHELA_BOOL, "false",
      "clients on other machines must be devices (with a key of their own), not just know the "
      "secret"),
    N("gateway.allowed_origins", CHELA_LIST, NULL, "web pages of other origins that may connect"),
    N("gateway.allowed_hosts", CHELA_LIST, NULL, "names by which the gateway may be addressed"),
    N("gateway.trusted_proxies", CHELA_LIST, NULL,
      "addresses or networks (\"10.0.0.0/8\") whose X-Forwarded-For counts"),
    N("gateway.max_connections", CHELA_INT, "512", "connections at the same time"),
    N("gateway.body_limit", CHELA_SIZE, "20M", "largest body of a request"),
    N("gateway.frame_limit", CHELA_SIZE, "25M", "largest WebSocket message"),
    N("gateway.handshake_timeout", CHELA_DURATION, "10s", "how long a client may take to log in"),
    N("gateway.body_timeout", CHELA_DURATION, "60s",
      "how long a client may take to send a request's body, all of it"),
    N("gateway.http.openai", CHELA_BOOL, "false",
      "/v1/chat/completions, /v1/responses, /v1/embeddings, /v1/models"),
    N("gateway.http.anthropic", CHELA_BOOL, "false", "/v1/messages"),
    N("gateway.http.ollama", CHELA_BOOL, "false", "/api/chat, /api/tags, /api/version"),
    N("gateway.http.tools", CHELA_BOOL, "false", "/tools/invoke"),
    N("gateway.http.max_turns", CHELA_INT, "16", "turns by HTTP at the same time"),
    N("gateway.hooks.enabled", CHELA_BOOL, "false", "/hooks/wake, /hooks/agent"),
    SECRET("gateway.hooks.token", "what hooks show; another one than the gateway's"),
    T("gateway.record", NULL,
      "file to which every frame that clients are sent is appended, for who writes a client; what "
      "people said stands in it"),
    N("gateway.drain_timeout", CHELA_DURATION, "30s", "how long a stop waits for running turns"),

    /* the way out */
    T("network.ca_file", NULL, "certificates (PEM) to trust instead of the system's"),
    SECRET("network.proxy", "URL of the proxy, \"\": none; absent: that of the environment "
                            "(http_proxy, https_proxy, no_proxy)"),
    N("network.no_proxy", CHELA_LIST, NULL, "hosts and networks reached without the proxy"),
    N("network.proxy_is_public", CHELA_BOOL, "false",
      "the proxy itself refuses private addresses, so what a model fetches may go through it; "
      "else that goes out directly"),
    N("network.connect_timeout", CHELA_DURATION, "10s",
      "how long connecting to a service may take"),

    /* agents */
    P_CHOICE(AGENT("thinking"), thinking_levels, NULL, "how much the model thinks"),
    REF(AGENT("model"), CHELA_REF, OPTION_PROJECT,
        "\"instance/model\" or an alias; absent: the router's"),
    REF(AGENT("fallback"), CHELA_LIST, OPTION_PROJECT, "models to try when that one can't answer"),
    P(AGENT("temperature"), CHELA_REAL, NULL, "0 to 2; absent: the service's default"),
    P(AGENT("max_tokens"), CHELA_INT, NULL, "longest answer in tokens; absent: the service's"),
    P(AGENT("name"), CHELA_STRING, NULL, "what the agent calls itself"),
    N(AGENT("instructions"), CHELA_STRING, NULL, "text for its system prompt"),
    N(AGENT("instruction_files"), CHELA_LIST, "AGENTS.md, CLAUDE.md, openclaw.md",
      "files of the workspace that go into the system prompt"),
    N(AGENT("default"), CHELA_BOOL, NULL, "the agent of channels that no agent names"),
    N(AGENT("channels"), CHELA_LIST, NULL, "channels whose messages it answers"),
    T(AGENT("workspace"), NULL, "folder that its file tools are confined to"),
    N(AGENT("timeout"), CHELA_DURATION, "48h", "longest turn; waiting for an approval not counted"),
    N(AGENT("model_timeout"), CHELA_DURATION, "300s", "longest silence of a model"),
    N(AGENT("max_steps"), CHELA_INT, "100", "most model calls of one turn"),
    N(AGENT("context_tokens"), CHELA_INT, NULL, "budget of the prompt; absent: the model's"),
    N(AGENT("tools.allow"), CHELA_LIST, NULL, "only these tools (names, groups, \"*\" globs)"),
    N(AGENT("tools.also_allow"), CHELA_LIST, NULL, "these beside the profile's"),
    N(AGENT("tools.deny"), CHELA_LIST, NULL, "never these tools"),
    N(AGENT("tools.confirm_before_run"), CHELA_LIST, NULL, "always ask before these tools"),
    N(AGENT("verbose"), CHELA_BOOL, NULL,
      "show thinking and tool calls in chats whose /verbose says nothing else"),
    CHOICE(AGENT("tools.profile"), profiles, NULL, "which groups of tools it sees"),
    CHOICE(AGENT("tools.security"), securities, NULL, "what runs without a person's yes"),
    N(AGENT("tools.high_risk_free"), CHELA_BOOL, NULL,
      "with security = \"full\": high risks run unasked as well"),

    /* tools */
    CHOICE("tools.execution", executions, "parallel", "how the calls of a batch run"),
    N("tools.timeout", CHELA_DURATION, "30m", "longest run of a tool"),
    N("tools.output_limit", CHELA_SIZE, "64k", "most of a tool's output that the model sees"),
    N("tools.confirm_before_run", CHELA_LIST, NULL, "always ask before these tools"),
    N("tools.allow", CHELA_LIST, NULL, "only these tools, for all agents"),
    N("tools.also_allow", CHELA_LIST, NULL, "these beside the profile's"),
    N("tools.deny", CHELA_LIST, NULL, "never these tools"),
    CHOICE("tools.profile", profiles, NULL, "which groups of tools agents see"),
    CHOICE("tools.security", securities, "ask", "what runs without a person's yes"),
    ITEMS("tools.rules", tool_rule_items,
          "fewer tools for some channels, senders, providers or agents; each that fits counts"),
    N("tools.search", CHELA_BOOL, "true", "offer a search over the tools that are left out"),
    N("tools.defer_above", CHELA_INT, "12000",
      "tools of more tokens than this are left to the search, the largest plugins first; 0 = "
      "never"),
    N("tools.loop.warn", CHELA_INT, "5",
      "tell the model when it has made a call so often with nothing new; 0 = never"),
    N("tools.loop.end", CHELA_INT, "10", "end the turn then; 0 = never"),
    N("tools.approval.timeout", CHELA_DURATION, "30m", "an approval nobody gives is denied then"),

    /* routing: the rules of the router `rules` */
    P_ITEMS("routing.rules", rule_items, "tried in order; the first that fits decides"),
    REF("routing.primary", CHELA_REF, OPTION_PROJECT, "the strong model, of always_primary"),
    REF("routing.local", CHELA_REF, OPTION_PROJECT, "the model on this machine, of always_local"),
    P("routing.always_primary", CHELA_LIST, NULL,
      "words that always go to routing.primary, before all rules"),
    P("routing.always_local", CHELA_LIST, NULL,
      "words that always go to routing.local, before all rules"),
    REF("routing.classes.simple", CHELA_REF, OPTION_PROJECT,
        "who answers what models.classifier calls simple (router `llm`)"),
    REF("routing.classes.medium", CHELA_REF, OPTION_PROJECT, "... of medium difficulty"),
    REF("routing.classes.complex", CHELA_REF, OPTION_PROJECT, "... complex"),
    REF("routing.classes.reasoning", CHELA_REF, OPTION_PROJECT, "... what needs reasoning"),
    REF("routing.default", CHELA_REF, OPTION_PROJECT, "who answers when no rule fits"),
    REF("routing.fallback", CHELA_LIST, OPTION_PROJECT, "who answers when the chosen one can't"),
    N("routing.escalate.after", CHELA_INT, NULL,
      "after so many rounds of tools in one turn it goes to a stronger model; absent: never"),
    REF("routing.escalate.model", CHELA_REF, 0, "that model: \"instance/model\" or an alias"),
    N("routing.timeout", CHELA_DURATION, "3s", "how long routers may think"),

    /* models */
    P_ITEMS("models.aliases", alias_items, "short names of models"),
    REF("models.embedding", CHELA_REF, 0, "model for embeddings: \"instance/model\""),
    REF("models.classifier", CHELA_REF, 0, "model that routers may ask: \"instance/model\""),
    ITEMS("models.limits", limit_items,
          "what models may cost: beyond it a turn waits until a person says to continue"),
    CHOICE("models.on_error", failures, "next", "when a model can't answer"),
    N("models.cooldown", CHELA_DURATION, "30s",
      "how long a model or key rests after a failure; then twice, then ten times as long"),
    N("models.retries", CHELA_INT, "8", "most repetitions of a call that failed for a moment"),
    N("models.retry_window", CHELA_DURATION, "90s", "how long a call is repeated"),

    /* sessions and messages */
    CHOICE("session.dm_scope", dm_scopes, "main", "which direct chats share a session"),
    CHOICE("session.reset.mode", reset_modes, "none", "when a session begins anew"),
    N("session.reset.at_hour", CHELA_INT, "4", "hour of mode = \"daily\", local time"),
    N("session.reset.idle", CHELA_DURATION, "8h", "quiet time of mode = \"idle\""),
    ITEMS("session.identities", identity_items, "identities on several channels of one person"),
    N("session.dedup_retention", CHELA_DURATION, "14d", "how long a repeated event is recognised"),
    N("session.max_concurrent", CHELA_INT, "64", "turns that run at the same time"),
    N("session.cache", CHELA_SIZE, "64M", "histories that are kept in memory between turns"),
    N("session.history_tokens", CHELA_INT, NULL, "most of the history in a prompt"),
    N("session.compaction.enabled", CHELA_BOOL, "true", "summarise when the prompt gets too long"),
    N("session.compaction.reserve_tokens", CHELA_INT, "20000", "room that stays for the answer"),
    N("session.compaction.keep_recent_tokens", CHELA_INT, "20000", "the end that stays as it is"),
    REF("session.compaction.model", CHELA_REF, 0, "who summarises; absent: the session's model"),
    P_CHOICE("messages.queue.mode", queue_modes, "steer", "what a message does to a running turn"),
    N("messages.debounce", CHELA_DURATION, "0",
      "quiet time before the messages of a burst become one turn; 0: each begins one"),
    N("messages.queue.debounce", CHELA_DURATION, "500ms", "quiet time before \"collect\" begins"),
    N("messages.queue.cap", CHELA_INT, "20", "most messages that wait"),
    CHOICE("messages.queue.drop", queue_drops, "summarize", "what happens beyond the cap"),
    N("messages.drafts", CHELA_BOOL, "true",
      "the answer grows in the chat, if its channel can edit"),
    N("messages.typing", CHELA_BOOL, "true", "\"is typing\" is shown while a turn works"),
    ITEMS("messages.queue.by_channel", queue_channel_items, "other modes for some channels"),

    /* durability */
    N("owners", CHELA_LIST, NULL,
      "who may use the owner's commands, as \"channel:sender\" or an identity's name"),
    ITEMS("bindings", binding_items,
          "agent and session by where a message comes from: peer before account before channel"),
    CHOICE("durability", durabilities, "power", "what an acknowledgement promises"),
    CHOICE("on_unknown", unknown_sends, "hold", "after a crash in the middle of a delivery"),

    /* plugins */
    N("isolated", CHELA_LIST, NULL, "modules that get a process of their own"),
    N("plugins.path", CHELA_LIST, NULL, "folders with plugins, before the installed one"),
    N("plugins.defaults", CHELA_LIST,
      "store_sqlite, provider_anthropic, provider_openai, provider_ollama, provider_demo, "
      "router_rules, router_llm, tool_files, tool_exec, tool_memory, tool_skills, tool_web, "
      "tool_sessions, tool_cron, channel_cli, channel_heartbeat, channel_webchat",
      "modules whose types exist without configuration; those not installed are left out"),

    /* logging */
    P_CHOICE("logging.level", log_levels, "info", "how much is logged"),
    CHOICE("logging.format", log_formats, "auto", "form of a line"), END};

const struct chela_option settings_instance_table[] = {
    T("type", NULL, "type of the instance; absent: its name"),
    T("plugin", NULL, "module that has the type; absent: KIND_TYPE, e.g. provider_openai"),
    T("name", NULL, "another name than the group's, e.g. \"llama.cpp\""),
    N("enabled", CHELA_BOOL, "true", "false: nothing of it is loaded or checked"), END};

static const struct chela_option dm_policies[] = {
    V("pairing", "who isn't known gets a code, which the owner approves"),
    V("allowlist", "allow_from, and who was paired"),
    V("open", "everybody; allow_from must say \"*\""), V("disabled", "no direct chats"), END};

static const struct chela_option group_policies[] = {
    V("allowlist", "the groups of groups, the people of group_allow_from, or both"),
    V("open", "all groups, if group_allow_from is absent or names the sender"),
    V("disabled", "no groups"), END};

static const struct chela_option group_items[] = {
    {"chat", CHELA_STRING, CHELA_REQUIRED, NULL, "id of the group, \"*\" = any other", NULL},
    N("require_mention", CHELA_BOOL, NULL, "as the channel's"),
    N("allow_from", CHELA_LIST, NULL, "only these people; absent: group_allow_from"),
    END};

const struct chela_option settings_channel_table[] = {
    T("type", NULL, "type of the instance; absent: its name"),
    T("plugin", NULL, "module that has the type; absent: KIND_TYPE, e.g. provider_openai"),
    T("name", NULL, "another name than the group's, e.g. \"llama.cpp\""),
    N("enabled", CHELA_BOOL, "true", "false: nothing of it is loaded or checked"),
    CHOICE("dm_policy", dm_policies, "pairing", "who may write to the assistant directly"),
    N("allow_from", CHELA_LIST, NULL,
      "senders: their ids, \"channel:id\", names of identities, \"*\""),
    CHOICE("group_policy", group_policies, "allowlist", "in which groups it listens, and to whom"),
    N("group_allow_from", CHELA_LIST, NULL, "senders in groups, as allow_from"),
    ITEMS("groups", group_items, "groups it is in"),
    N("require_mention", CHELA_BOOL, "true", "in groups it answers only what is meant for it"),
    N("mention_patterns", CHELA_LIST, NULL,
      "regular expressions (case ignored) that mean it, beside the service's own mention"),
    N("context_messages", CHELA_INT, "50",
      "how many other messages of the group it is told with the next one that is meant for it"),
    END};

static const struct {
    const char *section, *kind;
} kinds[] = {{"stores", "store"},    {"hooks", "hook"}, {"providers", "provider"},
             {"routers", "router"},  {"tools", "tool"}, {"services", "service"},
             {"channels", "channel"}};

const char *const settings_sections[] = {"stores", "hooks",    "providers", "routers",
                                         "tools",  "services", "channels",  NULL};

const char *settings_kind(const char *section)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].section, section) == 0)
            return kinds[i].kind;
    return NULL;
}
