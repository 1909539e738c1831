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
#include "cli/approval.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/terminal.h"
#include "support/json.h"

#define MESSAGE_LIMIT       (1u << 20)
#define APPROVAL_DEFAULT_MS (30u * 60 * 1000)
#define TURN_DEFAULT_MS     (600u * 1000)
#define GRACE_MS            10000 /* for the gateway to answer beyond the turn's own limit */

struct turn {
    const struct common *common;
    struct client client;
    struct screen screen;
    struct reply reply;
    bool shows; /* the answer streams */
    char key[ID_UUID_SIZE];
    char *run, *session;
    bool asks; /* somebody is at the terminal */
    struct approval *approvals;
    size_t approval_count;
    uint64_t approval_ms, approval_deadline; /* 0: none waits */
    bool unapproved, stopping;
    bool over;
    json_object *result; /* the final answer's payload */
    struct error error;  /* of a request that failed */
    int status;
};

/* ---- approvals ---- */

static bool resolved(void *arg, const struct client_answer *answer)
{
    struct turn *turn = arg;
    if (!answer->ok && answer->error.class != CHELA_E_GONE) {
        output_error(turn->common, &answer->error, EXIT_FAILED);
    }
    return false;
}

static bool aborted(void *arg, const struct client_answer *answer)
{
    (void)arg;
    (void)answer;
    return false;
}

static void stop(struct turn *turn)
{
    struct error e;
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "sessionKey", turn->session != NULL ? turn->session : "main");
    chela_json_put_text(params, "runId", turn->run != NULL ? turn->run : turn->key);
    turn->stopping = true;
    client_request(&turn->client, "chat.abort", params, aborted, turn, &e);
}

static void tell_approval(struct turn *turn, const struct approval *approval)
{
    struct buf summary = {0}, id = {0};
    char span[48];
    approval_summary(approval, &summary);
    clean_append_line(&id, approval->id, strlen(approval->id), 100);
    output_span((int64_t)turn->approval_ms, span, sizeof span);
    fprintf(stderr,
            "chela: approval %s is needed: %s\n"
            "chela: allow it with: chela approvals allow-once %s\n"
            "chela: or deny it with: chela approvals deny %s (waiting up to %s)\n",
            buf_text(&id), buf_text(&summary), buf_text(&id), buf_text(&id), span);
    buf_free(&summary);
    buf_free(&id);
}

/* Shows the question on standard error, which is where the terminal is. */
static void ask_approval(struct turn *turn, const struct approval *approval)
{
    struct rows rows = {0};
    screen_paint(&turn->screen);
    approval_rows(approval, screen_width(&turn->screen), output_level(STDERR_FILENO), &rows);
    if (turn->screen.live) {
        screen_print(&turn->screen, &rows);
        screen_flush(&turn->screen);
    } else {
        for (size_t i = 0; i < rows.count; i++) {
            fprintf(stderr, "%.*s\n", (int)rows.row[i].length, rows.bytes.p + rows.row[i].offset);
        }
    }
    rows_free(&rows);
    fprintf(stderr, "Allow it?  %s%s[d] deny, then Enter: ", approval->once ? "[a] once  " : "",
            approval->always ? "[A] always  " : "");
    fflush(stderr);
}

static void next_approval(struct turn *turn)
{
    turn->approval_deadline = 0;
    if (turn->approval_count > 0) {
        turn->approval_deadline = clock_ticks_ms() + turn->approval_ms;
        if (turn->asks) {
            ask_approval(turn, &turn->approvals[0]);
        } else {
            tell_approval(turn, &turn->approvals[0]);
        }
    }
}

static void add_approval(struct turn *turn, json_object *record)
{
    struct approval approval;
    if (!approval_read(&approval, record)) {
        return;
    }
    const char *run = turn->run != NULL ? turn->run : turn->key;
    bool ours = strcmp(approval.run, run) == 0;
    for (size_t i = 0; i < turn->approval_count; i++) {
        ours = ours && strcmp(turn->approvals[i].id, approval.id) != 0;
    }
    if (!ours) {
        approval_free(&approval);
        return;
    }
    turn->approvals = xrealloc(turn->approvals, (turn->approval_count + 1) * sizeof approval);
    turn->approvals[turn->approval_count++] = approval;
    if (turn->approval_count == 1) {
        next_approval(turn);
    }
}

static void drop_approval(struct turn *turn, size_t index)
{
    approval_free(&turn->approvals[index]);
    turn->approval_count--;
    memmove(&turn->approvals[index], &turn->approvals[index + 1],
            (turn->approval_count - index) * sizeof *turn->approvals);
    if (index == 0) {
        next_approval(turn);
    }
}

static void approval_resolved(struct turn *turn, json_object *payload)
{
    const char *id = output_field(payload, "id", "");
    for (size_t i = 0; i < turn->approval_count; i++) {
        if (strcmp(turn->approvals[i].id, id) == 0) {
            turn->unapproved =
                turn->unapproved || strcmp(output_field(payload, "decision", ""), "expired") == 0;
            drop_approval(turn, i);
            return;
        }
    }
}

/* A line from the terminal: the answer to the question, nothing else is asked for. */
static void read_answer(struct turn *turn)
{
    char line[256];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    if (n <= 0) {
        turn->asks = false; /* from now on as if nobody were here */
        next_approval(turn);
        return;
    }
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    const struct approval *approval = &turn->approvals[0];
    const char *decision = strcmp(line, "a") == 0 && approval->once     ? "allow-once"
                           : strcmp(line, "A") == 0 && approval->always ? "allow-always"
                           : strcmp(line, "d") == 0                     ? "deny"
                                                                        : NULL;
    struct error e;
    if (decision == NULL) {
        ask_approval(turn, approval);
    } else if (client_request(&turn->client, "exec.approval.resolve",
                              approval_answer(approval, decision), resolved, turn, &e) == 0) {
        turn->approval_deadline = 0;
    }
}

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
        add_approval(turn, payload);
    } else if (strcmp(name, "exec.approval.resolved") == 0) {
        approval_resolved(turn, payload);
    } else if (!is_ours(turn, payload)) {
        return;
    } else if (strcmp(name, "chat") == 0) {
        reply_chat(&turn->reply, payload);
    } else if (strcmp(name, "agent") == 0) {
        reply_agent(&turn->reply, payload);
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
        reply_text(&turn->reply, buf_text(&text), text.n);
        reply_end(&turn->reply, REPLY_DONE, NULL);
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
    return turn->unapproved ? EXIT_UNAPPROVED : EXIT_OK;
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
        reply_above(&turn->reply, &turn->screen.above);
        screen_paint(&turn->screen);
    }
}

static void check_limits(struct turn *turn)
{
    if (turn->approval_deadline != 0 && clock_ticks_ms() >= turn->approval_deadline &&
        !turn->stopping) {
        turn->unapproved = true;
        turn->approval_deadline = 0;
        stop(turn);
    }
    if (terminal_interrupted() && !turn->stopping) {
        stop(turn);
    }
}

static int follow(struct turn *turn, uint64_t deadline)
{
    struct error e = {0};
    while (!turn->over) {
        bool asking = turn->asks && turn->approval_count > 0;
        struct pollfd fds[3] = {
            {ws_fd(turn->client.ws), ws_poll_events(turn->client.ws), 0},
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
            read_answer(turn);
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
                                const char *agent, const char *model, uint64_t timeout_ms)
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
    reply_begin(&turn->reply, turn->shows ? &turn->screen : NULL, turn->key, false);
    terminal_catch_interrupt();
    if (client_request(&turn->client, "agent", params, on_answer, turn, &e) != 0) {
        status = output_error(turn->common, &e, EXIT_FAILED);
    } else {
        /* What waits for a person does not count as time of the turn. */
        status = follow(turn, clock_ticks_ms() + timeout_ms + turn->approval_ms + GRACE_MS);
    }
    rows_clear(&turn->screen.above);
    screen_end(&turn->screen);
    reply_free(&turn->reply);
    while (turn->approval_count > 0) {
        approval_free(&turn->approvals[--turn->approval_count]);
    }
    client_close(&turn->client);
    return status;
}

/* The message from standard input, whole but for the line break at its end. */
static int read_message(const struct common *common, struct buf *out)
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

int cmd_agent(int argc, char **argv)
{
    struct common common = {0};
    const char *message = NULL, *session = NULL, *agent = NULL, *model = NULL, *timeout = NULL,
               *approval = NULL;
    const struct option_row rows[] = {
        {'m', "message", "TEXT", "what to say (default: standard input)", NULL, &message},
        {'s', "session", "KEY", "the session to say it in (default: main)", NULL, &session},
        {'a', "agent", "NAME", "the agent to say it to", NULL, &agent},
        {'\0', "model", "MODEL", "the model to answer, for this turn", NULL, &model},
        {'t', "timeout", "TIME", "how long the turn may take (default 10m)", NULL, &timeout},
        {'\0', "approval-timeout", "TIME", "how long to wait for an approval (default 30m)", NULL,
         &approval},
        {0},
    };
    const struct command_line line = {
        .synopsis = "agent [OPTION...] [-m TEXT]",
        .summary =
            "Has one message answered. Streams onto a terminal, prints the answer into a pipe.",
        .rows = rows,
    };
    char **arguments;
    int count, status;
    uint64_t timeout_ms = TURN_DEFAULT_MS, approval_ms = APPROVAL_DEFAULT_MS;
    if (!options_read(&line, argc, argv, &common, &arguments, &count, &status)) {
        return status;
    }
    if ((timeout != NULL && (!options_duration(timeout, &timeout_ms) || timeout_ms == 0)) ||
        (approval != NULL && !options_duration(approval, &approval_ms))) {
        return output_failure(&common, "usage", "a time is a number with ms, s, m or h behind it",
                              EXIT_USAGE);
    }
    struct buf text = {0};
    if (message != NULL) {
        buf_puts(&text, message);
    } else if ((status = read_message(&common, &text)) != EXIT_OK) {
        buf_free(&text);
        return status;
    }
    if (strspn(buf_text(&text), " \t\r\n") == text.n) {
        buf_free(&text);
        return output_failure(&common, "usage", "there is no message; say it with -m TEXT",
                              EXIT_USAGE);
    }
    struct turn *turn = xcalloc(1, sizeof *turn);
    turn->common = &common;
    turn->approval_ms = approval_ms;
    turn->shows = !common.json && output_level(STDOUT_FILENO) != STYLE_NONE;
    turn->asks = message != NULL && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    id_uuid(turn->key);
    status = run_turn(turn, turn_params(turn, buf_text(&text), session, agent, model, timeout_ms),
                      timeout_ms);
    json_object_put(turn->result);
    free(turn->approvals);
    free(turn->run);
    free(turn->session);
    free(turn);
    buf_free(&text);
    return status;
}
