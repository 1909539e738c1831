/* Chat: the loop of `chela chat`: keyboard, gateway and clock, by poll. Two ways of typing: keys
 * one by one on a real terminal, and plain lines on anything else, where each line waits for the
 * answer to the one before. */
#include "cli/chat.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "support/json.h"

#define ESCAPE_MS  50
#define SECOND_MS  1000
#define PROMPT     "> "
#define LINE_LIMIT (1u << 20)

/* ---- commands that are the terminal's own ---- */

static bool offers_command(const struct chat *chat, const char *name)
{
    for (size_t i = 0; i < chela_json_length(chat->commands); i++) {
        const char *known = output_field(chela_json_at(chat->commands, i), "name", "");
        if (strcmp(known[0] == '/' ? known + 1 : known, name) == 0) {
            return true;
        }
    }
    return false;
}

static void set_verbose(struct chat *chat, const char *how)
{
    while (*how == ' ') {
        how++;
    }
    chat->verbose = how[0] == '\0' ? !chat->verbose : strcmp(how, "off") != 0;
    if (chat->replying) {
        chat->reply.verbose = chat->verbose;
    }
}

/* True: the text was for the terminal only. */
static bool local_command(struct chat *chat, const char *text)
{
    if (strcmp(text, "/quit") == 0 || strcmp(text, "/exit") == 0) {
        chat->leaving = true;
        return true;
    }
    if (strncmp(text, "/verbose", 8) == 0 && (text[8] == '\0' || text[8] == ' ')) {
        set_verbose(chat, text + 8);
        if (!offers_command(chat, "verbose")) {
            screen_say(&chat->screen,
                       chat->verbose ? "Thinking and tool output are shown."
                                     : "Thinking and tool output are hidden.",
                       STYLE_DIM);
            return true;
        }
    }
    return false;
}

static size_t complete_command(void *arg, const char *text, size_t cursor, struct buf *out)
{
    static const char *const own[] = {"quit", "exit", "verbose"};
    const struct chat *chat = arg;
    if (cursor == 0 || text[0] != '/' || memchr(text, ' ', cursor) != NULL) {
        return cursor;
    }
    for (size_t i = 0; i < chela_json_length(chat->commands) + ARRAY_LENGTH(own); i++) {
        size_t listed = chela_json_length(chat->commands);
        const char *name = i < listed ? output_field(chela_json_at(chat->commands, i), "name", "")
                                      : own[i - listed];
        name = name[0] == '/' ? name + 1 : name;
        bool twice = i >= listed && offers_command(chat, name);
        if (name[0] != '\0' && !twice && strncmp(name, text + 1, cursor - 1) == 0) {
            buf_char(out, '/');
            clean_append(out, name, strlen(name));
            buf_add(out, "", 1);
        }
    }
    return 0;
}

/* ---- keyboard ---- */

static void submit(struct chat *chat)
{
    size_t length;
    struct rows rows = {0};
    const char *text = line_text(&chat->line, &length);
    if (strspn(text, " \t\n") == length) {
        return;
    }
    size_t row;
    unsigned column;
    chat->line.edit.cursor = length;
    line_rows(&chat->line, screen_width(&chat->screen), chat->screen.level, &rows, &row, &column);
    screen_print(&chat->screen, &rows);
    rows_free(&rows);
    char *copy = xmemdup(text, length);
    line_accept(&chat->line);
    if (!local_command(chat, copy)) {
        chat_send(chat, copy);
    }
    free(copy);
}

/* Ctrl-C: stops the turn; with nothing to stop it clears the text; the one after that leaves. */
static void interrupt(struct chat *chat)
{
    bool busy = chat->replying || chat->unsent != NULL;
    if (chat->armed) {
        chat->leaving = true;
    } else if (busy) {
        chat_abort(chat);
        chat->armed = true;
        line_set_hint(&chat->line, "stopping; Ctrl-C again leaves");
    } else if (chat->line.edit.text.n > 0) {
        line_clear(&chat->line);
    } else {
        chat->armed = true;
        line_set_hint(&chat->line, "Ctrl-C again, or Ctrl-D, leaves");
    }
    chat->dirty = true;
}

static void take_event(struct chat *chat, enum line_event event)
{
    if (event == LINE_INTERRUPT) {
        interrupt(chat);
        return;
    }
    chat->armed = chat->armed && event == LINE_NOTHING;
    chat->dirty = chat->dirty || event != LINE_NOTHING;
    switch (event) {
    case LINE_SUBMIT: submit(chat); break;
    case LINE_END: chat->leaving = true; break;
    case LINE_CHOICE: chat_ask_answer(chat, chat->line.choice); break;
    case LINE_REDRAW: screen_clear(&chat->screen); break;
    case LINE_SUSPEND:
        view_erase(&chat->screen.view, &chat->screen.out);
        screen_flush(&chat->screen);
        terminal_suspend();
        break;
    default: break;
    }
}

static void read_keys(struct chat *chat)
{
    unsigned char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        chat->leaving = true; /* the terminal has gone */
        return;
    }
    chat->key_ms = clock_ticks_ms();
    for (ssize_t i = 0; i < n && !chat->leaving; i++) {
        take_event(chat, line_feed(&chat->line, bytes[i]));
    }
}

/* ---- lines ---- */

static void take_line(struct chat *chat, const char *text)
{
    if (chat->asking) {
        if (!chat_ask_answer(chat, (unsigned char)text[0]) || text[1] != '\0') {
            chat->asking = false; /* asked again */
        }
        return;
    }
    if (text[strspn(text, " \t\r")] != '\0' && !local_command(chat, text)) {
        chat_send(chat, text);
    }
}

/* Takes one line out of what was read; false if there is none. */
static bool next_line(struct chat *chat)
{
    const char *end = chat->input.n == 0 ? NULL : memchr(chat->input.p, '\n', chat->input.n);
    if (end == NULL && !(chat->end_of_input && chat->input.n > 0)) {
        return false;
    }
    size_t length = end == NULL ? chat->input.n : (size_t)(end - chat->input.p);
    char *line = xmemdup(chat->input.p, length);
    buf_consume(&chat->input, end == NULL ? length : length + 1);
    take_line(chat, line);
    free(line);
    return true;
}

static void read_lines(struct chat *chat)
{
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0) {
        buf_add(&chat->input, bytes, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        chat->end_of_input = true;
    }
}

/* In line mode: may the next line be taken? */
static bool is_idle(const struct chat *chat)
{
    if (chat->approval_count > 0) {
        return chat->asking;
    }
    return chat->awaited == NULL && !chat->replying && chat->unsent == NULL && chat->connected;
}

static void work_lines(struct chat *chat)
{
    if (chat->approval_count > 0 && !chat->asking && isatty(STDIN_FILENO)) {
        chat_ask_begin(chat);
    }
    while (!chat->leaving && is_idle(chat) && next_line(chat)) {
    }
    if (chat->end_of_input && chat->input.n == 0 && is_idle(chat)) {
        chat->leaving = true;
    }
    if (terminal_interrupted()) {
        if (chat->replying || chat->awaited != NULL) {
            chat_abort(chat);
        } else {
            chat->leaving = true;
        }
        terminal_catch_interrupt();
    }
}

/* ---- painting ---- */

static void add_note(struct chat *chat, const char *text, unsigned style)
{
    struct styled styled = {0};
    struct wrap wrap = {screen_width(&chat->screen), chat->screen.level, NULL, NULL, 0};
    styled_add(&styled, text, strlen(text), style);
    styled_wrap(&styled, &wrap, &chat->screen.above);
    styled_free(&styled);
}

static void paint(struct chat *chat)
{
    struct rows *above = &chat->screen.above;
    rows_clear(above);
    if (chat->replying) {
        turn_view_above(&chat->reply, above);
    } else if (chat->unsent != NULL && chat->connected) {
        add_note(chat, "sending ...", STYLE_DIM);
    }
    if (!chat->connected) {
        char *note = xprintf("no connection: %s; trying again", chat->lost.text);
        add_note(chat, note, STYLE_ALERT);
        free(note);
    }
    for (size_t i = 0; i < chat->approval_count && i < 1; i++) {
        int64_t left = chat->approvals[i].expires_ms - (int64_t)clock_now_ms();
        char span[48];
        output_span(left, span, sizeof span);
        char *note = xprintf("waits for your answer%s%s", left > 0 ? "; expires in " : "",
                             left > 0 ? span : "");
        add_note(chat, note, STYLE_DIM);
        free(note);
    }
    if (above->count > 0 && chat->screen.live) {
        rows_add(above, "", 0, 0);
    }
    screen_paint(&chat->screen);
    chat->dirty = false;
}

/* ---- the loop ---- */

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int timeout_of(const struct chat *chat)
{
    int timeout = -1;
    if (chat->raw && line_waiting(&chat->line)) {
        timeout = ESCAPE_MS;
    }
    if (chat->screen.live && (chat->replying || chat->approval_count > 0)) {
        timeout = sooner(timeout, SECOND_MS); /* the seconds that are shown */
    }
    if (!chat->connected) {
        uint64_t now = clock_ticks_ms();
        timeout = sooner(timeout, now >= chat->retry_at_ms ? 0 : (int)(chat->retry_at_ms - now));
    } else {
        timeout = sooner(timeout, (int)client_silence_ms(&chat->client) / 2);
    }
    return sooner(timeout, chat_ask_wait(chat));
}

static void link_step(struct chat *chat, bool ready)
{
    struct error e = {0};
    if (chat->connected && ready) {
        if (client_service(&chat->client, &e) != 0) {
            chat_lost(chat, &e);
        }
    } else if (chat->connected &&
               clock_ticks_ms() - chat->client.heard_ms > client_silence_ms(&chat->client)) {
        error_set(&e, CHELA_E_TIMEOUT, "the gateway has gone silent");
        chat_lost(chat, &e);
    } else if (!chat->connected && clock_ticks_ms() >= chat->retry_at_ms &&
               chat_connect(chat, &e) != 0) {
        chat_lost(chat, &e);
    }
}

static void step(struct chat *chat)
{
    bool reads = chat->raw || (!chat->end_of_input && is_idle(chat) && chat->input.n < LINE_LIMIT);
    struct pollfd fds[3] = {
        {reads ? STDIN_FILENO : -1, POLLIN, 0},
        {terminal_wake_fd(), POLLIN, 0},
        {-1, 0, 0},
    };
    if (chat->connected) {
        fds[2] = (struct pollfd){websocket_fd(chat->client.ws),
                                 websocket_poll_events(chat->client.ws), 0};
    }
    int n = poll(fds, 3, timeout_of(chat));
    if (n < 0) {
        return;
    }
    if (fds[1].revents != 0) {
        terminal_woken();
        screen_resize(&chat->screen);
        chat->dirty = true;
    }
    if (fds[0].revents != 0 && chat->raw) {
        read_keys(chat);
    } else if (fds[0].revents != 0) {
        read_lines(chat);
    } else if (chat->raw && n == 0 && line_waiting(&chat->line)) {
        take_event(chat, line_timeout(&chat->line));
    }
    link_step(chat, fds[2].revents != 0);
    if (chat_ask_wait(chat) == 0) {
        chat_ask_begin(chat);
    }
    if (!chat->raw) {
        work_lines(chat);
    }
    if (chat->dirty || n == 0) {
        paint(chat);
    }
}

static int converse(struct chat *chat)
{
    struct error e = {0};
    if (place_find(&chat->place, chat->common->gateway, &e) != 0) {
        return output_error(chat->common, &e, EXIT_USAGE);
    }
    char *history = place_file(&chat->place, "history");
    history_open(&chat->history, history);
    free(history);
    line_begin(&chat->line, &chat->history, PROMPT);
    chat->line.complete = complete_command;
    chat->line.complete_arg = chat;
    screen_begin(&chat->screen, NULL);
    chat->raw = chat->screen.live && isatty(STDIN_FILENO);
    if (chat_connect(chat, &e) != 0) {
        screen_end(&chat->screen);
        return output_unreachable(chat->common, &chat->place, &e);
    }
    chat->raw = chat->raw && terminal_raw();
    if (chat->raw) {
        chat->screen.line = &chat->line;
    } else {
        chat->screen.live = false;
        terminal_catch_interrupt();
    }
    paint(chat);
    while (!chat->leaving) {
        step(chat);
    }
    rows_clear(&chat->screen.above);
    screen_end(&chat->screen);
    terminal_restore();
    return chat->raw ? EXIT_OK : chat->status;
}

int cmd_chat(int argc, char **argv)
{
    struct common common = {0};
    const char *session = NULL;
    bool verbose = false;
    const struct option_row rows[] = {
        {'s', "session", "KEY", "the session to talk in (default: main)", NULL, &session},
        {'v', "verbose", NULL, "show thinking and what tools print", &verbose, NULL},
        {0},
    };
    const struct command_line line = {
        .synopsis = "chat [OPTION...]",
        .summary = "Holds a conversation in the terminal. Reads lines where there is no terminal.",
        .rows = rows,
    };
    char **arguments;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    struct chat *chat = xcalloc(1, sizeof *chat);
    chat->common = &common;
    chat->asked_session = session == NULL ? "main" : session;
    chat->verbose = verbose;
    status = converse(chat);
    chat_link_free(chat);
    chat_ask_free(chat);
    line_free(&chat->line);
    history_close(&chat->history);
    buf_free(&chat->input);
    free(chat);
    return status;
}
