/*
 * The layout of the structs of the SDK (those that are not here stand in layout_more.c), on 64-bit
 * systems, as it was when each field was added. A change that moves a field or shrinks a struct
 * does not compile. What was added at the end gets a new line here and one in sdk/abi/HISTORY; the
 * lines that are there stay as they are.
 */
#include <chela/chela.h>

/* one line for each field: */
/* clang-format off */
#define SIZE(type, least) \
    _Static_assert(sizeof(struct chela_##type) >= (least), "struct chela_" #type " has shrunk")
#define FROZEN(type, size) \
    _Static_assert(sizeof(struct chela_##type) == (size), "struct chela_" #type " is frozen")
#define AT(type, field, offset) \
    _Static_assert(offsetof(struct chela_##type, field) == (offset), "chela_" #type "." #field)

SIZE(text, 40);
AT(text, h, 0);
AT(text, text, 24);

SIZE(thinking, 56);
AT(thinking, h, 0);
AT(thinking, text, 24);
AT(thinking, signature, 40);

SIZE(tool_call, 80);
AT(tool_call, h, 0);
AT(tool_call, index, 24);
AT(tool_call, zero, 28);
AT(tool_call, id, 32);
AT(tool_call, name, 48);
AT(tool_call, arguments, 64);

SIZE(usage, 64);
AT(usage, h, 0);
AT(usage, in, 24);
AT(usage, out, 32);
AT(usage, cache_read, 40);
AT(usage, cache_write, 48);
AT(usage, reasoning, 56);

SIZE(decide, 80);
AT(decide, h, 0);
AT(decide, verdict, 24);
AT(decide, zero, 28);
AT(decide, text, 32);
AT(decide, extra, 48);
AT(decide, candidates, 64);

SIZE(rows, 48);
AT(rows, h, 0);
AT(rows, columns, 24);
AT(rows, zero, 28);
AT(rows, values, 32);

SIZE(publish, 56);
AT(publish, h, 0);
AT(publish, what, 24);
AT(publish, zero, 28);
AT(publish, revision, 32);
AT(publish, items, 40);

SIZE(answer, 72);
AT(answer, size, 0);
AT(answer, zero, 4);
AT(answer, done, 8);
AT(answer, text, 16);
AT(answer, thinking, 24);
AT(answer, tool_call, 32);
AT(answer, usage, 40);
AT(answer, decide, 48);
AT(answer, rows, 56);
AT(answer, publish, 64);

FROZEN(str, 16);
AT(str, s, 0);
AT(str, n, 8);

FROZEN(pair, 32);
AT(pair, name, 0);
AT(pair, value, 16);

FROZEN(pairs, 16);
AT(pairs, v, 0);
AT(pairs, n, 8);

FROZEN(value, 40);
AT(value, type, 0);
AT(value, zero, 4);
AT(value, i, 8);
AT(value, d, 16);
AT(value, s, 24);

FROZEN(values, 16);
AT(values, v, 0);
AT(values, n, 8);

FROZEN(head, 24);
AT(head, size, 0);
AT(head, flags, 4);
AT(head, call, 8);
AT(head, tag, 16);

FROZEN(arg, 24);
AT(arg, h, 0);

SIZE(done, 88);
AT(done, h, 0);
AT(done, error, 24);
AT(done, http_status, 28);
AT(done, retry_after_ms, 32);
AT(done, text, 40);
AT(done, extra, 56);
AT(done, headers, 72);

SIZE(send, 184);
AT(send, h, 0);
AT(send, account, 24);
AT(send, chat, 40);
AT(send, thread, 56);
AT(send, reply_to, 72);
AT(send, key, 88);
AT(send, message, 104);
AT(send, text, 120);
AT(send, extra, 136);
AT(send, media, 152);
AT(send, buttons, 168);

SIZE(fetch, 56);
AT(fetch, h, 0);
AT(fetch, account, 24);
AT(fetch, reference, 40);

SIZE(client_message, 120);
AT(client_message, h, 0);
AT(client_message, client, 24);
AT(client_message, session, 40);
AT(client_message, key, 56);
AT(client_message, text, 72);
AT(client_message, extra, 88);
AT(client_message, media, 104);

SIZE(channel, 112);
AT(channel, size, 0);
AT(channel, send_class, 4);
AT(channel, can, 8);
AT(channel, unit, 12);
AT(channel, text_limit, 16);
AT(channel, key_window_ms, 24);
AT(channel, dialect, 32);
AT(channel, platform, 40);
AT(channel, send, 48);
AT(channel, edit, 56);
AT(channel, react, 64);
AT(channel, typing, 72);
AT(channel, find, 80);
AT(channel, fetch, 88);
AT(channel, client, 96);
AT(channel, edit_ms, 104);

SIZE(submit, 256);
AT(submit, h, 0);
AT(submit, version, 24);
AT(submit, at, 32);
AT(submit, chat_type, 40);
AT(submit, zero, 44);
AT(submit, kind, 48);
AT(submit, event, 64);
AT(submit, account, 80);
AT(submit, chat, 96);
AT(submit, thread, 112);
AT(submit, sender, 128);
AT(submit, sender_name, 144);
AT(submit, session, 160);
AT(submit, text, 176);
AT(submit, reply_to, 192);
AT(submit, quote, 208);
AT(submit, extra, 224);
AT(submit, media, 240);

SIZE(receipt, 104);
AT(receipt, h, 0);
AT(receipt, account, 24);
AT(receipt, chat, 40);
AT(receipt, message, 56);
AT(receipt, state, 72);
AT(receipt, text, 88);

SIZE(ask, 104);
AT(ask, h, 0);
AT(ask, parent, 24);
AT(ask, timeout_ms, 32);
AT(ask, max_tokens, 36);
AT(ask, purpose, 40);
AT(ask, system, 56);
AT(ask, text, 72);
AT(ask, schema, 88);

SIZE(markup, 72);
AT(markup, h, 0);
AT(markup, limit, 24);
AT(markup, unit, 32);
AT(markup, zero, 36);
AT(markup, text, 40);
AT(markup, dialect, 56);

SIZE(chat, 40);
AT(chat, size, 0);
AT(chat, zero, 4);
AT(chat, submit, 8);
AT(chat, receipt, 16);
AT(chat, ask, 24);
AT(chat, markup, 32);
SIZE(chat, 56); /* 0.10 */
AT(chat, invoke, 40);
AT(chat, embed, 48);

SIZE(invoke, 64);
AT(invoke, h, 0);
AT(invoke, parent, 24);
AT(invoke, name, 32);
AT(invoke, params, 48);

SIZE(embedding, 64);
AT(embedding, h, 0);
AT(embedding, parent, 24);
AT(embedding, model, 32);
AT(embedding, texts, 48);

SIZE(hook_event, 80);
AT(hook_event, h, 0);
AT(hook_event, point, 24);
AT(hook_event, zero, 28);
AT(hook_event, name, 32);
AT(hook_event, session, 48);
AT(hook_event, json, 64);

SIZE(hook, 16);
AT(hook, size, 0);
AT(hook, points, 4);
AT(hook, event, 8);

SIZE(host, 64);
AT(host, size, 0);
AT(host, major, 4);
AT(host, minor, 6);
AT(host, local, 8);
AT(host, answer, 16);
AT(host, net, 24);
AT(host, process, 32);
AT(host, chat, 40);
AT(host, kv, 48);
AT(host, query, 56);

SIZE(key, 64);
AT(key, h, 0);
AT(key, parent, 24);
AT(key, key, 32);
AT(key, value, 48);

SIZE(kv, 56);
AT(kv, size, 0);
AT(kv, zero, 4);
AT(kv, get, 8);
AT(kv, put, 16);
AT(kv, del, 24);
AT(kv, list, 32);
AT(kv, blob_put, 40);
AT(kv, blob_get, 48);
SIZE(kv, 72); /* 0.10 */
AT(kv, index, 56);
AT(kv, search, 64);

SIZE(index, 72);
AT(index, h, 0);
AT(index, parent, 24);
AT(index, at, 32);
AT(index, document, 40);
AT(index, parts, 56);

SIZE(search, 56);
AT(search, h, 0);
AT(search, parent, 24);
AT(search, limit, 32);
AT(search, zero, 36);
AT(search, text, 40);

SIZE(local, 112);
AT(local, size, 0);
AT(local, zero, 4);
AT(local, log, 8);
AT(local, option, 16);
AT(local, number, 24);
AT(local, new_call, 32);
AT(local, now_ms, 40);
AT(local, ticks_ms, 48);
AT(local, timer, 56);
AT(local, timer_stop, 64);
AT(local, watch, 72);
AT(local, unwatch, 80);
AT(local, post, 88);
AT(local, work, 96);
AT(local, metric, 104);

SIZE(http, 120);
AT(http, h, 0);
AT(http, parent, 24);
AT(http, limit, 32);
AT(http, decode, 40);
AT(http, timeout_ms, 44);
AT(http, idle_ms, 48);
AT(http, connect_ms, 52);
AT(http, method, 56);
AT(http, url, 72);
AT(http, body, 88);
AT(http, headers, 104);

SIZE(http_event, 80);
AT(http_event, h, 0);
AT(http_event, status, 24);
AT(http_event, zero, 28);
AT(http_event, name, 32);
AT(http_event, data, 48);
AT(http_event, id, 64);
SIZE(http_event, 104); /* 0.10 */
AT(http_event, retry_ms, 80);
AT(http_event, headers, 88);

SIZE(ws_connect, 96);
AT(ws_connect, h, 0);
AT(ws_connect, parent, 24);
AT(ws_connect, limit, 32);
AT(ws_connect, timeout_ms, 40);
AT(ws_connect, ping_ms, 44);
AT(ws_connect, url, 48);
AT(ws_connect, protocols, 64);
AT(ws_connect, headers, 80);
