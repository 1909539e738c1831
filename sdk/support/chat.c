/*
 * The form of chat completions (see chat.h).
 */
#include "support/chat.h"

void chela_chat_text(FILE *out, json_object *part)
{
    chela_write_member(out, "{\"type\":\"text\",\"text\":", part, "text");
    fputc('}', out);
}

void chela_chat_absent(FILE *out, json_object *part)
{
    fputs("{\"type\":\"text\",\"text\":", out);
    chela_write_absent(out, part);
    fputc('}', out);
}

void chela_chat_user(FILE *out, const struct chela_message *m, chela_message_writer *content,
                     chela_part_writer *part)
{
    size_t parts = chela_json_length(m->content);
    fputs("{\"role\":\"user\",\"content\":", out);
    if (parts == 1 && chela_part_is(chela_json_at(m->content, 0), "text")) {
        chela_write_member(out, "", chela_json_at(m->content, 0), "text");
    } else if (content) {
        content(out, m);
    } else {
        for (size_t i = 0; i < parts; i++) {
            fputc(i ? ',' : '[', out);
            part(out, m, chela_json_at(m->content, i));
        }
        fputs(parts ? "]" : "\"\"", out);
    }
    fputc('}', out);
}

static void write_call(FILE *out, const struct chela_message *m, json_object *call, bool objects)
{
    char name[CHELA_NAME_SIZE], id[CHELA_NAME_SIZE];
    chela_part_wire_name(m, call, name);
    chela_part_wire_id(m, call, id);
    fprintf(out,
            "{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":", id,
            name);
    if (objects)
        chela_write_arguments(out, call);
    else
        chela_write_arguments_string(out, call);
    fputs("}}", out);
}

void chela_chat_calls(FILE *out, const struct chela_message *m, bool objects)
{
    bool first = true;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        if (!chela_part_is(part, "toolCall"))
            continue;
        fputs(first ? ",\"tool_calls\":[" : ",", out);
        write_call(out, m, part, objects);
        first = false;
    }
    if (!first)
        fputc(']', out);
}

static void write_tool(FILE *out, struct chela_offer *tool, const void *arg)
{
    (void)arg;
    fprintf(out, "{\"type\":\"function\",\"function\":{\"name\":\"%s\"", tool->wire);
    chela_write_member(out, ",\"description\":", tool->manifest, "description");
    fputs(",\"parameters\":", out);
    chela_write_json(out, tool->parameters);
    fputs("}}", out);
}

void chela_chat_tools(FILE *out, struct chela_toolset *tools)
{
    chela_toolset_write(out, tools, ",\"tools\":[", write_tool, NULL, "]");
}
