/* Turn view tools: see turn_view_tools.h. */
#include "cli/turn_view_tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "cli/width.h"
#include "support/json.h"

#define OUTPUT_SHOWN 8 /* rows of a call's output, with /verbose */
#define TOOLS_MOST   256

struct turn_view_tool {
    char *id;
    struct buf title; /* name and the arguments in short */
    uint64_t begun_ms;
    bool waiting;
};

/* What a person wants to see of the arguments: the one that says it all, else all. */
static void add_arguments(struct buf *out, json_object *arguments)
{
    static const char *const telling[] = {"command", "path", "file_path",
                                          "query",   "url",  "pattern"};
    const char *text = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(telling) && text == NULL; i++) {
        text = chela_json_string(arguments, telling[i], NULL);
    }
    if (text == NULL && chela_json_length(arguments) > 0) {
        text = chela_json_text(arguments, NULL);
    }
    if (text != NULL) {
        buf_char(out, ' ');
        clean_append_line(out, text, strlen(text), 300);
    }
}

static struct turn_view_tool *find(struct turn_view *reply, const char *id)
{
    for (size_t i = 0; i < reply->tool_count; i++) {
        if (strcmp(reply->tools[i].id, id) == 0) {
            return &reply->tools[i];
        }
    }
    return NULL;
}

static struct turn_view_tool *begin(struct turn_view *reply, const char *id, json_object *data)
{
    struct turn_view_tool *tool = find(reply, id);
    if (tool != NULL || reply->tool_count >= TOOLS_MOST) {
        return tool;
    }
    reply->tools = xrealloc(reply->tools, (reply->tool_count + 1) * sizeof *reply->tools);
    tool = &reply->tools[reply->tool_count++];
    memset(tool, 0, sizeof *tool);
    tool->id = xstrdup(id);
    tool->begun_ms = clock_ticks_ms();
    const char *name = output_field(data, "name", "tool");
    clean_append_line(&tool->title, name, strlen(name), 60);
    json_object *arguments = chela_json_get(data, "args");
    add_arguments(&tool->title, arguments == NULL ? chela_json_get(data, "arguments") : arguments);
    return tool;
}

static void drop(struct turn_view *reply, struct turn_view_tool *tool)
{
    size_t index = (size_t)(tool - reply->tools);
    free(tool->id);
    buf_free(&tool->title);
    reply->tool_count--;
    memmove(tool, tool + 1, (reply->tool_count - index) * sizeof *tool);
}

/* "mark title   state": the title is cut so that the line is one row. */
static void tool_row(const struct turn_view *reply, struct turn_view_tool *tool, const char *mark,
                     const char *state, unsigned style, struct rows *rows)
{
    struct styled line = {0};
    struct buf title = {0};
    unsigned width = screen_width(reply->screen), tail = width_columns(state, strlen(state)) + 6;
    clean_append_line(&title, buf_text(&tool->title), tool->title.n,
                      width > tail + 8 ? width - tail : 8);
    styled_add(&line, mark, strlen(mark), style);
    styled_add(&line, " ", 1, STYLE_PLAIN);
    styled_add(&line, title.p, title.n, STYLE_PLAIN);
    styled_add(&line, "  ", 2, STYLE_PLAIN);
    styled_add(&line, state, strlen(state), STYLE_DIM);
    struct wrap wrap = {width, reply->screen->level, NULL, NULL, 1};
    styled_wrap(&line, &wrap, rows);
    styled_free(&line);
    buf_free(&title);
}

static void output_rows(const struct turn_view *reply, const char *text, size_t length, size_t most,
                        struct rows *rows)
{
    struct styled styled = {0}, indent = {0};
    struct rows all = {0};
    struct buf clean = {0};
    length = length > 16384 ? 16384 : length;
    clean_append(&clean, text, length);
    while (clean.n > 0 && clean.p[clean.n - 1] == '\n') {
        clean.n--;
    }
    styled_add(&styled, clean.p, clean.n, STYLE_DIM);
    styled_add(&indent, "    ", 4, STYLE_PLAIN);
    struct wrap wrap = {screen_width(reply->screen), reply->screen->level, &indent, &indent, 1};
    styled_wrap(&styled, &wrap, &all);
    for (size_t i = 0; clean.n > 0 && i < all.count && i < most; i++) {
        rows_add(rows, all.bytes.p + all.row[i].offset, all.row[i].length, all.row[i].columns);
    }
    rows_free(&all);
    styled_free(&styled);
    styled_free(&indent);
    buf_free(&clean);
}

static void finish(struct turn_view *reply, struct turn_view_tool *tool, json_object *data)
{
    json_object *result = chela_json_get(data, "result");
    json_object *details = chela_json_object(result, "details");
    bool failed = chela_json_bool(data, "isError", false);
    int64_t ms = chela_json_int(
        details, "durationMs",
        chela_json_int(data, "durationMs", (int64_t)(clock_ticks_ms() - tool->begun_ms)));
    if (reply->screen != NULL) {
        char span[48];
        struct rows rows = {0};
        struct buf state = {0}, text = {0};
        output_span(ms, span, sizeof span);
        buf_puts(&state, failed ? "failed  " : "done  ");
        buf_puts(&state, span);
        const char *risk = output_field(data, "risk", "");
        if (reply->verbose && *risk)
            buf_printf(&state, "  %s risk", risk);
        int64_t waited = chela_json_int(data, "waitedMs", 0);
        if (reply->verbose && waited > 0) {
            output_span(waited, span, sizeof span);
            buf_printf(&state, "  asked for %s", span);
        }
        turn_view_thinking_done(reply);
        turn_view_text_done(reply);
        turn_view_gap(reply, PART_TOOL);
        tool_row(reply, tool, failed ? "\xE2\x9C\x97" : "\xE2\x9C\x93", buf_text(&state),
                 failed ? STYLE_ALERT : STYLE_CODE, &rows);
        turn_view_message_text(result, &text);
        if (failed || reply->verbose) {
            output_rows(reply, buf_text(&text), text.n, reply->verbose ? OUTPUT_SHOWN : 2, &rows);
        }
        screen_print(reply->screen, &rows);
        rows_free(&rows);
        buf_free(&state);
        buf_free(&text);
    }
    drop(reply, tool);
}

void turn_view_tools_event(struct turn_view *reply, json_object *data)
{
    const char *phase = output_field(data, "phase", "");
    const char *id = output_field(data, "toolCallId", NULL);
    if (id == NULL) {
        return;
    }
    if (reply->tool_count == 0) {
        turn_view_thinking_done(reply);
        turn_view_text_done(reply);
    }
    buf_clear(&reply->phase);
    struct turn_view_tool *tool = begin(reply, id, data);
    if (tool != NULL && strcmp(phase, "result") == 0) {
        finish(reply, tool, data);
    }
}

void turn_view_tools_waiting(struct turn_view *reply, const char *id, bool waiting)
{
    struct turn_view_tool *tool = find(reply, id);
    if (tool != NULL) {
        tool->waiting = waiting;
        tool->begun_ms = clock_ticks_ms();
    }
}

void turn_view_tools_end(struct turn_view *reply)
{
    struct rows rows = {0};
    if (reply->tool_count > 0) {
        turn_view_gap(reply, PART_TOOL);
        for (size_t i = 0; i < reply->tool_count; i++) {
            tool_row(reply, &reply->tools[i], "\xE2\x9C\x97", "not finished", STYLE_ALERT, &rows);
        }
        screen_print(reply->screen, &rows);
        rows_free(&rows);
    }
    turn_view_tools_free(reply);
}

void turn_view_tools_rows(struct turn_view *reply, struct rows *rows)
{
    if (reply->tool_count > 0 && (reply->last == PART_TEXT || reply->last == PART_THINKING)) {
        rows_add(rows, "", 0, 0);
    }
    for (size_t i = 0; i < reply->tool_count; i++) {
        struct turn_view_tool *tool = &reply->tools[i];
        struct buf state = {0};
        buf_printf(&state, "%s  %llu s", tool->waiting ? "waits for you" : "running",
                   (unsigned long long)(clock_ticks_ms() - tool->begun_ms) / 1000);
        tool_row(reply, tool, tool->waiting ? "?" : "\xE2\x80\xA6", buf_text(&state),
                 tool->waiting ? STYLE_ALERT : STYLE_DIM, rows);
        buf_free(&state);
    }
}

void turn_view_tools_free(struct turn_view *reply)
{
    while (reply->tool_count > 0) {
        drop(reply, &reply->tools[reply->tool_count - 1]);
    }
    free(reply->tools);
    reply->tools = NULL;
}
