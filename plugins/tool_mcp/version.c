/*
 * The protocol's versions: which we speak, and what a client says of itself in each. A version
 * without an initialize handshake (2026-07-28) would be another row and another hello; nothing else
 * in this plugin names a version.
 */
#include "mcp.h"

#include <string.h>

static const struct version versions[] = {
    {"2025-11-25", true, true, true},
    {"2025-06-18", true, true, false},
    {"2025-03-26", false, false, false},
    {"2024-11-05", false, false, false},
};

const struct version *const version_newest = &versions[0];

const struct version *version_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof versions / sizeof versions[0]; i++)
        if (strcmp(versions[i].name, name) == 0)
            return &versions[i];
    return NULL;
}

json_object *version_hello(const struct server *s)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "protocolVersion", version_newest->name);
    json_object *can = chela_json_put_object(o, "capabilities");
    if (server_number(s, "roots") > 0)
        chela_json_put_bool(chela_json_put_object(can, "roots"), "listChanged", false);
    if (!chela_str_is(server_option(s, "sampling"), "deny"))
        chela_json_put_object(can, "sampling");
    if (!chela_str_is(server_option(s, "elicitation"), "deny")) {
        json_object *elicitation = chela_json_put_object(can, "elicitation");
        chela_json_put_object(elicitation, "form");
        chela_json_put_object(elicitation, "url");
    }
    json_object *info = chela_json_put_object(o, "clientInfo");
    chela_json_put_text(info, "name", "chela");
    chela_json_put_text(info, "title", "Chela");
    chela_json_put_text(info, "version", "0.9.0");
    return o;
}
