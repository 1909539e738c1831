/* chela agent: one turn. The answer streams onto a terminal; into a pipe goes its final text alone.
 * Approvals are asked where somebody sits at the terminal; else the way to answer them is told on
 * standard error and waited for. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/agent_turn.h"
#include "cli/attachment.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/turn_view.h"
#include "support/json.h"

#define MESSAGE_LIMIT       (1u << 20)
#define FILES_MOST          32
#define APPROVAL_DEFAULT_MS (30u * 60 * 1000)
#define TURN_DEFAULT_MS     (600u * 1000)
#define GRACE_MS            10000 /* for the gateway to answer beyond the turn's own limit */

/* ---- events and answers ---- */

static bool is_ours(const struct turn *turn, json_object *payload)
{
    const char *run = output_field(payload, "runId", "");
    return strcmp(run, turn->run != NULL ? turn->run : turn->key) == 0;
}

static void on_event(void *arg, const char *name, json_object *payload)
{
    struct turn *turn = arg;
    if (strcmp(name, "exec.approval.requested") == 0) {
        cli_turn_ask_add(turn, payload);
    } else if (strcmp(name, "exec.approval.resolved") == 0) {
        cli_turn_ask_resolved(turn, payload);
    } else if (!is_ours(turn, payload)) {
        return;
    } else if (strcmp(name, "chat") == 0) {
        turn_view_chat(&turn->reply, payload);
    } else if (strcmp(name, "agent") == 0) {
        turn_view_agent(&turn->reply, payload);
    }
}

/* "accepted" first, the result second. */
static bool on_answer(void *arg, const struct client_answer *answer)
{
    struct turn *turn = arg;
    if (!answer->ok) {
        turn->error = answer->error;
        turn->over = true;
        return false;
    }
    if (strcmp(output_field(answer->payload, "status", ""), "accepted") == 0) {
        const char *run = output_field(answer->payload, "runId", NULL);
        const char *session = output_field(answer->payload, "sessionKey", NULL);
        if (run != NULL && turn->run == NULL) {
            turn->run = xstrdup(run);
        }
        if (session != NULL && turn->session == NULL) {
            turn->session = xstrdup(session);
        }
        return true;
    }
    turn->result = json_object_get(answer->payload);
    turn->over = true;
    return false;
}

/* ---- the end ---- */

static void result_text(json_object *result, struct buf *out)
{
    json_object *payloads = chela_json_array(chela_json_object(result, "result"), "payloads");
    for (size_t i = 0; i < chela_json_length(payloads); i++) {
        size_t length;
        const char *text = chela_json_string(chela_json_at(payloads, i), "text", &length);
        if (text != NULL) {
            buf_puts(out, out->n > 0 ? "\n" : "");
            buf_add(out, text, length);
        }
    }
}

static void failure_text(json_object *result, struct buf *out)
{
    json_object *error = chela_json_get(result, "error");
    const char *text = chela_json_as_string(error, NULL);
    if (text == NULL) {
        text = output_field(error, "message", NULL);
    }
    buf_puts(out, text != NULL ? text : output_field(result, "summary", "the turn failed"));
}

static int finish_failed(struct turn *turn, const char *status)
{
    struct buf text = {0};
    failure_text(turn->result, &text);
    int code = strcmp(status, "aborted") == 0 ? EXIT_ABORTED : EXIT_FAILED;
    const char *type = code == EXIT_ABORTED             ? "aborted"
                       : strcmp(status, "timeout") == 0 ? "timeout"
                                                        : "turn_failed";
    if (turn->shows && turn->reply.state != REPLY_RUNNING && !turn->common->json) {
        buf_free(&text); /* it has been told where it happened */
        return code;
    }
    code = output_failure(
        turn->common, type,
        strcmp(status, "timeout") == 0 ? "the turn did not end in time" : buf_text(&text), code);
    buf_free(&text);
    return code;
}

static int finish(struct turn *turn)
{
    const char *status = output_field(turn->result, "status", "error");
    if (turn->result == NULL) {
        return output_error(turn->common, &turn->error, EXIT_FAILED);
    }
    if (turn->unapproved && turn->stopping) {
        return output_failure(turn->common, "approval_timeout",
                              "nobody approved in time; the turn was stopped", EXIT_UNAPPROVED);
    }
    if (strcmp(status, "ok") != 0) {
        return finish_failed(turn, status);
    }
    struct buf text = {0};
    result_text(turn->result, &text);
    if (turn->common->json) {
        output_json(turn->result);
    } else if (turn->shows) {
        turn_view_text(&turn->reply, buf_text(&text), text.n);
        turn_view_end(&turn->reply, REPLY_DONE, NULL);
    } else {
        struct buf clean = {0}; /* a pipe may end at a terminal all the same */
        clean_append(&clean, buf_text(&text), text.n);
        fwrite(buf_text(&clean), 1, clean.n, stdout);
        if (clean.n == 0 || clean.p[clean.n - 1] != '\n') {
            fputc('\n', stdout);
        }
        fflush(stdout);
        buf_free(&clean);
    }
    buf_free(&text);
    int saved = cli_files_save(turn);
    return turn->unapproved ? EXIT_UNAPPROVED : saved;
}

/* ---- the loop ---- */

static int wait_ms(const struct turn *turn, uint64_t deadline)
{
    uint64_t now = clock_ticks_ms(), until = deadline;
    if (turn->approval_deadline != 0 && turn->approval_deadline < until) {
        until = turn->approval_deadline;
    }
    uint64_t left = until > now ? until - now : 0;
    uint64_t most = turn->shows && turn->screen.live ? 1000 : 60000;
    return (int)(left < most ? left : most);
}

static void paint(struct turn *turn)
{
    if (turn->shows && !(turn->asks && turn->approval_count > 0)) {
        rows_clear(&turn->screen.above);
        turn_view_above(&turn->reply, &turn->screen.above);
        screen_paint(&turn->screen);
    }
}

static void check_limits(struct turn *turn)
{
    if (turn->approval_deadline != 0 && clock_ticks_ms() >= turn->approval_deadline &&
        !turn->stopping) {
        turn->unapproved = true;
        turn->approval_deadline = 0;
        cli_turn_stop(turn);
    }
    if (terminal_interrupted() && !turn->stopping) {
        cli_turn_stop(turn);
    }
}

static int follow(struct turn *turn, uint64_t deadline)
{
    struct error e = {0};
    while (!turn->over) {
        bool asking = turn->asks && turn->approval_count > 0;
        struct pollfd fds[3] = {
            {websocket_fd(turn->client.ws), websocket_poll_events(turn->client.ws), 0},
            {terminal_wake_fd(), POLLIN, 0},
            {asking ? STDIN_FILENO : -1, POLLIN, 0},
        };
        int n = poll(fds, 3, wait_ms(turn, deadline));
        if (n > 0 && fds[0].revents != 0 && client_service(&turn->client, &e) != 0 && !turn->over) {
            return output_error(turn->common, &e, EXIT_FAILED);
        }
        if (n > 0 && fds[1].revents != 0) {
            terminal_woken();
        }
        if (n > 0 && fds[2].revents != 0 && turn->approval_count > 0) {
            cli_turn_ask_read(turn);
        }
        check_limits(turn);
        if (!turn->over && clock_ticks_ms() >= deadline) {
            return output_failure(turn->common, "timeout",
                                  "the gateway did not end the turn in time", EXIT_FAILED);
        }
        paint(turn);
    }
    return finish(turn);
}

static json_object *turn_params(const struct turn *turn, const char *message, const char *session,
                                const char *agent, const char *model, json_object *attachments,
                                uint64_t timeout_ms)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "message", message);
    chela_json_put_text(params, "idempotencyKey", turn->key);
    if (session != NULL) {
        chela_json_put_text(params, "sessionKey", session);
    }
    if (agent != NULL) {
        chela_json_put_text(params, "agentId", agent);
    }
    if (model != NULL) {
        chela_json_put_text(params, "model", model);
    }
    if (chela_json_length(attachments) > 0) {
        chela_json_put(params, "attachments", json_object_get(attachments));
    }
    chela_json_put_bool(params, "deliver", false);
    chela_json_put_int(params, "timeout", (int64_t)((timeout_ms + 999) / 1000));
    return params;
}

static int run_turn(struct turn *turn, json_object *params, uint64_t timeout_ms)
{
    struct place place;
    struct error e = {0};
    int status = output_connect(turn->common, &place, &turn->client, on_event, turn);
    place_free(&place);
    if (status != EXIT_OK) {
        json_object_put(params);
        return status;
    }
    screen_begin(&turn->screen, NULL);
    turn_view_begin(&turn->reply, turn->shows ? &turn->screen : NULL, turn->key, false);
    terminal_catch_interrupt();
    if (client_request(&turn->client, "agent", params, on_answer, turn, &e) != 0) {
        status = output_error(turn->common, &e, EXIT_FAILED);
    } else {
        /* What waits for a person does not count as time of the turn. */
        status = follow(turn, clock_ticks_ms() + timeout_ms + turn->approval_ms + GRACE_MS);
    }
    rows_clear(&turn->screen.above);
    screen_end(&turn->screen);
    turn_view_free(&turn->reply);
    while (turn->approval_count > 0) {
        approval_free(&turn->approvals[--turn->approval_count]);
    }
    client_close(&turn->client);
    return status;
}

/* The message from standard input, whole but for the line break at its end. */
static int read_input(const struct common *common, struct buf *out)
{
    while (out->n <= MESSAGE_LIMIT) {
        char bytes[16384];
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n > 0) {
            buf_add(out, bytes, (size_t)n);
        } else if (n == 0) {
            break;
        } else if (errno != EINTR) {
            return output_failure(common, "other", "standard input can't be read", EXIT_FAILED);
        }
    }
    while (out->n > 0 && out->p[out->n - 1] == '\n') {
        out->p[--out->n] = '\0';
    }
    if (out->n > MESSAGE_LIMIT) {
        return output_failure(common, "too_long", "the message is longer than 1 MiB", EXIT_USAGE);
    }
    return EXIT_OK;
}

static int get_message(const struct common *common, const char *given, struct buf *out)
{
    int status = EXIT_OK;
    if (given != NULL) {
        buf_puts(out, given);
    } else {
        status = read_input(common, out);
    }
    if (status == EXIT_OK && strspn(buf_text(out), " \t\r\n") == out->n) {
        return output_failure(common, "usage", "there is no message; say it with -m TEXT",
                              EXIT_USAGE);
    }
    return status;
}

/* NULL: *status is what to exit with. */
static json_object *read_files(const struct common *common, char **paths, int count,
                               struct buf *message, int *status)
{
    json_object *files = chela_json_new_array();
    struct error e;
    for (int i = 0; i < count; i++) {
        int r = strcmp(paths[i], "-") == 0 ? attachment_add_input(files, message, &e)
                                           : attachment_add(files, paths[i], &e);
        if (r != 0) {
            *status = output_failure(common, "usage", e.text, EXIT_USAGE);
            json_object_put(files);
            return NULL;
        }
    }
    return files;
}

int cmd_agent(int argc, char **argv)
{
    struct common common = {0};
    const char *message = NULL, *session = NULL, *agent = NULL, *model = NULL, *timeout = NULL,
               *approval = NULL, *folder = NULL;
    const struct option_row rows[] = {
        {'m', "message", "TEXT", "what to say (default: standard input)", NULL, &message},
        {'s', "session", "KEY", "the session to say it in (default: main)", NULL, &session},
        {'a', "agent", "NAME", "the agent to say it to", NULL, &agent},
        {'\0', "model", "MODEL", "the model to answer, for this turn", NULL, &model},
        {'t', "timeout", "TIME", "how long the turn may take (default 10m)", NULL, &timeout},
        {'\0', "approval-timeout", "TIME", "how long to wait for an approval (default 30m)", NULL,
         &approval},
        {'\0', "files", "FOLDER", "where files that come with the answer are saved", NULL, &folder},
        {0},
    };
    const struct command_line line = {
        .synopsis = "agent [OPTION...] [-m TEXT] [FILE...]",
        .summary =
            "Has one message answered, with the files that go along (- is standard input). Streams "
            "onto a terminal, prints the answer into a pipe.",
        .rows = rows,
        .most = FILES_MOST,
    };
    char **arguments;
    int count, status;
    uint64_t timeout_ms = TURN_DEFAULT_MS, approval_ms = APPROVAL_DEFAULT_MS;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    if ((timeout != NULL && (!command_line_duration(timeout, &timeout_ms) || timeout_ms == 0)) ||
        (approval != NULL && !command_line_duration(approval, &approval_ms))) {
        return output_failure(&common, "usage", "a time is a number with ms, s, m or h behind it",
                              EXIT_USAGE);
    }
    struct buf text = {0};
    json_object *files = NULL;
    if ((status = get_message(&common, message, &text)) == EXIT_OK) {
        files = read_files(&common, arguments, count, &text, &status);
    }
    if (files == NULL) {
        buf_free(&text);
        return status;
    }
    struct turn *turn = xcalloc(1, sizeof *turn);
    turn->common = &common;
    turn->folder = folder;
    turn->approval_ms = approval_ms;
    turn->shows = !common.json && output_level(STDOUT_FILENO) != STYLE_NONE;
    turn->asks = message != NULL && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    id_uuid(turn->key);
    status =
        run_turn(turn, turn_params(turn, buf_text(&text), session, agent, model, files, timeout_ms),
                 timeout_ms);
    json_object_put(files);
    json_object_put(turn->result);
    free(turn->approvals);
    free(turn->run);
    free(turn->session);
    free(turn);
    buf_free(&text);
    return status;
}
