/*
 * Every function that crosses between the host and a plugin, once: its number, its name in traces,
 * which way it goes, the table and slot it stands in, its arguments, and what it does to a call.
 * From this one list come the numbers below, the typed callers of table.c and the host's thunks.
 *
 * Numbers only append; they stand in recorded traces.
 *
 * What a function does to the call that its head names:
 *   BEGIN    begins it; ended by `done`
 *   VERDICT  begins it; ended by `decide`, or by a `done` with an error
 *   EVENT    belongs to a call that the receiver began
 *   END      ends a call that the receiver began
 *   SEND     goes to a call that the sender began
 *   CANCEL   asks for the end of a call that the sender began
 *   PLAIN    nothing
 */
#ifndef WIRE_FUNCTIONS_H
#define WIRE_FUNCTIONS_H

#include <chela/chela.h>

/* F(name, number, text, direction, table, slot, arguments, act) */
#define CHELA_FUNCTIONS(F)                                                                         \
    F(START, 1, "start", PLUGIN, iface, start, arg, BEGIN)                                         \
    F(STOP, 2, "stop", PLUGIN, iface, stop, arg, BEGIN)                                            \
    F(CHECK, 3, "check", PLUGIN, iface, check, arg, BEGIN)                                         \
    F(APPLY, 4, "apply", PLUGIN, iface, apply, arg, BEGIN)                                         \
    F(CANCEL, 5, "cancel", PLUGIN, iface, cancel, arg, CANCEL)                                     \
    F(HTTP_EVENT, 6, "http event", PLUGIN, iface, http, http_event, EVENT)                         \
    F(WS_EVENT, 7, "ws event", PLUGIN, iface, ws, ws_event, EVENT)                                 \
    F(OUTPUT, 8, "output", PLUGIN, iface, output, output, EVENT)                                   \
    F(INST_ROWS, 9, "rows to plugin", PLUGIN, iface, rows, rows, EVENT)                            \
    F(INST_DONE, 10, "done to plugin", PLUGIN, iface, done, done, END)                             \
    F(CHANNEL_SEND, 11, "channel send", PLUGIN, channel, send, send, BEGIN)                        \
    F(CHANNEL_EDIT, 12, "channel edit", PLUGIN, channel, edit, send, BEGIN)                        \
    F(CHANNEL_REACT, 13, "channel react", PLUGIN, channel, react, send, BEGIN)                     \
    F(CHANNEL_TYPING, 14, "channel typing", PLUGIN, channel, typing, send, PLAIN)                  \
    F(CHANNEL_FIND, 15, "channel find", PLUGIN, channel, find, send, BEGIN)                        \
    F(CHANNEL_FETCH, 16, "channel fetch", PLUGIN, channel, fetch, fetch, BEGIN)                    \
    F(CHANNEL_CLIENT, 17, "channel client", PLUGIN, channel, client, client_message, BEGIN)        \
    F(PROVIDER_BEGIN, 18, "provider begin", PLUGIN, provider, begin, begin, BEGIN)                 \
    F(PROVIDER_RENDER, 19, "provider render", PLUGIN, provider, render, render, BEGIN)             \
    F(PROVIDER_EMBED, 20, "provider embed", PLUGIN, provider, embed, embed, BEGIN)                 \
    F(ROUTER_ROUTE, 21, "router route", PLUGIN, router, route, facts, VERDICT)                     \
    F(TOOL_PREPARE, 22, "tool prepare", PLUGIN, tool, prepare, tool_run, VERDICT)                  \
    F(TOOL_RUN, 23, "tool run", PLUGIN, tool, run, tool_run, BEGIN)                                \
    F(STORE_OPEN_DB, 24, "store open", PLUGIN, store, open_db, store_open, BEGIN)                  \
    F(STORE_COMMIT, 25, "store commit", PLUGIN, store, commit, batch, BEGIN)                       \
    F(STORE_QUERY, 26, "store query", PLUGIN, store, query, query, BEGIN)                          \
    F(STORE_BLOB_PUT, 27, "store blob put", PLUGIN, store, blob_put, blob, BEGIN)                  \
    F(STORE_BLOB_GET, 28, "store blob get", PLUGIN, store, blob_get, blob, BEGIN)                  \
    F(STORE_LEASE, 29, "store lease", PLUGIN, store, lease, lease, BEGIN)                          \
    F(STORE_BACKUP, 30, "store backup", PLUGIN, store, backup, backup, BEGIN)                      \
    F(HOOK_EVENT, 31, "hook event", PLUGIN, hook, event, hook_event, VERDICT)                      \
    F(SERVICE_REQUEST, 32, "service request", PLUGIN, service, request, request, BEGIN)            \
    F(SERVICE_METHOD, 33, "service method", PLUGIN, service, method, method, BEGIN)                \
    F(SERVICE_COMMAND, 34, "service command", PLUGIN, service, command, command, BEGIN)            \
    F(SERVICE_PROMPT, 35, "service prompt", PLUGIN, service, prompt, prompt, BEGIN)                \
    F(DONE, 64, "done", HOST, answer, done, done, END)                                             \
    F(TEXT, 65, "text", HOST, answer, text, text, EVENT)                                           \
    F(THINKING, 66, "thinking", HOST, answer, thinking, thinking, EVENT)                           \
    F(TOOL_CALL, 67, "tool call", HOST, answer, tool_call, tool_call, EVENT)                       \
    F(USAGE, 68, "usage", HOST, answer, usage, usage, EVENT)                                       \
    F(DECIDE, 69, "decide", HOST, answer, decide, decide, END)                                     \
    F(ROWS, 70, "rows", HOST, answer, rows, rows, EVENT)                                           \
    F(PUBLISH, 71, "publish", HOST, answer, publish, publish, PLAIN)                               \
    F(HTTP, 72, "http", HOST, net, http, http, BEGIN)                                              \
    F(WS_CONNECT, 73, "ws connect", HOST, net, ws_connect, ws_connect, BEGIN)                      \
    F(WS_SEND, 74, "ws send", HOST, net, ws_send, ws_send, SEND)                                   \
    F(SIGN, 75, "sign", HOST, net, sign, sign, BEGIN)                                              \
    F(NET_CANCEL, 76, "cancel by plugin", HOST, net, cancel, arg, CANCEL)                          \
    F(SPAWN, 77, "spawn", HOST, process, spawn, spawn, BEGIN)                                      \
    F(WRITE, 78, "write", HOST, process, write, write, SEND)                                       \
    F(CONTROL, 79, "control", HOST, process, control, control, SEND)                               \
    F(SUBMIT, 80, "submit", HOST, chat, submit, submit, BEGIN)                                     \
    F(RECEIPT, 81, "receipt", HOST, chat, receipt, receipt, PLAIN)                                 \
    F(ASK, 82, "ask", HOST, chat, ask, ask, BEGIN)                                                 \
    F(MARKUP, 83, "markup", HOST, chat, markup, markup, BEGIN)                                     \
    F(KV_GET, 84, "kv get", HOST, kv, get, key, BEGIN)                                             \
    F(KV_PUT, 85, "kv put", HOST, kv, put, key, BEGIN)                                             \
    F(KV_DEL, 86, "kv del", HOST, kv, del, key, BEGIN)                                             \
    F(KV_LIST, 87, "kv list", HOST, kv, list, key, BEGIN)                                          \
    F(KV_BLOB_PUT, 88, "kv blob put", HOST, kv, blob_put, key, BEGIN)                              \
    F(KV_BLOB_GET, 89, "kv blob get", HOST, kv, blob_get, key, BEGIN)                              \
    F(INVOKE, 90, "invoke", HOST, chat, invoke, invoke, BEGIN)                                     \
    F(EMBED, 91, "embed", HOST, chat, embed, embedding, BEGIN)                                     \
    F(KV_INDEX, 92, "kv index", HOST, kv, index, index, BEGIN)                                     \
    F(KV_SEARCH, 93, "kv search", HOST, kv, search, search, BEGIN)

/* CHELA_FN_START ... CHELA_FN_KV_SEARCH */
enum {
    CHELA_FN_NONE = 0,
#define FUNCTION(name, number, ...) CHELA_FN_##name = number,
    CHELA_FUNCTIONS(FUNCTION)
#undef FUNCTION
        CHELA_FN_COUNT
};

#endif
