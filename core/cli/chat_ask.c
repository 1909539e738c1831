/* Chat ask: approvals inside the conversation. What is asked for is printed for good, so that all
 * of it can be read however long it is; the question itself stands in the place of the prompt. A
 * key counts as an answer only when none was pressed for a while, so that nobody approves by
 * accident in the middle of a word; Enter and a paste never answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/chat.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "support/json.h"

#define QUIET_MS 700

static void drop(struct chat *chat, size_t index)
{
    approval_free(&chat->approvals[index]);
    chat->approval_count--;
    memmove(&chat->approvals[index], &chat->approvals[index + 1],
            (chat->approval_count - index) * sizeof *chat->approvals);
    if (index == 0 && chat->asking) {
        chat->asking = false;
        line_choose(&chat->line, NULL, NULL);
    }
    chat->dirty = true;
}

static size_t find(const struct chat *chat, const char *id)
{
    for (size_t i = 0; i < chat->approval_count; i++) {
        if (strcmp(chat->approvals[i].id, id) == 0) {
            return i;
        }
    }
    return (size_t)-1;
}

static void show(struct chat *chat, const struct approval *approval)
{
    struct rows rows = {0};
    rows_add(&rows, "", 0, 0);
    approval_rows(approval, screen_width(&chat->screen), chat->screen.level, &rows);
    screen_print(&chat->screen, &rows);
    rows_free(&rows);
    if (!chat->raw && !isatty(STDIN_FILENO)) { /* nobody is here: say how somebody can answer */
        screen_flush(&chat->screen);
        fprintf(stderr, "chela: waits for an approval; answer with: chela approvals allow-once ");
        struct buf id = {0};
        clean_append_line(&id, approval->id, strlen(approval->id), 100);
        fprintf(stderr, "%s\n", buf_text(&id));
        buf_free(&id);
    }
}

void chat_ask_add(struct chat *chat, json_object *record)
{
    struct approval approval;
    if (!approval_read(&approval, record)) {
        return;
    }
    bool ours = approval.session[0] == '\0' ||
                (chat->session != NULL && strcmp(approval.session, chat->session) == 0);
    if (!ours || find(chat, approval.id) != (size_t)-1) {
        approval_free(&approval);
        return;
    }
    chat->approvals =
        xrealloc(chat->approvals, (chat->approval_count + 1) * sizeof *chat->approvals);
    chat->approvals[chat->approval_count++] = approval;
    show(chat, &approval);
    chat->dirty = true;
}

void chat_ask_resolved(struct chat *chat, json_object *payload)
{
    const char *id = output_field(payload, "id", "");
    const char *decision = output_field(payload, "decision", "resolved");
    size_t index = find(chat, id);
    if (index == (size_t)-1) {
        return;
    }
    drop(chat, index);
    screen_say(&chat->screen,
               strcmp(decision, "allow-once") == 0     ? "  allowed, this once"
               : strcmp(decision, "allow-always") == 0 ? "  allowed, now and from now on"
               : strcmp(decision, "deny") == 0         ? "  denied"
               : strcmp(decision, "expired") == 0      ? "  nobody answered in time: denied"
                                                       : "  no longer needed",
               STYLE_DIM);
}

void chat_ask_list(struct chat *chat, json_object *records)
{
    for (size_t i = chat->approval_count; i-- > 0;) {
        bool waits = false;
        for (size_t k = 0; k < chela_json_length(records); k++) {
            const char *id = output_field(chela_json_at(records, k), "id", "");
            waits = waits || strcmp(id, chat->approvals[i].id) == 0;
        }
        if (!waits) {
            drop(chat, i);
        }
    }
    for (size_t k = 0; k < chela_json_length(records); k++) {
        chat_ask_add(chat, chela_json_at(records, k));
    }
}

int chat_ask_wait(const struct chat *chat)
{
    if (chat->approval_count == 0 || chat->asking || !chat->raw) {
        return -1;
    }
    uint64_t quiet = clock_ticks_ms() - chat->key_ms;
    return quiet >= QUIET_MS ? 0 : (int)(QUIET_MS - quiet);
}

void chat_ask_begin(struct chat *chat)
{
    if (chat->approval_count == 0 || chat->asking) {
        return;
    }
    const struct approval *approval = &chat->approvals[0];
    snprintf(chat->choices, sizeof chat->choices, "%s%sd", approval->once ? "a" : "",
             approval->always ? "A" : "");
    buf_clear(&chat->question);
    buf_printf(&chat->question, "Allow it?  %s%s[d] deny: ", approval->once ? "[a] once  " : "",
               approval->always ? "[A] always  " : "");
    chat->asking = true;
    if (chat->raw) {
        line_choose(&chat->line, chat->choices, buf_text(&chat->question));
    } else if (isatty(STDIN_FILENO)) {
        screen_flush(&chat->screen);
        printf("%s", buf_text(&chat->question));
        fflush(stdout);
    }
    chat->dirty = true;
}

static bool answered(void *arg, const struct client_answer *answer)
{
    struct chat *chat = arg;
    if (!answer->ok && answer->error.class != CHELA_E_GONE) {
        screen_say(&chat->screen, answer->error.text, STYLE_ALERT);
        chat->dirty = true;
    }
    return false;
}

bool chat_ask_answer(struct chat *chat, uint32_t key)
{
    const char *decision = key == 'a' ? "allow-once" : key == 'A' ? "allow-always" : "deny";
    struct error e;
    if (!chat->asking || chat->approval_count == 0 || key >= 0x80 || key == 0 ||
        strchr(chat->choices, (int)key) == NULL) {
        return false;
    }
    chat->asking = false;
    line_choose(&chat->line, NULL, NULL);
    chat->key_ms = clock_ticks_ms(); /* the next question waits for its own quiet */
    if (!chat->connected ||
        client_request(&chat->client, "exec.approval.resolve",
                       approval_answer(&chat->approvals[0], decision), answered, chat, &e) != 0) {
        line_set_hint(&chat->line, "not sent: there is no connection to the gateway");
    }
    chat->dirty = true;
    return true;
}

void chat_ask_free(struct chat *chat)
{
    while (chat->approval_count > 0) {
        drop(chat, chat->approval_count - 1);
    }
    free(chat->approvals);
    chat->approvals = NULL;
    buf_free(&chat->question);
}
