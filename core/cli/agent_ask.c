/* Agent ask: approvals of a single turn: asked at the terminal, by a line of its own, or told on
 * standard error for somebody to answer elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/agent_turn.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "support/json.h"

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

void cli_turn_stop(struct turn *turn)
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

void cli_turn_ask_add(struct turn *turn, json_object *record)
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

void cli_turn_ask_resolved(struct turn *turn, json_object *payload)
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
void cli_turn_ask_read(struct turn *turn)
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
