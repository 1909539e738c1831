/*
 * The layout of the structs of the SDK that are not in layout.c, on 64-bit systems, as it was when
 * each field was added. A change that moves a field or shrinks a struct does not compile. What was
 * added at the end gets a new line here and one in sdk/abi/HISTORY; the lines that are there stay
 * as they are.
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

SIZE(facts, 232);
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
AT(facts, attachments, 200);
AT(facts, previous, 216);

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

SIZE(tool_run, 176);
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
AT(tool_run, run, 160);

SIZE(tool, 24);
AT(tool, size, 0);
AT(tool, zero, 4);
AT(tool, prepare, 8);
AT(tool, run, 16);

/* numbers that stand in files and frames */
_Static_assert(CHELA_MAGIC == 0x414c4843u, "the descriptor's mark has changed");
_Static_assert(CHELA_E_UNKNOWN == 22, "a class of errors has changed");
_Static_assert(CHELA_V_OP == 5 && CHELA_STATE == 7, "a number has changed");
