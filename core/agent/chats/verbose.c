/*
 * What verbose mode says (see verbose.h).
 */
#include "agent/chats/verbose.h"

#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/outbox.h"
#include "agent/transcript.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { THOUGHT_SHOWN = 1500, ARGUMENTS_SHOWN = 600, RESULT_SHOWN = 300 };

bool verbose_on(const char *session, const char *agent)
{
    const struct transcript *t = transcript_hot(session);
    const char *said = t ? transcript_field(t, "verbose") : "";
    return *said ? strcmp(said, "off") != 0 : agents_number(agent, "verbose", 0) != 0;
}

static void add_cut(struct buf *b, const char *text, size_t most)
{
    size_t n = strlen(text), shown = utf8_cut(text, n, most);
    buf_add(b, text, shown);
    if (shown < n)
        buf_puts(b, "...");
}

/* In a code block nothing of it is taken for markup. */
static void add_code(struct buf *b, const char *text, size_t most)
{
    struct buf clean = {0};
    add_cut(&clean, text, most);
    for (char *p = clean.p; clean.n && (p = strstr(p, "```")); p++)
        memcpy(p, "'''", 3);
    buf_printf(b, "```\n%s\n```\n", buf_text(&clean));
    buf_free(&clean);
}

void verbose_thinking(const struct message *m, struct json_object *parts)
{
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        const char *type = chela_json_string(chela_json_at(parts, i), "type", NULL);
        const char *text = chela_json_string(chela_json_at(parts, i), "thinking", NULL);
        if (!text)
            text = chela_json_string(chela_json_at(parts, i), "text", NULL);
        if (!type || strcmp(type, "thinking") != 0 || !text || !*text)
            continue;
        struct buf b = {0};
        buf_puts(&b, "Thinking:\n");
        add_code(&b, text, THOUGHT_SHOWN);
        outbox_notice(m, buf_text(&b), NULL);
        buf_free(&b);
    }
}

void verbose_call(const struct message *m, const struct verbose_call *c)
{
    struct buf b = {0};
    buf_printf(&b, "Tool `%s`, %s risk: %s after %llu ms", c->name, c->risk, c->state,
               (unsigned long long)c->ran_ms);
    if (c->waited_ms)
        buf_printf(&b, ", %llu ms of waiting for permission", (unsigned long long)c->waited_ms);
    buf_char(&b, '\n');
    add_code(&b, c->arguments, ARGUMENTS_SHOWN);
    add_code(&b, c->text, RESULT_SHOWN);
    outbox_notice(m, buf_text(&b), NULL);
    buf_free(&b);
}
