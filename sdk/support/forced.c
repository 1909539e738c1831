/*
 * Reads a bare completion (see forced.h). Called by provider plugins.
 */
#include "support/forced.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"

static const char open_tag[] = "<think>", close_tag[] = "</think>";

void chela_forced_open(struct chela_forced *r, bool forced, bool thinking)
{
    *r = (struct chela_forced){.forced = forced};
    r->state = forced ? CHELA_FORCED_OBJECT : thinking ? CHELA_FORCED_THINKING : CHELA_FORCED_BEGIN;
}

void chela_forced_free(struct chela_forced *r)
{
    free(r->held);
    r->held = NULL;
}

static void hold(struct chela_forced *r, const char *text, size_t n)
{
    char *grown = realloc(r->held, r->length + n + 1);
    if (!grown)
        abort();
    r->held = grown;
    if (n)
        memcpy(grown + r->length, text, n);
    r->length += n;
    grown[r->length] = '\0';
}

static void drop(struct chela_forced *r, size_t n)
{
    memmove(r->held, r->held + n, r->length - n + 1);
    r->length -= n;
}

/* How many bytes at the end of a text may be the begin of a tag. */
static size_t half_tag(const char *text, size_t n, const char *tag)
{
    for (size_t k = strlen(tag) - 1; k > 0; k--)
        if (k <= n && memcmp(text + n - k, tag, k) == 0)
            return k;
    return 0;
}

static size_t blanks(const char *text)
{
    return strspn(text, " \t\r\n");
}

static bool begin(struct chela_forced *r)
{
    size_t at = blanks(r->held), left = r->length - at, tag = sizeof open_tag - 1;
    if (left < tag && memcmp(r->held + at, open_tag, left) == 0)
        return false;
    r->state = CHELA_FORCED_PLAIN;
    if (left >= tag && memcmp(r->held + at, open_tag, tag) == 0) {
        drop(r, at + tag);
        r->state = CHELA_FORCED_THINKING;
    }
    return true;
}

static bool thinking(struct chela_forced *r, struct chela_stream *s)
{
    char *end = memmem(r->held, r->length, close_tag, sizeof close_tag - 1);
    size_t n = end ? (size_t)(end - r->held) : r->length - half_tag(r->held, r->length, close_tag);
    chela_stream_thinking(s, r->held, n, NULL);
    drop(r, n);
    if (!end)
        return false;
    drop(r, sizeof close_tag - 1);
    drop(r, blanks(r->held));
    r->state = CHELA_FORCED_PLAIN;
    return true;
}

/* {"response": " has come: what follows is the text's inside. */
static bool object(struct chela_forced *r)
{
    const char *p = r->held + blanks(r->held);
    if (*p != '{')
        return false;
    p += 1 + blanks(p + 1);
    if (strncmp(p, "\"" CHELA_FORCED_TEXT "\"", sizeof CHELA_FORCED_TEXT + 1) != 0)
        return false;
    p += sizeof CHELA_FORCED_TEXT + 1;
    p += blanks(p);
    if (*p != ':')
        return false;
    p += 1 + blanks(p + 1);
    if (*p != '"')
        return false;
    drop(r, (size_t)(p + 1 - r->held));
    r->state = CHELA_FORCED_STRING;
    return true;
}

/* Sends what of a JSON string's inside is whole. */
static bool string(struct chela_forced *r, struct chela_stream *s)
{
    size_t n = 0;
    bool over = false;
    while (n < r->length && !over) {
        size_t step = r->held[n] != '\\' ? 1 : r->held[n + 1] == 'u' ? 6 : 2;
        over = r->held[n] == '"';
        if (over || n + step > r->length)
            break;
        n += step;
    }
    char *quoted = malloc(n + 3);
    if (!quoted)
        abort();
    quoted[0] = '"';
    memcpy(quoted + 1, r->held, n);
    quoted[n + 1] = '"';
    json_object *text = chela_stream_parse(s, (struct chela_str){quoted, n + 2});
    size_t length = 0;
    const char *value = chela_json_as_string(text, &length);
    if (value)
        chela_stream_text(s, value, length);
    json_object_put(text);
    free(quoted);
    drop(r, n);
    if (over)
        r->state = CHELA_FORCED_OVER;
    return false;
}

void chela_forced_feed(struct chela_forced *r, struct chela_stream *s, const char *text,
                       size_t length)
{
    if (r->state == CHELA_FORCED_PLAIN && r->length == 0) {
        chela_stream_text(s, text, length);
        return;
    }
    hold(r, text, length);
    for (bool more = true; more;) {
        switch (r->state) {
        case CHELA_FORCED_BEGIN: more = begin(r); break;
        case CHELA_FORCED_THINKING: more = thinking(r, s); break;
        case CHELA_FORCED_OBJECT: more = object(r); break;
        case CHELA_FORCED_STRING: more = string(r, s); break;
        case CHELA_FORCED_PLAIN:
            chela_stream_text(s, r->held, r->length);
            r->length = 0;
            more = false;
            break;
        default: more = false; break;
        }
    }
}

static bool take_calls(struct chela_forced *r, struct chela_stream *s)
{
    json_object *o = NULL;
    if (chela_json_parse(r->held, r->length, NULL, &o, NULL) < 0)
        return false;
    json_object *calls = chela_json_array(o, CHELA_FORCED_CALLS);
    size_t n = chela_json_length(calls);
    for (size_t i = 0; i < n; i++) {
        json_object *call = chela_json_at(calls, i);
        chela_stream_whole_call(s, i, "", chela_json_string(call, "name", NULL),
                                chela_json_object(call, "arguments"));
    }
    json_object_put(o);
    return n > 0;
}

void chela_forced_end(struct chela_forced *r, struct chela_stream *s, bool whole)
{
    if (r->state == CHELA_FORCED_OBJECT && r->length && whole && take_calls(r, s))
        chela_stream_keep(&s->stop, "tool_calls");
    else if (r->state == CHELA_FORCED_OBJECT && r->length && !whole)
        chela_stream_fail(s, CHELA_E_PROTOCOL,
                          "the answer was cut off in the middle of a tool call");
    else if (r->state == CHELA_FORCED_THINKING && r->length)
        chela_stream_thinking(s, r->held, r->length, NULL);
    else if (r->state != CHELA_FORCED_OVER && r->state != CHELA_FORCED_STRING && r->length)
        chela_stream_text(s, r->held, r->length);
    r->length = 0;
}
