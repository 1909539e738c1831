/*
 * The layout of every struct of the SDK, on 64-bit systems, as it was when each field was added. A
 * change that moves a field or shrinks a struct does not compile. What was added at the end gets a
 * new line here and one in sdk/abi/HISTORY; the lines that are there stay as they are.
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

SIZE(ws_event, 48);
AT(ws_event, h, 0);
AT(ws_event, kind, 24);
AT(ws_event, code, 28);
AT(ws_event, data, 32);

SIZE(ws_send, 48);
AT(ws_send, h, 0);
AT(ws_send, kind, 24);
AT(ws_send, code, 28);
AT(ws_send, data, 32);

SIZE(sign, 72);
AT(sign, h, 0);
AT(sign, algorithm, 24);
AT(sign, secret, 40);
AT(sign, data, 56);

SIZE(net, 48);
AT(net, size, 0);
AT(net, zero, 4);
AT(net, http, 8);
AT(net, ws_connect, 16);
AT(net, ws_send, 24);
AT(net, sign, 32);
AT(net, cancel, 40);

SIZE(option, 40);
AT(option, name, 0);
AT(option, type, 8);
AT(option, flags, 12);
AT(option, fallback, 16);
AT(option, help, 24);
AT(option, items, 32);

FROZEN(inst, 24);
AT(inst, host, 0);
AT(inst, name, 8);
AT(inst, self, 16);

SIZE(iface, 192);
AT(iface, size, 0);
AT(iface, option_size, 4);
AT(iface, type, 8);
AT(iface, summary, 16);
AT(iface, caps, 24);
AT(iface, options, 32);
AT(iface, open, 40);
AT(iface, close, 48);
AT(iface, start, 56);
AT(iface, stop, 64);
AT(iface, check, 72);
AT(iface, apply, 80);
AT(iface, cancel, 88);
AT(iface, http, 96);
AT(iface, ws, 104);
AT(iface, output, 112);
AT(iface, rows, 120);
AT(iface, done, 128);
AT(iface, channel, 136);
AT(iface, provider, 144);
AT(iface, router, 152);
AT(iface, tool, 160);
AT(iface, store, 168);
AT(iface, hook, 176);
AT(iface, service, 184);

SIZE(plugin, 64);
AT(plugin, magic, 0);
AT(plugin, major, 4);
AT(plugin, minor, 6);
AT(plugin, size, 8);
AT(plugin, minor_need, 12);
AT(plugin, zero, 14);
AT(plugin, name, 16);
AT(plugin, version, 24);
AT(plugin, summary, 32);
AT(plugin, license, 40);
AT(plugin, origin, 48);
AT(plugin, ifaces, 56);

SIZE(spawn, 120);
AT(spawn, h, 0);
AT(spawn, parent, 24);
AT(spawn, timeout_ms, 32);
AT(spawn, confine, 40);
AT(spawn, rows, 44);
AT(spawn, columns, 48);
AT(spawn, zero, 52);
AT(spawn, directory, 56);
AT(spawn, limits, 72);
AT(spawn, arguments, 88);
AT(spawn, environment, 104);

SIZE(output, 48);
AT(output, h, 0);
AT(output, stream, 24);
AT(output, zero, 28);
AT(output, data, 32);

SIZE(write, 40);
AT(write, h, 0);
AT(write, data, 24);

SIZE(control, 40);
AT(control, h, 0);
AT(control, rows, 24);
AT(control, columns, 28);
AT(control, signal, 32);
AT(control, zero, 36);

SIZE(process, 32);
AT(process, size, 0);
AT(process, zero, 4);
AT(process, spawn, 8);
AT(process, write, 16);
AT(process, control, 24);

SIZE(begin, 120);
AT(begin, h, 0);
AT(begin, model, 24);
AT(begin, system, 40);
AT(begin, params, 56);
AT(begin, messages, 72);
AT(begin, tools, 88);
AT(begin, blobs, 104);

SIZE(render, 88);
AT(render, h, 0);
AT(render, model, 24);
AT(render, role, 40);
AT(render, message, 56);
AT(render, blobs, 72);

SIZE(embed, 56);
AT(embed, h, 0);
AT(embed, model, 24);
AT(embed, texts, 40);

SIZE(provider, 32);
AT(provider, size, 0);
AT(provider, zero, 4);
AT(provider, begin, 8);
AT(provider, render, 16);
AT(provider, embed, 24);

SIZE(facts, 200);
AT(facts, h, 0);
AT(facts, tool_calls, 24);
AT(facts, images, 28);
AT(facts, tools, 32);
AT(facts, zero, 36);
AT(facts, context_tokens, 40);
AT(facts, at, 48);
AT(facts, text, 56);
AT(facts, prefer, 72);
AT(facts, channel, 88);
AT(facts, account, 104);
AT(facts, chat, 120);
AT(facts, sender, 136);
AT(facts, agent, 152);
AT(facts, session, 168);
AT(facts, models, 184);

SIZE(router, 16);
AT(router, size, 0);
AT(router, zero, 4);
AT(router, route, 8);

SIZE(request, 120);
AT(request, h, 0);
AT(request, method, 24);
AT(request, path, 40);
AT(request, query, 56);
AT(request, remote, 72);
AT(request, body, 88);
AT(request, headers, 104);

SIZE(method, 72);
AT(method, h, 0);
AT(method, name, 24);
AT(method, params, 40);
AT(method, client, 56);

SIZE(command, 120);
AT(command, h, 0);
AT(command, name, 24);
AT(command, arguments, 40);
AT(command, session, 56);
AT(command, agent, 72);
AT(command, sender, 88);
AT(command, channel, 104);

SIZE(prompt, 104);
AT(prompt, h, 0);
AT(prompt, name, 24);
AT(prompt, session, 40);
AT(prompt, agent, 56);
AT(prompt, workspace, 72);
AT(prompt, text, 88);

SIZE(service, 40);
AT(service, size, 0);
AT(service, zero, 4);
AT(service, request, 8);
AT(service, method, 16);
AT(service, command, 24);
AT(service, prompt, 32);

SIZE(store_open, 56);
AT(store_open, h, 0);
AT(store_open, statements, 24);
AT(store_open, migrations, 40);

SIZE(batch, 88);
AT(batch, h, 0);
AT(batch, id, 24);
AT(batch, after, 32);
AT(batch, fence, 40);
AT(batch, durability, 48);
AT(batch, zero, 52);
AT(batch, partition, 56);
AT(batch, ops, 72);

SIZE(query, 48);
AT(query, h, 0);
AT(query, statement, 24);
AT(query, limit, 28);
AT(query, parameters, 32);

SIZE(blob, 56);
AT(blob, h, 0);
AT(blob, hash, 24);
AT(blob, data, 40);

SIZE(lease, 72);
AT(lease, h, 0);
AT(lease, token, 24);
AT(lease, ttl_ms, 32);
AT(lease, partition, 40);
AT(lease, owner, 56);

SIZE(backup, 40);
AT(backup, h, 0);
AT(backup, target, 24);

SIZE(store, 64);
AT(store, size, 0);
AT(store, zero, 4);
AT(store, open_db, 8);
AT(store, commit, 16);
AT(store, query, 24);
AT(store, blob_put, 32);
AT(store, blob_get, 40);
AT(store, lease, 48);
AT(store, backup, 56);

SIZE(tool_run, 160);
AT(tool_run, h, 0);
AT(tool_run, timeout_ms, 24);
AT(tool_run, name, 32);
AT(tool_run, arguments, 48);
AT(tool_run, call_id, 64);
AT(tool_run, agent, 80);
AT(tool_run, session, 96);
AT(tool_run, workspace, 112);
AT(tool_run, source, 128);
AT(tool_run, binding, 144);

SIZE(tool, 24);
AT(tool, size, 0);
AT(tool, zero, 4);
AT(tool, prepare, 8);
AT(tool, run, 16);

/* numbers that stand in files and frames */
_Static_assert(CHELA_MAGIC == 0x414c4843u, "the descriptor's mark has changed");
_Static_assert(CHELA_E_UNKNOWN == 22, "a class of errors has changed");
_Static_assert(CHELA_V_OP == 5 && CHELA_STATE == 7, "a number has changed");
