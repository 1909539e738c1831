/* Turn view: see turn_view.h. Text comes twice, by `agent` and by `chat` deltas; each kind is a
 * position in the one text of the turn, and only what lies beyond the text so far is new. A final
 * text is compared with what was shown, so that nothing is lost or doubled. */
#include "cli/turn_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "cli/turn_view_tools.h"
#include "support/json.h"

#define THINKING_SHOWN 6 /* rows, while it goes on */

void turn_view_begin(struct turn_view *reply, struct screen *screen, const char *run, bool verbose)
{
    memset(reply, 0, sizeof *reply);
    reply->screen = screen;
    reply->run = xstrdup(run);
    reply->verbose = verbose;
    reply->begun_ms = clock_ticks_ms();
}

void turn_view_free(struct turn_view *reply)
{
    turn_view_tools_free(reply);
    free(reply->run);
    buf_free(&reply->error);
    buf_free(&reply->total);
    buf_free(&reply->thinking);
    buf_free(&reply->phase);
    markdown_free(&reply->markdown);
    memset(reply, 0, sizeof *reply);
}

void turn_view_message_text(json_object *message, struct buf *out)
{
    size_t length;
    const char *text = chela_json_as_string(message, &length);
    json_object *content = text == NULL ? chela_json_get(message, "content") : NULL;
    if (text == NULL && content == NULL) {
        text = chela_json_string(message, "text", &length);
    }
    if (text == NULL) {
        text = chela_json_as_string(content, &length);
    }
    if (text != NULL) {
        buf_add(out, text, length);
        return;
    }
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *type = chela_json_string(part, "type", NULL);
        text = chela_json_string(part, "text", &length);
        if (text != NULL && (type == NULL || strcmp(type, "text") == 0)) {
            buf_add(out, text, length);
        }
    }
}

/* ---- printing ---- */

void turn_view_gap(struct turn_view *reply, enum reply_part next)
{
    if (reply->last != PART_NONE && (reply->last != next || next == PART_TEXT)) {
        screen_blank(reply->screen);
    }
    reply->last = next;
}

static void print_text(struct turn_view *reply, struct rows *rows)
{
    if (rows->count > 0 && !reply->text_open) {
        turn_view_gap(reply, PART_TEXT);
        reply->text_open = true;
    }
    if (rows->count > 0) {
        screen_print(reply->screen, rows);
    }
}

static void show_text(struct turn_view *reply, const char *text, size_t length)
{
    struct rows rows = {0};
    if (reply->screen == NULL) {
        return;
    }
    turn_view_thinking_done(reply);
    struct markdown *markdown = &reply->markdown;
    if (markdown->width == 0) {
        markdown_begin(markdown, screen_width(reply->screen), reply->screen->level);
    }
    markdown->width = screen_width(reply->screen);
    markdown_feed(markdown, text, length, &rows);
    print_text(reply, &rows);
    rows_free(&rows);
}

/* The text so far is a whole: what comes next begins anew. */
void turn_view_text_done(struct turn_view *reply)
{
    struct rows rows = {0};
    if (reply->screen != NULL && reply->markdown.width > 0) {
        markdown_finish(&reply->markdown, &rows);
        print_text(reply, &rows);
        rows_free(&rows);
    }
    reply->text_open = false;
    reply->segment = reply->total.n;
}

static void add_text(struct turn_view *reply, const char *text, size_t length)
{
    if (length > 0) {
        buf_add(&reply->total, text, length);
        show_text(reply, text, length);
        buf_clear(&reply->phase);
    }
}

static bool begins_with(const char *text, size_t length, const char *begin, size_t begin_length)
{
    return begin_length <= length && (begin_length == 0 || memcmp(text, begin, begin_length) == 0);
}

void turn_view_text(struct turn_view *reply, const char *text, size_t length)
{
    const char *total = buf_text(&reply->total);
    size_t all = reply->total.n, segment = all - reply->segment;
    const char *shown = total + reply->segment;
    if (segment > 0 && begins_with(text, length, shown, segment)) {
        add_text(reply, text + segment, length - segment);
    } else if (all > 0 && begins_with(text, length, total, all)) {
        add_text(reply, text + all, length - all);
    } else if (length <= all && (length == 0 || memcmp(total + all - length, text, length) == 0)) {
        return; /* the end of what was shown */
    } else if (segment > 0 && length > segment &&
               memcmp(text + length - segment, shown, segment) == 0) {
        return; /* it has, before what was shown last, what was shown earlier */
    } else {
        turn_view_text_done(reply);
        add_text(reply, text, length);
    }
}

/* ---- thinking ---- */

static void thinking_rows(const struct turn_view *reply, struct rows *rows)
{
    struct styled styled = {0}, bar = {0};
    struct buf clean = {0};
    clean_append(&clean, reply->thinking.p, reply->thinking.n);
    styled_add(&styled, clean.p, clean.n, STYLE_DIM | STYLE_ITALIC);
    styled_add(&bar, "  ", 2, STYLE_PLAIN);
    struct wrap wrap = {screen_width(reply->screen), reply->screen->level, &bar, &bar, 0};
    styled_wrap(&styled, &wrap, rows);
    styled_free(&styled);
    styled_free(&bar);
    buf_free(&clean);
}

void turn_view_thinking_done(struct turn_view *reply)
{
    if (reply->thinking.n == 0) {
        return;
    }
    struct rows rows = {0};
    turn_view_gap(reply, PART_THINKING);
    thinking_rows(reply, &rows);
    screen_print(reply->screen, &rows);
    rows_free(&rows);
    buf_clear(&reply->thinking);
}

static void on_thinking(struct turn_view *reply, json_object *data)
{
    size_t length = 0;
    const char *delta = chela_json_string(data, "delta", &length);
    if (delta == NULL) {
        delta = chela_json_string(data, "text", &length);
    }
    if (delta != NULL && reply->verbose && reply->screen != NULL && reply->thinking.n < 1 << 20) {
        if (reply->thinking.n == 0) {
            turn_view_text_done(reply);
        }
        buf_add(&reply->thinking, delta, length);
    }
    buf_clear(&reply->phase);
    buf_puts(&reply->phase, "thinking");
}

/* ---- events ---- */

static void set_phase(struct turn_view *reply, const char *phase)
{
    buf_clear(&reply->phase);
    buf_puts(&reply->phase, phase);
}

static void on_lifecycle(struct turn_view *reply, json_object *data)
{
    const char *phase = output_field(data, "phase", "");
    const char *model = output_field(data, "model", NULL);
    if (strcmp(phase, "model") == 0 || strcmp(phase, "start") == 0) {
        set_phase(reply, "waiting for ");
        clean_append_line(&reply->phase, model == NULL ? "the model" : model,
                          strlen(model == NULL ? "the model" : model), 60);
    } else if (strcmp(phase, "waiting-approval") == 0) {
        turn_view_tools_waiting(reply, output_field(data, "toolCallId", ""), true);
        buf_clear(&reply->phase);
    } else if (strcmp(phase, "approval-resolved") == 0) {
        turn_view_tools_waiting(reply, output_field(data, "toolCallId", ""), false);
    } else if (strcmp(phase, "finishing") == 0) {
        buf_clear(&reply->phase);
    }
}

/* A delta that begins at *at: what of it was not known yet is added. */
static void take_delta(struct turn_view *reply, size_t *at, const char *text, size_t length)
{
    size_t known = reply->total.n > *at ? reply->total.n - *at : 0;
    *at += length;
    if (known < length) {
        add_text(reply, text + known, length - known);
    }
}

/* The turn's text is this from now on, since a model's call was begun anew: what was printed of the
 * other stays above. */
static void take_whole(struct turn_view *reply, size_t *at, const char *text, size_t length)
{
    size_t all = reply->total.n;
    *at = length;
    if (begins_with(text, length, buf_text(&reply->total), all)) {
        add_text(reply, text + all, length - all);
        return;
    }
    turn_view_text_done(reply);
    buf_clear(&reply->total);
    buf_add(&reply->total, text, length);
    reply->segment = length;
}

static void on_assistant(struct turn_view *reply, json_object *data)
{
    size_t length = 0;
    const char *delta = chela_json_string(data, "delta", &length);
    if (delta != NULL && !chela_json_bool(data, "replace", false)) {
        take_delta(reply, &reply->agent_at, delta, length);
        return;
    }
    const char *text = chela_json_string(data, "text", &length);
    if (text != NULL) {
        take_whole(reply, &reply->agent_at, text, length);
    }
}

void turn_view_resume(struct turn_view *reply, const char *text, size_t length)
{
    take_whole(reply, &reply->agent_at, text, length);
    reply->chat_at = length;
}

void turn_view_agent(struct turn_view *reply, json_object *payload)
{
    const char *stream = output_field(payload, "stream", "");
    json_object *data = chela_json_object(payload, "data");
    if (reply->state != REPLY_RUNNING) {
        return;
    }
    if (strcmp(stream, "assistant") == 0) {
        on_assistant(reply, data);
    } else if (strcmp(stream, "tool") == 0) {
        turn_view_tools_event(reply, data);
    } else if (strcmp(stream, "thinking") == 0) {
        on_thinking(reply, data);
    } else if (strcmp(stream, "lifecycle") == 0) {
        on_lifecycle(reply, data);
    } else if (strcmp(stream, "compaction") == 0) {
        set_phase(reply, "shortening the history");
    }
}

static void on_delta(struct turn_view *reply, json_object *payload)
{
    size_t length = 0;
    const char *delta = chela_json_string(payload, "deltaText", &length);
    if (delta != NULL && !chela_json_bool(payload, "replace", false)) {
        take_delta(reply, &reply->chat_at, delta, length);
    } else if (delta != NULL) {
        take_whole(reply, &reply->chat_at, delta, length);
    } else {
        struct buf text = {0};
        turn_view_message_text(chela_json_get(payload, "message"), &text);
        take_whole(reply, &reply->chat_at, buf_text(&text), text.n);
        buf_free(&text);
    }
}

void turn_view_chat(struct turn_view *reply, json_object *payload)
{
    const char *state = output_field(payload, "state", "");
    if (reply->state != REPLY_RUNNING) {
        return;
    }
    if (strcmp(state, "status") == 0) {
        const char *phase = output_field(payload, "phase", "");
        set_phase(reply,
                  strcmp(phase, "starting_model") == 0 ? "waiting for the model" : "preparing");
        return;
    }
    if (strcmp(state, "delta") == 0) {
        on_delta(reply, payload);
        return;
    }
    struct buf text = {0};
    turn_view_message_text(chela_json_get(payload, "message"), &text);
    if (strcmp(state, "final") == 0) {
        turn_view_text(reply, buf_text(&text), text.n);
        turn_view_end(reply, REPLY_DONE, NULL);
    } else if (strcmp(state, "aborted") == 0) {
        if (text.n > 0) {
            turn_view_text(reply, buf_text(&text), text.n);
        }
        turn_view_end(reply, REPLY_ABORTED, NULL);
    } else if (strcmp(state, "error") == 0) {
        turn_view_end(reply, REPLY_FAILED,
                      output_field(payload, "errorMessage", "the turn failed"));
    }
    buf_free(&text);
}

void turn_view_end(struct turn_view *reply, enum reply_state state, const char *error)
{
    if (reply->state != REPLY_RUNNING) {
        return;
    }
    reply->state = state;
    if (error != NULL) {
        clean_append(&reply->error, error, strlen(error));
    }
    if (reply->screen == NULL) {
        return;
    }
    turn_view_thinking_done(reply);
    turn_view_text_done(reply);
    turn_view_tools_end(reply);
    if (state == REPLY_ABORTED) {
        turn_view_gap(reply, PART_NOTE);
        screen_say(reply->screen, "Stopped.", STYLE_ALERT);
    } else if (state == REPLY_FAILED) {
        struct buf line = {0};
        buf_printf(&line, "Failed: %s", buf_text(&reply->error));
        turn_view_gap(reply, PART_NOTE);
        screen_say(reply->screen, buf_text(&line), STYLE_ALERT);
        buf_free(&line);
    }
}

/* ---- what is under way ---- */

static void keep_last(struct rows *rows, const struct rows *from, size_t most)
{
    for (size_t i = from->count > most ? from->count - most : 0; i < from->count; i++) {
        rows_add(rows, from->bytes.p + from->row[i].offset, from->row[i].length,
                 from->row[i].columns);
    }
}

void turn_view_above(struct turn_view *reply, struct rows *rows)
{
    struct rows open = {0};
    if (reply->state != REPLY_RUNNING || reply->screen == NULL) {
        return;
    }
    if (reply->thinking.n > 0) {
        thinking_rows(reply, &open);
        keep_last(rows, &open, THINKING_SHOWN);
    } else if (reply->markdown.width > 0) {
        reply->markdown.width = screen_width(reply->screen);
        markdown_open(&reply->markdown, &open);
        if (open.count > 0 && !reply->text_open && reply->last != PART_NONE) {
            rows_add(rows, "", 0, 0);
        }
        rows_join(rows, &open);
    }
    rows_free(&open);
    turn_view_tools_rows(reply, rows);
    if (reply->phase.n > 0 && reply->tool_count == 0) {
        struct styled line = {0};
        struct buf text = {0};
        buf_printf(&text, "%s ... %llu s", buf_text(&reply->phase),
                   (unsigned long long)(clock_ticks_ms() - reply->begun_ms) / 1000);
        styled_add(&line, text.p, text.n, STYLE_DIM);
        if (rows->count > 0 || reply->last != PART_NONE) {
            rows_add(rows, "", 0, 0);
        }
        struct wrap wrap = {screen_width(reply->screen), reply->screen->level, NULL, NULL, 0};
        styled_wrap(&line, &wrap, rows);
        styled_free(&line);
        buf_free(&text);
    }
}
