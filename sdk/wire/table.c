/*
 * The table of all functions (see table.h). The list of functions.h becomes rows with typed
 * callers; below, each argument struct is described field by field.
 */
#include "wire/table.h"

#include <string.h>

#define F(tag, field) WIRE_FIELD(chela_##tag, field)
#define Z(tag, field) WIRE_RESERVED(chela_##tag, field)

/* start, stop, check, apply, cancel: a head, nothing else */
static const struct wire_args chela_arg_args = {"chela_arg", sizeof(struct chela_arg), 0, NULL};

WIRE_ARGS(chela_http_event, F(http_event, status), Z(http_event, zero), F(http_event, name),
          F(http_event, data), F(http_event, id), F(http_event, retry_ms), F(http_event, headers));
WIRE_ARGS(chela_ws_event, F(ws_event, kind), F(ws_event, code), F(ws_event, data));
WIRE_ARGS(chela_output, F(output, stream), Z(output, zero), F(output, data));
WIRE_ARGS(chela_rows, F(rows, columns), Z(rows, zero), F(rows, values));
WIRE_ARGS(chela_done, F(done, error), F(done, http_status), F(done, retry_after_ms), F(done, text),
          F(done, extra), F(done, headers));
WIRE_ARGS(chela_send, F(send, account), F(send, chat), F(send, thread), F(send, reply_to),
          F(send, key), F(send, message), F(send, text), F(send, extra), F(send, media),
          F(send, buttons));
WIRE_ARGS(chela_fetch, F(fetch, account), F(fetch, reference));
WIRE_ARGS(chela_client_message, F(client_message, client), F(client_message, session),
          F(client_message, key), F(client_message, text), F(client_message, extra),
          F(client_message, media));
WIRE_ARGS(chela_begin, F(begin, model), F(begin, system), F(begin, params), F(begin, messages),
          F(begin, tools), F(begin, blobs));
WIRE_ARGS(chela_render, F(render, model), F(render, role), F(render, message), F(render, blobs));
WIRE_ARGS(chela_embed, F(embed, model), F(embed, texts));
WIRE_ARGS(chela_facts, F(facts, tool_calls), F(facts, images), F(facts, tools), Z(facts, zero),
          F(facts, context_tokens), F(facts, at), F(facts, text), F(facts, prefer),
          F(facts, channel), F(facts, account), F(facts, chat), F(facts, sender), F(facts, agent),
          F(facts, session), F(facts, models), F(facts, attachments), F(facts, previous));
WIRE_ARGS(chela_tool_run, F(tool_run, timeout_ms), F(tool_run, name), F(tool_run, arguments),
          F(tool_run, call_id), F(tool_run, agent), F(tool_run, session), F(tool_run, workspace),
          F(tool_run, source), F(tool_run, binding), F(tool_run, run));
WIRE_ARGS(chela_store_open, F(store_open, statements), F(store_open, migrations));
WIRE_ARGS(chela_batch, F(batch, id), F(batch, after), F(batch, fence), F(batch, durability),
          Z(batch, zero), F(batch, partition), F(batch, ops));
WIRE_ARGS(chela_query, F(query, statement), F(query, limit), F(query, parameters));
WIRE_ARGS(chela_blob, F(blob, hash), F(blob, data));
WIRE_ARGS(chela_lease, F(lease, token), F(lease, ttl_ms), F(lease, partition), F(lease, owner));
WIRE_ARGS(chela_backup, F(backup, target));
WIRE_ARGS(chela_hook_event, F(hook_event, point), Z(hook_event, zero), F(hook_event, name),
          F(hook_event, session), F(hook_event, json));
WIRE_ARGS(chela_request, F(request, method), F(request, path), F(request, query),
          F(request, remote), F(request, body), F(request, headers));
WIRE_ARGS(chela_method, F(method, name), F(method, params), F(method, client));
WIRE_ARGS(chela_command, F(command, name), F(command, arguments), F(command, session),
          F(command, agent), F(command, sender), F(command, channel));
WIRE_ARGS(chela_prompt, F(prompt, name), F(prompt, session), F(prompt, agent), F(prompt, workspace),
          F(prompt, text));
WIRE_ARGS(chela_text, F(text, text));
WIRE_ARGS(chela_thinking, F(thinking, text), F(thinking, signature));
WIRE_ARGS(chela_tool_call, F(tool_call, index), Z(tool_call, zero), F(tool_call, id),
          F(tool_call, name), F(tool_call, arguments));
WIRE_ARGS(chela_usage, F(usage, in), F(usage, out), F(usage, cache_read), F(usage, cache_write),
          F(usage, reasoning));
WIRE_ARGS(chela_decide, F(decide, verdict), Z(decide, zero), F(decide, text), F(decide, extra),
          F(decide, candidates));
WIRE_ARGS(chela_publish, F(publish, what), Z(publish, zero), F(publish, revision),
          F(publish, items));
WIRE_ARGS(chela_http, F(http, parent), F(http, limit), F(http, decode), F(http, timeout_ms),
          F(http, idle_ms), F(http, connect_ms), F(http, method), F(http, url), F(http, body),
          F(http, headers));
WIRE_ARGS(chela_ws_connect, F(ws_connect, parent), F(ws_connect, limit), F(ws_connect, timeout_ms),
          F(ws_connect, ping_ms), F(ws_connect, url), F(ws_connect, protocols),
          F(ws_connect, headers));
WIRE_ARGS(chela_ws_send, F(ws_send, kind), F(ws_send, code), F(ws_send, data));
WIRE_ARGS(chela_sign, F(sign, algorithm), F(sign, secret), F(sign, data));
WIRE_ARGS(chela_spawn, F(spawn, parent), F(spawn, timeout_ms), F(spawn, confine), F(spawn, rows),
          F(spawn, columns), Z(spawn, zero), F(spawn, directory), F(spawn, limits),
          F(spawn, arguments), F(spawn, environment));
WIRE_ARGS(chela_write, F(write, data));
WIRE_ARGS(chela_control, F(control, rows), F(control, columns), F(control, signal),
          Z(control, zero));
WIRE_ARGS(chela_submit, F(submit, version), F(submit, at), F(submit, chat_type), Z(submit, zero),
          F(submit, kind), F(submit, event), F(submit, account), F(submit, chat), F(submit, thread),
          F(submit, sender), F(submit, sender_name), F(submit, session), F(submit, text),
          F(submit, reply_to), F(submit, quote), F(submit, extra), F(submit, media));
WIRE_ARGS(chela_receipt, F(receipt, account), F(receipt, chat), F(receipt, message),
          F(receipt, state), F(receipt, text));
WIRE_ARGS(chela_ask, F(ask, parent), F(ask, timeout_ms), F(ask, max_tokens), F(ask, purpose),
          F(ask, system), F(ask, text), F(ask, schema));
WIRE_ARGS(chela_markup, F(markup, limit), F(markup, unit), Z(markup, zero), F(markup, text),
          F(markup, dialect));
WIRE_ARGS(chela_key, F(key, parent), F(key, key), F(key, value));
WIRE_ARGS(chela_invoke, F(invoke, parent), F(invoke, name), F(invoke, params));
WIRE_ARGS(chela_embedding, F(embedding, parent), F(embedding, model), F(embedding, texts));
WIRE_ARGS(chela_index, F(index, parent), F(index, at), F(index, document), F(index, parts));
WIRE_ARGS(chela_search, F(search, parent), F(search, limit), Z(search, zero), F(search, text));

#undef F
#undef Z

/* A caller and a test of the slot for each function, so that no function is ever called through a
 * pointer of another type. */
#define FUNCTION(name_, number_, text_, direction_, table_, slot_, args_, act_)                    \
    static bool has_##name_(const void *table)                                                     \
    {                                                                                              \
        return ((const struct chela_##table_ *)table)->slot_ != NULL;                              \
    }                                                                                              \
    static void call_##name_(const void *table, struct chela_inst *in, const void *args)           \
    {                                                                                              \
        ((const struct chela_##table_ *)table)->slot_(in, (const struct chela_##args_ *)args);     \
    }
CHELA_FUNCTIONS(FUNCTION)
#undef FUNCTION

#define FUNCTION(name_, number_, text_, direction_, table_, slot_, args_, act_)                    \
    [number_] = {text_,                                                                            \
                 number_,                                                                          \
                 WIRE_TO_##direction_,                                                             \
                 WIRE_TABLE_##table_,                                                              \
                 WIRE_##act_,                                                                      \
                 &chela_##args_##_args,                                                            \
                 has_##name_,                                                                      \
                 call_##name_},
static const struct wire_function functions[] = {CHELA_FUNCTIONS(FUNCTION)};
#undef FUNCTION

enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

const struct wire_function *wire_function(uint32_t number)
{
    return number < FUNCTION_COUNT && functions[number].name ? &functions[number] : NULL;
}

const struct wire_function *wire_function_next(const struct wire_function *f)
{
    for (uint32_t i = f ? f->number + 1 : 0; i < FUNCTION_COUNT; i++)
        if (functions[i].name)
            return &functions[i];
    return NULL;
}

const void *wire_table_of(const struct chela_iface *iface, enum wire_table table)
{
    switch (table) {
    case WIRE_TABLE_iface: return iface;
    case WIRE_TABLE_channel: return iface->channel;
    case WIRE_TABLE_provider: return iface->provider;
    case WIRE_TABLE_router: return iface->router;
    case WIRE_TABLE_tool: return iface->tool;
    case WIRE_TABLE_store: return iface->store;
    case WIRE_TABLE_hook: return iface->hook;
    case WIRE_TABLE_service: return iface->service;
    case WIRE_TABLE_answer:
    case WIRE_TABLE_net:
    case WIRE_TABLE_process:
    case WIRE_TABLE_chat:
    case WIRE_TABLE_kv: break; /* the host's */
    }
    return NULL;
}

bool wire_args_complete(const struct wire_args *a)
{
    size_t at = sizeof(struct chela_head);
    for (unsigned i = 0; i < a->count; i++) {
        if (a->fields[i].offset != at)
            return false;
        at += a->fields[i].size;
    }
    return at == a->size;
}

const char *wire_check(void)
{
    for (const struct wire_function *f = NULL; (f = wire_function_next(f));) {
        if (!wire_args_complete(f->args))
            return f->args->name;
        if (f->number != (uint32_t)(f - functions))
            return f->name;
        for (const struct wire_function *g = f; (g = wire_function_next(g));)
            if (strcmp(f->name, g->name) == 0)
                return f->name;
    }
    return NULL;
}
