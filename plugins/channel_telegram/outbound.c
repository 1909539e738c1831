/*
 * Messages out: text as HTML, again as plain text where Telegram can't read that; files one by one,
 * pictures as an album; edits, reactions, typing. Called by the host, one at a time for each chat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/menu.h"

#include "telegram.h"

enum { CAPTION = 1024, ALBUM = 10, BUTTON_BYTES = 64, ROW = 3 };

/* One call of the host's. */
struct op {
    struct chela_outgoing o;
    bool edit, plain, caption; /* caption: the text goes with the first file */
    bool preview;
};

static void step(struct chela_outgoing *o);

static struct telegram *of(const struct op *op)
{
    return (struct telegram *)op->o.p;
}

/* ---- parts of a request ---- */

/* Ids of messages that the host has from us may carry the chat's id in front. */
static void leave_bare(char *id)
{
    const char *colon = strrchr(id, ':');
    if (colon)
        memmove(id, colon + 1, strlen(colon));
}

static int64_t number(const char *id)
{
    char *end;
    long long n = strtoll(id, &end, 10);
    return *end ? 0 : n;
}

static void put_message(json_object *body, const struct op *op)
{
    chela_json_put_int(body, "message_id", number(op->o.message));
}

static void put_chat(json_object *body, const struct op *op)
{
    chela_json_put_int(body, "chat_id", strtoll(migrated_id(of(op), op->o.chat), NULL, 10));
    if (*op->o.thread && !op->edit)
        chela_json_put_int(body, "message_thread_id", strtoll(op->o.thread, NULL, 10));
}

static void put_reply(json_object *body, const struct op *op)
{
    int64_t id = number(op->o.reply_to);
    if (id <= 0 || op->o.id)
        return;
    json_object *o = chela_json_put_object(body, "reply_parameters");
    chela_json_put_int(o, "message_id", id);
    chela_json_put_bool(o, "allow_sending_without_reply", true);
}

/* HTML of the dialect without its marks. Free it. */
static char *unmarked(const char *html)
{
    static const struct {
        const char *name;
        char c;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    char *out = chela_need(malloc(strlen(html) + 1)), *to = out;
    for (const char *p = html; *p;) {
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        size_t i = 0;
        if (end) {
            p = end + 1;
            continue;
        }
        while (i < 4 && strncmp(p, names[i].name, strlen(names[i].name)) != 0)
            i++;
        *to++ = i < 4 ? names[i].c : *p;
        p += i < 4 ? strlen(names[i].name) : 1;
    }
    *to = '\0';
    return out;
}

static void put_text(json_object *body, const struct op *op, const char *member)
{
    char *plain = op->plain ? unmarked(op->o.text) : NULL;
    chela_json_put_text(body, member, plain ? plain : op->o.text);
    if (!plain)
        chela_json_put_text(body, "parse_mode", "HTML");
    free(plain);
}

static json_object *begin_row(json_object *rows)
{
    json_object *row = chela_json_new_array();
    chela_json_push(rows, row);
    return row;
}

static void put_button(json_object *button, const struct chela_pair *b)
{
    chela_json_put_string(button, "text", b->name.s, (size_t)b->name.n);
    chela_json_put_string(button, "callback_data", b->value.s, (size_t)b->value.n);
}

static void put_keyboard(json_object *body, const struct op *op)
{
    if (op->o.keyboard)
        chela_json_put(chela_json_put_object(body, "reply_markup"), "inline_keyboard",
                       json_object_get(op->o.keyboard));
}

/* ---- what comes back ---- */

/* Repairs what the answer says how to repair; true: the request goes out again. */
static bool repaired(struct op *op, const struct chela_reply *r)
{
    int64_t moved = chela_json_int(api_parameters(r), "migrate_to_chat_id", 0);
    char now[32];
    snprintf(now, sizeof now, "%lld", (long long)moved);
    if (moved && strcmp(migrated_id(of(op), op->o.chat), now) != 0) {
        migrated_set(of(op), op->o.chat, moved);
        return true;
    }
    if (r->status == 400 && !op->plain && strstr(r->text, "can't parse entities")) {
        op->plain = true;
        return true;
    }
    if (r->status == 400 && *op->o.thread && strstr(r->text, "message thread not found")) {
        *op->o.thread = '\0';
        return true;
    }
    return false;
}

static void sent(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    bool album = json_object_is_type(r->result, json_type_array);
    json_object *result = album ? chela_json_at(r->result, 0) : r->result;
    char id[32];
    (void)p;
    if (r->error != CHELA_OK && repaired(op, r)) {
        step(&op->o);
    } else if (r->error != CHELA_OK) {
        chela_outgoing_fail(&op->o, r);
    } else {
        snprintf(id, sizeof id, "%lld", (long long)chela_json_int(result, "message_id", 0));
        chela_outgoing_went(&op->o, id);
    }
}

static void edited(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    struct chela_reply same = *r;
    if (r->status == 400 && strstr(r->text, "message is not modified"))
        same.error = CHELA_OK; /* the same edit twice is one */
    if (same.error != CHELA_OK && repaired(op, r))
        step(&op->o);
    else
        chela_outgoing_changed(p, op, &same);
}

/* A bot that may not show drafts is not asked to again. */
static void previewed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    if (r->error != CHELA_OK && repaired(op, r)) {
        step(&op->o);
    } else if (r->status == 400 || r->status == 404) {
        of(op)->no_previews = true;
        chela_outgoing_end(&op->o, CHELA_E_UNSUPPORTED, 0, 0, r->text);
    } else {
        chela_outgoing_changed(p, op, r);
    }
}

/* ---- text ---- */

/* It passes after half a minute; the next one of the same number takes its place. */
static void send_preview(struct op *op)
{
    json_object *body = chela_json_new_object();
    char digits[25];
    chela_fingerprint(op->o.key, digits);
    digits[7] = '\0';
    put_chat(body, op);
    chela_json_put_int(body, "draft_id", strtol(digits, NULL, 16) + 1);
    put_text(body, op, "text");
    api_call(of(op), op->o.call, "sendMessageDraft", body, previewed, op);
}

static void send_text(struct op *op)
{
    json_object *body = chela_json_new_object();
    put_chat(body, op);
    if (op->edit)
        put_message(body, op);
    put_text(body, op, "text");
    if (!op->edit)
        put_reply(body, op);
    if (op->o.count == 0)
        put_keyboard(body, op);
    api_call(of(op), op->o.call, op->edit ? "editMessageText" : "sendMessage", body,
             op->edit ? edited : sent, op);
}

/* ---- files ---- */

static bool is_picture(const struct chela_file *f)
{
    return strcmp(f->mime, "image/jpeg") == 0 || strcmp(f->mime, "image/png") == 0 ||
           strcmp(f->mime, "image/webp") == 0;
}

static const char *kind_of(const struct chela_file *f)
{
    if (is_picture(f))
        return "photo";
    if (strcmp(f->mime, "audio/ogg") == 0)
        return "voice";
    if (strcmp(f->mime, "audio/mpeg") == 0 || strcmp(f->mime, "audio/mp4") == 0)
        return "audio";
    return strcmp(f->mime, "video/mp4") == 0 ? "video" : "document";
}

/* How many of the files go out together: pictures as an album. */
static size_t shipment(const struct op *op)
{
    size_t n = op->o.at;
    while (n < op->o.count && n - op->o.at < ALBUM && is_picture(&op->o.files[n]))
        n++;
    return n - op->o.at > 1 ? n : op->o.at + 1;
}

static void put_album(json_object *fields, const struct op *op)
{
    json_object *list = chela_json_put_array(fields, "media");
    for (size_t i = op->o.at; i < op->o.loaded; i++) {
        char name[32];
        json_object *o = chela_json_push_object(list);
        snprintf(name, sizeof name, "attach://file%zu", i - op->o.at);
        chela_json_put_text(o, "type", "photo");
        chela_json_put_text(o, "media", name);
        if (i == op->o.at && op->caption && *op->o.text)
            put_text(o, op, "caption");
    }
}

static void send_files(struct op *op)
{
    bool album = op->o.loaded - op->o.at > 1;
    struct chela_form f;
    json_object *fields = chela_json_new_object();
    const struct chela_file *first = &op->o.files[op->o.at];
    const char *kind = album ? "mediaGroup" : kind_of(first);
    char *method = chela_format("send%c%s", kind[0] & ~0x20, kind + 1);
    put_chat(fields, op);
    put_reply(fields, op);
    if (album)
        put_album(fields, op);
    else if (op->caption && *op->o.text)
        put_text(fields, op, "caption");
    if (!album && op->o.loaded == op->o.count)
        put_keyboard(fields, op);
    chela_form_open(&f);
    chela_form_fields(&f, fields);
    if (album)
        chela_outgoing_files(&op->o, &f, "file", "");
    else
        chela_form_file(&f, kind, first);
    chela_form_end(&f);
    api_post(of(op), method, (struct chela_api_call){.parent = op->o.call, .form = &f}, sent, op);
    free(method);
    json_object_put(fields);
}

/* ---- a call ---- */

static void step(struct chela_outgoing *o)
{
    struct op *op = (struct op *)o;
    if (op->preview)
        send_preview(op);
    else if (op->edit || (*o->text && !op->caption))
        send_text(op);
    else if (o->at == o->count)
        chela_outgoing_end(o, CHELA_OK, 0, 0, "");
    else if (o->loaded < shipment(op))
        chela_outgoing_read(o);
    else
        send_files(op);
}

static struct op *op_open(struct chela_inst *in, const struct chela_send *s)
{
    static const struct chela_keyboard keyboard = {BUTTON_BYTES, ROW, 0, begin_row, put_button};
    struct op *op = chela_outgoing_open(in, s, sizeof *op, step);
    op->o.keyboard = chela_keyboard_rows(s->buttons, &keyboard);
    leave_bare(op->o.message);
    leave_bare(op->o.reply_to);
    return op;
}

static bool is_preview(const struct chela_send *s)
{
    json_object *extra = NULL;
    chela_json_parse(s->extra.s, (size_t)s->extra.n, NULL, &extra, NULL);
    bool preview = chela_json_bool(extra, "preview", false);
    json_object_put(extra);
    return preview;
}

void outbound_send(struct chela_inst *in, const struct chela_send *s)
{
    const struct telegram *t = in->self;
    bool preview = is_preview(s);
    if (preview && (t->no_previews || !chela_option_number(in, "previews"))) {
        chela_end(in, s->h.call, CHELA_E_UNSUPPORTED, "no drafts of Telegram's here");
        return;
    }
    struct op *op = op_open(in, s);
    size_t n = strlen(op->o.text);
    op->preview = preview;
    op->caption = op->o.count && chela_utf16_bytes(op->o.text, n, CAPTION) == n;
    step(&op->o);
}

void outbound_edit(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    op->edit = true;
    step(&op->o);
}

void outbound_react(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    json_object *body = chela_json_new_object();
    op->edit = true; /* no thread */
    put_chat(body, op);
    put_message(body, op);
    json_object *list = chela_json_put_array(body, "reaction");
    if (*op->o.text) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "type", "emoji");
        chela_json_put_text(o, "emoji", op->o.text);
    }
    api_call(of(op), op->o.call, "setMessageReaction", body, chela_outgoing_changed, op);
}

/* It ends by itself after 5 s, or with the message. */
void outbound_typing(struct chela_inst *in, const struct chela_send *s)
{
    struct telegram *t = in->self;
    if (!chela_str_is(s->text, "on"))
        return;
    json_object *body = chela_json_new_object();
    chela_json_put_int(body, "chat_id", strtoll(migrated_id(t, s->chat.s), NULL, 10));
    if (s->thread.n)
        chela_json_put_int(body, "message_thread_id", strtoll(s->thread.s, NULL, 10));
    chela_json_put_text(body, "action", "typing");
    api_call(t, 0, "sendChatAction", body, chela_api_unneeded, NULL);
}
